/* SPDX-License-Identifier: MIT */
/* info_run.c - what the collector recorded about the run of a trace. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "base/text.h"
#include "info.h"
#include "trace/schema.h"

#define PROCESSES_SHOWN 8
#define NAMES_SHOWN     5
#define NAME_COLUMNS    40
#define PLACES_SHOWN    100 /* in JSON: of coroutines that had not ended */

/* ---- text only ---------------------------------------------------------------- */

static void info_print_command(struct printer *p, const struct sidecar_run *run)
{
	size_t i;

	if (!run->nr_command)
		return;
	info_label(p, "command");
	for (i = 0; i < run->nr_command; i++) {
		if (i)
			print_text(p, " ");
		text_put_word(p->file, run->command[i]);
	}
	print_text(p, "\n");
}

static void info_print_start(struct printer *p, const struct sidecar_run *run)
{
	time_t seconds = (time_t)(run->start_realtime / 1000000000u);
	struct tm tm;
	char text[64];

	if (!run->start_realtime || !localtime_r(&seconds, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm))
		return;
	info_label(p, "started");
	print_text(p, "%s\n", text);
}

static void info_print_recorder(struct printer *p, const struct sidecar_run *run)
{
	info_label(p, "recorded by");
	print_safe(p, run->tool ? run->tool : "an unknown tool", 0);
	if (run->hostname) {
		print_text(p, " on ");
		print_safe(p, run->hostname, 0);
	}
	if (run->arch) {
		print_text(p, ", ");
		print_safe(p, run->arch, 0);
	}
	if (run->stations) {
		print_text(p, ", ");
		info_print_some(p, run->stations, "station", "stations");
	}
	print_text(p, "\n");
	if (run->format > SIDECAR_FORMAT) {
		info_label(p, "");
		print_text(p, "in format %llu; this tool knows format %d and may miss something\n",
			   (unsigned long long)run->format, SIDECAR_FORMAT);
	}
}

static void info_print_end(struct printer *p, const struct sidecar_totals *t)
{
	info_label(p, "ended");
	if (t->signal > 0)
		print_text(p, "killed by signal %d, %s\n", t->signal, strsignal(t->signal));
	else if (t->exit_status >= 0)
		print_text(p, "exit status %d\n", t->exit_status);
	else
		print_text(p, "not seen\n");
	if (!t->complete) {
		info_label(p, "");
		print_text(p, "the collector stopped before it had seen everything\n");
	}
}

static void info_print_lives(struct printer *p, const struct trace_summary *sum)
{
	const struct sidecar_totals *t = &sum->totals;

	if (!summary_born(sum))
		return;
	info_label(p, "lives");
	info_print_some(p, summary_born(sum), "coroutine", "coroutines");
	print_text(p, " created, ");
	info_print_some(p, summary_ended(sum), "ended", "ended");
	print_text(p, "\n");
	info_print_leftovers(p, sum);
	if (t->garbage) {
		info_label(p, "");
		info_print_some(p, t->garbage, "record", "records");
		print_text(p, " in shared memory were corrupt and skipped by the collector\n");
	}
	if (t->unfinished) {
		info_label(p, "");
		info_print_some(p, t->unfinished, "record", "records");
		print_text(p, " were never finished by their writer\n");
	}
}

/* ---- JSON only ---------------------------------------------------------------- */

static void info_json_last(struct printer *p, const struct trace_summary *sum,
			   const struct summary_last *last)
{
	if (!last->ts) {
		jw_field_null(&p->json, "state");
		return;
	}
	print_string(p, "state", trace_state_name(last->state));
	print_count(p, "since_ts", NULL, last->ts);
	print_count(p, "addr", NULL, last->addr);
	if (last->site) {
		print_count(p, "site", NULL, last->site);
		print_string(p, "place", summary_place(sum, last->site));
	}
	if (last->reason)
		print_string(p, "reason", trace_reason_name(last->reason));
	if (last->has_resource)
		print_count(p, "resource", NULL, last->resource);
}

static void info_json_alive(struct printer *p, const struct trace_summary *sum)
{
	unsigned i;

	print_list(p, "not_ended_first");
	for (i = 0; i < sum->nr_alive; i++) {
		print_object(p, NULL);
		print_count(p, "probe_id", NULL, sum->alive[i].probe_id);
		print_string(p, "name", sum->alive[i].name);
		info_json_last(p, sum, &sum->alive[i].last);
		print_object_end(p);
	}
	print_list_end(p);
}

static void info_json_group(struct printer *p, const struct trace_summary *sum,
			    const struct leftover_group *g)
{
	unsigned i;

	print_object(p, NULL);
	print_count(p, "coroutines", NULL, g->nr);
	print_string(p, "state", trace_state_name(g->last.state));
	print_string(p, "place", summary_place_text(sum, g->place));
	print_known(p, "addr", NULL, !g->place && g->last.state == TRACE_STATE_SUSPENDED,
		    g->last.addr, NULL);
	print_string(p, "created", info_leftover_created(sum, g));
	print_string(p, "reason", g->last.reason ? trace_reason_name(g->last.reason) : NULL);
	print_known(p, "oldest_ts", NULL, g->last.ts, g->last.ts, NULL);
	print_known(p, "newest_ts", NULL, g->last.ts, g->newest_ts, NULL);
	print_known(p, "oldest_ns", NULL, g->last.ts, summary_age_ns(sum, g->last.ts), NULL);
	print_known(p, "newest_ns", NULL, g->last.ts, summary_age_ns(sum, g->newest_ts), NULL);
	print_list(p, "resources");
	for (i = 0; i < g->nr_resources; i++)
		jw_u64(&p->json, g->resources[i]);
	print_list_end(p);
	print_flag(p, "more_resources", NULL, g->has_more_resources);
	print_list(p, "names_first");
	for (i = 0; i < g->nr_names; i++)
		jw_string(&p->json, g->names[i]);
	print_list_end(p);
	print_object_end(p);
}

/* Coroutines that had not ended, by place. */
static void info_json_leftovers(struct printer *p, const struct trace_summary *sum)
{
	size_t top[PLACES_SHOWN], nr = leftovers_top(&sum->leftovers, top, PLACES_SHOWN), i;

	print_count(p, "not_ended", NULL, sum->nr_described - sum->nr_dead);
	print_count(p, "not_ended_places", NULL, sum->leftovers.nr);
	print_list(p, "not_ended_by_place");
	for (i = 0; i < nr; i++)
		info_json_group(p, sum, &sum->leftovers.groups[top[i]]);
	print_list_end(p);
}

/* ---- both --------------------------------------------------------------------- */

static void info_print_processes(struct printer *p, const struct trace_summary *sum)
{
	uint64_t nr = sum->nr_processes, most = p->is_json ? SUMMARY_PROCESSES : PROCESSES_SHOWN, i;

	print_count(p, "processes", NULL, nr);
	if (nr)
		info_label(p, nr == 1 ? "pid" : "pids");
	print_list(p, "processes_first");
	for (i = 0; i < nr && i < most; i++) {
		print_object(p, NULL);
		if (p->is_json)
			schema_put_json(&p->json, TRACE_ITEM_PROCESS, &sum->processes[i]);
		print_text(p, "%s%" PRIu64, i ? ", " : "", (uint64_t)sum->processes[i].pid);
		print_object_end(p);
	}
	print_list_end(p);
	if (nr > i)
		print_text(p, " and %s more", number_text(nr - i));
	print_text(p, "%s", nr ? "\n" : "");
}

/* "reader (50), writer (50), main and 3 other names" */
static void info_print_names(struct printer *p, const struct trace_summary *sum)
{
	size_t top[SUMMARY_WORST], i;
	size_t nr = summary_top_names(sum, top, p->is_json ? SUMMARY_WORST : NAMES_SHOWN);
	uint64_t count = 0;

	print_count(p, "names", NULL, sum->names.nr);
	if (nr)
		info_label(p, "names");
	print_list(p, "names_most");
	for (i = 0; i < nr; i++) {
		const char *name = strtab_text(&sum->names, top[i]);

		u64map_get(&sum->name_counts, top[i], &count);
		print_object(p, NULL);
		print_text(p, "%s", i ? ", " : "");
		print_string(p, "name", name);
		print_safe(p, name, NAME_COLUMNS);
		print_count(p, "coroutines", count > 1 ? " (%s)" : NULL, count);
		print_object_end(p);
	}
	print_list_end(p);
	if (nr && sum->names.nr > nr) {
		print_text(p, " and %s", sum->nr_unnamed ? "more than " : "");
		info_print_some(p, sum->names.nr - nr, "other name", "other names");
	}
	print_text(p, "%s", nr ? "\n" : "");
}

static void info_print_worst(struct printer *p, const struct trace_summary *sum)
{
	unsigned i;

	print_count(p, "coroutines_with_loss", NULL, sum->nr_losers);
	if (sum->nr_worst)
		print_text(p, "\n  %-12s  %12s of %12s  %8s  %15s  name\n", "lost most", "lost",
			   "written", "station", "probe_id");
	print_list(p, "lost_most");
	for (i = 0; i < sum->nr_worst; i++) {
		const struct summary_worst *w = &sum->worst[i];

		print_row(p);
		print_text(p, "  %-12s  %12s of %12s", "", number_text(w->lost),
			   number_text(w->written));
		print_known(p, "station", "  %8s", w->station != TRACE_NO_STATION, w->station, "-");
		print_number(p, "probe_id", "  %15s", w->probe_id);
		print_string(p, "name", w->name);
		print_text(p, "%s", w->name ? "  " : "");
		print_safe(p, w->name ? w->name : "", NAME_COLUMNS);
		print_count(p, "written", NULL, w->written);
		print_count(p, "collected", NULL, w->collected);
		print_count(p, "lost", NULL, w->lost);
		print_row_end(p);
	}
	print_list_end(p);
	if (sum->nr_worst && sum->nr_losers > sum->nr_worst) {
		info_label(p, "");
		print_text(p, "%s more lost some\n", number_text(sum->nr_losers - sum->nr_worst));
	}
}

/* ---- the whole run -------------------------------------------------------------- */

static void info_text_run(struct printer *p, const struct trace_summary *sum)
{
	print_text(p, "\n");
	if (sum->has_run) {
		info_print_command(p, &sum->run);
		info_print_start(p, &sum->run);
	}
	if (sum->has_totals)
		info_print_end(p, &sum->totals);
	info_print_processes(p, sum);
	info_print_lives(p, sum);
	info_print_names(p, sum);
	if (sum->has_run)
		info_print_recorder(p, &sum->run);
	info_print_worst(p, sum);
}

static void info_json_run(struct printer *p, const struct info *info)
{
	const struct trace_summary *sum = &info->sum;

	print_object(p, "sidecar");
	print_flag(p, "finished", NULL, sum->has_totals);
	print_count(p, "garbage", NULL, info->stats.sidecar.garbage);
	if (sum->has_run) {
		print_object(p, "run");
		schema_put_json(&p->json, TRACE_ITEM_RUN, &sum->run);
		print_object_end(p);
	}
	if (sum->has_totals) {
		print_object(p, "totals");
		schema_put_json(&p->json, TRACE_ITEM_TOTALS, &sum->totals);
		print_object_end(p);
	}
	info_print_processes(p, sum);
	print_count(p, "coroutines", NULL, summary_born(sum));
	print_count(p, "dead", NULL, summary_ended(sum));
	info_print_names(p, sum);
	info_json_leftovers(p, sum);
	info_json_alive(p, sum);
	info_print_worst(p, sum);
	print_object_end(p);
}

void info_print_run(struct printer *p, const struct info *info)
{
	if (p->is_json && info_has_facts(info))
		info_json_run(p, info);
	else if (p->is_json)
		jw_field_null(&p->json, "sidecar");
	else if (info_has_facts(info))
		info_text_run(p, &info->sum);
}
