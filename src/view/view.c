/* SPDX-License-Identifier: MIT */
/* view.c - the data of the dashboard for a finished or growing trace. */
#include "view/view.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/module_table.h"
#include "view/view_data.h"
#include "base/io.h"

/* ---- findings --------------------------------------------------------------- */

/* Mark the coroutine of a finding. */
static void view_found(void *arg, const struct finding *finding)
{
	struct view *v = arg;
	uint32_t bit = UINT32_C(1) << detector_number(finding->detector) % 32;
	struct view_record *rec;

	if (!finding->co)
		return;
	rec = records_of(&v->records, view_model(v), finding->co);
	if (!rec)
		return;
	if (!((rec->findings | rec->findings_now) & bit))
		rec->changed = v->tick + 1;
	if (v->peeking)
		rec->findings_now |= bit;
	else
		rec->findings |= bit;
}

struct report view_report(const struct view *v)
{
	return (struct report){
		.trace = v->options.trace,
		.analysis = v->analysis,
		.stats = &v->stats,
		.symbols = v->symbols,
		.least = CONFIDENCE_INFO,
		.some_coroutines = VIEW_FINDING_COROS,
	};
}

static int view_write_report(struct view *v, struct bytes *out)
{
	struct report r = view_report(v);
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int rc;

	if (!file)
		return -ENOMEM;
	report_prepare(&r);
	rc = report_json(&r, file);
	if (io_end_memory(file, &text) < 0 && !rc)
		rc = -ENOMEM;
	if (!rc)
		bytes_add(out, text, size);
	free(text);
	return rc ? rc : out->error;
}

/* Collect bits by detector for each place. */
static int note_sites(struct view *v)
{
	const struct model *m = view_model(v);
	const struct findings *f = &v->analysis->findings;
	size_t i;

	free(v->site_findings);
	v->nr_site_findings = 0;
	v->site_findings = calloc(m->nr_places + 1, sizeof(*v->site_findings));
	if (!v->site_findings)
		return -ENOMEM;
	v->nr_site_findings = m->nr_places;
	for (i = 0; i < f->nr; i++)
		v->site_findings[f->groups[i].place] |= UINT32_C(1)
							<< detector_number(f->groups[i].detector) %
								   32;
	return 0;
}

/* Called while the findings are in their final form: store the report. */
static int keep_findings(void *arg)
{
	struct view *v = arg;
	struct bytes report = { 0 };
	int rc = note_sites(v);

	if (!rc)
		rc = view_write_report(v, &report);
	if (!rc && report.size == v->report.size &&
	    !memcmp(report.data, v->report.data, report.size)) {
		bytes_release(&report);
		return 0;
	}
	if (rc < 0) {
		bytes_release(&report);
		return rc;
	}
	bytes_release(&v->report);
	v->report = report;
	v->report_tick = v->tick + 1;
	return 0;
}

/* ---- a view ----------------------------------------------------------------- */

struct view *view_new(const struct view_options *options)
{
	struct analysis_options how = { .min_age_ns = options->min_age_ns,
					.chosen = options->chosen,
					.chosen_text = options->chosen_text };
	struct view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->options = *options;
	v->records.max = options->coros_max ? options->coros_max : VIEW_COROS_MAX;
	v->analysis = analysis_new(&how);
	v->symbols = symbols_new();
	v->threads = calloc(VIEW_OTHER_THREADS + 1, sizeof(*v->threads));
	lod_init(&v->lod);
	if (spool_init(&v->spool) < 0 || series_init(&v->series) < 0 || !v->analysis ||
	    !v->symbols || !v->threads) {
		view_free(v);
		return NULL;
	}
	v->series.tick = 1;
	v->analysis->symbols = v->symbols;
	v->analysis->model.observer = (struct model_observer){ view_told, v };
	v->analysis->observer = (struct analysis_observer){ view_found, v };
	return v;
}

/* The error of the temporary file, or out of memory. */
static int view_set_failed(struct view *v, int code, struct err *err)
{
	if (v->err.code) {
		*err = v->err;
		return err->code;
	}
	return err_set(err, code, "no memory for the coroutines of '%s'", v->options.trace);
}

/* The name of the part that @item is in; NULL: of none. */
static const char *view_part_name(const struct view *v, const struct trace_item *item)
{
	const struct trace_part *part = trace_parts_find(&v->parts,
							 trace_parts_of(&v->parts, item));

	return part && part->name ? part->name : NULL;
}

/*
 * Coroutines of a merged trace have the part's name before their own, "server.ct: client 7": so a
 * row says which program it is of, and a search finds the rows of one.
 */
static int view_add_labelled(struct view *v, const struct trace_item *item)
{
	bool is_birth = item->type == TRACE_ITEM_EVENT && item->event.kind == TRACE_BIRTH;
	const char *part = is_birth || item->type == TRACE_ITEM_COROUTINE ? view_part_name(v, item)
									  : NULL;
	const char *name = is_birth ? item->event.name : item->coroutine.name;
	struct trace_item own = *item;
	char *label;
	int rc;

	if (!part)
		return analysis_add(v->analysis, item);
	if (asprintf(&label, "%s%s%.*s", part, name ? ": " : "",
		     is_birth ? (int)item->event.name_size : INT_MAX, name ? name : "") < 0)
		return -ENOMEM;
	if (is_birth) {
		own.event.name = label;
		own.event.name_size = (uint32_t)strlen(label);
	} else {
		own.coroutine.name = label;
	}
	rc = analysis_add(v->analysis, &own);
	free(label);
	return rc;
}

/* The parts come before everything else that belongs to them. */
static int view_note_part(struct view *v, const struct trace_item *item)
{
	int rc = trace_parts_note(&v->parts, item);

	if (rc < 0 || item->type != TRACE_ITEM_PART)
		return rc;
	v->analysis->options.nr_parts = v->parts.nr;
	return 0;
}

int view_add(struct view *v, const struct trace_item *item, struct err *err)
{
	int rc = 0;

	if (item->type == TRACE_ITEM_PART || item->type == TRACE_ITEM_PROCESS)
		rc = view_note_part(v, item);
	if (rc < 0)
		return view_set_failed(v, rc, err);
	if (item->type == TRACE_ITEM_MODULE)
		rc = symbols_add_told(v->symbols, &item->module);
	else if (item->type == TRACE_ITEM_FRAME)
		rc = frame_sample_add(&v->frames, &item->frame);
	else if (v->parts.nr)
		rc = view_add_labelled(v, item);
	else
		rc = analysis_add(v->analysis, item);
	if (rc < 0)
		return view_set_failed(v, rc, err);
	if (item->type == TRACE_ITEM_GAP)
		view_gap(v, &item->gap);
	return 0;
}

static void set_times(struct view *v, uint64_t end_ts)
{
	const struct model *m = view_model(v);

	if (!v->has_origin && m->first_ts) {
		v->origin = m->first_ts;
		v->has_origin = true;
	}
	v->end_ts = end_ts > m->last_ts ? end_ts : m->last_ts;
	if (v->end_ts < v->origin)
		v->end_ts = v->origin;
}

static void set_stats(struct view *v, const struct trace_stats *stats)
{
	v->stats = *stats;
	v->stats.sidecar_path = NULL; /* owned by the reader */
}

static void next_tick(struct view *v)
{
	v->tick++;
	v->names_at[v->tick % VIEW_TICKS_KEPT] = (uint32_t)view_model(v)->names.nr;
	/* Changes from now on belong to the next tick. */
	v->series.tick = v->tick + 1;
}

int view_tick(struct view *v, const struct trace_stats *stats, uint64_t now_ts, struct err *err)
{
	size_t i;
	int rc;

	set_stats(v, stats);
	set_times(v, now_ts);
	if (slice_cpu_settle(v, false) < 0)
		return view_set_failed(v, -ENOMEM, err);
	for (i = 0; i < v->records.nr; i++)
		v->records.all[i].findings_now = 0;
	v->peeking = true;
	rc = analysis_peek(v->analysis, v->end_ts, keep_findings, v);
	v->peeking = false;
	if (rc < 0)
		return view_set_failed(v, rc, err);
	next_tick(v);
	return 0;
}

int view_finish(struct view *v, const struct trace_stats *stats, struct err *err)
{
	size_t i;
	int rc;

	set_stats(v, stats);
	for (i = 0; i < v->records.nr; i++)
		v->records.all[i].findings_now = 0;
	rc = analysis_finish(v->analysis, &v->stats);
	if (!rc)
		rc = slice_cpu_settle(v, true);
	if (rc < 0)
		return view_set_failed(v, rc, err);
	set_times(v, view_model(v)->end_ts);
	v->finished = true;
	rc = keep_findings(v);
	if (rc < 0)
		return view_set_failed(v, rc, err);
	next_tick(v);
	return 0;
}

void view_set_stream(struct view *v, const struct view_stream *stream)
{
	v->stream = *stream;
}

void view_leave_out(struct view *v, const struct trace_gap *gap)
{
	analysis_leave_out(v->analysis, gap);
}

void view_continue(struct view *v, uint64_t tick)
{
	v->tick = tick;
	v->series.tick = tick + 1;
}

uint64_t view_ticks(const struct view *v)
{
	return v->tick;
}

const struct trace_stats *view_stats(const struct view *v)
{
	return &v->stats;
}

size_t view_nr_threads(const struct view *v)
{
	size_t nr = view_model(v)->nr_threads;

	return nr < VIEW_OTHER_THREADS ? nr : VIEW_OTHER_THREADS;
}

void view_free(struct view *v)
{
	if (!v)
		return;
	analysis_free(v->analysis);
	symbols_free(v->symbols);
	trace_parts_release(&v->parts);
	records_release(&v->records);
	series_release(&v->series);
	lod_release(&v->lod);
	frame_sample_release(&v->frames);
	hold_log_free(&v->holds);
	spool_release(&v->spool);
	slice_cpu_release(&v->cpu);
	bytes_release(&v->report);
	free(v->threads);
	free(v->site_findings);
	free(v->addresses);
	free(v);
}

/* ---- sections --------------------------------------------------------------- */

int view_take_json(struct json_writer *j, struct bytes *out)
{
	size_t size;
	const char *text = jw_text(j, &size);
	int rc;

	if (text)
		bytes_add(out, text, size);
	rc = jw_release(j);
	return rc ? rc : out->error;
}

/* The index with all blocks whole. */
static int whole_index(struct view *v, struct bytes *out)
{
	size_t nr = v->spool.nr_blocks, i;
	struct view_block *lines = calloc(nr + 1, sizeof(*lines));
	int rc;

	if (!lines)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		const struct spool_block *b = &v->spool.blocks[i];

		lines[i] = (struct view_block){
			.from = b->from, .last = b->last, .to = b->to, .nr = b->nr, .of = b->nr
		};
		memcpy(lines[i].coros, b->coros, sizeof(b->coros));
	}
	for (i = 0; i < v->records.nr; i++) {
		const struct view_record *rec = &v->records.all[i];
		size_t block = (size_t)(rec->slice_number - 1) / SPOOL_BLOCK;

		if (rec->slice_number && lines[block].to < v->end_ts)
			lines[block].to = v->end_ts;
	}
	rc = section_index(v, lines, nr, out);
	free(lines);
	return rc;
}

static int block_section(struct view *v, const char *number, struct bytes *out, struct err *err)
{
	struct view_block line;
	char *end;
	unsigned long long block;

	errno = 0;
	block = strtoull(number, &end, 10);
	if (errno || *end || number[0] < '0' || number[0] > '9' || block >= v->spool.nr_blocks)
		return err_set(err, -ENOENT, "there is no block '%.20s' of slices", number);
	return section_slices(v, (size_t)block, NULL, out, &line, err);
}

static int plain_section(struct view *v, const char *name, struct bytes *out)
{
	size_t kept;

	if (!strcmp(name, "meta"))
		return section_meta(v, NULL, 0, out);
	if (!strcmp(name, "series"))
		return section_series(v, out);
	if (!strcmp(name, "lod"))
		return section_lod(v, 0, out);
	if (!strcmp(name, "sites"))
		return section_sites(v, out);
	if (!strcmp(name, "strings"))
		return section_strings(v, out);
	if (!strcmp(name, "coros"))
		return section_coros(v, v->records.max, out, &kept);
	if (!strcmp(name, "frames"))
		return frame_sample_write(&v->frames, v->origin, out);
	if (!strcmp(name, "holds"))
		return hold_log_write(&v->holds, HOLD_LOG_MAX, v->origin, out);
	if (!strcmp(name, "index"))
		return whole_index(v, out);
	if (!strcmp(name, "report")) {
		bytes_add(out, v->report.data, v->report.size);
		return out->error;
	}
	return -ENOENT;
}

int view_section(struct view *v, const char *name, struct bytes *out, struct err *err)
{
	int rc;

	if (!strncmp(name, "slices/", 7))
		return block_section(v, name + 7, out, err);
	rc = plain_section(v, name, out);
	if (rc == -ENOENT)
		return err_set(err, rc, "there is no section '%.20s'", name);
	return rc < 0 ? err_set(err, rc, "no memory for section '%s'", name) : 0;
}
