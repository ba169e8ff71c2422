/* SPDX-License-Identifier: MIT */
/* thread_locks.c - recognize pthread_mutex_lock() by its futex. */
#include "inspect/thread_locks.h"

#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "inspect/thread_futures.h"

#define MUTEX_CONTENDED 2 /* value of the futex while threads wait */
#define MUTEX_KIND_MAX  3 /* PTHREAD_MUTEX_ADAPTIVE_NP */

/* The begin of glibc's pthread_mutex_t on 64-bit machines. */
struct glibc_mutex {
	int32_t lock;
	uint32_t count;
	int32_t owner;
	uint32_t nusers;
	int32_t kind;
};

static bool thread_is_in(const struct process_image *image, pid_t tid)
{
	size_t i;

	for (i = 0; i < image->nr_threads; i++) {
		if (image->threads[i].tid == tid)
			return true;
	}
	return false;
}

bool thread_lock_read(const struct process_image *image, const struct image_thread *thread,
		      struct thread_lock *out)
{
	struct glibc_mutex m;

	/* A condition variable waits for another value, with a bit set. */
	if (!thread->has_syscall || thread->syscall_nr != SYS_futex ||
	    ((int)thread->args[1] & FUTEX_CMD_MASK) != FUTEX_WAIT ||
	    (uint32_t)thread->args[2] != MUTEX_CONTENDED ||
	    image_read(image, thread->args[0], &m, sizeof(m)) != (ssize_t)sizeof(m))
		return false;
	if (m.lock != MUTEX_CONTENDED || !m.nusers || (m.kind & 127) > MUTEX_KIND_MAX ||
	    !thread_is_in(image, m.owner))
		return false;
	*out = (struct thread_lock){ .mutex = thread->args[0], .holder = m.owner };
	return true;
}

static void print_thread_future(struct printer *p, const struct thread_future *future)
{
	char text[32];

	snprintf(text, sizeof(text), "%#llx", (unsigned long long)future->state);
	print_text(p, ", waits for the future of a %s (%s)", future->source, text);
	if (future->runner)
		print_text(p, ", run by thread %d", (int)future->runner);
	print_object(p, "waits_for");
	print_string(p, "kind", "future");
	print_string(p, "type", future->source);
	print_string(p, "object", text);
	print_known(p, "holder", NULL, future->runner != 0, (uint64_t)future->runner, NULL);
	print_object_end(p);
}

static void print_thread_join(struct printer *p, pid_t other)
{
	print_text(p, ", waits for the end of thread %d", (int)other);
	print_object(p, "waits_for");
	print_string(p, "kind", "thread");
	print_integer(p, "holder", NULL, other);
	print_object_end(p);
}

static void print_thread_lock(struct printer *p, const struct thread_lock *lock)
{
	char text[32];

	snprintf(text, sizeof(text), "%#llx", (unsigned long long)lock->mutex);
	print_text(p, ", waits for mutex %s, held by thread %d", text, (int)lock->holder);
	print_object(p, "waits_for");
	print_string(p, "kind", "lock");
	print_string(p, "object", text);
	print_integer(p, "holder", NULL, lock->holder);
	print_object_end(p);
}

void print_thread_wait(struct inspection *in, struct printer *p, const struct image_thread *thread)
{
	struct thread_future future;
	struct thread_lock lock;
	pid_t other;

	if (thread_lock_read(in->image, thread, &lock))
		print_thread_lock(p, &lock);
	else if (thread_future_read(in, thread, &future))
		print_thread_future(p, &future);
	else if ((other = thread_join_read(in, thread)))
		print_thread_join(p, other);
	else
		print_string(p, "waits_for", NULL);
}
