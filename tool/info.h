/* SPDX-License-Identifier: MIT */
/* info.h - the data of `corotracer info`, printed as text or JSON. */
#ifndef TOOL_INFO_H
#define TOOL_INFO_H

#include <stdbool.h>

#include "base/printer.h"
#include "trace/trace_reader.h"
#include "trace/summary.h"
#include "trace/trace_parts.h"

/* Events of a part of a merged trace. */
struct info_part {
	uint64_t events, others; /* transitions, and all others */
	struct u64map coroutines;
};

/* All zero: a trace that is not merged. */
struct info_parts {
	struct trace_parts parts;
	struct info_part *counts; /* one for each */
	size_t nr;
};

/* Called with every item.  0 or -ENOMEM. */
int info_parts_add(struct info_parts *p, const struct trace_item *item);

/* The parts, if there are any. */
void info_parts_print(struct printer *p, const struct info_parts *parts);

void info_parts_release(struct info_parts *p);

/* Everything known about the trace. */
struct info {
	const char *trace_path;
	const struct trace_filter *filter;
	char *sidecar_path; /* JSON lines: where the sidecar is, or would be; NULL: cannot exist */
	struct trace_stats stats;
	struct trace_summary sum;
	struct info_parts parts;
};

/* The trace describes its run: by a sidecar, or by the metadata of a CTF trace. */
static inline bool info_has_facts(const struct info *info)
{
	return info->stats.has_sidecar || info->sum.has_run || info->sum.has_totals;
}

/* The trace is complete and not corrupt, as far as known.  Decides the exit status. */
static inline bool info_is_sound(const struct info *info)
{
	return trace_stats_are_clean(&info->stats) &&
	       trace_verdict(&info->stats) != TRACE_INCOMPLETE;
}

/* Print on stdout.  Returns 0 or a negative errno. */
int info_print(const struct info *info, bool json);

/* ---- parts ------------------------------------------------------------------------- */

/* Text: "  events        " without a newline; an empty label continues the line above. */
void info_label(struct printer *p, const char *text);

/* Text: "3 lines", "1 line". */
void info_print_some(struct printer *p, uint64_t value, const char *one, const char *many);

/* What the collector recorded about the run: info_run.c. */
void info_print_run(struct printer *p, const struct info *info);

/* Text: coroutines that had not ended, grouped by place, largest group first. */
void info_print_leftovers(struct printer *p, const struct trace_summary *sum);

/* Where a group of one was created, if no other place is known of it; else NULL. */
const char *info_leftover_created(const struct trace_summary *sum, const struct leftover_group *g);

#endif
