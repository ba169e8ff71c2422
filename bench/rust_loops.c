/* SPDX-License-Identifier: MIT */
/*
 * rust_loops.c - the C side of bench-rust: the region, the yardsticks, the C SDK's events.
 *
 * A library that bench/rust.sh links into the Rust program, so that both SDKs write in one
 * process, on one thread, in turns.
 */
#include "bench.h"

#include <corotracer/corotracer.h>
#include <corotracer/pool.h>

#include <time.h>

#define EVENTS_A_RUN 1000u

int bench_rust_begin(void);
void bench_rust_give_back(void);
void bench_rust_nothing(void);
void bench_rust_clock(void);
void bench_rust_ticks(void);
void bench_rust_c_events(void);

static struct corotracer_coro coroutine;

int bench_rust_begin(void)
{
	bench_pin();
	return bench_region_lanes(64) && corotracer_begin(&coroutine, NULL) == 0 ? 0 : -1;
}

/* Return all full chunks of a lane to the pool. */
static void give_back(struct ctp_lane *lane, struct ctp_arena *chunks)
{
	while (lane->taken - lane->returned > 1) {
		uint32_t oldest = (uint32_t)lane->oldest;

		lane->oldest = ((struct ctp_chunk *)ctp_unit(chunks, oldest - 1))->link;
		ctp_pool_give(chunks, oldest - 1);
		lane->returned++;
	}
}

/* For every lane of the region: that of the C SDK and that of the Rust SDK. */
void bench_rust_give_back(void)
{
	struct ctp_session *s = corotracer__process.session;
	uint32_t i;

	for (i = 0; i < s->lane_pool.pool->used; i++)
		give_back((struct ctp_lane *)ctp_unit(&s->lane_pool, i), &s->chunk_pool);
}

void bench_rust_nothing(void)
{
	struct corotracer_coro *co = &coroutine;
	unsigned i;

	for (i = 0; i < EVENTS_A_RUN / 2; i++) {
		BENCH_LAUNDER(co);
		BENCH_LAUNDER(co);
	}
}

void bench_rust_clock(void)
{
	struct timespec ts, *p = &ts;
	unsigned i;

	for (i = 0; i < EVENTS_A_RUN; i++) {
		clock_gettime(CLOCK_MONOTONIC, p);
		BENCH_LAUNDER(p);
	}
}

void bench_rust_ticks(void)
{
	unsigned i;

	for (i = 0; i < EVENTS_A_RUN; i++) {
		uint64_t ticks = ctp_ticks();

		BENCH_LAUNDER(ticks);
	}
}

void bench_rust_c_events(void)
{
	struct corotracer_coro *co = &coroutine;
	unsigned i;

	for (i = 0; i < EVENTS_A_RUN / 2; i++) {
		BENCH_LAUNDER(co);
		corotracer_suspend(co, bench_rust_nothing);
		BENCH_LAUNDER(co);
		corotracer_resume(co);
	}
}
