/* SPDX-License-Identifier: MIT */
/*
 * recover_head.c - what is known about a run as a whole, from its region.
 */
#include "recover_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/monotonic.h"
#include "base/number.h"
#include "base/text.h"

/* ---- times --------------------------------------------------------------------- */

static void recover_put_date(struct printer *p, time_t at)
{
	char text[64];
	struct tm tm;

	if (localtime_r(&at, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm))
		print_text(p, "%s", text);
	else
		print_text(p, "?");
}

/* Wall-clock time of a CLOCK_MONOTONIC time of this boot. */
static uint64_t realtime_of(const struct recover *r, uint64_t ts)
{
	return r->now_realtime_ns - r->now_ns + ts;
}

static void recover_put_moment(struct printer *p, const struct recover *r, uint64_t ts)
{
	if (r->same_time && ts <= r->now_ns)
		recover_put_date(p, (time_t)(realtime_of(r, ts) / NS_PER_SEC));
	else
		print_text(p, "%" PRIu64 ".%09" PRIu64 " s of its machine's clock", ts / NS_PER_SEC,
			   ts % NS_PER_SEC);
}

void recover_print_time(struct printer *p, const struct recover *r, uint64_t ts)
{
	uint64_t real = realtime_of(r, ts);
	time_t at = (time_t)(real / NS_PER_SEC);
	char text[32];
	struct tm tm;

	if (r->same_time && ts <= r->now_ns && localtime_r(&at, &tm) &&
	    strftime(text, sizeof(text), "%H:%M:%S", &tm))
		print_text(p, "%s.%06" PRIu64, text, real % NS_PER_SEC / NS_PER_US);
	else
		print_text(p, "%8" PRIu64 ".%06" PRIu64, ts / NS_PER_SEC,
			   ts % NS_PER_SEC / NS_PER_US);
}

/* ---- header ---------------------------------------------------------------------- */

static void recover_put_collector(struct printer *p, const struct recover *r)
{
	const struct image *im = &r->image;
	uint64_t moment = recover_moment(r);
	char text[TEXT_SIZE];

	print_text(p, "  collector     ");
	if (im->collector_pid)
		print_text(p, "pid %u, ", im->collector_pid);
	print_text(p, "%s", im->live ? "running" : "gone");
	if (im->last_look_ns) {
		print_text(p, "%s", im->live ? "; awake at " : "; last awake at ");
		recover_put_moment(p, r, im->last_look_ns);
		if (moment > im->last_look_ns && !im->live)
			print_text(p, ", %s before that",
				   text_duration(text, moment - im->last_look_ns));
	}
	print_text(p, "\n");
}

void recover_print_processes(struct printer *p, const struct recover *r, size_t most)
{
	static const char *const states[][2] = {
		[PROCESS_GONE] = { "gone", ", gone" },
		[PROCESS_THERE] = { "running", ", still running: " },
		[PROCESS_OTHER] = { "reused", ", gone; the number is another's now" },
	};
	size_t i;

	print_list(p, "processes");
	for (i = 0; i < r->nr_processes && i < most; i++) {
		const struct recover_process *process = &r->processes[i];

		print_row(p);
		print_text(p, "  %-12s", i ? "" : "programs");
		print_number(p, "pid", "  pid %s", process->pid);
		print_string(p, "state", states[process->life][0]);
		print_text(p, "%s", states[process->life][1]);
		if (p->is_json && process->command[0])
			print_string(p, "command", process->command);
		if (process->life == PROCESS_THERE)
			print_safe(p, process->command, 0);
		print_row_end(p);
	}
	print_list_end(p);
	if (i < r->nr_processes)
		print_text(p, "  %-12s  and %s more\n", "", number_text(r->nr_processes - i));
}

/* Without events, the printed times are those of the states. */
static uint64_t recover_clock_error_ns(const struct recover *r)
{
	uint64_t moment = recover_moment(r);
	uint64_t a = region_copy_clock_error_ns(&r->image, r->first_ts ? r->first_ts : moment);
	uint64_t b = region_copy_clock_error_ns(&r->image, r->last_ts ? r->last_ts : moment);

	return a > b ? a : b;
}

static void recover_put_clock(struct printer *p, const struct recover *r)
{
	char text[TEXT_SIZE];

	if (!r->image.lanes.ext || !r->lanes.lanes)
		return; /* stations store the time itself */
	print_text(p, "  times         %s off at most, if the clock was slewed meanwhile",
		   text_duration(text, recover_clock_error_ns(r)));
	if (r->image.clock_from == IMAGE_CLOCK_MEASURED)
		print_text(p, "; the collector left no clock, so ours was used");
	else if (r->image.clock_from == IMAGE_CLOCK_ELSEWHERE)
		print_text(p, "; by the collector's clock alone: this machine, or its uptime, is "
			      "another");
	print_text(p, "\n");
}

static void recover_put_trouble(struct printer *p, const struct recover *r)
{
	uint64_t garbage = r->lanes.garbage + r->stations.garbage;

	if (r->image.cut)
		print_text(p, "  cut short     the file is not as long as it says; what is missing "
			      "reads as nothing\n");
	if (r->image.no_lanes.code)
		print_text(p, "  no lanes      %s\n", r->image.no_lanes.text);
	if (garbage)
		print_text(p, "  garbage       %s corrupt record%s, skipped\n",
			   number_text(garbage), number_plural(garbage));
	if (r->stations.unfinished)
		print_text(p, "  unfinished    %s event%s begun and never completed\n",
			   number_text(r->stations.unfinished),
			   number_plural(r->stations.unfinished));
	if (r->lanes.homeless)
		print_text(p, "  dropped       %s event%s of threads that found no lane\n",
			   number_text(r->lanes.homeless), number_plural(r->lanes.homeless));
	if (r->lanes.unborn)
		print_text(p, "  untraced      %s coroutine%s that found no room\n",
			   number_text(r->lanes.unborn), number_plural(r->lanes.unborn));
	if (r->lanes.later)
		print_text(
			p,
			"  untraced      %s coroutine%s that began before the program had joined "
			"the collector\n",
			number_text(r->lanes.later), number_plural(r->lanes.later));
	if (r->short_of_memory)
		print_text(p, "  incomplete    there was no memory for all of it\n");
}

static void recover_put_trace(struct printer *p, const struct recover *r)
{
	if (!r->options.output)
		return;
	print_text(p, "  trace         ");
	print_safe(p, r->options.output, 0);
	print_text(p, ": %s event%s, %s\n", number_text(r->written.written),
		   number_plural(r->written.written),
		   r->options.join    ? "those of the collector's trace and the rest"
		   : r->options.all   ? "all that are there"
		   : r->journal.found ? "those that are not in the collector's trace"
				      : "those that the collector had not read");
}

/* ---- totals, in JSON ------------------------------------------------------------- */

static void recover_json_clock(struct printer *p, const struct recover *r)
{
	static const char *const from[] = { [IMAGE_CLOCK_PUBLISHED] = "published",
					    [IMAGE_CLOCK_ELSEWHERE] = "elsewhere",
					    [IMAGE_CLOCK_MEASURED] = "measured" };

	print_string(p, "clock", from[r->image.clock_from]);
	print_count(p, "clock_error_ns", NULL, recover_clock_error_ns(r));
	print_known(p, "first_ts", NULL, r->first_ts, r->first_ts, NULL);
	print_known(p, "last_ts", NULL, r->last_ts, r->last_ts, NULL);
	print_count(p, "moment_ts", NULL, recover_moment(r));
}

static void recover_json_totals(struct printer *p, const struct recover *r)
{
	print_count(p, "events", NULL,
		    r->lanes.transitions + r->lanes.marks + r->stations.collected);
	print_count(p, "dropped", NULL, r->lanes.lost + r->lanes.homeless);
	print_count(p, "dropped_others", NULL, r->lanes.lost_marks);
	print_count(p, "garbage", NULL, r->lanes.garbage + r->stations.garbage);
	print_count(p, "unfinished", NULL, r->stations.unfinished);
	print_count(p, "untraced", NULL, r->lanes.unborn + r->lanes.later);
	print_flag(p, "cut", NULL, r->image.cut);
	print_flag(p, "complete", NULL, !r->short_of_memory && !r->image.cut);
}

/* ---- the account of a killed collector ------------------------------------------------ */

/* "1,234 event" and its plural. */
static void recover_print_plural(struct printer *p, const char *key, const char *fmt, uint64_t nr)
{
	print_count(p, key, fmt, nr);
	print_text(p, "%s", number_plural(nr));
}

static void recover_print_both(struct printer *p, const char *key, const char *others_key,
			       const char *label, uint64_t nr, uint64_t others)
{
	print_text(p, "  %-12s  ", label);
	recover_print_plural(p, key, "%s event", nr);
	recover_print_plural(p, others_key, ", and %s other", others);
}

/* JSON: null if the collector left no account, or is running. */
static void recover_print_account(struct printer *p, const struct recover *r)
{
	const struct recover_account *a = &r->account;

	if (!r->journal.found) {
		if (p->is_json)
			jw_field_null(&p->json, "account");
		return;
	}
	print_object(p, "account");
	print_string(p, "trace", r->journal.trace);
	print_flag(p, "trace_found", NULL, r->journal.has_trace);
	print_flag(p, "output_failed", NULL, r->journal.failed);
	recover_print_both(p, "saved", "others_saved", "in the trace", a->saved, a->others_saved);
	print_text(p, ": ");
	print_safe(p, r->journal.trace, 0);
	print_text(p, "%s\n", r->journal.has_trace ? "" : " (not there any more)");
	recover_print_both(p, "unsaved", "others_unsaved", "not in it", a->unsaved,
			   a->others_unsaved);
	print_text(p, ", in this region\n");
	if (p->is_json || a->lost + a->others_lost)
		recover_print_both(p, "lost", "others_lost", "lost", a->lost, a->others_lost);
	if (a->lost + a->others_lost)
		print_text(p, ", for want of room\n");
	print_count(p, "unaccounted", a->gone ? "  unaccounted   %s record" : NULL, a->gone);
	if (a->gone)
		print_text(p, "%s, in neither place\n", number_plural(a->gone));
	print_count(p, "missing", a->missing ? "  missing       %s event" : NULL, a->missing);
	if (a->missing)
		print_text(p, "%s that the trace had when it was written\n",
			   number_plural(a->missing));
	if (r->journal.failed)
		print_text(p, "  output        the trace could not be written to its end\n");
	print_object_end(p);
}

/* ---- the whole head ------------------------------------------------------------------- */

static void recover_text_head(struct printer *p, const struct recover *r, const char *path,
			      bool all)
{
	print_safe(p, path, 0);
	print_text(p, "\n\n  made          ");
	recover_put_date(p, r->image.made);
	print_text(p, "\n  state as of   ");
	if (recover_moment(r)) {
		recover_put_moment(p, r, recover_moment(r));
		print_text(p, "%s\n",
			   r->same_time && recover_goes_on(r) ? ", now"
							      : ", the last sign of life");
	} else {
		print_text(p, "unknown: the region has no time\n");
	}
	recover_put_collector(p, r);
	recover_print_processes(p, r, all ? r->nr_processes : RECOVER_THREADS);
	recover_put_clock(p, r);
	recover_print_account(p, r);
	recover_put_trouble(p, r);
	recover_put_trace(p, r);
}

static void recover_json_head(struct printer *p, const struct recover *r, const char *path)
{
	print_string(p, "region", path);
	print_integer(p, "made", NULL, (int64_t)r->image.made);
	print_flag(p, "live", NULL, r->image.live);
	print_count(p, "collector_pid", NULL, r->image.collector_pid);
	print_count(p, "last_look_ts", NULL, r->image.last_look_ns);
	recover_json_clock(p, r);
	recover_json_totals(p, r);
	recover_print_account(p, r);
	if (r->options.output) {
		print_string(p, "trace", r->options.output);
		print_count(p, "trace_events", NULL, r->written.written);
		print_count(p, "trace_others", NULL, r->written.others_written);
	}
	recover_print_processes(p, r, r->nr_processes);
}

void recover_print_head(struct printer *p, const struct recover *r, const char *path, bool all)
{
	if (p->is_json)
		recover_json_head(p, r, path);
	else
		recover_text_head(p, r, path, all);
}
