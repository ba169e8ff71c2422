/* SPDX-License-Identifier: MIT */
/* verdicts.h - judge a suspended coroutine by the state of the descriptor it waits for. */
#ifndef INSPECT_VERDICTS_H
#define INSPECT_VERDICTS_H

#include "inspect/inspection.h"
#include "inspect/kernel_state.h"
#include "inspect/waits.h"

struct judge_context {
	bool has_io_uring; /* the kernel may watch descriptors in a way that cannot be seen */
	bool has_epoll;    /* the program has an epoll set that watches something */
};

/*
 * Set the verdict of @wait.  @d is what the kernel says of its descriptor, the same in two looks
 * with all threads asleep; NULL: unknown.
 */
void wait_judge(struct frame_wait *wait, const struct kernel_descriptor *d,
		const struct judge_context *context);

#endif
