/* SPDX-License-Identifier: MIT */
/*
 * heap_holes.c - blocks of the heap with holes in them, visited at random: heap_holes BYTES
 *
 * BYTES of other data are between two of them: where they are differs, and the cure does not.
 */
#include <cacheray.h>
#include <stdio.h>
#include <stdlib.h>

/* layout */
struct item {
	char kind;
	unsigned long key;
	char state;
	unsigned long hits;
	char color;
	unsigned long last;
};
/* end */

enum { NR = 4000 };
static struct item *items[NR];

int main(int argc, char **argv)
{
	size_t between = argc > 1 ? (size_t)atol(argv[1]) : 0;
	unsigned long at = 1, sum = 0;

	for (int i = 0; i < NR; i++) {
		items[i] = calloc(1, sizeof(struct item));
		cacheray_rtta_add(items[i], sizeof(struct item), 1, "struct item");
		if (between && !calloc(1, between))
			return 1;
	}
	for (int i = 0; i < 25000; i++) {
		struct item *e = items[at % NR];

		at = at * 6364136223846793005ul + 1442695040888963407ul;
		at ^= at >> 29;
		e->kind++;
		e->key = at;
		e->state++;
		e->hits++;
		e->color++;
		e->last = (unsigned long)i;
		sum += e->hits;
	}
	printf("%lu\n", sum);
	return 0;
}
