/* SPDX-License-Identifier: MIT */
/* clusters.c - two groups of fields, used at different times, mixed with each other. */
#include <stdio.h>

/* layout */
struct mixed {
	long a1, b1;
	long a2, b2;
	long a3, b3;
	long a4, b4;
	long a5, b5;
	long a6, b6;
	long a7, b7;
	long a8, b8;
};
/* end */

enum { NR = 3000 };
static _Alignas(64) struct mixed table[NR];

int main(void)
{
	long sum = 0;

	for (int step = 0; step < 4; step++) {
		for (int i = 0; i < NR; i++) {
			struct mixed *m = &table[i];

			m->a1++, m->a2++, m->a3++, m->a4++, m->a5++, m->a6++, m->a7++, m->a8++;
		}
		for (int i = 0; i < NR; i++) {
			struct mixed *m = &table[i];

			m->b1++, m->b2++, m->b3++, m->b4++, m->b5++, m->b6++, m->b7++, m->b8++;
			sum += m->b1;
		}
	}
	printf("%ld\n", sum);
	return 0;
}
