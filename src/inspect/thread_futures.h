/* SPDX-License-Identifier: MIT */
/* thread_futures.h - the std::future or the end of another thread that a thread waits for. */
#ifndef INSPECT_THREAD_FUTURES_H
#define INSPECT_THREAD_FUTURES_H

#include "inspect/inspection.h"

struct thread_future {
	uint64_t state;     /* address of the shared state */
	const char *source; /* "std::promise", "std::async", "std::packaged_task": a constant */
	pid_t runner;       /* the thread of std::async that computes the value; 0: unknown */
};

/* True if the thread is blocked in get() or wait() of a future of libstdc++. */
bool thread_future_read(struct inspection *in, const struct image_thread *thread,
			struct thread_future *out);

/*
 * The thread that this one joins (pthread_join(), or the future of std::async without a time);
 * 0: none.  x86_64 with glibc.
 */
pid_t thread_join_read(const struct inspection *in, const struct image_thread *thread);

#endif
