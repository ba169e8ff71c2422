/* SPDX-License-Identifier: MIT */
/* station_scan.c - read the events that programs write into stations, and count what is lost. */
#include "collect/station_scan.h"

#include <corotracer/slot.h>
#include <corotracer/thread_id.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"

/* How long a slot that may be being overwritten must stay unchanged. */
#define DOUBT_MS 200u

/* Plausibility: accept this many events beyond one per nanosecond. */
#define BELIEF_SLACK (UINT64_C(1) << 20)

/* Stations to prefetch ahead of the scan. */
#define LOOK_AHEAD 16u

const char *harvest_writer_name(enum harvest_writer w)
{
	static const char *const names[NR_WRITERS] = {
		[WRITER_UNKNOWN] = "unknown",
		[WRITER_COROTRACER] = "corotracer",
		[WRITER_SEED_002] = "seed-002",
		[WRITER_SEED_000] = "seed-000",
	};

	return names[w];
}

int harvest_open(struct harvest *h, struct ctp_header *header, const struct ctp_station *stations,
		 uint32_t nr_stations, harvest_sink *sink, void *ctx, struct err *err)
{
	memset(h, 0, sizeof(*h));
	h->header = header;
	h->stations = stations;
	h->nr_stations = nr_stations;
	h->sink = sink;
	trace_event_init(&h->event);
	h->sink_ctx = ctx;
	h->start_ns = clock_now_ns();
	h->now_ns = h->start_ns;
	h->last_count_ns = h->start_ns;
	/*
	 * calloc() gives zero pages until a station is claimed: memory grows with the
	 * coroutines.
	 */
	h->cursors = calloc(nr_stations, sizeof(*h->cursors));
	if (!h->cursors)
		return err_set(err, -ENOMEM, "no memory for %u stations", nr_stations);
	return 0;
}

void harvest_close(struct harvest *h)
{
	if (!h->cursors)
		return;
	u64map_release(&h->ids);
	free(h->cursors);
	h->cursors = NULL;
}

/* ---- event numbers, slots and seqs ---------------------------------------- */

/* Event k (from 0) of a per-station seq writer has seq k + 1, in slot seq % 8. */
static uint32_t harvest_slot_of(const struct cursor *c, uint64_t k)
{
	return (uint32_t)((c->writer == WRITER_SEED_000 ? k + 1 : k) % CTP_SLOTS);
}

static uint64_t seq_of(const struct cursor *c, uint64_t k)
{
	return c->writer == WRITER_SEED_000 ? k + 1 : 2 * (k / CTP_SLOTS) + 2;
}

/*
 * Number of the event with @seq in @slot: complete, or being written (odd seq, per-slot seq
 * writer).
 */
static uint64_t event_of(const struct cursor *c, uint32_t slot, uint64_t seq)
{
	if (c->writer == WRITER_SEED_000)
		return seq - 1;
	return slot + CTP_SLOTS * ((seq + 1) / 2 - 1);
}

/* No writer exceeds one event per nanosecond. */
static bool harvest_is_plausible(const struct harvest *h, uint64_t k)
{
	return k <= h->now_ns - h->start_ns + BELIEF_SLACK;
}

/* True if this writer can have stored @seq in @slot.  Larger values would also overflow. */
static bool seq_fits(const struct harvest *h, const struct cursor *c, uint32_t slot, uint64_t seq)
{
	if (!harvest_is_plausible(h, seq))
		return false;
	if (c->writer == WRITER_SEED_000)
		return seq % CTP_SLOTS == slot;
	return harvest_is_plausible(h, event_of(c, slot, seq));
}

/* ---- kind of writer ------------------------------------------------------- */

/*
 * A per-station seq writer leaves slot i with seq % 8 == i; a per-slot seq writer leaves all
 * seqs about equal.
 */
static bool looks_like_seed_000(const struct ctp_station *st)
{
	uint32_t i;

	for (i = 0; i < CTP_SLOTS; i++) {
		uint64_t seq = ctp_load_relaxed(&st->slots[i].seq);

		if (seq && seq % CTP_SLOTS != i)
			return false;
	}
	return true;
}

static bool has_extension(const struct ctp_station *st)
{
	const struct ctp_ext_station *ext = ctp_station_ext_ro(st);

	/* (ctp-E) pairs with the release store in ctp_station_describe(). */
	return ctp_load_acquire(&ext->magic) == CTP_EXT_MAGIC;
}

/*
 * A per-slot seq writer starts with slot 0, a per-station seq writer with slot 1.  Slot 1 is
 * read first: a per-slot seq writer executes a fence between marking slot 0 and touching slot
 * 1.
 */
static enum harvest_writer tell_writer(const struct ctp_station *st)
{
	/* (ctp-A) pairs with the store-store fence in ctp_slot_write(), of the event in slot 0. */
	uint64_t second = ctp_load_acquire(&st->slots[1].seq);
	/*
	 * (ctp-B) pairs with the release store in ctp_slot_write(): with a complete event the
	 * extension of its station is visible.
	 */
	uint64_t first = ctp_load_acquire(&st->slots[0].seq);

	if (!first && !second)
		return WRITER_UNKNOWN;
	if (has_extension(st))
		return WRITER_COROTRACER;
	if (second && looks_like_seed_000(st))
		return WRITER_SEED_000;
	/*
	 * The first odd mark may be visible before the extension; the first complete event is
	 * not.
	 */
	if (first == 1 && !second)
		return WRITER_UNKNOWN;
	return WRITER_SEED_002;
}

/* Determine the kind of writer from its first slots.  False: nothing is written yet. */
static bool meet_writer(struct harvest *h, uint32_t i)
{
	const struct ctp_station *st = &h->stations[i];
	struct cursor *c = &h->cursors[i];

	c->writer = (uint8_t)tell_writer(st);
	if (c->writer == WRITER_UNKNOWN)
		return false;
	h->totals.writers[c->writer]++;
	return true;
}

/* The id is valid once an event is: (ctp-B) orders it before the event. */
static void learn_id(struct harvest *h, uint32_t i)
{
	struct cursor *c = &h->cursors[i];
	uint64_t other;

	c->probe_id = ctp_load_relaxed(&h->stations[i].probe_id);
	if (u64map_get(&h->ids, c->probe_id, &other))
		c->shares_id = other != i;
	else if (u64map_put(&h->ids, c->probe_id, i) < 0)
		c->shares_id = 1; /* out of memory: do not merge two coroutines */
	if (c->probe_id < h->lane_ids_below)
		c->shares_id = 1;
}

/* ---- one station ---------------------------------------------------------- */

static void count_lost(struct cursor *c, uint64_t nr)
{
	c->next += nr;
	c->lost += nr;
}

static void count_garbage(struct harvest *h, struct cursor *c)
{
	c->garbage++;
	h->totals.garbage++;
}

/*
 * SDKs without thread_id.h store -1 if a sandbox refuses gettid(2).  Which of these threads is the
 * same one is not known: each station has a number of its own, so that no two coroutines seem to
 * run in one thread.
 */
static uint64_t station_tid(uint64_t stored, uint32_t station)
{
	return stored == UINT64_MAX ? CTP_TID_OWN | station : stored;
}

/* Deliver a complete event, unless it is corrupt. */
static void harvest_take(struct harvest *h, uint32_t i, const struct ctp_event *ev)
{
	struct cursor *c = &h->cursors[i];
	struct trace_event *out = &h->event;

	out->tid = station_tid(ev->tid, i);
	out->addr = ev->addr;
	out->seq = ev->seq;
	out->ts = ev->time_ns;
	if (ev->is_active > 1 || !trace_event_is_possible(out)) {
		count_garbage(h, c);
		count_lost(c, 1);
		return;
	}
	if (c->next == c->lost)
		learn_id(h, i);
	out->probe_id = c->probe_id;
	out->is_active = ev->is_active;
	out->kind = ev->is_active ? TRACE_RESUME : TRACE_SUSPEND;
	out->station = c->shares_id ? i : TRACE_NO_STATION;
	c->next++;
	h->sink(h->sink_ctx, out);
}

/*
 * True if a copy can mix two events.  A per-station seq writer does not mark a slot before it
 * overwrites it.  A per-slot seq writer does, but without the fence of corotracer's SDK nothing
 * makes the mark visible before the payload, except where the processor keeps all stores in
 * order.
 */
static bool may_tear(const struct cursor *c)
{
#if defined(__x86_64__)
	return c->writer == WRITER_SEED_000;
#else
	return c->writer != WRITER_COROTRACER;
#endif
}

/*
 * Such a writer completes seven other slots before it overwrites this one and, in the existing
 * SDKs, executes a full fence: while the last of the seven is not complete, the copy is valid.
 * After that it is valid only if the writer paused right there, so wait DOUBT_MS.  A fence
 * follows the copy, so the load here is not older than the copy.
 */
static bool in_doubt(struct harvest *h, struct cursor *c, const struct ctp_station *st)
{
	uint64_t last = c->next + CTP_SLOTS - 1;
	uint32_t now_ms = (uint32_t)(h->now_ns / NS_PER_MS) | 1;

	if (h->last ||
	    ctp_load_relaxed(&st->slots[harvest_slot_of(c, last)].seq) < seq_of(c, last)) {
		c->doubt_ms = 0;
		return false;
	}
	if (!c->doubt_ms)
		c->doubt_ms = now_ms;
	if (now_ms - c->doubt_ms < DOUBT_MS)
		return true;
	c->doubt_ms = 0; /* for this event; the next event starts its own doubt */
	return false;
}

/*
 * A mix of two events shows in its time, which is later than that of the next event.  The
 * writer may have been killed, or stopped for long, between its payload stores.
 */
static bool is_torn(const struct cursor *c, const struct ctp_station *st,
		    const struct ctp_event *ev)
{
	uint64_t after = c->next + 1;
	struct ctp_event next;

	return ctp_slot_read(&st->slots[harvest_slot_of(c, after)], seq_of(c, after), &next) &&
	       next.time_ns < ev->time_ns;
}

/*
 * True if a later event of this station exists: the next one was then written, whatever its
 * slot holds.
 */
static bool later_event_exists(const struct harvest *h, const struct cursor *c,
			       const struct ctp_station *st)
{
	uint64_t k;

	for (k = c->next + 1; k < c->next + CTP_SLOTS; k++) {
		uint32_t slot = harvest_slot_of(c, k);
		/* (ctp-B) pairs with the release store in ctp_slot_write(), of a later event. */
		uint64_t seq = ctp_load_acquire(&st->slots[slot].seq);

		if (seq >= seq_of(c, k) && seq_fits(h, c, slot, seq))
			return true;
	}
	return false;
}

enum slot_state {
	SLOT_READY,   /* holds the event */
	SLOT_IDLE,    /* still holds the event eight before it, or nothing */
	SLOT_WRITING, /* the event is being written */
	SLOT_BEYOND,  /* holds a later event: the wanted one is lost */
	SLOT_JUNK,
};

static enum slot_state slot_state(const struct harvest *h, const struct cursor *c, uint32_t slot,
				  uint64_t seq)
{
	uint64_t want = seq_of(c, c->next);
	uint64_t step = c->writer == WRITER_SEED_000 ? CTP_SLOTS : 2;

	if (seq == want)
		return SLOT_READY;
	if (seq == (want > step ? want - step : 0))
		return SLOT_IDLE;
	if (seq == want - 1 && c->writer != WRITER_SEED_000)
		return SLOT_WRITING;
	if (seq > want && seq_fits(h, c, slot, seq))
		return SLOT_BEYOND;
	return SLOT_JUNK;
}

/*
 * A writer that has begun event @k has completed k - 2: a lone seq is a stray store, not
 * progress.
 */
static bool has_company(const struct harvest *h, const struct cursor *c,
			const struct ctp_station *st, uint64_t k)
{
	uint32_t slot = harvest_slot_of(c, k - 2);
	uint64_t seq;

	/* (ctp-A) pairs with the store-store fence in ctp_slot_write(), of event k - 1. */
	ctp_fence_load_load();
	seq = ctp_load_relaxed(&st->slots[slot].seq);
	return seq >= seq_of(c, k - 2) && seq_fits(h, c, slot, seq);
}

/* The slot of the next event holds a corrupt seq; count each value once. */
static void note_junk(struct harvest *h, struct cursor *c, uint64_t seq)
{
	if (c->junk_seq == seq)
		return;
	c->junk_seq = seq;
	count_garbage(h, c);
}

/*
 * The slot of the next event does not hold it.  Returns true if another attempt is useful: the
 * cursor skipped lost events, or the event has arrived.
 */
static bool skip_missing(struct harvest *h, uint32_t i)
{
	const struct ctp_station *st = &h->stations[i];
	struct cursor *c = &h->cursors[i];
	uint32_t slot = harvest_slot_of(c, c->next);
	uint64_t seq = ctp_load_relaxed(&st->slots[slot].seq);
	enum slot_state state = slot_state(h, c, slot, seq);
	bool later;

	if (state == SLOT_READY)
		return true;
	if (state == SLOT_IDLE && !h->last)
		return false;
	if (state == SLOT_BEYOND && !has_company(h, c, st, event_of(c, slot, seq)))
		state = SLOT_JUNK;
	if (state == SLOT_BEYOND) {
		/*
		 * Event e was begun in this slot, so up to seven events before it may remain.
		 * Of a writer whose copies may mix events, try only four: the oldest would be
		 * in doubt again and again.
		 */
		count_lost(c, event_of(c, slot, seq) - (may_tear(c) ? 4 : 7) - c->next);
		c->doubt_ms = 0;
		return true;
	}
	/* Read the other slots first: the slot of a correct writer is ready after that. */
	later = later_event_exists(h, c, st);
	seq = ctp_load_relaxed(&st->slots[slot].seq);
	state = slot_state(h, c, slot, seq);
	if (state == SLOT_READY)
		return true;
	if (state == SLOT_BEYOND && has_company(h, c, st, event_of(c, slot, seq)))
		return true;
	if (state == SLOT_BEYOND)
		state = SLOT_JUNK;
	if (state == SLOT_JUNK || later)
		note_junk(h, c, seq);
	if (later)
		count_lost(c, 1);
	return later;
}

static bool take_next(struct harvest *h, uint32_t i, struct harvest_scan *out)
{
	const struct ctp_station *st = &h->stations[i];
	struct cursor *c = &h->cursors[i];
	struct ctp_event ev;

	if (!ctp_slot_read(&st->slots[harvest_slot_of(c, c->next)], seq_of(c, c->next), &ev))
		return skip_missing(h, i);
	if (may_tear(c) && in_doubt(h, c, st)) {
		out->pending++;
		return false;
	}
	if (may_tear(c) && is_torn(c, st, &ev)) {
		count_lost(c, 1);
		return true;
	}
	harvest_take(h, i, &ev);
	return true;
}

static void scan_station(struct harvest *h, uint32_t i, struct harvest_scan *out)
{
	struct cursor *c = &h->cursors[i];
	/* A writer at full speed must not keep the collector from the other stations. */
	uint32_t tries = 2 * CTP_SLOTS;
	uint64_t before = c->next, lost = c->lost, taken;

	if (c->writer == WRITER_UNKNOWN && !meet_writer(h, i))
		return;
	while (tries-- && take_next(h, i, out))
		;
	if (c->next == before)
		return;
	lost = c->lost - lost;
	taken = c->next - before - lost;
	out->events += taken;
	out->lost += lost;
	if (taken + lost > out->deepest)
		out->deepest = taken + lost < UINT32_MAX ? (uint32_t)(taken + lost) : UINT32_MAX;
}

/* ---- all stations --------------------------------------------------------- */

/* A claim takes a few ns at least: a count that grew faster is corrupt. */
static bool count_believable(const struct harvest *h, uint32_t count)
{
	uint64_t grown = count > h->last_count ? count - h->last_count : 0;

	return grown * 4 <= h->now_ns - h->last_count_ns + BELIEF_SLACK;
}

/*
 * The count continues past the last station; the excess is the number of coroutines without a
 * station.
 */
static void look_at_claims(struct harvest *h)
{
	uint32_t count = ctp_load_relaxed(&h->header->allocated_count);
	uint32_t claimed = count < h->nr_stations ? count : h->nr_stations;

	if (count_believable(h, count)) {
		if (count > h->nr_stations && count - h->nr_stations > h->totals.without_station)
			h->totals.without_station = count - h->nr_stations;
		h->last_count = count;
		h->last_count_ns = h->now_ns;
	} else if (!h->wild_count) {
		h->wild_count = true;
		h->totals.garbage++;
	}
	if (claimed > h->nr_claimed)
		h->nr_claimed = claimed;
}

/*
 * Prefetch the slot that station @i needs next: a scan of many stations is bound by memory
 * latency.  Inlined: a call that returns nothing and only prefetches is removed by gcc.
 */
static inline __attribute__((always_inline)) void look_ahead(const struct harvest *h, uint32_t i)
{
	const struct cursor *c;

	if (i >= h->nr_claimed)
		return;
	c = &h->cursors[i];
	__builtin_prefetch(&h->stations[i].slots[harvest_slot_of(c, c->next)]);
}

void harvest_scan(struct harvest *h, struct harvest_scan *out)
{
	uint32_t i;

	memset(out, 0, sizeof(*out));
	h->now_ns = clock_now_ns();
	look_at_claims(h);
	for (i = 0; i < h->nr_claimed; i++) {
		look_ahead(h, i + LOOK_AHEAD);
		scan_station(h, i, out);
	}
	h->totals.written += out->events + out->lost;
	h->totals.collected += out->events;
	h->totals.lost += out->lost;
}

/*
 * After the last scan: count writes that were begun, and slots that no known kind of writer
 * fills so.
 */
static void look_at_rest(struct harvest *h, uint32_t i)
{
	const struct ctp_station *st = &h->stations[i];
	struct cursor *c = &h->cursors[i];
	uint32_t slot;

	if (c->writer != WRITER_UNKNOWN) {
		slot = harvest_slot_of(c, c->next);
		if (slot_state(h, c, slot, ctp_load_relaxed(&st->slots[slot].seq)) == SLOT_WRITING)
			h->totals.unfinished++;
		return;
	}
	for (slot = 0; slot < CTP_SLOTS; slot++) {
		if (ctp_load_relaxed(&st->slots[slot].seq))
			count_garbage(h, c);
	}
}

void harvest_finish(struct harvest *h)
{
	struct harvest_coroutine co;
	struct harvest_scan scan;
	uint32_t i, rounds = 0;

	h->last = true;
	/* A process that outlives the run may continue to write: limit the rounds. */
	do {
		harvest_scan(h, &scan);
	} while ((scan.events || scan.lost) && ++rounds < 64);
	for (i = 0; i < h->nr_claimed; i++) {
		look_at_rest(h, i);
		h->totals.coroutines += harvest_describe(h, i, &co);
	}
}

/* ---- description of a station's coroutine ---------------------------------- */

/* Copy the name, as much as is stored, reading each byte once; a NUL ends it early. */
static void describe_name(const struct ctp_ext_station *ext, struct harvest_coroutine *out)
{
	uint32_t size = ctp_load_relaxed(&ext->name_size), i;

	out->name_truncated = size > CTP_EXT_NAME_SIZE;
	if (out->name_truncated)
		size = CTP_EXT_NAME_SIZE;
	for (i = 0; i < size; i++)
		out->name[i] = (char)ctp_load_relaxed(&ext->name[i]);
	out->name[size] = '\0';
}

static void describe_life(const struct ctp_station *st, struct harvest_coroutine *out)
{
	const struct ctp_ext_station *ext = ctp_station_ext_ro(st);

	out->birth_ts = ctp_load_relaxed(&st->birth_ts);
	/* (ctp-D) pairs with the release store in ctp_probe_end(). */
	out->dead = ctp_load_acquire(&st->is_dead) == 1;
	if (!has_extension(st))
		return;
	out->pid = ctp_load_relaxed(&ext->pid);
	if (out->dead)
		out->death_ts = ctp_load_relaxed(&ext->death_ts);
	describe_name(ext, out);
}

bool harvest_describe(const struct harvest *h, uint32_t i, struct harvest_coroutine *out)
{
	const struct cursor *c = &h->cursors[i];

	memset(out, 0, sizeof(*out));
	out->station = i;
	describe_life(&h->stations[i], out);
	out->probe_id = c->next > c->lost ? c->probe_id
					  : ctp_load_relaxed(&h->stations[i].probe_id);
	out->writer = harvest_writer_name((enum harvest_writer)c->writer);
	if (c->writer == WRITER_UNKNOWN && has_extension(&h->stations[i]))
		out->writer = harvest_writer_name(WRITER_COROTRACER);
	out->written = c->next;
	out->lost = c->lost;
	out->collected = c->next - c->lost;
	out->garbage = c->garbage;
	return c->next || out->probe_id || out->birth_ts;
}

void harvest_tell(const struct harvest_coroutine *co, struct sidecar_coroutine *out)
{
	*out = (struct sidecar_coroutine){
		.station = co->station,
		.probe_id = co->probe_id,
		.pid = co->pid,
		.name = co->name[0] ? co->name : NULL,
		.name_truncated = co->name_truncated,
		.birth_ts = co->birth_ts,
		.death_ts = co->death_ts,
		.dead = co->dead,
		.writer = co->writer,
		.written = co->written,
		.collected = co->collected,
		.lost = co->lost,
		.garbage = co->garbage,
	};
}
