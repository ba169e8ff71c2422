/* SPDX-License-Identifier: MIT */
/* lane_reader.c - read one lane: its chunks, its records and their events. */
#include "collect/lane_reader.h"

#include <corotracer/atomic.h>
#include <corotracer/thread_id.h>

#include <string.h>

#include "base/monotonic.h"

/* No event can be this far ahead of the clock (at least one second with any counter). */
#define FUTURE_TICKS (64 * NS_PER_SEC)

/* Time from reading the counter to publishing, for a thread that is not preempted. */
#define MOMENT_NS (2 * NS_PER_US)

/* Records are in another core's cache or in none: prefetch this many ahead. */
#define AHEAD UINT64_C(16)

/* ---- time -------------------------------------------------------------------- */

uint64_t drain_time(const struct drain *d, uint32_t ticks_kind, uint64_t ticks)
{
	return ticks_kind == CTP_TICKS_COUNTER ? tickclock_ns(d->clock, ticks) : ticks;
}

/* Move to the interval between two marks that contains @ticks.  False: no interval does. */
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

/* As drain_time(), but fast: most events are in the same interval as the event before. */
static inline uint64_t lane_time(struct drain *d, const struct drain_lane *c, uint64_t ticks)
{
	if (c->ticks == CTP_TICKS_COUNTER && in_stretch(d, ticks))
		return stretch_time(d, ticks);
	return drain_time(d, c->ticks, ticks);
}

/*
 * An event that is being published during the poll may be older than one that is taken: events
 * of the last moment wait for the next poll, unless this is the last one.
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

static uint64_t lane_limit_of(const struct drain *d, const struct drain_lane *c)
{
	return c->ticks == CTP_TICKS_COUNTER ? d->limit_ticks : d->limit_ns;
}

/*
 * True if @ticks cannot be the time of an event: far in the future, or before the region
 * existed.
 */
static bool lane_is_corrupt(const struct drain *d, const struct drain_lane *c, uint64_t ticks)
{
	uint64_t first = c->ticks == CTP_TICKS_COUNTER ? d->first_ticks : d->first_ns;

	return ticks < first ||
	       (ticks > lane_limit_of(d, c) && ticks - lane_limit_of(d, c) > FUTURE_TICKS);
}

/* ---- chunks ------------------------------------------------------------------ */

static void lane_reader_give_back(struct drain *d, struct drain_lane *c, uint32_t number)
{
	d->owner[number] = 0;
	c->returned++;
	ctp_pool_give(&d->lanes->chunks, number);
}

/*
 * Of the chunks that were read the last one is kept, so that its events can still be inspected;
 * not when threads are many or memory is short, because another lane may need the chunk.
 */
bool drain_keeps_back(const struct drain *d)
{
	return !d->lanes->starved && (uint64_t)d->nr_open * 4 <= d->lanes->chunks.limit;
}

bool lane_is_saved(const struct drain *d, uint32_t i)
{
	return !d->saves || d->cursors[i].saved == d->cursors[i].read;
}

/* Give back the oldest chunk; its successor becomes the oldest. */
static void lane_return(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	struct ctp_lane *lane = lanes_lane(d->lanes, i);
	uint32_t number = c->oldest;

	c->oldest = d->after[number];
	c->nr_held--;
	/*
	 * Before giving it back: if the collector is killed, `oldest` must not name a chunk of
	 * another lane.
	 */
	ctp_store_relaxed(&lane->oldest, (uint64_t)c->oldest + 1);
	/*
	 * (ctp-J) pairs with the load-load fence in region_copy.c: lane_now().  A tool that sees
	 * the link which the pool stores into the chunk sees `oldest`.
	 */
	ctp_fence_store_store();
	lane_reader_give_back(d, c, number);
	/*
	 * The writer may take one more chunk.  (ctp-J) pairs with the acquire load in
	 * ctp_lane_held().
	 */
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
 * An event of lane @i was delivered: the next save contains it.  Called after every event,
 * because any event can trigger a save, which clears the list.
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

static bool lane_own(struct drain *d, uint32_t i, uint32_t link)
{
	if (!link || link > lanes_used(&d->lanes->chunks) || d->owner[link - 1])
		return false;
	d->owner[link - 1] = i + 1;
	return true;
}

/* Stop reading the lane; its remaining records count as corrupt. */
static void lane_set_corrupt(struct drain *d, struct drain_lane *c)
{
	c->broken = true;
	d->totals.broken++;
	d->totals.garbage += 1 + c->head - c->read;
	c->head = c->read;
}

/* Continue with the next chunk at the end of one.  False: the link is corrupt. */
static bool turn_over(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	uint32_t link;

	/* The link is published with the head that passes it: (ctp-H). */
	link = ctp_load_relaxed(&lanes_chunk(d->lanes, c->chunk)->link);
	if (!lane_own(d, i, link)) {
		lane_set_corrupt(d, c);
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

/* Load each word once.  Four variables: an array in memory would be written and read back. */
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

/* Prefetch the record that is AHEAD records later, or the last of the @left records from @from. */
static inline void lane_prefetch(const struct ctp_record *from, uint64_t left)
{
	__builtin_prefetch(from + (left > AHEAD ? AHEAD : left - 1));
}

static void lane_reader_advance(struct drain_lane *c, uint32_t nr)
{
	c->at += nr;
	c->read += nr;
}

/* Number of continuation records of @rec. */
static uint32_t lane_followers(const struct ctp_record *rec)
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
		return kind == rec->kind; /* no continuation record; the id may be 0 */
	if (kind == CTP_REC_CONTEXT)
		return kind != rec->kind && rec->id; /* always with a continuation record */
	return kind >= CTP_REC_SUSPEND && kind <= CTP_REC_DESTROY && rec->id &&
	       rec->reason < CTP_REASONS &&
	       !(kind == CTP_REC_BIRTH &&
		 (rec->seq > CTP_EXT_NAME_SIZE || (rec->kind & CTP_REC_HAS_MORE)));
}

/* Start of a gap that is dated @ticks: not before the lane's last event. */
static uint64_t gap_start(const struct drain *d, const struct drain_lane *c, uint64_t ticks)
{
	uint64_t least = c->last > d->start_ns ? c->last : d->start_ns, from = least;

	if (ticks <= lane_limit_of(d, c) && !lane_is_corrupt(d, c, ticks))
		from = drain_time(d, c->ticks, ticks);
	return from > least ? from : least;
}

/* A gap record must not exceed the lane's own count of lost events. */
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

/*
 * SDKs without thread_id.h store -1 if a sandbox refuses gettid(2).  The lane then stands for the
 * thread; its events are as good as others.
 */
static uint64_t lane_tid(uint64_t stored, uint32_t lane)
{
	return stored == UINT64_MAX ? CTP_TID_OWN | lane : stored;
}

/* Another thread of the process took over the lane. */
static void lane_take_over(struct drain *d, struct drain_lane *c)
{
	uint32_t lane = (uint32_t)(c - d->cursors);
	struct trace_lane told = { lane, c->pid, lane_tid(c->rec.value, lane) };

	if (told.tid > INT32_MAX) {
		d->totals.garbage++;
		return;
	}
	c->tid = told.tid;
	d->totals.lanes++;
	d->sink->lane(d->ctx, &told);
}

/* Process records that are not events.  True: c->rec holds an event. */
static bool look_at_record(struct drain *d, struct drain_lane *c)
{
	uint32_t left = CTP_CHUNK_RECORDS - c->at;

	lane_prefetch(record_at(d, c, 0), left);
	copy_record(record_at(d, c, 0), &c->rec);
	if (c->rec.kind == CTP_REC_PAD) {
		lane_reader_advance(c, c->head - c->read < left ? (uint32_t)(c->head - c->read)
								: left);
		return false;
	}
	if (c->rec.kind == CTP_REC_GAP || c->rec.kind == CTP_REC_THREAD) {
		c->rec.kind == CTP_REC_GAP ? note_gap(d, c) : lane_take_over(d, c);
		lane_reader_advance(c, 1);
		return false;
	}
	if (is_event(&c->rec) && lane_followers(&c->rec) < left &&
	    lane_followers(&c->rec) < c->head - c->read && !lane_is_corrupt(d, c, c->rec.ticks))
		return true;
	d->totals.garbage++;
	lane_reader_advance(c, 1);
	return false;
}

bool lane_next(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];

	while (c->read < c->head && (c->at < CTP_CHUNK_RECORDS || turn_over(d, i))) {
		if (!look_at_record(d, c))
			continue;
		if (c->rec.ticks > lane_limit_of(d, c) && !d->ahead)
			return false;
		c->next = lane_time(d, c, c->rec.ticks);
		/*
		 * Adjacent intervals may disagree by some ns; times within a lane must not
		 * decrease.
		 */
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
	[CTP_REC_RELEASE] = TRACE_RELEASE, [CTP_REC_CONTEXT] = TRACE_CONTEXT,
};

_Static_assert((int)CTP_REASON_USER == (int)TRACE_REASON_USER &&
		       (int)CTP_REASON_TIMER == (int)TRACE_REASON_TIMER &&
		       (int)CTP_REASONS == (int)NR_TRACE_REASONS,
	       "the reasons on the wire are those of the trace");
_Static_assert(CTP_WAKERS_DROPPED == TRACE_WAKERS_DROPPED &&
		       CTP_WAKERS_DROPPED_INNER == TRACE_WAKERS_DROPPED_INNER,
	       "the marks on the wire are those of the trace");

/* Read the name of a create event from its continuation records. */
static void fill_name(struct drain *d, const struct drain_lane *c, struct trace_event *ev)
{
	uint32_t nr = lane_followers(&c->rec), i;

	for (i = 0; i < nr; i++) {
		struct ctp_record text;

		copy_record(record_at(d, c, i + 1), &text);
		memcpy(d->name + (size_t)i * CTP_TEXT_SIZE, &text, CTP_TEXT_SIZE);
	}
	ev->name = d->name;
	ev->name_size = c->rec.seq;
	if (c->rec.reason & CTP_BIRTH_NAME_CUT)
		ev->flags |= TRACE_NAME_CUT;
	if (c->rec.reason & CTP_BIRTH_ADOPTED)
		ev->flags |= TRACE_ADOPTED;
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
	struct ctp_record_more more = { 0 };
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
	case TRACE_CONTEXT:
		ev->written = more.resource;
		ev->lost = more.lost;
		ev->resource = c->rec.value;
		ev->seen = c->rec.seq;
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

/* Fill in the common fields; @ev is all zero except for what a transition left in it. */
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
	/* The seq that a station with eight slots would have. */
	ev->seq = 2 * ((uint64_t)rec->seq / CTP_SLOTS) + 2;
}

void lane_take(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	const struct ctp_record *rec = &c->rec;
	/* One struct for all events, because clearing one costs as much as filling it. */
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
	lane_reader_advance(c, 1 + lane_followers(rec));
	mark_dirty(d, c, i);
}

/* True for a valid transition without a continuation record. */
static inline bool lane_is_plain(const struct ctp_record *rec)
{
	return (rec->kind == CTP_REC_SUSPEND || rec->kind == CTP_REC_RESUME) && rec->id &&
	       rec->reason < CTP_REASONS;
}

/*
 * Fast path for nearly all records of a lane: plain transitions before @until.  Stops at the
 * first other record.
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
		lane_prefetch(from, most - n);
		copy_record(from, &rec);
		if (!lane_is_plain(&rec) || rec.ticks > d->limit_ticks ||
		    !in_stretch(d, rec.ticks) || rec.ticks < d->first_ticks)
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
		c->read++; /* now: a save during the next event must include this one */
		mark_dirty(d, c, i);
	}
	c->last = last;
	d->may_take -= n;
	d->totals.transitions += n;
	c->at += (uint32_t)n;
}

/* ---- lanes ------------------------------------------------------------------- */

/* Clear the cursor, but keep its membership in the dirty list. */
static void lane_remove(struct drain_lane *c)
{
	bool dirty = c->dirty;

	memset(c, 0, sizeof(*c));
	c->dirty = dirty;
}

/* A thread has opened the lane: read its owner and its first chunk. */
static void lane_adopt(struct drain *d, uint32_t i, const struct ctp_lane *lane)
{
	struct drain_lane *c = &d->cursors[i];
	struct trace_lane told;
	uint32_t first = ctp_load_relaxed(&lane->first);

	lane_remove(c);
	c->open = true;
	c->pid = pid_alias_outer(d->lanes->pids, ctp_load_relaxed(&lane->pid));
	c->tid = lane_tid(ctp_load_relaxed(&lane->tid), i);
	c->ticks = ctp_load_relaxed(&lane->ticks);
	d->nr_open++;
	d->totals.lanes++;
	if (c->ticks > CTP_TICKS_COUNTER || c->tid > INT32_MAX ||
	    (c->ticks == CTP_TICKS_COUNTER && !d->clock->usable) || !lane_own(d, i, first)) {
		lane_set_corrupt(d, c);
		return;
	}
	c->chunk = c->oldest = first - 1;
	told = (struct trace_lane){ i, c->pid, c->tid };
	d->sink->lane(d->ctx, &told);
}

bool drain_believes(const struct drain *d, uint64_t before, uint64_t now)
{
	return now >= before && now - before <= d->limit_ns - d->start_ns + NS_PER_SEC;
}

/* Count what was lost since the last poll. */
static void count_drops(struct drain *d, struct drain_lane *c, const struct ctp_lane *lane)
{
	uint64_t lost = ctp_load_relaxed(&lane->dropped);
	uint64_t marks = ctp_load_relaxed(&lane->dropped_marks);
	uint64_t waited = ctp_load_relaxed(&lane->blocked_ns);
	uint32_t times = ctp_load_relaxed(&lane->blocked);

	if (!drain_believes(d, c->lost, lost) || !drain_believes(d, c->lost_marks, marks) ||
	    !drain_believes(d, c->blocked_ns, waited)) {
		lane_set_corrupt(d, c);
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

bool lane_look(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	const struct ctp_lane *lane = lanes_lane(d->lanes, i);
	/* (ctp-I) pairs with the release stores in ctp_lane_open() and ctp_thread_leave(). */
	uint32_t state = ctp_load_acquire(&lane->state);

	if (state != CTP_LANE_OPEN && state != CTP_LANE_CLOSED)
		return false;
	if (!c->open)
		lane_adopt(d, i, lane);
	if (c->broken)
		return false;
	/* (ctp-H) pairs with the release store in ctp_lane_publish(). */
	c->head = ctp_load_acquire(&lane->head) / sizeof(struct ctp_record);
	if (c->head < c->read ||
	    c->head - c->read > (uint64_t)d->lanes->chunks.limit * CTP_CHUNK_RECORDS) {
		c->head = c->read; /* the corrupt head does not say how many records are left */
		lane_set_corrupt(d, c);
		return false;
	}
	count_drops(d, c, lane);
	return state == CTP_LANE_CLOSED || c->orphan;
}

/* End of a gap that no event follows: now, or the end of the run. */
static uint64_t gap_end(const struct drain *d, const struct drain_lane *c)
{
	uint64_t least = c->gap_from > c->last ? c->gap_from : c->last;
	uint64_t end = d->end_ns && d->end_ns < d->limit_ns ? d->end_ns : d->limit_ns;

	return end > least ? end : least;
}

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

/* A thread may have linked a chunk and ended before using it: 1 + number of that chunk, or 0. */
static uint32_t unused_chunk(struct drain *d, uint32_t i)
{
	const struct drain_lane *c = &d->cursors[i];
	uint32_t link;

	if (c->at < CTP_CHUNK_RECORDS)
		return 0;
	/* The link was stored before the lane was closed: (ctp-I). */
	link = ctp_load_relaxed(&lanes_chunk(d->lanes, c->chunk)->link);
	return lane_own(d, i, link) ? link : 0;
}

void lane_release(struct drain *d, uint32_t i)
{
	struct drain_lane *c = &d->cursors[i];
	struct ctp_lane *lane = lanes_lane(d->lanes, i);
	uint32_t unused = unused_chunk(d, i);

	lane_tell_last_gap(d, i);
	d->left_lost += c->lost;
	d->left_lost_marks += c->lost_marks;
	/*
	 * Before giving chunks back: if the collector is killed, the lane must not refer to
	 * chunks of another lane.
	 */
	ctp_store_relaxed(&lane->state, CTP_LANE_FREE);
	/* SDKs that do not know this field do not reset it. */
	ctp_store_relaxed(&lane->last_ticks, UINT64_C(0));
	for (; c->nr_held; c->nr_held--, c->oldest = d->after[c->oldest])
		lane_reader_give_back(d, c, c->oldest);
	lane_reader_give_back(d, c, c->chunk);
	if (unused)
		lane_reader_give_back(d, c, unused - 1);
	d->nr_open--;
	lane_remove(c);
	if (d->sink->freed)
		d->sink->freed(d->ctx, i);
	ctp_pool_give(&d->lanes->lanes, i);
}
