/* SPDX-License-Identifier: MIT */
/* tokio_verdicts.c - judge the suspended tasks of Tokio. */
#include "inspect/tokio_verdicts.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inspect/verdicts.h"

/* Bits of a task's state; the same since Tokio 1.0. */
#define TASK_JOIN_INTEREST 8u
#define TASK_REFS(state)   ((state) >> 6)

#define OVERDUE_SECONDS    0.5

/* ---- time ------------------------------------------------------------------------------ */

/* CLOCK_MONOTONIC has an offset in another time namespace. */
static bool tokio_has_our_clock(const struct process_image *image)
{
	char path[64], ours[64] = "", theirs[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/time", (int)image->pid);
	return readlink("/proc/self/ns/time", ours, sizeof(ours) - 1) ==
		       readlink(path, theirs, sizeof(theirs) - 1) &&
	       !strcmp(ours, theirs);
}

bool tokio_wait_left(const struct inspection *in, const struct rust_wait *wait, double *left)
{
	struct timespec now;

	if (!wait->has_deadline || !in->tokio.has_clock)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	*left = (double)(wait->seconds - now.tv_sec) +
		((double)wait->nanoseconds - (double)now.tv_nsec) / 1e9;
	return true;
}

/* ---- one task --------------------------------------------------------------------------- */

static void task_judge_as(struct tokio_task *task, enum inspect_verdict verdict,
			  enum inspect_confidence confidence, const char *reason)
{
	if (task->confidence >= confidence)
		return;
	task->verdict = (uint8_t)verdict;
	task->confidence = (uint8_t)confidence;
	task->reason = reason;
}

/* The epoll set has the address of the ScheduledIo as its data, in newer versions of Tokio. */
static void wait_complete(const struct inspection *in, struct rust_wait *wait)
{
	size_t i;

	for (i = 0; wait->fd < 0 && wait->io && i < in->kernel.nr_watches; i++) {
		if (in->kernel.watches[i].data == wait->io)
			wait->fd = in->kernel.watches[i].fd;
	}
}

static void task_judge_wait(struct inspection *in, struct tokio_task *task, struct rust_wait *wait,
			    const struct judge_context *context)
{
	struct frame_wait judged = { .fd = wait->fd, .is_in_awaiter = wait->is_registered };
	double left;

	if (wait->is_read != wait->is_write)
		judged.direction = wait->is_read ? WAIT_READ : WAIT_WRITE;
	if (wait->fd >= 0) {
		wait_judge(&judged, kernel_state_ask(&in->kernel, wait->fd), context);
		task_judge_as(task, judged.verdict, judged.confidence, judged.reason);
	}
	if (tokio_wait_left(in, wait, &left) && left < -OVERDUE_SECONDS)
		task_judge_as(task, VERDICT_DEADLINE_PASSED,
			      wait->is_guess ? INSPECT_SUSPECT : INSPECT_STRONG,
			      "its deadline has passed, and no thread has run since");
}

/* The references besides those of the list of all tasks and of the JoinHandle are wakers. */
static bool task_has_no_waker(const struct tokio_task *task)
{
	return task->owner &&
	       TASK_REFS(task->state) == 1 + ((task->state & TASK_JOIN_INTEREST) != 0);
}

static void task_judge(struct inspection *in, struct tokio_task *task,
		       const struct judge_context *context)
{
	size_t i;

	task->verdict = VERDICT_WAITING;
	task->confidence = INSPECT_NONE;
	task->reason = NULL;
	if ((task->state & TOKIO_TASK_NOTIFIED) || task->has_changed)
		return;
	task_judge_wait(in, task, &task->places->wait, context);
	for (i = 0; i < task->places->nr_branch_waits; i++)
		task_judge_wait(in, task, &task->places->branch_waits[i], context);
	if (task_has_no_waker(task))
		task_judge_as(task, VERDICT_UNREACHABLE,
			      task->is_allocated ? INSPECT_PROVEN : INSPECT_SUSPECT,
			      "no waker of it exists: nothing can resume it but abort()");
}

/* ---- all tasks ---------------------------------------------------------------------------- */

size_t tokio_tasks_judge(struct inspection *in)
{
	struct judge_context context = {
		.has_io_uring = in->image->has_io_uring,
		.has_epoll = in->kernel.nr_watches > 0,
	};
	size_t i, k, faults = 0;

	in->tokio.has_clock = in->image->kind == IMAGE_RUNNING && tokio_has_our_clock(in->image);
	for (i = 0; i < in->tokio.nr; i++) {
		struct tokio_task *task = &in->tokio.tasks[i];

		wait_complete(in, &task->places->wait);
		for (k = 0; k < task->places->nr_branch_waits; k++)
			wait_complete(in, &task->places->branch_waits[k]);
		task_judge(in, task, &context);
		faults += task->verdict != VERDICT_WAITING;
	}
	return faults;
}

void tokio_tasks_confirm(struct inspection *in)
{
	size_t i;

	for (i = 0; i < in->tokio.nr; i++) {
		struct tokio_task *task = &in->tokio.tasks[i];

		if (task->verdict != VERDICT_WAITING &&
		    !tokio_task_read_again(&in->tokio, task, in->image))
			task->has_changed = true;
	}
}

void tokio_tasks_withdraw(struct inspection *in)
{
	size_t i;

	for (i = 0; i < in->tokio.nr; i++) {
		struct tokio_task *task = &in->tokio.tasks[i];

		if (task->verdict == VERDICT_UNREACHABLE) {
			task->confidence = INSPECT_SUSPECT;
			continue;
		}
		task->verdict = VERDICT_WAITING;
		task->confidence = INSPECT_NONE;
		task->reason = NULL;
	}
}
