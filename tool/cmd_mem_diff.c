/* SPDX-License-Identifier: MIT */
/* cmd_mem_diff.c - corotracer mem diff: compare the misses of two traces. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/output_file.h"
#include "base/text.h"
#include "mem.h"
#include "mem_diff.h"
#include "mem_machine.h"
#include "mem_watch.h"
#include "memory/calls/call_watch.h"

struct mem_diff_options {
	struct mem_machine machine;
	struct mem_diff_result result;
	struct miss_limits limits;
	const char *output; /* NULL: standard output */
	enum mem_diff_form form;
	bool fail_on_regression, is_incomplete;
};

/* "type,field": which rows are compared. */
static bool diff_parse_kinds(void *kinds, const struct opt_use *use)
{
	const char *at = use->value;
	unsigned i, chosen = 0;

	while (*at) {
		size_t length = strcspn(at, ",");

		for (i = 0; i < MISS_KINDS; i++) {
			if (strlen(miss_kind_name(i)) == length &&
			    !strncmp(miss_kind_name(i), at, length))
				break;
		}
		if (i == MISS_KINDS)
			return opt_invalid(use,
					   "type, field, site and function, with commas between");
		chosen |= 1u << i;
		at += length + (at[length] == ',');
	}
	*(unsigned *)kinds = chosen;
	return chosen || opt_invalid(use, "type, field, site and function, with commas between");
}

static const struct opt options[] = {
	MEM_MACHINE_CACHE(struct mem_diff_options, machine),
	MEM_MACHINE_CONFIG(struct mem_diff_options, machine, "machine as JSON, as for mem sim"),
	MEM_MACHINE_HOST(struct mem_diff_options, machine),
	MEM_MACHINE_CORES(struct mem_diff_options, machine),
	{ 0, "threshold", "PERCENT", "smallest change of a row's cost to report (default 5)",
	  OPT_REAL(struct mem_diff_options, limits.of_row, 0, 1e6, MISS_PERCENT) },
	{ 0, "min-share", "PERCENT", "smallest change in percent of all cost (default 0.5)",
	  OPT_REAL(struct mem_diff_options, limits.of_total, 0, 100, MISS_PERCENT) },
	{ 0, "by", "LIST", "rows to compare: type,field,site,function (default: all)",
	  OPT_CALL(struct mem_diff_options, limits.kinds, diff_parse_kinds) },
	{ 0, "fail-on-regression", NULL, "exit 1 if the total or a row of both traces is worse",
	  OPT_FLAG(struct mem_diff_options, fail_on_regression) },
	{ 'n', "top", "N", "rows to print of each verdict (default 10)",
	  OPT_NUMBER(struct mem_diff_options, result.top, 1, 100000) },
	{ 'o', "output", "FILE", "output file (default: standard output)",
	  OPT_TEXT(struct mem_diff_options, output) },
	{ 0, "markdown", NULL, "Markdown, for a pull request",
	  OPT_VALUE(struct mem_diff_options, form, MEM_DIFF_MARKDOWN) },
	{ 0, "json", NULL, "one JSON object with all changes",
	  OPT_VALUE(struct mem_diff_options, form, MEM_DIFF_JSON) },
	{ .name = NULL },
};

/* ---- reading ---------------------------------------------------------------------- */

struct mem_diff_watch {
	struct mem_watch misses; /* the first: it is the context of mem_watch.h */
	struct call_watch calls;
};

static int mem_diff_each(void *context, const struct mem_record *r, const struct sim_outcome *out)
{
	struct mem_diff_watch *w = context;
	int rc = mem_watch_each(&w->misses, r, out);

	return rc < 0 ? rc : call_watch_each(&w->calls, r, out);
}

static int diff_simulate(const struct mem_diff_options *q, struct mem_diff_side *side,
			 struct mem_reader *reader, struct sim *sim, struct err *err)
{
	struct mem_diff_watch w = { .misses.blame = blame_new(&q->machine.config, err),
				    .misses.facts = mem_reader_facts(reader) };
	const struct call_profile *profile = NULL;
	const char *problem;
	unsigned i;
	int rc = w.misses.blame ? blame_learn(w.misses.blame, side->trace, err) : err->code;

	side->replay.each = mem_diff_each;
	side->replay.context = &w;
	side->replay.fetch = mem_watch_fetch;
	side->replay.sums = true;
	side->replay.alike = mem_watch_alike_passed;
	side->replay.changes = mem_watch_changes;
	if (!rc)
		rc = call_watch_begin(&w.calls, &q->machine.config, w.misses.facts, err);
	if (!rc)
		rc = replay_run(&side->replay, sim, reader, err);
	if (!rc)
		profile = call_watch_profile(&w.calls, err);
	if (!rc && !profile)
		rc = err->code;
	if (!rc && miss_rows_make(&side->rows, w.misses.blame, profile) < 0)
		rc = err_set(err, -ENOMEM, "no memory for the misses of '%s'", side->trace);
	for (i = 0; !rc && (problem = blame_problem(w.misses.blame, i)); i++)
		message_print("mem diff", "%s", problem);
	side->replay.context = NULL;
	call_watch_end(&w.calls);
	blame_free(w.misses.blame);
	return rc;
}

/* A part that is missing changes the misses. */
static void diff_note_lost(struct mem_diff_options *q, const struct mem_diff_side *side)
{
	char text[TEXT_SIZE];

	if (!side->replay.lost && !side->replay.lost_unknown)
		return;
	q->is_incomplete = true;
	message_print("mem diff", "'%s': %s%s accesses are missing", side->trace,
		      side->replay.lost_unknown ? "more than " : "",
		      text_count(text, side->replay.lost));
}

/* False after an error message. */
static bool diff_read_side(struct mem_diff_options *q, struct mem_diff_side *side)
{
	struct mem_reader *reader = mem_open(&command_mem_diff, side->trace);
	struct err err = { 0 };
	struct sim *sim;
	int rc;

	if (!reader)
		return false;
	sim = sim_new(&q->machine.config, &err);
	rc = sim ? diff_simulate(q, side, reader, sim, &err) : err.code;
	sim_free(sim);
	if (rc < 0)
		message_error("mem diff", &err);
	else
		diff_note_lost(q, side);
	return mem_finish(&command_mem_diff, reader) == EXIT_OK && !rc;
}

/* ---- writing ---------------------------------------------------------------------- */

static int diff_write_result(const struct mem_diff_options *q, struct err *err)
{
	struct outfile out;
	FILE *stream;
	int rc;

	if (outfile_open(&out, q->output ? q->output : "-", err) < 0)
		return err->code;
	stream = outfile_stream(&out, err);
	rc = stream ? mem_diff_print(&q->result, q->form, stream) : err->code;
	if (stream) {
		outfile_end_stream(&out, stream);
		if (rc < 0 && !out.error)
			out.error = rc;
		rc = outfile_commit(&out, err);
	}
	outfile_close(&out);
	return rc;
}

static int diff_conclude(struct mem_diff_options *q)
{
	struct mem_diff_result *r = &q->result;
	struct err err = { 0 };
	int rc = miss_comparison_make(&r->comparison, &r->sides[0].rows, &r->sides[1].rows,
				      &q->limits);

	if (rc < 0)
		err_set(&err, rc, "no memory for the comparison");
	else
		rc = diff_write_result(q, &err);
	if (rc < 0) {
		message_error("mem diff", &err);
		return EXIT_FAILED;
	}
	if (q->is_incomplete)
		return EXIT_FAILED;
	return q->fail_on_regression && miss_comparison_regressed(&r->comparison) ? EXIT_FAILED
										  : EXIT_OK;
}

static int run_mem_diff(int argc, char **argv)
{
	static struct mem_diff_options q; /* static: too large for the stack */
	struct mem_diff_result *r = &q.result;
	int first, status, i;

	q.limits = (struct miss_limits){ .of_row = UINT64_C(5) * MISS_PERCENT,
					 .of_total = MISS_PERCENT / 2,
					 .kinds = ~0u };
	r->top = 10;
	status = opts_parse(&command_mem_diff, &q, argc, argv, &first);
	if (status != OPTS_PARSED)
		return status;
	if (argc - first != 2) {
		message_print("mem diff", "expected two traces");
		fputs("hint: corotracer mem diff BASE HEAD\n", stderr);
		return EXIT_USAGE;
	}
	if (!mem_machine_settle(&q.machine, &command_mem_diff))
		return EXIT_USAGE;
	q.machine.config.no_classes = true;
	r->machine = q.machine.words;
	r->config = &q.machine.config;
	for (i = 0; i < 2; i++)
		r->sides[i].trace = argv[first + i];
	status = diff_read_side(&q, &r->sides[0]) && diff_read_side(&q, &r->sides[1])
			 ? diff_conclude(&q)
			 : EXIT_FAILED;
	miss_comparison_release(&r->comparison);
	for (i = 0; i < 2; i++) {
		miss_rows_release(&r->sides[i].rows);
		replay_release(&r->sides[i].replay);
	}
	return status;
}

const struct command command_mem_diff = {
	.name = "mem diff",
	.instrument = "memory",
	.args = "[OPTIONS] BASE HEAD",
	.summary = "compare the cache misses of two traces by type, field, site and function",
	.details = "For CI: name the caches (--cache), and use --fail-on-regression.\n"
		   "Exit status: 0 done; 1 failed, incomplete, or worse; 2 usage.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run_mem_diff,
};
