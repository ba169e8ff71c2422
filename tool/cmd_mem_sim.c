/* SPDX-License-Identifier: MIT */
/* cmd_mem_sim.c - corotracer mem sim: a memory trace through simulated caches. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "mem_sim.h"

#define SYSFS      "/sys/devices/system/cpu"
#define PLACES_MAX 1024

enum {
	O_CACHE,
	O_CONFIG,
	O_HOST,
	O_TLB,
	O_PAGE,
	O_CORES,
	O_MAP,
	O_SEED,
	O_NO_CLASSES,
	O_THREAD,
	O_RANGE,
	O_TYPE,
	O_FROM,
	O_TO,
	O_TOP,
	O_SHOW,
	O_CSV,
	O_JSON,
};

static const struct opt options[] = {
	[O_CACHE] = { 'l', "cache", "SPEC", "a level: [NAME=]SIZE,WAYS[,LINE][,WORD...]; repeat" },
	[O_CONFIG] = { 'c', "config", "FILE", "the machine as JSON, or the existing suite's" },
	[O_HOST] = { 0, "host", NULL, "this computer's caches (the default)" },
	[O_TLB] = { 0, "tlb", "SPEC", "a level of TLB: [NAME=]ENTRIES[,WAYS]; repeat" },
	[O_PAGE] = { 0, "page", "SIZE", "of a page (4K)" },
	[O_CORES] = { 0, "cores", "N", "threads take turns on N cores (one for each thread)" },
	[O_MAP] = { 0, "map", "ID=CORE,...", "this thread on that core; repeat" },
	[O_SEED] = { 0, "seed", "N", "of random replacement (0)" },
	[O_NO_CLASSES] = { 0, "no-classes", NULL, "do not tell cold, capacity, conflict: faster" },
	[O_THREAD] = { 't', "thread", "ID", "only this thread's accesses" },
	[O_RANGE] = { 'r', "range", "RANGE", "only what touches it: 0x1000-0x1fff, 0x1000+64" },
	[O_TYPE] = { 0, "type", "NAME", "only accesses to this annotated type" },
	[O_FROM] = { 0, "from-mark", "TEXT", "begin at the first such mark" },
	[O_TO] = { 0, "to-mark", "TEXT", "end at the first such mark after that" },
	[O_TOP] = { 'n', "top", "N", "threads and shared lines to tell (10)" },
	[O_SHOW] = { 0, "show", NULL,
		     "print the machine as JSON for --config, and simulate nothing" },
	[O_CSV] = { 0, "csv", NULL, "as comma-separated values, a line per thread and level" },
	[O_JSON] = { 0, "json", NULL, "as one JSON object" },
	{ 0, NULL, NULL, NULL },
};

enum form { TEXT, CSV, JSON };

struct request {
	struct sim_config config;
	struct sim_config extra; /* of the command line: caches, TLBs */
	const char *file;
	bool host;
	bool has_page, has_cores, has_seed;
	const char *machine;
	struct mem_select select;
	bool selects;
	struct replay replay;
	struct replay_place places[PLACES_MAX];
	unsigned top;
	bool show;
	enum form form;
};

/* ---- options ------------------------------------------------------------------ */

static bool bad_value(const char *option, const char *value, const char *what)
{
	say("mem sim", "'%s' is no good for %s: %s goes there", value, option, what);
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

static bool add_text(struct sim_config *c,
		     int (*add)(struct sim_config *, const char *, struct err *), const char *value)
{
	struct err err = { 0 };

	if (add(c, value, &err) == 0)
		return true;
	say_error("mem sim", &err);
	return false;
}

static bool set_machine(struct request *q, int o, const char *value)
{
	unsigned long long n = 0;

	switch (o) {
	case O_CACHE:
		return add_text(&q->extra, sim_config_level_text, value);
	case O_TLB:
		return add_text(&q->extra, sim_config_tlb_text, value);
	case O_CONFIG:
		q->file = value;
		return true;
	case O_HOST:
		q->host = true;
		return true;
	case O_PAGE:
		q->has_page = opt_size("mem sim", "--page", value, SIM_PAGE_MIN, SIM_PAGE_MAX, &n);
		q->extra.page = (uint32_t)n;
		return q->has_page;
	case O_CORES:
		q->has_cores = opt_number("mem sim", "--cores", value, 1, SIM_CORES_MAX, &n);
		q->extra.cores = (uint32_t)n;
		return q->has_cores;
	case O_MAP:
		return add_places(q, value) ||
		       bad_value("--map", value, "ID=CORE, with commas between several");
	case O_SEED:
		q->has_seed = opt_number("mem sim", "--seed", value, 0, ~0ull, &n);
		q->extra.seed = n;
		return q->has_seed;
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
	default:
		q->form = o == O_CSV ? CSV : JSON;
		return true;
	}
}

/* ---- the machine ---------------------------------------------------------------- */

static int base_machine(struct request *q, struct err *err)
{
	if ((q->file != NULL) + q->host + (q->extra.nr_levels > 0) > 1) {
		err_set(err, -EINVAL, "one machine, please: --cache, --config or --host");
		return -EINVAL;
	}
	if (q->file) {
		q->machine = q->file;
		return sim_config_read(&q->config, q->file, err);
	}
	sim_config_default(&q->config);
	if (q->extra.nr_levels) {
		q->machine = "the command line";
		memcpy(q->config.level, q->extra.level, sizeof(q->config.level));
		q->config.nr_levels = q->extra.nr_levels;
		sim_config_finish(&q->config);
		return 0;
	}
	q->machine = "this computer";
	if (sim_config_host(&q->config, SYSFS, err) == 0 || q->host)
		return err->code;
	/* Containers and some virtual machines do not tell. */
	*err = (struct err){ 0 };
	q->machine = "a default, as this computer does not tell";
	sim_config_default(&q->config);
	return 0;
}

static bool make_machine(struct request *q)
{
	struct err err = { 0 };
	size_t i;

	if (base_machine(q, &err) < 0) {
		say_error("mem sim", &err);
		return false;
	}
	if (q->extra.nr_tlbs) {
		memcpy(q->config.tlb, q->extra.tlb, sizeof(q->config.tlb));
		q->config.nr_tlbs = q->extra.nr_tlbs;
	}
	if (q->has_page)
		q->config.page = q->extra.page;
	if (q->has_cores)
		q->config.cores = q->extra.cores;
	if (q->has_seed)
		q->config.seed = q->extra.seed;
	q->config.no_classes = q->extra.no_classes;
	for (i = 0; i < q->replay.nr_places; i++) {
		uint32_t core = q->places[i].core;

		if (core < (q->config.cores ? q->config.cores : SIM_CORES_AUTO))
			continue;
		say("mem sim", "--map names core %u, and there are %u", core,
		    q->config.cores ? q->config.cores : SIM_CORES_AUTO);
		fputs("hint: cores are counted from 0; --cores N says how many\n", stderr);
		return false;
	}
	if (sim_config_check(&q->config, &err) < 0) {
		say_error("mem sim", &err);
		return false;
	}
	return true;
}

static int show_machine(const struct request *q)
{
	struct json_writer w;

	jw_init_file(&w, stdout);
	mem_sim_machine(&w, &q->config);
	jw_newline(&w);
	return jw_release(&w) < 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- the simulation ---------------------------------------------------------------- */

/* A mark that never came is most likely misspelt: the result is of something else. */
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
	else if (q->form == CSV)
		mem_sim_csv(result);
	else
		mem_sim_text(result);
}

static int simulate(struct request *q, struct sim *s, struct mem_reader *r, const char *path)
{
	struct mem_sim_result result = { .path = path,
					 .machine = q->machine,
					 .sim = s,
					 .replay = &q->replay,
					 .facts = mem_reader_facts(r),
					 .top = q->top };
	struct err err = { 0 };
	int status = EXIT_OK;

	q->replay.select = q->selects ? &q->select : NULL;
	q->replay.places = q->places;
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
	s = sim_new(&q->config, &err);
	if (s)
		status = simulate(q, s, r, path);
	else
		say_error("mem sim", &err);
	sim_free(s);
	replay_release(&q->replay);
	mem_select_release(&q->select);
	return mem_finish(&command_mem_sim, r) == EXIT_OK ? status : EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	static struct request q; /* large */
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
	.details = "Words of --cache: lru plru fifo lifo random, write-through, no-allocate, "
		   "inclusive\n"
		   "exclusive, next-line tagged (prefetch), share=N share=all (cores per cache; "
		   "the last\n"
		   "of several levels is shared by all).  WAYS may be 'full'.\n",
	.opts = options,
	.run = run,
};
