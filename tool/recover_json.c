/* SPDX-License-Identifier: MIT */
/* recover_json.c - the state of a run from its region, as one JSON object. */
#include "recover_print.h"

#include <stdio.h>

#include "base/json_writer.h"

static void recover_json_text(struct json_writer *j, const char *key, const char *text)
{
	if (text && *text)
		jw_field_string(j, key, text);
}

static void recover_json_site(struct json_writer *j, const char *key, const struct recover *r,
			      uint32_t id)
{
	const struct trace_site *site = recover_site(r, id);

	if (!site)
		return;
	jw_key(j, key);
	jw_object_begin(j);
	jw_field_string(j, "file", site->file);
	jw_field_u64(j, "line", site->line);
	jw_field_string(j, "function", site->function);
	jw_object_end(j);
}

static void recover_json_why(struct json_writer *j, unsigned reason, bool has_resource,
			     uint64_t resource)
{
	if (reason)
		jw_field_string(j, "reason", trace_reason_name(reason));
	if (has_resource)
		jw_field_u64(j, "resource", resource);
}

void recover_json_processes(struct json_writer *j, const struct recover *r)
{
	static const char *const life[] = {
		[PROCESS_GONE] = "gone", [PROCESS_THERE] = "running", [PROCESS_OTHER] = "reused"
	};
	size_t i;

	jw_key(j, "processes");
	jw_array_begin(j);
	for (i = 0; i < r->nr_processes; i++) {
		jw_object_begin(j);
		jw_field_u64(j, "pid", r->processes[i].pid);
		jw_field_string(j, "state", life[r->processes[i].life]);
		recover_json_text(j, "command", r->processes[i].command);
		jw_object_end(j);
	}
	jw_array_end(j);
}

static void recover_json_event(struct json_writer *j, const struct recover *r,
			       const struct recover_event *e)
{
	const struct trace_event *ev = &e->ev;

	jw_object_begin(j);
	jw_field_u64(j, "ts", ev->ts);
	jw_field_u64(j, "id", ev->probe_id);
	jw_field_string(j, "kind", trace_kind_name(ev->kind));
	jw_field_bool(j, "unread", e->unread);
	recover_json_text(j, "name", e->name);
	if (ev->peer)
		jw_field_u64(j, "peer", ev->peer);
	if (ev->addr)
		jw_field_u64(j, "addr", ev->addr);
	recover_json_site(j, "site", r, ev->site);
	recover_json_why(j, ev->reason, ev->flags & TRACE_HAS_RESOURCE, ev->resource);
	jw_object_end(j);
}

static void recover_json_threads(struct json_writer *j, const struct recover *r)
{
	size_t i;
	uint32_t k;

	jw_key(j, "threads");
	jw_array_begin(j);
	for (i = 0; i < r->nr_threads; i++) {
		const struct recover_thread *t = &r->threads[i];

		jw_object_begin(j);
		jw_field_u64(j, "tid", t->tid);
		if (t->lane != TRACE_LANE_STATIONS) {
			jw_field_u64(j, "pid", t->pid);
			jw_field_u64(j, "lane", t->lane);
			jw_field_u64(j, "written", t->written);
			jw_field_u64(j, "read", t->read);
			jw_field_u64(j, "unread", t->written - t->read);
			jw_field_u64(j, "kept", t->kept);
			jw_field_u64(j, "dropped", t->dropped);
			jw_field_u64(j, "dropped_others", t->dropped_others);
			jw_field_bool(j, "ended", t->closed);
			jw_field_bool(j, "broken", t->broken);
		}
		jw_field_u64(j, "events", t->events);
		jw_key(j, "last");
		jw_array_begin(j);
		for (k = 0; k < t->nr_last; k++)
			recover_json_event(j, r, &t->last[k]);
		jw_array_end(j);
		jw_object_end(j);
	}
	jw_array_end(j);
}

void recover_json_coroutine(struct json_writer *j, const struct recover *r,
			    const struct recover_coroutine *c, uint64_t moment)
{
	const struct sidecar_coroutine *co = &c->co;

	jw_field_u64(j, "id", co->probe_id);
	if (co->station != TRACE_NO_STATION)
		jw_field_u64(j, "station", co->station);
	jw_field_u64(j, "pid", co->pid);
	recover_json_text(j, "name", c->name);
	jw_field_string(j, "state", trace_state_name(co->state));
	jw_field_u64(j, "since_ts", co->since_ts);
	if (co->since_ts && co->since_ts <= moment)
		jw_field_u64(j, "for_ns", moment - co->since_ts);
	if (c->woken_ts)
		jw_field_u64(j, "woken_ts", c->woken_ts);
	if (co->addr)
		jw_field_u64(j, "addr", co->addr);
	recover_json_site(j, "site", r, co->site);
	recover_json_site(j, "birth_site", r, co->birth_site);
	recover_json_why(j, co->reason, co->has_resource, co->resource);
	if (co->parent)
		jw_field_u64(j, "parent", co->parent);
	jw_field_u64(j, "birth_ts", co->birth_ts);
	jw_field_u64(j, "events", co->written);
	jw_field_u64(j, "dropped", co->lost);
}

static void recover_json_one_coroutine(struct json_writer *j, const struct recover *r,
				       const struct recover_coroutine *c, uint64_t moment)
{
	jw_object_begin(j);
	recover_json_coroutine(j, r, c, moment);
	jw_object_end(j);
}

/* null: the collector left no account, or is running. */
static void recover_json_account(struct json_writer *j, const struct recover *r)
{
	const struct recover_account *a = &r->account;

	jw_key(j, "account");
	if (!r->journal.found) {
		jw_null(j);
		return;
	}
	jw_object_begin(j);
	jw_field_string(j, "trace", r->journal.trace);
	jw_field_bool(j, "trace_found", r->journal.has_trace);
	jw_field_bool(j, "output_failed", r->journal.failed);
	jw_field_u64(j, "saved", a->saved);
	jw_field_u64(j, "others_saved", a->others_saved);
	jw_field_u64(j, "unsaved", a->unsaved);
	jw_field_u64(j, "others_unsaved", a->others_unsaved);
	jw_field_u64(j, "lost", a->lost);
	jw_field_u64(j, "others_lost", a->others_lost);
	jw_field_u64(j, "unaccounted", a->gone);
	jw_field_u64(j, "missing", a->missing);
	jw_object_end(j);
}

static void recover_json_totals(struct json_writer *j, const struct recover *r)
{
	jw_field_u64(j, "events", r->lanes.transitions + r->lanes.marks + r->stations.collected);
	jw_field_u64(j, "dropped", r->lanes.lost + r->lanes.homeless);
	jw_field_u64(j, "dropped_others", r->lanes.lost_marks);
	jw_field_u64(j, "garbage", r->lanes.garbage + r->stations.garbage);
	jw_field_u64(j, "unfinished", r->stations.unfinished);
	jw_field_u64(j, "untraced", r->lanes.unborn + r->lanes.later);
	jw_field_bool(j, "cut", r->image.cut);
	jw_field_bool(j, "complete", !r->short_of_memory && !r->image.cut);
	recover_json_account(j, r);
	if (!r->options.output)
		return;
	jw_field_string(j, "trace", r->options.output);
	jw_field_u64(j, "trace_events", r->written.written);
	jw_field_u64(j, "trace_others", r->written.others_written);
}

/* Without events, the printed times are those of the states. */
uint64_t recover_clock_error_ns(const struct recover *r)
{
	uint64_t moment = recover_moment(r);
	uint64_t a = image_clock_error_ns(&r->image, r->first_ts ? r->first_ts : moment);
	uint64_t b = image_clock_error_ns(&r->image, r->last_ts ? r->last_ts : moment);

	return a > b ? a : b;
}

static void recover_json_known(struct json_writer *j, const char *key, uint64_t ts)
{
	if (ts)
		jw_field_u64(j, key, ts);
	else
		jw_field_null(j, key);
}

static void recover_json_clock(struct json_writer *j, const struct recover *r)
{
	static const char *const from[] = { [IMAGE_CLOCK_PUBLISHED] = "published",
					    [IMAGE_CLOCK_ELSEWHERE] = "elsewhere",
					    [IMAGE_CLOCK_MEASURED] = "measured" };

	jw_field_string(j, "clock", from[r->image.clock_from]);
	jw_field_u64(j, "clock_error_ns", recover_clock_error_ns(r));
	recover_json_known(j, "first_ts", r->first_ts);
	recover_json_known(j, "last_ts", r->last_ts);
	jw_field_u64(j, "moment_ts", recover_moment(r));
}

int recover_print_json(const struct recover *r, const char *path)
{
	uint64_t moment = recover_moment(r);
	struct json_writer j;
	size_t i;

	jw_init_file(&j, stdout);
	jw_object_begin(&j);
	jw_field_string(&j, "region", path);
	jw_field_i64(&j, "made", (int64_t)r->image.made);
	jw_field_bool(&j, "live", r->image.live);
	jw_field_u64(&j, "collector_pid", r->image.collector_pid);
	jw_field_u64(&j, "last_look_ts", r->image.last_look_ns);
	recover_json_clock(&j, r);
	recover_json_totals(&j, r);
	recover_json_processes(&j, r);
	recover_json_threads(&j, r);
	jw_key(&j, "coroutines");
	jw_array_begin(&j);
	for (i = 0; i < r->nr_coroutines; i++)
		recover_json_one_coroutine(&j, r, &r->coroutines[i], moment);
	jw_array_end(&j);
	jw_object_end(&j);
	jw_newline(&j);
	return jw_release(&j);
}
