/* SPDX-License-Identifier: MIT */
/* far_pair.c - key and value of a large record, at its two ends, used together at random. */
#include <stdio.h>

/* layout */
struct record {
	unsigned key;
	char path[116];
	char owner[64];
	long times[8];
	unsigned value;
	unsigned flags : 4;
	unsigned mode : 12;
};
/* end */

enum { NR = 2048 };
static struct record table[NR];

int main(void)
{
	unsigned long at = 7;
	unsigned long sum = 0;

	for (int i = 0; i < 20000; i++) {
		struct record *r = &table[at % NR];

		at = at * 6364136223846793005ul + 1442695040888963407ul;
		at ^= at >> 31;
		r->key ^= (unsigned)at;
		r->value += r->key;
		if (i % 400 == 0) {
			r->path[i % 100] = 'x';
			r->times[i % 8] = i;
			r->mode = (unsigned)i & 0xfff;
		}
		sum += r->value;
	}
	printf("%lu\n", sum);
	return 0;
}
