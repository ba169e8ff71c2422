/* SPDX-License-Identifier: MIT */
/*
 * flight_recorder.c - the newest events of a run, packed into a ring of segments.
 *
 * flight_entry.h has the entries.  A segment starts from zeros and repeats its lanes, so that it
 * can be read on its own.
 */
#include "collect/flight_recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/flight_entry.h"
#include "trace/ctf_facts.h"
#include "trace/schema.h"

#define NAME_MOST       1024u

#define SEGMENT_LEAST   4096u
#define SEGMENT_HIGHEST (UINT64_C(1) << 20)
#define SEGMENTS        64u

/* Create events that outlive their segment may use another 1/4 of the size. */
#define BIRTHS_SHARE 4u

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

static const struct trace_writer_ops flight_ops = {
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
	f->writer.ops = &flight_ops;
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
