/* SPDX-License-Identifier: MIT */
/* read_trace.h - read a trace to its end, with progress: for the commands that do. */
#ifndef TOOL_READ_TRACE_H
#define TOOL_READ_TRACE_H

#include "trace/reader.h"

/* What becomes of an item; 0 or a negative errno, with words. */
typedef int take_item(void *arg, const struct trace_item *item, struct err *err);

/* All of @reader, which was opened as @name, through @take.  0 or a negative errno, with words. */
int read_trace(const char *name, struct trace_reader *reader, take_item *take, void *arg,
	       struct err *err);

/* A file of nothing but garbage is no trace: said with its first line.  0, or -EINVAL. */
int expect_events(const char *name, uint64_t events, const struct trace_stats *stats,
		  struct err *err);

#endif
