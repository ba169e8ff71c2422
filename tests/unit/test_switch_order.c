/* SPDX-License-Identifier: MIT */
/* test_switch_order.c - records of several rings are put in order of time. */
#include "collect/switch_order.h"
#include "check.h"

#define RINGS 5
#define NR    2000

static uint64_t random_state = 1;

static unsigned random_below(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(random_state >> 33) % n;
}

/* Runs of some rings, one after the other; each has its number as tid, to see that none is lost. */
static size_t fill_rings(struct switch_record *list, unsigned nr_rings)
{
	size_t nr = 0;
	unsigned ring, i;

	for (ring = 0; ring < nr_rings; ring++) {
		uint64_t ts = random_below(100);
		unsigned length = random_below(NR / RINGS);

		for (i = 0; i < length; i++) {
			ts += random_below(4);
			list[nr] = (struct switch_record){
				.kind = random_below(50) ? SWITCH_IN : SWITCH_LOST,
				.cpu = ring,
				.ts = ts,
				.tid = (uint32_t)nr,
			};
			nr++;
		}
	}
	return nr;
}

static void every_record_is_in_order_once(unsigned nr_rings)
{
	static struct switch_record list[NR], room[NR];
	static bool seen[NR];
	size_t nr = fill_rings(list, nr_rings), i;

	memset(seen, 0, sizeof(seen));
	switch_order_sort(list, nr, room);
	for (i = 0; i < nr; i++) {
		CHECK(!seen[list[i].tid]);
		seen[list[i].tid] = true;
		if (!i)
			continue;
		CHECK(list[i - 1].ts <= list[i].ts);
		/* What a loss hides lies before it. */
		CHECK(list[i - 1].ts < list[i].ts || list[i - 1].kind != SWITCH_LOST ||
		      list[i].kind == SWITCH_LOST);
	}
}

int main(void)
{
	unsigned i;

	for (i = 0; i < 500; i++)
		every_record_is_in_order_once(i % (RINGS + 1));
	return 0;
}
