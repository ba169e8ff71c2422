/* SPDX-License-Identifier: MIT */
/* holes.c - members in an order that leaves a third of the record empty; all of them are used. */
#include <stdio.h>

/* layout */
struct holes {
	char a;
	long b;
	char c;
	long d;
	short e;
	long f;
	char g;
};
/* end */

static struct holes table[4000];

int main(void)
{
	long sum = 0;

	for (int step = 0; step < 4; step++) {
		for (int i = 0; i < 4000; i++) {
			struct holes *h = &table[i];

			h->a++;
			h->b += h->a;
			h->c++;
			h->d += h->c;
			h->e++;
			h->f += h->e;
			h->g++;
			sum += h->b + h->d + h->f;
		}
	}
	printf("%ld\n", sum);
	return 0;
}
