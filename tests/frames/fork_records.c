/* SPDX-License-Identifier: MIT */
/*
 * fork_records.c - records of threads in a forked child: which of them are free.
 *
 * The generated code is included, because its records are not visible from outside.  No collector
 * is needed: a handle that names no segment makes a thread take a record, and is then reset.
 */
#include "ppt-Many.c"

#include <pthread.h>
#include <sys/wait.h>

#include "check.h"

#define NO_SEGMENT 0x7ffffff0

static pthread_barrier_t others_saved, others_end;

/* Returns the record of the calling thread. */
static struct thread *save_and_tell(void)
{
	struct ppt_Many_event e;

	memset(&e, 0, sizeof(e));
	store_relaxed(&ppt_Many_handle_.id, NO_SEGMENT);
	ppt_Many_event_save(&e);
	return self;
}

static int is_taken(const struct thread *t)
{
	return (load_relaxed(&t->state) & STATE_MASK) == THREAD_TAKEN;
}

static void *save_in_thread(void *arg)
{
	(void)arg;
	return save_and_tell();
}

/* Keeps its record until it may end. */
static void *save_and_stay(void *arg)
{
	*(struct thread **)arg = save_and_tell();
	pthread_barrier_wait(&others_saved);
	pthread_barrier_wait(&others_end);
	return NULL;
}

static struct thread *record_of_new_thread(void)
{
	pthread_t thread;
	void *record;

	CHECK(pthread_create(&thread, NULL, save_in_thread, NULL) == 0);
	CHECK(pthread_join(thread, &record) == 0);
	return record;
}

/* A new thread of the child saves first, then many more: none has the record of this thread. */
static int new_thread_comes_first(const struct thread *other)
{
	struct thread *own = self, *first[8];
	pthread_t threads_[8];
	unsigned i;

	(void)other;
	pthread_barrier_init(&others_saved, NULL, 9);
	pthread_barrier_init(&others_end, NULL, 9);
	if (record_of_new_thread() == own)
		return 2;
	for (i = 0; i < 8; i++)
		CHECK(pthread_create(&threads_[i], NULL, save_and_stay, &first[i]) == 0);
	pthread_barrier_wait(&others_saved);
	for (i = 0; i < 8; i++) {
		if (!first[i] || first[i] == own)
			return 3;
	}
	if (save_and_tell() != own || !is_taken(own))
		return 4;
	pthread_barrier_wait(&others_end);
	for (i = 0; i < 8; i++)
		pthread_join(threads_[i], NULL);
	return 0;
}

/* Records of threads that the child does not have are used again. */
static int forking_thread_comes_first(const struct thread *other)
{
	struct thread *own = self;

	if (save_and_tell() != own || !is_taken(own))
		return 2;
	return load_relaxed(&other->state) == THREAD_FREE ? 0 : 3;
}

/* Stops after it has taken a record, inside its first save(). */
static void *begin_and_stay(void *arg)
{
	*(struct thread **)arg = thread_begin();
	pthread_barrier_wait(&others_saved);
	pthread_barrier_wait(&others_end);
	return NULL;
}

/* A new thread has a record before the forking thread comes: it keeps it. */
static int new_thread_has_begun(const struct thread *other)
{
	struct thread *begun = NULL;
	pthread_t thread;

	pthread_barrier_init(&others_saved, NULL, 2);
	pthread_barrier_init(&others_end, NULL, 2);
	CHECK(pthread_create(&thread, NULL, begin_and_stay, &begun) == 0);
	pthread_barrier_wait(&others_saved);
	save_and_tell();
	if (!begun || !is_taken(begun))
		return 2;
	if (load_relaxed(&other->state) != THREAD_FREE)
		return 3;
	pthread_barrier_wait(&others_end);
	pthread_join(thread, NULL);
	return 0;
}

static void run_in_child(int (*child)(const struct thread *), const struct thread *other)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid)
		_exit(child(other));
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

int main(void)
{
	struct thread *other = NULL;
	pthread_t thread;

	CHECK(save_and_tell() != NULL);
	pthread_barrier_init(&others_saved, NULL, 2);
	pthread_barrier_init(&others_end, NULL, 2);
	CHECK(pthread_create(&thread, NULL, save_and_stay, &other) == 0);
	pthread_barrier_wait(&others_saved);
	CHECK(other && other != self);
	run_in_child(new_thread_comes_first, other);
	run_in_child(forking_thread_comes_first, other);
	run_in_child(new_thread_has_begun, other);
	pthread_barrier_wait(&others_end);
	pthread_join(thread, NULL);
	return 0;
}
