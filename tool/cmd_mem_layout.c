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
#include "mem_type_files.h"

struct mem_layout_options {
	struct study_config config;
	struct mem_machine machine;
	bool json;
};

static const struct opt options[] = {
	{ 't', "type", "NAME", "only this type: 'struct node', a typedef, a class",
	  OPT_TEXT(struct mem_layout_options, config.type) },
	{ 'n', "top", "N", "number of types, most expensive first (default 4)",
	  OPT_NUMBER(struct mem_layout_options, config.top, 1, STUDY_TYPES_MAX) },
	{ 'r', "remap", "FILE", "replay the layouts of this file instead",
	  OPT_TEXT(struct mem_layout_options, config.remap) },
	MEM_MACHINE_CACHE(struct mem_layout_options, machine),
	MEM_MACHINE_CONFIG(struct mem_layout_options, machine, "machine as JSON, as for mem sim"),
	MEM_MACHINE_HOST(struct mem_layout_options, machine),
	MEM_MACHINE_CORES(struct mem_layout_options, machine),
	MEM_TYPES_PROGRAM(struct mem_layout_options, config.files),
	MEM_TYPES_DWARF(struct mem_layout_options, config.files),
	{ 0, "json", "[=FILE]", "print one JSON object",
	  OPT_FLAG(struct mem_layout_options, json) },
	{ .name = NULL },
};

/* The trace is read more than once. */
static bool can_be_read_again(const char *path)
{
	struct stat st;

	if (strcmp(path, "-") != 0 && (stat(path, &st) < 0 || S_ISREG(st.st_mode)))
		return true; /* a missing file is reported when it is opened */
	message_print("mem layout",
		      "the trace is read several times, and '%s' can be read only once", path);
	fputs("hint: put it into a file first\n", stderr);
	return false;
}

static void say_problems(const struct study *s)
{
	const char *what;
	unsigned i;

	for (i = 0; s->blame && (what = blame_problem(s->blame, i)); i++)
		message_print("mem layout", "%s", what);
}

static int study_trace(struct mem_layout_options *q, const char *path)
{
	struct mem_layout_result result = { .path = path, .machine = q->machine.words };
	static struct mem_faults faults;
	struct err err = { 0 };
	struct study study;
	int status = EXIT_OK;

	q->config.sim = q->machine.config;
	if (study_run(&study, &q->config, path, &faults, &err) < 0) {
		message_error("mem layout", &err);
		status = EXIT_FAILED;
	} else {
		result.study = &study;
		mem_layout_print(&result, q->json);
		say_problems(&study);
	}
	study_release(&study);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		message_print("mem layout", "cannot write the result");
		status = EXIT_FAILED;
	}
	if (!mem_say_faults(&command_mem_layout, &faults))
		status = EXIT_FAILED;
	return status;
}

static int run_mem_layout(int argc, char **argv)
{
	struct mem_layout_options q = { .config.top = 4 };
	int first, status = opts_parse(&command_mem_layout, &q, argc, argv, &first);
	const char *path;

	if (status != OPTS_PARSED)
		return status;
	path = opts_operand(&command_mem_layout, argc, argv, first);
	if (!path || !mem_machine_settle(&q.machine, &command_mem_layout))
		return EXIT_USAGE;
	return can_be_read_again(path) ? study_trace(&q, path) : EXIT_USAGE;
}

const struct command command_mem_layout = {
	.name = "mem layout",
	.instrument = "memory",
	.args = "[OPTIONS] TRACE",
	.summary = "propose better layouts of structs, and replay the trace with them",
	.details = "Types come from the program's debug information (-g); blocks of malloc by "
		   "the code\n"
		   "that accesses them, or by annotations.  Every proposal was replayed: its "
		   "figures are "
		   "those of the\n"
		   "same accesses with the new layout.  A remap file has lines like\n"
		   "  struct node=key,0;next,8;name,16,32;sizeof=64\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run_mem_layout,
};
