/* SPDX-License-Identifier: MIT */
/* export_calls.c - `export callgrind` and `export folded`: misses by function for other programs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/output_file.h"
#include "base/printer.h"
#include "container.h"
#include "mem_calls.h"
#include "memory/calls/call_flame.h"
#include "memory/calls/callgrind_file.h"

struct export_calls_options {
	struct mem_calls calls;
	const char *output, *event;
	bool quiet, json;
};

static const struct opt options[] = {
	{ 'i', "in", "TRACE", "memory trace; - is standard input",
	  OPT_TEXT(struct export_calls_options, calls.trace) },
	{ 'o', "output", "FILE", "output file (default TRACE.KIND); - is standard output",
	  OPT_TEXT(struct export_calls_options, output) },
	MEM_MACHINE_CACHE(struct export_calls_options, calls.machine),
	MEM_MACHINE_CONFIG(struct export_calls_options, calls.machine,
			   "machine as JSON, as for mem sim"),
	MEM_MACHINE_HOST(struct export_calls_options, calls.machine),
	MEM_MACHINE_CORES(struct export_calls_options, calls.machine),
	{ 0, "event", "NAME", "folded: cost (default), accesses, reads, writes, or a level: L1",
	  OPT_NAME(struct export_calls_options, event) },
	{ 'q', "quiet", NULL, "no summary", OPT_FLAG(struct export_calls_options, quiet) },
	{ 0, "json", NULL, "print the summary as one JSON object on stderr",
	  OPT_FLAG(struct export_calls_options, json) },
	{ .name = NULL },
};

static const struct command command_export_callgrind;
static const struct command command_export_folded;

/* ---- the measure of folded stacks -------------------------------------------------- */

static bool calls_find_measure(const struct export_calls_options *q, const struct command *cmd,
			       unsigned *out)
{
	static const char *const names[] = { [CALL_MEASURE_COST] = "cost",
					     [CALL_MEASURE_ACCESSES] = "accesses",
					     [CALL_MEASURE_READS] = "reads",
					     [CALL_MEASURE_WRITES] = "writes" };
	const struct sim_config *c = &q->calls.machine.config;
	uint32_t i;

	*out = CALL_MEASURE_COST;
	if (!q->event)
		return true;
	for (i = 0; i < CALL_MEASURE_LEVEL; i++) {
		if (!strcmp(names[i], q->event)) {
			*out = i;
			return true;
		}
	}
	for (i = 0; i < c->nr_levels; i++) {
		if (!strcmp(c->level[i].name, q->event)) {
			*out = CALL_MEASURE_LEVEL + i;
			return true;
		}
	}
	message_print(cmd->name, "--event: the machine has no level '%s'", q->event);
	fputs("hint: expected cost, accesses, reads, writes, or the name of a level:", stderr);
	for (i = 0; i < c->nr_levels; i++)
		fprintf(stderr, " %s", c->level[i].name);
	fputc('\n', stderr);
	return false;
}

/* ---- the file ------------------------------------------------------------------------ */

static int calls_put(const struct export_calls_options *q, const struct command *cmd,
		     unsigned measure, FILE *out)
{
	const struct callgrind_head head = { .trace = q->calls.trace,
					     .machine = q->calls.machine.words,
					     .facts = mem_reader_facts(q->calls.reader),
					     .config = sim_config_of(q->calls.sim) };
	struct call_flame flame;
	int rc;

	if (cmd == &command_export_callgrind)
		return callgrind_write(q->calls.profile, &head, out);
	rc = call_flame_make(&flame, q->calls.profile);
	if (!rc)
		rc = call_flame_write(&flame, measure, out);
	call_flame_release(&flame);
	return rc;
}

static int calls_write(const struct export_calls_options *q, const struct command *cmd,
		       unsigned measure, struct err *err)
{
	struct outfile out;
	FILE *stream;
	int rc;

	if (outfile_open(&out, q->output, err) < 0)
		return err->code;
	stream = outfile_stream(&out, err);
	rc = stream ? calls_put(q, cmd, measure, stream) : err->code;
	if (stream) {
		outfile_end_stream(&out, stream);
		if (rc < 0 && !out.error)
			out.error = rc;
		rc = outfile_commit(&out, err);
	}
	outfile_close(&out);
	return rc;
}

static void calls_summary(const struct export_calls_options *q, const struct command *cmd)
{
	struct printer p;

	if (q->quiet)
		return;
	printer_begin(&p, stderr, q->json);
	print_string(&p, "output", q->output);
	print_text(&p, "corotracer %s: ", cmd->name);
	print_count(&p, "accesses", "%s accesses", q->calls.replay.accesses);
	print_count(&p, "functions", ", %s functions; wrote ", q->calls.profile->nr_functions - 1);
	print_safe(&p, strcmp(q->output, "-") != 0 ? q->output : "standard output", 0);
	print_text(&p, "\n");
	print_count(&p, "lost", NULL, q->calls.replay.lost);
	print_flag(&p, "has_stacks", NULL, q->calls.profile->has_stacks);
	printer_end(&p);
}

/* ---- the commands --------------------------------------------------------------------- */

static int calls_export(struct export_calls_options *q, const struct command *cmd)
{
	struct err err = { 0 };
	int status = EXIT_FAILED, end;
	unsigned measure;

	if (!calls_find_measure(q, cmd, &measure))
		return EXIT_USAGE;
	if (mem_calls_read(&q->calls, cmd)) {
		if (calls_write(q, cmd, measure, &err) == 0) {
			status = EXIT_OK;
			calls_summary(q, cmd);
		} else {
			message_error(cmd->name, &err);
		}
		mem_calls_remark(&q->calls, cmd);
	}
	end = mem_calls_end(&q->calls, cmd);
	return status == EXIT_OK ? end : status;
}

static int run_export_calls(const struct command *cmd, int argc, char **argv)
{
	static struct export_calls_options q; /* static: too large for the stack */
	int first, status = opts_parse(cmd, &q, argc, argv, &first);
	char output[4096];

	if (status != OPTS_PARSED)
		return status;
	if (first < argc && !q.calls.trace)
		q.calls.trace = argv[first++];
	if (first < argc)
		return opts_unexpected(cmd, argv[first]);
	if (!q.calls.trace)
		return opts_missing(cmd, "-i TRACE");
	if (!mem_machine_settle(&q.calls.machine, cmd))
		return EXIT_USAGE;
	snprintf(output, sizeof(output), "%s.%s", q.calls.trace, command_word(cmd));
	if (!q.output)
		q.output = strcmp(q.calls.trace, "-") != 0 ? output : "-";
	return calls_export(&q, cmd);
}

static int run_export_callgrind(int argc, char **argv)
{
	return run_export_calls(&command_export_callgrind, argc, argv);
}

static int run_export_folded(int argc, char **argv)
{
	return run_export_calls(&command_export_folded, argc, argv);
}

static const struct command command_export_callgrind = {
	.name = "export callgrind",
	.instrument = "memory",
	.args = "-i TRACE [-o FILE]",
	.summary = "simulate caches, and write the misses for KCachegrind and callgrind_annotate",
	.details = "Costs of calls need a trace of 'mem run --stacks'.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run_export_callgrind,
};

static const struct command command_export_folded = {
	.name = "export folded",
	.instrument = "memory",
	.args = "-i TRACE [-o FILE]",
	.summary = "simulate caches, and write stacks with their misses for flame graphs",
	.details = "Stacks need a trace of 'mem run --stacks'; without, a line is a function.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run_export_folded,
};

/* True if one of the arguments is a memory trace. */
static bool calls_name_trace(int argc, char **argv)
{
	char magic[8] = "";
	bool is_trace = false;
	int i;

	for (i = 1; i < argc && !is_trace; i++) {
		FILE *f = argv[i][0] == '-' ? NULL : fopen(argv[i], "rbe");

		if (!f)
			continue;
		is_trace = fread(magic, 1, 8, f) == 8 && !memcmp(magic, CRAY_MAGIC, 8);
		fclose(f);
	}
	return is_trace;
}

bool export_is_of_calls(int argc, char **argv)
{
	return !strcmp(argv[0], "callgrind") ||
	       (!strcmp(argv[0], "folded") && calls_name_trace(argc, argv));
}

int export_calls(int argc, char **argv)
{
	return command_start(!strcmp(argv[0], "callgrind") ? &command_export_callgrind
							   : &command_export_folded,
			     argc, argv);
}
