/* SPDX-License-Identifier: MIT */
/* info.h - the data of `corotracer info`, printed as text or JSON. */
#ifndef TOOL_INFO_H
#define TOOL_INFO_H

#include <stdbool.h>

#include "trace/trace_reader.h"
#include "trace/summary.h"

/* Everything known about the trace. */
struct info {
	const char *trace_path;
	char *sidecar_path; /* JSON lines: where the sidecar is, or would be; NULL: cannot exist */
	struct trace_stats stats;
	struct trace_summary sum;
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

/* Print on stdout. info_print_json() returns 0 or a negative errno. */
void info_print_text(const struct info *info);
int info_print_json(const struct info *info);

/*
 * For the text form: "  events        " without a newline; an empty label continues the line above.
 */
void info_label(const char *text);

/* Coroutines that had not ended, grouped by place, largest group first. */
void info_print_leftovers(const struct trace_summary *sum);

#endif
