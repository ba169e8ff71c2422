/* SPDX-License-Identifier: MIT */
/* totals.c - results of a simulation, rounded to whole counts. */
#include "memory/sim/machine.h"

/* Round counters in units of 1/256. */
static void sim_whole(uint64_t *count, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		count[i] = count[i] / 256 + (count[i] % 256 >= 128);
}

#define WHOLE(x) sim_whole((uint64_t *)&(x), sizeof(x) / sizeof(uint64_t))

void sim_level_thread(const struct sim *s, uint32_t index, uint32_t level, struct sim_counts *out)
{
	*out = s->threads[index]->level[level];
	WHOLE(*out);
}

void sim_level_totals(const struct sim *s, uint32_t level, struct sim_counts *out)
{
	struct sim_counts sum = { 0 };
	uint64_t *to = (uint64_t *)&sum;
	uint32_t i;
	size_t j;

	for (i = 0; i < s->nr_threads; i++) {
		const uint64_t *from = (const uint64_t *)&s->threads[i]->level[level];

		for (j = 0; j < sizeof(sum) / sizeof(*to); j++)
			to[j] += from[j];
	}
	WHOLE(sum);
	*out = sum;
}

void sim_level_traffic(const struct sim *s, uint32_t level, struct sim_traffic *out)
{
	*out = s->traffic[level];
	WHOLE(*out);
}

void sim_tlb_totals(const struct sim *s, uint32_t tlb, struct sim_tlb_counts *out)
{
	*out = s->tlb[tlb];
	WHOLE(*out);
}

uint32_t sim_nr_threads(const struct sim *s)
{
	return s->nr_threads;
}

void sim_thread(const struct sim *s, uint32_t index, struct sim_thread *out)
{
	*out = s->threads[index]->public;
	WHOLE(out->accesses);
	sim_whole(&out->invalidated, 1);
	sim_whole(&out->lost, 1);
	sim_whole(&out->from_peer, 1);
	WHOLE(out->tlb_misses);
}

void sim_totals(const struct sim *s, struct sim_totals *out)
{
	uint32_t i;

	*out = s->totals;
	for (i = 0; i < s->nr_threads; i++) {
		out->accesses[SIM_READS] += s->threads[i]->public.accesses[SIM_READS];
		out->accesses[SIM_WRITES] += s->threads[i]->public.accesses[SIM_WRITES];
	}
	WHOLE(*out);
	out->lines_dropped = s->totals.lines_dropped;
	out->cores = s->nr_cores;
}
