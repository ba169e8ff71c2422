/* SPDX-License-Identifier: MIT */
/* info.h - what `corotracer info` found out about a trace, and two ways to show it. */
#ifndef TOOL_INFO_H
#define TOOL_INFO_H

#include <stdbool.h>

#include "trace/reader.h"
#include "trace/summary.h"

/* All that the trace said. */
struct info {
	const char *trace_path;
	char *sidecar_path; /* of JSON lines: where it is, or would be; NULL: there can be none */
	struct trace_stats stats;
	struct trace_summary sum;
};

/* Somebody says what run it is of: a sidecar, or the facts of a CTF trace. */
static inline bool info_has_facts(const struct info *info)
{
	return info->stats.has_sidecar || info->sum.has_run || info->sum.has_totals;
}

/* Everything that should be in the trace is there, as far as is known: the exit status. */
static inline bool info_is_sound(const struct info *info)
{
	return trace_stats_are_clean(&info->stats) &&
	       trace_verdict(&info->stats) != TRACE_INCOMPLETE;
}

/* On stdout.  info_print_json() returns 0 or a negative errno. */
void info_print_text(const struct info *info);
int info_print_json(const struct info *info);

/* For the text: "  events        " without a newline; an empty one continues the one above. */
void info_label(const char *text);

/* Those who were still there at the end, by place; most in number first. */
void info_print_leftovers(const struct trace_summary *sum);

#endif
