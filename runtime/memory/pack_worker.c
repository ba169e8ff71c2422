/* SPDX-License-Identifier: MIT */
/*
 * pack_worker.c - a second packing thread, for programs that are faster than the consumer.
 */
#include "pack_worker.h"

#include <pthread.h>
#include <sys/prctl.h>

#include "trace_session.h"
#include "sys.h"
#include "zstd_loader.h"

enum { NOT_THERE, IDLE, WORK, DONE, FAILED };

static struct {
	uint32_t state; /* [threads] futex */
	struct crt_job job;
	struct cray_maker *maker;
	struct cray_pack *pack;
} second;

bool crt_start_thread(void *(*run)(void *))
{
	struct crt_mask mask = crt_signals_off();
	pthread_attr_t attr;
	pthread_t thread;
	bool started = false;

	if (pthread_attr_init(&attr) == 0) {
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attr, 512u << 10);
		started = pthread_create(&thread, &attr, run, NULL) == 0;
		pthread_attr_destroy(&attr);
	}
	crt_signals_back(mask);
	return started;
}

bool crt_block_has_room(const struct cray_pack *p)
{
	return CRAY_PACK_RECORDS - p->nr_accesses - p->nr_events >=
	       CRW_UNITS(crt_session.region.chunk_size);
}

bool crt_job_pack(struct crt_job *job, struct cray_pack *p)
{
	const struct crw_region *r = &crt_session.region;
	struct crw_taken run;

	while (job->cursor.taken < job->end &&
	       crw_take(r, &job->view, &job->cursor, UINT32_MAX, false, &run)) {
		uint32_t used;

		if (run.new_chunk && !crt_block_has_room(p)) {
			job->cursor.begun = 0;
			return true;
		}
		used = crw_feed(&job->feed, p, &run);
		crw_give_back(r, &job->view, &job->cursor, used);
		if (used < run.nr || job->feed.piece_left)
			return true;
	}
	return false;
}

static void pack_worker_work(void)
{
	struct crt_job *job = &second.job;
	struct cray_pack *p = second.pack;

	cray_pack_init(p);
	cray_pack_begin(p, job->thread, job->feed.order, job->feed.time_ns);
	cray_pack_weight(p, job->feed.weight_256);
	crt_job_pack(job, p);
	job->empty = cray_pack_empty(p);
	job->nr_accesses = p->nr_accesses;
	cray_maker_make(second.maker, p, job->hurry);
}

static void *pack_worker_hands(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "cacheray-2", 0, 0, 0);
	for (;;) {
		/* (mem-K) pairs with the release in crt_second_start(): the job is visible. */
		uint32_t state = __atomic_load_n(&second.state, __ATOMIC_ACQUIRE);

		if (state != WORK) {
			crt_futex_wait(&second.state, state, 1000);
			continue;
		}
		pack_worker_work();
		/* (mem-K) pairs with the acquire in crt_second_join(): the block is visible. */
		__atomic_store_n(&second.state, DONE, __ATOMIC_RELEASE);
		crt_futex_wake(&second.state);
	}
	return NULL;
}

static bool pack_worker_is_present(int level)
{
	if (second.state != NOT_THERE)
		return second.state != FAILED;
	second.pack = crt_memory(sizeof(*second.pack));
	second.maker = crt_maker_new(level);
	second.state = IDLE;
	if (!second.pack || !second.maker || !crt_start_thread(pack_worker_hands)) {
		second.state = FAILED;
		return false;
	}
	return true;
}

bool crt_second_start(int level, const struct crt_job *job)
{
	if (!pack_worker_is_present(level))
		return false;
	second.job = *job;
	/* (mem-K) pairs with the acquire in pack_worker_hands(). */
	__atomic_store_n(&second.state, WORK, __ATOMIC_RELEASE);
	crt_futex_wake(&second.state);
	return true;
}

const struct crt_job *crt_second_join(struct cray_maker **maker)
{
	uint32_t state;

	/* (mem-K) pairs with the release in pack_worker_hands(). */
	while ((state = __atomic_load_n(&second.state, __ATOMIC_ACQUIRE)) != DONE)
		crt_futex_wait(&second.state, state, 1000);
	__atomic_store_n(&second.state, IDLE, __ATOMIC_RELAXED);
	*maker = second.maker;
	return &second.job;
}

void crt_second_forget(void)
{
	__builtin_memset(&second, 0, sizeof(second));
}
