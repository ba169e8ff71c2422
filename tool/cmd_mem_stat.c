/* SPDX-License-Identifier: MIT */
/* cmd_mem_stat.c - corotracer mem stat: statistics of a memory trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "mem_stat.h"

enum { O_LINE, O_TOP, O_WINDOW, O_LINES_MAX, O_PER_THREAD, O_JSON };

static const struct opt options[] = {
	[O_LINE] = { 0, "line", "BYTES", "of a cache line: a power of two (64)" },
	[O_TOP] = { 'n', "top", "N", "lines, types and strides to tell (10)" },
	[O_WINDOW] = { 'w', "window", "N", "accesses per step of the working set (1/32 of all)" },
	[O_LINES_MAX] = { 0, "lines-max", "N", "lines to follow; more are sampled (4194304)" },
	[O_PER_THREAD] = { 0, "per-thread", NULL, "reuse of each thread by itself, too" },
	[O_JSON] = { 0, "json", NULL, "as one JSON object" },
	{ 0, NULL, NULL, NULL },
};

struct request {
	struct mem_stat_config config;
	unsigned top;
	bool json;
};

static bool set_option(struct request *q, int o, const char *value)
{
	unsigned long long n;

	switch (o) {
	case O_LINE:
		if (!opt_number("mem stat", "--line", value, 8, 1 << 20, &n))
			return false;
		if (n & (n - 1)) {
			say("mem stat", "invalid value '%s' for --line: expected a power of two",
			    value);
			return false;
		}
		q->config.line_size = (uint32_t)n;
		return true;
	case O_TOP:
		return opt_number("mem stat", "--top", value, 0, MEM_STAT_TOP_MAX, &n) &&
		       (q->top = (unsigned)n, true);
	case O_WINDOW:
		return opt_number("mem stat", "--window", value, 1, ~0ull, &n) &&
		       (q->config.window = n, true);
	case O_LINES_MAX:
		return opt_number("mem stat", "--lines-max", value, 64, 1u << 28, &n) &&
		       (q->config.lines_max = (uint32_t)n, true);
	case O_PER_THREAD:
		q->config.per_thread = true;
		return true;
	default:
		q->json = true;
		return true;
	}
}

static int stat_trace(const struct request *q, const char *path)
{
	struct mem_reader *r = mem_open(&command_mem_stat, path);
	struct mem_stat *s = calloc(1, sizeof(*s));
	struct err err = { 0 };
	int status = EXIT_OK;

	if (!r || !s) {
		if (r)
			mem_reader_close(r);
		free(s);
		return EXIT_FAILED;
	}
	if (mem_stat_run(s, &q->config, r, &err) < 0) {
		say_error("mem stat", &err);
		status = EXIT_FAILED;
	} else if (q->json) {
		mem_stat_json(s, mem_reader_facts(r), path, q->top);
	} else {
		mem_stat_text(s, mem_reader_facts(r), path, q->top);
	}
	mem_stat_release(s);
	free(s);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		say("mem stat", "cannot write the result");
		status = EXIT_FAILED;
	}
	return mem_finish(&command_mem_stat, r) == EXIT_OK ? status : EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	struct request q = { .config.line_size = 64, .top = 10 };
	struct opt_walk walk = { 0 };
	const char *value, *path;
	int o, first;

	while ((o = opt_next(&command_mem_stat, &walk, argc, argv, &value, &first)) >= 0) {
		if (!set_option(&q, o, value))
			return EXIT_USAGE;
	}
	if (o != OPT_END)
		return o == OPT_HELP ? EXIT_OK : EXIT_USAGE;
	path = mem_operand(&command_mem_stat, argc, argv, first);
	return path ? stat_trace(&q, path) : EXIT_USAGE;
}

const struct command command_mem_stat = {
	.name = "mem stat",
	.instrument = "memory",
	.args = "[OPTIONS] TRACE",
	.summary = "tell hot lines, working set, strides and reuse distances of a memory trace",
	.details =
		"The reuse distance of an access is the number of different lines used since its\n"
		"own was used before: an LRU cache of more lines than that has it.  It is exact "
		"up\n"
		"to --lines-max different lines; beyond, lines are sampled, and that is told.\n",
	.opts = options,
	.run = run,
};
