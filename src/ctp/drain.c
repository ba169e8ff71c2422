/* SPDX-License-Identifier: MIT */
/* drain.c - read what threads write into their lanes. */
#include "ctp/drain.h"

#include <corotracer/atomic.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* So far ahead of the clock no event can be (a second at least, by any counter). */
#define FUTURE_TICKS (64 * NS_PER_SEC)

/* An event may be a little older than the first look at the clock. */
#define PAST_NS (1 * NS_PER_SEC)

/* From reading the counter to publishing, if nobody comes in between. */
#define MOMENT_NS (2 * NS_PER_US)

/* Records are in another core's cache, or in none: ask for them a little ahead. */
#define AHEAD 16

/*
 * A look takes no more than this: some ms, so that signals and requests are not kept
 * waiting by programs that write faster than we read.  The rest is for the next look.
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
	/* No counter has more than 64 ticks a nanosecond. */
	d->first_ticks = tickclock_last(clock)->ticks;
	d->first_ticks -= d->first_ticks > 64 * PAST_NS ? 64 * PAST_NS : d->first_ticks;
	if (!lanes->ext)
		return 0;
	d->owner = calloc(lanes->chunks.limit, sizeof(*d->owner));
	if (!d->owner)
		return err_set(err, -ENOMEM, "no memory for %u chunks", lanes->chunks.limit);
	return 0;
}

void drain_close(struct drain *d)
{
	free(d->owner);
	free(d->cursors);
	free(d->heap);
	memset(d, 0, sizeof(*d));
}

/* Cursors for @nr lanes; those that there is no memory for are looked at another time. */
static void make_room(struct drain *d, uint32_t nr)
{
	uint32_t room = d->room ? d->room : 64;
	struct drain_lane *cursors;
	uint32_t *heap;

	while (room < nr)
		room *= 2;
	if (room > d->room) {
		cursors = realloc(d->cursors, room * sizeof(*cursors));
		if (cursors)
			d->cursors = cursors;
		heap = cursors ? realloc(d->heap, room * sizeof(*heap)) : NULL;
		if (!heap)
			return;
		d->heap = heap;
		d->room = room;
	}
	if (nr > d->nr_cursors) {
		memset(d->cursors + d->nr_cursors, 0, (nr - d->nr_cursors) * sizeof(*d->cursors));
		d->nr_cursors = nr;
	}
}

/* ---- time -------------------------------------------------------------------- */

uint64_t drain_time(const struct drain *d, uint32_t ticks_kind, uint64_t ticks)
{
	return ticks_kind == CTP_TICKS_COUNTER ? tickclock_ns(d->clock, ticks) : ticks;
}

/* The same, quickly: nearly all events are of the last stretch between two marks. */
static inline uint64_t lane_time(const struct drain *d, const struct drain_lane *c, uint64_t ticks)
{
	uint64_t passed = ticks - d->stretch.ticks;

	if (c->ticks == CTP_TICKS_COUNTER && passed <= d->stretch_ticks)
		return d->stretch.ns +
		       (uint64_t)(((unsigned __int128)passed * d->stretch.mult) >> 32);
	return drain_time(d, c->ticks, ticks);
}

/*
 * An event that is being published while we look may be older than one that we take:
 * those of the last moment wait for the next look, unless there is none.
 */
static void set_limit(struct drain *d)
{
	const struct tick_mark *now;

	tickclock_mark(d->clock);
	now = tickclock_last(d->clock);
	d->limit_ns = d->clock->usable ? now->ns : clock_now_ns();
	d->limit_ticks = now->ticks;
	d->stretch = *tickclock_stretch(d->clock);
	d->stretch_ticks = now->ticks - d->stretch.ticks;
	if (d->last)
		return;
	d->limit_ns -= MOMENT_NS;
	d->limit_ticks -= d->moment_ticks;
}

static uint64_t limit_of(const struct drain *d, const struct drain_lane *c)
{
	return c->ticks == CTP_TICKS_COUNTER ? d->limit_ticks : d->limit_ns;
}

/* What no time of an event can be: far in the future, or before there was a region. */
static bool absurd(const struct drain *d, const struct drain_lane *c, uint64_t ticks)
{
	uint64_t first = c->ticks == CTP_TICKS_COUNTER ? d->first_ticks : d->first_ns;

	return ticks < first || (ticks > limit_of(d, c) && ticks - limit_of(d, c) > FUTURE_TICKS);
}

/* ---- chunks ------------------------------------------------------------------ */

static void give_back(struct drain *d, struct drain_lane *c, uint32_t number)
{
	d->owner[number] = 0;
	c->returned++;
	ctp_pool_give(&d->lanes->chunks, number);
}

/*
 * Of what a lane has read, the last chunk is kept for who wants to see what happened last;
 * but not when threads are many, or memory is short: it could be the one that is needed.
 */
static bool keeps_back(const struct drain *d)
{
	return !d->lanes->starved && (uint64_t)d->nr_open * 4 <= d->lanes->chunks.limit;
}

/* The chunk that was kept goes back, and @keep instead of it does not: 1 + a number, or 0. */
static void lane_return(struct drain *d, uint32_t i, uint32_t keep)
{
	struct drain_lane *c = &d->cursors[i];
	struct ctp_lane *lane = lanes_lane(d->lanes, i);
	uint32_t held = c->held;

	c->held = keep;
	/* First: should we die, nobody is to be sent into a chunk that is another's by then. */
	ctp_store_relaxed(&lane->oldest, (uint64_t)(keep ? keep : c->chunk + 1));
	if (held)
		give_back(d, c, held - 1);
	/* The writer may have as many more.  (J) pairs with the acquire load in ctp_lane_held(). */
	ctp_store_release(&lane->returned, c->returned);
}

static bool own(struct drain *d, uint32_t i, uint32_t link)
{
	if (!link || link > lanes_used(&d->lanes->chunks) || d->owner[link - 1])
		return false;
	d->owner[link - 1] = i + 1;
	return true;
}

/* Not read any further: what is left in it is garbage to us. */
static void broken(struct drain *d, struct drain_lane *c)
{
	c->broken = true;
	d->totals.broken++;
	d->totals.garbage += 1 + c->head - c->read;
	c->head = c->read;
}

/* At the end of a chunk, go on with the next.  False: there is none that can be. */
static bool turn_over(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	uint32_t link, before = c->chunk + 1;

	/* Published with the head that goes past it: (H). */
	link = ctp_load_relaxed(&lanes_chunk(d->lanes, c->chunk)->link);
	if (!own(d, i, link)) {
		broken(d, c);
		return false;
	}
	c->chunk = link - 1;
	c->at = 0;
	lane_return(d, i, before);
	return true;
}

/* ---- records ----------------------------------------------------------------- */

/* Each word once; four variables, because an array in memory would be written and read back. */
static inline void copy_record(const struct ctp_record *from, struct ctp_record *to)
{
	const uint64_t *word = (const uint64_t *)(const void *)from;
	uint64_t ticks = ctp_load_relaxed(&word[0]), id = ctp_load_relaxed(&word[1]);
	uint64_t value = ctp_load_relaxed(&word[2]), rest = ctp_load_relaxed(&word[3]);

	to->ticks = ticks;
	to->id = id;
	to->value = value;
	memcpy(&to->seq, &rest, sizeof(rest));
}

static const struct ctp_record *record_at(const struct drain *d, const struct drain_lane *c,
					  uint32_t ahead)
{
	return &lanes_chunk(d->lanes, c->chunk)->records[c->at + ahead];
}

static void advance(struct drain_lane *c, uint32_t nr)
{
	c->at += nr;
	c->read += nr;
}

/* Records behind the next one that belong to it. */
static uint32_t followers(const struct ctp_record *rec)
{
	if (rec->kind & CTP_REC_HAS_MORE)
		return 1;
	if (rec->kind == CTP_REC_BIRTH)
		return (rec->seq + CTP_TEXT_SIZE - 1) / CTP_TEXT_SIZE;
	return 0;
}

static bool is_event(const struct ctp_record *rec)
{
	uint32_t kind = rec->kind & ~CTP_REC_HAS_MORE;

	return kind >= CTP_REC_SUSPEND && kind <= CTP_REC_DESTROY && rec->id &&
	       rec->reason < CTP_REASONS &&
	       !(kind == CTP_REC_BIRTH &&
		 (rec->seq > CTP_EXT_NAME_SIZE || (rec->kind & CTP_REC_HAS_MORE)));
}

/* When a gap began that is said to have begun at @ticks: not before the lane's last event. */
static uint64_t gap_start(const struct drain *d, const struct drain_lane *c, uint64_t ticks)
{
	uint64_t least = c->last > d->start_ns ? c->last : d->start_ns, from = least;

	if (ticks <= limit_of(d, c) && !absurd(d, c, ticks))
		from = drain_time(d, c->ticks, ticks);
	return from > least ? from : least;
}

/* No more than the lane's own count of what was dropped. */
static void note_gap(struct drain *d, struct drain_lane *c)
{
	const struct ctp_record *rec = &c->rec;

	if (rec->value > c->lost - c->told_lost - c->gap_lost ||
	    rec->id > c->lost_marks - c->told_marks - c->gap_marks) {
		d->totals.garbage++;
		return;
	}
	if (!c->gap_lost && !c->gap_marks)
		c->gap_from = gap_start(d, c, rec->ticks);
	c->gap_lost += rec->value;
	c->gap_marks += rec->id;
}

/* What is no event is dealt with here and now.  True: there is one, in c->rec. */
static bool look_at_record(struct drain *d, struct drain_lane *c)
{
	uint32_t left = CTP_CHUNK_RECORDS - c->at;

	__builtin_prefetch(record_at(d, c, AHEAD));
	copy_record(record_at(d, c, 0), &c->rec);
	if (c->rec.kind == CTP_REC_PAD) {
		advance(c, c->head - c->read < left ? (uint32_t)(c->head - c->read) : left);
		return false;
	}
	if (c->rec.kind == CTP_REC_GAP) {
		note_gap(d, c);
		advance(c, 1);
		return false;
	}
	if (is_event(&c->rec) && followers(&c->rec) < left &&
	    followers(&c->rec) < c->head - c->read && !absurd(d, c, c->rec.ticks))
		return true;
	d->totals.garbage++;
	advance(c, 1);
	return false;
}

/* Find the next event of lane @i, and its time.  False: there is none until the limit. */
static bool lane_next(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];

	while (c->read < c->head && (c->at < CTP_CHUNK_RECORDS || turn_over(d, i))) {
		if (!look_at_record(d, c))
			continue;
		if (c->rec.ticks > limit_of(d, c))
			return false;
		c->next = lane_time(d, c, c->rec.ticks);
		/* Two marks of the clock may disagree by some ns; a thread's time goes on. */
		if (c->next < c->last)
			c->next = c->last;
		return true;
	}
	return false;
}

/* ---- events ------------------------------------------------------------------ */

static const uint8_t kind_of[] = {
	[CTP_REC_SUSPEND] = TRACE_SUSPEND, [CTP_REC_RESUME] = TRACE_RESUME,
	[CTP_REC_BIRTH] = TRACE_BIRTH,     [CTP_REC_WAKE] = TRACE_WAKE,
	[CTP_REC_END] = TRACE_END,         [CTP_REC_DESTROY] = TRACE_DESTROY,
};

_Static_assert((int)CTP_REASON_USER == (int)TRACE_REASON_USER &&
		       (int)CTP_REASON_TIMER == (int)TRACE_REASON_TIMER &&
		       (int)CTP_REASONS == (int)NR_TRACE_REASONS,
	       "the reasons on the wire are those of the trace");

/* A birth's name, from the records behind it. */
static void fill_name(struct drain *d, const struct drain_lane *c, struct trace_event *ev)
{
	uint32_t nr = followers(&c->rec), i;

	for (i = 0; i < nr; i++) {
		struct ctp_record text;

		copy_record(record_at(d, c, i + 1), &text);
		memcpy(d->name + (size_t)i * CTP_TEXT_SIZE, &text, CTP_TEXT_SIZE);
	}
	ev->name = d->name;
	ev->name_size = c->rec.seq;
	if (c->rec.reason)
		ev->flags |= TRACE_NAME_CUT;
}

static void fill_end(const struct ctp_record *rec, const struct ctp_record_more *more,
		     struct trace_event *ev)
{
	if (rec->reason & CTP_END_DESTROYED)
		ev->flags |= TRACE_DESTROYED;
	if (rec->reason & CTP_END_SUSPENDED)
		ev->flags |= TRACE_WAS_SUSPENDED;
	if (rec->reason & CTP_END_CANCELLED)
		ev->flags |= TRACE_CANCELLED;
	ev->written = rec->value;
	ev->lost = more ? more->lost : 0;
}

static void fill_others(struct drain *d, const struct drain_lane *c, struct trace_event *ev)
{
	struct ctp_record_more more;
	bool has_more = c->rec.kind & CTP_REC_HAS_MORE;

	if (has_more)
		copy_record(record_at(d, c, 1), (struct ctp_record *)(void *)&more);
	switch (ev->kind) {
	case TRACE_BIRTH:
		ev->peer = c->rec.value;
		ev->pid = c->pid;
		fill_name(d, c, ev);
		break;
	case TRACE_END:
	case TRACE_DESTROY:
		fill_end(&c->rec, has_more ? &more : NULL, ev);
		break;
	case TRACE_WAKE:
		ev->peer = c->rec.value;
		ev->seen = c->rec.seq;
		ev->reason = c->rec.reason;
		break;
	default:
		break;
	}
	if (has_more && (ev->kind == TRACE_SUSPEND || ev->kind == TRACE_WAKE)) {
		ev->resource = more.resource;
		ev->flags |= TRACE_HAS_RESOURCE;
	}
}

static void tell_gap(struct drain *d, uint32_t i, uint64_t to)
{
	struct drain_lane *c = &d->cursors[i];

	if (!c->gap_lost && !c->gap_marks)
		return;
	d->sink->gap(d->ctx, i, c->gap_from, to, c->gap_lost, c->gap_marks);
	c->told_lost += c->gap_lost;
	c->told_marks += c->gap_marks;
	c->gap_lost = c->gap_marks = 0;
}

/* The fields that every event has; @ev is all zero but for what a transition left in it. */
static void fill_event(const struct drain_lane *c, struct trace_event *ev)
{
	const struct ctp_record *rec = &c->rec;

	ev->kind = kind_of[rec->kind & ~CTP_REC_HAS_MORE];
	ev->probe_id = rec->id;
	ev->tid = c->tid;
	ev->ts = c->next;
	ev->station = TRACE_NO_STATION;
	ev->site = rec->site;
}

static void fill_transition(const struct ctp_record *rec, struct trace_event *ev)
{
	ev->addr = rec->value;
	ev->is_active = ev->kind == TRACE_RESUME;
	ev->reason = rec->reason;
	/* What the eight slots of a station would have said. */
	ev->seq = 2 * ((uint64_t)rec->seq / CTP_SLOTS) + 2;
}

/* Hand on the event in c->rec. */
static void lane_take(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	const struct ctp_record *rec = &c->rec;
	/* One for all, because clearing one costs as much as filling it. */
	struct trace_event *ev = &d->event;
	bool plain = rec->kind <= CTP_REC_RESUME;

	if (!plain)
		memset(ev, 0, sizeof(*ev));
	fill_event(c, ev);
	if (trace_is_transition(ev)) {
		fill_transition(rec, ev);
		d->totals.transitions++;
	} else {
		d->totals.marks++;
	}
	if (!plain)
		fill_others(d, c, ev);
	d->totals.kinds[ev->kind]++;
	if (c->gap_lost || c->gap_marks)
		tell_gap(d, i, ev->ts);
	d->may_take--;
	d->sink->event(d->ctx, i, ev);
	if (!plain)
		memset(ev, 0, sizeof(*ev));
	c->last = c->next;
	advance(c, 1 + followers(rec));
}

/* ---- many lanes, one order ----------------------------------------------------- */

/* The same time in ns may still be two in ticks: then a coroutine's events keep their order. */
static bool lane_earlier(const struct drain *d, uint32_t a, uint32_t b)
{
	const struct drain_lane *x = &d->cursors[a], *y = &d->cursors[b];

	if (x->next != y->next)
		return x->next < y->next;
	return x->ticks == y->ticks && x->rec.ticks < y->rec.ticks;
}

static bool earlier(const struct drain *d, uint32_t a, uint32_t b)
{
	return lane_earlier(d, d->heap[a], d->heap[b]);
}

static void swap(struct drain *d, uint32_t a, uint32_t b)
{
	uint32_t lane = d->heap[a];

	d->heap[a] = d->heap[b];
	d->heap[b] = lane;
}

static void sift_down(struct drain *d, uint32_t at)
{
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= d->nr_heap)
			return;
		if (child + 1 < d->nr_heap && earlier(d, child + 1, child))
			child++;
		if (!earlier(d, child, at))
			return;
		swap(d, at, child);
		at = child;
	}
}

static void heap_push(struct drain *d, uint32_t lane)
{
	uint32_t at = d->nr_heap++;

	d->heap[at] = lane;
	while (at && earlier(d, at, (at - 1) / 2)) {
		swap(d, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

/* The lane whose turn it is when it is no longer the first one's; that one, if there is none. */
static uint32_t second_lane(const struct drain *d)
{
	if (d->nr_heap < 2)
		return d->heap[0];
	return d->heap[d->nr_heap > 2 && earlier(d, 2, 1) ? 2 : 1];
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
			more = lane_next(d, lane);
		} while (more && d->may_take && !lane_earlier(d, second, lane));
		if (!more)
			d->heap[0] = d->heap[--d->nr_heap];
		sift_down(d, 0);
	}
}

static void take_lane_by_lane(struct drain *d)
{
	uint32_t k;

	for (k = 0; k < d->nr_cursors; k++) {
		uint32_t i = (d->turn + k) % d->nr_cursors;

		while (d->cursors[i].open && d->may_take && lane_next(d, i))
			lane_take(d, i);
		if (!d->may_take) {
			d->turn = i + 1;
			return;
		}
	}
}

/* ---- lanes ------------------------------------------------------------------- */

/* A thread has opened it: whose is it? */
static void adopt(struct drain *d, uint32_t i, const struct ctp_lane *lane)
{
	struct drain_lane *c = &d->cursors[i];
	struct trace_lane told;
	uint32_t first = ctp_load_relaxed(&lane->first);

	memset(c, 0, sizeof(*c));
	c->open = true;
	c->pid = ctp_load_relaxed(&lane->pid);
	c->tid = ctp_load_relaxed(&lane->tid);
	c->ticks = ctp_load_relaxed(&lane->ticks);
	d->nr_open++;
	d->totals.lanes++;
	if (c->ticks > CTP_TICKS_COUNTER || c->tid > INT32_MAX ||
	    (c->ticks == CTP_TICKS_COUNTER && !d->clock->usable) || !own(d, i, first)) {
		broken(d, c);
		return;
	}
	c->chunk = first - 1;
	told = (struct trace_lane){ i, c->pid, c->tid };
	d->sink->lane(d->ctx, &told);
}

/* No counter grows faster than time passes. */
static bool believable(const struct drain *d, uint64_t before, uint64_t now)
{
	return now >= before && now - before <= d->limit_ns - d->start_ns + NS_PER_SEC;
}

/* What did not find room since the last look. */
static void count_drops(struct drain *d, struct drain_lane *c, const struct ctp_lane *lane)
{
	uint64_t lost = ctp_load_relaxed(&lane->dropped);
	uint64_t marks = ctp_load_relaxed(&lane->dropped_marks);
	uint64_t waited = ctp_load_relaxed(&lane->blocked_ns);
	uint32_t times = ctp_load_relaxed(&lane->blocked);

	if (!believable(d, c->lost, lost) || !believable(d, c->lost_marks, marks) ||
	    !believable(d, c->blocked_ns, waited)) {
		broken(d, c);
		return;
	}
	d->totals.lost += lost - c->lost;
	d->totals.lost_marks += marks - c->lost_marks;
	d->totals.blocked_ns += waited - c->blocked_ns;
	d->totals.blocked += times - c->blocked;
	c->lost = lost;
	c->lost_marks = marks;
	c->blocked_ns = waited;
	c->blocked = times;
}

/* How much is in lane @i?  Returns whether its thread has left it. */
static bool lane_look(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	const struct ctp_lane *lane = lanes_lane(d->lanes, i);
	/* (I) pairs with the release stores in ctp_lane_open() and ctp_thread_leave(). */
	uint32_t state = ctp_load_acquire(&lane->state);

	if (state != CTP_LANE_OPEN && state != CTP_LANE_CLOSED)
		return false;
	if (!c->open)
		adopt(d, i, lane);
	if (c->broken)
		return false;
	/* (H) pairs with the release store in ctp_lane_publish(). */
	c->head = ctp_load_acquire(&lane->head) / sizeof(struct ctp_record);
	if (c->head < c->read ||
	    c->head - c->read > (uint64_t)d->lanes->chunks.limit * CTP_CHUNK_RECORDS) {
		c->head = c->read; /* that says nothing about how much there is */
		broken(d, c);
		return false;
	}
	count_drops(d, c, lane);
	return state == CTP_LANE_CLOSED || c->orphan;
}

/* The end of a lane's time with one thread: what of its losses was not told yet. */
static void tell_last_gap(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	uint64_t at = ctp_load_relaxed(&lanes_lane(d->lanes, i)->dropped_at);

	if (c->lost <= c->told_lost + c->gap_lost &&
	    c->lost_marks <= c->told_marks + c->gap_marks) {
		tell_gap(d, i, d->limit_ns);
		return;
	}
	if (!c->gap_lost && !c->gap_marks)
		c->gap_from = gap_start(d, c, at);
	c->gap_lost = c->lost - c->told_lost;
	c->gap_marks = c->lost_marks - c->told_marks;
	tell_gap(d, i, d->limit_ns);
}

/* A thread may have linked a chunk and left before it wrote: 1 + its number, or 0. */
static uint32_t unused_chunk(struct drain *d, uint32_t i)
{
	const struct drain_lane *c = &d->cursors[i];
	uint32_t link;

	if (c->at < CTP_CHUNK_RECORDS)
		return 0;
	/* Stored before the lane was closed: (I). */
	link = ctp_load_relaxed(&lanes_chunk(d->lanes, c->chunk)->link);
	return own(d, i, link) ? link : 0;
}

/* All of it is read, and its thread is gone: it is free for another. */
static void lane_release(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	struct ctp_lane *lane = lanes_lane(d->lanes, i);
	uint32_t unused = unused_chunk(d, i);

	tell_last_gap(d, i);
	if (c->held)
		give_back(d, c, c->held - 1);
	give_back(d, c, c->chunk);
	if (unused)
		give_back(d, c, unused - 1);
	d->nr_open--;
	ctp_store_relaxed(&lane->state, CTP_LANE_FREE);
	memset(c, 0, sizeof(*c));
	ctp_pool_give(&d->lanes->lanes, i);
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

	/* (L) pairs with the release store in ctp_site_enter(). */
	if (ctp_load_acquire(&site->ready) != 1)
		return false;
	copy_text(site->file, file, CTP_SITE_FILE_SIZE);
	copy_text(site->function, function, CTP_SITE_FUNCTION_SIZE);
	out.id = number + 1;
	out.line = ctp_load_relaxed(&site->line);
	out.pid = ctp_load_relaxed(&site->pid);
	out.file = file;
	out.function = function;
	d->sink->site(d->ctx, &out);
	return true;
}

/* Those that were not finished when the others were told. */
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
 * Sites are entered before the events that name them: told before these, too.  A
 * program may die over one; that must not keep us from the others.
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

/* ---- a look ------------------------------------------------------------------ */

/* One of the counts that any program can write: only what it can be is believed. */
static void look_at_count(struct drain *d, unsigned nr, const uint64_t *shared, uint64_t *total)
{
	uint64_t now = ctp_load_relaxed(shared);

	if (believable(d, *total, now)) {
		*total = now;
	} else if (d->wild[nr] != now) {
		d->wild[nr] = now;
		d->totals.garbage++;
	}
}

static void look_at_counts(struct drain *d)
{
	struct ctp_ext_lanes *ext = d->lanes->ext;

	look_at_count(d, 0, &ext->homeless, &d->totals.homeless);
	look_at_count(d, 1, &ext->homeless_marks, &d->totals.homeless_marks);
	look_at_count(d, 2, &ext->last_id, &d->totals.coroutines);
	look_at_count(d, 3, &ext->lives.refused, &d->totals.unborn);
	look_at_count(d, 4, &ext->sites.refused, &d->totals.lost_sites);
}

static void count_left(const struct drain *d, struct drain_look *out)
{
	uint32_t i;

	for (i = 0; i < d->nr_cursors; i++) {
		const struct drain_lane *c = &d->cursors[i];

		if (c->open && !c->broken)
			out->left += c->head - c->read;
	}
}

void drain_look(struct drain *d, struct drain_look *out)
{
	uint64_t events = d->totals.transitions + d->totals.marks, lost = d->totals.lost;
	uint32_t i, used;

	memset(out, 0, sizeof(*out));
	if (!d->lanes->ext)
		return;
	used = lanes_used(&d->lanes->lanes);
	if (used > d->nr_cursors)
		make_room(d, used);
	if (!d->moment_ticks)
		d->moment_ticks = tickclock_ticks(d->clock, MOMENT_NS);
	/* First the time, then the lanes: what was written before it is there to be seen. */
	set_limit(d);
	for (i = 0; i < d->nr_cursors; i++)
		d->cursors[i].orphan |= lane_look(d, i);
	tell_sites(d);
	d->may_take = d->last ? UINT64_MAX : LOOK_MOST;
	if (d->sink->ordered)
		take_in_order(d);
	else
		take_lane_by_lane(d);
	for (i = 0; i < d->nr_cursors; i++) {
		struct drain_lane *c = &d->cursors[i];

		if (!c->open || c->broken)
			continue;
		ctp_store_relaxed(&lanes_lane(d->lanes, i)->tail,
				  c->read * sizeof(struct ctp_record));
		if (c->orphan && c->read == c->head)
			lane_release(d, i);
		else if (c->held && !keeps_back(d))
			lane_return(d, i, 0);
	}
	look_at_counts(d);
	out->events = d->totals.transitions + d->totals.marks - events;
	out->lost = d->totals.lost - lost;
	count_left(d, out);
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
	uint32_t i;

	for (i = 0; i < d->nr_cursors; i++) {
		struct drain_lane *c = &d->cursors[i];

		if (!c->open)
			continue;
		d->totals.garbage += c->head - c->read;
		if (!c->broken)
			tell_last_gap(d, i);
	}
}
