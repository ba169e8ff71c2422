/* SPDX-License-Identifier: MIT */
/* straddle.c - elements of 40 bytes, visited at random: every other one spans two cache lines. */
#include <stdio.h>

/* layout */
struct entry {
	unsigned long key;
	unsigned long hits;
	unsigned long last;
	unsigned long sum;
	unsigned long check;
};
/* end */

enum { NR = 1 << 14 };
static struct entry table[NR];

int main(void)
{
	unsigned long at = 1, sum = 0;

	for (int i = 0; i < 25000; i++) {
		struct entry *e = &table[at % NR];

		at = at * 6364136223846793005ul + 1442695040888963407ul;
		at ^= at >> 29;
		e->key = at;
		e->hits++;
		e->last = (unsigned long)i;
		e->sum += at;
		e->check ^= at;
		sum += e->hits;
	}
	printf("%lu\n", sum);
	return 0;
}
