/* SPDX-License-Identifier: MIT */
/*
 * machine.h - what the parts of the simulator share: cores, threads, counters.
 *
 * Counters are in units of 1/256: a sampled access stands for more than one.
 */
#ifndef MEMORY_SIM_MACHINE_H
#define MEMORY_SIM_MACHINE_H

#include "memory/sim/cache.h"
#include "memory/sim/lru_run.h"
#include "memory/sim/sim.h"

#define SIM_THREADS_MAX 16384u /* counted separately */

struct core {
	uint32_t number;
	struct thread *last;                /* thread that ran on it last; NULL: none yet */
	struct cache *path[SIM_LEVELS_MAX]; /* from the first level outwards */
	struct cache *tlb[SIM_TLBS_MAX];
	uint64_t last_page; /* page + 1; 0: none yet */
};

struct thread {
	struct sim_thread public;
	struct core *core;
	struct sim_counts level[SIM_LEVELS_MAX];
};

struct sim {
	struct sim_config config;
	uint32_t nr_levels;
	uint32_t nr_private; /* levels before the first one that all cores share */
	uint32_t line_shift[SIM_LEVELS_MAX];
	uint32_t page_shift;
	uint32_t max_cores;
	uint64_t weight;

	struct core *cores[SIM_CORES_MAX];
	struct core *list[SIM_CORES_MAX]; /* the same cores, without gaps */
	uint32_t nr_cores;
	struct cache **caches[SIM_LEVELS_MAX]; /* [level][core / share] */

	struct thread **threads;
	uint32_t nr_threads, threads_size;
	struct u64map by_number; /* thread number to 1 + index in threads */
	struct u64map mapped;    /* thread number to 1 + core */
	struct thread *last;     /* thread of the last access */
	uint32_t next_core;

	struct directory *directory; /* NULL while only one core has been used */
	struct sharing *sharing;
	struct sim_totals totals;
	struct sim_traffic traffic[SIM_LEVELS_MAX];
	struct sim_tlb_counts tlb[SIM_TLBS_MAX];
	struct class_thread *class_thread;      /* NULL: classes are found at once */
	const struct lru_path *path;            /* for simple machines */
	uint64_t *uses[SIM_LEVELS_MAX];         /* LRU_USES each; NULL: not needed yet */
	uint64_t *requests[SIM_LEVELS_MAX + 1]; /* LRU_REQUESTS each; the same */
	uint32_t *missed;                       /* the same */
	struct sim_outcome *outcomes;           /* SIM_MISSED_MAX; the same */
	int failed;
};

/* The lookup of one line. */
struct use {
	struct sim *sim;
	struct thread *thread;
	struct core *core;
	struct sim_outcome *out; /* may be NULL */
	uint64_t line;           /* of the first level */
	uint64_t mask;           /* which 64ths of the line */
	uint32_t index;          /* of the line within its access */
	bool is_write;
};

/* sim.c */
struct thread *sim_thread_of(struct sim *s, uint32_t number);
int sim_access_of(struct sim *s, struct thread *t, uint64_t address, uint32_t size, bool is_write,
		  struct sim_outcome *out);

/* Wait until the class thread is done with everything so far, if there is one. */
int sim_settle(struct sim *s);

/* The line of @level that contains first-level line @line. */
static inline uint64_t line_at(const struct sim *s, uint32_t level, uint64_t line)
{
	return line >> (s->line_shift[level] - s->line_shift[0]);
}

/* ---- path.c: from level to level ----------------------------------------- */

/* Handle a miss of the first level.  Returns 0 or -ENOMEM. */
int path_miss(struct use *u);

/*
 * Handle a hit of the first level that has a flag set, or a write that also goes to the next
 * level.
 */
int path_hit(struct use *u, uint64_t *slot);

/*
 * A dirty line leaves level @from: mark it dirty in the next level of @core's path that holds
 * it, or count a memory write.
 */
void path_write_back(struct sim *s, const struct core *core, uint32_t from, uint64_t line);

/* ---- coherence.c: MESI between the cores ----------------------------------- */

/* State of the other cores' caches for a line. */
struct peers {
	bool had;                    /* another core has, or had, the line */
	bool dirty;                  /* one of them holds it dirty */
	uint32_t common;             /* if dirty: the first level that it shares with this core */
	bool remain[SIM_LEVELS_MAX]; /* caches of other cores at that level hold the line */
};

/* Create the directory when a second core is used, and enter the lines that caches already hold. */
int coherence_start(struct sim *s);
void coherence_release(struct sim *s);

/* Before lines are filled: remove the line from other cores (write), or make it shared (read). */
int coherence_ask(struct use *u, struct peers *peers);

/* Enter @core as a holder of the line. */
int coherence_has(struct sim *s, const struct core *core, uint64_t line);

/*
 * A private cache of @level on @core's path lost the line: clear the cores that no longer hold
 * it.
 */
void coherence_left(struct sim *s, const struct core *core, uint32_t level, uint64_t line);

/* True if any other core holds the line. */
bool coherence_elsewhere(const struct sim *s, const struct core *core, uint64_t line);

/* ---- sharing.c: lines that several cores use ------------------------------- */

int sharing_start(struct sim *s);
void sharing_release(struct sim *s);

/* The write @u removed the line from @victim's caches. */
int sharing_taken(const struct use *u, const struct core *victim);

/*
 * Record a use, hit or miss.  @was_lost: the miss of a core that lost the line.  Returns true if
 * the line is followed.
 */
bool sharing_use(const struct use *u, bool was_lost);

bool sharing_follows(const struct sim *s, uint64_t line);

#endif
