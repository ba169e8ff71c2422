/* SPDX-License-Identifier: MIT */
/* small.c - nothing to improve: everything is in the first level all the time. */
#include <stdio.h>

#ifndef STEPS
#define STEPS 1000
#endif

struct small {
	char a;
	long b;
	char c;
	long d;
};

static struct small table[100];

int main(void)
{
	long sum = 0;

	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < 100; i++) {
			table[i].a++;
			table[i].b++;
			table[i].d += table[i].a;
			sum += table[i].d;
		}
	}
	printf("%ld\n", sum);
	return 0;
}
