/* SPDX-License-Identifier: MIT */
/* hold_log.c - which coroutine held which lock from when to when. */
#include "view/hold_log.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "view/column_encoder.h"

/* Open holds of one lock that a release looks at. */
#define HOLD_WALK_MAX 1024u

/* Pids and resources that share a key would only share their list: each hold is compared. */
static uint64_t hold_key(const struct lock_hold *hold)
{
	return hold->resource * UINT64_C(0x9e3779b97f4a7c15) ^ hold->pid;
}

static bool is_same_lock(const struct lock_hold *a, const struct lock_hold *b)
{
	return a->resource == b->resource && a->pid == b->pid;
}

/* The last time at which the hold is known to last, or @ts if that is later. */
static uint64_t hold_last(uint64_t ts, const struct lock_hold *hold)
{
	uint64_t last = hold->to ? hold->to : hold->from;

	return last > ts ? last : ts;
}

static int hold_log_open(struct hold_log *log, size_t i)
{
	uint64_t *last = u64map_at(&log->open, hold_key(&log->holds[i]));

	if (!last)
		return -ENOMEM;
	log->holds[i].below = (uint32_t)*last;
	*last = i + 1;
	return 0;
}

/* Drop from the older half the ended holds, or all; open ones get their new places. */
static int hold_log_drop(struct hold_log *log, bool all)
{
	size_t i, nr = 0, half = log->nr / 2;

	u64map_release(&log->open);
	for (i = 0; i < log->nr; i++) {
		const struct lock_hold *h = &log->holds[i];

		if (i < half && (all || h->to)) {
			log->since = hold_last(log->since, h);
			continue;
		}
		log->holds[nr] = *h;
		if (!h->to && hold_log_open(log, nr) < 0)
			return -ENOMEM;
		nr++;
	}
	log->nr = nr;
	return 0;
}

static int hold_log_make_room(struct hold_log *log)
{
	size_t room = log->room ? 2 * log->room : 64;
	struct lock_hold *holds;

	if (log->nr < log->room)
		return 0;
	if (log->room >= HOLD_LOG_MAX) {
		if (hold_log_drop(log, false) < 0)
			return -ENOMEM;
		return log->nr > (size_t)HOLD_LOG_MAX / 8 * 7 ? hold_log_drop(log, true) : 0;
	}
	holds = reallocarray(log->holds, room, sizeof(*holds));
	if (!holds)
		return -ENOMEM;
	log->holds = holds;
	log->room = room;
	return 0;
}

int hold_log_acquire(struct hold_log *log, const struct lock_hold *hold)
{
	log->of++;
	if (hold_log_make_room(log) < 0)
		return -ENOMEM;
	log->holds[log->nr] = *hold;
	log->holds[log->nr].to = 0;
	if (hold_log_open(log, log->nr) < 0)
		return -ENOMEM;
	log->nr++;
	return 0;
}

/* Take the hold @i, which is below @above (0: the last one), off the list of open ones. */
static void hold_log_unlink(struct hold_log *log, uint64_t *last, uint64_t above, uint64_t i)
{
	if (above)
		log->holds[above - 1].below = log->holds[i - 1].below;
	else
		*last = log->holds[i - 1].below;
}

void hold_log_release(struct hold_log *log, const struct lock_hold *hold)
{
	uint64_t *last = u64map_at(&log->open, hold_key(hold));
	uint64_t i = last ? *last : 0, above = 0, found = 0, found_above = 0;
	unsigned walked;

	for (walked = 0; i && walked < HOLD_WALK_MAX; walked++) {
		const struct lock_hold *h = &log->holds[i - 1];

		if (is_same_lock(h, hold)) {
			found = i;
			found_above = above;
			if (h->coro == hold->coro)
				break;
		}
		above = i;
		i = h->below;
	}
	if (!found)
		return;
	log->holds[found - 1].to = hold->from;
	hold_log_unlink(log, last, found_above, found);
}

void hold_log_free(struct hold_log *log)
{
	free(log->holds);
	u64map_release(&log->open);
	*log = (struct hold_log){ 0 };
}

/* ---- section ------------------------------------------------------------------ */

static double hold_offset(uint64_t ts, uint64_t origin)
{
	return (double)(int64_t)(ts - origin);
}

static void hold_log_set(struct view_columns *c, const struct lock_hold *holds, size_t nr,
			 uint64_t origin)
{
	size_t coro = columns_add(c, "coro", COLUMN_U32, nr);
	size_t pid = columns_add(c, "pid", COLUMN_U32, nr);
	size_t low = columns_add(c, "res_lo", COLUMN_U32, nr);
	size_t high = columns_add(c, "res_hi", COLUMN_U32, nr);
	size_t from = columns_add(c, "from", COLUMN_F64, nr);
	size_t to = columns_add(c, "to", COLUMN_F64, nr);
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct lock_hold *h = &holds[i];

		columns_set(c, coro, i, h->coro);
		columns_set(c, pid, i, h->pid);
		columns_set(c, low, i, (double)(uint32_t)h->resource);
		columns_set(c, high, i, (double)(h->resource >> 32));
		columns_set(c, from, i, hold_offset(h->from, origin));
		columns_set(c, to, i, h->to ? hold_offset(h->to, origin) : NAN);
	}
}

int hold_log_write(const struct hold_log *log, size_t max, uint64_t origin, struct bytes *out)
{
	size_t nr = log->nr < max ? log->nr : max;
	const struct lock_hold *first = log->nr ? log->holds + (log->nr - nr) : NULL;
	uint64_t since = log->since;
	struct view_columns c;
	size_t i;

	for (i = 0; i < log->nr - nr; i++)
		since = hold_last(since, &log->holds[i]);
	columns_begin(&c);
	jw_field_u64(&c.header, "of", log->of);
	if (since)
		jw_field_i64(&c.header, "since", (int64_t)(since - origin));
	else
		jw_field_null(&c.header, "since");
	hold_log_set(&c, first, nr, origin);
	return columns_end(&c, nr, out);
}
