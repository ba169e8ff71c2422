/* SPDX-License-Identifier: MIT */
/* cmd_mem_sim.c - corotracer mem sim: replay a memory trace through simulated caches. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_file.h"
#include "mem.h"
#include "mem_machine.h"
#include "mem_sim.h"
#include "mem_type_files.h"
#include "mem_watch.h"

#define PLACES_MAX 1024

struct mem_sim_options {
	struct mem_machine machine;
	struct sim_config extra; /* from the command line: TLBs, pages, classes */
	bool wants_blame;
	struct mem_watch watch;
	struct type_files files;
	struct mem_select select;
	struct replay replay;
	struct replay_place places[PLACES_MAX];
	unsigned top;
	bool show;
	enum mem_form form;
	bool exact_text; /* CSV: do not guard texts that look like formulas */
};

/* ---- options ------------------------------------------------------------------ */

static bool sim_add_places(struct mem_sim_options *q, const char *list)
{
	for (;;) {
		struct replay_place *p = &q->places[q->replay.nr_places];
		unsigned long long id, core;
		char *end;

		errno = 0;
		id = strtoull(list, &end, 10);
		if (end == list || *list == '-' || *end != '=' || end[1] == '-' || errno)
			return false;
		list = end + 1;
		core = strtoull(list, &end, 10);
		if (end == list || (*end && *end != ',') || errno || core >= SIM_CORES_MAX ||
		    q->replay.nr_places == PLACES_MAX)
			return false;
		p->id = id;
		p->core = (uint32_t)core;
		q->replay.nr_places++;
		if (!*end)
			return true;
		list = end + 1;
	}
}

static bool sim_parse_places(void *options, const struct opt_use *use)
{
	return sim_add_places(options, use->value) ||
	       opt_invalid(use, "ID=CORE, with commas between several");
}

static bool sim_parse_tlb(void *config, const struct opt_use *use)
{
	struct err err = { 0 };

	return sim_config_tlb_text(config, use->value, &err) == 0 || opt_failed(use, &err);
}

static const struct opt options[] = {
	MEM_MACHINE_CACHE(struct mem_sim_options, machine),
	MEM_MACHINE_CONFIG(struct mem_sim_options, machine,
			   "machine as JSON, or a configuration of the existing suite"),
	MEM_MACHINE_HOST(struct mem_sim_options, machine),
	{ 0, "tlb", "SPEC", "TLB level: [NAME=]ENTRIES[,WAYS]; repeatable",
	  OPT_CALL(struct mem_sim_options, extra, sim_parse_tlb) },
	{ 0, "page", "SIZE", "page size (default 4K)",
	  OPT_SIZE(struct mem_sim_options, extra.page, SIM_PAGE_MIN, SIM_PAGE_MAX),
	  .is_rare = true },
	MEM_MACHINE_CORES(struct mem_sim_options, machine),
	{ 0, "map", "ID=CORE,...", "core of a thread; repeatable", .type = OPT_TYPE_CALL,
	  .parse = sim_parse_places },
	{ 0, "no-classes", NULL, "do not classify misses: faster",
	  OPT_FLAG(struct mem_sim_options, extra.no_classes) },
	{ 'b', "blame", NULL, "also print misses by type, field and source line: slower",
	  OPT_FLAG(struct mem_sim_options, wants_blame) },
	{ 't', "thread", "ID", "only accesses of this thread",
	  OPT_NUMBER(struct mem_sim_options, select.thread_id, 0, ~0ull),
	  OPT_GIVEN(struct mem_sim_options, select.by_thread) },
	{ 'r', "range", "RANGE", "only this address range: 0x1000-0x1fff, 0x1000+64",
	  OPT_CALL(struct mem_sim_options, select, mem_parse_range) },
	{ 0, "type", "NAME", "only accesses to this annotated type",
	  OPT_TEXT(struct mem_sim_options, select.type) },
	{ 0, "from-mark", "TEXT", "begin at the first mark with TEXT",
	  OPT_TEXT(struct mem_sim_options, replay.from_mark) },
	{ 0, "to-mark", "TEXT", "end at the next mark with TEXT",
	  OPT_TEXT(struct mem_sim_options, replay.to_mark) },
	{ 0, "threads", "N", "1: one thread; 2: another one for classes (default: by processors)",
	  OPT_NUMBER(struct mem_sim_options, replay.threads, 1, 2), .is_rare = true },
	{ 'n', "top", "N", "threads and shared lines to print (default 10)",
	  OPT_NUMBER(struct mem_sim_options, top, 0, MEM_SIM_TOP_MAX) },
	{ 0, "show", NULL, "print the machine as JSON for --config and exit",
	  OPT_FLAG(struct mem_sim_options, show) },
	{ 0, "csv", NULL, "print comma-separated values, a line per thread and level",
	  OPT_VALUE(struct mem_sim_options, form, MEM_CSV) },
	MEM_TYPES_PROGRAM(struct mem_sim_options, files),
	MEM_TYPES_DWARF(struct mem_sim_options, files),
	/* manual only: the help is full */
	{ 0, "no-formula-guard", NULL, NULL, OPT_FLAG(struct mem_sim_options, exact_text) },
	{ 0, "json", "[=FILE]", "print one JSON object",
	  OPT_VALUE(struct mem_sim_options, form, MEM_JSON) },
	{ .name = NULL },
};

/* ---- the machine ---------------------------------------------------------------- */

static bool sim_check_places(const struct mem_sim_options *q)
{
	uint32_t cores = q->machine.config.cores ? q->machine.config.cores : SIM_CORES_AUTO;
	size_t i;

	for (i = 0; i < q->replay.nr_places; i++) {
		if (q->places[i].core < cores)
			continue;
		message_print("mem sim", "--map: core %u does not exist: there are %u",
			      q->places[i].core, cores);
		fputs("hint: cores are counted from 0; --cores N sets their number\n", stderr);
		return false;
	}
	return true;
}

static bool make_machine(struct mem_sim_options *q)
{
	struct sim_config *c = &q->machine.config;
	struct err err = { 0 };

	if (!mem_machine_settle(&q->machine, &command_mem_sim))
		return false;
	if (q->extra.nr_tlbs) {
		memcpy(c->tlb, q->extra.tlb, sizeof(c->tlb));
		c->nr_tlbs = q->extra.nr_tlbs;
	}
	if (q->extra.page)
		c->page = q->extra.page;
	c->no_classes = q->extra.no_classes;
	if (sim_config_check(c, &err) == 0)
		return sim_check_places(q);
	message_error("mem sim", &err);
	return false;
}

static int show_machine(const struct mem_sim_options *q)
{
	struct json_writer w;

	jw_init_file(&w, json_file_stream(stdout));
	mem_sim_json_machine(&w, &q->machine.config);
	jw_newline(&w);
	return jw_release(&w) < 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- the simulation ---------------------------------------------------------------- */

/* A mark that never occurs is probably misspelt, and the result would be about something else. */
static int check_marks(const struct replay *p)
{
	const char *missing = p->from_mark && !p->met_from ? p->from_mark
			      : p->to_mark && !p->met_to   ? p->to_mark
							   : NULL;

	if (!missing)
		return EXIT_OK;
	message_print("mem sim", "there is no mark '%s'%s", missing,
		      missing == p->to_mark && p->from_mark ? " after the first one" : "");
	fputs("hint: 'corotracer mem dump --kind mark TRACE' lists them\n", stderr);
	return EXIT_FAILED;
}

static void print_result(const struct mem_sim_options *q, const struct mem_sim_result *result)
{
	if (q->form != MEM_CSV)
		mem_sim_print(result, json_file_stream(stdout), q->form == MEM_JSON);
	else if (q->watch.blame)
		mem_sim_blame_csv(result);
	else
		mem_sim_csv(result);
}

static int sim_replay(struct mem_sim_options *q, struct sim *s, struct mem_reader *r,
		      const char *path)
{
	struct mem_sim_result result = { .path = path,
					 .machine = q->machine.words,
					 .blame = q->watch.blame,
					 .sim = s,
					 .replay = &q->replay,
					 .facts = mem_reader_facts(r),
					 .top = q->top,
					 .exact_text = q->exact_text };
	struct err err = { 0 };
	int status = EXIT_OK;

	q->replay.select = (q->select.by_thread || q->select.by_range || q->select.type)
				   ? &q->select
				   : NULL;
	q->replay.places = q->places;
	q->watch.facts = result.facts;
	if (q->watch.blame) {
		q->replay.each = mem_watch_each;
		q->replay.fetch = mem_watch_fetch;
		q->replay.alike = mem_watch_alike;
		q->replay.changes = mem_watch_changes;
	}
	q->replay.sums = true;
	q->replay.context = &q->watch;
	if (replay_run(&q->replay, s, r, &err) < 0) {
		message_error("mem sim", &err);
		return EXIT_FAILED;
	}
	print_result(q, &result);
	if (check_marks(&q->replay) != EXIT_OK)
		status = EXIT_FAILED;
	if (fflush(stdout) != 0 || ferror(stdout)) {
		message_print("mem sim", "cannot write the result");
		status = EXIT_FAILED;
	}
	return status;
}

static int sim_trace(struct mem_sim_options *q, const char *path)
{
	struct mem_reader *r = mem_open(&command_mem_sim, path);
	struct err err = { 0 };
	struct sim *s;
	int status = EXIT_FAILED;

	if (!r)
		return EXIT_FAILED;
	s = sim_new(&q->machine.config, &err);
	if (s && q->wants_blame)
		q->watch.blame = blame_new(&q->machine.config, &err);
	if (q->watch.blame && (blame_add_files(q->watch.blame, &q->files, &err) < 0 ||
			       blame_learn(q->watch.blame, path, &err) < 0)) {
		blame_free(q->watch.blame);
		q->watch.blame = NULL;
	}
	if (s && (q->watch.blame || !q->wants_blame))
		status = sim_replay(q, s, r, path);
	else
		message_error("mem sim", &err);
	blame_free(q->watch.blame);
	sim_free(s);
	replay_release(&q->replay);
	mem_select_release(&q->select);
	return mem_finish(&command_mem_sim, r) == EXIT_OK ? status : EXIT_FAILED;
}

static int run_mem_sim(int argc, char **argv)
{
	static struct mem_sim_options q; /* static: too large for the stack */
	const char *path;
	int first, status;

	q.top = 10;
	status = opts_parse(&command_mem_sim, &q, argc, argv, &first);
	if (status != OPTS_PARSED)
		return status;
	if ((q.files.program || q.files.json) && !q.wants_blame) {
		message_print("mem sim", "--program and --dwarf are for --blame, which is missing");
		return EXIT_USAGE;
	}
	if (!make_machine(&q))
		return EXIT_USAGE;
	if (q.show && first >= argc)
		return show_machine(&q);
	path = opts_operand(&command_mem_sim, argc, argv, first);
	if (!path)
		return EXIT_USAGE;
	return q.show ? show_machine(&q) : sim_trace(&q, path);
}

const struct command command_mem_sim = {
	.name = "mem sim",
	.instrument = "memory",
	.args = "[OPTIONS] TRACE",
	.summary = "replay a memory trace through simulated caches",
	.details = "WORDs: policies, prefetch, share=N; corotracer(1) lists them.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run_mem_sim,
};
