/* SPDX-License-Identifier: MIT */
/* thread_locks.h - the mutex that a thread waits for, and the thread that holds it. */
#ifndef INSPECT_THREAD_LOCKS_H
#define INSPECT_THREAD_LOCKS_H

#include "base/printer.h"
#include "inspect/inspection.h"

struct thread_lock {
	uint64_t mutex; /* address */
	pid_t holder;
};

/* True if the thread waits for a mutex of glibc whose holder is a thread of the process. */
bool thread_lock_read(const struct process_image *image, const struct image_thread *thread,
		      struct thread_lock *out);

/*
 * ", waits for mutex 0x404080, held by thread 4712", or the std::future or thread that it waits
 * for; "waits_for" in JSON.
 */
void print_thread_wait(struct inspection *in, struct printer *p, const struct image_thread *thread);

#endif
