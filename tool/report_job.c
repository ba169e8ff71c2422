/* SPDX-License-Identifier: MIT */
/* report_job.c - run one report: from a trace to a report and an exit status. */
#include "json_file.h"
#include "report_job.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analyze/module_table.h"
#include "analyze/report.h"
#include "base/output_file.h"
#include "cmd.h"
#include "filter_coroutines.h"
#include "filter_opts.h"
#include "report_parts.h"
#include "trace_foreach.h"

/* ---- the gate ------------------------------------------------------------ */

static bool fail_on_one(struct report_job *job, const char *name)
{
	const struct detector *const *d;
	const struct detector *known = detector_find(name);

	if (!strcmp(name, "all")) {
		for (d = detectors; *d; d++)
			job->fails[detector_number(*d)] |= (*d)->is_fault;
		return true;
	}
	if (!known) {
		message_print(job->command, "unknown detector '%s'", name);
		fputs("hint: 'corotracer report --list' names them; 'all' is every fault\n",
		      stderr);
		return false;
	}
	job->fails[detector_number(known)] = job->named[detector_number(known)] = true;
	job->of_a_test |= known == &detector_at_exit;
	return true;
}

bool report_job_fail_on(struct report_job *job, const char *list)
{
	char *copy = strdup(list), *rest = copy, *name;
	bool ok = copy;

	while (ok && (name = strsep(&rest, ",")) != NULL)
		ok = fail_on_one(job, name);
	free(copy);
	return ok;
}

static enum confidence gate_of(const struct report_job *job)
{
	return job->has_least ? job->least : CONFIDENCE_STRONG;
}

/* The highest confidence that findings of @d can have, as far as a gate has to know it. */
static enum confidence most_of(const struct detector *d)
{
	if (d->is_suspicion)
		return CONFIDENCE_SUSPECT;
	return d->is_fault || d == &detector_at_exit ? CONFIDENCE_PROVEN : CONFIDENCE_INFO;
}

bool report_job_check_gate(const struct report_job *job)
{
	const struct detector *const *d;

	for (d = detectors; *d; d++) {
		enum confidence most = most_of(*d);

		if (!job->named[detector_number(*d)] || most >= gate_of(job))
			continue;
		message_print(job->command,
			      "cannot fail on '%s': its findings are %s%s, and the gate is %s",
			      (*d)->name, confidence_name(most),
			      most == CONFIDENCE_INFO ? "" : " at most",
			      confidence_name(gate_of(job)));
		fprintf(stderr, "hint: corotracer report --fail-on %s --min-confidence %s TRACE\n",
			(*d)->name, confidence_name(most));
		return false;
	}
	return true;
}

static bool is_hit(const struct report_job *job, const struct group *g)
{
	return !g->suppressed_by && g->confidence >= gate_of(job) &&
	       job->fails[detector_number(g->detector)];
}

static uint64_t report_job_gate(const struct report_job *job, const struct report *r)
{
	uint64_t hits = 0;
	size_t i;

	for (; r; r = r->next) {
		const struct findings *f = &r->analysis->findings;

		for (i = 0; i < f->nr; i++)
			hits += is_hit(job, &f->groups[i]);
	}
	return hits;
}

static void say_hits(const struct report_job *job, const struct report *r)
{
	const struct findings *f = &r->analysis->findings;
	size_t i;

	for (i = 0; i < f->nr; i++) {
		const struct group *g = &f->groups[i];
		struct report_place where = { .text = "" };

		if (!is_hit(job, g))
			continue;
		report_group_place(r, g, &where);
		message_print(job->command, "%s: %" PRIu64 " (%s)%s%s", g->detector->name, g->count,
			      confidence_name(g->confidence), where.text[0] ? " at " : "",
			      where.text);
	}
}

/* ---- suppressions --------------------------------------------------------- */

static void report_job_suppress(const struct report *r, struct analysis *a, struct suppressions *s)
{
	size_t i;

	for (i = 0; i < a->findings.nr; i++) {
		struct group *g = &a->findings.groups[i];
		struct report_place where;
		char kind[640];
		bool has_place = report_group_place(r, g, &where);
		bool has_kind = report_kind_of(r, g, kind, sizeof(kind));

		struct suppression_subject subject = {
			.detector = g->detector->name,
			.place = has_place ? where.text : NULL,
			.function = has_place ? where.function : NULL,
			.kind = has_kind ? kind : NULL,
		};

		g->suppressed_by = suppressions_match(s, &subject);
	}
}

/* ---- reading --------------------------------------------------------------- */

struct report_reading {
	struct report_job *job;
	struct report_parts *parts;
	struct symbols *symbols;
};

static int no_memory(const struct report_job *job, struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for the coroutines of '%s'", job->trace);
}

static uint64_t report_job_events(const struct report_parts *parts)
{
	uint64_t events = 0;
	size_t i;

	for (i = 0; i < parts->nr; i++)
		events += parts->list[i].analysis->model.events;
	return events;
}

static int add_item(void *arg, const struct trace_item *item, struct err *err)
{
	struct report_reading *to = arg;
	int rc;

	if (report_memory_add(&to->job->memory, item) < 0)
		return no_memory(to->job, err);
	if (item->type == TRACE_ITEM_MODULE)
		rc = symbols_add_told(to->symbols, &item->module);
	else
		rc = report_parts_add(to->parts, item);
	return rc < 0 ? no_memory(to->job, err) : 0;
}

static int read_all(struct report_job *job, struct trace_reader *reader, struct report_parts *parts,
		    struct symbols *symbols, struct err *err)
{
	const struct trace_stats *stats = trace_reader_stats(reader);
	struct report_reading to = { job, parts, symbols };
	int rc = read_trace(job->trace, reader, add_item, &to, err);

	if (rc < 0)
		return rc;
	if (report_parts_finish(parts, stats, trace_filter_is_set(&job->filter)) < 0)
		return no_memory(job, err);
	return expect_events(job->trace, report_job_events(parts), stats, err);
}

/* ---- the terminal ------------------------------------------------------------ */

#define ROWS_ELSEWHERE 50 /* of text that does not go to a terminal */

static bool wants_color(const struct report_job *job, bool is_terminal)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (job->color != REPORT_COLOR_AUTO)
		return job->color == REPORT_COLOR_ALWAYS;
	return is_terminal && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

/* Set form, colour and size of the report by where it goes. */
static void fit_to_output(struct report_job *job, struct report *r)
{
	int fd = job->to_stderr ? STDERR_FILENO : STDOUT_FILENO;
	bool is_terminal = !job->output && isatty(fd);
	struct winsize size = { 0 };

	if (!job->has_form && is_terminal)
		job->form = REPORT_TEXT;
	r->all = job->all;
	r->color = wants_color(job, is_terminal);
	r->rows = ROWS_ELSEWHERE;
	if (is_terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col >= 40) {
		r->rows = size.ws_row;
		r->columns = size.ws_col;
	}
	if (job->all)
		r->rows = 0;
}

/* ---- the source root ----------------------------------------------------------- */

/* Cut @path to the nearest folder upwards that is a git checkout; otherwise it stays. */
static void find_checkout(char *path)
{
	char top[PATH_MAX], git[PATH_MAX + 8];
	char *slash;

	snprintf(top, sizeof(top), "%s", path);
	while (top[0]) {
		snprintf(git, sizeof(git), "%s/.git", top);
		if (access(git, F_OK) == 0) {
			path[strlen(top)] = '\0'; /* top is a prefix of path */
			return;
		}
		slash = strrchr(top, '/');
		*slash = '\0';
	}
}

/* The absolute path that files in SARIF are relative to; NULL: unknown. */
static const char *source_root_of(const struct report_job *job, char path[PATH_MAX])
{
	if (!realpath(job->source_root ? job->source_root : ".", path))
		return NULL;
	if (!job->source_root)
		find_checkout(path);
	return path;
}

/* ---- writing --------------------------------------------------------------- */

static int write_form(const struct report_job *job, const struct report *r, FILE *out)
{
	static int (*const forms[])(const struct report *, FILE *) = {
		[REPORT_MARKDOWN] = report_markdown, [REPORT_TEXT] = report_text,
		[REPORT_JSON] = report_json,         [REPORT_SARIF] = report_sarif,
		[REPORT_JUNIT] = report_junit,
	};

	int rc = job->gen_suppressions ? report_suppressions(r, out) : forms[job->form](r, out);

	if (!rc && r->put_more && !job->gen_suppressions && job->form <= REPORT_TEXT)
		report_memory_print(&job->memory, out, job->form == REPORT_MARKDOWN);
	return rc;
}

static int write_report_file(const struct report_job *job, const struct report *r, struct err *err)
{
	struct outfile out;
	FILE *stream;
	int rc;

	if (outfile_open(&out, job->output, err) < 0)
		return err->code;
	stream = outfile_stream(&out, err);
	rc = stream ? write_form(job, r, stream) : err->code;
	if (stream) {
		outfile_end_stream(&out, stream);
		if (rc < 0 && !out.error)
			out.error = rc;
		rc = outfile_commit(&out, err);
	}
	outfile_close(&out);
	return rc;
}

static int write_report(const struct report_job *job, const struct report *r, struct err *err)
{
	FILE *out = job->to_stderr ? stderr : stdout;
	int rc;

	if (job->output)
		return write_report_file(job, r, err);
	if (job->form == REPORT_JSON)
		out = json_file_stream(out);
	rc = write_form(job, r, out);
	errno = 0;
	if (fflush(out) != 0 && !rc)
		rc = errno ? -errno : -EIO;
	if (!rc)
		return 0;
	errno = -rc;
	return err_errno(err, "cannot write to 'standard output'");
}

/* A gate decides whether a run was good, which is impossible if the end of the trace is missing. */
static bool is_too_short(const struct report_job *job, const struct report *r)
{
	enum trace_verdict verdict = trace_verdict(r->stats);
	char what[TRACE_SHORTAGE_SIZE];
	bool has_gate = false;
	size_t i;

	for (i = 0; i < REPORT_DETECTORS_MAX; i++)
		has_gate |= job->fails[i];
	if (verdict != TRACE_INCOMPLETE && !(has_gate && verdict == TRACE_UNFINISHED))
		return false;
	message_print(job->command, "the trace '%s' is %s: %s", r->trace,
		      trace_verdict_name(verdict), trace_shortage(r->stats, what, sizeof(what)));
	return true;
}

/* One report for each part, linked. */
static void report_job_prepare(struct report_job *job, const struct report_parts *parts,
			       const struct report *form, struct suppressions *rules,
			       struct report *reports)
{
	size_t i;

	for (i = 0; i < parts->nr; i++) {
		struct report *r = &reports[i];

		*r = *form;
		r->analysis = parts->list[i].analysis;
		if (parts->is_merged) {
			r->trace = parts->list[i].title;
			r->stats = &parts->list[i].stats;
			r->whole = job->trace;
			r->whole_stats = form->stats;
			r->next = i + 1 < parts->nr ? r + 1 : NULL;
		}
		report_job_suppress(r, parts->list[i].analysis, rules);
		report_prepare(r);
	}
}

static int report_job_write(struct report_job *job, const struct report *reports, struct err *err)
{
	const struct report *r;
	uint64_t hits = report_job_gate(job, reports);
	bool is_short = false;

	for (r = reports; r; r = r->next)
		is_short |= is_too_short(job, r);
	if ((!job->quiet || hits || is_short) && write_report(job, reports, err) < 0)
		return err->code;
	for (r = reports; r && hits && job->output; r = r->next)
		say_hits(job, r);
	return hits > 0 || is_short;
}

static void report_job_more(struct json_writer *j, void *memory)
{
	report_memory_json(memory, j);
}

static int report_job_conclude(struct report_job *job, struct trace_reader *reader,
			       const struct report_parts *parts, struct symbols *symbols,
			       struct suppressions *rules, struct err *err)
{
	struct report form = {
		.trace = job->trace,
		.stats = trace_reader_stats(reader),
		.symbols = symbols,
		.least = job->least,
		.gate = gate_of(job),
		.fails = job->fails,
		.all_coroutines = true,
	};
	struct report *reports = calloc(parts->nr, sizeof(*reports));
	char root[PATH_MAX];
	int rc = 0;

	if (!reports)
		return no_memory(job, err);
	if (job->memory.wanted) {
		rc = report_memory_read(&job->memory, job->trace, err);
		form.put_more = report_job_more;
		form.more = &job->memory;
	}
	fit_to_output(job, &form);
	form.source_root = source_root_of(job, root);
	report_job_prepare(job, parts, &form, rules, reports);
	if (rc >= 0)
		rc = report_job_write(job, reports, err);
	free(reports);
	return rc;
}

static int report_with(struct report_job *job, struct report_parts *parts, struct symbols *symbols,
		       struct suppressions *rules, struct err *err)
{
	struct trace_reader *reader;
	int rc;

	if (job->suppressions && suppressions_read(rules, job->suppressions, err) < 0)
		return err->code;
	reader = trace_reader_open(job->trace, err);
	if (!reader)
		return err->code;
	trace_reader_set_filter(reader, &job->filter);
	job->memory.filter = job->filter;
	rc = read_all(job, reader, parts, symbols, err);
	if (!rc)
		rc = report_job_conclude(job, reader, parts, symbols, rules, err);
	trace_reader_close(reader);
	return rc;
}

int report_job_run(struct report_job *job)
{
	struct analysis_options options = { .min_age_ns = job->min_age_ns,
					    .of_a_test = job->of_a_test };
	struct suppressions rules = { 0 };
	struct report_parts parts = { .list = NULL };
	struct symbols *symbols = symbols_new();
	struct filter_coroutines chosen = { .is_set = false };
	struct err err = { 0 };
	struct trace_parts part = { .nr = 0 };
	int rc = symbols ? filter_part_find(&part, job->trace, &job->filter, &err)
			 : err_set(&err, -ENOMEM, "no memory");

	if (!rc)
		rc = filter_coroutines_choose(&chosen, job->trace, &job->filter, &err);
	options.chosen = chosen.is_set ? &chosen.ids : NULL;
	options.chosen_text = chosen.text;
	if (!rc)
		rc = report_parts_open(&parts, job->filter.part ? NULL : job->trace, &options,
				       symbols, &err);
	if (!rc)
		rc = report_with(job, &parts, symbols, &rules, &err);
	if (rc < 0)
		message_error(job->command, &err);
	report_parts_release(&parts);
	symbols_free(symbols);
	suppressions_release(&rules);
	report_memory_release(&job->memory);
	filter_coroutines_release(&chosen);
	trace_parts_release(&part);
	return rc ? EXIT_FAILED : EXIT_OK;
}
