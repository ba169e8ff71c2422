/* SPDX-License-Identifier: MIT */
/* test_sdk_station.c - what a coroutine writes to its station. */
#include <corotracer/corotracer.h>

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#include "test_sdk_region.h"

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

/* Event @k was a suspend at @addr, or a resume when @addr is 0. */
static void expect_event(const struct ctp_station *st, uint64_t k, uint64_t addr)
{
	const struct ctp_epoch *slot = &st->slots[k % CTP_SLOTS];

	CHECK_EQ(slot->seq, 2 * (k / CTP_SLOTS) + 2);
	CHECK_EQ(slot->addr, addr);
	CHECK_EQ(slot->is_active, addr == 0);
	CHECK_EQ(slot->tid, own_tid());
}

/* A station cannot hold them, and the program must not notice. */
static void closes_and_locks_are_left_out(void)
{
	struct corotracer_coro co;
	struct region r;

	region_open(&r, 4, 0);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	corotracer_closing(&co, 7);
	corotracer_acquired(&co, 8);
	corotracer_released(NULL, 8);
	corotracer_done(&co);
	CHECK_EQ(station_writes(&r.stations[0]), 0);
	corotracer_end(&co);
	CHECK_EQ(r.stations[0].is_dead, 1);
}

static void events_take_the_slots_in_turn(void)
{
	struct corotracer_coro co;
	struct region r;
	uint64_t before = clock_ns(), last = 0;

	region_open(&r, 4, 0);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	for (uint64_t k = 0; k < 100; k++) {
		uint64_t addr = k % 2 ? 0 : 0x1000 + k;

		if (addr)
			corotracer_suspend(&co, (const void *)(uintptr_t)addr);
		else
			corotracer_resume(&co);
		expect_event(&r.stations[0], k, addr);
		CHECK(r.stations[0].slots[k % CTP_SLOTS].timestamp > last);
		last = r.stations[0].slots[k % CTP_SLOTS].timestamp;
	}
	CHECK(r.stations[0].birth_ts + 10000 > before);
	CHECK(r.stations[0].slots[4].timestamp > r.stations[0].birth_ts);
	CHECK(last < clock_ns() + 10000);
	CHECK_EQ(station_writes(&r.stations[0]), 100);
}

static void a_switch_is_two_events_of_one_moment(void)
{
	struct corotracer_coro a, b;
	struct region r;

	region_open(&r, 4, 0);
	CHECK_EQ(corotracer_begin(&a, NULL), 0);
	CHECK_EQ(corotracer_begin(&b, NULL), 0);
	corotracer_switch(&a, &a, &b);
	expect_event(&r.stations[0], 0, (uint64_t)(uintptr_t)&a);
	expect_event(&r.stations[1], 0, 0);
	CHECK_EQ(r.stations[0].slots[0].timestamp, r.stations[1].slots[0].timestamp);
}

static void a_switch_to_or_from_the_untraced_is_one_event(void)
{
	struct corotracer_coro traced, untraced;
	struct region r;

	memset(&untraced, 0, sizeof(untraced));
	region_open(&r, 4, 0);
	CHECK_EQ(corotracer_begin(&traced, NULL), 0);
	corotracer_switch(&traced, &traced, &untraced);
	expect_event(&r.stations[0], 0, (uint64_t)(uintptr_t)&traced);
	corotracer_switch(&untraced, &untraced, &traced);
	expect_event(&r.stations[0], 1, 0);
	corotracer_switch(&untraced, &untraced, &untraced);
	CHECK_EQ(station_writes(&r.stations[0]), 2);
}

static void probe_ids_are_unique(void)
{
	enum { NR = 200 };
	struct corotracer_coro co;
	struct region r;

	region_open(&r, NR, 0);
	for (int i = 0; i < NR; i++) {
		CHECK_EQ(corotracer_begin(&co, NULL), 0);
		corotracer_end(&co);
	}
	for (int i = 0; i < NR; i++) {
		CHECK(r.stations[i].probe_id != 0);
		for (int j = 0; j < i; j++)
			CHECK(r.stations[i].probe_id != r.stations[j].probe_id);
	}
}

static void who_finds_no_station_is_counted_and_untraced(void)
{
	struct corotracer_coro cos[5];
	struct region r;

	region_open(&r, 3, REGION_EXT);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(corotracer_begin(&cos[i], NULL), i < 3 ? 0 : -ENOSPC);
	CHECK_EQ(r.header->allocated_count, 5);
	for (int i = 0; i < 5; i++) {
		corotracer_suspend(&cos[i], &cos[i]);
		corotracer_resume(&cos[i]);
	}
	for (int i = 0; i < 3; i++)
		CHECK_EQ(station_writes(&r.stations[i]), 2);
	for (int i = 0; i < 5; i++)
		corotracer_end(&cos[i]);
	CHECK_EQ(corotracer_enabled(), 1);
	CHECK_EQ(r.header->allocated_count, 5);
}

/* A count that wraps would assign stations that are in use. */
static void *begin_many(void *arg)
{
	struct corotracer_coro co;

	(void)arg;
	for (int i = 0; i < 20000; i++)
		CHECK_EQ(corotracer_begin(&co, NULL), -ENOSPC);
	return NULL;
}

static void the_count_never_wraps(void)
{
	uint32_t start[] = { UINT32_MAX, UINT32_MAX - 1, UINT32_MAX - 5000,
			     UINT32_MAX - (1u << 20) - 100 };
	struct corotracer_coro co;
	pthread_t threads[4];
	struct region r;

	region_open(&r, 4, 0);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	for (size_t i = 0; i < sizeof(start) / sizeof(start[0]); i++) {
		ctp_store_relaxed(&r.header->allocated_count, start[i]);
		for (int t = 0; t < 4; t++)
			CHECK_EQ(pthread_create(&threads[t], NULL, begin_many, NULL), 0);
		for (int t = 0; t < 4; t++)
			pthread_join(threads[t], NULL);
		CHECK(ctp_load_relaxed(&r.header->allocated_count) >= start[i]);
	}
	CHECK(all_zero(&r.stations[1], sizeof(r.stations[1])));
}

static void a_name_is_copied(void)
{
	const struct ctp_ext_station *ext;
	struct corotracer_coro co;
	char name[] = "reader of socket 7";
	struct region r;

	region_open(&r, 2, REGION_EXT);
	ext = ctp_station_ext(&r.stations[0]);
	CHECK_EQ(corotracer_begin(&co, name), 0);
	memset(name, 'x', sizeof(name) - 1);
	CHECK(ext->magic == CTP_EXT_MAGIC);
	CHECK_EQ(ext->version, CTP_EXT_VERSION);
	CHECK_EQ(ext->pid, getpid());
	CHECK_EQ(ext->name_size, strlen("reader of socket 7"));
	CHECK_EQ(memcmp(ext->name, "reader of socket 7", ext->name_size), 0);
	CHECK(all_zero(ext->name + ext->name_size, CTP_EXT_NAME_SIZE - ext->name_size));
}

static void a_long_name_is_cut_and_says_so(void)
{
	static const size_t sizes[] = { CTP_EXT_NAME_SIZE - 1, CTP_EXT_NAME_SIZE,
					CTP_EXT_NAME_SIZE + 1, 5000 };
	struct corotracer_coro co;
	char name[5001];
	struct region r;

	region_open(&r, 8, REGION_EXT);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct ctp_ext_station *ext = ctp_station_ext(&r.stations[i]);
		size_t kept = sizes[i] < CTP_EXT_NAME_SIZE ? sizes[i] : CTP_EXT_NAME_SIZE;

		memset(name, 'a' + (int)i, sizes[i]);
		name[sizes[i]] = '\0';
		CHECK_EQ(corotracer_begin(&co, name), 0);
		CHECK_EQ(ext->name_size, sizes[i]);
		CHECK_EQ(memcmp(ext->name, name, kept), 0);
		CHECK_EQ(r.stations[i + 1].probe_id, 0);
	}
}

static void no_name_is_an_empty_name(void)
{
	struct corotracer_coro co;
	struct region r;

	region_open(&r, 2, REGION_EXT);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK(ctp_station_ext(&r.stations[0])->magic == CTP_EXT_MAGIC);
	CHECK_EQ(ctp_station_ext(&r.stations[0])->name_size, 0);
	CHECK_EQ(corotracer_begin(&co, ""), 0);
	CHECK_EQ(ctp_station_ext(&r.stations[1])->name_size, 0);
}

static void the_end_is_the_last_thing_a_station_hears(void)
{
	struct corotracer_coro co;
	struct region r;

	region_open(&r, 2, REGION_EXT);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	corotracer_suspend(&co, &co);
	CHECK_EQ(r.stations[0].is_dead, 0);
	corotracer_end(&co);
	CHECK_EQ(r.stations[0].is_dead, 1);
	CHECK(ctp_station_ext(&r.stations[0])->death_ts > r.stations[0].slots[0].timestamp);
	corotracer_suspend(&co, &co);
	corotracer_resume(&co);
	corotracer_end(&co);
	CHECK_EQ(station_writes(&r.stations[0]), 1);
}

static void a_coroutine_begun_again_has_a_new_station(void)
{
	struct corotracer_coro co;
	struct region r;

	region_open(&r, 4, 0);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	corotracer_suspend(&co, &co);
	corotracer_end(&co);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	corotracer_suspend(&co, &co);
	CHECK_EQ(r.header->allocated_count, 2);
	CHECK_EQ(station_writes(&r.stations[0]), 1);
	CHECK_EQ(station_writes(&r.stations[1]), 1);
}

/* ---- moving between threads -------------------------------------------------- */

struct visit {
	struct corotracer_coro *co;
	uint64_t tid;
};

static void *visit_once(void *arg)
{
	struct visit *v = arg;

	v->tid = own_tid();
	corotracer_resume(v->co);
	corotracer_suspend(v->co, v);
	return NULL;
}

/* A new thread each time: a newly anchored clock against one that has run for a while. */
static void time_goes_forward_from_thread_to_thread(void)
{
	struct corotracer_coro co;
	struct region r;
	uint64_t last;

	region_open(&r, 2, 0);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	last = r.stations[0].birth_ts;
	for (uint64_t k = 0; k < 400; k += 2) {
		const struct ctp_epoch *in = &r.stations[0].slots[k % CTP_SLOTS];
		struct visit v = { .co = &co };
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, visit_once, &v), 0);
		pthread_join(thread, NULL);
		CHECK_EQ(in[0].tid, v.tid);
		CHECK_EQ(in[1].tid, v.tid);
		CHECK(in[0].timestamp > last);
		CHECK(in[1].timestamp > in[0].timestamp);
		last = in[1].timestamp;
	}
}

int main(void)
{
	scratch_make();
	RUN_ALONE(events_take_the_slots_in_turn);
	RUN_ALONE(closes_and_locks_are_left_out);
	RUN_ALONE(a_switch_is_two_events_of_one_moment);
	RUN_ALONE(a_switch_to_or_from_the_untraced_is_one_event);
	RUN_ALONE(probe_ids_are_unique);
	RUN_ALONE(who_finds_no_station_is_counted_and_untraced);
	RUN_ALONE(the_count_never_wraps);
	RUN_ALONE(a_name_is_copied);
	RUN_ALONE(a_long_name_is_cut_and_says_so);
	RUN_ALONE(no_name_is_an_empty_name);
	RUN_ALONE(the_end_is_the_last_thing_a_station_hears);
	RUN_ALONE(a_coroutine_begun_again_has_a_new_station);
	RUN_ALONE(time_goes_forward_from_thread_to_thread);
	return 0;
}
