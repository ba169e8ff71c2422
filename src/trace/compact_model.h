/* SPDX-License-Identifier: MIT */
/*
 * compact_model.h - what the writer and the reader of a compact block both know: predictions.
 *
 * Most members of an event follow from earlier events of the same coroutine: it suspends at the
 * same place for the same reason, on the thread that resumed it.  Encoder and decoder keep the same
 * state and predict the members by the same rules; only what was predicted wrongly is stored.  The
 * state begins empty in each block.
 *
 *	coroutine   of a suspend: the one that was last resumed on the thread
 *	seq         the previous one of the coroutine; after eight equal ones, that plus 2 (a
 *	            coroutine writes eight slots in turn)
 *	seen        of a wake: that of the previous wake, plus the transitions since
 *	written     that of the previous event of the coroutine that is not a transition
 *	others      those of the previous event of the same kind: of the same coroutine for
 *	            suspend, resume, wake, acquire and release; if it has none, and for the other
 *	            kinds, of the last event of that kind that was not predicted entirely
 */
#ifndef TRACE_COMPACT_MODEL_H
#define TRACE_COMPACT_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/compact.h"
#include "trace/event.h"

#define COMPACT_CLASSES    5u
#define COMPACT_NO_CLASS   COMPACT_CLASSES
#define COMPACT_NO_RUNNING UINT32_MAX
#define COMPACT_SEQ_SLOTS  8u

_Static_assert(NR_TRACE_KINDS <= COMPACT_KIND_GAP, "a kind has four bits");

/* Members of the last event of a kind. */
struct compact_last {
	uint64_t addr, resource, peer;
	uint32_t site, pid, station;
	uint8_t reason, flags;
};

struct compact_coroutine {
	uint64_t id;
	uint64_t seq, seen, written;
	uint32_t seq_run; /* transitions with this seq */
	uint32_t known;   /* bit c: last[c] is set */
	struct compact_last last[COMPACT_CLASSES];
};

struct compact_thread {
	uint64_t tid;
	uint32_t running; /* index of a coroutine, or COMPACT_NO_RUNNING */
};

struct compact_model {
	uint64_t ts; /* of the last item */
	uint32_t nr_coroutines, nr_threads;
	uint64_t last_id; /* the coroutine that was added last */
	struct compact_last last[16];
	struct compact_thread threads[COMPACT_THREADS_MAX];
	struct compact_coroutine *coroutines;
	uint32_t room; /* for coroutines */
};

static inline void compact_model_reset(struct compact_model *m)
{
	unsigned i;

	m->ts = m->last_id = 0;
	m->nr_coroutines = m->nr_threads = 0;
	memset(m->last, 0, sizeof(m->last));
	for (i = 0; i < 16; i++)
		m->last[i].station = TRACE_NO_STATION;
}

/* Kinds of which each coroutine has a last event of its own.  Kinds of later versions have none. */
static inline unsigned compact_class(unsigned kind)
{
	switch (kind) {
	case TRACE_SUSPEND:
		return 0;
	case TRACE_RESUME:
		return 1;
	case TRACE_WAKE:
		return 2;
	case TRACE_ACQUIRE:
		return 3;
	case TRACE_RELEASE:
		return 4;
	default:
		return COMPACT_NO_CLASS;
	}
}

/* Room for one more coroutine.  False: no memory. */
static inline bool compact_model_make_room(struct compact_model *m)
{
	uint32_t room = m->room ? m->room * 2 : 256;
	struct compact_coroutine *more;

	if (m->nr_coroutines < m->room)
		return true;
	more = reallocarray(m->coroutines, room, sizeof(*more));
	if (!more)
		return false;
	m->coroutines = more;
	m->room = room;
	return true;
}

static inline void compact_model_add_coroutine(struct compact_model *m, uint64_t id)
{
	struct compact_coroutine *c = &m->coroutines[m->nr_coroutines++];

	c->id = m->last_id = id;
	c->seq = 2; /* of its first transition */
	c->seen = c->written = 0;
	c->seq_run = c->known = 0;
}

static inline void compact_model_add_thread(struct compact_model *m, uint64_t tid)
{
	m->threads[m->nr_threads++] = (struct compact_thread){ tid, COMPACT_NO_RUNNING };
}

/* What is predicted for an event of @kind; the caller updates it with what the event has. */
static inline struct compact_last *compact_model_last(struct compact_model *m,
						      struct compact_coroutine *c, unsigned kind)
{
	unsigned class = compact_class(kind);

	if (class == COMPACT_NO_CLASS)
		return &m->last[kind];
	if (!(c->known >> class & 1)) {
		c->last[class] = m->last[kind];
		c->known |= 1u << class;
	}
	return &c->last[class];
}

/* @last was not predicted entirely. */
static inline void compact_model_missed(struct compact_model *m, const struct compact_last *last,
					unsigned kind)
{
	if (last != &m->last[kind])
		m->last[kind] = *last;
}

static inline uint64_t compact_model_seq(const struct compact_coroutine *c)
{
	return c->seq_run == COMPACT_SEQ_SLOTS ? c->seq + 2 : c->seq;
}

/* A transition with this seq. */
static inline void compact_model_step(struct compact_coroutine *c, uint64_t seq)
{
	c->seq_run = seq == c->seq && c->seq_run < COMPACT_SEQ_SLOTS ? c->seq_run + 1 : 1;
	c->seq = seq;
	c->seen++;
}

/* Signed differences as unsigned numbers: 0, -1, 1, -2, ... */
static inline uint64_t compact_zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t) - (int64_t)(difference >> 63);
}

static inline uint64_t compact_unzigzag(uint64_t value)
{
	return value >> 1 ^ (uint64_t) - (int64_t)(value & 1);
}

#endif
