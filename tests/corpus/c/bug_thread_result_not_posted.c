// SPDX-License-Identifier: MIT
/*
 * bug_thread_result_not_posted.c - fibers give jobs to a helper thread and wait at an eventfd.  If
 * two jobs are done at once, the thread posts only one result.
 *
 * corpus: bug
 * class: lost-wakeup|long-suspended
 * at: @result
 * victims: thumbnail-*
 * never: deadlock, closed-under-waiter
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fiber_kit.h"

struct job {
	int fd;
	int number;
	struct job *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t any = PTHREAD_COND_INITIALIZER;
static struct job *jobs;

static void *helper(void *arg)
{
	uint64_t one = 1;

	(void)arg;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!jobs)
			pthread_cond_wait(&any, &lock);
		struct job *j = jobs;

		jobs = NULL;
		pthread_mutex_unlock(&lock);
		usleep(3000);
		/* The bug: the list may have two. */
		if (write(j->fd, &one, sizeof(one)) < 0)
			return NULL;
	}
}

static void thumbnail(void *arg)
{
	struct job j = { .fd = eventfd(0, EFD_NONBLOCK), .number = (int)(long)arg };
	uint64_t count;

	for (int i = 0; i < 25; i++) {
		fk_sleep(11 + j.number % 5 * 7);
		pthread_mutex_lock(&lock);
		j.next = jobs;
		jobs = &j;
		pthread_cond_signal(&any);
		pthread_mutex_unlock(&lock);
		fk_readable(j.fd); /* @result */
		if (read(j.fd, &count, sizeof(count)) < 0)
			return;
	}
	close(j.fd);
}

static void progress(void *arg)
{
	(void)arg;
	for (;;)
		fk_sleep(40);
}

int main(void)
{
	pthread_t thread;
	char name[24];

	fk_setup(1, FK_FIFO);
	for (long i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "thumbnail-%ld", i);
		fk_spawn(name, thumbnail, (void *)i);
	}
	fk_spawn("progress", progress, NULL);
	pthread_create(&thread, NULL, helper, NULL);
	fk_run(3000);
	return 0;
}
