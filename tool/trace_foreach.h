/* SPDX-License-Identifier: MIT */
/* trace_foreach.h - read a trace to its end, with progress. */
#ifndef TOOL_TRACE_FOREACH_H
#define TOOL_TRACE_FOREACH_H

#include "trace/trace_reader.h"

/* Handles one item. 0 or a negative errno, with a message in @err. */
typedef int take_item(void *arg, const struct trace_item *item, struct err *err);

/*
 * Pass all items of @reader, opened as @name, to @take. 0 or a negative errno, with a message in
 * @err.
 */
int read_trace(const char *name, struct trace_reader *reader, take_item *take, void *arg,
	       struct err *err);

/*
 * -EINVAL if the file has only corrupt lines, with the reason for the first line in @err; else 0.
 */
int expect_events(const char *name, uint64_t events, const struct trace_stats *stats,
		  struct err *err);

#endif
