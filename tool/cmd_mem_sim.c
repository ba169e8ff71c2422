/* SPDX-License-Identifier: MIT */
/* cmd_mem_sim.c - corotracer mem sim: replay a memory trace through simulated caches. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "mem_machine.h"
#include "mem_sim.h"

#define PLACES_MAX 1024

enum {
	O_CACHE,
	O_CONFIG,
	O_HOST,
	O_TLB,
	O_PAGE,
	O_CORES,
	O_MAP,
	O_NO_CLASSES,
	O_BLAME,
	O_THREAD,
	O_RANGE,
	O_TYPE,
	O_FROM,
	O_TO,
	O_TOP,
	O_SHOW,
	O_CSV,
	O_EXACT,
	O_JSON,
};

static const struct opt options[] = {
	[O_CACHE] = MEM_MACHINE_OPT_CACHE,
	[O_CONFIG] = { 'c', "config", "FILE", "the machine as JSON, or the existing suite's" },
	[O_HOST] = MEM_MACHINE_OPT_HOST,
	[O_TLB] = { 0, "tlb", "SPEC", "a level of TLB: [NAME=]ENTRIES[,WAYS]; repeat" },
	[O_PAGE] = { 0, "page", "SIZE", "of a page (4K)" },
	[O_CORES] = MEM_MACHINE_OPT_CORES,
	[O_MAP] = { 0, "map", "ID=CORE,...", "this thread on that core; repeat" },
	[O_NO_CLASSES] = { 0, "no-classes", NULL, "do not tell cold, capacity, conflict: faster" },
	[O_BLAME] = { 'b', "blame", NULL, "by type and field and by source line, too: slower" },
	[O_THREAD] = { 't', "thread", "ID", "only this thread's accesses" },
	[O_RANGE] = { 'r', "range", "RANGE", "only what touches it: 0x1000-0x1fff, 0x1000+64" },
	[O_TYPE] = { 0, "type", "NAME", "only accesses to this annotated type" },
	[O_FROM] = { 0, "from-mark", "TEXT", "begin at the first such mark" },
	[O_TO] = { 0, "to-mark", "TEXT", "end at the first such mark after that" },
	[O_TOP] = { 'n', "top", "N", "threads and shared lines to tell (10)" },
	[O_SHOW] = { 0, "show", NULL,
		     "print the machine as JSON for --config, and simulate nothing" },
	[O_CSV] = { 0, "csv", NULL, "as comma-separated values, a line per thread and level" },
	[O_EXACT] = { 0, "no-formula-guard", NULL, NULL }, /* manual only: the help is full */
	[O_JSON] = { 0, "json", NULL, "as one JSON object" },
	{ 0, NULL, NULL, NULL },
};

enum form { TEXT, CSV, JSON };

struct request {
	struct mem_machine machine;
	struct sim_config extra; /* from the command line: TLBs, pages, classes */
	bool has_page;
	bool wants_blame;
	struct blame *blame;
	const struct mem_facts *facts;
	struct mem_select select;
	bool selects;
	struct replay replay;
	struct replay_place places[PLACES_MAX];
	unsigned top;
	bool show;
	enum form form;
	bool exact_text; /* CSV: do not guard texts that look like formulas */
};

/* ---- options ------------------------------------------------------------------ */

static bool bad_value(const char *option, const char *value, const char *what)
{
	say("mem sim", "invalid value '%s' for %s: expected %s", value, option, what);
	return false;
}

static bool add_places(struct request *q, const char *list)
{
	while (*list) {
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
		list = *end ? end + 1 : end;
	}
	return q->replay.nr_places > 0;
}

static bool add_tlb(struct request *q, const char *value)
{
	struct err err = { 0 };

	if (sim_config_tlb_text(&q->extra, value, &err) == 0)
		return true;
	say_error("mem sim", &err);
	return false;
}

static bool set_machine(struct request *q, int o, const char *value)
{
	unsigned long long n = 0;
	bool good;

	if (mem_machine_option(&q->machine, &command_mem_sim, o, value, &good))
		return good;
	switch (o) {
	case O_TLB:
		return add_tlb(q, value);
	case O_PAGE:
		q->has_page = opt_size("mem sim", "--page", value, SIM_PAGE_MIN, SIM_PAGE_MAX, &n);
		q->extra.page = (uint32_t)n;
		return q->has_page;
	case O_MAP:
		return add_places(q, value) ||
		       bad_value("--map", value, "ID=CORE, with commas between several");
	default:
		q->extra.no_classes = true;
		return true;
	}
}

static bool set_option(struct request *q, int o, const char *value)
{
	unsigned long long n;

	if (o <= O_NO_CLASSES)
		return set_machine(q, o, value);
	if (o == O_BLAME)
		return q->wants_blame = true;
	q->selects |= o == O_THREAD || o == O_RANGE || o == O_TYPE;
	switch (o) {
	case O_THREAD:
		q->select.by_thread = true;
		return opt_number("mem sim", "--thread", value, 0, ~0ull, &n) &&
		       (q->select.thread_id = n, true);
	case O_RANGE:
		return mem_select_range(&q->select, value) ||
		       bad_value("--range", value, "FROM-TO, FROM+SIZE or one address");
	case O_TYPE:
		q->select.type = value;
		return true;
	case O_FROM:
		q->replay.from_mark = value;
		return true;
	case O_TO:
		q->replay.to_mark = value;
		return true;
	case O_TOP:
		return opt_number("mem sim", "--top", value, 0, MEM_SIM_TOP_MAX, &n) &&
		       (q->top = (unsigned)n, true);
	case O_SHOW:
		q->show = true;
		return true;
	case O_EXACT:
		q->exact_text = true;
		return true;
	default:
		q->form = o == O_CSV ? CSV : JSON;
		return true;
	}
}

/* ---- the machine ---------------------------------------------------------------- */

static bool check_places(const struct request *q)
{
	uint32_t cores = q->machine.config.cores ? q->machine.config.cores : SIM_CORES_AUTO;
	size_t i;

	for (i = 0; i < q->replay.nr_places; i++) {
		if (q->places[i].core < cores)
			continue;
		say("mem sim", "--map names core %u, and there are %u", q->places[i].core, cores);
		fputs("hint: cores are counted from 0; --cores N says how many\n", stderr);
		return false;
	}
	return true;
}

static bool make_machine(struct request *q)
{
	struct sim_config *c = &q->machine.config;
	struct err err = { 0 };

	if (!mem_machine_settle(&q->machine, &command_mem_sim))
		return false;
	if (q->extra.nr_tlbs) {
		memcpy(c->tlb, q->extra.tlb, sizeof(c->tlb));
		c->nr_tlbs = q->extra.nr_tlbs;
	}
	if (q->has_page)
		c->page = q->extra.page;
	c->no_classes = q->extra.no_classes;
	if (sim_config_check(c, &err) == 0)
		return check_places(q);
	say_error("mem sim", &err);
	return false;
}

static int show_machine(const struct request *q)
{
	struct json_writer w;

	jw_init_file(&w, stdout);
	mem_sim_machine(&w, &q->machine.config);
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
	say("mem sim", "there is no mark '%s'%s", missing,
	    missing == p->to_mark && p->from_mark ? " after the first one" : "");
	fputs("hint: 'corotracer mem dump --kind mark TRACE' lists them\n", stderr);
	return EXIT_FAILED;
}

static void print_result(const struct request *q, const struct mem_sim_result *result)
{
	if (q->form == JSON)
		mem_sim_json(result);
	else if (q->form == CSV && q->blame)
		mem_sim_blame_csv(result);
	else if (q->form == CSV)
		mem_sim_csv(result);
	else
		mem_sim_text(result);
}

/* Called for each record, to attribute misses to types and lines. */
static int blame_each(void *context, const struct mem_record *r, const struct sim_outcome *out)
{
	struct request *q = context;

	if (blame_modules(q->blame, q->facts) < 0)
		return -ENOMEM;
	return out ? blame_access(q->blame, r, out) : blame_record(q->blame, r);
}

static int simulate(struct request *q, struct sim *s, struct mem_reader *r, const char *path)
{
	struct mem_sim_result result = { .path = path,
					 .machine = q->machine.words,
					 .blame = q->blame,
					 .sim = s,
					 .replay = &q->replay,
					 .facts = mem_reader_facts(r),
					 .top = q->top,
					 .exact_text = q->exact_text };
	struct err err = { 0 };
	int status = EXIT_OK;

	q->replay.select = q->selects ? &q->select : NULL;
	q->replay.places = q->places;
	q->facts = result.facts;
	q->replay.each = q->blame ? blame_each : NULL;
	q->replay.context = q;
	if (replay_run(&q->replay, s, r, &err) < 0) {
		say_error("mem sim", &err);
		return EXIT_FAILED;
	}
	print_result(q, &result);
	if (check_marks(&q->replay) != EXIT_OK)
		status = EXIT_FAILED;
	if (fflush(stdout) != 0 || ferror(stdout)) {
		say("mem sim", "cannot write the result");
		status = EXIT_FAILED;
	}
	return status;
}

static int sim_trace(struct request *q, const char *path)
{
	struct mem_reader *r = mem_open(&command_mem_sim, path);
	struct err err = { 0 };
	struct sim *s;
	int status = EXIT_FAILED;

	if (!r)
		return EXIT_FAILED;
	s = sim_new(&q->machine.config, &err);
	if (s && q->wants_blame)
		q->blame = blame_new(&q->machine.config, &err);
	if (s && (q->blame || !q->wants_blame))
		status = simulate(q, s, r, path);
	else
		say_error("mem sim", &err);
	blame_free(q->blame);
	sim_free(s);
	replay_release(&q->replay);
	mem_select_release(&q->select);
	return mem_finish(&command_mem_sim, r) == EXIT_OK ? status : EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	static struct request q; /* static: too large for the stack */
	struct opt_walk walk = { 0 };
	const char *value, *path;
	int o, first;

	q.top = 10;
	while ((o = opt_next(&command_mem_sim, &walk, argc, argv, &value, &first)) >= 0) {
		if (!set_option(&q, o, value))
			return EXIT_USAGE;
	}
	if (o != OPT_END)
		return o == OPT_HELP ? EXIT_OK : EXIT_USAGE;
	if (!make_machine(&q))
		return EXIT_USAGE;
	if (q.show && first >= argc)
		return show_machine(&q);
	path = mem_operand(&command_mem_sim, argc, argv, first);
	if (!path)
		return EXIT_USAGE;
	return q.show ? show_machine(&q) : sim_trace(&q, path);
}

const struct command command_mem_sim = {
	.name = "mem sim",
	.instrument = "memory",
	.args = "[OPTIONS] TRACE",
	.summary = "run a memory trace through simulated caches",
	.details = "WORDs: policies, prefetch, share=N; corotracer(1) has them all.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run,
};
