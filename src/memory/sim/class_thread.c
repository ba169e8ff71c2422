/* SPDX-License-Identifier: MIT */
/* class_thread.c - classify the misses of a simulation in a thread of their own. */
#include "memory/sim/class_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "memory/sim/classes.h"
#include "memory/sim/machine.h"

#define BATCHES    4u
#define BATCH_FULL 8192u /* uses of a level: then the batch is handed over */
#define BATCH_ROOM (BATCH_FULL + LRU_USES)

struct class_thread {
	pthread_t thread;
	pthread_mutex_t lock; /* of the fields up to `failed` */
	pthread_cond_t given, done;
	uint32_t nr_given, nr_done; /* batches so far; they differ by BATCHES at most */
	bool is_ending;
	int failed;
	struct class_batch batch[BATCHES]; /* from nr_done to before nr_given: the thread's */
};

/* ---- the thread -------------------------------------------------------------- */

static int class_thread_classify(const struct class_batch *b)
{
	uint32_t k;
	int ret = 0;

	for (k = 0; ret == 0 && k < b->nr_levels; k++)
		ret = classes_of_uses(b->path[k], b->uses[k], b->nr_uses[k], b->weight,
				      b->thread->level[k].by_class);
	return ret;
}

static void *class_thread_run(void *arg)
{
	struct class_thread *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		const struct class_batch *b = &p->batch[p->nr_done % BATCHES];
		int ret = p->failed;

		if (p->nr_done == p->nr_given) {
			if (p->is_ending)
				break;
			pthread_cond_wait(&p->given, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		if (ret == 0)
			ret = class_thread_classify(b);
		pthread_mutex_lock(&p->lock);
		p->failed = ret;
		p->nr_done++;
		pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- the simulating thread --------------------------------------------------- */

static void class_thread_free(struct class_thread *p)
{
	uint32_t i, k;

	for (i = 0; i < BATCHES; i++) {
		for (k = 0; k < SIM_LEVELS_MAX; k++)
			free(p->batch[i].uses[k]);
	}
	pthread_cond_destroy(&p->given);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static bool class_thread_alloc(struct class_thread *p, uint32_t nr_levels)
{
	uint32_t i, k;

	for (i = 0; i < BATCHES; i++) {
		p->batch[i].nr_levels = nr_levels;
		for (k = 0; k < nr_levels; k++) {
			p->batch[i].uses[k] = malloc((size_t)BATCH_ROOM *
						     sizeof(*p->batch[i].uses[k]));
			if (!p->batch[i].uses[k])
				return false;
		}
	}
	return true;
}

struct class_thread *class_thread_start(uint32_t nr_levels)
{
	struct class_thread *p = calloc(1, sizeof(*p));
	sigset_t all, old;
	bool started = false;

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->given, NULL);
	pthread_cond_init(&p->done, NULL);
	if (class_thread_alloc(p, nr_levels)) {
		/* Signals go to the thread that simulates. */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		started = pthread_create(&p->thread, NULL, class_thread_run, p) == 0;
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	if (started)
		return p;
	class_thread_free(p);
	return NULL;
}

/* Hand the batch over if it has uses, then wait until at most @most are not done. */
static int class_thread_give(struct class_thread *p, uint32_t most)
{
	struct class_batch *b = &p->batch[p->nr_given % BATCHES]; /* only this thread changes it */
	bool has_uses = false;
	uint32_t k;
	int ret;

	for (k = 0; k < b->nr_levels; k++)
		has_uses |= b->nr_uses[k] > 0;
	pthread_mutex_lock(&p->lock);
	if (has_uses) {
		p->nr_given++;
		pthread_cond_signal(&p->given);
	}
	while (p->nr_given - p->nr_done > most)
		pthread_cond_wait(&p->done, &p->lock);
	ret = p->failed;
	pthread_mutex_unlock(&p->lock);
	b = &p->batch[p->nr_given % BATCHES];
	for (k = 0; k < b->nr_levels; k++)
		b->nr_uses[k] = 0;
	return ret;
}

struct class_batch *class_thread_batch(struct class_thread *p, struct thread *thread,
				       uint64_t weight)
{
	struct class_batch *b = &p->batch[p->nr_given % BATCHES];
	bool is_full = b->thread != thread || b->weight != weight;
	uint32_t k;

	for (k = 0; k < b->nr_levels; k++)
		is_full |= b->nr_uses[k] > BATCH_FULL;
	if (is_full && class_thread_give(p, BATCHES - 1) < 0)
		return NULL;
	b = &p->batch[p->nr_given % BATCHES];
	b->thread = thread;
	b->weight = weight;
	return b;
}

int class_thread_wait(struct class_thread *p)
{
	return class_thread_give(p, 0);
}

int class_thread_end(struct class_thread *p)
{
	int ret;

	if (!p)
		return 0;
	ret = class_thread_wait(p);
	pthread_mutex_lock(&p->lock);
	p->is_ending = true;
	pthread_cond_signal(&p->given);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	class_thread_free(p);
	return ret;
}
