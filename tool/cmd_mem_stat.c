/* SPDX-License-Identifier: MIT */
/* cmd_mem_stat.c - corotracer mem stat: statistics of a memory trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "mem_stat.h"

struct mem_stat_options {
	struct mem_stat_config config;
	unsigned top;
	bool json;
};

static bool stat_parse_line(void *field, const struct opt_use *use)
{
	unsigned long long n;

	if (!opt_number(use->command, use->option, use->value, 8, 1 << 20, &n))
		return false;
	if (n & (n - 1))
		return opt_invalid(use, "a power of two");
	*(uint32_t *)field = (uint32_t)n;
	return true;
}

static const struct opt options[] = {
	{ 0, "line", "BYTES", "size of a cache line, a power of two (default 64)",
	  OPT_CALL(struct mem_stat_options, config.line_size, stat_parse_line) },
	{ 'n', "top", "N", "lines, types and strides to print (default 10)",
	  OPT_NUMBER(struct mem_stat_options, top, 0, MEM_STAT_TOP_MAX) },
	{ 'w', "window", "N", "accesses per working set (default 1/32 of all)",
	  OPT_NUMBER(struct mem_stat_options, config.window, 1, ~0ull) },
	{ 0, "lines-max", "N", "track N lines; sample above it (default 4194304)",
	  OPT_NUMBER(struct mem_stat_options, config.lines_max, 64, 1u << 28) },
	{ 0, "per-thread", NULL, "also print the reuse of each thread alone",
	  OPT_FLAG(struct mem_stat_options, config.per_thread) },
	{ 0, "json", "[=FILE]", "print one JSON object", OPT_FLAG(struct mem_stat_options, json) },
	{ .name = NULL },
};

static int stat_trace(const struct mem_stat_options *q, const char *path)
{
	struct mem_reader *r = mem_open(&command_mem_stat, path);
	struct mem_stat *s = calloc(1, sizeof(*s));
	struct err err = { 0 };
	int status = EXIT_OK;

	if (!r || !s) {
		if (r) {
			message_print("mem stat", "no memory for the statistics");
			mem_reader_close(r);
		}
		free(s);
		return EXIT_FAILED;
	}
	if (mem_stat_run(s, &q->config, r, &err) < 0) {
		message_error("mem stat", &err);
		status = EXIT_FAILED;
	} else {
		mem_stat_print(s, mem_reader_facts(r), path, q->top, q->json);
	}
	mem_stat_release(s);
	free(s);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		message_print("mem stat", "cannot write the result");
		status = EXIT_FAILED;
	}
	return mem_finish(&command_mem_stat, r) == EXIT_OK ? status : EXIT_FAILED;
}

static int run_mem_stat(int argc, char **argv)
{
	struct mem_stat_options q = { .config.line_size = 64, .top = 10 };
	int first, status = opts_parse(&command_mem_stat, &q, argc, argv, &first);
	const char *path;

	if (status != OPTS_PARSED)
		return status;
	path = opts_operand(&command_mem_stat, argc, argv, first);
	return path ? stat_trace(&q, path) : EXIT_USAGE;
}

const struct command command_mem_stat = {
	.name = "mem stat",
	.instrument = "memory",
	.args = "[OPTIONS] TRACE",
	.summary = "print hot lines, working set, strides and reuse distances",
	.details =
		"The reuse distance of an access is the number of different lines used since the\n"
		"previous access to its line: an LRU cache with more lines than that hits.  It is\n"
		"exact up to --lines-max different lines; above it lines are sampled, and the\n"
		"output says so.\n",
	.opts = options,
	.run = run_mem_stat,
};
