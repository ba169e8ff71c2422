/* SPDX-License-Identifier: MIT */
/* info_json.c - the contents of a trace, as JSON. */
#include <stdio.h>

#include "base/json_writer.h"
#include "info.h"

/* Limit for the places of coroutines that had not ended. */
#define PLACES_SHOWN 100

/* Writes null if the value is unknown. */
static void json_known(struct json_writer *j, const char *key, bool known, uint64_t value)
{
	if (known)
		jw_field_u64(j, key, value);
	else
		jw_field_null(j, key);
}

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

static void info_json_run(struct json_writer *j, const struct sidecar_run *run)
{
	jw_key(j, "run");
	jw_object_begin(j);
	sidecar_json_run(j, run);
	jw_object_end(j);
}

static void info_json_totals(struct json_writer *j, const struct sidecar_totals *t)
{
	jw_key(j, "totals");
	jw_object_begin(j);
	sidecar_json_totals(j, t);
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
		sidecar_json_process(j, &sum->processes[i]);
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

static void json_last(struct json_writer *j, const struct trace_summary *sum,
		      const struct summary_last *last)
{
	if (!last->ts) {
		jw_field_null(j, "state");
		return;
	}
	jw_field_string(j, "state", trace_state_name(last->state));
	jw_field_u64(j, "since_ts", last->ts);
	jw_field_u64(j, "addr", last->addr);
	if (last->site) {
		jw_field_u64(j, "site", last->site);
		jw_field_string(j, "place", summary_place(sum, last->site));
	}
	if (last->reason)
		jw_field_string(j, "reason", trace_reason_name(last->reason));
	if (last->has_resource)
		jw_field_u64(j, "resource", last->resource);
}

static void json_alive(struct json_writer *j, const struct trace_summary *sum)
{
	unsigned i;

	jw_key(j, "not_ended_first");
	jw_array_begin(j);
	for (i = 0; i < sum->nr_alive; i++) {
		jw_object_begin(j);
		jw_field_u64(j, "probe_id", sum->alive[i].probe_id);
		jw_field_string(j, "name", sum->alive[i].name);
		json_last(j, sum, &sum->alive[i].last);
		jw_object_end(j);
	}
	jw_array_end(j);
}

static void json_group(struct json_writer *j, const struct trace_summary *sum,
		       const struct leftover_group *g)
{
	unsigned i;

	jw_object_begin(j);
	jw_field_u64(j, "coroutines", g->nr);
	jw_field_string(j, "state", trace_state_name(g->last.state));
	jw_field_string(j, "place", summary_place_text(sum, g->place));
	json_known(j, "addr", !g->place && g->last.state == TRACE_STATE_SUSPENDED, g->last.addr);
	jw_field_string(j, "reason", g->last.reason ? trace_reason_name(g->last.reason) : NULL);
	json_known(j, "oldest_ts", g->last.ts, g->last.ts);
	json_known(j, "newest_ts", g->last.ts, g->newest_ts);
	json_known(j, "oldest_ns", g->last.ts, summary_age_ns(sum, g->last.ts));
	json_known(j, "newest_ns", g->last.ts, summary_age_ns(sum, g->newest_ts));
	jw_key(j, "resources");
	jw_array_begin(j);
	for (i = 0; i < g->nr_resources; i++)
		jw_u64(j, g->resources[i]);
	jw_array_end(j);
	jw_field_bool(j, "more_resources", g->has_more_resources);
	jw_key(j, "names_first");
	jw_array_begin(j);
	for (i = 0; i < g->nr_names; i++)
		jw_string(j, g->names[i]);
	jw_array_end(j);
	jw_object_end(j);
}

/* Coroutines that had not ended, by place. */
static void json_leftovers(struct json_writer *j, const struct trace_summary *sum)
{
	size_t top[PLACES_SHOWN], nr = leftovers_top(&sum->leftovers, top, PLACES_SHOWN), i;

	jw_field_u64(j, "not_ended", sum->nr_described - sum->nr_dead);
	jw_field_u64(j, "not_ended_places", sum->leftovers.nr);
	jw_key(j, "not_ended_by_place");
	jw_array_begin(j);
	for (i = 0; i < nr; i++)
		json_group(j, sum, &sum->leftovers.groups[top[i]]);
	jw_array_end(j);
}

static void info_json_worst(struct json_writer *j, const struct trace_summary *sum)
{
	unsigned i;

	jw_field_u64(j, "coroutines_with_loss", sum->nr_losers);
	jw_key(j, "lost_most");
	jw_array_begin(j);
	for (i = 0; i < sum->nr_worst; i++) {
		const struct summary_worst *w = &sum->worst[i];

		jw_object_begin(j);
		json_known(j, "station", w->station != TRACE_NO_STATION, w->station);
		jw_field_u64(j, "probe_id", w->probe_id);
		jw_field_string(j, "name", w->name);
		jw_field_u64(j, "written", w->written);
		jw_field_u64(j, "collected", w->collected);
		jw_field_u64(j, "lost", w->lost);
		jw_object_end(j);
	}
	jw_array_end(j);
}

/* Events by kind, without transitions. */
static void json_others(struct json_writer *j, const struct trace_summary *sum)
{
	static const char *const keys[NR_TRACE_KINDS] = {
		[TRACE_BIRTH] = "births",     [TRACE_WAKE] = "wakes",
		[TRACE_END] = "ends",         [TRACE_DESTROY] = "destroys",
		[TRACE_CLOSE] = "closes",     [TRACE_ACQUIRE] = "acquires",
		[TRACE_RELEASE] = "releases",
	};
	unsigned i;

	jw_key(j, "others");
	jw_object_begin(j);
	for (i = TRACE_BIRTH; i < NR_TRACE_KINDS; i++)
		jw_field_u64(j, keys[i], sum->kinds[i]);
	jw_object_end(j);
}

static void json_gaps(struct json_writer *j, const struct trace_summary *sum)
{
	size_t top[SUMMARY_WORST], nr = summary_top_gaps(sum, top, SUMMARY_WORST), i;

	jw_field_u64(j, "lanes_with_loss", sum->nr_gaps);
	jw_key(j, "lanes_lost_most");
	jw_array_begin(j);
	for (i = 0; i < nr; i++) {
		const struct summary_gaps *g = &sum->gaps[top[i]];

		jw_object_begin(j);
		json_known(j, "lane", g->lane != TRACE_LANE_STATIONS, g->lane);
		jw_field_u64(j, "pid", g->pid);
		jw_field_u64(j, "tid", g->tid);
		jw_field_u64(j, "gaps", g->gaps);
		jw_field_u64(j, "lost", g->transitions);
		jw_field_u64(j, "others_lost", g->others);
		jw_object_end(j);
	}
	jw_array_end(j);
}

static void json_ctf(struct json_writer *j, const struct trace_stats *stats)
{
	const struct ctf_stats *c = &stats->ctf;

	jw_key(j, "ctf");
	if (stats->format != TRACE_FORMAT_CTF) {
		jw_null(j);
		return;
	}
	jw_object_begin(j);
	jw_field_u64(j, "streams", c->streams);
	jw_field_u64(j, "packets", c->packets);
	jw_field_u64(j, "damaged", c->damaged);
	jw_field_u64(j, "torn", c->torn);
	jw_field_u64(j, "missing", c->missing);
	jw_field_u64(j, "unknown", c->unknown);
	jw_field_u64(j, "discarded", c->discarded);
	jw_object_end(j);
}

static void json_sidecar(struct json_writer *j, const struct info *info)
{
	const struct trace_summary *sum = &info->sum;

	jw_key(j, "sidecar");
	if (!info_has_facts(info)) {
		jw_null(j);
		return;
	}
	jw_object_begin(j);
	jw_field_bool(j, "finished", sum->has_totals);
	jw_field_u64(j, "garbage", info->stats.sidecar.garbage);
	if (sum->has_run)
		info_json_run(j, &sum->run);
	if (sum->has_totals)
		info_json_totals(j, &sum->totals);
	json_processes(j, sum);
	jw_field_u64(j, "coroutines", summary_born(sum));
	jw_field_u64(j, "dead", summary_ended(sum));
	json_names(j, sum);
	json_leftovers(j, sum);
	json_alive(j, sum);
	info_json_worst(j, sum);
	jw_object_end(j);
}

int info_print_json(const struct info *info)
{
	const struct trace_summary *sum = &info->sum;
	struct json_writer j;

	jw_init_file(&j, stdout);
	jw_object_begin(&j);
	jw_field_string(&j, "trace", info->trace_path);
	jw_field_string(&j, "format", info->stats.format == TRACE_FORMAT_CTF ? "ctf" : "jsonl");
	jw_field_bool(&j, "sound", info_is_sound(info));
	jw_field_u64(&j, "events", sum->events);
	json_others(&j, sum);
	jw_field_u64(&j, "coroutines", coro_ids_count(&sum->coroutines.ids));
	jw_field_u64(&j, "threads", u64map_count(&sum->threads));
	jw_field_u64(&j, "duration_ns", summary_duration_ns(sum));
	jw_field_u64(&j, "sites", u64map_count(&sum->sites));
	json_known(&j, "first_ts", sum->events || sum->others, sum->first_ts);
	json_known(&j, "last_ts", sum->events || sum->others, sum->last_ts);
	json_known(&j, "written", sum->has_totals, sum->totals.written);
	json_known(&j, "collected", sum->has_totals, sum->totals.collected);
	json_known(&j, "lost", sum->has_totals, sum->totals.lost);
	json_known(&j, "forgotten", sum->has_totals, sum->totals.forgotten);
	jw_key(&j, "agrees");
	if (sum->has_totals)
		jw_bool(&j, trace_totals_agree(&info->stats));
	else
		jw_null(&j);
	trace_put_completeness(&j, &info->stats);
	json_gaps(&j, sum);
	json_garbage(&j, &info->stats.lines);
	json_ctf(&j, &info->stats);
	json_sidecar(&j, info);
	jw_object_end(&j);
	jw_newline(&j);
	return jw_release(&j);
}
