/* SPDX-License-Identifier: MIT */
/* cmd_mem_html.c - corotracer mem html: cache misses by type, field and line, as one page. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/output_file.h"
#include "mem.h"
#include "mem_machine.h"
#include "memory/page/mem_page.h"
#include "memory/sim/replay.h"

enum { O_OUTPUT, O_TITLE, O_TOP, O_CACHE, O_CONFIG, O_HOST, O_CORES, O_JSON };

static const struct opt options[] = {
	[O_OUTPUT] = { 'o', "output", "FILE", "the page (TRACE.html); - is standard output" },
	[O_TITLE] = { 0, "title", "TEXT", "of the page (the trace's name)" },
	[O_TOP] = { 'n', "top", "N", "types, source lines and threads to tell (30)" },
	[O_CACHE] = MEM_MACHINE_OPT_CACHE,
	[O_CONFIG] = MEM_MACHINE_OPT_CONFIG,
	[O_HOST] = MEM_MACHINE_OPT_HOST,
	[O_CORES] = MEM_MACHINE_OPT_CORES,
	[O_JSON] = { 0, "json", NULL, "tell what was written as one JSON object" },
	{ 0, NULL, NULL, NULL },
};

struct request {
	struct mem_machine machine;
	const char *output, *title;
	unsigned top;
	bool json;
};

static bool set_option(struct request *q, int o, const char *value)
{
	unsigned long long n;
	bool good;

	if (mem_machine_option(&q->machine, &command_mem_html, o, value, &good))
		return good;
	switch (o) {
	case O_OUTPUT:
		q->output = value;
		return true;
	case O_TITLE:
		q->title = value;
		return true;
	case O_TOP:
		return opt_number("mem html", "--top", value, 1, PAGE_TOP_MAX, &n) &&
		       (q->top = (unsigned)n, true);
	default:
		q->json = true;
		return true;
	}
}

/* ---- the simulation ------------------------------------------------------- */

struct watching {
	struct blame *blame;
	const struct mem_facts *facts;
};

static int each(void *context, const struct mem_record *r, const struct sim_outcome *out)
{
	struct watching *w = context;

	if (blame_modules(w->blame, w->facts) < 0)
		return -ENOMEM;
	return out ? blame_access(w->blame, r, out) : blame_record(w->blame, r);
}

static int simulate(struct page *page, struct mem_reader *r, struct err *err)
{
	struct watching w = { page->blame, mem_reader_facts(r) };
	struct replay replay = { .each = each, .context = &w };
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

static void say_written(const struct request *q, const struct page *page, const char *path)
{
	struct json_writer w;

	if (!q->json) {
		say("mem html", "%s accesses; wrote %s", mem_number(page->accesses), path);
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

static int write_page(const struct request *q, const struct page *page, const char *path)
{
	struct outfile file;
	struct err err = { 0 };
	int rc = outfile_open(&file, path, &err);

	if (!rc) {
		rc = fill_file(&file, page, &err);
		outfile_close(&file);
	}
	if (rc < 0)
		say_error("mem html", &err);
	else if (strcmp(path, "-") != 0)
		say_written(q, page, path);
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}

static int make_page(const struct request *q, const char *path, const char *output)
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
	if (page.blame && simulate(&page, r, &err) == 0)
		status = write_page(q, &page, output);
	else
		say_error("mem html", &err);
	blame_free(page.blame);
	sim_free(page.sim);
	return mem_finish(&command_mem_html, r) == EXIT_OK ? status : EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	struct request q = { .top = 30 };
	struct opt_walk walk = { 0 };
	const char *value, *path;
	char output[4096];
	int o, first;

	while ((o = opt_next(&command_mem_html, &walk, argc, argv, &value, &first)) >= 0) {
		if (!set_option(&q, o, value))
			return EXIT_USAGE;
	}
	if (o != OPT_END)
		return o == OPT_HELP ? EXIT_OK : EXIT_USAGE;
	path = mem_operand(&command_mem_html, argc, argv, first);
	if (!path || !mem_machine_settle(&q.machine, &command_mem_html))
		return EXIT_USAGE;
	if (!q.title)
		q.title = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
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
	.run = run,
};
