/* SPDX-License-Identifier: MIT */
/* event.c - what cannot be an event. */
#include "trace/event.h"

#include <stddef.h>

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
	return NULL;
}
