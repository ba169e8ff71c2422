/* SPDX-License-Identifier: MIT */
/*
 * sim.h - cache simulator.
 *
 *	struct sim_config config;
 *	struct sim_outcome out;
 *	struct sim *s;
 *
 *	sim_config_default(&config);
 *	s = sim_new(&config, &err);
 *	sim_access(s, thread, address, size, is_write, &out);      or NULL for speed
 *	...
 *	sim_level_totals(s, 0, &counts);
 *	sim_free(s);
 *
 * Simulators are independent: a process may have any number of them.  One simulator must be used
 * by one thread at a time.
 *
 * The model
 *   Every core has a cache of each private level; a shared level has one cache for several or
 *   for all cores.  An access is looked up line by line in the caches of its core, from the
 *   first level outwards.  MESI keeps the caches of different cores coherent: a write removes
 *   the line from all cores that do not share the cache, a read makes their copies shared.
 *
 *   A level is inclusive (when it loses a line, the levels above lose it too), exclusive (it
 *   holds the lines that the level above evicted, and gives a line up when it is asked for), or
 *   neither.  A dirty line that a cache loses goes to the next level that holds the line, or to
 *   memory; it evicts nothing there and does not count as a use.  So misses do not depend on
 *   when lines are written back.
 *
 *   Counts are of lines looked up: an access over two lines counts as two.  Reads and writes
 *   are those of the program: a line that is fetched for a write counts as a write at each
 *   level.
 *
 * Classes of misses
 *   coherence   the cache held the line and another core took it away
 *   cold        the first use of the line by this cache
 *   conflict    a fully associative LRU cache of the same size holds the line
 *   capacity    such a cache does not hold it either
 *
 * Memory use: the caches, a queue of four times their lines for each (classes), and a cell per
 * line: about 290 bytes per 64 adjacent lines and cache.  It grows with the memory that
 * the program touched, not with the length of the trace.
 */
#ifndef MEMORY_SIM_SIM_H
#define MEMORY_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "memory/format/mem_record.h"

#define SIM_LEVELS_MAX 6
#define SIM_TLBS_MAX   3
#define SIM_NAME_MAX   16
#define SIM_CORES_MAX  1024
#define SIM_CORES_AUTO 256 /* one core per thread up to this number; then threads share cores */
#define SIM_SIZE_MAX   (1u << 20) /* of one access; longer ones are cut */
#define SIM_NOBODY     UINT32_MAX /* no thread */

/* ---- configuration ------------------------------------------------------- */

enum sim_policy { SIM_LRU, SIM_PLRU, SIM_FIFO, SIM_LIFO, SIM_RANDOM };
enum sim_inclusion { SIM_NON_INCLUSIVE, SIM_INCLUSIVE, SIM_EXCLUSIVE };
enum sim_prefetch {
	SIM_PREFETCH_NONE,
	SIM_PREFETCH_MISS,   /* fetch the next line after a miss */
	SIM_PREFETCH_TAGGED, /* and after the first use of a prefetched line */
};

struct sim_level_config {
	char name[SIM_NAME_MAX];
	uint64_t size; /* bytes */
	uint32_t line; /* bytes, a power of two, at least 32 */
	uint32_t ways; /* 0: fully associative */
	enum sim_policy policy;
	enum sim_inclusion
		inclusion; /* of the levels above; must be SIM_NON_INCLUSIVE for the first level */
	enum sim_prefetch prefetch;
	bool write_through; /* else write-back */
	bool no_allocate;   /* a write that misses fetches no line */
	uint32_t share;     /* cores per cache; 1: private; 0: all cores share it */
};

struct sim_tlb_config {
	char name[SIM_NAME_MAX];
	uint32_t entries;
	uint32_t ways; /* 0: fully associative */
};

struct sim_config {
	struct sim_level_config level[SIM_LEVELS_MAX];
	uint32_t nr_levels;
	struct sim_tlb_config tlb[SIM_TLBS_MAX]; /* each core has its own; LRU */
	uint32_t nr_tlbs;
	uint32_t page;        /* bytes, a power of two; prefetches do not cross it */
	uint32_t cores;       /* 0: one per thread, in the order of their first access */
	uint64_t seed;        /* for random replacement */
	bool no_classes;      /* classify no misses except coherence: faster */
	bool no_sharing;      /* do not follow shared lines */
	uint32_t sharing_max; /* lines followed at a time; 0: 16384 */
};

/* L1 32K, 8 ways; L2 256K, 8 ways; L3 8M, 16 ways, shared; 64-byte lines, LRU, write-back. */
void sim_config_default(struct sim_config *c);

/* Returns 0, or -EINVAL with a message that names the level and the key. */
int sim_config_check(const struct sim_config *c, struct err *err);

/* ---- running ------------------------------------------------------------- */

enum sim_class { SIM_COLD, SIM_CAPACITY, SIM_CONFLICT, SIM_COHERENCE };
#define SIM_CLASSES 4

/* Source of a line: a level, memory (= nr_levels), or another core's cache (this value). */
#define SIM_SERVED_PEER 0xff

/* The effect of one access. */
struct sim_outcome {
	uint64_t first_line; /* address / line size of the first level */
	uint32_t nr_lines;   /* touched */
	uint8_t served;      /* slowest source of its lines: memory, then a peer, then levels */
	bool truly_shared;   /* the core that took the line wrote bytes of this access */
	uint16_t tlb_misses[SIM_TLBS_MAX];
	uint16_t invalidated; /* copies of other cores that it invalidated */
	uint16_t from_peer;   /* lines that came from another core's cache */
	uint16_t fetched;     /* lines of the last level that came from memory */
	uint32_t lost_to; /* coherence miss: the thread that took the line away; else SIM_NOBODY */
	struct {
		uint16_t hits, misses;
		uint16_t by_class[SIM_CLASSES]; /* no_classes: coherence only */
	} level[SIM_LEVELS_MAX];
	uint64_t missed_first; /* bit i: line first_line + i missed the first level; i < 64 */
	uint64_t missed_all;   /* the same for a miss of all levels of its core */
};

struct sim;

struct sim *sim_new(const struct sim_config *config, struct err *err);
void sim_free(struct sim *s);

const struct sim_config *sim_config_of(const struct sim *s);

/*
 * Run @thread on @core (below config.cores).  Call it before the thread's first access.  Returns
 * 0, -EINVAL or -ENOMEM.
 */
int sim_map_thread(struct sim *s, uint32_t thread, uint32_t core);

/* From now on, an access counts as @weight_256 / 256 accesses. */
void sim_weight(struct sim *s, uint32_t weight_256);

/*
 * @thread is any number, normally the trace's.  A size of 0 touches nothing.  @out may be NULL,
 * which is faster.  Returns 0, or -ENOMEM, after which the simulator can only be freed.
 */
int sim_access(struct sim *s, uint32_t thread, uint64_t address, uint32_t size, bool is_write,
	       struct sim_outcome *out);

/* The same for @nr accesses of one thread. */
int sim_run(struct sim *s, uint32_t thread, const struct mem_access *access, size_t nr);

/*
 * The same for accesses that are reduced to lines of the first level.  Only for machines that
 * sim_takes_lines() accepts, and only if no other thread runs on another core; else -EINVAL.
 */
bool sim_takes_lines(const struct sim *s);
int sim_run_lines(struct sim *s, uint32_t thread, const struct mem_lines *lines);

/*
 * From now on, sim_run() leaves the classes of misses to a second thread, if the machine is simple
 * and a thread can be started.  Results are the same; they can be read after the end.  Returns 0
 * or -ENOMEM.
 */
void sim_start_class_thread(struct sim *s);
int sim_end_class_thread(struct sim *s);

/* An access that was not just a hit of the first level. */
struct sim_missed {
	uint32_t index;   /* of the access */
	uint32_t outcome; /* 1 + number of its outcome; 0: it is to one line, and only missed: */
	uint16_t depth;   /* as many levels, from the first one on */
	uint16_t classes; /* of these misses: 2 bits for each level, the first level lowest */
};

/*
 * The same for at most SIM_MISSED_MAX accesses, with a list of misses.  @list has room for @nr;
 * *@nr_list are stored, in the order of the accesses.  An access that is not among them only hit
 * lines of the first level, or is empty.
 */
#define SIM_MISSED_MAX 1024u
int sim_run_missed(struct sim *s, uint32_t thread, const struct mem_access *access, size_t nr,
		   struct sim_missed *list, size_t *nr_list);

/* The outcome of one in the list, which may be in *@room; valid until the next accesses. */
const struct sim_outcome *sim_outcome_of_missed(const struct sim *s,
						const struct mem_access *access,
						const struct sim_missed *missed,
						struct sim_outcome *room);

/* The outcome of an access that is not in the list. */
void sim_outcome_of_hit(const struct sim_config *config, uint64_t address, uint32_t size,
			struct sim_outcome *out);

/*
 * For tests: the code that sim_run() uses for simple machines: "avx512", "avx2", "neon", "scalar";
 * NULL: the fastest.  -ENOTSUP: this host does not have it.  All have the same results.
 */
int sim_choose_path(struct sim *s, const char *name);

/* ---- results -------------------------------------------------------------- */

enum { SIM_READS, SIM_WRITES };

/* Counts of one level, in lines.  Index of [2]: SIM_READS, SIM_WRITES of the program. */
struct sim_counts {
	uint64_t hits[2], misses[2];
	uint64_t by_class[SIM_CLASSES][2];
};

/* Counts of all threads; counts of the thread at @index, as in sim_thread(). */
void sim_level_totals(const struct sim *s, uint32_t level, struct sim_counts *out);
void sim_level_thread(const struct sim *s, uint32_t index, uint32_t level, struct sim_counts *out);

/* Counts of a level that belong to no thread. */
struct sim_traffic {
	uint64_t evictions;                   /* lines evicted to make room */
	uint64_t write_backs;                 /* dirty lines that left the level */
	uint64_t writes_through;              /* writes that it passed on */
	uint64_t back_invalidations;          /* inclusive: lines removed from levels above */
	uint64_t prefetches, useful, useless; /* prefetched; used later; lost before any use */
};
void sim_level_traffic(const struct sim *s, uint32_t level, struct sim_traffic *out);

struct sim_tlb_counts {
	uint64_t hits, misses;
};
void sim_tlb_totals(const struct sim *s, uint32_t tlb, struct sim_tlb_counts *out);

struct sim_thread {
	uint32_t thread; /* SIM_NOBODY: all threads beyond the limit, together */
	uint32_t core;
	uint64_t accesses[2];
	uint64_t invalidated; /* copies of other cores that it invalidated */
	uint64_t lost;        /* copies that it lost to other cores */
	uint64_t from_peer;   /* lines that came from another core's cache */
	uint64_t tlb_misses[SIM_TLBS_MAX];
};
uint32_t sim_nr_threads(const struct sim *s);
void sim_thread(const struct sim *s, uint32_t index, struct sim_thread *out);

struct sim_totals {
	uint64_t accesses[2], bytes;
	uint64_t straddles;       /* accesses over more than one line */
	uint64_t empty;           /* accesses of size 0 */
	uint64_t cores;           /* cores that were used */
	uint64_t memory_reads;    /* lines of the last level */
	uint64_t memory_writes;   /* lines written back, and writes that no level kept */
	uint64_t invalidations;   /* copies that writes of other cores invalidated */
	uint64_t upgrades;        /* writes to a line that was present and shared */
	uint64_t interventions;   /* lines that another core's cache provided */
	uint64_t dirty_transfers; /* of them dirty */
	uint64_t false_sharing, true_sharing; /* coherence misses of followed lines, by kind */
	uint64_t unknown_sharing;             /* the same, of lines that were not followed */
	uint64_t lines_dropped; /* shared lines that are no longer followed, for lack of room */
};
void sim_totals(const struct sim *s, struct sim_totals *out);

/* ---- shared lines -------------------------------------------------------- */

#define SIM_SHARERS_MAX 32 /* counted separately per line; the rest is counted together */
#define SIM_THEFTS_MAX  64

/* Masks have a bit for each 64th of the line. */
struct sim_sharer {
	uint32_t thread;
	uint64_t reads, writes; /* since a core first took the line from another */
	uint64_t read_mask, write_mask;
};

/* One thread's core took the line from another thread's core. */
struct sim_theft {
	uint32_t by, from;      /* threads; `from` used the line last on that core */
	uint64_t invalidations; /* number of times */
	uint64_t false_misses;  /* later misses of `from` that touched no byte written since */
	uint64_t true_misses;   /* later misses of `from` that did, at the miss or afterwards */
};

struct sim_shared_line {
	uint64_t address;
	uint64_t invalidations, false_misses, true_misses;
	uint32_t nr_sharers, nr_thefts;
	uint64_t other_sharers,
		other_thefts; /* accesses and invalidations beyond the limits above */
	struct sim_sharer *sharers;
	struct sim_theft *thefts;
};

/*
 * The worst lines, by false misses, then by invalidations.  Returns their number.  The simulator
 * owns them; they are valid until the next access.
 */
size_t sim_shared_lines(struct sim *s, const struct sim_shared_line **out, size_t nr);

#endif
