/* SPDX-License-Identifier: MIT */
/* coro_cpu.c - processor time of each coroutine while a program runs (`run --cpu`), for `top`. */
#include "base/memory_shortage.h"
#include "collect/coro_cpu.h"

#include <stdlib.h>
#include <string.h>

/* What is used again and again stays in the processor's caches: a small ring is faster. */
#define SLICES_FIRST 1024u

void coro_cpu_open(struct coro_cpu *c)
{
	*c = (struct coro_cpu){ 0 };
	c->ended = calloc(SLICES_FIRST, sizeof(*c->ended));
	c->is_on = c->ended != NULL;
	c->ended_room = SLICES_FIRST;
}

void coro_cpu_close(struct coro_cpu *c)
{
	size_t i;

	for (i = 0; i < c->nr_threads; i++)
		free(c->threads[i].waits);
	free(c->threads);
	free(c->rows);
	free(c->ended);
	u64map_release(&c->numbers);
	u64map_release(&c->tids);
	*c = (struct coro_cpu){ 0 };
}

/* ---- rows ------------------------------------------------------------------ */

/* Index of a free row plus 1; 0: there is none. */
static size_t cpu_row_take(struct coro_cpu *c)
{
	struct coro_cpu_row *rows;
	size_t room = c->room ? 2 * c->room : 256, number = c->free;

	if (number) {
		c->free = (size_t)c->rows[number - 1].tid;
		return number;
	}
	if (c->nr == c->room) {
		rows = room <= CORO_CPU_ROWS ? reallocarray(c->rows, room, sizeof(*rows)) : NULL;
		if (!rows)
			return 0;
		c->rows = rows;
		c->room = room;
	}
	return ++c->nr;
}

/* The row that was used last, if it is that of @id: a suspend often follows its resume. */
static struct coro_cpu_row *cpu_row_again(const struct coro_cpu *c, uint64_t id)
{
	struct coro_cpu_row *row = c->last_row ? &c->rows[c->last_row - 1] : NULL;

	return row && id && row->id == id ? row : NULL;
}

/* NULL: no room; such a coroutine is not measured. */
static struct coro_cpu_row *cpu_row_enter(struct coro_cpu *c, uint64_t id)
{
	struct coro_cpu_row *row = cpu_row_again(c, id);
	uint64_t *number;

	if (row)
		return row;
	number = u64map_at(&c->numbers, id);
	if (!number)
		return NULL;
	if (!*number) {
		*number = cpu_row_take(c);
		if (!*number) {
			u64map_remove(&c->numbers, id);
			return NULL;
		}
		c->rows[*number - 1] = (struct coro_cpu_row){ .id = id };
	}
	c->last_row = *number;
	return &c->rows[*number - 1];
}

static struct coro_cpu_row *cpu_row_find(struct coro_cpu *c, uint64_t id)
{
	struct coro_cpu_row *row = cpu_row_again(c, id);
	uint64_t number;

	if (row)
		return row;
	if (!u64map_get(&c->numbers, id, &number) || !number)
		return NULL;
	c->last_row = number;
	return &c->rows[number - 1];
}

static void cpu_row_free(struct coro_cpu *c, uint64_t id)
{
	struct coro_cpu_row *row = cpu_row_find(c, id);

	if (!row)
		return;
	u64map_remove(&c->numbers, id);
	*row = (struct coro_cpu_row){ .tid = c->free };
	c->free = (size_t)(row - c->rows) + 1;
}

/* ---- slices ---------------------------------------------------------------- */

/* Twice the room, the oldest slice first; false: it stays as it is. */
static bool cpu_slices_grow(struct coro_cpu *c)
{
	uint32_t behind = c->ended_room - c->first;
	struct coro_cpu_slice *ended;

	if (c->ended_room == CORO_CPU_SLICES)
		return false;
	ended = calloc(2 * (size_t)c->ended_room, sizeof(*ended));
	if (!ended)
		return false;
	memcpy(ended, c->ended + c->first, behind * sizeof(*ended));
	memcpy(ended + behind, c->ended, c->first * sizeof(*ended));
	free(c->ended);
	c->ended = ended;
	c->ended_room *= 2;
	c->first = 0;
	return true;
}

static void cpu_slice_dequeue(struct coro_cpu *c)
{
	if (c->ended[c->first].is_last)
		cpu_row_free(c, c->ended[c->first].id);
	c->first = (c->first + 1) % c->ended_room;
	c->nr_ended--;
}

static void cpu_slice_enqueue(struct coro_cpu *c, const struct coro_cpu_slice *slice)
{
	if (c->nr_ended == c->ended_room && !cpu_slices_grow(c))
		cpu_slice_dequeue(c); /* the oldest one is not measured */
	c->ended[(c->first + c->nr_ended++) % c->ended_room] = *slice;
}

void coro_cpu_event(struct coro_cpu *c, const struct trace_event *ev)
{
	bool is_gone = ev->kind == TRACE_END || ev->kind == TRACE_DESTROY;
	struct coro_cpu_row *row;

	if (!c->is_on || (!trace_is_transition(ev) && !is_gone))
		return;
	if (ev->kind == TRACE_RESUME) {
		row = cpu_row_enter(c, ev->probe_id);
		if (row) {
			row->resumed_ts = ev->ts;
			row->tid = ev->tid;
		}
		return;
	}
	row = cpu_row_find(c, ev->probe_id);
	if (!row || (!row->resumed_ts && !is_gone))
		return;
	cpu_slice_enqueue(c, &(struct coro_cpu_slice){
				     .id = ev->probe_id,
				     /* One that changed its thread has no time of one thread. */
				     .tid = row->resumed_ts && row->tid == ev->tid ? ev->tid : 0,
				     .from_ts = row->resumed_ts,
				     .to_ts = ev->ts,
				     .is_last = is_gone,
			     });
	row->resumed_ts = 0;
}

/* ---- waits ----------------------------------------------------------------- */

/* The thread that was used last, if it is @tid. */
static struct coro_cpu_thread *cpu_thread_again(const struct coro_cpu *c, uint64_t tid)
{
	struct coro_cpu_thread *t = c->last_thread ? &c->threads[c->last_thread - 1] : NULL;

	return t && t->tid == tid ? t : NULL;
}

static struct coro_cpu_thread *cpu_thread_find(struct coro_cpu *c, uint64_t tid)
{
	struct coro_cpu_thread *t = cpu_thread_again(c, tid);
	uint64_t number;

	if (t)
		return t;
	if (!u64map_get(&c->tids, tid, &number) || !number)
		return NULL;
	c->last_thread = number;
	return &c->threads[number - 1];
}

static struct coro_cpu_thread *cpu_waits_enter(struct coro_cpu *c, uint64_t tid)
{
	struct coro_cpu_thread *threads = cpu_thread_again(c, tid);
	size_t room = c->threads_room ? 2 * c->threads_room : 16;
	uint64_t *number;

	if (threads)
		return threads;
	number = u64map_at(&c->tids, tid);
	if (!number)
		return NULL;
	if (!*number) {
		if (c->nr_threads == c->threads_room) {
			threads = reallocarray(c->threads, room, sizeof(*threads));
			if (!threads)
				return NULL;
			c->threads = threads;
			c->threads_room = room;
		}
		c->threads[c->nr_threads++] = (struct coro_cpu_thread){ .tid = tid };
		*number = c->nr_threads;
	}
	c->last_thread = *number;
	return &c->threads[*number - 1];
}

void coro_cpu_wait(struct coro_cpu *c, uint64_t tid, uint64_t from_ts, uint64_t to_ts,
		   bool is_blocked)
{
	struct coro_cpu_thread *t = c->is_on ? cpu_waits_enter(c, tid) : NULL;
	uint32_t room;

	if (!t)
		return;
	if (t->nr == t->room && t->room < CORO_CPU_WAITS) {
		struct coro_cpu_wait *waits;

		room = t->room ? 2 * t->room : 64;
		waits = reallocarray(t->waits, room, sizeof(*waits));
		if (!waits && !t->room) {
			memory_shortage_note();
			return;
		}
		t->waits = waits ? waits : t->waits;
		t->room = waits ? room : t->room;
	}
	t->waits[t->nr % t->room] = (struct coro_cpu_wait){ from_ts, to_ts, is_blocked };
	/* Once the ring is full, nr grows beyond its room; the order is that of nr modulo room. */
	t->nr++;
	if (t->nr == 3 * CORO_CPU_WAITS) {
		t->nr -= CORO_CPU_WAITS;
		t->at -= t->at < CORO_CPU_WAITS ? t->at : CORO_CPU_WAITS;
	}
}

/* Wait @i of those that are kept, from the oldest one. */
static const struct coro_cpu_wait *cpu_wait_at(const struct coro_cpu_thread *t, uint32_t kept,
					       uint32_t i)
{
	return &t->waits[(t->nr - kept + i) % t->room];
}

/* The first of the waits that ends after @ts, of those before number @high. */
static uint32_t cpu_wait_search(const struct coro_cpu_thread *t, uint32_t kept, uint32_t high,
				uint64_t ts)
{
	uint32_t low = 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (cpu_wait_at(t, kept, middle)->to_ts <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The first of the waits that ends after @ts.  Most slices begin after the one before, a few waits
 * on; one that others were nested in began earlier.
 */
static uint32_t cpu_wait_first(struct coro_cpu_thread *t, uint32_t kept, uint64_t ts)
{
	uint32_t oldest = t->nr - kept, i = t->at > oldest ? t->at - oldest : 0;

	if (i && cpu_wait_at(t, kept, i - 1)->to_ts > ts)
		return cpu_wait_search(t, kept, i, ts);
	while (i < kept && cpu_wait_at(t, kept, i)->to_ts <= ts)
		i++;
	t->at = oldest + i;
	return i;
}

/* Add the waits of the thread in the slice; false if older ones are not kept any more. */
static bool cpu_slice_add_waits(struct coro_cpu_thread *t, const struct coro_cpu_slice *s,
				struct coro_cpu_row *sums)
{
	uint32_t kept = t->nr < t->room ? t->nr : t->room;
	uint32_t first = cpu_wait_first(t, kept, s->from_ts), i;

	for (i = first; i < kept; i++) {
		const struct coro_cpu_wait *w = cpu_wait_at(t, kept, i);
		uint64_t from = w->from_ts > s->from_ts ? w->from_ts : s->from_ts;
		uint64_t to = w->to_ts < s->to_ts ? w->to_ts : s->to_ts;

		if (w->from_ts >= s->to_ts)
			break;
		if (to > from && w->is_blocked)
			sums->blocked_ns += to - from;
		else if (to > from)
			sums->queued_ns += to - from;
	}
	return first > 0 || t->nr <= t->room;
}

static void cpu_slice_settle(struct coro_cpu *c, const struct coro_cpu_slice *s)
{
	struct coro_cpu_row *row = cpu_row_find(c, s->id), sums = { 0 };
	struct coro_cpu_thread *t;

	if (!row || !s->tid || s->to_ts < s->from_ts || s->from_ts < c->since_ts)
		return;
	t = cpu_thread_find(c, s->tid);
	if (t && !cpu_slice_add_waits(t, s, &sums))
		return;
	row->slices++;
	row->ns += s->to_ts - s->from_ts;
	row->queued_ns += sums.queued_ns;
	row->blocked_ns += sums.blocked_ns;
}

void coro_cpu_forget(struct coro_cpu *c, uint64_t until_ts)
{
	c->since_ts = until_ts > c->since_ts ? until_ts : c->since_ts;
}

void coro_cpu_settle(struct coro_cpu *c, uint64_t until_ns)
{
	while (c->nr_ended && c->ended[c->first].to_ts < until_ns) {
		cpu_slice_settle(c, &c->ended[c->first]);
		cpu_slice_dequeue(c);
	}
}

/* ---- answers --------------------------------------------------------------- */

/* By measured time, longest first; @a and @b are indexes of rows. */
static int cpu_row_compare(const void *a, const void *b, void *rows)
{
	const struct coro_cpu_row *x = (struct coro_cpu_row *)rows + *(const uint32_t *)a;
	const struct coro_cpu_row *y = (struct coro_cpu_row *)rows + *(const uint32_t *)b;

	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

static void cpu_row_put(const struct coro_cpu_row *row, struct json_writer *j)
{
	jw_array_begin(j);
	jw_u64(j, row->id);
	jw_u64(j, row->slices);
	jw_u64(j, row->ns);
	jw_u64(j, row->queued_ns);
	jw_u64(j, row->blocked_ns);
	jw_array_end(j);
}

void coro_cpu_put(const struct coro_cpu *c, struct json_writer *j)
{
	uint32_t *list = c->is_on ? calloc(c->nr + 1, sizeof(*list)) : NULL;
	size_t i, nr = 0;

	if (!list) {
		jw_field_null(j, "cpu");
		return;
	}
	for (i = 0; i < c->nr; i++) {
		if (c->rows[i].id && c->rows[i].slices)
			list[nr++] = (uint32_t)i;
	}
	if (nr > CORO_CPU_TOLD)
		qsort_r(list, nr, sizeof(*list), cpu_row_compare, c->rows);
	jw_key(j, "cpu");
	jw_array_begin(j);
	for (i = 0; i < nr && i < CORO_CPU_TOLD; i++)
		cpu_row_put(&c->rows[list[i]], j);
	jw_array_end(j);
	jw_field_u64(j, "cpu_omitted", nr - i);
	free(list);
}
