/* SPDX-License-Identifier: MIT */
/*
 * flight_recorder.c - the newest events of a run, packed into a ring of segments.
 *
 * An entry
 *   A head of 16 bits: the type of the entry (4 bits) and which fields follow.  Then the
 *   fields, as variable-length numbers of 7 bits per byte; time, id, address, seq and thread
 *   are differences to the entry before (which are small), with the sign in the lowest bit.  A
 *   segment starts from zeros and repeats its lanes, so that it can be read on its own.
 */
#include "collect/flight_recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "trace/ctf_facts.h"
#include "trace/schema.h"

/* Type of an entry: an event with that trace_kind, or */
#define ENTRY_GAP 14u
#define ENTRY_OTHER \
	15u /* HAS_LANE: a lane; HAS_OTHERS: a coroutine; HAS_ADDR: a fact; or a horizon */
#define ENTRY_MASK   15u

#define HAS_LANE     (1u << 4)
#define HAS_TID      (1u << 5)
#define HAS_ADDR     (1u << 6)
#define HAS_SEQ      (1u << 7)
#define HAS_SITE     (1u << 8)
#define HAS_REASON   (1u << 9)
#define HAS_FLAGS    (1u << 10)
#define HAS_RESOURCE (1u << 11)
#define HAS_STATION  (1u << 12)
#define HAS_OTHERS   (1u << 13) /* fields of events that are not transitions */

_Static_assert((int)NR_TRACE_KINDS <= (int)ENTRY_GAP, "an entry's kind has four bits");

#define NUMBER_MAX      10u /* bytes of one number */
#define FIELDS_MAX      17u
#define ENTRY_MAX       (2 + FIELDS_MAX * NUMBER_MAX) /* without a name */

#define NAME_MOST       1024u

#define SEGMENT_LEAST   4096u
#define SEGMENT_HIGHEST (UINT64_C(1) << 20)
#define SEGMENTS        64u

/* Create events that outlive their segment may use another 1/4 of the size. */
#define BIRTHS_SHARE 4u

/* ---- numbers ----------------------------------------------------------------- */

static inline char *flight_put_number(char *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (char)(v | 0x80);
		v >>= 7;
	}
	*p++ = (char)v;
	return p;
}

static inline const char *flight_get_number(const char *p, uint64_t *v)
{
	unsigned shift = 0;
	uint64_t byte;

	*v = 0;
	do {
		byte = (uint8_t)*p++;
		*v |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return p;
}

/* Store the difference between @v and *@last, then set *@last to @v. */
static inline char *flight_put_step(char *p, uint64_t *last, uint64_t v)
{
	int64_t step = (int64_t)(v - *last);

	*last = v;
	return flight_put_number(p, (uint64_t)step << 1 ^ (uint64_t)(step >> 63));
}

static inline const char *get_step(const char *p, uint64_t *last)
{
	uint64_t v;

	p = flight_get_number(p, &v);
	*last += v >> 1 ^ (0 - (v & 1));
	return p;
}

static inline const char *flight_get_u32(const char *p, uint32_t *out)
{
	uint64_t v;

	p = flight_get_number(p, &v);
	*out = (uint32_t)v;
	return p;
}

static inline const char *flight_get_u8(const char *p, uint8_t *out)
{
	uint64_t v;

	p = flight_get_number(p, &v);
	*out = (uint8_t)v;
	return p;
}

/* ---- entries ------------------------------------------------------------------ */

static inline char *flight_put_head(char *p, unsigned head)
{
	p[0] = (char)head;
	p[1] = (char)(head >> 8);
	return p + 2;
}

static unsigned event_head(const struct flight_state *s, uint32_t lane,
			   const struct trace_event *ev)
{
	unsigned head = ev->kind;

	head |= lane != s->lane ? HAS_LANE : 0;
	head |= ev->tid != s->tid ? HAS_TID : 0;
	head |= ev->addr ? HAS_ADDR : 0;
	head |= ev->seq != s->seq ? HAS_SEQ : 0;
	head |= ev->site ? HAS_SITE : 0;
	head |= ev->reason ? HAS_REASON : 0;
	head |= ev->flags ? HAS_FLAGS : 0;
	head |= ev->resource ? HAS_RESOURCE : 0;
	head |= ev->station != TRACE_NO_STATION ? HAS_STATION : 0;
	head |= trace_is_transition(ev) ? 0 : HAS_OTHERS;
	return head;
}

static char *put_others(char *p, const struct trace_event *ev)
{
	p = flight_put_number(p, ev->pid);
	p = flight_put_number(p, ev->peer);
	p = flight_put_number(p, ev->seen);
	p = flight_put_number(p, ev->written);
	p = flight_put_number(p, ev->lost);
	p = flight_put_number(p, ev->name_size);
	if (ev->name_size)
		memcpy(p, ev->name, ev->name_size);
	return p + ev->name_size;
}

static const char *get_others(const char *p, struct trace_event *ev)
{
	p = flight_get_u32(p, &ev->pid);
	p = flight_get_number(p, &ev->peer);
	p = flight_get_u32(p, &ev->seen);
	p = flight_get_number(p, &ev->written);
	p = flight_get_number(p, &ev->lost);
	p = flight_get_u32(p, &ev->name_size);
	ev->name = p;
	return p + ev->name_size;
}

static char *flight_put_event(char *p, struct flight_state *s, uint32_t lane,
			      const struct trace_event *ev)
{
	unsigned head = event_head(s, lane, ev);

	p = flight_put_head(p, head);
	p = flight_put_step(p, &s->ts, ev->ts);
	p = flight_put_step(p, &s->id, ev->probe_id);
	if (head & HAS_LANE)
		p = flight_put_number(p, s->lane = lane);
	if (head & HAS_TID)
		p = flight_put_step(p, &s->tid, ev->tid);
	if (head & HAS_ADDR)
		p = flight_put_step(p, &s->addr, ev->addr);
	if (head & HAS_SEQ)
		p = flight_put_step(p, &s->seq, ev->seq);
	if (head & HAS_SITE)
		p = flight_put_number(p, ev->site);
	if (head & HAS_REASON)
		p = flight_put_number(p, ev->reason);
	if (head & HAS_FLAGS)
		p = flight_put_number(p, ev->flags);
	if (head & HAS_RESOURCE)
		p = flight_put_number(p, ev->resource);
	if (head & HAS_STATION)
		p = flight_put_number(p, ev->station);
	return head & HAS_OTHERS ? put_others(p, ev) : p;
}

static const char *flight_get_event(const char *p, unsigned head, struct flight_state *s,
				    struct trace_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	ev->kind = head & ENTRY_MASK;
	ev->is_active = ev->kind == TRACE_RESUME;
	ev->station = TRACE_NO_STATION;
	p = get_step(p, &s->ts);
	p = get_step(p, &s->id);
	if (head & HAS_LANE)
		p = flight_get_u32(p, &s->lane);
	if (head & HAS_TID)
		p = get_step(p, &s->tid);
	if (head & HAS_ADDR)
		p = get_step(p, &s->addr);
	if (head & HAS_SEQ)
		p = get_step(p, &s->seq);
	if (head & HAS_SITE)
		p = flight_get_u32(p, &ev->site);
	if (head & HAS_REASON)
		p = flight_get_u8(p, &ev->reason);
	if (head & HAS_FLAGS)
		p = flight_get_u8(p, &ev->flags);
	if (head & HAS_RESOURCE)
		p = flight_get_number(p, &ev->resource);
	if (head & HAS_STATION)
		p = flight_get_u32(p, &ev->station);
	ev->ts = s->ts;
	ev->probe_id = s->id;
	ev->tid = s->tid;
	ev->seq = s->seq;
	ev->addr = head & HAS_ADDR ? s->addr : 0;
	return head & HAS_OTHERS ? get_others(p, ev) : p;
}

/* Destination of a replay, and the lanes already delivered. */
struct flight_replay {
	const struct flight_sink *sink;
	void *ctx;
	struct trace_lane *told; /* by lane number; NULL: deliver lanes every time */
	uint32_t nr_told;
};

static bool same_lane(const struct trace_lane *a, const struct trace_lane *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->number == b->number;
}

/* Segments repeat the owner of a lane; a trace contains it once. */
static void flight_replay_lane(const struct flight_replay *r, const struct trace_lane *lane)
{
	if (r->told && lane->number < r->nr_told) {
		if (same_lane(&r->told[lane->number], lane))
			return;
		r->told[lane->number] = *lane;
	}
	r->sink->lane(r->ctx, lane);
}

static const char *flight_replay_gap(const char *p, const struct flight_replay *r)
{
	uint64_t v[5];
	size_t i;

	for (i = 0; i < 5; i++)
		p = flight_get_number(p, &v[i]);
	r->sink->gap(r->ctx, (uint32_t)v[0], v[1], v[2], v[3], v[4]);
	return p;
}

/* Stored as the raw struct and its name: there are few of them. */
static const char *flight_replay_coroutine(const char *p, const struct flight_replay *r)
{
	struct sidecar_coroutine co;
	char name[NAME_MOST + 1];
	uint64_t size;

	memcpy(&co, p, sizeof(co));
	p = flight_get_number(p + sizeof(co), &size);
	memcpy(name, p, size);
	name[size] = '\0';
	if (co.name)
		co.name = name;
	r->sink->coroutine(r->ctx, &co);
	return p + size;
}

/* Stored as in CTF: the number of the fact, and its members. */
static const char *flight_replay_fact(const char *p, const struct flight_replay *r)
{
	const char **words = NULL;
	struct trace_item item;
	uint64_t id, size;

	p = flight_get_number(p, &id);
	p = flight_get_number(p, &size);
	if (r->sink->fact &&
	    ctf_fact_decode((const uint8_t *)p, size, (unsigned)id, &item, &words) > 0)
		r->sink->fact(r->ctx, &item);
	free(words);
	return p + size;
}

static const char *replay_other(const char *p, unsigned head, const struct flight_replay *r)
{
	struct trace_lane lane;
	uint64_t ts;

	if (head & HAS_OTHERS)
		return flight_replay_coroutine(p, r);
	if (head & HAS_ADDR)
		return flight_replay_fact(p, r);
	if (head & HAS_LANE) {
		p = flight_get_u32(p, &lane.number);
		p = flight_get_u32(p, &lane.pid);
		p = flight_get_number(p, &lane.tid);
		flight_replay_lane(r, &lane);
	} else {
		p = flight_get_number(p, &ts);
		r->sink->horizon(r->ctx, ts);
	}
	return p;
}

/* Replay segment @nr, which must still be in the ring. */
static void replay_segment(const struct flight *f, uint64_t nr, const struct flight_replay *r)
{
	const char *p = f->ring + nr % f->nr_segments * f->segment_size;
	const char *end = p + f->segments[nr % f->nr_segments].used;
	struct flight_state state = { 0 };
	struct trace_event ev;

	while (p < end) {
		unsigned head = (uint8_t)p[0] | (unsigned)(uint8_t)p[1] << 8;

		p += 2;
		if ((head & ENTRY_MASK) == ENTRY_GAP) {
			p = flight_replay_gap(p, r);
		} else if ((head & ENTRY_MASK) == ENTRY_OTHER) {
			p = replay_other(p, head, r);
		} else {
			p = flight_get_event(p, head, &state, &ev);
			r->sink->event(r->ctx, state.lane, &ev);
		}
	}
}

/* ---- discarding ---------------------------------------------------------------- */

static bool is_last(const struct trace_event *ev)
{
	return ev->kind == TRACE_DESTROY ||
	       (ev->kind == TRACE_END && (ev->flags & TRACE_DESTROYED));
}

/* An event is discarded; keep the create event of a coroutine that later entries may refer to. */
static void forget_event(void *ctx, uint32_t lane, const struct trace_event *ev)
{
	struct flight *f = ctx;
	uint64_t nr = 0;

	if (ev->kind == TRACE_BIRTH)
		nr = births_keep(&f->births, lane, ev);
	else if (is_last(ev))
		nr = 0 - (uint64_t)births_drop(&f->births, ev->probe_id);
	f->totals.others += nr;
	f->totals.forgotten_others -= nr;
}

static void forget_lane(void *ctx, const struct trace_lane *lane)
{
	(void)ctx;
	(void)lane;
}

static void forget_gap(void *ctx, uint32_t lane, uint64_t from, uint64_t to, uint64_t transitions,
		       uint64_t others)
{
	(void)ctx;
	(void)lane;
	(void)from;
	(void)to;
	(void)transitions;
	(void)others;
}

static void forget_horizon(void *ctx, uint64_t ts)
{
	(void)ctx;
	(void)ts;
}

static void flight_forget_coroutine(void *ctx, const struct sidecar_coroutine *coroutine)
{
	(void)ctx;
	(void)coroutine;
}

static void forget_segment(struct flight *f, uint64_t nr)
{
	static const struct flight_sink sink = {
		forget_lane, forget_event, forget_gap, forget_horizon, flight_forget_coroutine, NULL
	};
	struct flight_segment *s = &f->segments[nr % f->nr_segments];
	struct flight_replay forget = { &sink, f, NULL, 0 };

	f->totals.transitions -= s->transitions;
	f->totals.forgotten += s->transitions;
	f->totals.others -= s->others;
	f->totals.forgotten_others += s->others;
	f->totals.facts -= s->facts;
	f->totals.forgotten_facts += s->facts;
	if (s->has_lives)
		replay_segment(f, nr, &forget);
	memset(s, 0, sizeof(*s));
}

/* ---- the ring -------------------------------------------------------------------- */

static struct flight *flight_of(struct trace_writer *w)
{
	return (struct flight *)w;
}

/* Start to fill segment number head. */
static void begin_segment(struct flight *f)
{
	f->current = &f->segments[f->head % f->nr_segments];
	f->start = f->ring + f->head % f->nr_segments * f->segment_size;
	memset(&f->state, 0, sizeof(f->state));
}

static void next_segment(struct flight *f)
{
	f->head++;
	if (f->head >= f->nr_segments)
		forget_segment(f, f->head - f->nr_segments);
	begin_segment(f);
}

/* Position for an entry of at most @size bytes. */
static inline char *flight_room(struct flight *f, uint64_t size)
{
	if (f->current->used + size > f->segment_size)
		next_segment(f);
	return f->start + f->current->used;
}

static inline void flight_took(struct flight *f, const char *end)
{
	f->current->used = (uint32_t)(end - f->start);
}

/* ---- input -------------------------------------------------------------------------- */

/* False: no memory.  The thread of that lane then stays unnamed. */
static bool know_lane(struct flight *f, uint32_t number)
{
	uint32_t nr = f->nr_lanes ? f->nr_lanes : 64;
	struct flight_lane *lanes;

	if (number < f->nr_lanes)
		return true;
	if (number >= UINT32_MAX / 2)
		return false;
	while (nr <= number)
		nr *= 2;
	lanes = realloc(f->lanes, nr * sizeof(*lanes));
	if (!lanes)
		return false;
	memset(lanes + f->nr_lanes, 0, (nr - f->nr_lanes) * sizeof(*lanes));
	f->lanes = lanes;
	f->nr_lanes = nr;
	return true;
}

/* Each segment stores the owner of a lane before the lane's first entry. */
static void tell_lane(struct flight *f, uint32_t number)
{
	struct flight_lane *lane = &f->lanes[number];
	char *p = flight_room(f, ENTRY_MAX);

	p = flight_put_head(p, ENTRY_OTHER | HAS_LANE);
	p = flight_put_number(p, number);
	p = flight_put_number(p, lane->pid);
	flight_took(f, flight_put_number(p, lane->tid));
	lane->told = f->head + 1;
}

static void flight_put_lane(struct trace_writer *w, const struct trace_lane *lane)
{
	struct flight *f = flight_of(w);

	if (!know_lane(f, lane->number))
		return;
	f->lanes[lane->number] = (struct flight_lane){ lane->tid, lane->pid, 0 };
}

/* Position for @size bytes, in a segment that has stored the owner of @lane. */
static char *room_in_lane(struct flight *f, uint32_t lane, uint64_t size)
{
	char *p = flight_room(f, size);

	if (lane >= f->nr_lanes || f->lanes[lane].told == f->head + 1)
		return p;
	/* Ensure that both entries fit into the same segment. */
	flight_room(f, size + ENTRY_MAX);
	tell_lane(f, lane);
	return flight_room(f, size);
}

/*
 * Names from the collector are never longer than NAME_MOST; a segment always has room for that
 * much.
 */
static struct trace_event cut_name(const struct trace_event *ev)
{
	struct trace_event cut = *ev;

	cut.name_size = NAME_MOST;
	cut.flags |= TRACE_NAME_CUT;
	return cut;
}

static void flight_add_event(struct trace_writer *w, uint32_t lane, const struct trace_event *ev)
{
	struct flight *f = flight_of(w);
	struct trace_event cut;
	char *p;

	if (ev->name_size > NAME_MOST) {
		cut = cut_name(ev);
		ev = &cut;
	}
	p = room_in_lane(f, lane, ENTRY_MAX + ev->name_size);
	flight_took(f, flight_put_event(p, &f->state, lane, ev));
	if (trace_is_transition(ev)) {
		f->current->transitions++;
		f->totals.transitions++;
	} else {
		f->current->others++;
		f->current->has_lives |= ev->kind != TRACE_WAKE && !trace_is_of_resource(ev);
		f->totals.others++;
	}
	f->has_stations |= lane == TRACE_LANE_STATIONS;
}

static void flight_add_gap(struct flight *f, const struct trace_gap *gap)
{
	char *p = flight_put_head(room_in_lane(f, gap->lane, ENTRY_MAX), ENTRY_GAP);

	p = flight_put_number(p, gap->lane);
	p = flight_put_number(p, gap->from_ts);
	p = flight_put_number(p, gap->to_ts);
	p = flight_put_number(p, gap->transitions);
	flight_took(f, flight_put_number(p, gap->others));
}

/* A coroutine whose process has ended. */
static void flight_add_coroutine(struct flight *f, const struct sidecar_coroutine *co)
{
	size_t size = co->name ? strnlen(co->name, NAME_MOST) : 0;
	char *p;

	if (f->finishing)
		return;
	p = flight_put_head(flight_room(f, ENTRY_MAX + sizeof(*co) + size),
			    ENTRY_OTHER | HAS_OTHERS);
	memcpy(p, co, sizeof(*co));
	p = flight_put_number(p + sizeof(*co), size);
	if (size)
		memcpy(p, co->name, size);
	flight_took(f, p + size);
}

/* Sites are few and reported once: they are never discarded. */
static void flight_add_site(struct flight *f, const struct trace_site *site)
{
	struct trace_site copy = *site, *sites;

	copy.file = strdup(site->file);
	copy.function = strdup(site->function);
	sites = reallocarray(f->sites, f->nr_sites + 1, sizeof(*sites));
	if (sites)
		f->sites = sites;
	if (!sites || !copy.file || !copy.function) {
		free((char *)copy.file);
		free((char *)copy.function);
		return;
	}
	f->sites[f->nr_sites++] = copy;
}

/* The copy of a state that must not be discarded; NULL: it may be. */
static const char *flight_lasting_state(const char *state)
{
	return !state                                  ? NULL
	       : !strcmp(state, TRACE_SWITCH_RECORDED) ? TRACE_SWITCH_RECORDED
	       : !strcmp(state, TRACE_SWITCH_WAKES)    ? TRACE_SWITCH_WAKES
						       : NULL;
}

/* That switches and wake-ups are recorded is needed for all that follow. */
static bool flight_keeps_recorded(struct flight *f, const struct trace_item *fact)
{
	const char *state = fact->type == TRACE_ITEM_SWITCH
				    ? flight_lasting_state(fact->switched.state)
				    : NULL;

	if (!state || f->nr_recorded == FLIGHT_RECORDED)
		return false;
	f->recorded[f->nr_recorded] = fact->switched;
	f->recorded[f->nr_recorded++].state = state;
	f->totals.facts++;
	return true;
}

static void flight_add_fact(struct flight *f, const struct trace_item *fact)
{
	size_t size = ctf_fact_size(fact);
	char *p;

	if (flight_keeps_recorded(f, fact))
		return;
	if (size + ENTRY_MAX > f->segment_size) {
		f->totals.refused_facts++;
		return;
	}
	p = flight_put_head(flight_room(f, ENTRY_MAX + size), ENTRY_OTHER | HAS_ADDR);
	p = flight_put_number(p, (uint64_t)schema[fact->type].ctf);
	p = flight_put_number(p, size);
	flight_took(f, (char *)ctf_fact_encode((uint8_t *)p, fact));
	f->current->facts++;
	f->totals.facts++;
}

/* The run, its processes and totals come from other sources (snapshot.h). */
static void flight_put_fact(struct trace_writer *w, const struct trace_item *fact)
{
	struct flight *f = flight_of(w);

	if (fact->type == TRACE_ITEM_GAP)
		flight_add_gap(f, &fact->gap);
	else if (fact->type == TRACE_ITEM_COROUTINE)
		flight_add_coroutine(f, &fact->coroutine);
	else if (fact->type == TRACE_ITEM_SITE)
		flight_add_site(f, &fact->site);
	else if (fact->type != TRACE_ITEM_RUN && fact->type != TRACE_ITEM_PROCESS &&
		 fact->type != TRACE_ITEM_MODULE && fact->type != TRACE_ITEM_TOTALS)
		flight_add_fact(f, fact);
}

static void flight_flush(struct trace_writer *w)
{
	(void)w;
}

static void flight_tell_counts(const struct trace_writer *w, struct trace_counts *counts)
{
	const struct flight *f = (const struct flight *)w;

	*counts = (struct trace_counts){ .written = f->totals.transitions,
					 .others_written = f->totals.others };
}

static void flight_close_writer(struct trace_writer *w, struct trace_counts *counts,
				struct err *trace, struct err *facts)
{
	(void)trace;
	(void)facts;
	flight_tell_counts(w, counts);
	flight_close(flight_of(w));
}

static void flight_put_horizon(struct trace_writer *w, uint64_t ts)
{
	struct flight *f = flight_of(w);

	/* A horizon is useful only after station events, which wait for it. */
	if (!f->has_stations)
		return;
	f->has_stations = false;
	flight_took(f,
		    flight_put_number(flight_put_head(flight_room(f, ENTRY_MAX), ENTRY_OTHER), ts));
}

/* ---- output -------------------------------------------------------------------------- */

/* Create events that outlived their segments, each in the lane that reported it. */
static void replay_births(const struct birth *const *births, size_t nr,
			  const struct flight_replay *r)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct birth *b = births[i];
		struct trace_lane lane = { b->lane, b->pid, b->tid };
		struct trace_event ev;

		flight_replay_lane(r, &lane);
		memset(&ev, 0, sizeof(ev));
		ev.kind = TRACE_BIRTH;
		ev.station = TRACE_NO_STATION;
		ev.probe_id = b->id;
		ev.tid = b->tid;
		ev.ts = b->ts;
		ev.flags = b->flags;
		ev.site = b->site;
		ev.pid = b->pid;
		ev.peer = b->parent;
		ev.name = b->name;
		ev.name_size = b->name_size;
		r->sink->event(r->ctx, b->lane, &ev);
	}
}

static void replay_recorded(const struct flight *f, const struct flight_replay *r)
{
	uint32_t i;

	for (i = 0; i < f->nr_recorded && r->sink->fact; i++) {
		struct trace_item item = { .type = TRACE_ITEM_SWITCH, .switched = f->recorded[i] };

		r->sink->fact(r->ctx, &item);
	}
}

int flight_replay(const struct flight *f, const struct flight_sink *sink, void *ctx,
		  struct err *err)
{
	const struct birth **births = births_sorted(&f->births);
	uint64_t nr = f->head >= f->nr_segments ? f->head - f->nr_segments + 1 : 0;
	struct flight_replay r = { sink, ctx, calloc(f->nr_lanes + 1, sizeof(*r.told)),
				   f->nr_lanes };

	if (!r.told || (!births && f->births.nr)) {
		free(r.told);
		free(births);
		return err_set(err, -ENOMEM, "no memory to put %zu coroutines in order",
			       f->births.nr);
	}
	replay_recorded(f, &r);
	replay_births(births, f->births.nr, &r);
	for (; nr <= f->head; nr++)
		replay_segment(f, nr, &r);
	free(births);
	free(r.told);
	return 0;
}

uint64_t flight_used(const struct flight *f)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < f->nr_segments; i++)
		sum += f->segments[i].used;
	return sum;
}

/* ---- open and close ------------------------------------------------------------------ */

static const struct trace_writer_ops ops = {
	.lane = flight_put_lane,
	.event = flight_add_event,
	.horizon = flight_put_horizon,
	.fact = flight_put_fact,
	.flush = flight_flush,
	.counts = flight_tell_counts,
	.close = flight_close_writer,
};

int flight_open(struct flight *f, uint64_t size, struct err *err)
{
	void *ring;

	memset(f, 0, sizeof(*f));
	f->writer.ops = &ops;
	f->writer.wants_order = true; /* so that the oldest events come first */
	f->segment_size = size / SEGMENTS;
	if (f->segment_size < SEGMENT_LEAST)
		f->segment_size = SEGMENT_LEAST;
	if (f->segment_size > SEGMENT_HIGHEST)
		f->segment_size = SEGMENT_HIGHEST;
	f->nr_segments = (uint32_t)(size / f->segment_size);
	f->size = f->nr_segments * f->segment_size;
	ring = mmap(NULL, f->size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ring != MAP_FAILED)
		f->ring = ring;
	f->segments = calloc(f->nr_segments, sizeof(*f->segments));
	if (!f->ring || !f->segments) {
		err_set(err, -ENOMEM, "no memory for a flight recorder of %llu MiB",
			(unsigned long long)(size >> 20));
		err_hint(err, "ask for less with --flight-recorder");
		flight_close(f);
		return err->code;
	}
	begin_segment(f);
	births_init(&f->births, f->size / BIRTHS_SHARE);
	return 0;
}

void flight_close(struct flight *f)
{
	if (f->ring)
		munmap(f->ring, f->size);
	for (; f->nr_sites; f->nr_sites--) {
		free((char *)f->sites[f->nr_sites - 1].file);
		free((char *)f->sites[f->nr_sites - 1].function);
	}
	free(f->sites);
	free(f->segments);
	free(f->lanes);
	births_release(&f->births);
	memset(f, 0, sizeof(*f));
}
