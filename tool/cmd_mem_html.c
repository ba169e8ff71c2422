/* SPDX-License-Identifier: MIT */
/* cmd_mem_html.c - corotracer mem html: cache misses by type, field and line, as one page. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/output_file.h"
#include "base/path.h"
#include "mem.h"
#include "mem_machine.h"
#include "memory/page/mem_page.h"
#include "memory/sim/replay.h"

struct mem_html_options {
	struct mem_machine machine;
	const char *output, *title;
	unsigned top;
	bool json;
};

static const struct opt options[] = {
	{ 'o', "output", "FILE", "the page (TRACE.html); - is standard output",
	  OPT_TEXT(struct mem_html_options, output) },
	{ 0, "title", "TEXT", "of the page (the trace's name)",
	  OPT_TEXT(struct mem_html_options, title) },
	{ 'n', "top", "N", "types, source lines and threads to tell (30)",
	  OPT_NUMBER(struct mem_html_options, top, 1, PAGE_TOP_MAX) },
	MEM_MACHINE_CACHE(struct mem_html_options, machine),
	MEM_MACHINE_CONFIG(struct mem_html_options, machine, "the machine as JSON, as for mem sim"),
	MEM_MACHINE_HOST(struct mem_html_options, machine),
	MEM_MACHINE_CORES(struct mem_html_options, machine),
	{ 0, "json", NULL, "tell what was written as one JSON object",
	  OPT_FLAG(struct mem_html_options, json) },
	{ .name = NULL },
};

/* ---- the simulation ------------------------------------------------------- */

struct mem_html_watch {
	struct blame *blame;
	const struct mem_facts *facts;
};

static int mem_html_each(void *context, const struct mem_record *r, const struct sim_outcome *out)
{
	struct mem_html_watch *w = context;

	if (blame_modules(w->blame, w->facts) < 0)
		return -ENOMEM;
	return out ? blame_access(w->blame, r, out) : blame_record(w->blame, r);
}

static int mem_html_simulate(struct page *page, struct mem_reader *r, struct err *err)
{
	struct mem_html_watch w = { page->blame, mem_reader_facts(r) };
	struct replay replay = { .each = mem_html_each, .context = &w };
	int ret = replay_run(&replay, page->sim, r, err);

	page->accesses = replay.accesses;
	page->lost = replay.lost;
	page->left_out = replay.left_out;
	replay_release(&replay);
	if (ret < 0 && !err->code)
		err_set(err, -ENOMEM, "no memory for the page");
	return ret;
}

/* ---- the file ------------------------------------------------------------ */

static void say_written(const struct mem_html_options *q, const struct page *page, const char *path)
{
	struct json_writer w;

	if (!q->json) {
		message_print("mem html", "%s accesses; wrote %s", number_text(page->accesses),
			      path);
		return;
	}
	jw_init_file(&w, stderr);
	jw_object_begin(&w);
	jw_field_string(&w, "output", path);
	jw_field_u64(&w, "accesses", page->accesses);
	jw_field_u64(&w, "lost", page->lost);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
}

static int fill_file(struct outfile *file, const struct page *page, struct err *err)
{
	FILE *stream = outfile_stream(file, err);
	int rc;

	if (!stream)
		return err->code;
	rc = page_write(stream, page);
	outfile_end_stream(file, stream);
	if (rc < 0 && !file->error)
		file->error = rc;
	return outfile_commit(file, err);
}

static int mem_html_write(const struct mem_html_options *q, const struct page *page,
			  const char *path)
{
	struct outfile file;
	struct err err = { 0 };
	int rc = outfile_open(&file, path, &err);

	if (!rc) {
		rc = fill_file(&file, page, &err);
		outfile_close(&file);
	}
	if (rc < 0)
		message_error("mem html", &err);
	else if (strcmp(path, "-") != 0)
		say_written(q, page, path);
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}

static int make_page(const struct mem_html_options *q, const char *path, const char *output)
{
	struct mem_reader *r = mem_open(&command_mem_html, path);
	struct page page = { .title = q->title, .machine = q->machine.words, .top = q->top };
	struct err err = { 0 };
	int status = EXIT_FAILED;

	if (!r)
		return EXIT_FAILED;
	page.facts = mem_reader_facts(r);
	page.sim = sim_new(&q->machine.config, &err);
	page.blame = page.sim ? blame_new(&q->machine.config, &err) : NULL;
	if (page.blame && mem_html_simulate(&page, r, &err) == 0)
		status = mem_html_write(q, &page, output);
	else
		message_error("mem html", &err);
	blame_free(page.blame);
	sim_free(page.sim);
	return mem_finish(&command_mem_html, r) == EXIT_OK ? status : EXIT_FAILED;
}

static int run_mem_html(int argc, char **argv)
{
	struct mem_html_options q = { .top = 30 };
	int first, status = opts_parse(&command_mem_html, &q, argc, argv, &first);
	const char *path;
	char output[4096];

	if (status != OPTS_PARSED)
		return status;
	path = opts_operand(&command_mem_html, argc, argv, first);
	if (!path || !mem_machine_settle(&q.machine, &command_mem_html))
		return EXIT_USAGE;
	if (!q.title)
		q.title = path_base(path);
	if (!q.output && !strcmp(path, "-"))
		q.output = "-";
	snprintf(output, sizeof(output), q.output ? "%s" : "%s.html", q.output ? q.output : path);
	return make_page(&q, path, output);
}

const struct command command_mem_html = {
	.name = "mem html",
	.instrument = "memory",
	.args = "[OPTIONS] TRACE",
	.summary = "simulate caches, and show whose misses they are as one page of HTML",
	.details = "The page needs no network and runs no script.  Types and fields come from the\n"
		   "program's debug information (-g), those of malloc's blocks from annotations\n"
		   "(cacheray.h), source lines from the code addresses in the trace.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run_mem_html,
};
