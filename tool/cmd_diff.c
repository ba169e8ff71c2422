/* SPDX-License-Identifier: MIT */
/* cmd_diff.c - `corotracer diff`: compare the traces of two versions of a program. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/diff.h"
#include "analyze/module_table.h"
#include "base/output_file.h"
#include "cmd.h"
#include "diff_page.h"
#include "filter_coroutines.h"
#include "filter_opts.h"
#include "json_file.h"
#include "trace_foreach.h"

enum diff_output { DIFF_TEXT, DIFF_MARKDOWN, DIFF_JSON };

enum diff_color { DIFF_COLOR_AUTO, DIFF_COLOR_NEVER, DIFF_COLOR_ALWAYS };

struct diff_job {
	struct trace_filter filter;
	const char *base[DIFF_RUNS_MAX + 1], *head[DIFF_RUNS_MAX + 1]; /* NULL-terminated */
	size_t nr_base, nr_head;
	char *notes[4 * DIFF_RUNS_MAX + 3]; /* two per trace at most, and one */
	size_t nr_notes;
	const char *output; /* NULL: standard output */
	const char *html;   /* a page besides; NULL: none */
	enum diff_output form;
	bool all, fail_on_regression, is_incomplete;
	enum diff_color color;
	struct diff diff;
	struct diff_page page;
};

/* ---- reading -------------------------------------------------------------------- */

struct diff_reading {
	const char *trace;
	const struct trace_filter *filter;
	struct analysis *analysis;
	struct symbols *symbols;
	enum time_side side;
	struct state_profile *times; /* for a page; NULL: not from these items */
};

static int diff_no_memory(const char *trace, struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for the coroutines of '%s'", trace);
}

static int diff_take_item(void *arg, const struct trace_item *item, struct err *err)
{
	struct diff_reading *to = arg;
	int rc;

	if (item->type == TRACE_ITEM_MODULE)
		rc = symbols_add_told(to->symbols, &item->module);
	else
		rc = analysis_add(to->analysis, item);
	if (to->times && rc >= 0)
		rc = state_profile_add(to->times, item);
	return rc < 0 ? diff_no_memory(to->trace, err) : 0;
}

/* A part that is missing changes durations: say so. */
static int diff_note(struct diff_job *job, const char *trace, const struct trace_stats *stats)
{
	char what[TRACE_SHORTAGE_SIZE];
	enum trace_verdict verdict = trace_verdict(stats);

	if (verdict != TRACE_INCOMPLETE && verdict != TRACE_UNFINISHED)
		return 0;
	job->is_incomplete |= verdict == TRACE_INCOMPLETE;
	if (asprintf(&job->notes[job->nr_notes], "'%s' is %s: %s", trace,
		     trace_verdict_name(verdict), trace_shortage(stats, what, sizeof(what))) < 0) {
		job->notes[job->nr_notes] = NULL;
		return -ENOMEM;
	}
	job->nr_notes++;
	return 0;
}

/* A page also has the times by stack; with a filter they are read from the whole trace. */
static int diff_add_times(struct diff_job *job, struct diff_reading *to, const struct report *r,
			  struct err *err)
{
	struct state_profile apart, *times = to->times;
	int rc = 0;

	if (!times) {
		state_profile_init(&apart, to->filter);
		times = &apart;
		rc = diff_page_read_times(to->trace, to->filter, times, err);
	}
	if (!rc && diff_page_add_run(&job->page, to->side, r, times) < 0)
		rc = diff_no_memory(to->trace, err);
	if (times == &apart)
		state_profile_release(&apart);
	return rc;
}

static int diff_read_with(struct diff_job *job, struct diff_reading *to,
			  struct trace_reader *reader, struct diff_profile *profile,
			  struct err *err)
{
	const struct trace_stats *stats = trace_reader_stats(reader);
	struct report r = {
		.trace = to->trace, .analysis = to->analysis, .stats = stats, .symbols = to->symbols
	};

	if (read_trace(to->trace, reader, diff_take_item, to, err) < 0)
		return err->code;
	if (analysis_finish(to->analysis, stats) < 0)
		return diff_no_memory(to->trace, err);
	if (expect_events(to->trace, to->analysis->model.events, stats, err) < 0)
		return err->code;
	if (diff_note(job, to->trace, stats) < 0 || diff_profile_add(profile, &r) < 0)
		return diff_no_memory(to->trace, err);
	return job->html ? diff_add_times(job, to, &r, err) : 0;
}

/* Which coroutines --site and --kind chose in @trace. */
static int diff_note_chosen(struct diff_job *job, const char *trace,
			    const struct filter_coroutines *chosen)
{
	if (!chosen->is_set)
		return 0;
	if (asprintf(&job->notes[job->nr_notes], "'%s': %c%s", trace, chosen->text[0] - 'A' + 'a',
		     chosen->text + 1) < 0) {
		job->notes[job->nr_notes] = NULL;
		return -ENOMEM;
	}
	/* The notes end without a full stop. */
	job->notes[job->nr_notes][strlen(job->notes[job->nr_notes]) - 1] = '\0';
	job->nr_notes++;
	return 0;
}

static int diff_read_chosen(struct diff_job *job, const char *trace,
			    const struct trace_filter *filter, struct diff_profile *profile,
			    struct err *err)
{
	struct analysis_options options = { .chosen = filter->chosen };
	struct diff_reading to = {
		.trace = trace,
		.filter = filter,
		.analysis = analysis_new(&options),
		.symbols = symbols_new(),
		.side = profile == &job->diff.base ? TIME_BASE : TIME_HEAD,
	};
	struct trace_reader *reader = NULL;
	struct state_profile times;
	int rc;

	state_profile_init(&times, filter);
	if (job->html && !trace_filter_is_set(filter))
		to.times = &times;
	if (to.analysis && to.symbols) {
		to.analysis->symbols = to.symbols;
		reader = trace_reader_open(trace, err);
		if (reader)
			trace_reader_set_filter(reader, filter);
		rc = reader ? diff_read_with(job, &to, reader, profile, err) : err->code;
	} else {
		rc = diff_no_memory(trace, err);
	}
	if (reader)
		trace_reader_close(reader);
	state_profile_release(&times);
	analysis_free(to.analysis);
	symbols_free(to.symbols);
	return rc;
}

/* Programs that were traced apart are compared apart. */
static int diff_refuse_merged(const char *trace, struct err *err)
{
	struct trace_parts parts = { .nr = 0 };
	int rc = strcmp(trace, "-") != 0 ? trace_parts_read(&parts, trace, err) : 0;

	if (!rc && parts.nr > 1) {
		rc = err_set(err, -EINVAL, "cannot compare '%s': it is a merge of %zu traces",
			     trace, parts.nr);
		err_hint(err, "--part N compares part N of both; 'corotracer info' lists them, and "
			      "'corotracer export ct --part N' writes one as a trace");
	}
	trace_parts_release(&parts);
	return rc;
}

static int diff_read(struct diff_job *job, const char *trace, struct diff_profile *profile,
		     struct err *err)
{
	struct filter_coroutines chosen = { .is_set = false };
	struct trace_filter filter = job->filter;
	struct trace_parts parts = { .nr = 0 };
	int rc = filter.part ? filter_part_find(&parts, trace, &filter, err)
			     : diff_refuse_merged(trace, err);

	if (!rc)
		rc = filter_coroutines_choose(&chosen, trace, &filter, err);
	filter.chosen = chosen.is_set ? &chosen.ids : NULL;
	if (!rc && diff_note_chosen(job, trace, &chosen) < 0)
		rc = diff_no_memory(trace, err);
	if (!rc)
		rc = diff_read_chosen(job, trace, &filter, profile, err);
	filter_coroutines_release(&chosen);
	trace_parts_release(&parts);
	return rc;
}

static int diff_read_all(struct diff_job *job, struct err *err)
{
	size_t i;
	int rc = 0;

	diff_profile_init(&job->diff.base, job->nr_base);
	diff_profile_init(&job->diff.head, job->nr_head);
	for (i = 0; !rc && i < job->nr_base; i++)
		rc = diff_read(job, job->base[i], &job->diff.base, err);
	for (i = 0; !rc && i < job->nr_head; i++)
		rc = diff_read(job, job->head[i], &job->diff.head, err);
	return rc;
}

/* ---- writing -------------------------------------------------------------------- */

static bool diff_wants_color(const struct diff_job *job)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (job->color != DIFF_COLOR_AUTO)
		return job->color == DIFF_COLOR_ALWAYS;
	return !job->output && isatty(STDOUT_FILENO) && !(no && *no) && term &&
	       strcmp(term, "dumb") != 0;
}

static struct diff_form diff_form_of(const struct diff_job *job)
{
	return (struct diff_form){
		.base = job->base,
		.head = job->head,
		.notes = (const char *const *)job->notes,
		.color = diff_wants_color(job),
		.all = job->all,
	};
}

static int diff_put(const struct diff_job *job, FILE *out)
{
	static int (*const forms[])(const struct diff *, const struct diff_form *, FILE *) = {
		[DIFF_TEXT] = diff_text,
		[DIFF_MARKDOWN] = diff_markdown,
		[DIFF_JSON] = diff_json,
	};
	struct diff_form form = diff_form_of(job);

	return forms[job->form](&job->diff, &form, out);
}

static int diff_write_file(const struct diff_job *job, struct err *err)
{
	struct outfile out;
	FILE *stream;
	int rc;

	if (outfile_open(&out, job->output, err) < 0)
		return err->code;
	stream = outfile_stream(&out, err);
	rc = stream ? diff_put(job, stream) : err->code;
	if (stream) {
		outfile_end_stream(&out, stream);
		if (rc < 0 && !out.error)
			out.error = rc;
		rc = outfile_commit(&out, err);
	}
	outfile_close(&out);
	return rc;
}

static int diff_write(const struct diff_job *job, struct err *err)
{
	FILE *out = job->form == DIFF_JSON ? json_file_stream(stdout) : stdout;
	int rc;

	if (job->output)
		return diff_write_file(job, err);
	rc = diff_put(job, out);
	errno = 0;
	if (fflush(out) != 0 && !rc)
		rc = errno ? -errno : -EIO;
	if (!rc)
		return 0;
	errno = -rc;
	return err_errno(err, "cannot write to 'standard output'");
}

/* Traces of different programs have nothing to compare, which must not pass for "no change". */
static int diff_note_strangers(struct diff_job *job)
{
	const struct diff *d = &job->diff;

	if (d->compared || !d->base.nr_sites || !d->head.nr_sites)
		return 0;
	job->notes[job->nr_notes] = strdup(
		"the two sides have no site in common: are these traces of the same program?");
	return job->notes[job->nr_notes++] ? 0 : -ENOMEM;
}

/* The page, and the other form, unless both would go to standard output. */
static int diff_write_all(struct diff_job *job, struct err *err)
{
	const struct diff_form form = diff_form_of(job);
	int rc = job->html ? diff_page_save(&job->page, &job->diff, &form, job->html, err) : 0;

	if (rc < 0 || (job->html && !strcmp(job->html, "-") && !job->output))
		return rc;
	return diff_write(job, err);
}

static int diff_job_run(struct diff_job *job)
{
	struct err err = { 0 };
	/* Fail before a long trace is read. */
	int rc = job->html ? diff_page_check(&err) : 0;
	size_t i;

	if (!rc)
		rc = diff_read_all(job, &err);
	if (!rc && (diff_compare(&job->diff) < 0 || diff_note_strangers(job) < 0))
		rc = err_set(&err, -ENOMEM, "no memory for the comparison");
	if (!rc)
		rc = diff_write_all(job, &err);
	if (rc < 0)
		message_error("diff", &err);
	else if (job->is_incomplete || (job->fail_on_regression && job->diff.by_class[DIFF_WORSE]))
		rc = EXIT_FAILED;
	diff_release(&job->diff);
	diff_page_release(&job->page);
	for (i = 0; i < job->nr_notes; i++)
		free(job->notes[i]);
	return rc ? EXIT_FAILED : EXIT_OK;
}

/* ---- options -------------------------------------------------------------------- */

static const struct opt options[] = {
	{ 'o', "output", "FILE", "output file (default: standard output)",
	  OPT_TEXT(struct diff_job, output) },
	{ 0, "text", NULL, "text (default)", OPT_VALUE(struct diff_job, form, DIFF_TEXT) },
	{ 0, "markdown", NULL, "Markdown, for a pull request",
	  OPT_VALUE(struct diff_job, form, DIFF_MARKDOWN) },
	{ 0, "json", "[=FILE]", "one JSON object", OPT_VALUE(struct diff_job, form, DIFF_JSON) },
	{ 0, "html", "FILE", "also write a page: sites, histograms, flame graph of the difference",
	  OPT_TEXT(struct diff_job, html) },
	{ 0, "all", NULL, "print all changes (default: the ten largest per class)",
	  OPT_FLAG(struct diff_job, all) },
	{ 0, "color", "WHEN", "color of text: auto (default), always or never",
	  OPT_CHOICE(struct diff_job, color, "auto, never or always", DIFF_COLOR_AUTO) },
	{ 0, "threshold", "PERCENT", "smallest relative change to report (default 25)",
	  OPT_NUMBER(struct diff_job, diff.limits.percent, 1, 10000) },
	{ 0, "min-change", "US", "smallest change of a duration to report (default 50)",
	  OPT_UNITS(struct diff_job, diff.limits.ns, 0, 1000000000, 1000) },
	{ 0, "fail-on-regression", NULL, "exit 1 if anything is worse",
	  OPT_FLAG(struct diff_job, fail_on_regression) },
	FILTER_TIME_OPTS_SHORT(struct diff_job, filter,
			       "only from TIME on (10s, 5ms); --to, --coro, --site, --kind"),
	FILTER_EVENT_OPTS_SHORT(struct diff_job, filter),
	FILTER_PART_OPT(struct diff_job, filter.part, "only this part of merged traces"),
	{ .name = NULL },
};

static int diff_usage(const char *what)
{
	message_print("diff", "%s", what);
	fputs("hint: corotracer diff BASE HEAD, or BASE1 BASE2 ... -- HEAD1 HEAD2 ...\n", stderr);
	return EXIT_USAGE;
}

static bool diff_take_names(const char **names, size_t *nr, int argc, char **argv, int first)
{
	if (argc - first > DIFF_RUNS_MAX)
		return false;
	for (; first < argc; first++)
		names[(*nr)++] = argv[first];
	return true;
}

/* Traces before and after "--"; without it, two traces. */
static int diff_parse(struct diff_job *job, int argc, char **argv)
{
	int split = 1, first, status;

	while (split < argc && strcmp(argv[split], "--") != 0)
		split++;
	status = opts_parse(&command_diff, job, split, argv, &first);
	if (status != OPTS_PARSED)
		return status;
	if (split == argc) {
		if (argc - first != 2)
			return diff_usage("expected two traces");
		job->base[job->nr_base++] = argv[first];
		job->head[job->nr_head++] = argv[first + 1];
		return OPTS_PARSED;
	}
	if (!diff_take_names(job->base, &job->nr_base, split, argv, first))
		return diff_usage("too many traces");
	/* "--" takes the place of the command's name. */
	status = opts_parse(&command_diff, job, argc - split, argv + split, &first);
	if (status != OPTS_PARSED)
		return status;
	if (!diff_take_names(job->head, &job->nr_head, argc - split, argv + split, first))
		return diff_usage("too many traces");
	if (!job->nr_base || !job->nr_head)
		return diff_usage("expected a trace on each side of --");
	return OPTS_PARSED;
}

static int diff_run(int argc, char **argv)
{
	static struct diff_job job;
	int status;

	job.diff.limits = (struct diff_limits){ .percent = 25, .ns = 50000 };
	status = diff_parse(&job, argc, argv);
	return status == OPTS_PARSED ? diff_job_run(&job) : status;
}

const struct command command_diff = {
	.name = "diff",
	.instrument = "coroutines",
	.args = "[OPTIONS] BASE HEAD | BASE... -- HEAD...",
	.summary = "compare traces: longer waits and runs, starvation, leftovers, new sites",
	.details =
		"With several traces on each side a difference counts if it exceeds the spread\n"
		"between them: record three or more runs of each, in turn.  Single runs are\n"
		"compared by a rank test, and only large differences count.\n"
		"\n"
		"Exit status: 0 done; 1 --fail-on-regression and something is worse, a trace is\n"
		"incomplete, or it could not be done; 2 usage.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = diff_run,
};
