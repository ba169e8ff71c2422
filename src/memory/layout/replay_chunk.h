/* SPDX-License-Identifier: MIT */
/*
 * replay_chunk.h - accesses of one thread for several replays, without repetitions.
 *
 * An access to the line that its set of the first level used last changes no cache, see
 * rerun_can_skip().  Up to an access that moves, all replays have used the same lines: what one can
 * leave out, all can.
 */
#ifndef MEMORY_LAYOUT_REPLAY_CHUNK_H
#define MEMORY_LAYOUT_REPLAY_CHUNK_H

#include "memory/layout/replay_layout.h"

#define REPLAY_CHUNK 1024u /* accesses that one replay gets after the other */
#define REPLAY_LINES 256u  /* a power of two */

struct replay_chunk {
	struct mem_access list[REPLAY_CHUNK];
	uint32_t nr;
	struct rerun_place places[REPLAY_CHUNK]; /* of the accesses that may move */
	uint32_t nr_places;
	uint32_t line_shift;
	bool skips; /* leave repetitions out */
	/* By line modulo sets, or less: the line used last, if it was in the current epoch. */
	struct replay_line {
		uint64_t line, epoch;
		bool is_written;
	} lines[REPLAY_LINES];
	uint32_t nr_lines; /* a power of two */
	uint64_t epoch;    /* from access to access that moves */
};

/* All zero before. */
static inline void replay_chunk_init(struct replay_chunk *c, const struct sim_config *config)
{
	uint64_t sets = rerun_sets(config);

	c->skips = config->no_sharing && rerun_can_skip(config);
	c->line_shift = (uint32_t)__builtin_ctz(config->level[0].line);
	c->nr_lines = sets < REPLAY_LINES ? (uint32_t)sets : REPLAY_LINES;
}

/* Begin with no access. */
static inline void replay_chunk_begin(struct replay_chunk *c)
{
	c->nr = c->nr_places = 0;
	c->epoch++;
}

/* Add an access that may move; the caller has filled in its place, the next of the list. */
static inline void replay_chunk_move(struct replay_chunk *c, const struct mem_access *a)
{
	c->places[c->nr_places++].index = c->nr;
	c->list[c->nr++] = *a;
	c->epoch++;
}

/* Add an access that keeps its address in all replays, unless it changes no cache. */
static inline void replay_chunk_keep(struct replay_chunk *c, const struct mem_access *a)
{
	uint64_t line = a->address >> c->line_shift;
	struct replay_line *known = &c->lines[line & (c->nr_lines - 1)];
	bool is_same = known->line == line && known->epoch == c->epoch;

	c->list[c->nr] = *a;
	if (!c->skips || !a->size || (a->address + a->size - 1) >> c->line_shift != line) {
		c->nr++;
		c->epoch++;
		return;
	}
	/* Which accesses are repetitions is hard to predict: no branch. */
	c->nr += !(is_same & (known->is_written | !a->is_write));
	known->is_written = (is_same & known->is_written) | a->is_write;
	known->line = line;
	known->epoch = c->epoch;
}

#endif
