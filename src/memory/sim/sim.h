/* SPDX-License-Identifier: MIT */
/*
 * sim.h - caches, and what a program's accesses do to them.
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
 * A simulator is a value: any number of them live beside each other in a process, and none knows
 * of another.  One is used by one thread at a time.
 *
 * The model
 *   Every core has a cache of each private level; a shared level has one cache for several or for
 *   all cores.  An access is looked up line by line in the caches of its core, from the first
 *   level outwards.  Caches of different cores are kept coherent by MESI: a write takes the line
 *   away from all cores that do not share the cache, a read makes theirs shared.
 *
 *   A level is inclusive (what it loses, the levels above lose too), exclusive (it has what the
 *   level above lost, and gives a line away when it is asked for it), or neither.  A dirty line
 *that a cache loses goes to the next level if that has the line, and else further; it neither makes
 *room there nor counts as a use.  So misses do not depend on when lines are written back.
 *
 *   Counts are of lines looked up: an access over two lines is two.  Reads and writes are those
 *   of the program: a line that is fetched for a write counts as a write at each level.
 *
 * Misses are told apart by what would have helped
 *   coherence   the line was there and another core took it away
 *   cold        the first use of the line by this cache
 *   conflict    a fully associative LRU cache of the same size has the line
 *   capacity    it has not, either
 *
 * Memory: the caches, a tag store as large for each (classes), and what is known of lines that
 * were ever used: 16 bytes for every 64 neighbouring lines and cache.  It grows with the memory
 * that the program touched, not with the length of the trace.
 */
#ifndef MEMORY_SIM_SIM_H
#define MEMORY_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "memory/record.h"

#define SIM_LEVELS_MAX 6
#define SIM_TLBS_MAX   3
#define SIM_NAME_MAX   16
#define SIM_CORES_MAX  1024
#define SIM_CORES_AUTO 256        /* one per thread up to here; then they share */
#define SIM_SIZE_MAX   (1u << 20) /* of one access; more is cut */
#define SIM_NOBODY     UINT32_MAX /* no thread */

/* ---- configuration ------------------------------------------------------- */

enum sim_policy { SIM_LRU, SIM_PLRU, SIM_FIFO, SIM_LIFO, SIM_RANDOM };
enum sim_inclusion { SIM_NON_INCLUSIVE, SIM_INCLUSIVE, SIM_EXCLUSIVE };
enum sim_prefetch {
	SIM_PREFETCH_NONE,
	SIM_PREFETCH_MISS,   /* the next line after a miss */
	SIM_PREFETCH_TAGGED, /* and after the first use of a line that was prefetched */
};

struct sim_level_config {
	char name[SIM_NAME_MAX];
	uint64_t size; /* bytes */
	uint32_t line; /* bytes, a power of two, 32 at least */
	uint32_t ways; /* 0: fully associative */
	enum sim_policy policy;
	enum sim_inclusion inclusion; /* of the levels above; meaningless for the first */
	enum sim_prefetch prefetch;
	bool write_through; /* else write-back */
	bool no_allocate;   /* a write that misses brings no line */
	uint32_t share;     /* cores per cache: 1: private; 0: all */
};

struct sim_tlb_config {
	char name[SIM_NAME_MAX];
	uint32_t entries;
	uint32_t ways; /* 0: fully associative */
};

struct sim_config {
	struct sim_level_config level[SIM_LEVELS_MAX];
	uint32_t nr_levels;
	struct sim_tlb_config tlb[SIM_TLBS_MAX]; /* of each core; LRU */
	uint32_t nr_tlbs;
	uint32_t page;        /* bytes, a power of two; also what no prefetch crosses */
	uint32_t cores;       /* 0: one per thread, in order of appearance */
	uint64_t seed;        /* of random replacement */
	bool no_classes;      /* misses are not told apart, but for coherence: faster */
	bool no_sharing;      /* shared lines are not followed */
	uint32_t sharing_max; /* lines followed at a time; 0: 16384 */
};

/* 32K of 8 ways, 256K of 8 ways, 8M of 16 ways shared; 64-byte lines, LRU, write-back. */
void sim_config_default(struct sim_config *c);

/* Is it possible?  0, or -EINVAL with words that name the level and the key. */
int sim_config_check(const struct sim_config *c, struct err *err);

/* ---- running ------------------------------------------------------------- */

enum sim_class { SIM_COLD, SIM_CAPACITY, SIM_CONFLICT, SIM_COHERENCE };
#define SIM_CLASSES 4

/* Who had the line: a level, memory (= nr_levels), or another core's cache. */
#define SIM_SERVED_PEER 0xff

/* What one access did. */
struct sim_outcome {
	uint64_t first_line; /* address / line size of the first level */
	uint32_t nr_lines;   /* touched */
	uint8_t served;      /* the worst of them; a peer is worse than a level, memory the worst */
	bool truly_shared;   /* bytes that it touched were written by who took the line away */
	uint16_t tlb_misses[SIM_TLBS_MAX];
	uint16_t invalidated; /* copies of other cores that it destroyed */
	uint16_t from_peer;   /* lines that another core's cache gave */
	uint16_t fetched;     /* lines of the last level that came from memory */
	uint32_t lost_to;     /* coherence miss: the thread that took the line away; SIM_NOBODY */
	struct {
		uint16_t hits, misses;
		uint16_t by_class[SIM_CLASSES]; /* of the misses; unless no_classes */
	} level[SIM_LEVELS_MAX];
	uint64_t missed_first; /* bit i: line first_line + i missed the first level; i < 64 */
	uint64_t missed_all;   /* the same: it missed all levels of its core */
};

struct sim;

struct sim *sim_new(const struct sim_config *config, struct err *err);
void sim_free(struct sim *s);

/* The configuration, as it was given. */
const struct sim_config *sim_config_of(const struct sim *s);

/* Before its first access: @thread runs on @core (below config.cores).  -EINVAL, -ENOMEM. */
int sim_map_thread(struct sim *s, uint32_t thread, uint32_t core);

/* From here on, an access stands for @weight_256 / 256 of them. */
void sim_weight(struct sim *s, uint32_t weight_256);

/*
 * @thread: any number; the trace's.  A size of 0 touches nothing.  @out may be NULL, which
 * is faster.  0 or -ENOMEM, after which the simulator can only be freed.
 */
int sim_access(struct sim *s, uint32_t thread, uint64_t address, uint32_t size, bool is_write,
	       struct sim_outcome *out);

/* The same for many in a row, of one thread. */
int sim_run(struct sim *s, uint32_t thread, const struct mem_access *access, size_t nr);

/* ---- what came of it ------------------------------------------------------ */

enum { SIM_READS, SIM_WRITES };

/* Of one level, in lines; by the program's reads and writes where there are two. */
struct sim_counts {
	uint64_t hits[2], misses[2];
	uint64_t by_class[SIM_CLASSES][2];
};

/* Of all threads; of the @index-th one (sim_thread()). */
void sim_level_totals(const struct sim *s, uint32_t level, struct sim_counts *out);
void sim_level_thread(const struct sim *s, uint32_t index, uint32_t level, struct sim_counts *out);

/* What is of a level and of no thread. */
struct sim_traffic {
	uint64_t evictions;          /* lines that had to make room */
	uint64_t write_backs;        /* dirty lines that left it */
	uint64_t writes_through;     /* writes that it passed on */
	uint64_t back_invalidations; /* lines that it took from levels above, being inclusive */
	uint64_t prefetches, useful, useless; /* brought; used later; lost before any use */
};
void sim_level_traffic(const struct sim *s, uint32_t level, struct sim_traffic *out);

struct sim_tlb_counts {
	uint64_t hits, misses;
};
void sim_tlb_totals(const struct sim *s, uint32_t tlb, struct sim_tlb_counts *out);

struct sim_thread {
	uint32_t thread; /* SIM_NOBODY: all those that were too many to be told apart */
	uint32_t core;
	uint64_t accesses[2];
	uint64_t invalidated; /* copies of others that it destroyed */
	uint64_t lost;        /* copies that it lost to others */
	uint64_t from_peer;   /* lines that came from another core's cache */
	uint64_t tlb_misses[SIM_TLBS_MAX];
};
uint32_t sim_nr_threads(const struct sim *s);
void sim_thread(const struct sim *s, uint32_t index, struct sim_thread *out);

struct sim_totals {
	uint64_t accesses[2], bytes;
	uint64_t straddles;       /* accesses over more than one line */
	uint64_t empty;           /* of size 0 */
	uint64_t cores;           /* that were used */
	uint64_t memory_reads;    /* lines of the last level */
	uint64_t memory_writes;   /* lines written back, and writes that no level kept */
	uint64_t invalidations;   /* copies destroyed by writes of other cores */
	uint64_t upgrades;        /* writes to a line that was there and shared */
	uint64_t interventions;   /* lines that another core's cache gave */
	uint64_t dirty_transfers; /* of them dirty */
	uint64_t false_sharing, true_sharing; /* coherence misses of the first private level */
	uint64_t unknown_sharing;             /* the same, of lines that were not followed */
	uint64_t lines_dropped; /* shared lines that were followed, and then no longer */
};
void sim_totals(const struct sim *s, struct sim_totals *out);

/* ---- shared lines -------------------------------------------------------- */

#define SIM_SHARERS_MAX 32 /* told apart per line; others are counted */
#define SIM_THEFTS_MAX  64

/* Masks have a bit for each 64th of the line. */
struct sim_sharer {
	uint32_t thread;
	uint64_t reads, writes; /* since the first time that anybody took the line from another */
	uint64_t read_mask, write_mask;
};

/* Who took the line from whom. */
struct sim_theft {
	uint32_t by, from;      /* threads; `from` used the line last on that core */
	uint64_t invalidations; /* how often */
	uint64_t false_misses;  /* of those, it missed the line later, and never touched what was
				   written */
	uint64_t true_misses; /* and did touch it, at the miss or while it had the line after it */
};

struct sim_shared_line {
	uint64_t address;
	uint64_t invalidations, false_misses, true_misses;
	uint32_t nr_sharers, nr_thefts;
	uint64_t other_sharers, other_thefts; /* accesses, invalidations of those not told apart */
	struct sim_sharer *sharers;
	struct sim_theft *thefts;
};

/* The worst, by false misses, then by invalidations.  Returns how many; ours until the next access.
 */
size_t sim_shared_lines(struct sim *s, const struct sim_shared_line **out, size_t nr);

#endif
