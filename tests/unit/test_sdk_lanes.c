/* SPDX-License-Identifier: MIT */
/*
 * test_sdk_lanes.c - what a program leaves in its lanes, record by record.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "lanes_region.h"

static struct lanes_region region;
static struct ctp_record records[200000];

static uint64_t own_tid(void)
{
	return (uint64_t)syscall(SYS_gettid);
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void open_lanes(void)
{
	lanes_region_open(&region, (struct shape)SHAPE);
}

/* Lane 0 in @records; returns how many. */
static uint64_t read_lane(uint32_t number)
{
	return lane_records(&region, number, records, sizeof(records) / sizeof(records[0]));
}

static void expect(uint64_t nr, uint8_t kind, uint64_t id)
{
	CHECK_EQ(records[nr].kind, kind);
	CHECK_EQ(records[nr].id, id);
	if (nr)
		CHECK(records[nr].ticks >= records[nr - 1].ticks || records[nr - 1].kind > 8);
}

/* ---- records ---------------------------------------------------------------------------- */

static void a_life_is_told_in_order(void)
{
	struct corotracer_coro parent, co;
	const struct ctp_record_more *more;

	open_lanes();
	CHECK_EQ(corotracer_begin(&parent, NULL), 0);
	CHECK_EQ(corotracer_begin_at(&co, "reader", &parent, NULL), 0);
	CHECK(co.probe.station == NULL);
	CHECK_EQ(corotracer_id(&parent), 1);
	CHECK_EQ(corotracer_id(&co), 2);
	corotracer_resume(&co);
	corotracer_suspend(&co, &co);
	corotracer_resume(&co);
	corotracer_suspend_on(&co, &region, NULL, CTP_REASON_IO_READ, 17);
	corotracer_wake_at(&co, &parent, NULL, CTP_REASON_CHANNEL_SEND);
	corotracer_wake_by(&co, NULL, NULL, CTP_REASON_IO_READ, 17);
	corotracer_finish(&co, CTP_END_CANCELLED);
	corotracer_finish(&co, 0); /* once is enough */
	corotracer_end(&co);
	corotracer_end(&parent);

	CHECK_EQ(read_lane(0), 14);
	expect(0, CTP_REC_BIRTH, 1);
	CHECK_EQ(records[0].seq, 0);
	expect(1, CTP_REC_BIRTH, 2);
	CHECK_EQ(records[1].value, 1);
	CHECK_EQ(records[1].seq, strlen("reader"));
	CHECK_EQ(records[2].kind, CTP_REC_TEXT);
	CHECK_EQ(memcmp(&records[2], "reader", 6), 0);
	expect(3, CTP_REC_RESUME, 2);
	CHECK_EQ(records[3].seq, 0);
	CHECK_EQ(records[3].value, 0);
	expect(4, CTP_REC_SUSPEND, 2);
	CHECK_EQ(records[4].seq, 1);
	CHECK_EQ(records[4].value, (uintptr_t)&co);
	CHECK_EQ(records[4].reason, CTP_REASON_UNKNOWN);
	expect(5, CTP_REC_RESUME, 2);
	expect(6, CTP_REC_SUSPEND | CTP_REC_HAS_MORE, 2);
	CHECK_EQ(records[6].seq, 3);
	CHECK_EQ(records[6].reason, CTP_REASON_IO_READ);
	CHECK_EQ(records[6].value, (uintptr_t)&region);
	more = (const struct ctp_record_more *)(const void *)&records[7];
	CHECK_EQ(more->kind, CTP_REC_MORE);
	CHECK_EQ(more->resource, 17);
	expect(8, CTP_REC_WAKE, 2);
	CHECK_EQ(records[8].value, 1);
	CHECK_EQ(records[8].seq, 4); /* it had made this many transitions */
	CHECK_EQ(records[8].reason, CTP_REASON_CHANNEL_SEND);
	expect(9, CTP_REC_WAKE | CTP_REC_HAS_MORE, 2);
	CHECK_EQ(records[9].value, 0);
	more = (const struct ctp_record_more *)(const void *)&records[10];
	CHECK_EQ(more->resource, 17);
	expect(11, CTP_REC_END, 2);
	CHECK_EQ(records[11].value, 4);
	CHECK_EQ(records[11].reason, CTP_END_CANCELLED | CTP_END_SUSPENDED);
	expect(12, CTP_REC_DESTROY, 2);
	CHECK_EQ(records[12].value, 4);
	expect(13, CTP_REC_END, 1);
	CHECK_EQ(records[13].reason, CTP_END_DESTROYED);
	CHECK_EQ(lane_nr(&region, 0)->tid, own_tid());
	CHECK_EQ(lane_nr(&region, 0)->pid, getpid());
	CHECK_EQ(lane_nr(&region, 0)->state, CTP_LANE_OPEN);
	CHECK_EQ(region.region.header->allocated_count, 0);
}

#define TRACEPARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static void expect_context(uint64_t nr, uint64_t high, uint64_t low, uint64_t span, uint32_t flags)
{
	const struct ctp_record_more *more = (const void *)&records[nr + 1];

	expect(nr, CTP_REC_CONTEXT | CTP_REC_HAS_MORE, 1);
	CHECK_EQ(records[nr].value, span);
	CHECK_EQ(records[nr].seq, flags);
	CHECK_EQ(more->kind, CTP_REC_MORE);
	CHECK_EQ(more->resource, high);
	CHECK_EQ(more->lost, low);
}

static void a_trace_context_is_two_records(void)
{
	static const uint8_t trace_id[16] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
	};
	static const uint8_t span_id[8] = { 0xf1, 2, 3, 4, 5, 6, 7, 8 };
	struct corotracer_coro co;

	open_lanes();
	ctp_header_ext(region.region.header)->features |= CTP_EXT_CONTEXT;
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK_EQ(corotracer_set_traceparent(&co, TRACEPARENT), 0);
	CHECK_EQ(corotracer_set_traceparent(&co, NULL), 0);
	corotracer_set_trace_context(&co, trace_id, span_id, 0);
	CHECK_EQ(corotracer_set_traceparent(&co, "cc" TRACEPARENT), -EINVAL);
	CHECK_EQ(corotracer_set_traceparent(&co, TRACEPARENT "-x"), -EINVAL);
	CHECK_EQ(corotracer_set_traceparent(&co, ""), -EINVAL);
	CHECK_EQ(corotracer_set_traceparent(
			 &co, "00-00000000000000000000000000000000-b7ad6b7169203331-01"),
		 -EINVAL);
	CHECK_EQ(corotracer_set_traceparent(
			 &co, "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"),
		 -EINVAL);
	CHECK_EQ(corotracer_set_traceparent(
			 &co, "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-later"),
		 0);
	corotracer_end(&co);
	CHECK_EQ(corotracer_set_traceparent(&co, TRACEPARENT), 0);
	CHECK_EQ(read_lane(0), 10);
	expect_context(1, 0x0af7651916cd43dd, 0x8448eb211c80319c, 0xb7ad6b7169203331, 1);
	expect_context(3, 0, 0, 0, 0);
	expect_context(5, 0x0102030405060708, 0x090a0b0c0d0e0f10, 0xf102030405060708, 0);
	expect_context(7, 0x0af7651916cd43dd, 0x8448eb211c80319c, 0xb7ad6b7169203331, 0);
}

/* It would count the records as corrupt. */
static void an_older_collector_gets_no_trace_context(void)
{
	struct corotracer_coro co;

	open_lanes();
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK_EQ(corotracer_set_traceparent(&co, TRACEPARENT), 0);
	CHECK_EQ(read_lane(0), 1);
}

static void after_the_end_nothing_is_written(void)
{
	struct corotracer_coro co;

	open_lanes();
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	corotracer_end(&co);
	corotracer_suspend(&co, &co);
	corotracer_resume(&co);
	corotracer_wake_at(&co, NULL, NULL, 0);
	corotracer_finish(&co, 0);
	corotracer_end(&co);
	CHECK_EQ(corotracer_id(&co), 0);
	CHECK_EQ(read_lane(0), 2);
	CHECK_EQ(region.ext->lanes.used, 1);
}

static void a_switch_is_two_records_of_one_moment(void)
{
	struct corotracer_coro a, b, untraced;

	open_lanes();
	memset(&untraced, 0, sizeof(untraced));
	CHECK_EQ(corotracer_begin(&a, NULL), 0);
	CHECK_EQ(corotracer_begin(&b, NULL), 0);
	corotracer_switch(&a, &a, &b);
	corotracer_switch(&b, &b, &untraced);
	corotracer_switch(&untraced, NULL, &a);
	corotracer_switch(&untraced, NULL, &untraced);
	CHECK_EQ(read_lane(0), 6);
	expect(2, CTP_REC_SUSPEND, 1);
	CHECK_EQ(records[2].value, (uintptr_t)&a);
	expect(3, CTP_REC_RESUME, 2);
	if (corotracer__thread.always_slow) /* an emulator has threads of its own: not registered */
		CHECK(records[2].ticks <= records[3].ticks);
	else
		CHECK_EQ(records[2].ticks, records[3].ticks);
	expect(4, CTP_REC_SUSPEND, 2);
	expect(5, CTP_REC_RESUME, 1);
}

static void the_life_says_what_was_last(void)
{
	struct corotracer_coro co;
	const struct ctp_life *l;

	open_lanes();
	CHECK_EQ(corotracer_begin(&co, "a name that is longer than thirty-two bytes"), 0);
	l = life_nr(&region, 0);
	CHECK_EQ(l->id, 1);
	CHECK_EQ(l->pid, getpid());
	CHECK_EQ(l->name_size, strlen("a name that is longer than thirty-two bytes"));
	CHECK_EQ(memcmp(l->name, "a name that is longer than thirty-two", 32), 0);
	CHECK_EQ(l->state, CTP_LIFE_STATE(CTP_REC_BIRTH, 0, 0));
	corotracer_resume(&co);
	CHECK_EQ(l->state, CTP_REC_RESUME);
	corotracer_suspend_on(&co, &co, NULL, CTP_REASON_TIMER, 99);
	CHECK_EQ(l->state, CTP_LIFE_STATE(CTP_REC_SUSPEND | CTP_REC_HAS_MORE, CTP_REASON_TIMER, 0));
	CHECK_EQ(l->addr, (uintptr_t)&co);
	CHECK_EQ(l->resource, 99);
	CHECK_EQ(l->events, 2);
	CHECK_EQ(read_lane(0), 6);
	CHECK_EQ(l->last_ticks, records[4].ticks);
	CHECK_EQ(l->birth_ticks, records[0].ticks);
	corotracer_end(&co);
	CHECK_EQ(l->id, 0);
	CHECK_EQ(l->state, 0);
}

static void lives_are_used_again_and_ids_are_not(void)
{
	struct corotracer_coro cos[64];
	uint64_t last = 0;

	open_lanes();
	for (int round = 0; round < 500; round++) {
		for (int i = 0; i < 64; i++) {
			CHECK_EQ(corotracer_begin(&cos[i], NULL), 0);
			CHECK_EQ(corotracer_id(&cos[i]), ++last);
		}
		for (int i = 0; i < 64; i++)
			corotracer_end(&cos[i]);
	}
	CHECK_EQ(region.ext->lives.used, 64);
	CHECK_EQ(region.ext->last_id, last);
	CHECK_EQ(region.ext->lives.refused, 0);
}

static void who_finds_no_life_is_counted_and_untraced(void)
{
	struct shape shape = SHAPE;
	struct corotracer_coro cos[6];

	shape.lives = 4;
	lanes_region_open(&region, shape);
	for (int i = 0; i < 6; i++)
		CHECK_EQ(corotracer_begin(&cos[i], NULL), i < 4 ? 0 : -ENOSPC);
	for (int i = 0; i < 6; i++)
		corotracer_suspend(&cos[i], &cos[i]);
	CHECK_EQ(region.ext->lives.refused, 2);
	CHECK_EQ(read_lane(0), 8);
	corotracer_end(&cos[0]);
	CHECK_EQ(corotracer_begin(&cos[5], NULL), 0);
}

/* ---- names and sites ---------------------------------------------------------------------------
 */

static void names_of_every_length_are_told(void)
{
	static const uint32_t lengths[] = { 0, 1, 23, 24, 25, 48, 407, 408, 409, 1000 };
	char name[1001], told[CTP_EXT_NAME_SIZE];
	uint64_t nr, at = 0;

	open_lanes();
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = (char)('!' + i % 90);
	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		struct corotracer_coro co;

		name[lengths[k]] = '\0';
		CHECK_EQ(corotracer_begin(&co, name), 0);
		name[lengths[k]] = (char)('!' + lengths[k] % 90);
	}
	nr = read_lane(0);
	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		uint32_t wanted = lengths[k] < CTP_EXT_NAME_SIZE ? lengths[k] : CTP_EXT_NAME_SIZE;
		uint32_t got = 0;

		expect(at, CTP_REC_BIRTH, k + 1);
		CHECK_EQ(records[at].seq, wanted);
		CHECK_EQ(records[at].reason, lengths[k] > wanted);
		for (at++; at < nr && records[at].kind == CTP_REC_TEXT; at++) {
			memcpy(told + got, &records[at], CTP_TEXT_SIZE);
			got += CTP_TEXT_SIZE;
		}
		CHECK_EQ(got, (wanted + CTP_TEXT_SIZE - 1) / CTP_TEXT_SIZE * CTP_TEXT_SIZE);
		CHECK_EQ(memcmp(told, name, wanted), 0);
		CHECK_EQ(life_nr(&region, (uint32_t)k)->name_size, lengths[k]);
	}
	CHECK_EQ(at, nr);
}

static void await_here(struct corotracer_coro *co)
{
	corotracer_await(co, CTP_REASON_MUTEX, 5);
}

static void a_site_is_entered_once_and_named_by_every_event(void)
{
	const struct ctp_site *site;
	struct corotracer_coro co;

	open_lanes();
	CHECK_EQ(corotracer_spawn(&co, NULL, NULL), 0);
	for (int i = 0; i < 10; i++)
		await_here(&co);
	CHECK_EQ(region.ext->sites.used, 2);
	site = ctp_unit(&region.sites, 1);
	CHECK_EQ(site->ready, 1);
	CHECK_STR((const char *)site->function, "await_here");
	CHECK(strstr((const char *)site->file, "test_sdk_lanes.c") != NULL);
	CHECK(site->line > 0);
	CHECK_EQ(site->pid, getpid());
	CHECK_EQ(read_lane(0), 21);
	CHECK_EQ(records[0].site, 1);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(records[1 + 2 * i].site, 2);
	CHECK_EQ(life_nr(&region, 0)->birth_site, 1);
	CHECK_EQ(life_nr(&region, 0)->site, 2);
}

static void of_a_long_place_the_end_is_kept(void)
{
	char file[1000], function[1000];
	struct corotracer_site here = { file, function, 7, 0 };
	const struct ctp_site *site;
	struct corotracer_coro co;

	open_lanes();
	for (size_t i = 0; i < sizeof(file); i++)
		file[i] = function[i] = (char)('a' + i % 26);
	file[999] = function[999] = '\0';
	CHECK_EQ(corotracer_begin_at(&co, NULL, NULL, &here), 0);
	site = ctp_unit(&region.sites, 0);
	CHECK_EQ(memcmp(site->file, file + 999 - CTP_SITE_FILE_SIZE, CTP_SITE_FILE_SIZE), 0);
	CHECK_EQ(memcmp(site->function, function + 999 - CTP_SITE_FUNCTION_SIZE,
			CTP_SITE_FUNCTION_SIZE),
		 0);
	here = (struct corotracer_site){ NULL, NULL, 8, 0 };
	corotracer_suspend_at(&co, NULL, &here, 0);
	site = ctp_unit(&region.sites, 1);
	CHECK_EQ(site->file[0], 0);
	CHECK_EQ(site->function[0], 0);
}

static void when_the_table_of_sites_is_full_events_go_on_without(void)
{
	struct corotracer_site here[10];
	struct shape shape = SHAPE;
	struct corotracer_coro co;

	shape.sites = 4;
	lanes_region_open(&region, shape);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	for (uint32_t i = 0; i < 10; i++) {
		here[i] = (struct corotracer_site){ "container_file.c", "function", i, 0 };
		corotracer_suspend_at(&co, NULL, &here[i], CTP_REASON_YIELD);
	}
	CHECK_EQ(read_lane(0), 11);
	for (uint32_t i = 0; i < 10; i++) {
		CHECK_EQ(records[1 + i].site, i < 4 ? i + 1 : 0);
		CHECK_EQ(records[1 + i].reason, CTP_REASON_YIELD);
	}
	CHECK_EQ(region.ext->sites.refused, 6);
}

/* ---- chunks, and when there are no more
 * ------------------------------------------------------------ */

/* @nr transitions; the address of each is its number. */
static void write_events(struct corotracer_coro *co, uint64_t from, uint64_t nr)
{
	for (uint64_t k = from; k < from + nr; k++)
		corotracer_suspend(co, (const void *)(uintptr_t)(k + 1));
}

static void a_lane_goes_on_from_chunk_to_chunk(void)
{
	struct corotracer_coro co;

	open_lanes();
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	write_events(&co, 0, 50000);
	CHECK_EQ(read_lane(0), 50001);
	for (uint64_t k = 0; k < 50000; k++) {
		CHECK_EQ(records[k + 1].value, k + 1);
		CHECK_EQ(records[k + 1].seq, k);
		CHECK(records[k + 1].ticks > records[k].ticks);
	}
	CHECK_EQ(region.ext->chunks.used, 50001 / CTP_CHUNK_RECORDS + 1);
	CHECK_EQ(lane_nr(&region, 0)->taken, region.ext->chunks.used);
	CHECK_EQ(lane_nr(&region, 0)->dropped, 0);
}

static void what_belongs_together_is_not_cut_by_the_end_of_a_chunk(void)
{
	struct corotracer_coro co;
	uint64_t nr, k;

	open_lanes();
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	/*
	 * After the create event an even number of records is left: one more, and pairs do not fit.
	 */
	write_events(&co, 0, 1);
	for (k = 0; k < 3000; k++)
		corotracer_suspend_on(&co, NULL, NULL, 0, k);
	nr = read_lane(0);
	CHECK_EQ(records[CTP_CHUNK_RECORDS - 1].kind, CTP_REC_PAD);
	for (k = 0; k < nr; k++) {
		if (records[k].kind & CTP_REC_HAS_MORE)
			CHECK((k + 1) % CTP_CHUNK_RECORDS && records[k + 1].kind == CTP_REC_MORE);
	}
	CHECK_EQ(life_nr(&region, 0)->events, 3001);
}

static struct shape tight(uint32_t on_full)
{
	struct shape shape = SHAPE;

	shape.lane_chunks = 3;
	shape.on_full = on_full;
	shape.block_ms = 30;
	return shape;
}

#define THREE_CHUNKS (3u * CTP_CHUNK_RECORDS)

static void when_a_lane_is_full_what_is_dropped_is_counted_and_told(void)
{
	struct corotracer_coro co, other;
	uint64_t room = THREE_CHUNKS - 2; /* less the create events */

	lanes_region_open(&region, tight(CTP_ON_FULL_DROP));
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK_EQ(corotracer_begin(&other, NULL), 0);
	write_events(&co, 0, room + 1000);
	corotracer_resume(&other);
	corotracer_wake_at(&co, NULL, NULL, 0);
	CHECK_EQ(lane_nr(&region, 0)->dropped, 1001);
	CHECK_EQ(lane_nr(&region, 0)->dropped_marks, 1);
	CHECK(lane_nr(&region, 0)->dropped_at > 0);
	CHECK_EQ(life_nr(&region, 0)->dropped, 1000);
	CHECK_EQ(life_nr(&region, 0)->events, room + 1000);
	CHECK_EQ(life_nr(&region, 1)->dropped, 1);
	CHECK_EQ(lane_nr(&region, 0)->blocked, 0);
	CHECK_EQ(region.ext->chunks.used, 3);

	/* Room again: first the gap, then the event. */
	lane_give_back(&region, 0);
	write_events(&co, room + 1000, 1);
	{
		uint32_t link = (uint32_t)lane_nr(&region, 0)->oldest;
		const struct ctp_chunk *chunk = NULL;

		while (link) {
			chunk = ctp_unit(&region.chunks, link - 1);
			link = chunk->link;
		}
		CHECK_EQ(chunk->records[0].kind, CTP_REC_GAP);
		CHECK_EQ(chunk->records[0].value, 1001);
		CHECK_EQ(chunk->records[0].id, 1);
		CHECK(chunk->records[0].ticks > 0);
		CHECK_EQ(chunk->records[1].kind, CTP_REC_SUSPEND);
		CHECK_EQ(chunk->records[1].seq, room + 1000);
	}
	CHECK_EQ(lane_nr(&region, 0)->dropped_at, 0);
	CHECK_EQ(lane_nr(&region, 0)->dropped, 1001);
	/* The end event holds the number of lost events. */
	corotracer_end(&co);
	CHECK_EQ(region.ext->chunks.used, 3);
}

/* A pair finds no room where a single record would: no record comes before the gap. */
static void what_is_missing_is_told_before_all_that_comes_after_it(void)
{
	struct corotracer_coro co;
	const struct ctp_chunk *last;

	lanes_region_open(&region, tight(CTP_ON_FULL_DROP));
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	write_events(&co, 0, THREE_CHUNKS - 2);
	corotracer_suspend_on(&co, NULL, NULL, 0, 7);
	write_events(&co, THREE_CHUNKS - 1, 1);
	CHECK_EQ(lane_nr(&region, 0)->dropped, 2);
	read_lane(0);
	CHECK_EQ(records[THREE_CHUNKS - 1].kind, CTP_REC_PAD);

	lane_give_back(&region, 0);
	write_events(&co, THREE_CHUNKS, 1);
	last = ctp_unit(&region.chunks, 0); /* the chunk that was given back */
	CHECK_EQ(last->records[0].kind, CTP_REC_GAP);
	CHECK_EQ(last->records[0].value, 2);
	CHECK_EQ(last->records[1].seq, THREE_CHUNKS);
}

static void an_end_without_room_stays_to_be_found(void)
{
	struct corotracer_coro co;

	lanes_region_open(&region, tight(CTP_ON_FULL_DROP));
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	write_events(&co, 0, THREE_CHUNKS + 5);
	corotracer_end(&co);
	CHECK_EQ(life_nr(&region, 0)->id, 1);
	CHECK_EQ(life_nr(&region, 0)->state,
		 CTP_LIFE_STATE(CTP_REC_END, CTP_END_DESTROYED | CTP_END_SUSPENDED,
				CTP_LIFE_UNREPORTED));
	CHECK_EQ(life_nr(&region, 0)->dropped, 6);
	CHECK_EQ(lane_nr(&region, 0)->dropped_marks, 1);
	/* It is not given to another coroutine meanwhile. */
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK(co.probe.life != life_nr(&region, 0));
}

static void waiting_for_room_is_bounded_and_in_vain_only_once(void)
{
	struct corotracer_coro co;
	uint64_t waited;

	lanes_region_open(&region, tight(CTP_ON_FULL_BLOCK));
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	write_events(&co, 0, THREE_CHUNKS - 1);
	CHECK_EQ(lane_nr(&region, 0)->blocked, 0);
	write_events(&co, THREE_CHUNKS - 1, 1000);
	CHECK_EQ(lane_nr(&region, 0)->blocked, 1);
	waited = lane_nr(&region, 0)->blocked_ns;
	CHECK(waited >= 30000000u);
	CHECK_EQ(lane_nr(&region, 0)->dropped, 1000);
	/* A chunk was read: it is worth waiting again. */
	lane_give_back(&region, 0);
	write_events(&co, THREE_CHUNKS + 999, CTP_CHUNK_RECORDS - 1 + 10);
	CHECK_EQ(lane_nr(&region, 0)->blocked, 2);
	CHECK(lane_nr(&region, 0)->blocked_ns >= 2 * 30000000u);
	CHECK_EQ(lane_nr(&region, 0)->dropped, 1010);
}

static uint32_t over;

static void *give_back_all_the_time(void *arg)
{
	uint32_t given = 0;

	(void)arg;
	while (!ctp_load_relaxed(&over)) {
		struct ctp_lane *lane = lane_nr(&region, 0);

		/* (ctp-H) pairs with the release store in ctp_lane_publish(). */
		if (ctp_load_acquire(&lane->head) / 32 >
		    (uint64_t)(given + 1) * CTP_CHUNK_RECORDS) {
			lane_give_back(&region, 0);
			given++;
		}
	}
	return NULL;
}

static void who_waits_loses_nothing_while_somebody_reads(void)
{
	struct shape shape = tight(CTP_ON_FULL_BLOCK);
	struct corotracer_coro co;
	pthread_t reader;

	shape.block_ms = 60000;
	lanes_region_open(&region, shape);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK_EQ(pthread_create(&reader, NULL, give_back_all_the_time, NULL), 0);
	write_events(&co, 0, 300000);
	ctp_store_relaxed(&over, 1u);
	pthread_join(reader, NULL);
	CHECK_EQ(lane_nr(&region, 0)->dropped, 0);
	CHECK_EQ(lane_nr(&region, 0)->head, 300001 * sizeof(struct ctp_record));
	CHECK(region.ext->chunks.used <= 4);
}

static void *write_in_thread(void *arg)
{
	struct corotracer_coro *co = arg;

	write_events(co, 0, 7);
	corotracer_wake_at(co, NULL, NULL, 0);
	return NULL;
}

static void a_thread_without_a_lane_is_counted(void)
{
	struct shape shape = SHAPE;
	struct corotracer_coro co;
	pthread_t thread;

	shape.chunks = 1;
	lanes_region_open(&region, shape);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK_EQ(pthread_create(&thread, NULL, write_in_thread, &co), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(region.ext->homeless, 7);
	CHECK_EQ(region.ext->homeless_marks, 1);
	CHECK_EQ(life_nr(&region, 0)->events, 7);
	CHECK_EQ(life_nr(&region, 0)->dropped, 7);
	/* The lane that found no chunk is free for the next thread. */
	CHECK(region.ext->lanes.used <= 2);
}

static int no_more(void *ctx, struct ctp_arena *a)
{
	(void)ctx;
	(void)a;
	return 0;
}

static long nr_pauses(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_nvcsw;
}

/* Until the other thread, which looks for room again and again, has slept a few times. */
static void let_it_wait(long before)
{
	struct timespec a_while = { 0, 5000000 };
	long i;

	for (i = 0; i < 2000 && nr_pauses() - before <= i + 5; i++)
		nanosleep(&a_while, NULL);
}

/* With --on-full block a thread waits for a lane as for a chunk. */
static void a_thread_without_a_lane_waits_for_one(void)
{
	struct shape shape = SHAPE;
	struct corotracer_coro co;
	pthread_t thread;
	uint32_t spare;
	long pauses;

	shape.chunks = 2;
	shape.on_full = CTP_ON_FULL_BLOCK;
	shape.block_ms = 60000;
	lanes_region_open(&region, shape);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	region.ext->chunks.committed = 2;
	spare = ctp_pool_take(&region.chunks, no_more, NULL);
	CHECK(spare != 0);
	pauses = nr_pauses();
	CHECK_EQ(pthread_create(&thread, NULL, write_in_thread, &co), 0);
	let_it_wait(pauses);
	ctp_pool_give(&region.chunks, spare - 1);
	pthread_join(thread, NULL);
	CHECK_EQ(region.ext->homeless + region.ext->homeless_marks, 0);
	CHECK_EQ(read_lane(1), 8);
	CHECK_EQ(lane_nr(&region, 1)->blocked, 1);
	CHECK(lane_nr(&region, 1)->blocked_ns > 0);
}

static void waiting_for_a_lane_is_bounded_and_in_vain_only_once(void)
{
	struct shape shape = SHAPE;
	struct corotracer_coro co;
	long pauses;
	uint64_t start, took;
	pthread_t thread;

	shape.chunks = 1;
	shape.on_full = CTP_ON_FULL_BLOCK;
	shape.block_ms = 500;
	lanes_region_open(&region, shape);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	pauses = nr_pauses();
	start = clock_ns();
	CHECK_EQ(pthread_create(&thread, NULL, write_in_thread, &co), 0);
	pthread_join(thread, NULL);
	took = clock_ns() - start;
	CHECK(took >= 500000000u);
	/* It looks less and less often: 50 us apart, there were thousands of pauses. */
	CHECK(nr_pauses() - pauses < 1000);
	/* Eight events; a wait for each would have taken four seconds. */
	CHECK(took < 4000000000u);
	CHECK_EQ(region.ext->homeless, 7);
	CHECK_EQ(region.ext->homeless_marks, 1);
}

static void errno_is_kept_whatever_happens(void)
{
	struct corotracer_site here = { "f", "g", 1, 0 };
	struct corotracer_coro co, more;

	lanes_region_open(&region, tight(CTP_ON_FULL_BLOCK));
	/* Every call keeps errno, also when there are no more chunks. */
	errno = 1234;
	CHECK_EQ(corotracer_begin(&co, "name"), 0);
	CHECK_EQ(errno, 1234);
	write_events(&co, 0, THREE_CHUNKS + 10);
	CHECK_EQ(errno, 1234);
	corotracer_suspend_on(&co, NULL, &here, 0, 1);
	corotracer_wake_at(&co, NULL, &here, 0);
	CHECK_EQ(errno, 1234);
	unlink(region.region.shm);
	while (corotracer_begin(&more, NULL) == 0)
		CHECK_EQ(errno, 1234);
	CHECK_EQ(errno, 1234);
	corotracer_end(&co);
	CHECK_EQ(errno, 1234);
}

/* ---- threads
 * ------------------------------------------------------------------------------------------- */

static void *live_in_thread(void *arg)
{
	struct corotracer_coro co;

	(void)arg;
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	corotracer_resume(&co);
	corotracer_end(&co);
	return NULL;
}

static void a_thread_that_ends_gives_back_what_it_has(void)
{
	pthread_t thread;

	open_lanes();
	CHECK_EQ(corotracer_init(), 0);
	CHECK_EQ(pthread_create(&thread, NULL, live_in_thread, NULL), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(lane_nr(&region, 0)->state, CTP_LANE_CLOSED);
	CHECK_EQ(read_lane(0), 3);
	/* The life that the thread kept for its next coroutine. */
	CHECK_EQ((uint32_t)region.ext->lives.free, 1);
	CHECK_EQ(region.ext->lives.used, 1);
}

static pthread_key_t late_key;
static struct corotracer_coro late;

/* ThreadSanitizer of clang has left the thread before the last ones. */
#if defined(__SANITIZE_THREAD__) && defined(__clang__)
#define LATE_ROUNDS 1
#else
#define LATE_ROUNDS 3
#endif

static void write_late(void *arg)
{
	static int rounds;

	(void)arg;
	corotracer_resume(&late);
	if (++rounds < LATE_ROUNDS)
		pthread_setspecific(late_key, &late);
}

static void *end_with_a_destructor(void *arg)
{
	(void)arg;
	pthread_setspecific(late_key, &late);
	corotracer_suspend(&late, &late);
	return NULL;
}

/* In a destructor that runs after the SDK's: the thread has left its lane, and needs one again. */
static void events_of_a_thread_at_its_very_end_are_there(void)
{
	uint64_t nr = 0;
	pthread_t thread;

	open_lanes();
	CHECK_EQ(corotracer_begin(&late, NULL), 0); /* creates the SDK's key first */
	CHECK_EQ(pthread_key_create(&late_key, write_late), 0);
	CHECK_EQ(pthread_create(&thread, NULL, end_with_a_destructor, NULL), 0);
	pthread_join(thread, NULL);
	for (uint32_t i = 1; i < region.ext->lanes.used; i++) {
		nr += read_lane(i);
		CHECK_EQ(lane_nr(&region, i)->state, CTP_LANE_CLOSED);
	}
	CHECK_EQ(nr, 1 + LATE_ROUNDS);
	CHECK_EQ(life_nr(&region, 0)->events, 1 + LATE_ROUNDS);
}

enum { NR_THREADS = 1000, AT_ONCE = 50 };

static void a_thousand_threads_have_a_lane_each(void)
{
	struct shape shape = SHAPE;
	pthread_t threads[AT_ONCE];
	uint64_t ids = 0;

	shape.lanes = shape.chunks = shape.lives = NR_THREADS;
	lanes_region_open(&region, shape);
	/* A thread that begins while another thread attaches waits for it, but not for ever. */
	CHECK_EQ(corotracer_init(), 0);
	for (int i = 0; i < NR_THREADS / AT_ONCE; i++) {
		for (int t = 0; t < AT_ONCE; t++)
			CHECK_EQ(pthread_create(&threads[t], NULL, live_in_thread, NULL), 0);
		for (int t = 0; t < AT_ONCE; t++)
			pthread_join(threads[t], NULL);
	}
	CHECK_EQ(region.ext->lanes.used, NR_THREADS);
	CHECK_EQ(region.ext->homeless + region.ext->homeless_marks, 0);
	for (uint32_t i = 0; i < NR_THREADS; i++) {
		CHECK_EQ(read_lane(i), 3);
		CHECK_EQ(lane_nr(&region, i)->state, CTP_LANE_CLOSED);
		CHECK_EQ(records[0].id, records[2].id);
		ids += records[0].id;
	}
	CHECK_EQ(ids, NR_THREADS * (NR_THREADS + 1) / 2);
	/*
	 * Lives are bounded by the coroutines alive at once, plus those in the stash of a thread.
	 */
	CHECK(region.ext->lives.used <= 2 * AT_ONCE);
}

static void *visit(void *arg)
{
	struct corotracer_coro *co = arg;

	corotracer_resume(co);
	corotracer_suspend(co, NULL);
	return NULL;
}

static void time_goes_forward_from_thread_to_thread(void)
{
	struct corotracer_coro co;
	uint64_t last = 0;

	lanes_region_open(
		&region,
		(struct shape){
			.lanes = 300, .chunks = 300, .lives = 4, .sites = 4, .what = REGION_EXT });
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	for (uint32_t i = 1; i <= 200; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, visit, &co), 0);
		pthread_join(thread, NULL);
		CHECK_EQ(read_lane(i), 2);
		CHECK(records[0].ticks > last && records[1].ticks > records[0].ticks);
		CHECK_EQ(records[0].seq, 2 * (i - 1));
		last = records[1].ticks;
	}
}

/* A counter of few MHz stands still for many events; a coroutine's time must not run ahead. */
static void a_hot_coroutine_does_not_run_ahead_of_the_counter(void)
{
	struct corotracer_coro co;
	uint64_t start;

	lanes_region_open(&region, tight(CTP_ON_FULL_DROP));
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	start = ctp_ticks();
	write_events(&co, 0, THREE_CHUNKS - 1);
	/* At most a tenth of the time that passed, and a little. */
	CHECK(life_nr(&region, 0)->last_ticks <= ctp_ticks() + (ctp_ticks() - start) / 10 + 2000);
}

/* ---- fork
 * ------------------------------------------------------------------------------------------------
 */

static pid_t fork_plain(void)
{
	return fork();
}

static pid_t fork_by_system_call(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static pid_t (*const roads[])(void) = { fork_plain, fork_by_system_call };
static size_t nr_roads; /* without MADV_WIPEONFORK the first: its handler wipes */

static void use(struct corotracer_coro *co)
{
	corotracer_suspend(co, co);
	corotracer_resume(co);
	corotracer_suspend_on(co, co, NULL, 0, 1);
	corotracer_switch(co, co, co);
	corotracer_wake_at(co, co, NULL, 0);
}

static void child_uses(struct corotracer_coro *co)
{
	use(co);
	corotracer_finish(co, 0);
	corotracer_end(co);
}

static void child_lives(struct corotracer_coro *co)
{
	uint32_t lanes = region.ext->lanes.used;
	struct corotracer_coro own;

	use(co);
	CHECK_EQ(corotracer_begin(&own, "child's"), 0);
	corotracer_resume(&own);
	use(co);
	corotracer_end(co);
	corotracer_end(&own);
	CHECK_EQ(region.ext->lanes.used, lanes + 1);
	CHECK_EQ(lane_nr(&region, lanes)->pid, getpid());
	CHECK_EQ(lane_nr(&region, lanes)->tid, own_tid());
	CHECK_EQ(read_lane(lanes), 4);
	for (int i = 0; i < 4; i++)
		CHECK(records[i].kind == CTP_REC_TEXT || records[i].id == region.ext->last_id);
}

static void expect_parent_untouched_by(void (*body)(struct corotracer_coro *))
{
	struct corotracer_coro co, copy;

	open_lanes();
	CHECK_EQ(corotracer_begin(&co, "parent's"), 0);
	for (size_t i = 0; i < nr_roads; i++) {
		struct ctp_lane lane;
		struct ctp_life life;
		pid_t pid;

		use(&co);
		lane = *lane_nr(&region, 0);
		life = *life_nr(&region, 0);
		copy = co;
		pid = roads[i]();
		CHECK(pid >= 0);
		if (pid == 0) {
			body(&copy);
			_exit(0);
		}
		child_reap(pid);
		CHECK_EQ(memcmp(&lane, lane_nr(&region, 0), sizeof(lane)), 0);
		CHECK_EQ(memcmp(&life, life_nr(&region, 0), sizeof(life)), 0);
		use(&co);
		CHECK(lane_nr(&region, 0)->head > lane.head);
	}
	CHECK_EQ(corotracer_id(&co), 1);
	corotracer_end(&co);
	CHECK_EQ(life_nr(&region, 0)->id, 0);
}

static void what_a_child_inherited_writes_nothing(void)
{
	expect_parent_untouched_by(child_uses);
}

static void a_child_has_a_lane_of_its_own(void)
{
	expect_parent_untouched_by(child_lives);
}

/* ---- collectors of other kinds
 * --------------------------------------------------------------------------- */

static void without_membarrier_every_event_looks_for_a_sleeper(void)
{
	struct shape shape = SHAPE;
	struct corotracer_coro co;
	uint32_t *sleeping;
	int conn;

	shape.without = CTP_EXT_MEMBARRIER;
	lanes_region_open(&region, shape);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK_EQ(corotracer__thread.always_slow, 1);
	conn = region_accept(&region.region);
	CHECK(conn >= 0);
	sleeping = &ctp_header_ext(region.region.header)->sleeping;
	for (int i = 0; i < 10; i++) {
		ctp_store_relaxed(sleeping, 1u);
		if (i % 2)
			corotracer_suspend(&co, &co);
		else
			corotracer_resume(&co);
		CHECK_EQ(wakeups_count(conn), 1);
		CHECK_EQ(*sleeping, 0);
	}
	corotracer_suspend_on(&co, &co, NULL, CTP_REASON_TIMER, 4);
	corotracer_end(&co);
	CHECK_EQ(read_lane(0), 14);
	for (uint64_t k = 0; k < 10; k++)
		CHECK_EQ(records[k + 1].seq, k);
	CHECK_EQ(records[11].kind, CTP_REC_SUSPEND | CTP_REC_HAS_MORE);
	CHECK_EQ(records[13].value, 11);
	write_events(&co, 0, 3);
	CHECK_EQ(read_lane(0), 14);
}

static void with_membarrier_a_sleeper_is_woken_too(void)
{
	struct corotracer_coro co;
	int conn;

	open_lanes();
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	conn = region_accept(&region.region);
	ctp_store_relaxed(&ctp_header_ext(region.region.header)->sleeping, 1u);
	corotracer_suspend(&co, &co);
	corotracer_suspend(&co, &co);
	CHECK_EQ(wakeups_count(conn), 1);
}

/* All paths through chunks, full lanes included, on the slow path. */
static void the_slow_path_fills_chunks_like_the_fast_one(void)
{
	struct shape shape = tight(CTP_ON_FULL_DROP);
	struct corotracer_coro co;

	shape.without = CTP_EXT_MEMBARRIER;
	lanes_region_open(&region, shape);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	write_events(&co, 0, THREE_CHUNKS + 99);
	CHECK_EQ(read_lane(0), THREE_CHUNKS);
	CHECK_EQ(lane_nr(&region, 0)->dropped, 100);
	for (uint64_t k = 1; k < THREE_CHUNKS; k++)
		CHECK_EQ(records[k].value, k);
}

static void without_a_counter_records_carry_the_clock(void)
{
	struct corotracer_coro a, b;
	uint64_t before, after;

	open_lanes();
	CHECK_EQ(corotracer_init(), 0);
	corotracer__process.session->counter_usable = 0;
	before = clock_ns();
	CHECK_EQ(corotracer_begin(&a, NULL), 0);
	CHECK_EQ(corotracer_begin(&b, NULL), 0);
	CHECK_EQ(corotracer__thread.counts_ns, 1);
	corotracer_resume(&a);
	corotracer_switch(&a, &a, &b);
	corotracer_suspend_on(&b, &b, NULL, 0, 1);
	corotracer_wake_at(&a, &b, NULL, 0);
	corotracer_end(&a);
	after = clock_ns();
	CHECK_EQ(read_lane(0), 9);
	CHECK_EQ(lane_nr(&region, 0)->ticks, CTP_TICKS_NS);
	CHECK_EQ(life_nr(&region, 0)->ticks, CTP_TICKS_NS);
	for (int i = 0; i < 9; i++) {
		if (records[i].kind != CTP_REC_MORE)
			CHECK(records[i].ticks >= before && records[i].ticks <= after);
	}
}

/* ---- regions that are not what they say
 * --------------------------------------------------------------------- */

/* Traced, but by stations; the memory behind them is unchanged. */
static void expect_stations(void)
{
	struct corotracer_coro co;

	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK(co.probe.station != NULL);
	CHECK(co.probe.life == NULL);
	corotracer_suspend(&co, &co);
	corotracer_wake_at(&co, NULL, NULL, 0);
	corotracer_end(&co);
	CHECK_EQ(station_writes(&region.region.stations[0]), 1);
	CHECK_EQ(region.region.stations[0].is_dead, 1);
	CHECK_EQ(region.ext->last_id, 0);
	CHECK_EQ(region.ext->lanes.used, 0);
}

static void a_region_shorter_than_it_says_has_stations_only(void)
{
	open_lanes();
	CHECK_EQ(truncate(region.region.shm, (off_t)(region.size - 65536)), 0);
	expect_stations();
}

#define EXPECT_STATIONS_AFTER(name, damage) \
	static void name(void)              \
	{                                   \
		open_lanes();               \
		damage;                     \
		expect_stations();          \
	}

EXPECT_STATIONS_AFTER(lanes_of_another_version_are_left_alone,
		      region.ext->version = CTP_LANES_VERSION + 1)
EXPECT_STATIONS_AFTER(lanes_without_their_magic_are_none, region.ext->magic = 1)
EXPECT_STATIONS_AFTER(units_of_another_size_are_left_alone, region.ext->lives.unit = 256)
EXPECT_STATIONS_AFTER(a_pool_over_the_stations_is_left_alone, region.ext->lanes.offset = 1024)
EXPECT_STATIONS_AFTER(a_pool_beyond_the_file_is_left_alone, region.ext->chunks.limit = UINT32_MAX)
EXPECT_STATIONS_AFTER(an_offset_beyond_the_file_is_left_alone,
		      region.ext->sites.offset = UINT64_MAX - 63)
EXPECT_STATIONS_AFTER(an_odd_offset_is_left_alone, region.ext->lives.offset += 8)

/* ---- limits of the program
 * ------------------------------------------------------------------------------------ */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* A region as large as a real one, with hardly any memory committed. */
static struct shape large(void)
{
	struct shape shape = SHAPE;

	shape.lives = 4u << 20;
	shape.chunks = 8192;
	return shape;
}

static uint64_t region_blocks(void)
{
	struct stat st;

	CHECK_EQ(stat(region.region.shm, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static void memory_locked_in_advance_is_not_all_of_the_region(void)
{
	struct corotracer_coro co;

	if (SANITIZED || mlockall(MCL_FUTURE) < 0)
		return;
	munlockall();
	lanes_region_open(&region, large());
	CHECK_EQ(mlockall(MCL_FUTURE), 0);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	write_events(&co, 0, 10000);
	CHECK(co.probe.life != NULL);
	CHECK_EQ(read_lane(0), 10001);
	/* Five chunks, and one growth step of a pool. */
	CHECK(region_blocks() < 8u << 20);
}

/* True if a limit of the addresses holds; qemu-user accepts it without effect. */
static bool addresses_are_limited(size_t limit)
{
	void *map = mmap(NULL, limit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			 0);

	if (map == MAP_FAILED)
		return true;
	munmap(map, limit);
	return false;
}

static void with_few_addresses_there_are_stations(void)
{
	struct rlimit limit = { 300u << 20, 300u << 20 };
	struct corotracer_coro co;

	if (SANITIZED)
		return;
	lanes_region_open(&region, large());
	munmap(region.map, region.size);
	region.map = NULL;
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	if (!addresses_are_limited(limit.rlim_cur))
		return;
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK(co.probe.station != NULL);
	corotracer_suspend(&co, &co);
	corotracer_end(&co);
	CHECK_EQ(station_writes(&region.region.stations[0]), 1);
}

int main(void)
{
	scratch_make();
	nr_roads = pages_are_wiped() ? sizeof(roads) / sizeof(roads[0]) : 1;
	RUN_ALONE(a_life_is_told_in_order);
	RUN_ALONE(a_trace_context_is_two_records);
	RUN_ALONE(an_older_collector_gets_no_trace_context);
	RUN_ALONE(after_the_end_nothing_is_written);
	RUN_ALONE(a_switch_is_two_records_of_one_moment);
	RUN_ALONE(the_life_says_what_was_last);
	RUN_ALONE(lives_are_used_again_and_ids_are_not);
	RUN_ALONE(who_finds_no_life_is_counted_and_untraced);
	RUN_ALONE(names_of_every_length_are_told);
	RUN_ALONE(a_site_is_entered_once_and_named_by_every_event);
	RUN_ALONE(of_a_long_place_the_end_is_kept);
	RUN_ALONE(when_the_table_of_sites_is_full_events_go_on_without);
	RUN_ALONE(a_lane_goes_on_from_chunk_to_chunk);
	RUN_ALONE(what_belongs_together_is_not_cut_by_the_end_of_a_chunk);
	RUN_ALONE(when_a_lane_is_full_what_is_dropped_is_counted_and_told);
	RUN_ALONE(what_is_missing_is_told_before_all_that_comes_after_it);
	RUN_ALONE(an_end_without_room_stays_to_be_found);
	RUN_ALONE(waiting_for_room_is_bounded_and_in_vain_only_once);
	RUN_ALONE(who_waits_loses_nothing_while_somebody_reads);
	RUN_ALONE(a_thread_without_a_lane_is_counted);
	RUN_ALONE(a_thread_without_a_lane_waits_for_one);
	RUN_ALONE(waiting_for_a_lane_is_bounded_and_in_vain_only_once);
	RUN_ALONE(errno_is_kept_whatever_happens);
	RUN_ALONE(a_thread_that_ends_gives_back_what_it_has);
	RUN_ALONE(events_of_a_thread_at_its_very_end_are_there);
	RUN_ALONE(a_thousand_threads_have_a_lane_each);
	RUN_ALONE(time_goes_forward_from_thread_to_thread);
	RUN_ALONE(a_hot_coroutine_does_not_run_ahead_of_the_counter);
	RUN_ALONE(what_a_child_inherited_writes_nothing);
	RUN_ALONE(a_child_has_a_lane_of_its_own);
	RUN_ALONE(without_membarrier_every_event_looks_for_a_sleeper);
	RUN_ALONE(with_membarrier_a_sleeper_is_woken_too);
	RUN_ALONE(the_slow_path_fills_chunks_like_the_fast_one);
	RUN_ALONE(without_a_counter_records_carry_the_clock);
	RUN_ALONE(a_region_shorter_than_it_says_has_stations_only);
	RUN_ALONE(lanes_of_another_version_are_left_alone);
	RUN_ALONE(lanes_without_their_magic_are_none);
	RUN_ALONE(units_of_another_size_are_left_alone);
	RUN_ALONE(a_pool_over_the_stations_is_left_alone);
	RUN_ALONE(a_pool_beyond_the_file_is_left_alone);
	RUN_ALONE(an_offset_beyond_the_file_is_left_alone);
	RUN_ALONE(an_odd_offset_is_left_alone);
	RUN_ALONE(memory_locked_in_advance_is_not_all_of_the_region);
	RUN_ALONE(with_few_addresses_there_are_stations);
	return 0;
}
