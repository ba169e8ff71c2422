/* SPDX-License-Identifier: MIT */
/*
 * filter_coroutines.h - --site and --kind of the commands that judge coroutines.
 *
 * A detector needs every event of a coroutine.  So these commands choose coroutines, not events:
 * those that have an event of the kinds at the sites, in the range of times.  Their other events
 * count as well.
 */
#ifndef TOOL_FILTER_COROUTINES_H
#define TOOL_FILTER_COROUTINES_H

#include "base/err.h"
#include "base/u64map.h"
#include "trace/trace_filter.h"

/* All zero: none were chosen. */
struct filter_coroutines {
	bool is_set;
	struct u64map ids; /* chosen */
	uint64_t nr, of;   /* coroutines: chosen, and with events in the trace */
	char *text;        /* a sentence that says which; NULL: all */
};

/*
 * Reads @trace if @filter has sites or kinds, which are removed from it: it selects times and
 * --coro afterwards.  0 or a negative errno.
 */
int filter_coroutines_choose(struct filter_coroutines *c, const char *trace,
			     struct trace_filter *filter, struct err *err);

void filter_coroutines_release(struct filter_coroutines *c);

#endif
