/* SPDX-License-Identifier: MIT */
/* lane_reader.c - one lane: its chunks, its records, and the events that they make. */
#include "ctp/lane_reader.h"

#include <corotracer/atomic.h>

#include <string.h>

#include "base/clock.h"

/* So far ahead of the clock no event can be (a second at least, by any counter). */
#define FUTURE_TICKS (64 * NS_PER_SEC)

/* From reading the counter to publishing, if nobody comes in between. */
#define MOMENT_NS (2 * NS_PER_US)

/* Records are in another core's cache, or in none: ask for them a little ahead. */
#define AHEAD UINT64_C(16)

/* ---- time -------------------------------------------------------------------- */

uint64_t drain_time(const struct drain *d, uint32_t ticks_kind, uint64_t ticks)
{
	return ticks_kind == CTP_TICKS_COUNTER ? tickclock_ns(d->clock, ticks) : ticks;
}

/* Is @ticks in the stretch between two marks that we are in, or can we go where it is? */
static inline bool in_stretch(struct drain *d, uint64_t ticks)
{
	if (ticks - d->stretch.ticks <= d->stretch_ticks)
		return true;
	d->stretch = tickclock_stretch(d->clock, ticks, &d->stretch_ticks);
	return ticks - d->stretch.ticks <= d->stretch_ticks;
}

static inline uint64_t stretch_time(const struct drain *d, uint64_t ticks)
{
	return d->stretch.ns +
	       (uint64_t)(((unsigned __int128)(ticks - d->stretch.ticks) * d->stretch.mult) >> 32);
}

/* As drain_time(), quickly: one event is mostly in the stretch of the one before. */
static inline uint64_t lane_time(struct drain *d, const struct drain_lane *c, uint64_t ticks)
{
	if (c->ticks == CTP_TICKS_COUNTER && in_stretch(d, ticks))
		return stretch_time(d, ticks);
	return drain_time(d, c->ticks, ticks);
}

/*
 * An event that is being published while we look may be older than one that we take:
 * those of the last moment wait for the next look, unless there is none.
 */
void drain_set_limit(struct drain *d)
{
	const struct tick_mark *now;

	if (!d->moment_ticks)
		d->moment_ticks = tickclock_ticks(d->clock, MOMENT_NS);
	tickclock_mark(d->clock);
	now = tickclock_last(d->clock);
	d->limit_ns = d->clock->usable ? now->ns : clock_now_ns();
	d->limit_ticks = now->ticks;
	d->stretch = tickclock_stretch(d->clock, now->ticks, &d->stretch_ticks);
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
bool drain_keeps_back(const struct drain *d)
{
	return !d->lanes->starved && (uint64_t)d->nr_open * 4 <= d->lanes->chunks.limit;
}

bool lane_is_saved(const struct drain *d, uint32_t i)
{
	return !d->saves || d->cursors[i].saved == d->cursors[i].read;
}

/* The oldest chunk goes back; the one behind it is the oldest then. */
static void lane_return(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	struct ctp_lane *lane = lanes_lane(d->lanes, i);
	uint32_t number = c->oldest;

	c->oldest = d->after[number];
	c->nr_held--;
	/* First: should we die, nobody is to be sent into a chunk that is another's by then. */
	ctp_store_relaxed(&lane->oldest, (uint64_t)c->oldest + 1);
	give_back(d, c, number);
	/* The writer may have as many more.  (J) pairs with the acquire load in ctp_lane_held(). */
	ctp_store_release(&lane->returned, c->returned);
}

void lane_give_back(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	uint32_t keep = drain_keeps_back(d) ? 1 : 0;
	uint64_t saved = d->saves ? c->saved : c->read;

	while (c->nr_held > keep && ((uint64_t)c->returned + 1) * CTP_CHUNK_RECORDS <= saved)
		lane_return(d, i);
}

/*
 * An event of lane @i was handed on: the next save has it.  After every event, as a save may
 * come with any, and clears the list.
 */
static inline void mark_dirty(struct drain *d, struct drain_lane *c, uint32_t i)
{
	if (c->dirty || !d->saves)
		return;
	c->dirty = true;
	d->dirty[d->nr_dirty++] = i;
}

void lane_touched(struct drain *d, uint32_t i)
{
	if (d->cursors[i].saved != d->cursors[i].read)
		mark_dirty(d, &d->cursors[i], i);
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
	uint32_t link;

	/* Published with the head that goes past it: (H). */
	link = ctp_load_relaxed(&lanes_chunk(d->lanes, c->chunk)->link);
	if (!own(d, i, link)) {
		broken(d, c);
		return false;
	}
	d->after[c->chunk] = link - 1;
	c->nr_held++;
	c->chunk = link - 1;
	c->at = 0;
	lane_give_back(d, i);
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

/* Ask for the record that is read AHEAD records later, or for the last of the @left from @from. */
static inline void prefetch(const struct ctp_record *from, uint64_t left)
{
	__builtin_prefetch(from + (left > AHEAD ? AHEAD : left - 1));
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

	if (kind >= CTP_REC_CLOSE && kind <= CTP_REC_RELEASE)
		return kind == rec->kind; /* nothing follows; nobody need have done it */
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

/* Another thread of the process has taken the lane over. */
static void take_over(struct drain *d, struct drain_lane *c)
{
	struct trace_lane told = { (uint32_t)(c - d->cursors), c->pid, c->rec.value };

	if (told.tid > INT32_MAX) {
		d->totals.garbage++;
		return;
	}
	c->tid = told.tid;
	d->totals.lanes++;
	d->sink->lane(d->ctx, &told);
}

/* What is no event is dealt with here and now.  True: there is one, in c->rec. */
static bool look_at_record(struct drain *d, struct drain_lane *c)
{
	uint32_t left = CTP_CHUNK_RECORDS - c->at;

	prefetch(record_at(d, c, 0), left);
	copy_record(record_at(d, c, 0), &c->rec);
	if (c->rec.kind == CTP_REC_PAD) {
		advance(c, c->head - c->read < left ? (uint32_t)(c->head - c->read) : left);
		return false;
	}
	if (c->rec.kind == CTP_REC_GAP || c->rec.kind == CTP_REC_THREAD) {
		c->rec.kind == CTP_REC_GAP ? note_gap(d, c) : take_over(d, c);
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
bool lane_next(struct drain *d, uint32_t i)
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
	[CTP_REC_CLOSE] = TRACE_CLOSE,     [CTP_REC_ACQUIRE] = TRACE_ACQUIRE,
	[CTP_REC_RELEASE] = TRACE_RELEASE,
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
	case TRACE_CLOSE:
	case TRACE_ACQUIRE:
	case TRACE_RELEASE:
		ev->resource = c->rec.value;
		ev->pid = c->pid;
		ev->flags |= TRACE_HAS_RESOURCE;
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
static void fill_event(const struct site_table *sites, const struct drain_lane *c,
		       struct trace_event *ev)
{
	const struct ctp_record *rec = &c->rec;

	ev->kind = kind_of[rec->kind & ~CTP_REC_HAS_MORE];
	ev->probe_id = rec->id;
	ev->tid = c->tid;
	ev->ts = c->next;
	ev->station = TRACE_NO_STATION;
	ev->site = site_table_id(sites, rec->site);
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
void lane_take(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	const struct ctp_record *rec = &c->rec;
	/* One for all, because clearing one costs as much as filling it. */
	struct trace_event *ev = &d->event;
	bool plain = rec->kind <= CTP_REC_RESUME;

	if (!plain)
		memset(ev, 0, sizeof(*ev));
	fill_event(&d->sites, c, ev);
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
	mark_dirty(d, c, i);
}

/* One record, and nothing about it that needs a second look. */
static inline bool is_plain(const struct ctp_record *rec)
{
	return (rec->kind == CTP_REC_SUSPEND || rec->kind == CTP_REC_RESUME) && rec->id &&
	       rec->reason < CTP_REASONS;
}

/*
 * What nearly all of a lane is, in one go: plain transitions, earlier than @until.  Stops
 * where it is not so.
 */
void lane_take_run(struct drain *d, uint32_t i, uint64_t until)
{
	struct drain_lane *c = &d->cursors[i];
	const struct ctp_record *from = record_at(d, c, 0);
	uint64_t most = c->head - c->read, last = c->last, n;
	struct trace_event *ev = &d->event;
	struct ctp_record rec;

	if (c->ticks != CTP_TICKS_COUNTER || c->gap_lost || c->gap_marks)
		return;
	if (most > CTP_CHUNK_RECORDS - c->at)
		most = CTP_CHUNK_RECORDS - c->at;
	if (most > d->may_take)
		most = d->may_take;
	ev->tid = c->tid;
	ev->station = TRACE_NO_STATION;
	for (n = 0; n < most; n++, from++) {
		prefetch(from, most - n);
		copy_record(from, &rec);
		if (!is_plain(&rec) || rec.ticks > d->limit_ticks || !in_stretch(d, rec.ticks) ||
		    rec.ticks < d->first_ticks)
			break;
		ev->ts = stretch_time(d, rec.ticks);
		if (ev->ts < last)
			ev->ts = last;
		if (ev->ts >= until)
			break;
		last = ev->ts;
		ev->kind = kind_of[rec.kind];
		ev->probe_id = rec.id;
		ev->site = site_table_id(&d->sites, rec.site);
		fill_transition(&rec, ev);
		d->totals.kinds[ev->kind]++;
		d->sink->event(d->ctx, i, ev);
		c->read++; /* at once: a full buffer is written with the next event */
		mark_dirty(d, c, i);
	}
	c->last = last;
	d->may_take -= n;
	d->totals.transitions += n;
	c->at += (uint32_t)n;
}

/* ---- lanes ------------------------------------------------------------------- */

/* Nothing of it is known any more, but that it is on the list of those to be saved. */
static void forget(struct drain_lane *c)
{
	bool dirty = c->dirty;

	memset(c, 0, sizeof(*c));
	c->dirty = dirty;
}

/* A thread has opened it: whose is it? */
static void adopt(struct drain *d, uint32_t i, const struct ctp_lane *lane)
{
	struct drain_lane *c = &d->cursors[i];
	struct trace_lane told;
	uint32_t first = ctp_load_relaxed(&lane->first);

	forget(c);
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
	c->chunk = c->oldest = first - 1;
	told = (struct trace_lane){ i, c->pid, c->tid };
	d->sink->lane(d->ctx, &told);
}

/* No counter grows faster than time passes. */
bool drain_believes(const struct drain *d, uint64_t before, uint64_t now)
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

	if (!drain_believes(d, c->lost, lost) || !drain_believes(d, c->lost_marks, marks) ||
	    !drain_believes(d, c->blocked_ns, waited)) {
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
bool lane_look(struct drain *d, uint32_t i)
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

/* When a gap ends that no event follows: now, or with the run. */
static uint64_t gap_end(const struct drain *d, const struct drain_lane *c)
{
	uint64_t least = c->gap_from > c->last ? c->gap_from : c->last;

	if (!d->end_ns || d->limit_ns <= d->end_ns)
		return d->limit_ns;
	return d->end_ns > least ? d->end_ns : least;
}

/* The end of a lane's time with one thread: what of its losses was not told yet. */
void lane_tell_last_gap(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	uint64_t at = ctp_load_relaxed(&lanes_lane(d->lanes, i)->dropped_at);

	if (c->lost <= c->told_lost + c->gap_lost &&
	    c->lost_marks <= c->told_marks + c->gap_marks) {
		tell_gap(d, i, gap_end(d, c));
		return;
	}
	if (!c->gap_lost && !c->gap_marks)
		c->gap_from = gap_start(d, c, at);
	c->gap_lost = c->lost - c->told_lost;
	c->gap_marks = c->lost_marks - c->told_marks;
	tell_gap(d, i, gap_end(d, c));
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
void lane_release(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	struct ctp_lane *lane = lanes_lane(d->lanes, i);
	uint32_t unused = unused_chunk(d, i);

	lane_tell_last_gap(d, i);
	d->left_lost += c->lost;
	d->left_lost_marks += c->lost_marks;
	/* First: should we die, nobody is to look for chunks that are another's by then. */
	ctp_store_relaxed(&lane->state, CTP_LANE_FREE);
	for (; c->nr_held; c->nr_held--, c->oldest = d->after[c->oldest])
		give_back(d, c, c->oldest);
	give_back(d, c, c->chunk);
	if (unused)
		give_back(d, c, unused - 1);
	d->nr_open--;
	forget(c);
	if (d->sink->freed)
		d->sink->freed(d->ctx, i);
	ctp_pool_give(&d->lanes->lanes, i);
}
