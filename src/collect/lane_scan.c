/* SPDX-License-Identifier: MIT */
/* lane_scan.c - read all lanes in time order; sites and the counters of the region. */
#include "collect/lane_scan.h"

#include <corotracer/atomic.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "collect/lane_reader.h"

/* An event may be slightly older than the collector's first clock reading. */
#define PAST_NS (1 * NS_PER_SEC)

/*
 * Upper bound on events per poll, a few ms of work: a program that writes faster than the
 * collector reads must not delay signals and requests.  The next poll continues.
 */
#define LOOK_MOST (UINT64_C(1) << 18)

/* ---- begin and end ----------------------------------------------------------- */

int drain_open(struct drain *d, struct lanes *lanes, struct tickclock *clock,
	       const struct drain_sink *sink, void *ctx, struct err *err)
{
	memset(d, 0, sizeof(*d));
	d->lanes = lanes;
	d->clock = clock;
	d->sink = sink;
	d->ctx = ctx;
	d->start_ns = tickclock_last(clock)->ns;
	d->first_ns = d->start_ns > PAST_NS ? d->start_ns - PAST_NS : 0;
	/* No cycle counter exceeds 64 ticks per nanosecond. */
	d->first_ticks = tickclock_last(clock)->ticks;
	d->first_ticks -= d->first_ticks > 64 * PAST_NS ? 64 * PAST_NS : d->first_ticks;
	if (!lanes->ext)
		return 0;
	d->owner = calloc(lanes->chunks.limit, sizeof(*d->owner));
	d->after = calloc(lanes->chunks.limit, sizeof(*d->after));
	if (!d->owner || !d->after)
		return err_set(err, -ENOMEM, "no memory for %u chunks", lanes->chunks.limit);
	return 0;
}

void drain_close(struct drain *d)
{
	free(d->owner);
	free(d->after);
	free(d->cursors);
	free(d->heap);
	site_table_release(&d->sites);
	free(d->dirty);
	memset(d, 0, sizeof(*d));
}

/* Grow the cursors to @nr lanes; without memory the new lanes wait for a later poll. */
static void drain_make_room(struct drain *d, uint32_t nr)
{
	uint32_t room = d->room ? d->room : 64;
	struct drain_lane *cursors;
	uint32_t *heap, *dirty;

	while (room < nr)
		room *= 2;
	if (room > d->room) {
		cursors = realloc(d->cursors, room * sizeof(*cursors));
		if (cursors)
			d->cursors = cursors;
		heap = cursors ? realloc(d->heap, room * sizeof(*heap)) : NULL;
		if (heap)
			d->heap = heap;
		dirty = heap ? realloc(d->dirty, room * sizeof(*dirty)) : NULL;
		if (!dirty)
			return;
		d->dirty = dirty;
		d->room = room;
	}
	if (nr > d->nr_cursors) {
		memset(d->cursors + d->nr_cursors, 0, (nr - d->nr_cursors) * sizeof(*d->cursors));
		d->nr_cursors = nr;
	}
}

/* ---- merge of all lanes -------------------------------------------------------- */

/*
 * Equal times in ns may differ in ticks: compare ticks too, so that one coroutine's events keep
 * their order.
 */
static bool lane_earlier(const struct drain *d, uint32_t a, uint32_t b)
{
	const struct drain_lane *x = &d->cursors[a], *y = &d->cursors[b];

	if (x->next != y->next)
		return x->next < y->next;
	return x->ticks == y->ticks && x->rec.ticks < y->rec.ticks;
}

static bool drain_is_earlier(const struct drain *d, uint32_t a, uint32_t b)
{
	return lane_earlier(d, d->heap[a], d->heap[b]);
}

static void drain_swap(struct drain *d, uint32_t a, uint32_t b)
{
	uint32_t lane = d->heap[a];

	d->heap[a] = d->heap[b];
	d->heap[b] = lane;
}

static void drain_sift_down(struct drain *d, uint32_t at)
{
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= d->nr_heap)
			return;
		if (child + 1 < d->nr_heap && drain_is_earlier(d, child + 1, child))
			child++;
		if (!drain_is_earlier(d, child, at))
			return;
		drain_swap(d, at, child);
		at = child;
	}
}

static void heap_push(struct drain *d, uint32_t lane)
{
	uint32_t at = d->nr_heap++;

	d->heap[at] = lane;
	while (at && drain_is_earlier(d, at, (at - 1) / 2)) {
		drain_swap(d, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

/* The lane with the second earliest event; the first lane if it is the only one. */
static uint32_t second_lane(const struct drain *d)
{
	if (d->nr_heap < 2)
		return d->heap[0];
	return d->heap[d->nr_heap > 2 && drain_is_earlier(d, 2, 1) ? 2 : 1];
}

static void take_in_order(struct drain *d)
{
	uint32_t i;

	d->nr_heap = 0;
	for (i = 0; i < d->nr_cursors; i++) {
		if (d->cursors[i].open && lane_next(d, i))
			heap_push(d, i);
	}
	while (d->nr_heap && d->may_take) {
		uint32_t lane = d->heap[0], second = second_lane(d);
		bool more;

		do {
			lane_take(d, lane);
			lane_take_run(d, lane,
				      second == lane ? UINT64_MAX : d->cursors[second].next);
			more = lane_next(d, lane);
		} while (more && d->may_take && !lane_earlier(d, second, lane));
		if (!more)
			d->heap[0] = d->heap[--d->nr_heap];
		drain_sift_down(d, 0);
	}
}

static void take_lane_by_lane(struct drain *d)
{
	uint32_t k;

	for (k = 0; k < d->nr_cursors; k++) {
		uint32_t i = (d->turn + k) % d->nr_cursors;

		while (d->cursors[i].open && d->may_take && lane_next(d, i)) {
			lane_take(d, i);
			lane_take_run(d, i, UINT64_MAX);
		}
		if (!d->may_take) {
			d->turn = i + 1;
			return;
		}
	}
}

/* ---- sites ------------------------------------------------------------------- */

static void copy_text(const uint8_t *from, char *to, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		to[i] = (char)ctp_load_relaxed(&from[i]);
	to[size] = '\0';
}

static bool site_read(struct drain *d, uint32_t number)
{
	const struct ctp_site *site = ctp_unit(&d->lanes->sites, number);
	char file[CTP_SITE_FILE_SIZE + 1], function[CTP_SITE_FUNCTION_SIZE + 1];
	struct trace_site out;
	uint32_t id;

	/* (ctp-L) pairs with the release store in ctp_site_enter(). */
	if (ctp_load_acquire(&site->ready) != 1)
		return false;
	copy_text(site->file, file, CTP_SITE_FILE_SIZE);
	copy_text(site->function, function, CTP_SITE_FUNCTION_SIZE);
	out.id = number + 1;
	out.line = ctp_load_relaxed(&site->line);
	out.pid = pid_alias_outer(d->lanes->pids, ctp_load_relaxed(&site->pid));
	out.file = file;
	out.function = function;
	id = site_table_add(&d->sites, &out);
	if (!id || id == out.id)
		d->sink->site(d->ctx, &out);
	return true;
}

/* Retry sites that were not complete in an earlier poll. */
static void tell_skipped(struct drain *d)
{
	uint32_t i, left = 0;

	for (i = 0; i < d->nr_skipped; i++) {
		if (!site_read(d, d->skipped[i]))
			d->skipped[left++] = d->skipped[i];
	}
	d->nr_skipped = left;
}

/*
 * A program registers a site before it writes an event that names it, so sites are reported
 * before events.  A program may be killed while it registers a site: such a site must not block
 * the others.
 */
static void tell_sites(struct drain *d)
{
	uint32_t used = lanes_used(&d->lanes->sites);

	tell_skipped(d);
	for (; d->sites_seen < used; d->sites_seen++) {
		if (site_read(d, d->sites_seen))
			continue;
		if (d->nr_skipped == DRAIN_SKIPPED)
			return;
		d->skipped[d->nr_skipped++] = d->sites_seen;
	}
}

/* ---- poll -------------------------------------------------------------------- */

/* Any program can write these counters: accept only plausible values. */
static void look_at_count(struct drain *d, unsigned nr, const uint64_t *shared, uint64_t *total)
{
	uint64_t now = ctp_load_relaxed(shared);

	if (drain_believes(d, *total, now)) {
		*total = now;
	} else if (d->wild[nr] != now) {
		d->wild[nr] = now;
		d->totals.garbage++;
	}
}

/*
 * Unlike the other counters, @later also decreases, and is negative for a moment while a
 * program connects.
 */
static void look_at_later(struct drain *d)
{
	uint64_t now = ctp_load_relaxed(&d->lanes->ext->later);

	d->totals.later = 0;
	if ((int64_t)now > 0)
		look_at_count(d, 6, &now, &d->totals.later);
}

static void look_at_counts(struct drain *d)
{
	struct ctp_ext_lanes *ext = d->lanes->ext;

	look_at_count(d, 0, &ext->homeless, &d->totals.homeless);
	look_at_count(d, 1, &ext->homeless_marks, &d->totals.homeless_marks);
	look_at_count(d, 2, &ext->last_id, &d->totals.coroutines);
	look_at_count(d, 3, &ext->lives.refused, &d->totals.unborn);
	look_at_count(d, 4, &ext->sites.refused, &d->totals.lost_sites);
	look_at_count(d, 5, &ext->untraced, &d->totals.untraced);
	look_at_later(d);
}

/* A lane that there was no memory to look at has at least one. */
static void count_left(const struct drain *d, uint32_t used, struct drain_look *out)
{
	uint32_t i;

	out->left += used > d->nr_cursors ? used - d->nr_cursors : 0;
	for (i = 0; i < d->nr_cursors; i++) {
		const struct drain_lane *c = &d->cursors[i];

		if (c->open && !c->broken)
			out->left += c->head - c->read;
	}
}

/* ---- saved records ----------------------------------------------------------- */

void drain_saved(struct drain *d, uint32_t lane)
{
	if (lane < d->nr_cursors)
		d->cursors[lane].saved = d->cursors[lane].read;
}

void drain_all_saved(struct drain *d)
{
	while (d->nr_dirty) {
		uint32_t lane = d->dirty[--d->nr_dirty];

		d->cursors[lane].dirty = false;
		drain_saved(d, lane);
	}
}

/*
 * Give back chunks and lanes that were read and saved.  Returns the number of lanes that still
 * hold unsaved ones.
 */
static uint64_t give_back_all(struct drain *d)
{
	uint64_t wait = 0;
	uint32_t i, keep = drain_keeps_back(d) ? 1 : 0;

	for (i = 0; i < d->nr_cursors; i++) {
		struct drain_lane *c = &d->cursors[i];

		if (!c->open || c->broken)
			continue;
		lane_touched(d, i);
		ctp_store_relaxed(&lanes_lane(d->lanes, i)->tail,
				  c->read * sizeof(struct ctp_record));
		if (c->orphan && c->read == c->head && lane_is_saved(d, i)) {
			lane_release(d, i);
			continue;
		}
		lane_give_back(d, i);
		wait += c->nr_held > keep || (c->orphan && c->read == c->head);
	}
	return wait;
}

/*
 * When memory is short, save now instead of at the next flush.  Up to limit / 32 lanes may wait
 * for the flush; none may while chunks are scarce (drain_keeps_back()).
 */
static void make_saved(struct drain *d, uint64_t wait)
{
	if (!d->saves || !d->sink->save || !wait ||
	    (drain_keeps_back(d) && wait <= d->lanes->chunks.limit / 32))
		return;
	d->sink->save(d->ctx);
	give_back_all(d);
}

void drain_look(struct drain *d, struct drain_look *out)
{
	uint64_t events = d->totals.transitions + d->totals.marks, lost = d->totals.lost;
	uint32_t i, used;

	memset(out, 0, sizeof(*out));
	if (!d->lanes->ext)
		return;
	/*
	 * Read the clock before the number of lanes and their heads: everything written before that
	 * time is then visible, also in a lane that was just opened.
	 */
	drain_set_limit(d);
	used = lanes_used(&d->lanes->lanes);
	if (used > d->nr_cursors)
		drain_make_room(d, used);
	for (i = 0; i < d->nr_cursors; i++)
		d->cursors[i].orphan |= lane_look(d, i);
	tell_sites(d);
	d->may_take = !d->last ? LOOK_MOST : d->in_parts ? DRAIN_LAST : UINT64_MAX;
	if (d->sink->ordered)
		take_in_order(d);
	else
		take_lane_by_lane(d);
	make_saved(d, give_back_all(d));
	look_at_counts(d);
	out->events = d->totals.transitions + d->totals.marks - events;
	out->lost = d->totals.lost - lost;
	out->cut = !d->may_take;
	count_left(d, used, out);
}

void drain_orphans(struct drain *d, uint32_t pid)
{
	uint32_t i;

	for (i = 0; i < d->nr_cursors; i++) {
		if (d->cursors[i].open && d->cursors[i].pid == pid)
			d->cursors[i].orphan = true;
	}
}

void drain_finish(struct drain *d)
{
	uint32_t i, used = d->lanes->ext ? lanes_used(&d->lanes->lanes) : 0;

	if (used > d->nr_cursors && !d->detached)
		d->totals.garbage += used - d->nr_cursors; /* there was no memory to read them */
	for (i = 0; i < d->nr_cursors; i++) {
		struct drain_lane *c = &d->cursors[i];

		if (!c->open)
			continue;
		if (!d->detached)
			d->totals.garbage += c->head - c->read;
		if (!c->broken)
			lane_tell_last_gap(d, i);
	}
}
