/* SPDX-License-Identifier: MIT */
/*
 * cmd_info.c - `corotracer info`: what is in a trace, and is all of it there?
 *
 * The trace is read as a stream, so its size does not matter.  What was lost only
 * the sidecar knows; without one the answer is that nobody knows, not zero.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json_writer.h"
#include "base/progress.h"
#include "base/text.h"
#include "trace/jsonl_reader.h"
#include "trace/sidecar.h"
#include "trace/summary.h"

#include "cmd.h"

#define GARBAGE_SHOWN   5
#define PROCESSES_SHOWN 8
#define NAMES_SHOWN     5
#define NAME_COLUMNS    40

/* All that the two files said. */
struct info {
	const char *trace_path;
	char *sidecar_path; /* NULL: the trace comes from a pipe */
	bool has_sidecar;
	struct jsonl_stats lines;
	struct sidecar_stats sidecar_lines;
	struct trace_summary sum;
};

/* ---- gather -------------------------------------------------------------- */

static int read_trace(struct info *info, struct err *err)
{
	struct jsonl_reader reader;
	struct progress progress;
	struct trace_event ev;
	int rc = jsonl_reader_open(&reader, info->trace_path, err);

	if (rc < 0)
		return rc;
	progress_start(&progress, info->trace_path, lines_total(&reader.lines));
	while ((rc = jsonl_next(&reader, &ev, err)) > 0) {
		rc = summary_add_event(&info->sum, &ev);
		if (rc < 0) {
			err_set(err, rc, "no memory for the coroutines of '%s'", info->trace_path);
			break;
		}
		if (reader.stats.events % 4096 == 0)
			progress_update(&progress, reader.lines.bytes);
	}
	progress_end(&progress);
	info->lines = reader.stats;
	jsonl_reader_close(&reader);
	return rc;
}

static int read_records(struct info *info, struct sidecar_reader *reader, struct err *err)
{
	struct sidecar_record rec;
	int rc;

	while ((rc = sidecar_next(reader, &rec, err)) > 0) {
		rc = summary_add_record(&info->sum, &rec);
		if (rc < 0)
			return err_set(err, rc, "no memory for the coroutines of '%s'",
				       info->sidecar_path);
	}
	return rc;
}

/* No sidecar is fine: other tools write none. */
static int read_sidecar(struct info *info, struct err *err)
{
	struct sidecar_reader reader;
	int rc;

	if (!strcmp(info->trace_path, "-"))
		return 0;
	info->sidecar_path = sidecar_path(info->trace_path);
	if (!info->sidecar_path)
		return err_set(err, -ENOMEM, "no memory for a file name");
	rc = sidecar_reader_open(&reader, info->sidecar_path, err);
	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return rc;
	rc = read_records(info, &reader, err);
	info->has_sidecar = true;
	info->sidecar_lines = reader.stats;
	sidecar_reader_close(&reader);
	return rc;
}

/* Does the file hold what the collector says it put there?  True if nobody says. */
static bool agrees(const struct info *info)
{
	return !info->sum.has_totals || info->sum.totals.collected == info->sum.events;
}

static bool is_sound(const struct info *info)
{
	return !info->lines.garbage && !info->sidecar_lines.garbage && agrees(info);
}

/* ---- for people ---------------------------------------------------------- */

/* "  events        1,000" without the newline; an empty label continues the one above. */
static void label(const char *text)
{
	printf("  %-12s  ", text);
}

static void print_count(const char *text, uint64_t value)
{
	char count[TEXT_SIZE];

	label(text);
	puts(text_count(count, value));
}

/* "3 lines", "1 line" */
static void print_some(uint64_t value, const char *one, const char *many)
{
	char count[TEXT_SIZE];

	printf("%s %s", text_count(count, value), value == 1 ? one : many);
}

static void print_loss_causes(const struct sidecar_totals *t)
{
	char count[TEXT_SIZE];

	if (t->lost_overwritten) {
		label("");
		printf("%s overwritten before they were read\n",
		       text_count(count, t->lost_overwritten));
	}
	if (t->lost_output) {
		label("");
		printf("%s could not be written to the file\n", text_count(count, t->lost_output));
	}
	if (t->without_station) {
		label("");
		print_some(t->without_station, "coroutine", "coroutines");
		printf(" found no station and %s not in the trace at all\n",
		       t->without_station == 1 ? "is" : "are");
	}
}

static void print_lost(const struct info *info)
{
	const struct sidecar_totals *t = &info->sum.totals;
	char a[TEXT_SIZE], b[TEXT_SIZE];

	label("lost");
	if (!info->sidecar_path) {
		puts("not known: from a pipe the trace comes alone");
		return;
	}
	if (!info->sum.has_totals) {
		/* The collector writes the run at its start, the totals at its end. */
		if (info->has_sidecar)
			puts("not known: the collector was killed, or is still at it");
		else
			printf("not known: no '%s' beside the trace\n", info->sidecar_path);
		return;
	}
	printf("%s of %s written", text_count(a, t->lost), text_count(b, t->written));
	if (t->written)
		printf(" (%.3g %%)", 100.0 * (double)t->lost / (double)t->written);
	putchar('\n');
	print_loss_causes(t);
}

static void print_garbage(const struct info *info)
{
	const struct jsonl_stats *l = &info->lines;
	unsigned i;

	label("garbage");
	if (!l->garbage) {
		puts("none");
		return;
	}
	print_some(l->garbage, "line", "lines");
	puts(" set aside, not part of anything above");
	for (i = 0; i < l->nr_first && i < GARBAGE_SHOWN; i++) {
		label("");
		printf("line %llu: %s\n", (unsigned long long)l->first[i].line, l->first[i].reason);
	}
	if (l->garbage > i) {
		label("");
		print_some(l->garbage - i, "more", "more");
		putchar('\n');
	}
}

static void print_disagreement(const struct info *info)
{
	char a[TEXT_SIZE], b[TEXT_SIZE];

	if (!agrees(info)) {
		label("disagrees");
		printf("the collector wrote %s events, the file has %s:\n",
		       text_count(a, info->sum.totals.collected), text_count(b, info->sum.events));
		label("");
		puts("it was changed since, or belongs to another run");
	}
	if (info->sidecar_lines.garbage) {
		label("damaged");
		print_some(info->sidecar_lines.garbage, "line", "lines");
		printf(" of '%s' cannot be read\n", info->sidecar_path);
	}
}

static void print_command(const struct sidecar_run *run)
{
	size_t i;

	if (!run->nr_command)
		return;
	label("command");
	for (i = 0; i < run->nr_command; i++) {
		if (i)
			putchar(' ');
		text_put_word(stdout, run->command[i]);
	}
	putchar('\n');
}

static void print_start(const struct sidecar_run *run)
{
	time_t seconds = (time_t)(run->start_realtime / 1000000000u);
	struct tm tm;
	char text[64];

	if (!run->start_realtime || !localtime_r(&seconds, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm))
		return;
	label("started");
	puts(text);
}

static void print_recorder(const struct sidecar_run *run)
{
	label("recorded by");
	text_put(stdout, run->tool ? run->tool : "an unknown tool");
	if (run->hostname) {
		fputs(" on ", stdout);
		text_put(stdout, run->hostname);
	}
	if (run->arch) {
		fputs(", ", stdout);
		text_put(stdout, run->arch);
	}
	if (run->stations) {
		fputs(", ", stdout);
		print_some(run->stations, "station", "stations");
	}
	putchar('\n');
	if (run->format > SIDECAR_FORMAT) {
		label("");
		printf("in format %llu; this tool knows format %d and may miss something\n",
		       (unsigned long long)run->format, SIDECAR_FORMAT);
	}
}

static void print_end(const struct sidecar_totals *t)
{
	label("ended");
	if (t->signal > 0)
		printf("killed by signal %d, %s\n", t->signal, strsignal(t->signal));
	else if (t->exit_status >= 0)
		printf("exit status %d\n", t->exit_status);
	else
		puts("not seen");
	if (!t->complete) {
		label("");
		puts("the collector stopped before it had seen everything");
	}
}

static void print_processes(const struct trace_summary *sum)
{
	uint64_t i;

	if (!sum->nr_processes)
		return;
	label("processes");
	for (i = 0; i < sum->nr_processes && i < PROCESSES_SHOWN; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)sum->processes[i].pid);
	if (sum->nr_processes > i) {
		fputs(" and ", stdout);
		print_some(sum->nr_processes - i, "more", "more");
	}
	putchar('\n');
}

static void print_lives(const struct trace_summary *sum)
{
	const struct sidecar_totals *t = &sum->totals;

	if (!sum->nr_described)
		return;
	label("lives");
	print_some(sum->nr_described, "coroutine", "coroutines");
	fputs(" born, ", stdout);
	print_some(sum->nr_dead, "ended", "ended");
	putchar('\n');
	if (t->garbage) {
		label("");
		print_some(t->garbage, "record", "records");
		puts(" in shared memory made no sense to the collector");
	}
	if (t->unfinished) {
		label("");
		print_some(t->unfinished, "record", "records");
		puts(" were never finished by their writer");
	}
}

/* "reader (50), writer (50), main and 3 other names" */
static void print_names(const struct trace_summary *sum)
{
	size_t top[NAMES_SHOWN], nr = summary_top_names(sum, top, NAMES_SHOWN), i;
	char text[TEXT_SIZE];
	uint64_t count = 0;

	if (!nr)
		return;
	label("names");
	for (i = 0; i < nr; i++) {
		u64map_get(&sum->name_counts, top[i], &count);
		if (i)
			fputs(", ", stdout);
		text_put_short(stdout, strtab_text(&sum->names, top[i]), NAME_COLUMNS);
		if (count > 1)
			printf(" (%s)", text_count(text, count));
	}
	if (sum->names.nr > nr) {
		fputs(" and ", stdout);
		print_some(sum->names.nr - nr, "other name", "other names");
	}
	putchar('\n');
}

static void print_worst(const struct trace_summary *sum)
{
	char a[TEXT_SIZE], b[TEXT_SIZE];
	unsigned i;

	if (!sum->nr_worst)
		return;
	printf("\n  %-12s  %12s of %12s  %8s  %15s  name\n", "lost most", "lost", "written",
	       "station", "probe_id");
	for (i = 0; i < sum->nr_worst; i++) {
		const struct summary_worst *w = &sum->worst[i];

		printf("  %-12s  %12s of %12s  %8llu  %15llu", "", text_count(a, w->lost),
		       text_count(b, w->written), (unsigned long long)w->station,
		       (unsigned long long)w->probe_id);
		if (w->name) {
			fputs("  ", stdout);
			text_put_short(stdout, w->name, NAME_COLUMNS);
		}
		putchar('\n');
	}
	if (sum->nr_losers > sum->nr_worst) {
		label("");
		print_some(sum->nr_losers - sum->nr_worst, "more lost some", "more lost some");
		putchar('\n');
	}
}

static void print_text(const struct info *info)
{
	const struct trace_summary *sum = &info->sum;
	char duration[TEXT_SIZE];

	text_put(stdout, info->sidecar_path ? info->trace_path : "standard input");
	puts("\n");
	print_count("events", sum->events);
	print_count("coroutines", coro_ids_count(&sum->coroutines));
	print_count("threads", u64map_count(&sum->threads));
	label("duration");
	puts(text_duration(duration, summary_duration_ns(sum)));
	print_lost(info);
	print_garbage(info);
	print_disagreement(info);
	if (!info->has_sidecar)
		return;
	putchar('\n');
	if (sum->has_run) {
		print_command(&sum->run);
		print_start(&sum->run);
	}
	if (sum->has_totals)
		print_end(&sum->totals);
	print_processes(sum);
	print_lives(sum);
	print_names(sum);
	if (sum->has_run)
		print_recorder(&sum->run);
	print_worst(sum);
}

/* ---- for programs -------------------------------------------------------- */

static void json_garbage(struct json_writer *j, const struct jsonl_stats *lines)
{
	unsigned i;

	jw_field_u64(j, "lines", lines->lines);
	jw_field_u64(j, "garbage", lines->garbage);
	jw_key(j, "garbage_first");
	jw_array_begin(j);
	for (i = 0; i < lines->nr_first; i++) {
		jw_object_begin(j);
		jw_field_u64(j, "line", lines->first[i].line);
		jw_field_string(j, "reason", lines->first[i].reason);
		jw_object_end(j);
	}
	jw_array_end(j);
}

static void json_run(struct json_writer *j, const struct sidecar_run *run)
{
	size_t i;

	jw_key(j, "run");
	jw_object_begin(j);
	jw_field_u64(j, "format", run->format);
	jw_field_string(j, "tool", run->tool);
	jw_key(j, "command");
	jw_array_begin(j);
	for (i = 0; i < run->nr_command; i++)
		jw_string(j, run->command[i]);
	jw_array_end(j);
	jw_field_u64(j, "pid", run->pid);
	jw_field_u64(j, "start_ts", run->start_ts);
	jw_field_u64(j, "start_realtime", run->start_realtime);
	jw_field_string(j, "hostname", run->hostname);
	jw_field_string(j, "arch", run->arch);
	jw_field_u64(j, "stations", run->stations);
	jw_object_end(j);
}

static void json_totals(struct json_writer *j, const struct sidecar_totals *t)
{
	jw_key(j, "totals");
	jw_object_begin(j);
	jw_field_bool(j, "complete", t->complete);
	jw_field_u64(j, "written", t->written);
	jw_field_u64(j, "collected", t->collected);
	jw_field_u64(j, "lost", t->lost);
	jw_field_u64(j, "lost_overwritten", t->lost_overwritten);
	jw_field_u64(j, "lost_output", t->lost_output);
	jw_field_u64(j, "garbage", t->garbage);
	jw_field_u64(j, "unfinished", t->unfinished);
	jw_field_u64(j, "coroutines", t->coroutines);
	jw_field_u64(j, "without_station", t->without_station);
	jw_key(j, "exit_status");
	if (t->exit_status >= 0)
		jw_i64(j, t->exit_status);
	else
		jw_null(j);
	jw_key(j, "signal");
	if (t->signal > 0)
		jw_i64(j, t->signal);
	else
		jw_null(j);
	jw_field_u64(j, "end_ts", t->end_ts);
	jw_object_end(j);
}

static void json_processes(struct json_writer *j, const struct trace_summary *sum)
{
	uint64_t i;

	jw_field_u64(j, "processes", sum->nr_processes);
	jw_key(j, "processes_first");
	jw_array_begin(j);
	for (i = 0; i < sum->nr_processes && i < SUMMARY_PROCESSES; i++) {
		jw_object_begin(j);
		jw_field_u64(j, "pid", sum->processes[i].pid);
		jw_field_u64(j, "uid", sum->processes[i].uid);
		jw_field_u64(j, "connected_ts", sum->processes[i].connected_ts);
		jw_object_end(j);
	}
	jw_array_end(j);
}

static void json_names(struct json_writer *j, const struct trace_summary *sum)
{
	size_t top[SUMMARY_WORST], nr = summary_top_names(sum, top, SUMMARY_WORST), i;
	uint64_t count = 0;

	jw_field_u64(j, "names", sum->names.nr);
	jw_key(j, "names_most");
	jw_array_begin(j);
	for (i = 0; i < nr; i++) {
		u64map_get(&sum->name_counts, top[i], &count);
		jw_object_begin(j);
		jw_field_string(j, "name", strtab_text(&sum->names, top[i]));
		jw_field_u64(j, "coroutines", count);
		jw_object_end(j);
	}
	jw_array_end(j);
}

static void json_worst(struct json_writer *j, const struct trace_summary *sum)
{
	unsigned i;

	jw_field_u64(j, "coroutines_with_loss", sum->nr_losers);
	jw_key(j, "lost_most");
	jw_array_begin(j);
	for (i = 0; i < sum->nr_worst; i++) {
		const struct summary_worst *w = &sum->worst[i];

		jw_object_begin(j);
		jw_field_u64(j, "station", w->station);
		jw_field_u64(j, "probe_id", w->probe_id);
		jw_field_string(j, "name", w->name);
		jw_field_u64(j, "written", w->written);
		jw_field_u64(j, "collected", w->collected);
		jw_field_u64(j, "lost", w->lost);
		jw_object_end(j);
	}
	jw_array_end(j);
}

static void json_sidecar(struct json_writer *j, const struct info *info)
{
	const struct trace_summary *sum = &info->sum;

	jw_key(j, "sidecar");
	if (!info->has_sidecar) {
		jw_null(j);
		return;
	}
	jw_object_begin(j);
	jw_field_bool(j, "finished", sum->has_totals);
	jw_field_u64(j, "garbage", info->sidecar_lines.garbage);
	if (sum->has_run)
		json_run(j, &sum->run);
	if (sum->has_totals)
		json_totals(j, &sum->totals);
	json_processes(j, sum);
	jw_field_u64(j, "coroutines", sum->nr_described);
	jw_field_u64(j, "dead", sum->nr_dead);
	json_names(j, sum);
	json_worst(j, sum);
	jw_object_end(j);
}

/* Known, or null. */
static void json_known(struct json_writer *j, const char *key, bool known, uint64_t value)
{
	if (known)
		jw_field_u64(j, key, value);
	else
		jw_field_null(j, key);
}

static int print_json(const struct info *info)
{
	const struct trace_summary *sum = &info->sum;
	struct json_writer j;

	jw_init_file(&j, stdout);
	jw_object_begin(&j);
	jw_field_string(&j, "trace", info->trace_path);
	jw_field_bool(&j, "sound", is_sound(info));
	jw_field_u64(&j, "events", sum->events);
	jw_field_u64(&j, "coroutines", coro_ids_count(&sum->coroutines));
	jw_field_u64(&j, "threads", u64map_count(&sum->threads));
	jw_field_u64(&j, "duration_ns", summary_duration_ns(sum));
	json_known(&j, "first_ts", sum->events, sum->first_ts);
	json_known(&j, "last_ts", sum->events, sum->last_ts);
	json_known(&j, "written", sum->has_totals, sum->totals.written);
	json_known(&j, "collected", sum->has_totals, sum->totals.collected);
	json_known(&j, "lost", sum->has_totals, sum->totals.lost);
	jw_key(&j, "agrees");
	if (sum->has_totals)
		jw_bool(&j, agrees(info));
	else
		jw_null(&j);
	json_garbage(&j, &info->lines);
	json_sidecar(&j, info);
	jw_object_end(&j);
	jw_newline(&j);
	return jw_release(&j);
}

/* ---- the command --------------------------------------------------------- */

static int show(const struct info *info, bool json)
{
	int rc = 0;

	if (json)
		rc = print_json(info);
	else
		print_text(info);
	errno = 0;
	if (!rc && (fflush(stdout) != 0 || ferror(stdout)))
		rc = errno ? -errno : -EIO;
	if (rc) {
		say("info", "cannot write to standard output: %s", strerror(-rc));
		return EXIT_FAILED;
	}
	return is_sound(info) ? EXIT_OK : EXIT_FAILED;
}

static int info_on(const char *path, bool json)
{
	struct info info = { .trace_path = path };
	struct err err = { 0 };
	int status;

	if (read_trace(&info, &err) < 0 || read_sidecar(&info, &err) < 0) {
		say_error("info", &err);
		status = EXIT_FAILED;
	} else {
		status = show(&info, json);
	}
	summary_release(&info.sum);
	free(info.sidecar_path);
	return status;
}

static int run(int argc, char **argv)
{
	struct opt_walk walk = { 0 };
	const char *value;
	bool json = false;
	int first, which;

	while ((which = opt_next(&command_info, &walk, argc, argv, &value, &first)) >= 0)
		json = true;
	if (which == OPT_HELP)
		return EXIT_OK;
	if (which == OPT_BAD)
		return EXIT_USAGE;
	if (argc - first != 1) {
		say("info", first == argc ? "which trace?" : "one trace at a time");
		fprintf(stderr, "hint: corotracer info [--json] trace.jsonl\n");
		return EXIT_USAGE;
	}
	return info_on(argv[first], json);
}

static const struct opt options[] = {
	{ 0, "json", NULL, "print one JSON object" },
	{ 0, NULL, NULL, NULL },
};

const struct command command_info = {
	.name = "info",
	.instrument = "coroutines",
	.args = "[--json] TRACE",
	.summary = "say what is in a trace, and whether all of it is there",
	.details = "TRACE is a file of JSON lines, or '-' for standard input.  Traces of other\n"
		   "tools are fine; what was lost only a trace with a sidecar (TRACE.meta) tells.\n"
		   "\n"
		   "Exit status: 0 sound; 1 the trace has lines that are no events, or does not\n"
		   "hold what its sidecar says, or cannot be read; 2 usage.\n",
	.opts = options,
	.run = run,
};
