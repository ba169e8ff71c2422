/* SPDX-License-Identifier: MIT */
/* filter_opts.h - options that select a part of a trace: --from, --to, --coro, --site, --kind. */
#ifndef TOOL_FILTER_OPTS_H
#define TOOL_FILTER_OPTS_H

#include "opts.h"
#include "trace/trace_filter.h"

/* Each sets a struct trace_filter. */
bool filter_parse_from(void *filter, const struct opt_use *use);
bool filter_parse_to(void *filter, const struct opt_use *use);
bool filter_parse_coroutine(void *filter, const struct opt_use *use);
bool filter_parse_site(void *filter, const struct opt_use *use);
bool filter_parse_kind(void *filter, const struct opt_use *use);

/*
 * Reads the parts of @trace into @parts if the filter has a part.  @parts must live as long as the
 * filter is used.  0 or a negative errno.
 */
int filter_part_find(struct trace_parts *parts, const char *trace, struct trace_filter *filter,
		     struct err *err);

/* Rows of an option table whose struct @options has a struct trace_filter @field. */
#define FILTER_TIME_OPTS(options, field)                                                 \
	{ 0, "from", "TIME", "only events from TIME on: 10s, 500ms, 1m since the start", \
	  OPT_CALL(options, field, filter_parse_from) },                                 \
		{ 0, "to", "TIME", "only events up to TIME",                             \
		  OPT_CALL(options, field, filter_parse_to) },                           \
	{                                                                                \
		0, "coro", "ID", "only events of this coroutine",                        \
			OPT_CALL(options, field, filter_parse_coroutine)                 \
	}
/* Of a merged trace; the command calls filter_part_find() before it reads. */
#define FILTER_PART_OPT(options, field, text)                                                    \
	{                                                                                        \
		0, "part", "N", text, OPT_NUMBER(options, field, 1, UINT32_MAX), .is_rare = true \
	}

#define FILTER_EVENT_OPTS(options, field)                                           \
	{ 0, "site", "GLOB", "only events at sites: FILE, FILE:LINE or FUNCTION",   \
	  OPT_CALL(options, field, filter_parse_site) },                            \
	{                                                                           \
		0, "kind", "NAMES", "only events of these kinds: suspend,wake,...", \
			OPT_CALL(options, field, filter_parse_kind)                 \
	}

/* Of commands that judge coroutines: see filter_coroutines.h. */
#define FILTER_COROUTINE_OPTS(options, field)                                            \
	{ 0, "site", "GLOB", "only coroutines with events at FILE, FILE:LINE, FUNCTION", \
	  OPT_CALL(options, field, filter_parse_site) },                                 \
	{                                                                                \
		0, "kind", "NAMES", "only coroutines with events: suspend,wake,...",     \
			OPT_CALL(options, field, filter_parse_kind)                      \
	}

/* The same where the help has one line left. */
#define FILTER_TIME_OPTS_SHORT(options, field, text)                                    \
	{ 0, "from", "TIME", text, OPT_CALL(options, field, filter_parse_from) },       \
		{ 0, "to", "TIME", NULL, OPT_CALL(options, field, filter_parse_to) },   \
	{                                                                               \
		0, "coro", "ID", NULL, OPT_CALL(options, field, filter_parse_coroutine) \
	}
#define FILTER_PART_OPT_SHORT(options, field)                                   \
	{                                                                       \
		0, "part", "N", NULL, OPT_NUMBER(options, field, 1, UINT32_MAX) \
	}
#define FILTER_EVENT_OPTS_SHORT(options, field)                                       \
	{ 0, "site", "GLOB", NULL, OPT_CALL(options, field, filter_parse_site) },     \
	{                                                                             \
		0, "kind", "NAMES", NULL, OPT_CALL(options, field, filter_parse_kind) \
	}

#endif
