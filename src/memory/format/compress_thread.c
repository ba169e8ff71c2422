/* SPDX-License-Identifier: MIT */
/* compress_thread.c - a thread that compresses blocks while the next ones are packed. */
#include "memory/format/compress_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include <zstd.h>

struct press {
	pthread_t thread;
	pthread_mutex_t lock; /* protects all fields below except `zstd` */
	pthread_cond_t work, done;
	struct press_job *first, **last;
	bool over;
	ZSTD_CCtx *zstd; /* used only by the worker */
};

void press_job_do(struct press_job *job, ZSTD_CCtx *zstd)
{
	size_t got = ZSTD_compressCCtx(zstd, job->stored, job->room, job->plain, job->size,
				       job->level);

	job->stored_size = !ZSTD_isError(got) && got < job->size ? got : 0;
}

static struct press_job *press_next_job(struct press *p)
{
	struct press_job *job;

	while (!p->first && !p->over)
		pthread_cond_wait(&p->work, &p->lock);
	job = p->first;
	if (job) {
		p->first = job->next;
		if (!p->first)
			p->last = &p->first;
	}
	return job;
}

static void *press_work(void *arg)
{
	struct press *p = arg;
	struct press_job *job;

	pthread_mutex_lock(&p->lock);
	while ((job = press_next_job(p))) {
		pthread_mutex_unlock(&p->lock);
		press_job_do(job, p->zstd);
		pthread_mutex_lock(&p->lock);
		job->done = true;
		pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Start the worker with all signals blocked: the main thread handles them. */
static bool press_start(struct press *p)
{
	sigset_t all, before;
	bool started;

	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
		return false;
	started = pthread_create(&p->thread, NULL, press_work, p) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

struct press *press_new(void)
{
	struct press *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->last = &p->first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->done, NULL);
	p->zstd = ZSTD_createCCtx();
	if (p->zstd && press_start(p))
		return p;
	ZSTD_freeCCtx(p->zstd);
	free(p);
	return NULL;
}

void press_give(struct press *p, struct press_job *job)
{
	job->next = NULL;
	job->done = false;
	pthread_mutex_lock(&p->lock);
	*p->last = job;
	p->last = &job->next;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

void press_wait(struct press *p, const struct press_job *job)
{
	pthread_mutex_lock(&p->lock);
	while (!job->done)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

void press_free(struct press *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->over = true;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	ZSTD_freeCCtx(p->zstd);
	free(p);
}
