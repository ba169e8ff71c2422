/* SPDX-License-Identifier: MIT */
/* event.c - names of events, reasons and states, and the check for corrupt events. */
#include "trace/event.h"

#include <string.h>

#include "trace/item.h"
#include "trace/schema.h"

static const char *const reasons[NR_TRACE_REASONS] = {
	[TRACE_REASON_UNKNOWN] = "unknown",
	[TRACE_REASON_IO_READ] = "io-read",
	[TRACE_REASON_IO_WRITE] = "io-write",
	[TRACE_REASON_ACCEPT] = "accept",
	[TRACE_REASON_CONNECT] = "connect",
	[TRACE_REASON_TIMER] = "timer",
	[TRACE_REASON_MUTEX] = "mutex",
	[TRACE_REASON_SEMAPHORE] = "semaphore",
	[TRACE_REASON_CHANNEL_SEND] = "channel-send",
	[TRACE_REASON_CHANNEL_RECV] = "channel-recv",
	[TRACE_REASON_JOIN] = "join",
	[TRACE_REASON_YIELD] = "yield",
	[TRACE_REASON_SIGNAL] = "signal",
	[TRACE_REASON_USER] = "user",
};

static const char *const states[NR_TRACE_STATES] = {
	[TRACE_STATE_NEW] = "new",         [TRACE_STATE_READY] = "ready",
	[TRACE_STATE_RUNNING] = "running", [TRACE_STATE_SUSPENDED] = "suspended",
	[TRACE_STATE_ENDED] = "ended",
};

const char *trace_kind_name(unsigned kind)
{
	return kind < NR_TRACE_KINDS ? schema_kinds[kind].name : NULL;
}

int trace_kind_from_name(const char *name, size_t size)
{
	int i;

	for (i = 0; i < NR_TRACE_KINDS; i++) {
		const char *known = schema_kinds[i].name;

		if (!strncmp(known, name, size) && !known[size])
			return i;
	}
	return -1;
}

const char *trace_reason_name(unsigned reason)
{
	return reason < NR_TRACE_REASONS ? reasons[reason] : NULL;
}

int trace_reason_from_name(const char *name)
{
	int i;

	for (i = 0; i < NR_TRACE_REASONS; i++) {
		if (!strcmp(reasons[i], name))
			return i;
	}
	return -1;
}

const char *trace_state_name(unsigned state)
{
	return state < NR_TRACE_STATES ? states[state] : NULL;
}

uint8_t trace_state_from_name(const char *name)
{
	unsigned i;

	for (i = 1; i < NR_TRACE_STATES; i++) {
		if (!strcmp(states[i], name))
			return (uint8_t)i;
	}
	return TRACE_STATE_UNKNOWN;
}

/* The highest thread id that Linux gives. */
#define PID_MOST (UINT64_C(1) << 22)

const char *trace_event_problem(const struct trace_event *ev)
{
	if (!ev->ts)
		return "ts is 0";
	if (!(ev->ts & TRACE_TS_LOW))
		return "ts is a flag, not a time";
	if (!ev->seq)
		return "seq is 0: a slot that was never written";
	if (ev->tid > INT32_MAX)
		return "tid is no thread id";
	/* Read eight bytes too far: the thread id is in ts, the seq in addr, an empty addr in tid.
	 */
	if (!ev->tid && ev->ts <= PID_MOST && ev->addr && ev->addr < 65536)
		return "ts is a thread id, and tid is none";
	return NULL;
}
