/* SPDX-License-Identifier: MIT */
/*
 * handover.c - coroutines that wander between threads, while a collector reads.
 *
 * Each worker takes a coroutine that is free, resumes and suspends it, and releases
 * it: the hand-over orders two workers, as in any scheduler.  The
 * collector, here a thread, reads the stations all the while.  Event k holds its
 * own number, so a torn or misplaced one shows; time must go forward in each
 * coroutine; a resume and its suspend come from the same thread.
 *
 * It ends when enough was read and enough hand-overs were seen: a coroutine that
 * stays on one thread proves nothing.
 */
#include <corotracer/corotracer.h>
#include <corotracer/slot.h>

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>

#include "../unit/test_sdk_region.h"

enum { NR_WORKERS = 4, NR_COROUTINES = 16 };

#define AT_LEAST_MS      1000
#define BUDGET_MS        60000
#define ENOUGH_EVENTS    20000u
#define ENOUGH_HANDOVERS 200u
#define ENOUGH_WAKEUPS   10u

struct wanderer {
	struct corotracer_coro trace;
	uint64_t nr; /* 0, 1, ... */
	uint32_t taken;
	uint64_t nr_events; /* written by the thread that took it */
};

/* What the collector has seen of one station. */
struct seen {
	uint64_t last_seq[CTP_SLOTS];
	uint64_t k; /* the latest event read */
	uint64_t ts;
	uint64_t tid;
	bool any;
};

static struct wanderer wanderers[NR_COROUTINES];
static struct seen seen[NR_COROUTINES];
static struct region region;
static uint64_t tids[NR_WORKERS];
static uint64_t nr_read, nr_rejected, nr_handovers, nr_wakeups;
static uint32_t stop;

/* ---- the program ------------------------------------------------------------------ */

/* The address of event @k of coroutine @nr; resumes have none. */
static uint64_t event_addr(uint64_t nr, uint64_t k)
{
	return k % 2 ? (nr + 1) << 40 | k : 0;
}

static bool take(struct wanderer *w)
{
	return __atomic_exchange_n(&w->taken, 1u, __ATOMIC_ACQUIRE) == 0;
}

static void let_go(struct wanderer *w)
{
	__atomic_store_n(&w->taken, 0u, __ATOMIC_RELEASE);
}

static void step(struct wanderer *w)
{
	corotracer_resume(&w->trace);
	w->nr_events++;
	corotracer_suspend(&w->trace, (void *)(uintptr_t)event_addr(w->nr, w->nr_events));
	w->nr_events++;
}

static void *work(void *arg)
{
	uint64_t *tid = arg;
	unsigned next = (unsigned)(tid - tids);

	__atomic_store_n(tid, (uint64_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!ctp_load_relaxed(&stop)) {
		struct wanderer *w = &wanderers[next++ % NR_COROUTINES];

		if (!take(w))
			continue;
		step(w);
		let_go(w);
		if (next % 64 == 0)
			sched_yield();
	}
	return NULL;
}

/* ---- the collector ---------------------------------------------------------------- */

static bool is_workers_tid(uint64_t tid)
{
	for (int i = 0; i < NR_WORKERS; i++)
		if (__atomic_load_n(&tids[i], __ATOMIC_ACQUIRE) == tid)
			return true;
	return false;
}

/* Event @k is newer than all that was read of this coroutine. */
static void check_against_last(struct seen *s, uint64_t k, const struct ctp_event *e)
{
	CHECK(e->time_ns > s->ts);
	if (k != s->k + 1)
		return;
	if (k % 2)
		CHECK_EQ(e->tid, s->tid);
	else
		nr_handovers += e->tid != s->tid;
}

static void check_event(uint64_t nr, uint64_t k, const struct ctp_event *e)
{
	struct seen *s = &seen[nr];

	CHECK(e->addr == event_addr(nr, k));
	CHECK_EQ(e->is_active, k % 2 == 0);
	CHECK(is_workers_tid(e->tid));
	if (s->any && k < s->k) {
		CHECK(e->time_ns < s->ts);
		return;
	}
	if (s->any)
		check_against_last(s, k, e);
	s->any = true;
	s->k = k;
	s->ts = e->time_ns;
	s->tid = e->tid;
}

static void harvest_slot(uint64_t nr, unsigned slot)
{
	struct ctp_epoch *epoch = &region.stations[nr].slots[slot];
	uint64_t seq = ctp_load_relaxed(&epoch->seq);
	struct ctp_event e;

	if (seq <= seen[nr].last_seq[slot])
		return;
	if (seq % 2 || !ctp_slot_read(epoch, seq, &e)) {
		nr_rejected++;
		return;
	}
	seen[nr].last_seq[slot] = seq;
	nr_read++;
	check_event(nr, (seq / 2 - 1) * CTP_SLOTS + slot, &e);
}

static void harvest(void)
{
	for (uint64_t nr = 0; nr < NR_COROUTINES; nr++)
		for (unsigned slot = 0; slot < CTP_SLOTS; slot++)
			harvest_slot(nr, slot);
}

static bool enough(long spent_ms)
{
	return spent_ms >= AT_LEAST_MS && nr_read >= ENOUGH_EVENTS &&
	       nr_handovers >= ENOUGH_HANDOVERS && nr_wakeups >= ENOUGH_WAKEUPS;
}

static long clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void collect(int conn)
{
	uint32_t *sleeping = &ctp_header_ext(region.header)->sleeping;
	long start = clock_ms(), spent;

	do {
		ctp_store_relaxed(sleeping, 1u);
		for (int i = 0; i < 100; i++)
			harvest();
		nr_wakeups += (uint64_t)wakeups_count(conn);
		spent = clock_ms() - start;
	} while (!enough(spent) && spent < BUDGET_MS);
	printf("%llu events read, %llu turned away, %llu hand-overs, %llu wake-ups\n",
	       (unsigned long long)nr_read, (unsigned long long)nr_rejected,
	       (unsigned long long)nr_handovers, (unsigned long long)nr_wakeups);
	CHECK(enough(spent));
}

/* At rest the stations hold exactly the last events of each. */
static void check_final_state(void)
{
	for (uint64_t nr = 0; nr < NR_COROUTINES; nr++) {
		CHECK_EQ(station_writes(&region.stations[nr]), wanderers[nr].nr_events);
		CHECK(wanderers[nr].nr_events > 0);
	}
	harvest();
	for (uint64_t nr = 0; nr < NR_COROUTINES; nr++)
		CHECK_EQ(seen[nr].k + 1, wanderers[nr].nr_events);
}

int main(void)
{
	pthread_t threads[NR_WORKERS];
	int conn;

	scratch_make();
	region_open(&region, NR_COROUTINES, REGION_EXT);
	for (uint64_t i = 0; i < NR_COROUTINES; i++) {
		wanderers[i].nr = i;
		CHECK_EQ(corotracer_begin(&wanderers[i].trace, NULL), 0);
	}
	conn = region_accept(&region);
	CHECK(conn >= 0);
	for (int i = 0; i < NR_WORKERS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, work, &tids[i]), 0);
	collect(conn);
	ctp_store_relaxed(&stop, 1u);
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_join(threads[i], NULL);
	check_final_state();
	return 0;
}
