/* SPDX-License-Identifier: MIT */
/* cmd_mem_html.c - corotracer mem html: cache misses by type, field and line, as one page. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output_file.h"
#include "base/path.h"
#include "base/printer.h"
#include "json_file.h"
#include "mem.h"
#include "mem_machine.h"
#include "mem_sim.h"
#include "mem_type_files.h"
#include "mem_watch.h"
#include "memory/calls/call_watch.h"
#include "page/page.h"
#include "base/io.h"

#define MEM_HTML_TOP_MAX 200u /* rows per table */

struct mem_html_options {
	struct mem_machine machine;
	struct type_files files;
	const char *trace, *output, *title;
	unsigned top;
	bool json, no_source;
};

static const struct opt options[] = {
	{ 'o', "output", "FILE", "output file (default TRACE.html); - is standard output",
	  OPT_TEXT(struct mem_html_options, output) },
	{ 0, "title", "TEXT", "title of the page (default: the name of the trace)",
	  OPT_TEXT(struct mem_html_options, title) },
	{ 'n', "top", "N", "types, source lines and threads to print (default 30)",
	  OPT_NUMBER(struct mem_html_options, top, 1, MEM_HTML_TOP_MAX) },
	MEM_MACHINE_CACHE(struct mem_html_options, machine),
	MEM_MACHINE_CONFIG(struct mem_html_options, machine, "machine as JSON, as for mem sim"),
	MEM_MACHINE_HOST(struct mem_html_options, machine),
	MEM_MACHINE_CORES(struct mem_html_options, machine),
	MEM_TYPES_PROGRAM(struct mem_html_options, files),
	MEM_TYPES_DWARF(struct mem_html_options, files),
	{ 0, "no-source", NULL, "do not put source code into the page",
	  OPT_FLAG(struct mem_html_options, no_source) },
	{ 0, "json", "[=FILE]", "print the summary as one JSON object",
	  OPT_FLAG(struct mem_html_options, json) },
	{ .name = NULL },
};

/* ---- the simulation ------------------------------------------------------- */

struct mem_html_watch {
	struct mem_watch misses; /* the first: it is the context of mem_watch.h */
	struct call_watch calls;
};

static int mem_html_each(void *context, const struct mem_record *r, const struct sim_outcome *out)
{
	struct mem_html_watch *w = context;
	int rc = mem_watch_each(&w->misses, r, out);

	return rc < 0 ? rc : call_watch_each(&w->calls, r, out);
}

/* ---- the file ------------------------------------------------------------ */

static void mem_html_tell(const struct mem_html_options *q, const struct replay *replay)
{
	struct printer p;

	printer_begin(&p, json_file_stream(stderr), q->json);
	print_string(&p, "output", q->output);
	print_count(&p, "accesses", "corotracer mem html: %s accesses; wrote ", replay->accesses);
	print_safe(&p, q->output, 0);
	print_text(&p, "\n");
	print_count(&p, "lost", NULL, replay->lost);
	printer_end(&p);
}

static int mem_html_write(const struct mem_sim_result *result, const char *path, struct err *err)
{
	char *json = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&json, &size);
	int rc = memory ? mem_sim_print(result, memory, true) : -ENOMEM;

	if (memory && io_end_memory(memory, &json) < 0)
		rc = -ENOMEM;
	if (rc < 0)
		err_set(err, rc, "no memory for the page");
	else
		rc = page_save_json(path, "memory", json, size, err);
	free(json);
	return rc;
}

static int mem_html_make(const struct mem_html_options *q, struct mem_reader *r, struct err *err)
{
	struct mem_html_watch w = { .misses.facts = mem_reader_facts(r) };
	struct replay replay = { .each = mem_html_each,
				 .context = &w,
				 .fetch = mem_watch_fetch,
				 .sums = true,
				 .alike = mem_watch_alike_passed,
				 .changes = mem_watch_changes };
	struct mem_sim_result result = { .machine = q->machine.words,
					 .path = q->trace,
					 .page_title = q->title,
					 .sim = sim_new(&q->machine.config, err),
					 .replay = &replay,
					 .facts = w.misses.facts,
					 .top = q->top,
					 .has_sources = !q->no_source };
	int rc = call_watch_begin(&w.calls, &q->machine.config, w.misses.facts, err);

	if (!rc) {
		result.blame = w.misses.blame = blame_new(&q->machine.config, err);
		rc = w.misses.blame ? blame_add_files(w.misses.blame, &q->files, err) : err->code;
		if (!rc)
			rc = blame_learn(w.misses.blame, q->trace, err);
	}
	if (!rc)
		rc = result.sim ? replay_run(&replay, result.sim, r, err) : err->code;
	if (!rc) {
		result.calls = call_watch_profile(&w.calls, err);
		rc = result.calls ? mem_html_write(&result, q->output, err) : err->code;
	}
	if (!rc && strcmp(q->output, "-") != 0)
		mem_html_tell(q, &replay);
	if (rc < 0 && !err->code)
		err_set(err, rc, "no memory for the page");
	replay_release(&replay);
	call_watch_end(&w.calls);
	blame_free(w.misses.blame);
	sim_free(result.sim);
	return rc;
}

static int mem_html_run(const struct mem_html_options *q)
{
	struct html_page page;
	struct mem_reader *r;
	struct err err = { 0 };
	int rc;

	/* Fail before a long trace is read. */
	if (page_embedded("memory", &page, &err) < 0) {
		message_error("mem html", &err);
		return EXIT_FAILED;
	}
	r = mem_open(&command_mem_html, q->trace);
	if (!r)
		return EXIT_FAILED;
	rc = mem_html_make(q, r, &err);
	if (rc < 0)
		message_error("mem html", &err);
	return mem_finish(&command_mem_html, r) == EXIT_OK && !rc ? EXIT_OK : EXIT_FAILED;
}

static int run_mem_html(int argc, char **argv)
{
	struct mem_html_options q = { .top = 30 };
	int first, status = opts_parse(&command_mem_html, &q, argc, argv, &first);
	char output[4096];

	if (status != OPTS_PARSED)
		return status;
	q.trace = opts_operand(&command_mem_html, argc, argv, first);
	if (!q.trace || !mem_machine_settle(&q.machine, &command_mem_html))
		return EXIT_USAGE;
	if (!q.title)
		q.title = path_base(q.trace);
	if (!q.output && !strcmp(q.trace, "-"))
		q.output = "-";
	snprintf(output, sizeof(output), q.output ? "%s" : "%s.html",
		 q.output ? q.output : q.trace);
	q.output = output;
	return mem_html_run(&q);
}

const struct command command_mem_html = {
	.name = "mem html",
	.instrument = "memory",
	.args = "[OPTIONS] TRACE",
	.summary = "simulate caches, and write the misses by type and line as one HTML page",
	.details = "The page needs no network.  Types and fields come from the\n"
		   "program's debug information (-g), those of malloc's blocks from annotations\n"
		   "(cacheray.h), source lines from the code addresses in the trace.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run_mem_html,
};
