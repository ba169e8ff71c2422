/* SPDX-License-Identifier: MIT */
/*
 * cmd_mem_layout.c - corotracer mem layout: propose better layouts of a program's records, verified
 * by replay.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "mem.h"
#include "mem_layout.h"
#include "mem_machine.h"

enum { O_TYPE, O_TOP, O_REMAP, O_CACHE, O_CONFIG, O_HOST, O_CORES, O_JSON };

static const struct opt options[] = {
	[O_TYPE] = { 't', "type", "NAME", "only this type: 'struct node', a typedef, a class" },
	[O_TOP] = { 'n', "top", "N", "types to look at, the most expensive first (4)" },
	[O_REMAP] = { 'r', "remap", "FILE", "replay the layouts of this file instead" },
	[O_CACHE] = MEM_MACHINE_OPT_CACHE,
	[O_CONFIG] = MEM_MACHINE_OPT_CONFIG,
	[O_HOST] = MEM_MACHINE_OPT_HOST,
	[O_CORES] = MEM_MACHINE_OPT_CORES,
	[O_JSON] = { 0, "json", NULL, "as one JSON object" },
	{ 0, NULL, NULL, NULL },
};

struct request {
	struct study_config config;
	struct mem_machine machine;
	bool json;
};

static bool set_option(struct request *q, int o, const char *value)
{
	unsigned long long n;
	bool good;

	if (mem_machine_option(&q->machine, &command_mem_layout, o, value, &good))
		return good;
	switch (o) {
	case O_TYPE:
		q->config.type = value;
		return true;
	case O_TOP:
		return opt_number("mem layout", "--top", value, 1, STUDY_TYPES_MAX, &n) &&
		       (q->config.top = (unsigned)n, true);
	case O_REMAP:
		q->config.remap = value;
		return true;
	default:
		q->json = true;
		return true;
	}
}

/* The trace is read more than once. */
static bool can_be_read_again(const char *path)
{
	struct stat st;

	if (strcmp(path, "-") != 0 && (stat(path, &st) < 0 || S_ISREG(st.st_mode)))
		return true; /* a missing file is reported when it is opened */
	say("mem layout", "the trace is read several times, and '%s' can be read only once", path);
	fputs("hint: put it into a file first\n", stderr);
	return false;
}

static void say_problems(const struct study *s)
{
	const char *what;
	unsigned i;

	for (i = 0; s->blame && (what = blame_problem(s->blame, i)); i++)
		say("mem layout", "%s", what);
}

static int study_trace(struct request *q, const char *path)
{
	struct mem_layout_result result = { .path = path, .machine = q->machine.words };
	static struct mem_faults faults;
	struct err err = { 0 };
	struct study study;
	int status = EXIT_OK;

	q->config.sim = q->machine.config;
	if (study_run(&study, &q->config, path, &faults, &err) < 0) {
		say_error("mem layout", &err);
		status = EXIT_FAILED;
	} else {
		result.study = &study;
		if (q->json)
			mem_layout_json(&result);
		else
			mem_layout_text(&result);
		say_problems(&study);
	}
	study_release(&study);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		say("mem layout", "cannot write the result");
		status = EXIT_FAILED;
	}
	if (!mem_say_faults(&command_mem_layout, &faults))
		status = EXIT_FAILED;
	return status;
}

static int run(int argc, char **argv)
{
	struct request q = { .config.top = 4 };
	struct opt_walk walk = { 0 };
	const char *value, *path;
	int o, first;

	while ((o = opt_next(&command_mem_layout, &walk, argc, argv, &value, &first)) >= 0) {
		if (!set_option(&q, o, value))
			return EXIT_USAGE;
	}
	if (o != OPT_END)
		return o == OPT_HELP ? EXIT_OK : EXIT_USAGE;
	path = mem_operand(&command_mem_layout, argc, argv, first);
	if (!path || !mem_machine_settle(&q.machine, &command_mem_layout))
		return EXIT_USAGE;
	return can_be_read_again(path) ? study_trace(&q, path) : EXIT_USAGE;
}

const struct command command_mem_layout = {
	.name = "mem layout",
	.instrument = "memory",
	.args = "[OPTIONS] TRACE",
	.summary = "propose better layouts of a program's records, and replay the trace with them",
	.details =
		"Types come from the program's debug information (-g); blocks of malloc by their\n"
		"annotations (cacheray.h).  What is proposed was replayed: the figures are those\n"
		"of the same accesses with the other layout.  A remap file has lines like\n"
		"  struct node=key,0;next,8;name,16,32;sizeof=64\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run,
};
