/* SPDX-License-Identifier: MIT */
/*
 * test_drain.c - records in lanes are read once, whole and in order; corrupt ones are skipped.
 *
 * Lanes in plain memory, written here by hand: see lane_bed.h.
 */
#include <corotracer/thread_id.h>

#include "lane_bed.h"

#include "check.h"

/* ---- output -------------------------------------------------------------------------- */

enum { MOST = 20000 };

static struct got_event {
	uint32_t lane;
	struct trace_event ev;
	char name[CTP_EXT_NAME_SIZE + 1];
} * events;
static uint32_t nr_events;

static struct got_gap {
	uint32_t lane, before_event;
	uint64_t from, to, transitions, others;
} gaps[64];
static uint32_t nr_gaps;

static struct trace_lane told_lanes[64];
static uint32_t nr_told_lanes;

static struct got_site {
	uint32_t id, line, before_event;
	char file[200], function[120];
} sites[64];
static uint32_t nr_sites;

static struct drain drain;

static void on_lane(void *ctx, const struct trace_lane *lane)
{
	(void)ctx;
	told_lanes[nr_told_lanes++] = *lane;
}

static void on_event(void *ctx, uint32_t lane, const struct trace_event *ev)
{
	struct got_event *got = &events[nr_events++];

	(void)ctx;
	CHECK(nr_events < MOST);
	memset(got->name, 0, sizeof(got->name));
	got->lane = lane;
	got->ev = *ev;
	if (ev->name_size)
		memcpy(got->name, ev->name, ev->name_size);
}

static void on_gap(void *ctx, uint32_t lane, uint64_t from, uint64_t to, uint64_t transitions,
		   uint64_t others)
{
	(void)ctx;
	gaps[nr_gaps++] = (struct got_gap){ lane, nr_events, from, to, transitions, others };
}

static void on_site(void *ctx, const struct trace_site *site)
{
	struct got_site *got = &sites[nr_sites++];

	(void)ctx;
	got->id = site->id;
	got->line = site->line;
	got->before_event = nr_events;
	snprintf(got->file, sizeof(got->file), "%s", site->file);
	snprintf(got->function, sizeof(got->function), "%s", site->function);
}

static const struct drain_sink in_order = {
	.ordered = true,
	.lane = on_lane,
	.event = on_event,
	.gap = on_gap,
	.site = on_site,
};
static const struct drain_sink by_lane = {
	.lane = on_lane,
	.event = on_event,
	.gap = on_gap,
	.site = on_site,
};

static void open_with(const struct drain_sink *sink)
{
	struct err err = { 0 };

	bed_make();
	if (!events)
		events = calloc(MOST, sizeof(*events));
	CHECK(events != NULL);
	nr_events = nr_gaps = nr_told_lanes = nr_sites = 0;
	CHECK_EQ(drain_open(&drain, &bed, &bed_clock, sink, NULL, &err), 0);
	drain.last = true; /* no thread is publishing: the limit is the present time */
}

static struct drain_look look(void)
{
	struct drain_look out;

	drain_look(&drain, &out);
	return out;
}

/* ---- a writer -------------------------------------------------------------------------- */

static struct writer {
	struct ctp_chunk *chunk;
	uint32_t at;
	uint64_t head; /* records */
} writers[BED_LANES];

/* Lane @i is opened by thread 100 + @i, with chunk number @chunk. */
static void lane_open(uint32_t i, uint32_t chunk)
{
	struct ctp_lane *lane = &bed_lanes[i];

	if (bed_ext.lanes.used <= i)
		bed_ext.lanes.used = i + 1;
	if (bed_ext.chunks.used <= chunk)
		bed_ext.chunks.used = chunk + 1;
	memset(lane, 0, sizeof(*lane));
	lane->tid = 100 + i;
	lane->pid = 42;
	lane->first = chunk + 1;
	lane->ticks = CTP_TICKS_COUNTER;
	lane->taken = 1;
	lane->state = CTP_LANE_OPEN;
	writers[i] = (struct writer){ &bed_chunks[chunk], 0, 0 };
}

/* The next record of lane @i, not published yet. */
static struct ctp_record *next(uint32_t i)
{
	struct writer *w = &writers[i];
	struct ctp_record *r = &w->chunk->records[w->at++];

	CHECK(w->at <= CTP_CHUNK_RECORDS);
	w->head++;
	memset(r, 0, sizeof(*r));
	return r;
}

static void publish(uint32_t i)
{
	ctp_store_relaxed(&bed_lanes[i].head, writers[i].head * sizeof(struct ctp_record));
}

static struct ctp_record *put(uint32_t i, uint64_t ticks, uint64_t id, uint8_t kind)
{
	struct ctp_record *r = next(i);

	r->ticks = BED_TICKS0 + ticks;
	r->id = id;
	r->kind = kind;
	return r;
}

/* A suspend of @id whose fields repeat its time, so that a mix of two events shows. */
static void put_event(uint32_t i, uint64_t ticks, uint64_t id)
{
	put(i, ticks, id, CTP_REC_SUSPEND)->value = ticks;
	publish(i);
}

static void more_resource(uint32_t i, uint64_t resource, uint64_t lost)
{
	struct ctp_record_more *more = (struct ctp_record_more *)(void *)next(i);

	more->kind = CTP_REC_MORE;
	more->resource = resource;
	more->lost = lost;
}

/* Chunk @number comes after the one being written. */
static void go_on_in(uint32_t i, uint32_t number)
{
	if (bed_ext.chunks.used <= number)
		bed_ext.chunks.used = number + 1;
	writers[i].chunk->link = number + 1;
	writers[i].chunk = &bed_chunks[number];
	writers[i].chunk->link = 0;
	writers[i].at = 0;
	bed_lanes[i].taken++;
}

static void fill_chunk(uint32_t i, uint64_t *ticks, uint64_t id)
{
	while (writers[i].at < CTP_CHUNK_RECORDS)
		put_event(i, ++*ticks, id);
}

static uint32_t free_chunks(void)
{
	uint32_t link = (uint32_t)bed_ext.chunks.free, nr = 0;

	while (link && nr < BED_CHUNKS) {
		nr++;
		link = bed_chunks[link - 1].link;
	}
	return nr;
}

/* ---- one lane ---------------------------------------------------------------------------- */

static void threads_take_a_lane_over_from_each_other(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	put_event(0, 10, 7);
	put(0, 11, 0, CTP_REC_THREAD)->value = 201;
	put_event(0, 12, 7);
	put_event(0, 13, 8);
	put(0, 14, 0, CTP_REC_THREAD)->value = 202;
	put(0, 15, 0, CTP_REC_THREAD)->value = UINT64_C(1) << 40; /* an impossible thread id */
	put_event(0, 16, 9);
	CHECK_EQ(look().events, 4);
	CHECK_EQ(events[0].ev.tid, 100);
	CHECK_EQ(events[1].ev.tid, 201);
	CHECK_EQ(events[2].ev.tid, 201);
	CHECK_EQ(events[3].ev.tid, 202);
	CHECK_EQ(nr_told_lanes, 3);
	CHECK(told_lanes[1].number == 0 && told_lanes[1].tid == 201 && told_lanes[1].pid == 42);
	CHECK_EQ(told_lanes[2].tid, 202);
	CHECK_EQ(drain.totals.lanes, 3);
	CHECK_EQ(drain.totals.garbage, 1);
	drain_close(&drain);
}

static void coroutines_that_began_before_the_attach_are_counted_while_they_are_untraced(void)
{
	open_with(&in_order);
	bed_ext.homeless = 9;
	bed_ext.untraced = 8;
	bed_ext.later = 5;
	look();
	CHECK_EQ(drain.totals.homeless, 9);
	CHECK_EQ(drain.totals.untraced, 8);
	CHECK_EQ(drain.totals.later, 5);
	bed_ext.later = 2;
	look();
	CHECK_EQ(drain.totals.later, 2);
	bed_ext.later = UINT64_MAX; /* one is traced before another thread has reported it */
	look();
	CHECK_EQ(drain.totals.later, 0);
	CHECK_EQ(drain.totals.garbage, 0);
	bed_ext.later = UINT64_C(1) << 60;
	look();
	CHECK_EQ(drain.totals.later, 0);
	CHECK_EQ(drain.totals.garbage, 1);
	drain_close(&drain);
}

static void transitions_come_out_as_they_went_in(void)
{
	struct ctp_record *r;
	const struct trace_event *ev;

	open_with(&in_order);
	lane_open(0, 0);
	r = put(0, 10, 7, CTP_REC_SUSPEND);
	r->value = 0xabcdef;
	r->seq = 17;
	r->site = 3;
	r->reason = CTP_REASON_MUTEX;
	r = put(0, 20, 7, CTP_REC_RESUME);
	r->seq = 18;
	publish(0);
	CHECK_EQ(look().events, 2);
	CHECK_EQ(nr_told_lanes, 1);
	CHECK_EQ(told_lanes[0].tid, 100);
	CHECK_EQ(told_lanes[0].pid, 42);
	ev = &events[0].ev;
	CHECK_EQ(ev->kind, TRACE_SUSPEND);
	CHECK_EQ(ev->probe_id, 7);
	CHECK_EQ(ev->tid, 100);
	CHECK_EQ(ev->addr, 0xabcdef);
	CHECK_EQ(ev->seq, 2 * (17 / 8) + 2);
	CHECK_EQ(ev->ts, bed_ns(BED_TICKS0 + 10));
	CHECK_EQ(ev->site, 3);
	CHECK_EQ(ev->reason, TRACE_REASON_MUTEX);
	CHECK_EQ(ev->is_active, 0);
	CHECK_EQ(ev->flags, 0);
	ev = &events[1].ev;
	CHECK_EQ(ev->kind, TRACE_RESUME);
	CHECK_EQ(ev->is_active, 1);
	CHECK_EQ(ev->addr, 0);
	CHECK_EQ(drain.totals.transitions, 2);
	CHECK_EQ(drain.totals.garbage, 0);
	CHECK_EQ(bed_lanes[0].tail, 2 * sizeof(struct ctp_record));
	/* And only once. */
	CHECK_EQ(look().events, 0);
	CHECK_EQ(nr_events, 2);
	drain_close(&drain);
}

static void the_other_kinds_come_out_as_they_went_in(void)
{
	struct ctp_record *r;

	open_with(&in_order);
	lane_open(0, 0);
	r = put(0, 10, 7, CTP_REC_SUSPEND | CTP_REC_HAS_MORE);
	r->reason = CTP_REASON_IO_READ;
	more_resource(0, 0, 0);
	r = put(0, 11, 7, CTP_REC_WAKE);
	r->value = 9;
	r->seq = 1;
	r->reason = CTP_REASON_CHANNEL_SEND;
	put(0, 12, 7, CTP_REC_WAKE | CTP_REC_HAS_MORE)->reason = CTP_REASON_IO_READ;
	more_resource(0, 5, 0);
	r = put(0, 13, 7, CTP_REC_END);
	r->value = 44;
	r->reason = CTP_END_SUSPENDED | CTP_END_CANCELLED;
	r = put(0, 14, 7, CTP_REC_DESTROY | CTP_REC_HAS_MORE);
	r->value = 45;
	r->reason = CTP_END_DESTROYED;
	more_resource(0, 0, 3);
	publish(0);
	CHECK_EQ(look().events, 5);
	CHECK_EQ(events[0].ev.kind, TRACE_SUSPEND);
	CHECK_EQ(events[0].ev.flags, TRACE_HAS_RESOURCE); /* 0 is a valid resource */
	CHECK_EQ(events[0].ev.resource, 0);
	CHECK_EQ(events[1].ev.kind, TRACE_WAKE);
	CHECK_EQ(events[1].ev.probe_id, 7);
	CHECK_EQ(events[1].ev.peer, 9);
	CHECK_EQ(events[1].ev.seen, 1);
	CHECK_EQ(events[1].ev.reason, TRACE_REASON_CHANNEL_SEND);
	CHECK_EQ(events[1].ev.flags, 0);
	CHECK_EQ(events[2].ev.resource, 5);
	CHECK_EQ(events[2].ev.flags, TRACE_HAS_RESOURCE);
	CHECK_EQ(events[3].ev.kind, TRACE_END);
	CHECK_EQ(events[3].ev.written, 44);
	CHECK_EQ(events[3].ev.lost, 0);
	CHECK_EQ(events[3].ev.flags, TRACE_WAS_SUSPENDED | TRACE_CANCELLED);
	CHECK_EQ(events[4].ev.kind, TRACE_DESTROY);
	CHECK_EQ(events[4].ev.written, 45);
	CHECK_EQ(events[4].ev.lost, 3);
	CHECK_EQ(events[4].ev.flags, TRACE_DESTROYED);
	CHECK_EQ(drain.totals.transitions, 1);
	CHECK_EQ(drain.totals.marks, 4);
	CHECK_EQ(drain.totals.garbage, 0);
	drain_close(&drain);
}

static void put_birth(uint32_t i, uint64_t ticks, uint64_t id, const char *name, uint32_t len,
		      bool cut)
{
	struct ctp_record *r = put(i, ticks, id, CTP_REC_BIRTH);
	uint32_t at;

	r->seq = len;
	r->value = 3;
	r->site = 2;
	r->reason = cut;
	for (at = 0; at < len; at += CTP_TEXT_SIZE) {
		struct ctp_record_text *text = (struct ctp_record_text *)(void *)next(i);
		uint32_t part = len - at < CTP_TEXT_SIZE ? len - at : CTP_TEXT_SIZE;

		memcpy(text->text, name + at, part);
		text->kind = CTP_REC_TEXT;
	}
}

static void names_of_every_length_are_whole(void)
{
	static const uint32_t lengths[] = { 0, 1, 23, 24, 25, 48, 49, 407, 408 };
	char name[CTP_EXT_NAME_SIZE + 1];
	uint32_t i, k;

	open_with(&in_order);
	lane_open(0, 0);
	for (i = 0; i < CTP_EXT_NAME_SIZE; i++)
		name[i] = (char)('!' + i % 90);
	for (k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++)
		put_birth(0, k + 1, k + 1, name, lengths[k], lengths[k] == 408);
	publish(0);
	CHECK_EQ(look().events, k);
	for (k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		const struct trace_event *ev = &events[k].ev;

		CHECK_EQ(ev->kind, TRACE_BIRTH);
		CHECK_EQ(ev->probe_id, k + 1);
		CHECK_EQ(ev->name_size, lengths[k]);
		CHECK_EQ(memcmp(events[k].name, name, lengths[k]), 0);
		CHECK_EQ(ev->peer, 3);
		CHECK_EQ(ev->pid, 42);
		CHECK_EQ(ev->site, 2);
		CHECK_EQ(ev->flags, lengths[k] == 408 ? TRACE_NAME_CUT : 0);
	}
	drain_close(&drain);
}

static void a_gap_is_told_before_the_event_behind_it(void)
{
	struct ctp_record *r;

	open_with(&in_order);
	lane_open(0, 0);
	put_event(0, 10, 1);
	r = put(0, 20, 4, CTP_REC_GAP); /* its id means: other events */
	r->value = 1000;
	bed_lanes[0].dropped = 1000;
	bed_lanes[0].dropped_marks = 4;
	publish(0);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(nr_gaps, 0); /* only once its end is known */
	CHECK_EQ(drain.totals.lost, 1000);
	CHECK_EQ(drain.totals.lost_marks, 4);
	put_event(0, 50, 1);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(nr_gaps, 1);
	CHECK_EQ(gaps[0].before_event, 1);
	CHECK_EQ(gaps[0].from, bed_ns(BED_TICKS0 + 20));
	CHECK_EQ(gaps[0].to, bed_ns(BED_TICKS0 + 50));
	CHECK_EQ(gaps[0].transitions, 1000);
	CHECK_EQ(gaps[0].others, 4);
	drain_finish(&drain);
	CHECK_EQ(nr_gaps, 1); /* once */
	drain_close(&drain);
}

/* The lane's counter of lost events bounds the value of a gap. */
static void a_gap_that_cannot_be_is_garbage(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	bed_lanes[0].dropped = 10;
	put(0, 5, 0, CTP_REC_GAP)->value = UINT64_C(1) << 60;
	put(0, 5, 3, CTP_REC_GAP)->value = 1; /* a gap of other events, of which it lost 0 */
	put(0, 6, 0, CTP_REC_GAP)->value = 4;
	put(0, 8, 0, CTP_REC_GAP)->value = 3;
	put_event(0, 9, 1);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(drain.totals.garbage, 2);
	CHECK_EQ(nr_gaps, 1);
	CHECK_EQ(gaps[0].transitions, 7);
	CHECK_EQ(gaps[0].others, 0);
	CHECK_EQ(gaps[0].from, bed_ns(BED_TICKS0 + 6));
	drain_close(&drain);
}

/* If the time of a gap is impossible, it began with the lane's last event, or with the run. */
static void a_gap_of_another_time_is_of_this_run(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	lane_open(1, 1);
	bed_lanes[0].dropped = 10;
	bed_lanes[1].dropped = 5;
	bed_lanes[1].dropped_at = 1;
	put(0, 5, 0, CTP_REC_GAP)->ticks = 1;
	writers[0].chunk->records[0].value = 1;
	put_event(0, 100, 1);
	put(0, 5, 0, CTP_REC_GAP)->ticks = UINT64_MAX;
	writers[0].chunk->records[2].value = 9;
	put_event(0, 200, 1);
	CHECK_EQ(look().events, 2);
	drain_finish(&drain);
	CHECK_EQ(nr_gaps, 3);
	CHECK_EQ(gaps[0].from, BED_NS0);
	CHECK_EQ(gaps[1].from, bed_ns(BED_TICKS0 + 100));
	CHECK_EQ(gaps[2].lane, 1);
	CHECK_EQ(gaps[2].from, BED_NS0);
	drain_close(&drain);
}

static void losses_that_no_gap_told_are_told_at_the_end(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	put_event(0, 10, 1);
	look();
	bed_lanes[0].dropped = 55;
	bed_lanes[0].dropped_at = BED_TICKS0 + 30;
	CHECK_EQ(look().lost, 55);
	CHECK_EQ(nr_gaps, 0);
	drain_finish(&drain);
	CHECK_EQ(nr_gaps, 1);
	CHECK_EQ(gaps[0].transitions, 55);
	CHECK_EQ(gaps[0].from, bed_ns(BED_TICKS0 + 30));
	drain_close(&drain);
}

/* ---- chunks ---------------------------------------------------------------------------- */

static void chunks_are_followed_and_given_back_but_for_the_last_two(void)
{
	uint64_t ticks = 0;
	uint32_t i;

	open_with(&in_order);
	lane_open(0, 0);
	for (i = 1; i <= 5; i++) {
		fill_chunk(0, &ticks, 1);
		go_on_in(0, i);
	}
	put_event(0, ++ticks, 1);
	CHECK_EQ(look().events, 5 * CTP_CHUNK_RECORDS + 1);
	for (i = 0; i < nr_events; i++)
		CHECK_EQ(events[i].ev.addr, i + 1);
	CHECK_EQ(bed_lanes[0].returned, 4);
	CHECK_EQ(bed_lanes[0].oldest, 5); /* 1 + number 4: kept for readers outside the process */
	CHECK_EQ(free_chunks(), 4);
	CHECK_EQ(drain.totals.garbage, 0);
	drain_close(&drain);
}

/* If the collector is killed now, the region must still hold what is in no file. */
static void chunks_and_lanes_are_given_back_only_when_they_are_saved(void)
{
	uint64_t ticks = 0;
	uint32_t i;

	open_with(&in_order);
	drain.saves = true;
	lane_open(0, 0);
	for (i = 1; i <= 5; i++) {
		fill_chunk(0, &ticks, 1);
		go_on_in(0, i);
	}
	put_event(0, ++ticks, 1);
	CHECK_EQ(look().events, 5 * CTP_CHUNK_RECORDS + 1);
	CHECK_EQ(bed_lanes[0].returned, 0);
	CHECK_EQ(bed_lanes[0].oldest, 0);
	CHECK_EQ(free_chunks(), 0);
	drain_all_saved(&drain);
	put_event(0, ++ticks, 1);
	bed_lanes[0].state = CTP_LANE_CLOSED;
	look();
	CHECK_EQ(bed_lanes[0].returned, 4);
	CHECK_EQ(bed_lanes[0].oldest, 5);
	CHECK_EQ(bed_lanes[0].state, CTP_LANE_CLOSED); /* its last event is not saved */
	drain_all_saved(&drain);
	look();
	CHECK_EQ(bed_lanes[0].state, CTP_LANE_FREE);
	CHECK_EQ(free_chunks(), 6);
	drain_close(&drain);
}

/* A save of what was read counts, also if the last records of the lane are no events. */
static void a_lane_that_ends_with_a_gap_is_given_back(void)
{
	open_with(&in_order);
	drain.saves = true;
	lane_open(0, 0);
	put_event(0, 1, 1);
	CHECK_EQ(look().events, 1);
	drain_all_saved(&drain);
	put(0, 5, 0, CTP_REC_GAP)->value = 3;
	bed_lanes[0].dropped = 3;
	publish(0);
	bed_lanes[0].state = CTP_LANE_CLOSED;
	CHECK_EQ(look().events, 0);
	CHECK_EQ(bed_lanes[0].state, CTP_LANE_CLOSED);
	drain_all_saved(&drain);
	look();
	CHECK_EQ(bed_lanes[0].state, CTP_LANE_FREE);
	CHECK_EQ(free_chunks(), 1);
	drain_close(&drain);
}

/* Each thread needs one chunk to write into; chunks that are kept back may be needed by others. */
static void nothing_is_kept_back_when_lanes_are_many(void)
{
	uint64_t ticks[BED_LANES] = { 0 };
	uint32_t i, many = BED_CHUNKS / 4 + 1;

	open_with(&in_order);
	for (i = 0; i < many; i++) {
		lane_open(i, 2 * i);
		fill_chunk(i, &ticks[i], i + 1);
		go_on_in(i, 2 * i + 1);
		put_event(i, ++ticks[i], i + 1);
	}
	CHECK_EQ(look().events, many * (CTP_CHUNK_RECORDS + 1));
	CHECK_EQ(free_chunks(), many);
	for (i = 0; i < many; i++) {
		CHECK_EQ(bed_lanes[i].returned, 1);
		CHECK_EQ(bed_lanes[i].oldest, 2 * i + 2);
	}
	/* One lane fewer, and there are enough chunks for all. */
	bed_lanes[0].state = CTP_LANE_CLOSED;
	look();
	CHECK_EQ(free_chunks(), many + 1);
	fill_chunk(1, &ticks[1], 1);
	go_on_in(1, 2 * many);
	put_event(1, ++ticks[1], 1);
	look();
	CHECK_EQ(bed_lanes[1].returned, 1);
	drain_close(&drain);
}

/* A thread may be killed, or have nothing to write, just after it has linked a chunk. */
static void a_chunk_that_was_linked_and_never_used_goes_back(void)
{
	uint64_t ticks = 0;

	open_with(&in_order);
	lane_open(0, 0);
	fill_chunk(0, &ticks, 1);
	go_on_in(0, 1);
	bed_lanes[0].state = CTP_LANE_CLOSED;
	CHECK_EQ(look().events, CTP_CHUNK_RECORDS);
	CHECK_EQ(free_chunks(), 2);
	CHECK_EQ(drain.totals.garbage, 0);
	drain_close(&drain);
}

static void a_full_chunk_without_a_next_is_no_fault(void)
{
	uint64_t ticks = 0;

	open_with(&in_order);
	lane_open(0, 0);
	fill_chunk(0, &ticks, 1);
	CHECK_EQ(look().events, CTP_CHUNK_RECORDS);
	CHECK_EQ(look().events, 0);
	CHECK_EQ(drain.totals.broken, 0);
	go_on_in(0, 1);
	put_event(0, ++ticks, 1);
	CHECK_EQ(look().events, 1);
	drain_close(&drain);
}

static void a_pad_leaves_the_rest_of_the_chunk(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	put_event(0, 1, 1);
	put(0, 0, 0, CTP_REC_PAD)->ticks = 0;
	writers[0].head += CTP_CHUNK_RECORDS - writers[0].at;
	writers[0].at = CTP_CHUNK_RECORDS;
	publish(0);
	CHECK_EQ(look().events, 1);
	go_on_in(0, 1);
	put_event(0, 2, 1);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(events[1].ev.addr, 2);
	CHECK_EQ(drain.totals.garbage, 0);
	drain_close(&drain);
}

/* Lane 0, whose first chunk links to @link, is read up to the link; lane 1 is not affected. */
static void expect_broken_at(uint32_t link)
{
	uint64_t ticks = 0;

	open_with(&in_order);
	lane_open(0, 0);
	lane_open(1, 1);
	fill_chunk(0, &ticks, 1);
	put_event(1, 5, 2);
	go_on_in(0, 2);
	bed_chunks[0].link = link;
	put_event(0, ++ticks, 1);
	CHECK_EQ(look().events, CTP_CHUNK_RECORDS + 1);
	CHECK_EQ(drain.totals.broken, 1);
	CHECK_EQ(drain.totals.garbage, 2); /* the link, and the event after it */
	put_event(0, ++ticks, 1);
	put_event(1, ticks, 2);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(drain.totals.broken, 1);
	/* Not given back: an unknown thread may write there. */
	bed_lanes[0].state = CTP_LANE_CLOSED;
	look();
	CHECK_EQ(free_chunks(), 0);
	drain_finish(&drain);
	drain_close(&drain);
}

static void a_link_that_leads_nowhere_breaks_its_lane_only(void)
{
	expect_broken_at(0);
	expect_broken_at(BED_CHUNKS + 1);
	expect_broken_at(UINT32_MAX);
	expect_broken_at(4); /* chunk 3 was never taken */
}

static void a_link_to_a_chunk_in_use_breaks_its_lane_only(void)
{
	expect_broken_at(1); /* its own */
	expect_broken_at(2); /* lane 1's */
}

static void two_lanes_cannot_begin_with_the_same_chunk(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	lane_open(1, 0);
	writers[1].at = 5;
	put_event(0, 1, 1);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(drain.totals.broken, 1);
	CHECK_EQ(nr_told_lanes, 1);
	drain_close(&drain);
}

/* ---- time ------------------------------------------------------------------------------- */

static void what_is_later_than_the_look_waits(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	bed_now(1000);
	put_event(0, 900, 1);
	put_event(0, 1002, 1);
	put_event(0, 1003, 1);
	CHECK_EQ(look().events, 1);
	bed_now(1002);
	CHECK_EQ(look().events, 1);
	bed_lanes[0].state = CTP_LANE_CLOSED;
	CHECK_EQ(look().left, 1); /* not given back before all is read */
	CHECK_EQ(bed_lanes[0].state, CTP_LANE_CLOSED);
	bed_now(2000);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(bed_lanes[0].state, CTP_LANE_FREE);
	CHECK_EQ(drain.totals.garbage, 0);
	drain_close(&drain);
}

/* A thread may be about to publish an older event. */
static void what_is_of_the_last_moment_waits_unless_it_is_the_last(void)
{
	open_with(&in_order);
	drain.last = false;
	lane_open(0, 0);
	put_event(0, 10, 1);
	look();
	bed_now(1000010000);
	put_event(0, 1000010000 - 100, 1);
	CHECK_EQ(look().events, 0);
	bed_now(1000100000);
	CHECK_EQ(look().events, 1);
	put_event(0, 1000100000, 1);
	CHECK_EQ(look().left, 1);
	drain.last = true;
	CHECK_EQ(look().events, 1);
	drain_close(&drain);
}

/* A thread that made many events in one period of the counter; no more time passes. */
static void what_is_ahead_of_the_clock_is_taken_at_the_end(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	bed_now(1000);
	put_event(0, 500, 1);
	put_event(0, 5000, 1);
	put_event(0, 5001, 1);
	bed_lanes[0].dropped = 3;
	CHECK_EQ(look().events, 1);
	CHECK_EQ(look().left, 2);
	drain.ahead = true;
	CHECK_EQ(look().events, 2);
	CHECK_EQ(events[1].ev.ts, bed_ns(BED_TICKS0 + 5000));
	drain_finish(&drain);
	CHECK_EQ(drain.totals.garbage, 0);
	CHECK_EQ(nr_gaps, 1);
	CHECK(gaps[0].from >= events[2].ev.ts && gaps[0].to >= gaps[0].from);
	drain_close(&drain);
}

static void times_that_cannot_be_are_garbage_and_spoil_nothing(void)
{
	uint64_t absurd[] = { 0,
			      1,
			      BED_TICKS0 / 2,
			      BED_TICKS0 - UINT64_C(100000000000),
			      BED_TICKS0 + UINT64_C(1000000000000),
			      UINT64_MAX / 2,
			      UINT64_MAX - 1,
			      UINT64_MAX };
	uint32_t i, nr = sizeof(absurd) / sizeof(absurd[0]);

	open_with(&in_order);
	lane_open(0, 0);
	for (i = 0; i < nr; i++) {
		put_event(0, 10 * i + 10, 1);
		put(0, 0, 1, CTP_REC_SUSPEND)->ticks = absurd[i];
	}
	put_event(0, 10 * i + 10, 1);
	CHECK_EQ(look().events, nr + 1);
	CHECK_EQ(drain.totals.garbage, nr);
	for (i = 0; i <= nr; i++)
		CHECK_EQ(events[i].ev.ts, bed_ns(BED_TICKS0 + 10 * i + 10));
	drain_close(&drain);
}

static void a_lanes_time_does_not_go_back(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	put_event(0, 1000, 1);
	put_event(0, 500, 2);
	put_event(0, 1500, 1);
	CHECK_EQ(look().events, 3);
	CHECK_EQ(events[1].ev.ts, events[0].ev.ts);
	CHECK_EQ(events[2].ev.ts, bed_ns(BED_TICKS0 + 1500));
	drain_close(&drain);
}

static void nanoseconds_are_taken_as_they_are(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	bed_lanes[0].ticks = CTP_TICKS_NS;
	put(0, 0, 1, CTP_REC_SUSPEND)->ticks = BED_NS0 + 77;
	publish(0);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(events[0].ev.ts, BED_NS0 + 77);
	drain_close(&drain);
}

/* ---- many lanes --------------------------------------------------------------------------- */

static void events_of_many_lanes_are_in_one_order(void)
{
	uint64_t state = 88172645463325252u, ticks[BED_LANES] = { 0 };
	uint32_t i, k;

	open_with(&in_order);
	for (i = 0; i < BED_LANES; i++)
		lane_open(i, i);
	for (k = 0; k < 4000; k++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		i = (uint32_t)(state % BED_LANES);
		ticks[i] += 1 + state / 64 % 50;
		put_event(i, ticks[i], i + 1);
		if (k % 500 == 499)
			look();
	}
	look();
	CHECK_EQ(nr_events, 4000);
	/* Within a poll; later polls may find events that were published late. */
	for (k = 3501; k < 4000; k++)
		CHECK(events[k].ev.ts >= events[k - 1].ev.ts ||
		      events[k].lane == events[k - 1].lane);
	memset(ticks, 0, sizeof(ticks));
	for (k = 0; k < 4000; k++) {
		CHECK(events[k].ev.addr > ticks[events[k].lane]);
		ticks[events[k].lane] = events[k].ev.addr;
	}
	drain_close(&drain);
}

static void in_one_look_the_order_is_that_of_time(void)
{
	uint32_t i, k;

	open_with(&in_order);
	for (i = 0; i < BED_LANES; i++)
		lane_open(i, i);
	for (k = 0; k < 1000; k++)
		put_event((k * 5 + k / 7) % BED_LANES, 2 * k + 2, 1);
	CHECK_EQ(look().events, 1000);
	for (k = 0; k < 1000; k++)
		CHECK_EQ(events[k].ev.addr, 2 * k + 2);
	drain_close(&drain);
}

/* A coroutine's next event is one tick later, though in nanoseconds the time is the same. */
static void a_tick_is_enough_to_come_later(void)
{
	uint32_t k;

	open_with(&in_order);
	lane_open(0, 0);
	lane_open(1, 1);
	lane_open(2, 2);
	for (k = 0; k < 300; k++)
		put_event(k % 3 == 0 ? 2 : k % 3 == 1 ? 0 : 1, 100 + k, 1);
	CHECK_EQ(look().events, 300);
	for (k = 0; k < 300; k++)
		CHECK_EQ(events[k].ev.addr, 100 + k);
	drain_close(&drain);
}

/* Coroutine 1 is created on a new thread, and continues on one that has a lane. */
static void open_and_hand_over(void)
{
	lane_open(1, 1);
	put_event(1, 100, 1);
	put_event(0, 200, 1);
}

/* A lane that is opened after a poll has begun and before it reads the time is part of the poll. */
static void a_lane_opened_before_the_time_of_a_poll_is_looked_at(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	bed_before_mark = open_and_hand_over;
	CHECK_EQ(look().events, 2);
	bed_before_mark = NULL;
	CHECK_EQ(events[0].ev.addr, 100);
	CHECK_EQ(events[1].ev.addr, 200);
	drain_close(&drain);
}

static void lane_by_lane_each_is_in_order(void)
{
	uint32_t k;

	open_with(&by_lane);
	lane_open(0, 0);
	lane_open(1, 1);
	for (k = 0; k < 100; k++)
		put_event(k % 2, k + 1, 1);
	CHECK_EQ(look().events, 100);
	for (k = 0; k < 50; k++) {
		CHECK_EQ(events[k].ev.addr, 2 * k + 1);
		CHECK_EQ(events[50 + k].ev.addr, 2 * k + 2);
	}
	drain_close(&drain);
}

/* ---- lanes are opened and closed ------------------------------------------------------- */

static void a_closed_lane_is_free_once_it_is_read(void)
{
	uint64_t ticks = 0;

	open_with(&in_order);
	lane_open(0, 0);
	bed_lanes[0].last_ticks = BED_TICKS0 + 1;
	fill_chunk(0, &ticks, 1);
	go_on_in(0, 1);
	put_event(0, ++ticks, 1);
	bed_lanes[0].dropped = 3;
	bed_lanes[0].state = CTP_LANE_CLOSED;
	CHECK_EQ(look().events, CTP_CHUNK_RECORDS + 1);
	CHECK_EQ(bed_lanes[0].state, CTP_LANE_FREE);
	CHECK_EQ(bed_lanes[0].last_ticks, 0); /* older SDKs do not reset it */
	CHECK_EQ((uint32_t)bed_ext.lanes.free, 1);
	CHECK_EQ(free_chunks(), 2);
	CHECK_EQ(nr_gaps, 1);
	CHECK_EQ(gaps[0].transitions, 3);
	/* Another thread takes the lane over: reported again, counted from 0. */
	bed_ext.lanes.free = 0;
	bed_ext.chunks.free = 0;
	lane_open(0, 1);
	bed_lanes[0].tid = 999;
	bed_lanes[0].dropped = 2;
	put_event(0, ++ticks, 1);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(nr_told_lanes, 2);
	CHECK_EQ(told_lanes[1].tid, 999);
	CHECK_EQ(events[nr_events - 1].ev.tid, 999);
	CHECK_EQ(drain.totals.lost, 5);
	CHECK_EQ(drain.totals.lanes, 2);
	CHECK_EQ(drain.totals.garbage, 0);
	drain_close(&drain);
}

static void a_lane_of_a_process_that_is_gone_is_free_once_it_is_read(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	lane_open(1, 1);
	bed_lanes[1].pid = 43;
	put_event(0, 1, 1);
	put_event(1, 1, 2);
	look();
	put_event(1, 2, 2);
	drain_orphans(&drain, 43);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(bed_lanes[0].state, CTP_LANE_OPEN);
	CHECK_EQ(bed_lanes[1].state, CTP_LANE_FREE);
	CHECK_EQ(free_chunks(), 1);
	drain_close(&drain);
}

static void a_lane_that_says_what_cannot_be_is_not_read(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	bed_lanes[0].ticks = 2;
	lane_open(1, 1);
	bed_lanes[1].tid = UINT64_C(1) << 40;
	lane_open(2, 2);
	bed_lanes[2].first = 0;
	lane_open(3, 3);
	bed_lanes[3].first = BED_CHUNKS + 1;
	lane_open(4, 4);
	lane_open(5, 5);
	bed_lanes[5].state = 3;
	put_event(0, 1, 1);
	put_event(1, 1, 1);
	put_event(2, 1, 1);
	put_event(3, 1, 1);
	put_event(4, 1, 1);
	put_event(5, 1, 1);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(drain.totals.broken, 4);
	CHECK_EQ(nr_told_lanes, 1);
	drain_close(&drain);
}

/* Older SDKs in a sandbox that refuses gettid(2). */
static void a_thread_without_an_id_has_the_number_of_its_lane(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	lane_open(1, 1);
	bed_lanes[1].tid = UINT64_MAX;
	put_event(0, 1, 1);
	put_event(1, 2, 2);
	put(0, 3, 0, CTP_REC_THREAD)->value = UINT64_MAX;
	put_event(0, 4, 1);
	CHECK_EQ(look().events, 3);
	CHECK_EQ(events[0].ev.tid, 100);
	CHECK_EQ(events[1].ev.tid, CTP_TID_OWN | 1);
	CHECK_EQ(events[2].ev.tid, CTP_TID_OWN);
	CHECK_EQ(drain.totals.broken, 0);
	CHECK_EQ(drain.totals.garbage, 0);
	drain_close(&drain);
}

static void expect_head_breaks(uint64_t head)
{
	open_with(&in_order);
	lane_open(0, 0);
	lane_open(1, 1);
	put_event(0, 1, 1);
	put_event(0, 2, 1);
	CHECK_EQ(look().events, 2);
	bed_lanes[0].head = head;
	put_event(1, 3, 2);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(drain.totals.broken, 1);
	put_event(0, 4, 1);
	CHECK_EQ(look().events, 0);
	drain_close(&drain);
}

static void a_head_that_jumps_breaks_its_lane_only(void)
{
	expect_head_breaks(0);
	expect_head_breaks(32);
	expect_head_breaks(UINT64_MAX);
	expect_head_breaks(UINT64_C(1) << 40);
}

/* Beyond what was written, but in range: the rest holds no events. */
static void a_head_beyond_what_was_written_finds_garbage(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	put_event(0, 1, 1);
	bed_lanes[0].head = 11 * sizeof(struct ctp_record);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(drain.totals.garbage, 10);
	drain_close(&drain);
}

/* ---- what no record can be ----------------------------------------------------------------------
 */

static void records_that_cannot_be_are_counted_and_passed(void)
{
	struct ctp_record *r;
	uint32_t nr = 0;

	open_with(&in_order);
	lane_open(0, 0);
	put(0, 1, 1, 0), nr++;
	put(0, 1, 1, CTP_REC_MORE), nr++;
	put(0, 1, 1, CTP_REC_TEXT), nr++;
	put(0, 1, 1, CTP_REC_KINDS), nr++;
	put(0, 1, 1, 0x7f), nr++;
	put(0, 1, 1, 0xff), nr++;
	put(0, 1, 0, CTP_REC_SUSPEND), nr++; /* without a coroutine */
	put(0, 1, 1, CTP_REC_SUSPEND)->reason = CTP_REASONS, nr++;
	r = put(0, 1, 1, CTP_REC_BIRTH);
	r->seq = CTP_EXT_NAME_SIZE + 1, nr++;
	r = put(0, 1, 1, CTP_REC_BIRTH);
	r->seq = UINT32_MAX, nr++;
	put(0, 1, 1, CTP_REC_BIRTH | CTP_REC_HAS_MORE), nr++;
	put(0, 1, 1, CTP_REC_GAP | CTP_REC_HAS_MORE), nr++;
	put(0, 1, 1, CTP_REC_PAD | CTP_REC_HAS_MORE), nr++;
	put_event(0, 2, 1);
	CHECK_EQ(look().events, 1);
	CHECK_EQ(drain.totals.garbage, nr);
	CHECK_EQ(drain.totals.broken, 0);
	/* Its second record is missing. */
	put(0, 3, 1, CTP_REC_SUSPEND | CTP_REC_HAS_MORE);
	publish(0);
	CHECK_EQ(look().events, 0);
	CHECK_EQ(drain.totals.garbage, nr + 1);
	drain_close(&drain);
}

/* Records that belong together are in one chunk. */
static void a_record_cut_by_the_end_of_its_chunk_is_garbage(void)
{
	uint64_t ticks = 0;

	open_with(&in_order);
	lane_open(0, 0);
	while (writers[0].at < CTP_CHUNK_RECORDS - 1)
		put_event(0, ++ticks, 1);
	put(0, ++ticks, 1, CTP_REC_SUSPEND | CTP_REC_HAS_MORE);
	go_on_in(0, 1);
	put_event(0, ++ticks, 1);
	CHECK_EQ(look().events, CTP_CHUNK_RECORDS);
	CHECK_EQ(drain.totals.garbage, 1);
	CHECK_EQ(drain.totals.broken, 0);
	drain_close(&drain);
}

static void a_lanes_losses_that_cannot_be_are_not_believed(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	put_event(0, 1, 1);
	bed_lanes[0].dropped = 5;
	look();
	bed_lanes[0].dropped = UINT64_C(1) << 60;
	look();
	CHECK_EQ(drain.totals.lost, 5);
	CHECK_EQ(drain.totals.broken, 1);
	drain_close(&drain);
}

static void counts_of_the_region_that_cannot_be_are_not_believed(void)
{
	open_with(&in_order);
	bed_ext.homeless = 5;
	bed_ext.homeless_marks = 8;
	bed_ext.last_id = 100;
	bed_ext.lives.refused = 6;
	bed_ext.sites.refused = 7;
	look();
	bed_ext.homeless = UINT64_C(1) << 60;
	bed_ext.homeless_marks = 7; /* a count that decreased */
	bed_ext.last_id = UINT64_MAX;
	bed_ext.lives.refused = UINT64_C(1) << 50;
	bed_ext.sites.refused = 3;
	look();
	look();
	CHECK_EQ(drain.totals.homeless, 5);
	CHECK_EQ(drain.totals.homeless_marks, 8);
	CHECK_EQ(drain.totals.coroutines, 100);
	CHECK_EQ(drain.totals.unborn, 6);
	CHECK_EQ(drain.totals.lost_sites, 7);
	CHECK_EQ(drain.totals.garbage, 5); /* each once, not at every poll */
	drain_close(&drain);
}

/* ---- sites --------------------------------------------------------------------------------------
 */

static void put_site(uint32_t number, const char *file, uint32_t line, bool ready)
{
	struct ctp_site *site = &bed_sites[number];

	if (bed_ext.sites.used <= number)
		bed_ext.sites.used = number + 1;
	memset(site->file, 'f', sizeof(site->file));
	memset(site->function, 'g', sizeof(site->function));
	if (file) {
		snprintf((char *)site->file, sizeof(site->file), "%s", file);
		snprintf((char *)site->function, sizeof(site->function), "main");
	}
	site->line = line;
	site->ready = ready;
}

static void sites_are_told_once_before_the_events_that_name_them(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	put_site(0, "a.c", 10, true);
	put_event(0, 1, 1);
	look();
	put_site(1, NULL, 20, true); /* texts that fill their field have no terminating zero */
	put_event(0, 2, 1);
	look();
	CHECK_EQ(nr_sites, 2);
	CHECK_EQ(sites[0].id, 1);
	CHECK_EQ(sites[0].line, 10);
	CHECK_EQ(sites[0].before_event, 0);
	CHECK_STR(sites[0].file, "a.c");
	CHECK_STR(sites[0].function, "main");
	CHECK_EQ(sites[1].before_event, 1);
	CHECK_EQ(strlen(sites[1].file), CTP_SITE_FILE_SIZE);
	CHECK_EQ(strlen(sites[1].function), CTP_SITE_FUNCTION_SIZE);
	drain_close(&drain);
}

/* The thread that claimed a site's entry may have died there. */
static void a_site_never_finished_does_not_keep_the_others(void)
{
	open_with(&in_order);
	lane_open(0, 0);
	put_site(0, "a.c", 1, true);
	put_site(1, "dead.c", 2, false);
	put_site(2, "c.c", 3, true);
	put_event(0, 1, 1);
	look();
	CHECK_EQ(nr_sites, 2);
	CHECK_EQ(sites[1].id, 3);
	put_site(1, "late.c", 2, true);
	put_site(3, "d.c", 4, true);
	put_event(0, 2, 1);
	look();
	look();
	CHECK_EQ(nr_sites, 4);
	CHECK_EQ(sites[2].id + sites[3].id, 2 + 4);
	drain_finish(&drain);
	CHECK_EQ(nr_sites, 4);
	drain_close(&drain);
}

int main(void)
{
	RUN(transitions_come_out_as_they_went_in);
	RUN(threads_take_a_lane_over_from_each_other);
	RUN(coroutines_that_began_before_the_attach_are_counted_while_they_are_untraced);
	RUN(the_other_kinds_come_out_as_they_went_in);
	RUN(names_of_every_length_are_whole);
	RUN(a_gap_is_told_before_the_event_behind_it);
	RUN(a_gap_that_cannot_be_is_garbage);
	RUN(a_gap_of_another_time_is_of_this_run);
	RUN(losses_that_no_gap_told_are_told_at_the_end);
	RUN(chunks_are_followed_and_given_back_but_for_the_last_two);
	RUN(chunks_and_lanes_are_given_back_only_when_they_are_saved);
	RUN(a_lane_that_ends_with_a_gap_is_given_back);
	RUN(nothing_is_kept_back_when_lanes_are_many);
	RUN(a_chunk_that_was_linked_and_never_used_goes_back);
	RUN(a_full_chunk_without_a_next_is_no_fault);
	RUN(a_pad_leaves_the_rest_of_the_chunk);
	RUN(a_link_that_leads_nowhere_breaks_its_lane_only);
	RUN(a_link_to_a_chunk_in_use_breaks_its_lane_only);
	RUN(two_lanes_cannot_begin_with_the_same_chunk);
	RUN(what_is_later_than_the_look_waits);
	RUN(what_is_of_the_last_moment_waits_unless_it_is_the_last);
	RUN(what_is_ahead_of_the_clock_is_taken_at_the_end);
	RUN(times_that_cannot_be_are_garbage_and_spoil_nothing);
	RUN(a_lanes_time_does_not_go_back);
	RUN(nanoseconds_are_taken_as_they_are);
	RUN(events_of_many_lanes_are_in_one_order);
	RUN(in_one_look_the_order_is_that_of_time);
	RUN(a_tick_is_enough_to_come_later);
	RUN(a_lane_opened_before_the_time_of_a_poll_is_looked_at);
	RUN(lane_by_lane_each_is_in_order);
	RUN(a_closed_lane_is_free_once_it_is_read);
	RUN(a_lane_of_a_process_that_is_gone_is_free_once_it_is_read);
	RUN(a_lane_that_says_what_cannot_be_is_not_read);
	RUN(a_thread_without_an_id_has_the_number_of_its_lane);
	RUN(a_head_that_jumps_breaks_its_lane_only);
	RUN(a_head_beyond_what_was_written_finds_garbage);
	RUN(records_that_cannot_be_are_counted_and_passed);
	RUN(a_record_cut_by_the_end_of_its_chunk_is_garbage);
	RUN(a_lanes_losses_that_cannot_be_are_not_believed);
	RUN(counts_of_the_region_that_cannot_be_are_not_believed);
	RUN(sites_are_told_once_before_the_events_that_name_them);
	RUN(a_site_never_finished_does_not_keep_the_others);
	free(events);
	return 0;
}
