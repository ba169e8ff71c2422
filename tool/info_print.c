/* SPDX-License-Identifier: MIT */
/* info_print.c - the contents of a trace, as text or as one JSON object. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "info.h"
#include "json_file.h"
#include "trace/schema.h"

#define GARBAGE_SHOWN 5
#define GAPS_SHOWN    5

void info_label(struct printer *p, const char *text)
{
	print_text(p, "  %-12s  ", text);
}

void info_print_some(struct printer *p, uint64_t value, const char *one, const char *many)
{
	char count[TEXT_SIZE];

	print_text(p, "%s %s", text_count(count, value), value == 1 ? one : many);
}

/* ---- text only ---------------------------------------------------------------- */

/* A line of its own, unless the number is 0; @fmt has one %s for it. */
static void info_print_cause(struct printer *p, const char *fmt, uint64_t nr)
{
	if (!nr)
		return;
	info_label(p, "");
	print_count(p, NULL, fmt, nr);
}

static void info_print_loss_causes(struct printer *p, const struct sidecar_totals *t)
{
	info_print_cause(p, "%s overwritten before they were read\n", t->lost_overwritten);
	info_print_cause(p, "%s found no room in their lane\n", t->lost_full);
	info_print_cause(p, "%s could not be written to the file\n", t->lost_output);
	info_print_cause(p, "and %s creations, wakes, ends\n", t->others_lost);
	info_print_cause(p,
			 t->without_station == 1
				 ? "%s coroutine found no room and is not in the trace at all\n"
				 : "%s coroutines found no room and are not in the trace at all\n",
			 t->without_station);
}

static void info_print_lost(struct printer *p, const struct info *info)
{
	const struct sidecar_totals *t = &info->sum.totals;
	char a[TEXT_SIZE], b[TEXT_SIZE], c[TEXT_SIZE];

	info_label(p, "lost");
	if (info->stats.is_stdin) {
		print_text(p, "unknown: standard input carries no .meta file\n");
		return;
	}
	if (!info->sum.has_totals) {
		/* The collector writes the run at its start, and the totals at its end. */
		if (info_has_facts(info) || !info->sidecar_path)
			print_text(p, "unknown: the collector was killed or is still running\n");
		else
			print_text(p, "unknown: no '%s' next to the trace\n", info->sidecar_path);
		return;
	}
	print_text(p, "%s of %s written%s\n", t->lost ? text_count(a, t->lost) : "none",
		   text_count(b, t->written), text_share(c, t->lost, t->written));
	info_print_loss_causes(p, t);
	if (!t->forgotten)
		return;
	info_label(p, "forgotten");
	print_text(p, "%s older ones: this is what a flight recorder had\n",
		   text_count(a, t->forgotten));
}

/* CTF traces: packets that could not be read. */
static void info_print_damage(struct printer *p, const struct ctf_stats *c)
{
	if (c->damaged || c->missing) {
		info_label(p, "damaged");
		info_print_some(p, c->damaged, "packet", "packets");
		print_text(p, " could not be read to the end, ");
		info_print_some(p, c->missing, "is missing", "are missing");
		print_text(p, "\n");
	}
	if (c->torn) {
		info_label(p, "torn");
		info_print_some(p, c->torn, "file ends", "files end");
		print_text(p, " inside a packet: the collector was killed or is still running\n");
	}
	if (c->unknown) {
		info_label(p, "unknown");
		info_print_some(p, c->unknown, "record", "records");
		print_text(p, " of a later version, skipped\n");
	}
}

/* Compact traces: blocks that could not be read. */
static void info_print_blocks(struct printer *p, const struct ct_stats *c)
{
	if (c->damaged || c->missing) {
		info_label(p, "damaged");
		info_print_some(p, c->damaged, "block", "blocks");
		print_text(p, " could not be read, ");
		info_print_some(p, c->missing, "is missing", "are missing");
		print_text(p, "\n");
	}
	if (c->torn) {
		info_label(p, "torn");
		print_text(p, "the file ends inside a block: the collector was killed, or the file "
			      "was cut\n");
	}
	if (c->unknown) {
		info_label(p, "unknown");
		info_print_some(p, c->unknown, "block or event", "blocks or events");
		print_text(p, " of a later version, skipped\n");
	}
}

static void info_print_disagreement(struct printer *p, const struct info *info)
{
	const struct trace_completeness *c = &info->stats.completeness;
	char a[TEXT_SIZE], b[TEXT_SIZE];

	if (!trace_totals_agree(&info->stats)) {
		bool others = c->expected == c->read;

		info_label(p, "disagrees");
		print_text(p, "the collector wrote %s %s, the file has %s:\n",
			   text_count(a, others ? c->expected_others : c->expected),
			   others ? "creations, wakes, ends" : "events",
			   text_count(b, others ? c->read_others : c->read));
		info_label(p, "");
		print_text(p, "it was changed since, or belongs to another run\n");
	}
	if (c->unreadable) {
		info_label(p, "unreadable");
		info_print_some(p, c->unreadable, "file", "files");
		print_text(p, ": '%s': %s\n", c->unreadable_name, strerror(c->unreadable_errno));
	}
	if (info->stats.sidecar.garbage) {
		info_label(p, "damaged");
		info_print_some(p, info->stats.sidecar.garbage, "line", "lines");
		print_text(p, " of '%s' cannot be read\n", info->sidecar_path);
	}
}

/* ---- both --------------------------------------------------------------------- */

static void info_print_total(struct printer *p, const char *key, uint64_t value)
{
	info_label(p, key);
	print_count(p, key, "%s\n", value);
}

/* Events by kind, without transitions: "100 births, 7,638 wakes, 100 ends". */
static void info_print_others(struct printer *p, const struct trace_summary *sum)
{
	unsigned i, shown = 0;

	if (sum->others)
		info_label(p, "and");
	print_object(p, "others");
	for (i = TRACE_BIRTH; i < NR_TRACE_KINDS; i++) {
		const struct schema_kind *kind = &schema_kinds[i];

		print_count(p, kind->plural, NULL, sum->kinds[i]);
		if (!sum->kinds[i] || !sum->others)
			continue;
		print_text(p, "%s", shown++ ? ", " : "");
		info_print_some(p, sum->kinds[i], kind->one, kind->many);
	}
	print_object_end(p);
	print_text(p, "%s", sum->others ? "\n" : "");
}

/* "thread 4711 of process 4710: 1,234 events in 3 gaps" */
static void info_print_gap(struct printer *p, const struct summary_gaps *g)
{
	bool has_lane = g->lane != TRACE_LANE_STATIONS;

	print_row(p);
	if (has_lane)
		print_text(p, "thread %" PRIu64 " of process %" PRIu32 ": ", g->tid, g->pid);
	else
		print_text(p, "stations: ");
	print_known(p, "lane", NULL, has_lane, g->lane, NULL);
	print_count(p, "pid", NULL, g->pid);
	print_count(p, "tid", NULL, g->tid);
	print_count(p, "gaps", NULL, g->gaps);
	print_count(p, "lost", NULL, g->transitions);
	print_count(p, "others_lost", NULL, g->others);
	info_print_some(p, g->transitions, "event", "events");
	if (g->others) {
		print_text(p, " and ");
		info_print_some(p, g->others, "other", "others");
	}
	print_text(p, " in ");
	info_print_some(p, g->gaps, "gap", "gaps");
	print_row_end(p);
}

static void info_print_gaps(struct printer *p, const struct trace_summary *sum)
{
	size_t top[SUMMARY_WORST], i;
	size_t nr = summary_top_gaps(sum, top, p->is_json ? SUMMARY_WORST : GAPS_SHOWN);

	print_count(p, "lanes_with_loss", NULL, sum->nr_gaps);
	print_list(p, "lanes_lost_most");
	for (i = 0; i < nr; i++) {
		info_label(p, i ? "" : "gaps");
		info_print_gap(p, &sum->gaps[top[i]]);
	}
	print_list_end(p);
	if (sum->nr_gaps <= nr)
		return;
	info_label(p, "");
	info_print_some(p, sum->nr_gaps - nr, "more thread", "more threads");
	print_text(p, "\n");
}

static void info_print_garbage(struct printer *p, const struct info *info)
{
	const struct jsonl_stats *l = &info->stats.lines;
	unsigned i;

	if (!p->is_json && info->stats.format != TRACE_FORMAT_JSONL)
		return;
	print_count(p, "lines", NULL, l->lines);
	info_label(p, "garbage");
	print_count(p, "garbage", l->garbage ? "%s " : "none\n", l->garbage);
	if (l->garbage)
		print_text(p, "line%s set aside, not part of anything above\n",
			   number_plural(l->garbage));
	print_list(p, "garbage_first");
	for (i = 0; i < l->nr_first && (p->is_json || i < GARBAGE_SHOWN); i++) {
		print_row(p);
		info_label(p, "");
		print_number(p, "line", "line %s: ", l->first[i].line);
		print_string(p, "reason", l->first[i].reason);
		print_text(p, "%s", l->first[i].reason);
		print_row_end(p);
	}
	print_list_end(p);
	if (l->garbage > i) {
		info_label(p, "");
		print_text(p, "%s more\n", number_text(l->garbage - i));
	}
}

/* ---- JSON only ----------------------------------------------------------------- */

static void info_json_ctf(struct printer *p, const struct trace_stats *stats)
{
	const struct ctf_stats *c = &stats->ctf;

	jw_key(&p->json, "ctf");
	if (stats->format != TRACE_FORMAT_CTF) {
		jw_null(&p->json);
		return;
	}
	print_object(p, NULL);
	print_count(p, "streams", NULL, c->streams);
	print_count(p, "packets", NULL, c->packets);
	print_count(p, "damaged", NULL, c->damaged);
	print_count(p, "torn", NULL, c->torn);
	print_count(p, "missing", NULL, c->missing);
	print_count(p, "unknown", NULL, c->unknown);
	print_count(p, "discarded", NULL, c->discarded);
	print_object_end(p);
}

static void info_json_blocks(struct printer *p, const struct trace_stats *stats)
{
	const struct ct_stats *c = &stats->ct;

	jw_key(&p->json, "ct");
	if (stats->format != TRACE_FORMAT_CT) {
		jw_null(&p->json);
		return;
	}
	print_object(p, NULL);
	print_count(p, "blocks", NULL, c->blocks);
	print_count(p, "blocks_read", NULL, c->read);
	print_count(p, "damaged", NULL, c->damaged);
	print_count(p, "torn", NULL, c->torn);
	print_count(p, "missing", NULL, c->missing);
	print_count(p, "unknown", NULL, c->unknown);
	print_flag(p, "index", NULL, c->has_index);
	print_object_end(p);
}

/* Members that the text has in sentences. */
static void info_json_summary(struct printer *p, const struct info *info)
{
	const struct trace_summary *sum = &info->sum;
	bool has_events = sum->events || sum->others, has_totals = sum->has_totals;

	print_count(p, "sites", NULL, u64map_count(&sum->sites));
	print_known(p, "first_ts", NULL, has_events, sum->first_ts, NULL);
	print_known(p, "last_ts", NULL, has_events, sum->last_ts, NULL);
	print_known(p, "written", NULL, has_totals, sum->totals.written, NULL);
	print_known(p, "collected", NULL, has_totals, sum->totals.collected, NULL);
	print_known(p, "lost", NULL, has_totals, sum->totals.lost, NULL);
	print_known(p, "forgotten", NULL, has_totals, sum->totals.forgotten, NULL);
	if (has_totals)
		print_flag(p, "agrees", NULL, trace_totals_agree(&info->stats));
	else
		jw_field_null(&p->json, "agrees");
	trace_put_completeness(&p->json, &info->stats);
}

/* ---- the whole trace ------------------------------------------------------------- */

int info_print(const struct info *info, bool json)
{
	const struct trace_summary *sum = &info->sum;
	char duration[TEXT_SIZE];
	struct printer printer, *p = &printer;

	printer_begin(p, json_file_stream(stdout), json);
	print_string(p, "trace", info->trace_path);
	print_safe(p, info->stats.is_stdin ? "standard input" : info->trace_path, 0);
	print_text(p, "\n\n");
	print_string(p, "format", trace_format_name(info->stats.format));
	print_flag(p, "sound", NULL, info_is_sound(info));
	info_print_total(p, "events", sum->events);
	info_print_others(p, sum);
	info_print_total(p, "coroutines", coro_ids_count(&sum->coroutines.ids));
	info_print_total(p, "threads", u64map_count(&sum->threads));
	print_count(p, "duration_ns", NULL, summary_duration_ns(sum));
	info_label(p, "duration");
	print_text(p, "%s\n", text_duration(duration, summary_duration_ns(sum)));
	if (json)
		info_json_summary(p, info);
	else
		info_print_lost(p, info);
	info_print_gaps(p, sum);
	info_print_garbage(p, info);
	if (json) {
		info_json_ctf(p, &info->stats);
		info_json_blocks(p, &info->stats);
	} else {
		info_print_damage(p, &info->stats.ctf);
		info_print_blocks(p, &info->stats.ct);
		info_print_disagreement(p, info);
	}
	info_print_run(p, info);
	info_parts_print(p, &info->parts);
	return printer_end(p);
}
