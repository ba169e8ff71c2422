/* SPDX-License-Identifier: MIT */
/*
 * cmd_info.c - `corotracer info`: show what is in a trace, and whether it is complete.
 *
 * The trace is read as a stream, so its size does not matter.  Only the collector knows what was
 * lost; without its totals the answer is "unknown", not zero.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "filter_opts.h"
#include "info.h"
#include "trace_foreach.h"

/* ---- reading ------------------------------------------------------------- */

static int info_add_item(void *arg, const struct trace_item *item, struct err *err)
{
	struct info *info = arg;
	int rc = summary_add(&info->sum, item);

	if (!rc)
		rc = info_parts_add(&info->parts, item);
	return rc < 0 ? err_set(err, rc, "no memory for the coroutines of '%s'", info->trace_path)
		      : 0;
}

static int info_read_trace(struct info *info, struct err *err)
{
	struct trace_reader *reader = trace_reader_open(info->trace_path, err);
	int rc;

	if (!reader)
		return err->code;
	trace_reader_set_filter(reader, info->filter);
	rc = read_trace(info->trace_path, reader, info_add_item, info, err);
	info->stats = *trace_reader_stats(reader);
	if (info->stats.sidecar_path) {
		info->sidecar_path = strdup(info->stats.sidecar_path);
		if (!rc && !info->sidecar_path)
			rc = err_set(err, -ENOMEM, "no memory for '%s'", info->stats.sidecar_path);
	}
	trace_reader_close(reader);
	return rc;
}

/* ---- the command --------------------------------------------------------- */

static int info_show(const struct info *info, bool json)
{
	int rc = info_print(info, json);

	if (rc) {
		message_print("info", "cannot write to standard output: %s", strerror(-rc));
		return EXIT_FAILED;
	}
	return info_is_sound(info) ? EXIT_OK : EXIT_FAILED;
}

/* Only corrupt lines: an error is more useful than a report of zeros. */
static bool is_no_trace(const struct info *info)
{
	return !info->sum.events && info->stats.lines.garbage;
}

static int info_refuse(const struct info *info)
{
	const char *path = info->trace_path;
	size_t len = strlen(path), suffix = strlen(SIDECAR_SUFFIX);

	message_print("info", "'%s' holds no events: is it a trace?", path);
	if (len > suffix && !strcmp(path + len - suffix, SIDECAR_SUFFIX))
		fprintf(stderr, "hint: this is a sidecar; the trace is '%.*s'\n",
			(int)(len - suffix), path);
	else
		fprintf(stderr, "hint: line %llu: %s\n",
			(unsigned long long)info->stats.lines.first[0].line,
			info->stats.lines.first[0].reason);
	return EXIT_FAILED;
}

static int info_print_trace(const char *path, struct trace_filter *filter, bool json)
{
	struct info info = { .trace_path = path, .filter = filter };
	struct trace_parts part = { .nr = 0 };
	struct err err = { 0 };
	int status;

	if (filter_part_find(&part, path, filter, &err) < 0 || info_read_trace(&info, &err) < 0) {
		message_error("info", &err);
		status = EXIT_FAILED;
	} else if (is_no_trace(&info) && !json) {
		status = info_refuse(&info);
	} else {
		status = info_show(&info, json);
	}
	summary_release(&info.sum);
	info_parts_release(&info.parts);
	trace_parts_release(&part);
	free(info.sidecar_path);
	return status;
}

struct info_options {
	struct trace_filter filter;
	bool json;
};

static const struct opt options[] = {
	{ 0, "json", "[=FILE]", "print one JSON object", OPT_FLAG(struct info_options, json) },
	FILTER_TIME_OPTS(struct info_options, filter),
	FILTER_EVENT_OPTS(struct info_options, filter),
	FILTER_PART_OPT(struct info_options, filter.part, "only this part of a merged trace"),
	{ .name = NULL },
};

static int run_info(int argc, char **argv)
{
	struct info_options o = { 0 };
	int first, status = opts_parse(&command_info, &o, argc, argv, &first);
	const char *path;

	if (status != OPTS_PARSED)
		return status;
	path = opts_operand(&command_info, argc, argv, first);
	return path ? info_print_trace(path, &o.filter, o.json) : EXIT_USAGE;
}

const struct command command_info = {
	.name = "info",
	.instrument = "coroutines",
	.args = "[OPTIONS] TRACE",
	.summary = "summarize a trace and check that it is complete",
	.details =
		"TRACE is a file of JSON lines, '-' for standard input, the directory of a\n"
		"corotracer CTF trace, or a compact trace (.ct).  JSON lines of other tools are\n"
		"accepted; only a trace with a sidecar (TRACE.meta) says how many events were "
		"lost.\n"
		"\n"
		"Exit status: 0 the trace is sound; 1 it has invalid lines or damaged parts, or\n"
		"is incomplete, or part of it cannot be read; 2 usage.\n",
	.opts = options,
	.run = run_info,
};
