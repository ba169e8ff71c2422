/* SPDX-License-Identifier: MIT */
/*
 * run_summary.c - the summary of a run, on stderr.
 *
 * Loss always has its own line; lines without a problem are omitted.
 */
#include "json_file.h"
#include "run_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "base/number.h"
#include "base/printer.h"
#include "base/text.h"
#include "cmd.h"
#include "run_frames.h"
#include "run_unconnected.h"
#include "run_awaits.h"
#include "run_waiting.h"

static const char *output_name(const struct session *s)
{
	return strcmp(s->config.output, "-") ? s->config.output : "standard output";
}

static void line_totals(const struct session *s, const struct collector_result *r)
{
	uint64_t more = r->collecting_ns - r->duration_ns;

	fprintf(stderr, "corotracer: %s event%s of %s coroutine%s in %.2f s",
		number_text(r->collected), number_plural(r->collected),
		number_text(r->totals.coroutines), number_plural(r->totals.coroutines),
		(double)r->duration_ns / 1e9);
	if (more >= NS_PER_SEC / 10)
		fprintf(stderr, " (reading them took %.2f s more)", (double)more / 1e9);
	/* A spool is not for the user: what is left of it has a line of its own. */
	if (s->shipping.is_spool)
		fputc('\n', stderr);
	else
		fprintf(stderr, " -> %s\n", output_name(s));
}

/* Transitions from before the program attached to the collector: part of lost_full. */
static uint64_t lost_untraced(const struct collector_result *r)
{
	return r->lanes.untraced < r->lost_full ? r->lanes.untraced : r->lost_full;
}

static void line_loss(const struct collector_result *r)
{
	uint64_t untraced = lost_untraced(r);
	char share[TEXT_SIZE];

	if (!r->lost) {
		fprintf(stderr, "corotracer: lost: none of %s written\n",
			number_text(r->totals.written));
		return;
	}
	fprintf(stderr, "corotracer: lost: %s of %s written%s", number_text(r->lost),
		number_text(r->totals.written), text_share(share, r->lost, r->totals.written));
	if (r->lost_output)
		fprintf(stderr, ", %s because %s", number_text(r->lost_output),
			r->drain_stopped ? "a signal ended the writing of the trace"
					 : "the trace could not be written");
	if (untraced)
		fprintf(stderr, ", %s before the program connected to the collector",
			number_text(untraced));
	if (r->lost_full > untraced)
		fprintf(stderr, ", %s because the buffer was full",
			number_text(r->lost_full - untraced));
	if (r->lost > r->lost_output + r->lost_full)
		fprintf(stderr, ", %s overwritten before they were read",
			number_text(r->lost - r->lost_output - r->lost_full));
	fputc('\n', stderr);
}

/* Creations, wakes and ends are events, too, but are counted separately. */
static void line_others_lost(const struct collector_result *r)
{
	if (r->others_lost)
		fprintf(stderr, "corotracer: lost too: %s of %s creations, wakes, ends\n",
			number_text(r->others_lost),
			number_text(r->others_lost + r->others_collected));
	if (r->lanes.lost_sites)
		fprintf(stderr, "corotracer: %s place%s in the source found no room in the table\n",
			number_text(r->lanes.lost_sites), number_plural(r->lanes.lost_sites));
}

/* The buffer was as large as its file system allowed: --buffer would not help. */
static void hint_place(const struct session *s, const struct collector_result *r)
{
	if (r->place_holds)
		fprintf(stderr, "hint: '%s' has room for a buffer of %s MiB only; ", r->place,
			number_text((r->place_holds >> 20) + !(r->place_holds >> 20)));
	else
		fprintf(stderr, "hint: the buffer in '%s' could not grow (%s); ", r->place,
			strerror(r->starved));
	if (s->config.shm)
		fputs("name a path with more room with --shm\n", stderr);
	else
		fputs("put it elsewhere with --shm PATH or TMPDIR=DIR, or make that place larger "
		      "(containers: --shm-size=2g)\n",
		      stderr);
}

/* How to avoid loss next time. */
static void hint_loss(const struct session *s, const struct collector_result *r)
{
	if (r->lost_full && r->lost_full == lost_untraced(r))
		fputs("hint: the program's first call of the SDK took long; call "
		      "corotracer_init(), "
		      "InitTracer() or init_tracer() before it starts threads\n",
		      stderr);
	else if (r->lost_full && (r->starved || r->place_holds))
		hint_place(s, r);
	else if (r->lost_full && s->config.lanes.on_full == CTP_ON_FULL_DROP)
		fputs("hint: --buffer SIZE holds more, --on-full block makes the program wait\n",
		      stderr);
	else if (r->lost_full)
		fputs("hint: the program waited too short a time: --buffer SIZE holds more, "
		      "--on-full block=MS waits longer\n",
		      stderr);
	else if (r->lost > r->lost_output)
		fputs("hint: a station holds 8 events; of more between two polls the oldest "
		      "are lost\n",
		      stderr);
}

static void line_waits(const struct collector_result *r)
{
	char took[TEXT_SIZE];

	if (r->waits)
		fprintf(stderr, "corotracer: the program waited for room %s time%s, %s in all\n",
			number_text(r->waits), number_plural(r->waits),
			text_duration(took, r->wait_ns));
}

static void line_switches(const struct session *s, const struct collector_result *r)
{
	if (s->config.cpu)
		fprintf(stderr,
			"corotracer: %s wait%s of threads for a processor or in the kernel\n",
			number_text(r->switches), number_plural(r->switches));
	if (s->config.cpu && r->no_wakes.code)
		fprintf(stderr,
			"corotracer: %s; a thread counts as blocked until it has a processor\n"
			"corotracer: hint: %s\n",
			r->no_wakes.text, r->no_wakes.hint);
	if (r->switches_lost)
		fprintf(stderr,
			"corotracer: %s context switch%s lost: what threads did at these times is "
			"not known\n",
			number_text(r->switches_lost), r->switches_lost == 1 ? " is" : "es are");
}

/* Lanes that are missing or corrupt. */
static void lines_lanes(const struct collector_result *r)
{
	if (r->no_lanes.code)
		fprintf(stderr, "corotracer: without lanes: %s; a station holds 8 events\n",
			r->no_lanes.text);
	if (r->lanes.broken)
		fprintf(stderr, "corotracer: %u lane%s had corrupt data and %s not read further\n",
			r->lanes.broken, number_plural(r->lanes.broken),
			r->lanes.broken == 1 ? "was" : "were");
}

/* Facts: what the kernel said of threads and descriptors, and frames. */
static void line_facts_forgotten(uint64_t forgotten, uint64_t refused)
{
	if (forgotten)
		fprintf(stderr,
			"corotracer: forgotten: %s older fact%s about threads, descriptors and "
			"frames\n",
			number_text(forgotten), number_plural(forgotten));
	if (refused)
		fprintf(stderr,
			"corotracer: not kept: %s fact%s larger than a segment of the flight "
			"recorder\n"
			"corotracer: hint: use a larger --flight-recorder SIZE\n",
			number_text(refused), number_plural(refused));
}

/* Not a loss: the user asked for it. */
static void line_forgotten(const struct session *s, const struct collector_result *r)
{
	if (s->config.flight_size)
		fprintf(stderr, "corotracer: forgotten: %s older event%s (--flight-recorder)\n",
			number_text(r->forgotten), number_plural(r->forgotten));
	line_facts_forgotten(r->facts_forgotten, r->facts_refused);
}

void run_summary_snapshot(const struct snapshot_result *r)
{
	if (r->err.code) {
		message_error("snapshot", &r->err);
		return;
	}
	fprintf(stderr, "corotracer: snapshot: %s event%s, %s older ones forgotten -> %s\n",
		number_text(r->collected), number_plural(r->collected), number_text(r->forgotten),
		r->path);
	line_facts_forgotten(r->facts_forgotten, r->facts_refused);
}

static void summary_worst(struct printer *p, const struct collector_result *r)
{
	uint32_t i;

	print_list(p, "worst");
	for (i = 0; i < r->worst.nr; i++) {
		const struct worst_coroutine *co = &r->worst.at[i];

		print_row(p);
		print_known(p, "station", NULL, co->station != TRACE_NO_STATION, co->station, NULL);
		print_text(p, "corotracer:   worst: %s of %s lost by coroutine ",
			   number_text(co->lost), number_text(co->written));
		print_number(p, "probe_id", "%s", co->probe_id);
		print_string(p, "name", co->name[0] ? co->name : NULL);
		print_text(p, "%s", co->name[0] ? " \"" : "");
		print_safe(p, co->name, 0);
		print_text(p, "%s", co->name[0] ? "\"" : "");
		print_count(p, "written", NULL, co->written);
		print_count(p, "lost", NULL, co->lost);
		print_row_end(p);
	}
	print_list_end(p);
}

static void line_without_station(const struct session *s, const struct collector_result *r)
{
	uint64_t enough = (uint64_t)s->config.nr_stations + r->totals.without_station -
			  r->lanes.later;

	if (!r->totals.without_station)
		return;
	if (r->lanes.later)
		fprintf(stderr,
			"corotracer: not seen at all: %s coroutine%s that ended or stayed "
			"suspended "
			"before the program connected to the collector\n",
			number_text(r->lanes.later), number_plural(r->lanes.later));
	if (r->lanes.later == r->totals.without_station)
		return;
	fprintf(stderr, "corotracer: not seen at all: %s coroutine%s that found no room\n",
		number_text(r->totals.without_station - r->lanes.later),
		number_plural(r->totals.without_station - r->lanes.later));
	if (r->lanes.unborn + r->lanes.later == r->totals.without_station)
		return;
	if (enough <= CTP_MAX_STATIONS)
		fprintf(stderr, "hint: -n %" PRIu64 " would have been enough\n", enough);
	else
		fprintf(stderr, "hint: it would have taken %" PRIu64 "; -n goes to %u\n", enough,
			CTP_MAX_STATIONS);
}

static void lines_garbage(const struct collector_result *r)
{
	if (r->totals.garbage)
		fprintf(stderr, "corotracer: garbage: %s corrupt record%s in the region skipped\n",
			number_text(r->totals.garbage), number_plural(r->totals.garbage));
	if (r->totals.unfinished)
		fprintf(stderr, "corotracer: unfinished: %s event%s begun and never completed\n",
			number_text(r->totals.unfinished), number_plural(r->totals.unfinished));
	if (r->wild_count)
		fputs("corotracer: the region's count of coroutines was corrupt\n", stderr);
	if (r->region_shrunk)
		fputs("corotracer: the region's file was cut short while it was read\n", stderr);
}

/* What makes times misleading. */
static void lines_clocks(const struct clock_watch *w)
{
	char text[TEXT_SIZE];

	if (w->suspended_ns)
		fprintf(stderr,
			"corotracer: the machine was suspended for %s: times do not include that\n",
			text_duration(text, w->suspended_ns));
	if (w->wall_step_ns)
		fprintf(stderr,
			"corotracer: the wall clock was set, by %s in all: times of day are those "
			"of the start\n",
			text_duration(text, w->wall_step_ns));
	if (w->counter_changes)
		fprintf(stderr,
			"corotracer: the cycle counter changed its rate %s time%s: times are not "
			"reliable\n",
			number_text(w->counter_changes), number_plural(w->counter_changes));
}

/* The writers of the stations; in text if some are of another SDK. */
static void summary_writers(struct printer *p, const struct collector_result *r)
{
	bool others = r->totals.writers[WRITER_SEED_002] || r->totals.writers[WRITER_SEED_000];
	uint32_t w;

	print_object(p, "writers");
	print_text(p, "%s", others ? "corotracer: stations by writer:" : "");
	for (w = WRITER_COROTRACER; w < NR_WRITERS; w++) {
		bool shown = others && r->totals.writers[w];

		print_count(p, harvest_writer_name(w), shown ? " %s" : NULL, r->totals.writers[w]);
		print_text(p, "%s%s", shown ? " " : "", shown ? harvest_writer_name(w) : "");
	}
	print_object_end(p);
	print_text(p, "%s", others ? "\n" : "");
}

/* A likely reason; a program that could not be run has already printed one. */
static void hint_unconnected(const struct collector_result *r)
{
	if (!r->launched)
		fputs("hint: run the program with the environment that was printed at the start\n",
		      stderr);
	else if (r->exit_status != 126 && r->exit_status != 127)
		fprintf(stderr, "hint: does the program call corotracer_init()?%s\n",
			getenv("CTP_VERBOSE")
				? ""
				: "  with CTP_VERBOSE=1 it prints why it is not traced");
}

/* How the run of a program that was already running ended. */
static void line_attached(const struct collector_result *r)
{
	if (!r->attached || r->failed.code)
		return;
	if (r->replaced)
		fprintf(stderr, "corotracer: process %d executed another program\n", r->pid);
	else if (r->detached)
		fprintf(stderr, "corotracer: detached; process %d goes on\n", r->pid);
	else
		fprintf(stderr, "corotracer: process %d has ended\n", r->pid);
}

static void lines_connected(const struct collector_result *r)
{
	uint32_t left = r->attached ? 0 : r->still_connected;

	if (r->attached && !r->nr_connected && !r->totals.written && !r->failed.code)
		fputs("corotracer: the program had no event while it was asked to attach\n",
		      stderr);
	else if (!r->nr_connected && !r->totals.written && !r->frames.written) {
		fputs("corotracer: connected: no - no process connected to the region\n", stderr);
		if (!r->nr_unconnected)
			hint_unconnected(r);
	}
	run_unconnected_text(r);
	if (r->nr_refused)
		fprintf(stderr, "corotracer: refused: %u connection%s of other users\n",
			r->nr_refused, number_plural(r->nr_refused));
	if (r->nr_turned_away)
		fprintf(stderr,
			"corotracer: not accepted: %u connection%s, no descriptors left (ulimit "
			"-n); those programs are traced, but their last events may be read late\n",
			r->nr_turned_away, number_plural(r->nr_turned_away));
	if (left && r->launched)
		fprintf(stderr,
			"corotracer: %u process%s went on after the program ended; what %s did "
			"later is not in the trace (--wait-all waits for %s)\n",
			left, left == 1 ? "" : "es", left == 1 ? "it" : "they",
			left == 1 ? "it" : "them");
}

static void lines_trouble(const struct session *s, const struct collector_result *r)
{
	if (r->failed.code)
		message_error(s->cmd ? s->cmd->name : NULL, &r->failed);
	if (r->output.code)
		message_error(s->cmd ? s->cmd->name : NULL, &r->output);
	if (r->sidecar.code)
		message_error(s->cmd ? s->cmd->name : NULL, &r->sidecar);
	if (run_waiting_missing())
		fprintf(stderr, "corotracer: %s\n", run_waiting_missing());
	if (run_awaits_missing())
		fprintf(stderr, "corotracer: --awaits found nothing: %s\n", run_awaits_missing());
	if (r->modules_left_out)
		fprintf(stderr,
			"corotracer: not recorded: %" PRIu64
			" programs and libraries beyond %d of a process or %d in all; addresses "
			"in them have no names\n",
			r->modules_left_out, MODULES_PER_PROCESS, MODULES_MAX);
	if (r->signal)
		fprintf(stderr, "corotracer: the program was ended by signal %d (%s)\n", r->signal,
			strsignal(r->signal));
	else if (r->exit_status)
		fprintf(stderr, "corotracer: the program exited with status %d\n", r->exit_status);
}

void run_summary_text(const struct session *s, const struct collector_result *r)
{
	struct printer p;

	lines_trouble(s, r);
	if (s->quiet && !r->lost && !run_unconnected_failed(r) && !r->totals.without_station &&
	    !r->totals.garbage && !r->frames.lost) {
		shipping_text(&s->shipping, true);
		return;
	}
	printer_begin(&p, stderr, false);
	line_totals(s, r);
	line_loss(r);
	line_forgotten(s, r);
	line_others_lost(r);
	summary_worst(&p, r);
	hint_loss(s, r);
	line_waits(r);
	line_switches(s, r);
	run_frames_text(&s->config, &r->frames);
	lines_lanes(r);
	line_without_station(s, r);
	lines_garbage(r);
	lines_clocks(&r->clocks);
	summary_writers(&p, r);
	lines_connected(r);
	printer_end(&p);
	shipping_text(&s->shipping, false);
	line_attached(r);
}

/* ---- the summary as JSON ----------------------------------------------------- */

static void summary_json_totals(struct printer *p, const struct collector_result *r)
{
	print_count(p, "written", NULL, r->totals.written);
	print_count(p, "collected", NULL, r->collected);
	print_count(p, "lost", NULL, r->lost);
	print_count(p, "lost_overwritten", NULL, r->lost - r->lost_output - r->lost_full);
	print_count(p, "lost_full", NULL, r->lost_full);
	print_count(p, "lost_untraced", NULL, lost_untraced(r));
	print_count(p, "lost_output", NULL, r->lost_output);
	print_count(p, "forgotten", NULL, r->forgotten);
	print_count(p, "garbage", NULL, r->totals.garbage);
	print_count(p, "unfinished", NULL, r->totals.unfinished);
	print_count(p, "coroutines", NULL, r->totals.coroutines);
	print_count(p, "without_station", NULL, r->totals.without_station);
}

static void summary_json_lanes(struct printer *p, const struct collector_result *r)
{
	uint32_t kind;

	print_object(p, "others");
	print_count(p, "collected", NULL, r->others_collected);
	print_count(p, "lost", NULL, r->others_lost);
	for (kind = TRACE_BIRTH; kind < NR_TRACE_KINDS; kind++)
		print_count(p, trace_kind_name(kind), NULL, r->lanes.kinds[kind]);
	print_object_end(p);
	print_object(p, "lanes");
	print_count(p, "opened", NULL, r->lanes.lanes);
	print_count(p, "broken", NULL, r->lanes.broken);
	print_count(p, "lost_sites", NULL, r->lanes.lost_sites);
	print_count(p, "waits", NULL, r->waits);
	print_count(p, "wait_ns", NULL, r->wait_ns);
	print_string(p, "why_none", r->no_lanes.code ? r->no_lanes.text : NULL);
	print_object_end(p);
	print_object(p, "switches");
	print_count(p, "recorded", NULL, r->switches);
	print_count(p, "lost", NULL, r->switches_lost);
	print_string(p, "why_no_wakes", r->no_wakes.code ? r->no_wakes.text : NULL);
	print_object_end(p);
	print_object(p, "facts");
	print_count(p, "forgotten", NULL, r->facts_forgotten);
	print_count(p, "refused", NULL, r->facts_refused);
	print_object_end(p);
	run_frames_json(p, &r->frames);
	print_count(p, "region_bytes", NULL, r->region_bytes);
	print_string(p, "region", r->place);
	print_known(p, "place_holds", NULL, r->place_holds, r->place_holds, NULL);
}

static void summary_json_trouble(struct printer *p, const char *key, const struct err *err)
{
	if (!err->code)
		return;
	print_string(p, key, err->text);
}

void run_summary_json(const struct session *s, const struct collector_result *r, int status)
{
	struct printer p;

	printer_begin(&p, json_file_stream(stderr), true);
	summary_json_totals(&p, r);
	if (r->launched) {
		print_integer(&p, "exit_status", NULL, r->exit_status);
		print_known(&p, "signal", NULL, r->signal, (uint64_t)r->signal, NULL);
	} else {
		jw_field_null(&p.json, "exit_status");
	}
	if (r->attached) {
		print_flag(&p, "attached", NULL, true);
		print_flag(&p, "detached", NULL, r->detached);
		print_flag(&p, "replaced", NULL, r->replaced);
		print_string(&p, "waiting_missing", run_waiting_missing());
	}
	if (s->awaits)
		print_string(&p, "awaits_missing", run_awaits_missing());
	print_integer(&p, "status", NULL, status);
	print_string(&p, "trace", s->config.output);
	print_count(&p, "duration_ns", NULL, r->duration_ns);
	print_count(&p, "collecting_ns", NULL, r->collecting_ns);
	print_count(&p, "collector_cpu_ns", NULL, r->cpu_ns);
	print_count(&p, "connected", NULL, r->nr_connected);
	print_count(&p, "still_connected", NULL, r->still_connected);
	print_count(&p, "refused", NULL, r->nr_refused);
	print_count(&p, "turned_away", NULL, r->nr_turned_away);
	print_count(&p, "wakeups", NULL, r->nr_wakeups);
	print_count(&p, "modules_left_out", NULL, r->modules_left_out);
	run_unconnected_json(&p, r);
	print_flag(&p, "region_shrunk", NULL, r->region_shrunk);
	print_flag(&p, "wild_count", NULL, r->wild_count);
	print_object(&p, "clocks");
	print_count(&p, "suspended_ns", NULL, r->clocks.suspended_ns);
	print_count(&p, "wall_step_ns", NULL, r->clocks.wall_step_ns);
	print_count(&p, "counter_changes", NULL, r->clocks.counter_changes);
	print_object_end(&p);
	summary_json_lanes(&p, r);
	summary_writers(&p, r);
	summary_worst(&p, r);
	shipping_json(&p, &s->shipping);
	summary_json_trouble(&p, "error", r->failed.code ? &r->failed : &r->output);
	summary_json_trouble(&p, "sidecar_error", &r->sidecar);
	printer_end(&p);
}

void run_summary_json_error(const struct err *err)
{
	struct printer p;

	printer_begin(&p, json_file_stream(stderr), true);
	print_string(&p, "error", err->text);
	print_string(&p, "hint", err->hint[0] ? err->hint : NULL);
	printer_end(&p);
}
