/* SPDX-License-Identifier: MIT */
/* info.h - what `corotracer info` found out about a trace, and two ways to show it. */
#ifndef TOOL_INFO_H
#define TOOL_INFO_H

#include <stdbool.h>

#include "trace/jsonl_reader.h"
#include "trace/sidecar.h"
#include "trace/summary.h"

/* All that the two files said. */
struct info {
	const char *trace_path;
	char *sidecar_path; /* NULL: the trace comes from a pipe */
	bool has_sidecar;
	struct jsonl_stats lines;
	struct sidecar_stats sidecar_lines;
	struct trace_summary sum;
};

/* Does the file hold what the collector says it put there?  True if nobody says. */
static inline bool info_agrees(const struct info *info)
{
	return !info->sum.has_totals || info->sum.totals.collected == info->sum.events;
}

/* Agrees, and every line is what it should be: what the exit status says. */
static inline bool info_is_sound(const struct info *info)
{
	return !info->lines.garbage && !info->sidecar_lines.garbage && info_agrees(info);
}

/* On stdout.  info_print_json() returns 0 or a negative errno. */
void info_print_text(const struct info *info);
int info_print_json(const struct info *info);

#endif
