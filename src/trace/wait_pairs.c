/* SPDX-License-Identifier: MIT */
/* wait_pairs.c - pair suspend, wake and resume of each coroutine: one wait per suspension. */
#include "trace/wait_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_PAIRS_MAGIC UINT64_C(0x3153524941505743) /* "CWPAIRS1" */

/* Without the padding at the end, whose value is not defined. */
#define WAIT_PAIR_BYTES (offsetof(struct wait_pair, has_resource) + sizeof(bool))

struct wait_entry {
	struct coro_state state; /* first member: an entry of a coro_table */
	struct wait_pair pair;
};

/* What wait_pairs_save() writes: this head, then one struct wait_pair per open wait. */
struct wait_pairs_head {
	uint64_t magic, nr, gap_ts;
};

const char *wait_state_name(unsigned state)
{
	static const char *const names[NR_WAIT_STATES] = {
		[WAIT_RESUMED] = "resumed", [WAIT_WOKEN] = "woken", [WAIT_OPEN] = "open",
		[WAIT_CLOSED] = "closed",   [WAIT_LOST] = "lost",
	};

	return state < NR_WAIT_STATES ? names[state] : NULL;
}

void wait_pairs_init(struct wait_pairs *p)
{
	*p = (struct wait_pairs){ .open.entry_size = sizeof(struct wait_entry) };
}

/* ---- events --------------------------------------------------------------- */

static int wait_pairs_begin(struct wait_pairs *p, const struct trace_event *ev)
{
	struct wait_entry *e = coro_table_enter(&p->open, ev->probe_id, ev->station);

	if (!e)
		return -ENOMEM;
	e->pair = (struct wait_pair){
		.probe_id = ev->probe_id,
		.ts = ev->ts,
		.resource = ev->resource,
		.addr = ev->addr,
		.tid = ev->tid,
		.station = ev->station,
		.site = ev->site,
		.reason = ev->reason,
		.has_resource = ev->flags & TRACE_HAS_RESOURCE,
	};
	p->nr_open++;
	return 0;
}

/* A second suspend in sequence: the event that ended the wait is missing. */
static void wait_pairs_end(struct wait_pairs *p, struct wait_entry *e, const struct trace_event *ev,
			   wait_pair_fn fn, void *ctx)
{
	struct wait_pair *pair = &e->pair;

	if (ev->kind == TRACE_SUSPEND) {
		pair->state = WAIT_LOST;
	} else {
		pair->state = ev->kind == TRACE_RESUME ? WAIT_RESUMED : WAIT_CLOSED;
		pair->end_ts = ev->ts;
		pair->to_tid = ev->tid;
	}
	fn(ctx, pair);
	coro_table_remove(&p->open, e);
	p->nr_open--;
}

static void wait_pairs_wake(struct wait_pair *pair, const struct trace_event *ev)
{
	if (pair->woken_ts)
		return;
	pair->woken_ts = ev->ts;
	pair->waker = ev->peer;
	pair->wake_site = ev->site;
}

int wait_pairs_event(struct wait_pairs *p, const struct trace_event *ev, wait_pair_fn fn, void *ctx)
{
	struct wait_entry *e;

	if (ev->kind > TRACE_DESTROY || ev->kind == TRACE_BIRTH)
		return 0;
	e = coro_table_find(&p->open, ev->probe_id, ev->station);
	if (e && ev->ts < e->pair.ts)
		return 0; /* out of order */
	if (e && ev->kind == TRACE_WAKE)
		wait_pairs_wake(&e->pair, ev);
	else if (e)
		wait_pairs_end(p, e, ev, fn, ctx);
	return ev->kind == TRACE_SUSPEND ? wait_pairs_begin(p, ev) : 0;
}

void wait_pairs_gap(struct wait_pairs *p, const struct trace_gap *gap)
{
	if (gap->transitions && gap->to_ts > p->gap_ts)
		p->gap_ts = gap->to_ts;
}

/* ---- the waits without an end ----------------------------------------------- */

static int wait_pairs_compare(const void *va, const void *vb)
{
	const struct wait_pair *a = va, *b = vb;

	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	if (a->probe_id != b->probe_id)
		return a->probe_id < b->probe_id ? -1 : 1;
	return a->station < b->station ? -1 : a->station > b->station;
}

/* Copies the open waits to @to, which is all zero and has room for them, in the order of their
 * begin. */
static void wait_pairs_copy_open(const struct wait_pairs *p, struct wait_pair *to)
{
	const struct wait_entry *e;
	size_t slot, nr = 0;

	for (slot = 0; slot < p->open.room && nr < p->nr_open; slot++) {
		e = coro_table_at(&p->open, slot);
		if (e)
			memcpy(&to[nr++], &e->pair, WAIT_PAIR_BYTES);
	}
	qsort(to, nr, sizeof(*to), wait_pairs_compare);
}

int wait_pairs_finish(struct wait_pairs *p, wait_pair_fn fn, void *ctx)
{
	size_t i, nr = p->nr_open;
	struct wait_pair *open;

	if (!nr)
		return 0;
	open = calloc(nr, sizeof(*open));
	if (!open)
		return -ENOMEM;
	wait_pairs_copy_open(p, open);
	for (i = 0; i < nr; i++) {
		if (open[i].ts <= p->gap_ts)
			open[i].state = WAIT_LOST;
		else
			open[i].state = open[i].woken_ts ? WAIT_WOKEN : WAIT_OPEN;
		fn(ctx, &open[i]);
	}
	free(open);
	coro_table_release(&p->open);
	p->nr_open = 0;
	return 0;
}

/* ---- save and load ---------------------------------------------------------- */

int wait_pairs_save(const struct wait_pairs *p, struct bytes *out)
{
	struct wait_pairs_head head = { WAIT_PAIRS_MAGIC, p->nr_open, p->gap_ts };
	struct wait_pair *open = calloc(p->nr_open + 1, sizeof(*open));

	if (!open)
		return -ENOMEM;
	wait_pairs_copy_open(p, open);
	bytes_add(out, &head, sizeof(head));
	bytes_add(out, open, p->nr_open * sizeof(*open));
	free(open);
	return out->error;
}

static int wait_pairs_load_one(struct wait_pairs *p, const unsigned char *from)
{
	struct wait_entry *e;
	struct wait_pair pair;

	memcpy(&pair, from, offsetof(struct wait_pair, has_resource));
	pair.has_resource = from[offsetof(struct wait_pair, has_resource)] != 0;
	if (coro_table_find(&p->open, pair.probe_id, pair.station))
		return -EINVAL; /* twice */
	e = coro_table_enter(&p->open, pair.probe_id, pair.station);
	if (!e)
		return -ENOMEM;
	memcpy(&e->pair, &pair, offsetof(struct wait_pair, has_resource));
	e->pair.has_resource = pair.has_resource;
	p->nr_open++;
	return 0;
}

int wait_pairs_load(struct wait_pairs *p, const void *data, size_t size)
{
	const unsigned char *at = data;
	struct wait_pairs_head head;
	uint64_t i;
	int rc = 0;

	if (size < sizeof(head))
		return -EINVAL;
	memcpy(&head, data, sizeof(head));
	size -= sizeof(head);
	if (head.magic != WAIT_PAIRS_MAGIC || size % sizeof(struct wait_pair) ||
	    head.nr != size / sizeof(struct wait_pair))
		return -EINVAL;
	p->gap_ts = head.gap_ts;
	for (i = 0; i < head.nr && rc == 0; i++)
		rc = wait_pairs_load_one(p, at + sizeof(head) + i * sizeof(struct wait_pair));
	return rc;
}

void wait_pairs_release(struct wait_pairs *p)
{
	coro_table_release(&p->open);
	p->nr_open = 0;
	p->gap_ts = 0;
}
