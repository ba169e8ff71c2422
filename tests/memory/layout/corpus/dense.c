/* SPDX-License-Identifier: MIT */
/* dense.c - nothing to improve: all of a record is used, in order, and it fits its lines. */
#include <stdio.h>

struct dense {
	long a, b, c, d, e, f, g, h;
};

static _Alignas(64) struct dense table[4000];

int main(void)
{
	long sum = 0;

	for (int step = 0; step < 4; step++) {
		for (int i = 0; i < 4000; i++) {
			struct dense *d = &table[i];

			d->a++, d->b++, d->c++, d->d++, d->e++, d->f++, d->g++, d->h++;
			sum += d->a;
		}
	}
	printf("%ld\n", sum);
	return 0;
}
