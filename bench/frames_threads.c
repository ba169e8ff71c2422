/* SPDX-License-Identifier: MIT */
/*
 * frames_threads.c - the cost of a save() if several threads save at the same time.
 *
 * With a ticket from the shared counter for each frame, and with blocks of tickets per thread; both
 * with stamps.  Reported is the processor time of the threads per save, the best of some runs:
 * unlike the time that passes, it does not depend on how many threads share a processor.  The
 * yardstick is clock_gettime() in turns with them.  The ring is never read.
 */
#include "bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <time.h>

#include HEADER
#include "frames/spec/frames_abi.h"

#define CAT_(a, b, c) a##b##c
#define CAT(a, b, c)  CAT_(a, b, c)
#define N(name)       CAT(CAT(ppt_, BUFFER, _), name, )
#define THREADS_MOST  8
#define SLOTS         (1u << 16)

extern struct ppt_hmem CAT(__ppt_, BUFFER, _hmem);

static unsigned saves = 200000;
static pthread_barrier_t start;
static double cost[THREADS_MOST];

static double thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void *save_many(void *arg)
{
	struct N(work) frame = { .a = 1, .b = 2 }, *f = &frame;
	double from;
	unsigned i, first = arg == &cost[0] ? SLOTS : 1;

	/* A thread's first frame has more to do, and so has the first use of each page of the ring.
	 */
	for (i = 0; i < first; i++)
		N(work_save)(f);
	pthread_barrier_wait(&start);
	from = thread_ns();
	for (i = 0; i < saves; i++) {
		BENCH_LAUNDER(f);
		N(work_save)(f);
	}
	*(double *)arg = (thread_ns() - from) / saves;
	return NULL;
}

static double read_clock(void)
{
	struct timespec ts, *at = &ts;
	double from = thread_ns();
	unsigned i;

	for (i = 0; i < saves; i++) {
		BENCH_LAUNDER(at);
		clock_gettime(CLOCK_MONOTONIC, at);
	}
	return (thread_ns() - from) / saves;
}

static void offer_ring(unsigned block)
{
	uint32_t frame = (uint32_t)offsetof(struct N(work), __ppt_seqno_back) + 4;
	uint32_t stride = (frame + 7) & ~7u;
	size_t offset = ppt_slot0_offset(PPT_CONTROL_SIZE_COUNTS, stride);
	size_t size = offset + (size_t)SLOTS * (stride + sizeof(struct ppt_stamp));
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
	struct ppt_control *c = id < 0 ? NULL : shmat(id, NULL, 0);

	if (id < 0 || (intptr_t)c == -1)
		bench_die("no shared memory");
	shmctl(id, IPC_RMID, NULL);
	c->control_blk_sz = PPT_CONTROL_SIZE_COUNTS;
	c->magic = PPT_EXT_MAGIC;
	c->ext_version = PPT_EXT_VERSION;
	c->next_ticket = 1;
	c->stamp_kind = PPT_STAMP_TICKS;
	c->block_size = block;
	__atomic_store_n(&CAT(__ppt_, BUFFER, _hmem).id, id, __ATOMIC_RELEASE);
}

static double run_threads(unsigned nr)
{
	pthread_t threads[THREADS_MOST];
	double sum = 0;
	unsigned i;

	pthread_barrier_init(&start, NULL, nr);
	for (i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, save_many, &cost[i]);
	for (i = 0; i < nr; i++) {
		pthread_join(threads[i], NULL);
		sum += cost[i];
	}
	pthread_barrier_destroy(&start);
	return sum / nr;
}

int main(int argc, char **argv)
{
	unsigned rounds = (unsigned)bench_option(argc, argv, "rounds", 5), round, nr, block;
	double clock = 1e9;

	saves = (unsigned)bench_option(argc, argv, "saves", saves);
	for (nr = 1; nr <= THREADS_MOST; nr *= 2) {
		double best[2] = { 1e9, 1e9 };

		/* They take turns: a busy neighbour affects both. */
		for (round = 0; round < rounds; round++) {
			double ns = read_clock();

			clock = ns < clock ? ns : clock;
			for (block = 0; block < 2; block++) {
				offer_ring(block ? 64 : 0);
				ns = run_threads(nr);
				best[block] = ns < best[block] ? ns : best[block];
			}
		}
		bench_emit(best[0], "frames.threads.single.%u_ns", nr);
		bench_emit(best[1], "frames.threads.block.%u_ns", nr);
	}
	bench_emit(clock, "frames.threads.clock_ns");
	return 0;
}
