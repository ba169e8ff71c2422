/* SPDX-License-Identifier: MIT */
/* union.c - nothing to rearrange: the members of a union have the same offset. */
#include <stdio.h>

union value {
	long number;
	double real;
	char text[32];
};

static union value table[5000];

int main(void)
{
	long sum = 0;

	for (int step = 0; step < 5; step++) {
		for (int i = 0; i < 5000; i++) {
			table[i].number += i;
			sum += table[i].number;
		}
	}
	printf("%ld\n", sum);
	return 0;
}
