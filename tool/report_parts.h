/* SPDX-License-Identifier: MIT */
/*
 * report_parts.h - the analyses of a trace: one, or one for each part of a merged trace.
 *
 * What a program does says nothing about the programs that were traced beside it: the findings of a
 * merged trace are those of its parts.
 */
#ifndef TOOL_REPORT_PARTS_H
#define TOOL_REPORT_PARTS_H

#include "analyze/analysis.h"
#include "trace/trace_parts.h"
#include "trace/trace_reader.h"

struct report_part {
	struct analysis *analysis;
	struct trace_stats stats; /* of a merged trace: of this part */
	char *title;              /* of a merged trace: "both.ct, part 1 of 2 (a.ct)" */
};

/* All zero: not opened. */
struct report_parts {
	struct report_part *list;
	size_t nr;
	bool is_merged;
	struct trace_parts parts; /* of a merged trace: those of list, in its order */
};

/* Looks whether the trace @path is merged, and creates the analyses.  0, or -errno and @err set. */
int report_parts_open(struct report_parts *p, const char *path,
		      const struct analysis_options *options, struct symbols *symbols,
		      struct err *err);

/* Passes the item to the analyses that it concerns; 0 or -ENOMEM. */
int report_parts_add(struct report_parts *p, const struct trace_item *item);

/* After the last item.  @is_filtered: events were left out.  0 or -ENOMEM. */
int report_parts_finish(struct report_parts *p, const struct trace_stats *stats, bool is_filtered);

void report_parts_release(struct report_parts *p);

#endif
