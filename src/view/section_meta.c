/* SPDX-License-Identifier: MIT */
/* section_meta.c - the section "meta": the run, totals, threads, names of values. */
#include <corotracer/version.h>
#include <inttypes.h>
#include <string.h>

#include "base/monotonic.h"
#include "base/text.h"
#include "view/view_data.h"

static void put_digits(struct json_writer *j, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	jw_field_string(j, key, text);
}

static void put_offset(struct json_writer *j, const struct view *v, const char *key, uint64_t ts)
{
	if (ts)
		jw_field_i64(j, key, view_offset(v, ts));
	else
		jw_field_null(j, key);
}

static void view_put_command(struct json_writer *j, const struct sidecar_run *run)
{
	size_t i;

	jw_key(j, "command");
	jw_array_begin(j);
	for (i = 0; i < run->nr_command; i++)
		jw_string(j, run->command[i]);
	jw_array_end(j);
}

static void put_run(struct json_writer *j, const struct view *v)
{
	const struct trace_summary *facts = &v->analysis->facts;
	const struct sidecar_run *run = &facts->run;

	jw_key(j, "run");
	if (!facts->has_run) {
		jw_null(j);
		return;
	}
	jw_object_begin(j);
	view_put_command(j, run);
	jw_field_u64(j, "pid", run->pid);
	jw_field_string(j, "hostname", run->hostname);
	jw_field_string(j, "arch", run->arch);
	put_offset(j, v, "start", run->start_ts);
	jw_field_u64(j, "start_realtime_ms", run->start_realtime / 1000000);
	if (facts->has_totals && facts->totals.exit_status >= 0)
		jw_field_i64(j, "exit_status", facts->totals.exit_status);
	else
		jw_field_null(j, "exit_status");
	if (facts->has_totals)
		jw_field_i64(j, "signal", facts->totals.signal);
	else
		jw_field_null(j, "signal");
	jw_object_end(j);
}

static void put_garbage(struct json_writer *j, const struct view *v)
{
	const struct trace_stats *s = &v->stats;
	const struct model *m = view_model(v);
	unsigned i;

	jw_key(j, "garbage");
	jw_object_begin(j);
	jw_field_u64(j, "lines", s->lines.garbage);
	jw_field_u64(j, "sidecar", s->sidecar.garbage);
	jw_field_u64(j, "damaged", s->ctf.damaged);
	jw_field_u64(j, "torn", s->ctf.torn);
	jw_field_u64(j, "missing", s->ctf.missing);
	jw_field_u64(j, "late", m->late);
	jw_field_u64(j, "collector", m->has_totals ? m->totals.garbage : 0);
	jw_key(j, "first");
	jw_array_begin(j);
	for (i = 0; i < s->lines.nr_first; i++) {
		jw_object_begin(j);
		jw_field_u64(j, "line", s->lines.first[i].line);
		jw_field_string(j, "reason", s->lines.first[i].reason);
		jw_object_end(j);
	}
	jw_array_end(j);
	jw_object_end(j);
}

static void put_words(struct json_writer *j)
{
	const struct detector *const *d;
	unsigned i;

	jw_key(j, "states");
	jw_array_begin(j);
	for (i = 0; i < NR_TRACE_STATES; i++)
		jw_string(j, trace_state_name(i) ? trace_state_name(i) : "unknown");
	jw_array_end(j);
	jw_key(j, "reasons");
	jw_array_begin(j);
	for (i = 0; i < NR_TRACE_REASONS; i++)
		jw_string(j, trace_reason_name(i) ? trace_reason_name(i) : "unknown");
	jw_array_end(j);
	jw_key(j, "detectors");
	jw_array_begin(j);
	for (d = detectors; *d; d++) {
		jw_object_begin(j);
		jw_field_string(j, "name", (*d)->name);
		jw_field_string(j, "title", (*d)->title);
		jw_field_bool(j, "fault", (*d)->is_fault);
		jw_object_end(j);
	}
	jw_array_end(j);
}

static void view_put_threads(struct json_writer *j, const struct view *v)
{
	const struct model *m = view_model(v);
	size_t i;

	jw_key(j, "threads");
	jw_array_begin(j);
	for (i = 0; i < view_nr_threads(v); i++) {
		jw_object_begin(j);
		jw_field_u64(j, "tid", m->thread_counts[i].tid);
		jw_field_u64(j, "resumes", m->thread_counts[i].resumes);
		jw_field_u64(j, "slices", v->threads[i].slices);
		jw_field_u64(j, "busy", v->threads[i].busy);
		jw_object_end(j);
	}
	jw_array_end(j);
	jw_field_u64(j, "threads_of", m->nr_threads);
}

/* Since when context switches are recorded, and how many records are lost; null: not at all. */
static void view_put_cpu(struct json_writer *j, const struct view *v)
{
	const struct switch_times *s = &v->analysis->switches;

	if (!view_has_cpu(v)) {
		jw_field_null(j, "cpu");
		return;
	}
	jw_key(j, "cpu");
	jw_object_begin(j);
	jw_field_i64(j, "since", view_offset(v, s->since_ts));
	jw_field_u64(j, "lost", s->nr_lost);
	jw_field_bool(j, "wakes", s->has_wakes);
	jw_object_end(j);
}

/* How many frames the page has, of those of the trace. */
static void view_put_frames(struct json_writer *j, const struct view *v)
{
	jw_key(j, "frames");
	jw_object_begin(j);
	jw_field_u64(j, "kept", v->frames.nr);
	jw_field_u64(j, "of", v->frames.of);
	jw_field_u64(j, "lost", v->frames.lost);
	jw_object_end(j);
}

static void view_put_notes(struct json_writer *j, const struct view *v)
{
	struct report r = view_report(v);
	char buf[640];
	unsigned nr;

	jw_key(j, "notes");
	jw_array_begin(j);
	for (nr = 0; report_caveat(&r, nr, buf, sizeof(buf)); nr++)
		jw_string(j, buf);
	jw_array_end(j);
}

/*
 * How the page's trace is read while it grows; null: it is complete.  The clock is that of the
 * moment when this text is made: the page adds what passes afterwards.
 */
static void view_put_stream(struct json_writer *j, const struct view *v)
{
	const struct view_stream *s = &v->stream;

	if (v->finished && !s->left_out) {
		jw_field_null(j, "stream");
		return;
	}
	jw_key(j, "stream");
	jw_object_begin(j);
	jw_field_i64(j, "clock", v->has_origin ? view_offset(v, clock_now_ns()) : 0);
	jw_field_u64(j, "left_out", s->left_out);
	jw_field_u64(j, "left_out_wakes", s->left_out_wakes);
	jw_field_u64(j, "left_out_ns", s->left_out_ns);
	jw_field_bool(j, "rereads", s->rereads);
	jw_field_bool(j, "collector_known", s->collector_known);
	jw_field_u64(j, "silent_ns", s->silent_ns);
	jw_field_u64(j, "lost", s->lost > v->gap_lost ? s->lost : v->gap_lost);
	jw_object_end(j);
}

static uint64_t alive_of(const struct view *v)
{
	uint64_t alive = 0;
	size_t i;

	for (i = 0; i < v->records.nr; i++)
		alive += v->records.all[i].state != TRACE_STATE_ENDED;
	return alive;
}

static void put_pair(struct json_writer *j, const char *key, uint64_t kept, uint64_t of)
{
	jw_key(j, key);
	jw_object_begin(j);
	jw_field_u64(j, "kept", kept);
	jw_field_u64(j, "of", of);
	jw_object_end(j);
}

static uint64_t kept_of(const struct view_thinned *thinned, size_t nr, const char *what,
			uint64_t all)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!strcmp(thinned[i].what, what))
			return thinned[i].kept;
	}
	return all;
}

void view_put_thinned(struct json_writer *j, const struct view_thinned *thinned, size_t nr)
{
	size_t i;

	jw_key(j, "thinned");
	jw_array_begin(j);
	for (i = 0; i < nr; i++) {
		jw_object_begin(j);
		jw_field_string(j, "what", thinned[i].what);
		jw_field_u64(j, "kept", thinned[i].kept);
		jw_field_u64(j, "of", thinned[i].of);
		jw_field_string(j, "text", thinned[i].text);
		jw_object_end(j);
	}
	jw_array_end(j);
}

size_t view_thinned(const struct view *v, size_t kept, struct view_thinned *out)
{
	uint64_t coros = v->records.next, threads = view_model(v)->nr_threads;
	char a[TEXT_SIZE], b[TEXT_SIZE];
	size_t nr = 0;

	if (kept < coros) {
		out[nr] = (struct view_thinned){ "coroutines", kept, coros, "" };
		snprintf(out[nr++].text, sizeof(out->text),
			 "%s of %s coroutines are listed: those with findings, those that have "
			 "not ended, then those that waited longest.",
			 text_count(a, kept), text_count(b, coros));
	}
	if (view_nr_threads(v) < threads) {
		out[nr] = (struct view_thinned){ "threads", view_nr_threads(v), threads, "" };
		snprintf(out[nr++].text, sizeof(out->text),
			 "%s of %s threads are told apart; the others share a lane.",
			 text_count(a, view_nr_threads(v)), text_count(b, threads));
	}
	return nr;
}

void view_put_own_meta(struct json_writer *j, const struct view *v)
{
	struct view_thinned thinned[VIEW_THINNED_MAX];
	size_t kept = v->records.nr < v->records.max ? v->records.nr : v->records.max;

	view_put_meta(j, v, thinned, view_thinned(v, kept, thinned));
}

void view_put_meta(struct json_writer *j, const struct view *v, const struct view_thinned *thinned,
		   size_t nr_thinned)
{
	struct report r = view_report(v);
	uint64_t coros = v->records.next;

	jw_object_begin(j);
	jw_field_u64(j, "format", 1);
	jw_field_string(j, "tool", "corotracer " COROTRACER_VERSION);
	jw_field_string(j, "trace", v->options.trace);
	jw_field_bool(j, "live", !v->finished);
	jw_field_bool(j, "ended", v->finished);
	put_digits(j, "origin", v->origin);
	jw_field_i64(j, "end", view_offset(v, v->end_ts));
	jw_field_u64(j, "tick", v->tick);
	put_run(j, v);
	report_put_totals(j, &r);
	trace_put_completeness(j, &v->stats);
	view_put_notes(j, v);
	put_garbage(j, v);
	put_words(j);
	view_put_threads(j, v);
	view_put_cpu(j, v);
	view_put_frames(j, v);
	put_pair(j, "holds", v->holds.nr, v->holds.of);
	view_put_stream(j, v);
	put_pair(j, "coros", kept_of(thinned, nr_thinned, "coroutines", coros), coros);
	jw_field_u64(j, "alive", alive_of(v));
	jw_field_u64(j, "blocks", v->spool.nr_blocks);
	put_pair(j, "slices", kept_of(thinned, nr_thinned, "slices", v->spool.nr), v->spool.nr);
	view_put_thinned(j, thinned, nr_thinned);
	jw_object_end(j);
}

int section_meta(struct view *v, const struct view_thinned *thinned, size_t nr_thinned,
		 struct bytes *out)
{
	struct json_writer j;

	jw_init_buffer(&j);
	if (thinned)
		view_put_meta(&j, v, thinned, nr_thinned);
	else
		view_put_own_meta(&j, v);
	return view_take_json(&j, out);
}
