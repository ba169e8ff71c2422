/* SPDX-License-Identifier: MIT */
/* compact_encode.c - events as the columns of a compact block. */
#include "trace/compact_encode.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/monotonic.h"
#include "trace/item.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

#define TEXT_LIMIT  ((size_t)4 << 20)
#define INDEX_BITS  32
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* ---- threads and coroutines ------------------------------------------------ */

/* Ids come from programs: the seed makes sure that they cannot be chosen to collide. */
static inline size_t compact_hash(const struct compact_encoder *e, uint64_t key, size_t size)
{
	return (size_t)(((key ^ e->seed) * HASH_FACTOR) >> 40) & (size - 1);
}

static uint32_t compact_thread_find(struct compact_encoder *e, uint64_t tid)
{
	size_t at = compact_hash(e, tid, COMPACT_THREAD_TABLE);
	uint32_t index = e->model.nr_threads;

	for (;; at = (at + 1) & (COMPACT_THREAD_TABLE - 1)) {
		uint64_t entry = e->thread_table[at];
		uint32_t found = (uint32_t)entry;

		if (entry >> INDEX_BITS != e->round)
			break;
		if (e->model.threads[found].tid == tid)
			return found;
	}
	e->thread_table[at] = e->round << INDEX_BITS | index;
	compact_model_add_thread(&e->model, tid);
	bytes_add_varint(&e->columns[COMPACT_TIDS], tid);
	return index;
}

static inline uint32_t compact_thread_of(struct compact_encoder *e, uint64_t tid)
{
	if (e->model.nr_threads && e->model.threads[e->thread].tid == tid)
		return e->thread;
	return compact_thread_find(e, tid);
}

static uint32_t compact_coroutine_of(struct compact_encoder *e, uint64_t id)
{
	size_t at = compact_hash(e, id, COMPACT_TABLE);
	uint32_t index = e->model.nr_coroutines;

	for (;; at = (at + 1) & (COMPACT_TABLE - 1)) {
		uint64_t entry = e->table[at];
		uint32_t found = (uint32_t)entry;

		if (entry >> INDEX_BITS != e->round)
			break;
		if (e->model.coroutines[found].id == id)
			return found;
	}
	e->table[at] = e->round << INDEX_BITS | index;
	bytes_add_varint(&e->columns[COMPACT_IDS], compact_zigzag(id - e->model.last_id));
	compact_model_add_coroutine(&e->model, id);
	return index;
}

/* The coroutine of the event; sets COMPACT_MISS_ID in *@miss. */
static inline uint32_t compact_put_coroutine(struct compact_encoder *e,
					     const struct trace_event *ev, uint32_t thread,
					     unsigned *miss)
{
	struct compact_indexes *to = ev->kind == TRACE_WAKE ? &e->wakes : &e->rest;
	uint32_t *running = &e->model.threads[thread].running, index;

	if (ev->kind == TRACE_SUSPEND) {
		if (*running != COMPACT_NO_RUNNING &&
		    e->model.coroutines[*running].id == ev->probe_id)
			return *running;
		*miss = COMPACT_MISS_ID;
	}
	index = compact_coroutine_of(e, ev->probe_id);
	to->low[to->nr] = (uint8_t)index;
	to->high[to->nr++] = (uint8_t)(index >> 8);
	if (ev->kind == TRACE_RESUME)
		*running = index;
	return index;
}

/* ---- time ------------------------------------------------------------------ */

static inline void compact_put_time(struct compact_encoder *e, uint64_t ts)
{
	uint64_t delta = ts - e->model.ts;
	uint32_t at = e->items;

	if (unlikely(delta >= COMPACT_DELTA_LONG)) {
		bytes_add(&e->columns[COMPACT_LONG], &delta, sizeof(delta));
		delta = COMPACT_DELTA_LONG;
	}
	e->delta[0][at] = (uint8_t)delta;
	e->delta[1][at] = (uint8_t)(delta >> 8);
	e->delta[2][at] = (uint8_t)(delta >> 16);
	e->model.ts = ts;
	if (unlikely(ts < e->min_ts))
		e->min_ts = ts;
	if (ts > e->max_ts)
		e->max_ts = ts;
}

/* ---- members --------------------------------------------------------------- */

static void compact_put_difference(struct compact_encoder *e, unsigned column, uint64_t value,
				   uint64_t predicted)
{
	bytes_add_varint(&e->columns[column], compact_zigzag(value - predicted));
}

static unsigned compact_put_name(struct compact_encoder *e, const struct trace_event *ev)
{
	uint32_t size = ev->name_size < TRACE_NAME_MAX ? ev->name_size : TRACE_NAME_MAX;

	if (!ev->name || !size)
		return 0;
	bytes_add_varint(&e->columns[COMPACT_NAME_SIZE], size);
	bytes_add(&e->columns[COMPACT_NAMES], ev->name, size);
	return COMPACT_MORE_NAME;
}

/* Members that are rarely predicted wrongly.  Returns the bits of COMPACT_MORE. */
static unsigned compact_put_more(struct compact_encoder *e, const struct trace_event *ev,
				 struct compact_coroutine *c, struct compact_last *last)
{
	unsigned more = 0;

	if (ev->peer != last->peer) {
		compact_put_difference(e, COMPACT_PEER, ev->peer, last->peer);
		last->peer = ev->peer;
		more |= COMPACT_MORE_PEER;
	}
	if (ev->station != last->station) {
		bytes_add_varint(&e->columns[COMPACT_STATION], (uint32_t)(ev->station + 1));
		last->station = ev->station;
		more |= COMPACT_MORE_STATION;
	}
	if (ev->pid != last->pid) {
		bytes_add_varint(&e->columns[COMPACT_PID], ev->pid);
		last->pid = ev->pid;
		more |= COMPACT_MORE_PID;
	}
	if (ev->written != (ev->kind > TRACE_RESUME ? c->written : 0)) {
		bytes_add_varint(&e->columns[COMPACT_WRITTEN], ev->written);
		more |= COMPACT_MORE_WRITTEN;
	}
	if (ev->lost) {
		bytes_add_varint(&e->columns[COMPACT_LOST], ev->lost);
		more |= COMPACT_MORE_LOST;
	}
	return more | compact_put_name(e, ev);
}

static inline bool compact_has_more(const struct trace_event *ev, const struct compact_coroutine *c,
				    const struct compact_last *last)
{
	return ((ev->peer ^ last->peer) | (ev->station ^ last->station) | (ev->pid ^ last->pid) |
		(ev->written ^ (ev->kind > TRACE_RESUME ? c->written : 0)) | ev->lost |
		ev->name_size) != 0;
}

static inline uint8_t compact_flags(const struct trace_event *ev)
{
	return ev->name_size > TRACE_NAME_MAX && ev->name ? ev->flags | TRACE_NAME_CUT : ev->flags;
}

/* Members of @last.  Returns the bits of COMPACT_MISS. */
static unsigned compact_put_members(struct compact_encoder *e, const struct trace_event *ev,
				    struct compact_last *last)
{
	uint8_t flags = compact_flags(ev), both[2] = { ev->reason, flags };
	unsigned miss = 0;

	if (ev->addr != last->addr) {
		compact_put_difference(e, COMPACT_ADDR, ev->addr, last->addr);
		last->addr = ev->addr;
		miss |= COMPACT_MISS_ADDR;
	}
	if (ev->site != last->site) {
		bytes_add_varint(&e->columns[COMPACT_SITE], ev->site);
		last->site = ev->site;
		miss |= COMPACT_MISS_SITE;
	}
	if (ev->reason != last->reason || flags != last->flags) {
		bytes_add(&e->columns[COMPACT_REASON], both, sizeof(both));
		last->reason = ev->reason;
		last->flags = flags;
		miss |= COMPACT_MISS_REASON;
	}
	if (ev->resource != last->resource) {
		compact_put_difference(e, COMPACT_RESOURCE, ev->resource, last->resource);
		last->resource = ev->resource;
		miss |= COMPACT_MISS_RESOURCE;
	}
	return miss;
}

/* seq and seen.  Returns the bits of COMPACT_MISS. */
static inline unsigned compact_put_counts(struct compact_encoder *e, const struct trace_event *ev,
					  struct compact_coroutine *c)
{
	uint64_t seq = ev->kind <= TRACE_RESUME ? compact_model_seq(c) : 0;
	uint64_t seen = ev->kind == TRACE_WAKE ? (uint32_t)c->seen : 0;
	unsigned miss = 0;

	if (unlikely(ev->seq != seq)) {
		compact_put_difference(e, COMPACT_SEQ, ev->seq, seq);
		miss |= COMPACT_MISS_SEQ;
	}
	if (unlikely(ev->seen != seen)) {
		compact_put_difference(e, COMPACT_SEEN, ev->seen, seen);
		miss |= COMPACT_MISS_SEEN;
	}
	if (ev->kind <= TRACE_RESUME)
		compact_model_step(c, ev->seq);
	else if (ev->kind == TRACE_WAKE)
		c->seen = ev->seen;
	return miss;
}

/* ---- items ----------------------------------------------------------------- */

static inline void compact_put_shape(struct compact_encoder *e, unsigned kind, uint32_t thread,
				     unsigned miss)
{
	e->shape[e->items] = (uint8_t)(kind | thread << 4);
	e->thread_high[e->items] = (uint8_t)(thread >> 4);
	e->miss[e->items] = (uint8_t)miss;
	e->kinds |= 1u << kind;
	e->items++;
}

void compact_encode_event(struct compact_encoder *e, const struct trace_event *ev)
{
	uint32_t thread = compact_thread_of(e, ev->tid);
	unsigned miss = 0;
	uint8_t more;
	uint32_t index = compact_put_coroutine(e, ev, thread, &miss);
	struct compact_coroutine *c = &e->model.coroutines[index];
	struct compact_last *last = compact_model_last(&e->model, c, ev->kind);

	compact_put_time(e, ev->ts);
	miss |= compact_put_counts(e, ev, c);
	if (unlikely((ev->addr ^ last->addr) | (ev->site ^ last->site) |
		     (ev->resource ^ last->resource) | (ev->reason ^ last->reason) |
		     (ev->flags ^ last->flags) | (ev->name_size > TRACE_NAME_MAX)))
		miss |= compact_put_members(e, ev, last);
	if (unlikely(compact_has_more(ev, c, last))) {
		more = (uint8_t)compact_put_more(e, ev, c, last);
		if (more) {
			bytes_add(&e->columns[COMPACT_MORE], &more, 1);
			miss |= COMPACT_MISS_MORE;
		}
	}
	if (ev->kind > TRACE_RESUME)
		c->written = ev->written;
	if (unlikely(miss))
		compact_model_missed(&e->model, last, ev->kind);
	compact_put_shape(e, ev->kind, thread, miss);
	e->thread = thread;
	e->transitions += ev->kind <= TRACE_RESUME;
	e->others += ev->kind > TRACE_RESUME;
}

void compact_encode_gap(struct compact_encoder *e, uint64_t ts, const char *line, size_t size)
{
	bytes_add(&e->columns[COMPACT_GAPS], line, size);
	compact_put_time(e, ts);
	compact_put_shape(e, COMPACT_KIND_GAP, 0, 0);
}

/* ---- the block --------------------------------------------------------------- */

/* Of the parts of the wakes and of the others, one column. */
static void compact_join_indexes(struct compact_encoder *e)
{
	bytes_clear(&e->columns[COMPACT_INDEX_LOW]);
	bytes_clear(&e->columns[COMPACT_INDEX_HIGH]);
	bytes_add(&e->columns[COMPACT_INDEX_LOW], e->wakes.low, e->wakes.nr);
	bytes_add(&e->columns[COMPACT_INDEX_LOW], e->rest.low, e->rest.nr);
	if (e->model.nr_coroutines <= 256) /* all zero */
		return;
	bytes_add(&e->columns[COMPACT_INDEX_HIGH], e->wakes.high, e->wakes.nr);
	bytes_add(&e->columns[COMPACT_INDEX_HIGH], e->rest.high, e->rest.nr);
}

bool compact_encoder_column(struct compact_encoder *e, unsigned id, const uint8_t **data,
			    size_t *size)
{
	*size = e->items;
	switch (id) {
	case COMPACT_SHAPE:
		*data = e->shape;
		return true;
	case COMPACT_THREAD_HIGH:
		*data = e->thread_high;
		*size = e->model.nr_threads > 16 ? e->items : 0;
		return true;
	case COMPACT_DELTA_0:
	case COMPACT_DELTA_1:
	case COMPACT_DELTA_2:
		*data = e->delta[id - COMPACT_DELTA_0];
		return true;
	case COMPACT_MISS:
		*data = e->miss;
		return true;
	case COMPACT_INDEX_LOW:
		compact_join_indexes(e);
		break;
	default:
		break;
	}
	*data = e->columns[id].data;
	*size = e->columns[id].size;
	return !e->columns[id].error;
}

void compact_encoder_reset(struct compact_encoder *e)
{
	unsigned i;

	e->items = e->transitions = e->others = e->kinds = e->thread = 0;
	e->min_ts = UINT64_MAX;
	e->max_ts = 0;
	e->wakes.nr = e->rest.nr = 0;
	for (i = 0; i < NR_COMPACT_COLUMNS; i++)
		bytes_clear(&e->columns[i]);
	e->round++;
	compact_model_reset(&e->model);
}

struct compact_encoder *compact_encoder_new(void)
{
	struct compact_encoder *e = calloc(1, sizeof(*e));

	if (!e || !compact_model_make_room(&e->model)) {
		free(e);
		return NULL;
	}
	e->limit = TEXT_LIMIT;
	if (getrandom(&e->seed, sizeof(e->seed), GRND_NONBLOCK) != sizeof(e->seed))
		e->seed = (uintptr_t)e ^ clock_now_ns(); /* early at boot, or in a sandbox */
	compact_encoder_reset(e);
	return e;
}

void compact_encoder_free(struct compact_encoder *e)
{
	unsigned i;

	for (i = 0; e && i < NR_COMPACT_COLUMNS; i++)
		bytes_release(&e->columns[i]);
	if (e)
		free(e->model.coroutines);
	free(e);
}
