/* SPDX-License-Identifier: MIT */
/*
 * verdicts.c - judge a suspended coroutine by the state of the descriptor it waits for.
 *
 * All threads sleep.  If an epoll set watched the descriptor for what it is ready for, a thread
 * would have been woken: the state is a fault only if no further event can come.
 */
#include "inspect/verdicts.h"

#include <errno.h>
#include <sys/epoll.h>

static void judge_as(struct frame_wait *wait, enum inspect_verdict verdict,
		     enum inspect_confidence confidence, const char *reason)
{
	wait->verdict = (uint8_t)verdict;
	wait->confidence = (uint8_t)confidence;
	wait->reason = reason;
}

/* The events that the descriptor is ready for, as epoll reports them. */
static uint32_t descriptor_events(const struct descriptor_state *state)
{
	uint32_t events = 0;

	if (state->can_read)
		events |= EPOLLIN | EPOLLRDNORM;
	if (state->can_write)
		events |= EPOLLOUT | EPOLLWRNORM;
	if (state->has_hung_up)
		events |= EPOLLRDHUP;
	return events;
}

static bool is_ready_for(const struct frame_wait *wait, const struct descriptor_state *state)
{
	switch (wait->direction) {
	case WAIT_WRITE:
		return state->can_write;
	case WAIT_READ:
		return state->can_read;
	default:
		/* A connection is writable nearly always: only unread data counts. */
		return state->can_read &&
		       (state->unread || state->is_listening || state->has_hung_up);
	}
}

static const char *why_not_taken(const struct frame_wait *wait, const struct kernel_descriptor *d)
{
	uint32_t wanted = wait->direction == WAIT_WRITE ? EPOLLOUT : EPOLLIN;

	if (!d->is_watched)
		return "it is ready, and no epoll set contains it";
	if (d->watch.is_disarmed)
		return "it is ready, and its one-shot registration is disarmed";
	if (!(d->watch.events & wanted))
		return wanted == EPOLLOUT ? "it is writable, and is registered without EPOLLOUT"
					  : "it is readable, and is registered without EPOLLIN";
	if (d->watch.is_edge && (descriptor_events(&d->state) & d->watch.events))
		return "it is ready, and its edge was taken before";
	return NULL;
}

static void judge_ready(struct frame_wait *wait, const struct kernel_descriptor *d,
			bool has_io_uring)
{
	const char *reason = is_ready_for(wait, &d->state) ? why_not_taken(wait, d) : NULL;
	enum inspect_confidence confidence = wait->is_in_awaiter && wait->direction != WAIT_EITHER
						     ? INSPECT_STRONG
						     : INSPECT_SUSPECT;

	if (!reason || (has_io_uring && !d->is_watched))
		return;
	if (d->state.kind == DESCRIPTOR_TIMERFD)
		judge_as(wait, VERDICT_DEADLINE_PASSED, confidence,
			 "its timer has expired, and nothing reads it");
	else
		judge_as(wait, VERDICT_READY_NOT_TAKEN, confidence, reason);
}

void wait_judge(struct frame_wait *wait, const struct kernel_descriptor *d,
		const struct judge_context *context)
{
	judge_as(wait, VERDICT_WAITING, INSPECT_NONE, NULL);
	if (wait->fd < 0 || !d)
		return;
	/* The name of a member is no proof that it is a descriptor; a program with epoll has some.
	 */
	if (d->error == -EBADF && wait->is_in_awaiter && context->has_epoll)
		judge_as(wait, VERDICT_CLOSED, INSPECT_PROVEN,
			 "the descriptor that it waits for is closed");
	else if (d->error == -EBADF)
		judge_as(wait, VERDICT_CLOSED, INSPECT_SUSPECT,
			 "a descriptor that it holds is closed");
	else if (!d->error && d->state.is_asked)
		judge_ready(wait, d, context->has_io_uring);
}
