/* SPDX-License-Identifier: MIT */
/* verdicts.h - judge a suspended coroutine by the state of the descriptor it waits for. */
#ifndef INSPECT_VERDICTS_H
#define INSPECT_VERDICTS_H

#include "inspect/inspection.h"
#include "inspect/kernel_state.h"
#include "inspect/waits.h"

/*
 * Set the verdict of @wait.  @d is what the kernel says of its descriptor, the same in two looks
 * with all threads asleep; NULL: unknown.  @has_io_uring: the kernel may watch descriptors in a way
 * that cannot be seen.
 */
void wait_judge(struct frame_wait *wait, const struct kernel_descriptor *d, bool has_io_uring);

#endif
