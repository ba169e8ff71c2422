/* SPDX-License-Identifier: MIT */
/*
 * test_harvest.c - cursors over stations: order, exact loss, two orders of stores, corrupt slots.
 *
 * The region is plain memory here and the writer a function, so every state that a
 * scan can find is made by hand.  Races with real writers are in tests/stress.
 */
#include <corotracer/slot.h>
#include <corotracer/thread_id.h>

#include "base/monotonic.h"
#include "check.h"
#include "collect/station_scan.h"

#define STATIONS 4u

static union {
	struct ctp_header header;
	char bytes[sizeof(struct ctp_header) + STATIONS * sizeof(struct ctp_station)];
} region __attribute__((aligned(4096)));

static struct harvest h;
static struct trace_event got[4096];
static uint32_t nr_got;

static void keep(void *ctx, const struct trace_event *event)
{
	(void)ctx;
	CHECK(nr_got < 4096);
	got[nr_got++] = *event;
}

static struct ctp_station *station(uint32_t i)
{
	return &ctp_stations(&region.header)[i];
}

static void begin(void)
{
	struct err err = { 0 };
	uint32_t i;

	memset(&region, 0, sizeof(region));
	nr_got = 0;
	CHECK_EQ(harvest_open(&h, &region.header, ctp_stations(&region.header), STATIONS, keep,
			      NULL, &err),
		 0);
	h.start_ns -= NS_PER_SEC; /* a second ago: a thousand million events are plausible */
	region.header.allocated_count = 1;
	for (i = 0; i < STATIONS; i++) {
		station(i)->probe_id = 100 + i;
		/* Marks an SDK writer: cTP 0.x slots are accepted differently on each processor. */
		ctp_station_ext(station(i))->magic = CTP_EXT_MAGIC;
	}
}

/* Station 0 belongs to a program without the extension. */
static void begin_foreign(void)
{
	begin();
	ctp_station_ext(station(0))->magic = 0;
}

static struct harvest_scan scan(void)
{
	struct harvest_scan out;

	harvest_scan(&h, &out);
	CHECK_EQ(h.totals.written, h.totals.collected + h.totals.lost);
	CHECK_EQ(h.totals.collected, nr_got);
	return out;
}

/* Event k as a cTP 0.x writer with odd and even marks stores it; the payload identifies k. */
static void write_002(uint32_t i, uint64_t k)
{
	ctp_slot_write(&station(i)->slots[k % 8], 2 * (k / 8) + 2, 1000 + k, 7, k, k % 2);
}

/* Event k (from 0) as a cTP 0.x writer with a plain count stores it: seq k + 1, stored last. */
static void write_000(uint32_t i, uint64_t k)
{
	struct ctp_epoch *slot = &station(i)->slots[(k + 1) % 8];

	slot->timestamp = 1000 + k;
	slot->tid = 7;
	slot->addr = k;
	slot->is_active = k % 2;
	slot->seq = k + 1;
}

static void check_event(uint32_t at, uint64_t k)
{
	CHECK_EQ(got[at].addr, k);
	CHECK_EQ(got[at].ts, 1000 + k);
	CHECK_EQ(got[at].tid, 7);
	CHECK_EQ(got[at].is_active, k % 2);
}

static void takes_each_event_once_and_in_order(void)
{
	uint64_t k;

	begin();
	for (k = 0; k < 100; k++) {
		write_002(0, k);
		if (k % 3 == 0)
			scan();
	}
	scan();
	scan();
	CHECK_EQ(nr_got, 100);
	for (k = 0; k < 100; k++)
		check_event((uint32_t)k, k);
	CHECK_EQ(h.totals.lost, 0);
	CHECK_EQ(h.totals.writers[WRITER_COROTRACER], 1);
	harvest_close(&h);
}

static void counts_what_was_overwritten_to_the_event(void)
{
	uint64_t burst, k = 0;

	for (burst = 1; burst < 60; burst++) {
		uint64_t end;

		begin();
		for (k = 0; k < 5; k++)
			write_002(0, k);
		scan();
		for (end = k + burst; k < end; k++)
			write_002(0, k);
		scan();
		CHECK_EQ(h.totals.written, 5 + burst);
		CHECK_EQ(h.totals.lost, burst > 8 ? burst - 8 : 0);
		check_event(nr_got - 1, k - 1);
		harvest_close(&h);
	}
}

static void counts_loss_when_it_comes_late_to_a_station(void)
{
	uint64_t k;

	begin();
	for (k = 0; k < 1000003; k++)
		write_002(0, k);
	scan();
	CHECK_EQ(h.totals.written, 1000003);
	CHECK_EQ(h.totals.collected, 8);
	check_event(7, 1000002);
	harvest_close(&h);
}

static void waits_for_a_slot_being_written(void)
{
	begin();
	write_002(0, 0);
	station(0)->slots[1].seq = 1;
	scan();
	CHECK_EQ(nr_got, 1);
	write_002(0, 1);
	scan();
	CHECK_EQ(nr_got, 2);
	harvest_close(&h);
}

static void counts_a_write_that_never_ended(void)
{
	begin();
	write_002(0, 0);
	station(0)->slots[1].seq = 1;
	harvest_finish(&h);
	CHECK_EQ(h.totals.unfinished, 1);
	CHECK_EQ(h.totals.collected, 1);
	CHECK_EQ(h.totals.written, 1);
	harvest_close(&h);
}

static void goes_on_behind_a_slot_that_stays_odd(void)
{
	uint64_t k;

	begin();
	for (k = 0; k < 8; k++)
		write_002(0, k);
	station(0)->slots[3].seq = 1;
	scan();
	CHECK_EQ(nr_got, 7);
	CHECK_EQ(h.totals.lost, 1);
	CHECK_EQ(h.totals.garbage, 1);
	scan();
	CHECK_EQ(h.totals.garbage, 1);
	harvest_close(&h);
}

static void goes_on_behind_a_seq_that_cannot_be(void)
{
	uint64_t i, k;

	/* All powers of two that are too large, and their neighbours. */
	for (i = 34 * 8; i < 64 * 8; i++) {
		uint64_t bad = ((uint64_t)1 << i / 8) + i % 8 - 4;

		begin();
		for (k = 0; k < 8; k++)
			write_002(0, k);
		station(0)->slots[2].seq = bad;
		scan();
		CHECK_EQ(nr_got, 7);
		CHECK_EQ(h.totals.written, 8);
		CHECK_EQ(h.totals.garbage, 1);
		/* The writer continues and overwrites the slot. */
		for (; k < 16; k++)
			write_002(0, k);
		scan();
		CHECK_EQ(nr_got, 15);
		harvest_close(&h);
	}
}

/* A stray store must not make the cursor run ahead of the writer. */
static void does_not_believe_a_lone_seq(void)
{
	uint64_t k;

	begin();
	for (k = 0; k < 3; k++)
		write_002(0, k);
	station(0)->slots[3].seq = 40000000;
	scan();
	CHECK_EQ(h.totals.written, 3);
	CHECK_EQ(h.totals.garbage, 1);
	for (; k < 500; k++) {
		write_002(0, k);
		scan();
	}
	CHECK_EQ(nr_got, 500);
	CHECK_EQ(h.totals.lost, 0);
	harvest_close(&h);
}

static void waits_for_the_first_event_to_tell_whose_it_is(void)
{
	begin_foreign();
	station(0)->slots[0].seq = 1; /* the mark is visible, the extension is not yet */
	scan();
	ctp_station_ext(station(0))->magic = CTP_EXT_MAGIC;
	write_002(0, 0);
	scan();
	CHECK_EQ(h.totals.writers[WRITER_COROTRACER], 1);
	CHECK_EQ(nr_got, 1);
	harvest_close(&h);
}

static void sets_aside_what_cannot_be_an_event(void)
{
	begin();
	ctp_slot_write(&station(0)->slots[0], 2, 0, 7, 0, 1);    /* no time */
	ctp_slot_write(&station(0)->slots[1], 2, 1001, 7, 1, 9); /* neither active nor inactive */
	write_002(0, 2);
	scan();
	CHECK_EQ(nr_got, 1);
	check_event(0, 2);
	CHECK_EQ(h.totals.garbage, 2);
	CHECK_EQ(h.totals.lost, 2);
	harvest_close(&h);
}

/* Older SDKs in a sandbox that refuses gettid(2). */
static void a_thread_without_an_id_has_the_number_of_its_station(void)
{
	begin();
	region.header.allocated_count = 2;
	ctp_slot_write(&station(0)->slots[0], 2, 1000, UINT64_MAX, 0, 0);
	ctp_slot_write(&station(1)->slots[0], 2, 1001, UINT64_MAX, 0, 0);
	ctp_slot_write(&station(1)->slots[1], 2, 1002, UINT64_MAX - 1, 0, 1);
	scan();
	CHECK_EQ(nr_got, 2);
	CHECK_EQ(got[0].tid, CTP_TID_OWN);
	CHECK_EQ(got[1].tid, CTP_TID_OWN | 1);
	CHECK_EQ(h.totals.garbage, 1);
	harvest_close(&h);
}

static void understands_seed_000(void)
{
	uint64_t k;

	begin_foreign();
	for (k = 0; k < 50; k++) {
		write_000(0, k);
		scan();
	}
	CHECK_EQ(nr_got, 50);
	for (k = 0; k < 50; k++)
		check_event((uint32_t)k, k);
	CHECK_EQ(got[9].seq, 10);
	CHECK_EQ(h.totals.writers[WRITER_SEED_000], 1);
	CHECK_EQ(h.totals.lost, 0);
	harvest_close(&h);
}

static void tells_seed_000_however_late_it_comes(void)
{
	uint64_t before, k;

	for (before = 1; before < 40; before++) {
		begin_foreign();
		for (k = 0; k < before; k++)
			write_000(0, k);
		harvest_finish(&h);
		CHECK_EQ(h.totals.writers[WRITER_SEED_000], 1);
		CHECK_EQ(h.totals.written, before);
		CHECK_EQ(h.totals.lost, before > 8 ? h.totals.lost : 0);
		check_event(nr_got - 1, before - 1);
		harvest_close(&h);
	}
}

static void tells_seed_002_however_late_it_comes(void)
{
	uint64_t before, k;

	for (before = 1; before < 80; before++) {
		begin_foreign();
		for (k = 0; k < before; k++)
			write_002(0, k);
		harvest_finish(&h);
		CHECK_EQ(h.totals.writers[WRITER_SEED_002], 1);
		CHECK_EQ(h.totals.written, before);
		harvest_close(&h);
	}
}

/* After its last slot but one, a cTP 0.x writer may be overwriting the oldest slot, unmarked. */
static void doubts_the_oldest_slot_of_seed_000_until_it_is_quiet(void)
{
	struct harvest_scan out;
	uint64_t k;

	begin_foreign();
	for (k = 0; k < 8; k++)
		write_000(0, k);
	out = scan();
	CHECK_EQ(nr_got, 0);
	CHECK_EQ(out.pending, 1);
	h.cursors[0].doubt_ms -= 1000; /* a second passes */
	scan();
	CHECK_EQ(nr_got, 8);
	CHECK_EQ(h.cursors[0].doubt_ms, 0);
	harvest_close(&h);
}

static void never_takes_a_slot_that_seed_000_is_overwriting(void)
{
	uint64_t k;

	begin_foreign();
	for (k = 0; k < 8; k++)
		write_000(0, k);
	scan();
	station(0)->slots[1].timestamp = 1008; /* event 8 on its way into the slot of event 0 */
	station(0)->slots[1].addr = 8;
	scan();
	write_000(0, 8);
	scan();
	harvest_finish(&h);
	CHECK_EQ(h.totals.written, 9);
	for (k = 0; k < nr_got; k++)
		CHECK_EQ(got[k].ts, 1000 + got[k].addr);
	CHECK(h.totals.lost >= 1);
	harvest_close(&h);
}

/* It died between its stores, or was stopped for longer than the collector waits. */
static void knows_half_an_event_of_seed_000_by_its_time(void)
{
	uint64_t k;

	begin_foreign();
	for (k = 0; k < 8; k++)
		write_000(0, k);
	station(0)->slots[1].timestamp = 1008;
	scan();
	h.cursors[0].doubt_ms -= 1000;
	scan();
	CHECK_EQ(h.totals.lost, 1);
	CHECK_EQ(nr_got, 7);
	for (k = 0; k < nr_got; k++)
		check_event((uint32_t)k, k + 1);
	harvest_close(&h);
}

static void tells_apart_two_stations_with_one_id(void)
{
	begin();
	region.header.allocated_count = 3;
	station(1)->probe_id = station(0)->probe_id;
	write_002(0, 0);
	write_002(1, 0);
	write_002(2, 0);
	scan();
	CHECK_EQ(nr_got, 3);
	CHECK_EQ(got[0].station, TRACE_NO_STATION);
	CHECK_EQ(got[1].station, 1);
	CHECK_EQ(got[2].station, TRACE_NO_STATION);
	harvest_close(&h);
}

static void clamps_and_remembers_the_count_of_claims(void)
{
	begin();
	region.header.allocated_count = STATIONS + 5;
	write_002(STATIONS - 1, 0);
	scan();
	CHECK_EQ(nr_got, 1);
	CHECK_EQ(h.totals.without_station, 5);
	region.header.allocated_count = 0; /* a count does not go down */
	write_002(STATIONS - 1, 1);
	scan();
	CHECK_EQ(nr_got, 2);
	h.start_ns -= 3600 * NS_PER_SEC; /* also late in a run */
	region.header.allocated_count = UINT32_MAX;
	scan();
	CHECK_EQ(h.totals.without_station, 5);
	CHECK(h.wild_count);
	harvest_close(&h);
}

static void reports_how_full_it_found_the_fullest(void)
{
	struct harvest_scan out;
	uint64_t k;

	begin();
	region.header.allocated_count = 2;
	for (k = 0; k < 6; k++)
		write_002(1, k);
	write_002(0, 0);
	out = scan();
	CHECK_EQ(out.deepest, 6);
	CHECK_EQ(out.events, 7);
	out = scan();
	CHECK_EQ(out.deepest, 0);
	CHECK_EQ(out.events, 0);
	harvest_close(&h);
}

static void describes_names_and_deaths(void)
{
	struct harvest_coroutine co;
	struct ctp_ext_station *ext;

	begin_foreign();
	CHECK(harvest_describe(&h, 0, &co));
	CHECK_STR(co.writer, "unknown");
	CHECK(!co.dead);
	ext = ctp_station_ext(station(0));
	ext->magic = CTP_EXT_MAGIC;
	ext->pid = 4711;
	ext->death_ts = 99;
	ext->name_size = 5000;
	memset(ext->name, 'x', sizeof(ext->name));
	station(0)->is_dead = 1;
	CHECK(harvest_describe(&h, 0, &co));
	CHECK_EQ(strlen(co.name), CTP_EXT_NAME_SIZE);
	CHECK(co.name_truncated && co.dead);
	CHECK_EQ(co.death_ts, 99);
	CHECK_EQ(co.pid, 4711);
	CHECK_STR(co.writer, "corotracer");
	harvest_close(&h);
}

int main(void)
{
	RUN(takes_each_event_once_and_in_order);
	RUN(counts_what_was_overwritten_to_the_event);
	RUN(counts_loss_when_it_comes_late_to_a_station);
	RUN(waits_for_a_slot_being_written);
	RUN(counts_a_write_that_never_ended);
	RUN(goes_on_behind_a_slot_that_stays_odd);
	RUN(goes_on_behind_a_seq_that_cannot_be);
	RUN(does_not_believe_a_lone_seq);
	RUN(waits_for_the_first_event_to_tell_whose_it_is);
	RUN(sets_aside_what_cannot_be_an_event);
	RUN(a_thread_without_an_id_has_the_number_of_its_station);
	RUN(understands_seed_000);
	RUN(tells_seed_000_however_late_it_comes);
	RUN(tells_seed_002_however_late_it_comes);
	RUN(doubts_the_oldest_slot_of_seed_000_until_it_is_quiet);
	RUN(never_takes_a_slot_that_seed_000_is_overwriting);
	RUN(knows_half_an_event_of_seed_000_by_its_time);
	RUN(tells_apart_two_stations_with_one_id);
	RUN(clamps_and_remembers_the_count_of_claims);
	RUN(reports_how_full_it_found_the_fullest);
	RUN(describes_names_and_deaths);
	return 0;
}
