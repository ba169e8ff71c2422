/* SPDX-License-Identifier: MIT */
/*
 * machine.h - what the parts of the simulator share: cores, threads, counters.
 *
 * Counters are in 1/256: a sampled access stands for more than one.
 */
#ifndef MEMORY_SIM_MACHINE_H
#define MEMORY_SIM_MACHINE_H

#include "memory/sim/cache.h"
#include "memory/sim/sim.h"

#define SIM_THREADS_MAX 16384u /* counted apart */

struct core {
	uint32_t number;
	struct thread *last;                /* that ran on it; NULL: none so far */
	struct cache *path[SIM_LEVELS_MAX]; /* from the first level outwards */
	struct cache *tlb[SIM_TLBS_MAX];
	uint64_t last_page; /* + 1; 0: none yet */
};

struct thread {
	struct sim_thread public;
	struct core *core;
	struct sim_counts level[SIM_LEVELS_MAX];
};

struct sim {
	struct sim_config config;
	uint32_t nr_levels;
	uint32_t nr_private; /* levels before the first that all cores share */
	uint32_t line_shift[SIM_LEVELS_MAX];
	uint32_t page_shift;
	uint32_t max_cores;
	uint64_t weight;

	struct core *cores[SIM_CORES_MAX];
	struct core *list[SIM_CORES_MAX]; /* the same, without holes */
	uint32_t nr_cores;
	struct cache **caches[SIM_LEVELS_MAX]; /* [level][core / share] */

	struct thread **threads;
	uint32_t nr_threads, threads_size;
	struct u64map by_number; /* to 1 + index in threads */
	struct u64map mapped;    /* thread to 1 + core */
	struct thread *last;     /* of the last access */
	uint32_t next_core;

	struct directory *directory; /* NULL while only one core has been used */
	struct sharing *sharing;
	struct sim_totals totals;
	struct sim_traffic traffic[SIM_LEVELS_MAX];
	struct sim_tlb_counts tlb[SIM_TLBS_MAX];
	bool missing; /* of late, many accesses missed the first level */
	int failed;
};

/* One line that is being looked up. */
struct use {
	struct sim *sim;
	struct thread *thread;
	struct core *core;
	struct sim_outcome *out; /* or NULL */
	uint64_t line;           /* of the first level */
	uint64_t mask;           /* which 64ths of it */
	uint32_t index;          /* of the line in its access */
	bool is_write;
};

/* sim.c */
struct thread *sim_thread_of(struct sim *s, uint32_t number);
int sim_access_of(struct sim *s, struct thread *t, uint64_t address, uint32_t size, bool is_write,
		  struct sim_outcome *out);

/* What line of @level that is. */
static inline uint64_t line_at(const struct sim *s, uint32_t level, uint64_t line)
{
	return line >> (s->line_shift[level] - s->line_shift[0]);
}

/* ---- path.c: from level to level ----------------------------------------- */

/* The line is not in the first level.  0 or -ENOMEM. */
int path_miss(struct use *u);

/* It is, but there is more to it: a flag, or a write that goes on. */
int path_hit(struct use *u, uint64_t *slot);

/*
 * A dirty line leaves level @from: the next level on @core's way that has it is dirty now, or
 * memory is written.
 */
void path_write_back(struct sim *s, const struct core *core, uint32_t from, uint64_t line);

/* ---- coherence.c: who else has a line -------------------------------------- */

/* What others had, and did. */
struct peers {
	bool had;                    /* another core has, or had, the line */
	bool dirty;                  /* one of them dirty */
	uint32_t common;             /* then: the first level that it shares with us */
	bool remain[SIM_LEVELS_MAX]; /* caches outside of ours at that level have it */
};

/* A second core comes: from now on it is known who has what. */
int coherence_start(struct sim *s);
void coherence_release(struct sim *s);

/* Before lines are filled: take it away from others (write), or make it shared (read). */
int coherence_ask(struct use *u, struct peers *peers);

/* @core has it now. */
int coherence_has(struct sim *s, const struct core *core, uint64_t line);

/* A private cache of @level on @core's way lost the line: who has it still? */
void coherence_left(struct sim *s, const struct core *core, uint32_t level, uint64_t line);

/* Does any other core have it? */
bool coherence_elsewhere(const struct sim *s, const struct core *core, uint64_t line);

/* ---- sharing.c: lines that several want ------------------------------------ */

int sharing_start(struct sim *s);
void sharing_release(struct sim *s);

/* @victim's caches lose the line to the write @u. */
int sharing_taken(const struct use *u, const struct core *victim);

/*
 * A use, hit or miss.  @was_lost: a miss of a core that lost the line.  True: it is followed.
 */
bool sharing_use(const struct use *u, bool was_lost);

/* Is the line followed? */
bool sharing_follows(const struct sim *s, uint64_t line);

#endif
