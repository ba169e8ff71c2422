/* SPDX-License-Identifier: MIT */
/* compact_decode.c - the events and gaps of a compact block, from its columns. */
#include "trace/compact_decode.h"

#include <stdlib.h>

#define unlikely(x) __builtin_expect(!!(x), 0)

/* ---- values ------------------------------------------------------------------ */

static bool compact_take(struct compact_cursor *c, void *to, size_t size)
{
	if (unlikely((size_t)(c->end - c->at) < size))
		return false;
	memcpy(to, c->at, size);
	c->at += size;
	return true;
}

static bool compact_take_varint(struct compact_cursor *c, uint64_t *out)
{
	uint64_t value = 0;
	unsigned shift;

	for (shift = 0; shift < 64 && c->at < c->end; shift += 7) {
		uint8_t byte = *c->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*out = value;
			return true;
		}
	}
	return false;
}

static bool compact_take_u32(struct compact_cursor *c, uint32_t *out)
{
	uint64_t value;

	if (!compact_take_varint(c, &value) || value > UINT32_MAX)
		return false;
	*out = (uint32_t)value;
	return true;
}

/* Adds a difference to *@value. */
static bool compact_take_difference(struct compact_cursor *c, uint64_t *value)
{
	uint64_t difference;

	if (!compact_take_varint(c, &difference))
		return false;
	*value += compact_unzigzag(difference);
	return true;
}

/* ---- threads and coroutines ---------------------------------------------------- */

static bool compact_take_thread(struct compact_decoder *d, uint32_t index)
{
	uint64_t tid;

	if (index < d->model.nr_threads)
		return true;
	if (index != d->model.nr_threads || index >= COMPACT_THREADS_MAX ||
	    !compact_take_varint(&d->cursors[COMPACT_TIDS], &tid))
		return false;
	compact_model_add_thread(&d->model, tid);
	return true;
}

static bool compact_take_coroutine(struct compact_decoder *d, uint32_t index)
{
	uint64_t id = d->model.last_id;

	if (index < d->model.nr_coroutines)
		return true;
	if (index != d->model.nr_coroutines ||
	    !compact_take_difference(&d->cursors[COMPACT_IDS], &id))
		return false;
	if (!compact_model_make_room(&d->model)) {
		d->no_memory = true;
		return false;
	}
	compact_model_add_coroutine(&d->model, id);
	return true;
}

/* The index of the coroutine; UINT32_MAX: damaged. */
static uint32_t compact_index_of(struct compact_decoder *d, unsigned kind, unsigned miss,
				 uint32_t thread)
{
	uint32_t *running = &d->model.threads[thread].running, index;

	if (kind == TRACE_SUSPEND && !(miss & COMPACT_MISS_ID))
		return *running;
	if (kind == TRACE_WAKE) {
		if (d->wake_low == d->wake_end)
			return UINT32_MAX;
		index = *d->wake_low++ | (uint32_t)*d->wake_high++ << 8;
	} else {
		if (d->rest_low == d->rest_end)
			return UINT32_MAX;
		index = *d->rest_low++ | (uint32_t)*d->rest_high++ << 8;
	}
	if (!compact_take_coroutine(d, index))
		return UINT32_MAX;
	if (kind == TRACE_RESUME)
		*running = index;
	return index;
}

/* ---- members ------------------------------------------------------------------- */

static bool compact_take_time(struct compact_decoder *d)
{
	uint32_t at = d->at;
	uint64_t delta = d->delta[0][at] | (uint32_t)d->delta[1][at] << 8 |
			 (uint32_t)d->delta[2][at] << 16;

	if (unlikely(delta == COMPACT_DELTA_LONG) &&
	    !compact_take(&d->cursors[COMPACT_LONG], &delta, sizeof(delta)))
		return false;
	d->model.ts += delta;
	return true;
}

static bool compact_take_members(struct compact_decoder *d, unsigned miss,
				 struct compact_last *last)
{
	uint8_t both[2];

	if (miss & COMPACT_MISS_ADDR &&
	    !compact_take_difference(&d->cursors[COMPACT_ADDR], &last->addr))
		return false;
	if (miss & COMPACT_MISS_SITE && !compact_take_u32(&d->cursors[COMPACT_SITE], &last->site))
		return false;
	if (miss & COMPACT_MISS_REASON) {
		if (!compact_take(&d->cursors[COMPACT_REASON], both, sizeof(both)))
			return false;
		last->reason = both[0];
		last->flags = both[1];
	}
	return !(miss & COMPACT_MISS_RESOURCE) ||
	       compact_take_difference(&d->cursors[COMPACT_RESOURCE], &last->resource);
}

static bool compact_take_name(struct compact_decoder *d, struct trace_event *ev)
{
	struct compact_cursor *names = &d->cursors[COMPACT_NAMES];

	if (!compact_take_u32(&d->cursors[COMPACT_NAME_SIZE], &ev->name_size) ||
	    ev->name_size > (size_t)(names->end - names->at))
		return false;
	ev->name = (const char *)names->at;
	names->at += ev->name_size;
	return true;
}

static bool compact_take_more(struct compact_decoder *d, struct compact_last *last,
			      struct trace_event *ev)
{
	uint8_t more;

	if (!compact_take(&d->cursors[COMPACT_MORE], &more, 1))
		return false;
	if (more & COMPACT_MORE_PEER &&
	    !compact_take_difference(&d->cursors[COMPACT_PEER], &last->peer))
		return false;
	if (more & COMPACT_MORE_STATION) {
		if (!compact_take_u32(&d->cursors[COMPACT_STATION], &last->station))
			return false;
		last->station--;
	}
	if (more & COMPACT_MORE_PID && !compact_take_u32(&d->cursors[COMPACT_PID], &last->pid))
		return false;
	if (more & COMPACT_MORE_WRITTEN &&
	    !compact_take_varint(&d->cursors[COMPACT_WRITTEN], &ev->written))
		return false;
	if (more & COMPACT_MORE_LOST && !compact_take_varint(&d->cursors[COMPACT_LOST], &ev->lost))
		return false;
	return !(more & COMPACT_MORE_NAME) || compact_take_name(d, ev);
}

static bool compact_take_counts(struct compact_decoder *d, unsigned miss,
				struct compact_coroutine *c, struct trace_event *ev)
{
	uint64_t seen = ev->kind == TRACE_WAKE ? (uint32_t)c->seen : 0;

	ev->seq = ev->kind <= TRACE_RESUME ? compact_model_seq(c) : 0;
	if (unlikely(miss & COMPACT_MISS_SEQ) &&
	    !compact_take_difference(&d->cursors[COMPACT_SEQ], &ev->seq))
		return false;
	if (unlikely(miss & COMPACT_MISS_SEEN) &&
	    !compact_take_difference(&d->cursors[COMPACT_SEEN], &seen))
		return false;
	ev->seen = (uint32_t)seen;
	if (ev->kind <= TRACE_RESUME)
		compact_model_step(c, ev->seq);
	else if (ev->kind == TRACE_WAKE)
		c->seen = ev->seen;
	return true;
}

/* ---- items --------------------------------------------------------------------- */

static bool compact_take_event(struct compact_decoder *d, struct trace_event *ev)
{
	unsigned kind = d->shape[d->at] & 15, miss = d->miss[d->at];
	uint32_t thread = d->shape[d->at] >> 4 | (uint32_t)d->thread_high[d->at] << 4, index;
	struct compact_coroutine *c;
	struct compact_last *last;

	if (!compact_take_thread(d, thread))
		return false;
	index = compact_index_of(d, kind, miss, thread);
	if (index == UINT32_MAX || !compact_take_time(d))
		return false;
	c = &d->model.coroutines[index];
	last = compact_model_last(&d->model, c, kind);
	ev->probe_id = c->id;
	ev->tid = d->model.threads[thread].tid;
	ev->ts = d->model.ts;
	ev->kind = (uint8_t)kind;
	ev->is_active = kind == TRACE_RESUME;
	ev->name = NULL;
	ev->name_size = 0;
	ev->written = kind > TRACE_RESUME ? c->written : 0;
	ev->lost = 0;
	if (!compact_take_counts(d, miss, c, ev))
		return false;
	if (unlikely(miss)) {
		if (!compact_take_members(d, miss, last) ||
		    (miss & COMPACT_MISS_MORE && !compact_take_more(d, last, ev)))
			return false;
		compact_model_missed(&d->model, last, kind);
	}
	if (kind > TRACE_RESUME)
		c->written = ev->written;
	ev->addr = last->addr;
	ev->resource = last->resource;
	ev->peer = last->peer;
	ev->site = last->site;
	ev->pid = last->pid;
	ev->station = last->station;
	ev->reason = last->reason;
	ev->flags = last->flags;
	return true;
}

/* The members that do not depend on other events; the rest is as in an empty event. */
static bool compact_take_light(struct compact_decoder *d, struct trace_event *ev)
{
	unsigned kind = d->shape[d->at] & 15;
	uint32_t thread = d->shape[d->at] >> 4 | (uint32_t)d->thread_high[d->at] << 4;

	if (!compact_take_thread(d, thread) || !compact_take_time(d))
		return false;
	trace_event_init(ev);
	ev->kind = (uint8_t)kind;
	ev->is_active = kind == TRACE_RESUME;
	ev->ts = d->model.ts;
	ev->tid = d->model.threads[thread].tid;
	return true;
}

static bool compact_take_gap(struct compact_decoder *d, const char **gap, size_t *size)
{
	struct compact_cursor *c = &d->cursors[COMPACT_GAPS];
	const uint8_t *end = c->at ? memchr(c->at, '\n', (size_t)(c->end - c->at)) : NULL;

	if (!end || !compact_take_time(d))
		return false;
	*gap = (const char *)c->at;
	*size = (size_t)(end - c->at);
	c->at = end + 1;
	return true;
}

enum compact_decoded compact_decode_next(struct compact_decoder *d, struct trace_event *ev,
					 const char **gap, size_t *gap_size)
{
	bool is_gap, taken;

	if (d->at == d->items)
		return COMPACT_DECODED_END;
	is_gap = (d->shape[d->at] & 15) == COMPACT_KIND_GAP;
	taken = is_gap        ? compact_take_gap(d, gap, gap_size)
		: d->is_light ? compact_take_light(d, ev)
			      : compact_take_event(d, ev);
	if (unlikely(!taken)) {
		d->at = d->items;
		return d->no_memory ? COMPACT_DECODED_NO_MEMORY : COMPACT_DECODED_DAMAGED;
	}
	d->at++;
	if (is_gap)
		return COMPACT_DECODED_GAP;
	return unlikely(ev->kind >= NR_TRACE_KINDS) ? COMPACT_DECODED_UNKNOWN
						    : COMPACT_DECODED_EVENT;
}

/* ---- the block ------------------------------------------------------------------- */

/* A column of @size bytes, or zeros.  NULL: it has another size. */
static const uint8_t *compact_fixed(const struct compact_decoder *d,
				    const struct compact_part *part, size_t size)
{
	if (!part->data)
		return d->zeros;
	return part->size == size ? part->data : NULL;
}

/* Splits the indexes into those of wakes and the others. */
static bool compact_decoder_split(struct compact_decoder *d, const struct compact_part *parts)
{
	size_t wakes = 0, rest = 0;
	const uint8_t *low, *high;
	uint32_t i;

	for (i = 0; i < d->items; i++) {
		unsigned kind = d->shape[i] & 15;

		if (kind == TRACE_WAKE)
			wakes++;
		else if (kind != COMPACT_KIND_GAP &&
			 (kind != TRACE_SUSPEND || d->miss[i] & COMPACT_MISS_ID))
			rest++;
	}
	low = compact_fixed(d, &parts[COMPACT_INDEX_LOW], wakes + rest);
	high = compact_fixed(d, &parts[COMPACT_INDEX_HIGH], wakes + rest);
	if (!low || !high)
		return false;
	d->wake_low = low;
	d->wake_high = high;
	d->wake_end = d->rest_low = low + wakes;
	d->rest_high = high + wakes;
	d->rest_end = low + wakes + rest;
	return true;
}

/* Not NULL: a name without bytes points there. */
static struct compact_cursor compact_cursor_of(const struct compact_part *part)
{
	static const uint8_t nothing[1];

	if (!part->data)
		return (struct compact_cursor){ nothing, nothing };
	return (struct compact_cursor){ part->data, part->data + part->size };
}

bool compact_decoder_begin(struct compact_decoder *d, const struct compact_block_head *head,
			   const struct compact_part *parts)
{
	unsigned i;

	d->items = d->at = 0;
	d->no_memory = false;
	if (head->items > COMPACT_ITEMS_MAX)
		return false;
	compact_model_reset(&d->model);
	for (i = 0; i < NR_COMPACT_COLUMNS; i++)
		d->cursors[i] = compact_cursor_of(&parts[i]);
	d->shape = compact_fixed(d, &parts[COMPACT_SHAPE], head->items);
	d->thread_high = compact_fixed(d, &parts[COMPACT_THREAD_HIGH], head->items);
	d->miss = compact_fixed(d, &parts[COMPACT_MISS], head->items);
	for (i = 0; i < 3; i++)
		d->delta[i] = compact_fixed(d, &parts[COMPACT_DELTA_0 + i], head->items);
	if (!d->shape || !d->thread_high || !d->miss || !d->delta[0] || !d->delta[1] ||
	    !d->delta[2])
		return false;
	d->items = head->items;
	if (compact_decoder_split(d, parts))
		return true;
	d->items = 0;
	return false;
}

struct compact_decoder *compact_decoder_new(void)
{
	struct compact_decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->zeros = calloc(1, COMPACT_ITEMS_MAX);
	if (d->zeros)
		return d;
	free(d);
	return NULL;
}

void compact_decoder_free(struct compact_decoder *d)
{
	if (d) {
		free(d->zeros);
		free(d->model.coroutines);
	}
	free(d);
}
