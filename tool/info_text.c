/* SPDX-License-Identifier: MIT */
/* info_text.c - the contents of a trace, as text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "info.h"

#define GARBAGE_SHOWN   5
#define PROCESSES_SHOWN 8
#define GAPS_SHOWN      5
#define NAMES_SHOWN     5
#define NAME_COLUMNS    40

void info_label(const char *text)
{
	printf("  %-12s  ", text);
}

static void info_put_count(const char *text, uint64_t value)
{
	char count[TEXT_SIZE];

	info_label(text);
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
		info_label("");
		printf("%s overwritten before they were read\n",
		       text_count(count, t->lost_overwritten));
	}
	if (t->lost_full) {
		info_label("");
		printf("%s found no room in their lane\n", text_count(count, t->lost_full));
	}
	if (t->lost_output) {
		info_label("");
		printf("%s could not be written to the file\n", text_count(count, t->lost_output));
	}
	if (t->others_lost) {
		info_label("");
		printf("and %s births, wakes, ends\n", text_count(count, t->others_lost));
	}
	if (t->without_station) {
		info_label("");
		print_some(t->without_station, "coroutine", "coroutines");
		printf(" found no room and %s not in the trace at all\n",
		       t->without_station == 1 ? "is" : "are");
	}
}

static void print_lost(const struct info *info)
{
	const struct sidecar_totals *t = &info->sum.totals;
	char a[TEXT_SIZE], b[TEXT_SIZE], c[TEXT_SIZE];

	info_label("lost");
	if (info->stats.is_stdin) {
		puts("not known: from a pipe the trace comes alone");
		return;
	}
	if (!info->sum.has_totals) {
		/* The collector writes the run at its start, and the totals at its end. */
		if (info_has_facts(info) || !info->sidecar_path)
			puts("not known: the collector was killed, or is still at it");
		else
			printf("not known: no '%s' beside the trace\n", info->sidecar_path);
		return;
	}
	printf("%s of %s written%s\n", t->lost ? text_count(a, t->lost) : "none",
	       text_count(b, t->written), text_share(c, t->lost, t->written));
	print_loss_causes(t);
	if (!t->forgotten)
		return;
	info_label("forgotten");
	printf("%s older ones: this is what a flight recorder had\n", text_count(a, t->forgotten));
}

static void print_garbage(const struct info *info)
{
	const struct jsonl_stats *l = &info->stats.lines;
	unsigned i;

	if (info->stats.format == TRACE_FORMAT_CTF)
		return;
	info_label("garbage");
	if (!l->garbage) {
		puts("none");
		return;
	}
	print_some(l->garbage, "line", "lines");
	puts(" set aside, not part of anything above");
	for (i = 0; i < l->nr_first && i < GARBAGE_SHOWN; i++) {
		info_label("");
		printf("line %llu: %s\n", (unsigned long long)l->first[i].line, l->first[i].reason);
	}
	if (l->garbage > i) {
		info_label("");
		print_some(l->garbage - i, "more", "more");
		putchar('\n');
	}
}

/* CTF traces: packets that could not be read. */
static void print_damage(const struct ctf_stats *c)
{
	if (c->damaged || c->missing) {
		info_label("damaged");
		print_some(c->damaged, "packet", "packets");
		fputs(" could not be read to the end, ", stdout);
		print_some(c->missing, "is missing", "are missing");
		putchar('\n');
	}
	if (c->torn) {
		info_label("torn");
		print_some(c->torn, "file ends", "files end");
		puts(" inside a packet: the collector was killed, or is still at it");
	}
	if (c->unknown) {
		info_label("unknown");
		print_some(c->unknown, "record", "records");
		puts(" of a later version, left out");
	}
}

/* "7,838: 100 births, 7,638 wakes, 100 ends" */
static void print_others(const struct trace_summary *sum)
{
	static const char *const words[NR_TRACE_KINDS][2] = {
		[TRACE_BIRTH] = { "birth", "births" },
		[TRACE_WAKE] = { "wake", "wakes" },
		[TRACE_END] = { "end", "ends" },
		[TRACE_DESTROY] = { "destruction", "destructions" },
		[TRACE_CLOSE] = { "close", "closes" },
		[TRACE_ACQUIRE] = { "lock taken", "locks taken" },
		[TRACE_RELEASE] = { "lock released", "locks released" },
	};
	unsigned i, shown = 0;

	if (!sum->others)
		return;
	info_label("and");
	for (i = TRACE_BIRTH; i < NR_TRACE_KINDS; i++) {
		if (!sum->kinds[i])
			continue;
		fputs(shown++ ? ", " : "", stdout);
		print_some(sum->kinds[i], words[i][0], words[i][1]);
	}
	putchar('\n');
}

/* "thread 4711 of 4710    1,234 events in 3 gaps" */
static void print_gaps(const struct trace_summary *sum)
{
	size_t top[GAPS_SHOWN], nr = summary_top_gaps(sum, top, GAPS_SHOWN), i;

	for (i = 0; i < nr; i++) {
		const struct summary_gaps *g = &sum->gaps[top[i]];

		info_label(i ? "" : "gaps");
		if (g->lane == TRACE_LANE_STATIONS)
			fputs("stations: ", stdout);
		else
			printf("thread %" PRIu64 " of process %" PRIu32 ": ", g->tid, g->pid);
		print_some(g->transitions, "event", "events");
		if (g->others) {
			fputs(" and ", stdout);
			print_some(g->others, "other", "others");
		}
		fputs(" in ", stdout);
		print_some(g->gaps, "gap", "gaps");
		putchar('\n');
	}
	if (sum->nr_gaps <= nr)
		return;
	info_label("");
	print_some(sum->nr_gaps - nr, "more thread", "more threads");
	putchar('\n');
}

static void print_disagreement(const struct info *info)
{
	const struct trace_completeness *c = &info->stats.completeness;
	char a[TEXT_SIZE], b[TEXT_SIZE];

	if (!trace_totals_agree(&info->stats)) {
		bool others = c->expected == c->read;

		info_label("disagrees");
		printf("the collector wrote %s %s, the file has %s:\n",
		       text_count(a, others ? c->expected_others : c->expected),
		       others ? "births, wakes, ends" : "events",
		       text_count(b, others ? c->read_others : c->read));
		info_label("");
		puts("it was changed since, or belongs to another run");
	}
	if (c->unreadable) {
		info_label("unreadable");
		print_some(c->unreadable, "file", "files");
		printf(": '%s': %s\n", c->unreadable_name, strerror(c->unreadable_errno));
	}
	if (info->stats.sidecar.garbage) {
		info_label("damaged");
		print_some(info->stats.sidecar.garbage, "line", "lines");
		printf(" of '%s' cannot be read\n", info->sidecar_path);
	}
}

static void print_command(const struct sidecar_run *run)
{
	size_t i;

	if (!run->nr_command)
		return;
	info_label("command");
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
	info_label("started");
	puts(text);
}

static void print_recorder(const struct sidecar_run *run)
{
	info_label("recorded by");
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
		info_label("");
		printf("in format %llu; this tool knows format %d and may miss something\n",
		       (unsigned long long)run->format, SIDECAR_FORMAT);
	}
}

static void print_end(const struct sidecar_totals *t)
{
	info_label("ended");
	if (t->signal > 0)
		printf("killed by signal %d, %s\n", t->signal, strsignal(t->signal));
	else if (t->exit_status >= 0)
		printf("exit status %d\n", t->exit_status);
	else
		puts("not seen");
	if (!t->complete) {
		info_label("");
		puts("the collector stopped before it had seen everything");
	}
}

static void print_processes(const struct trace_summary *sum)
{
	uint64_t i;

	if (!sum->nr_processes)
		return;
	info_label(sum->nr_processes == 1 ? "pid" : "pids");
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

	if (!summary_born(sum))
		return;
	info_label("lives");
	print_some(summary_born(sum), "coroutine", "coroutines");
	fputs(" born, ", stdout);
	print_some(summary_ended(sum), "ended", "ended");
	putchar('\n');
	info_print_leftovers(sum);
	if (t->garbage) {
		info_label("");
		print_some(t->garbage, "record", "records");
		puts(" in shared memory made no sense to the collector");
	}
	if (t->unfinished) {
		info_label("");
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
	info_label("names");
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
		if (sum->nr_unnamed)
			fputs("more than ", stdout);
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

		printf("  %-12s  %12s of %12s  ", "", text_count(a, w->lost),
		       text_count(b, w->written));
		if (w->station == TRACE_NO_STATION)
			printf("%8s", "-");
		else
			printf("%8" PRIu64, w->station);
		printf("  %15" PRIu64, w->probe_id);
		if (w->name) {
			fputs("  ", stdout);
			text_put_short(stdout, w->name, NAME_COLUMNS);
		}
		putchar('\n');
	}
	if (sum->nr_losers > sum->nr_worst) {
		info_label("");
		print_some(sum->nr_losers - sum->nr_worst, "more lost some", "more lost some");
		putchar('\n');
	}
}

void info_print_text(const struct info *info)
{
	const struct trace_summary *sum = &info->sum;
	char duration[TEXT_SIZE];

	text_put(stdout, info->stats.is_stdin ? "standard input" : info->trace_path);
	puts("\n");
	info_put_count("events", sum->events);
	print_others(sum);
	info_put_count("coroutines", coro_ids_count(&sum->coroutines.ids));
	info_put_count("threads", u64map_count(&sum->threads));
	info_label("duration");
	puts(text_duration(duration, summary_duration_ns(sum)));
	print_lost(info);
	print_gaps(sum);
	print_garbage(info);
	print_damage(&info->stats.ctf);
	print_disagreement(info);
	if (!info_has_facts(info))
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
