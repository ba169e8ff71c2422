/* SPDX-License-Identifier: MIT */
/* info_json.c - what is in a trace, for programs. */
#include <stdio.h>

#include "base/json_writer.h"
#include "info.h"

#define NAMES_SHOWN 5

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
	jw_key(j, "run");
	jw_object_begin(j);
	sidecar_json_run(j, run);
	jw_object_end(j);
}

static void json_totals(struct json_writer *j, const struct sidecar_totals *t)
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

static void json_last(struct json_writer *j, const struct summary_last *last)
{
	if (!last->ts) {
		jw_field_null(j, "state");
		return;
	}
	jw_field_string(j, "state", last->is_active ? "running" : "suspended");
	jw_field_u64(j, "since_ts", last->ts);
	jw_field_u64(j, "addr", last->addr);
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
		json_last(j, &sum->alive[i].last);
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
	json_alive(j, sum);
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

int info_print_json(const struct info *info)
{
	const struct trace_summary *sum = &info->sum;
	struct json_writer j;

	jw_init_file(&j, stdout);
	jw_object_begin(&j);
	jw_field_string(&j, "trace", info->trace_path);
	jw_field_bool(&j, "sound", info_is_sound(info));
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
		jw_bool(&j, info_agrees(info));
	else
		jw_null(&j);
	json_garbage(&j, &info->lines);
	json_sidecar(&j, info);
	jw_object_end(&j);
	jw_newline(&j);
	return jw_release(&j);
}
