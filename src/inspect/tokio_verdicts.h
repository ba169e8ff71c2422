/* SPDX-License-Identifier: MIT */
/*
 * tokio_verdicts.h - judge the suspended tasks of Tokio.
 *
 * The state of a task counts its references: one of the list of all tasks, one of the JoinHandle,
 * one per waker.  A task without a waker can never be woken: Tokio itself counts, and no search of
 * memory is needed.
 */
#ifndef INSPECT_TOKIO_VERDICTS_H
#define INSPECT_TOKIO_VERDICTS_H

#include "inspect/inspection.h"

/* Complete the descriptors of tasks with what epoll sets say, and judge.  Returns the faults. */
size_t tokio_tasks_judge(struct inspection *in);

/*
 * The second look: read the tasks with a fault again.  One that runs or has ended meanwhile is not
 * judged any more.
 */
void tokio_tasks_confirm(struct inspection *in);

/* Threads ran: what the kernel and the clock say does not count, and nothing is proven. */
void tokio_tasks_withdraw(struct inspection *in);

/* Seconds until the deadline.  False: it has none, or the clock of the process is not known. */
bool tokio_wait_left(const struct inspection *in, const struct rust_wait *wait, double *left);

#endif
