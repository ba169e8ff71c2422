/* SPDX-License-Identifier: MIT */
/*
 * mix.c - what each instrument measures, in one run of one program that counts it itself, for
 * `mem cc`.
 *
 *	truth_mix [ROUNDS [clean]]
 *
 * Two threads take turns; in each round each coroutine has a slice, on the other thread than in the
 * round before, after the coroutine before has woken it:
 *
 *	sleeper   sleeps in the kernel, reads from `table`
 *	burner    computes
 *	squeezed  computes while a busy neighbour is bound to the same processor
 *	saver-N   two coroutines that save frames and write to `cells`
 *	reader    two slices: reads lines of `stream` that no cache has; after another await it
 *reads `table`, which fits into the first cache builder   allocates annotated items, uses and frees
 *them
 *
 * At the end each coroutine has a slice in which it returns.  With `clean` there are only the
 * savers and the builder.  Prints the counts of mix_count.c.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cacheray.h>
#include <corotracer/corotracer.h>

#include "mix_count.h"

#define MS        1000000u
#define NR_SAVERS 2
#define NR_CELLS  48
#define NR_TABLE  64
#define NR_ITEMS  8
#define LINE_SIZE 64
#define NR_STREAM 2048 /* in each round */
#define MOST      16   /* rounds */

struct item {
	long key;
	long value;
};

static volatile long cells[NR_SAVERS][NR_CELLS], table[NR_TABLE];
static volatile struct {
	long first;
	char rest[LINE_SIZE - sizeof(long)];
} stream[MOST * NR_STREAM] __attribute__((aligned(LINE_SIZE)));

static struct corotracer_coro sleeper, burner, squeezed, savers[NR_SAVERS], reader, builder;
static struct corotracer_coro *before; /* the coroutine whose slice was the last one */
static unsigned long rounds;
static int is_clean;
static sem_t turn[2];

static void resume_coroutine(struct corotracer_coro *co, const char *kind, int number)
{
	corotracer_wake(co, before);
	mix_count_wake();
	mix_slice_prepare(kind, number);
	corotracer_resume(co);
	mix_slice_begin(corotracer_id(co));
}

static void leave_slice(struct corotracer_coro *co)
{
	mix_slice_leave();
	before = co;
}

static void run_sleeper(void)
{
	int i;

	resume_coroutine(&sleeper, "sleeper", 0);
	for (i = 0; i < NR_TABLE; i++)
		(void)table[i];
	mix_count_uses(NR_TABLE, 0);
	mix_sleep(12 * MS);
	mix_save_frames(1, 0);
	mix_slice_end(__LINE__ + 1);
	corotracer_await(&sleeper, CTP_REASON_TIMER, 0);
	leave_slice(&sleeper);
}

static void run_burner(void)
{
	resume_coroutine(&burner, "burner", 0);
	mix_burn(14 * MS);
	mix_slice_end(__LINE__ + 1);
	corotracer_await(&burner, CTP_REASON_YIELD, 0);
	leave_slice(&burner);
}

static void run_squeezed(void)
{
	mix_neighbour_start(0);
	resume_coroutine(&squeezed, "squeezed", 0);
	mix_burn(6 * MS);
	mix_slice_end(__LINE__ + 1);
	corotracer_await(&squeezed, CTP_REASON_YIELD, 0);
	leave_slice(&squeezed);
	mix_neighbour_stop(0);
}

/* At one of two awaits in turn. */
static void run_saver(int number, unsigned long round)
{
	int i;

	resume_coroutine(&savers[number], "saver", number);
	for (i = 0; i < NR_CELLS; i++)
		cells[number][i] = i;
	mix_count_uses(0, NR_CELLS);
	mix_save_frames(40, (unsigned)number + 1);
	if (round % 2) {
		mix_slice_end(__LINE__ + 1);
		corotracer_await(&savers[number], CTP_REASON_CHANNEL_RECV, 7);
	} else {
		mix_slice_end(__LINE__ + 1);
		corotracer_await(&savers[number], CTP_REASON_CHANNEL_SEND, 7);
	}
	leave_slice(&savers[number]);
}

/* Two slices in a round: the first one misses the caches, the second one does not. */
static void run_reader(unsigned long round)
{
	int i, k;

	resume_coroutine(&reader, "reader", 0);
	for (i = 0; i < NR_STREAM; i++)
		(void)stream[round * NR_STREAM + (unsigned long)i].first;
	mix_count_uses(NR_STREAM, 0);
	mix_slice_end(__LINE__ + 1);
	corotracer_await(&reader, CTP_REASON_IO_READ, 5);
	leave_slice(&reader);
	resume_coroutine(&reader, "reader", 0);
	for (k = 0; k < 64; k++)
		for (i = 0; i < NR_TABLE; i++)
			(void)table[i];
	mix_count_uses(64 * NR_TABLE, 0);
	mix_slice_end(__LINE__ + 1);
	corotracer_await(&reader, CTP_REASON_YIELD, 0);
	leave_slice(&reader);
}

/* Work without memory: a builder that waits for its items a tenth of the time would be a finding.
 */
static void mix_compute(void)
{
	unsigned long sum = 1, i;

	for (i = 0; i < 20000; i++) {
		sum = sum * 31 + i;
		__asm__ volatile("" : "+r"(sum));
	}
}

static void run_builder(void)
{
	volatile struct item *items;
	int i;

	resume_coroutine(&builder, "builder", 0);
	items = cacheray_calloc(struct item, NR_ITEMS);
	if (!items)
		abort();
	mix_count_allocation(NR_ITEMS * sizeof(*items));
	for (i = 0; i < NR_ITEMS; i++)
		items[i].value = items[i].key;
	mix_count_uses(NR_ITEMS, NR_ITEMS);
	free((void *)items);
	mix_compute();
	mix_slice_end(__LINE__ + 1);
	corotracer_await(&builder, CTP_REASON_YIELD, 0);
	leave_slice(&builder);
}

static void run_round(unsigned long round)
{
	if (!is_clean) {
		run_sleeper();
		run_burner();
		run_squeezed();
		run_reader(round);
	}
	run_saver(0, round);
	run_saver(1, round);
	run_builder();
}

static void *take_turns(void *arg)
{
	unsigned long number = (unsigned long)arg, round;

	mix_bind_thread();
	for (round = number; round < rounds; round += 2) {
		sem_wait(&turn[number]);
		run_round(round);
		sem_post(&turn[1 - number]);
	}
	return NULL;
}

static void begin_coroutines(void)
{
	char name[16];
	int i;

	if (!is_clean) {
		corotracer_spawn(&sleeper, "sleeper", NULL);
		corotracer_spawn(&burner, "burner", NULL);
		corotracer_spawn(&squeezed, "squeezed", NULL);
		corotracer_spawn(&reader, "reader", NULL);
	}
	for (i = 0; i < NR_SAVERS; i++) {
		snprintf(name, sizeof(name), "saver-%d", i);
		corotracer_spawn(&savers[i], name, NULL);
	}
	corotracer_spawn(&builder, "builder", NULL);
}

static void end_coroutine(struct corotracer_coro *co, const char *kind, int number)
{
	resume_coroutine(co, kind, number);
	mix_slice_end(0);
	corotracer_done(co);
	leave_slice(NULL);
	corotracer_end(co);
}

static void end_coroutines(void)
{
	int i;

	if (!is_clean) {
		end_coroutine(&sleeper, "sleeper", 0);
		end_coroutine(&burner, "burner", 0);
		end_coroutine(&squeezed, "squeezed", 0);
		end_coroutine(&reader, "reader", 0);
	}
	for (i = 0; i < NR_SAVERS; i++)
		end_coroutine(&savers[i], "saver", i);
	end_coroutine(&builder, "builder", 0);
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	unsigned long i;

	rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 6;
	is_clean = argc > 2 && !strcmp(argv[2], "clean");
	if (rounds > MOST)
		return 98;
	mix_save_frames(1, 1); /* by no coroutine */
	corotracer_init();
	begin_coroutines();
	mix_neighbour_start(1);
	for (i = 0; i < 2; i++)
		sem_init(&turn[i], 0, i == 0);
	for (i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, take_turns, (void *)i) != 0)
			return 97;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	mix_neighbour_stop(1);
	end_coroutines();
	mix_print_counts();
	return 0;
}
