/* SPDX-License-Identifier: MIT */
/*
 * recover_text.c - the state of a run from its region, as text for the user on call.
 *
 * First what happened to which process, then which coroutine waits for what and since when, then
 * the last events of every thread.
 */
#include "recover_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "base/number.h"
#include "base/text.h"

/* ---- times --------------------------------------------------------------------- */

static void recover_put_date(time_t at)
{
	char text[64];
	struct tm tm;

	if (localtime_r(&at, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm))
		fputs(text, stdout);
	else
		fputs("?", stdout);
}

/* Wall-clock time of a CLOCK_MONOTONIC time of this boot. */
static uint64_t realtime_of(const struct recover *r, uint64_t ts)
{
	return r->now_realtime_ns - r->now_ns + ts;
}

static void recover_put_moment(const struct recover *r, uint64_t ts)
{
	if (r->same_time && ts <= r->now_ns)
		recover_put_date((time_t)(realtime_of(r, ts) / NS_PER_SEC));
	else
		printf("%" PRIu64 ".%09" PRIu64 " s of its machine's clock", ts / NS_PER_SEC,
		       ts % NS_PER_SEC);
}

static void recover_put_time(const struct recover *r, uint64_t ts)
{
	uint64_t real = realtime_of(r, ts);
	time_t at = (time_t)(real / NS_PER_SEC);
	char text[32];
	struct tm tm;

	if (r->same_time && ts <= r->now_ns && localtime_r(&at, &tm) &&
	    strftime(text, sizeof(text), "%H:%M:%S", &tm))
		printf("%s.%06" PRIu64, text, real % NS_PER_SEC / NS_PER_US);
	else
		printf("%8" PRIu64 ".%06" PRIu64, ts / NS_PER_SEC, ts % NS_PER_SEC / NS_PER_US);
}

/* ---- header ---------------------------------------------------------------------- */

static void recover_put_collector(const struct recover *r)
{
	const struct image *im = &r->image;
	uint64_t moment = recover_moment(r);
	char text[TEXT_SIZE];

	fputs("  collector     ", stdout);
	if (im->collector_pid)
		printf("pid %u, ", im->collector_pid);
	fputs(im->live ? "running" : "gone", stdout);
	if (im->last_look_ns) {
		fputs(im->live ? "; awake at " : "; last awake at ", stdout);
		recover_put_moment(r, im->last_look_ns);
		if (moment > im->last_look_ns && !im->live)
			printf(", %s before that", text_duration(text, moment - im->last_look_ns));
	}
	putchar('\n');
}

static void recover_put_processes(const struct recover *r, bool all)
{
	size_t i, most = all ? r->nr_processes : RECOVER_THREADS;

	for (i = 0; i < r->nr_processes && i < most; i++) {
		const struct recover_process *p = &r->processes[i];

		printf("  %-12s  pid %u", i ? "" : "programs", p->pid);
		if (p->life == PROCESS_THERE) {
			fputs(", still running: ", stdout);
			text_put(stdout, p->command);
		} else {
			fputs(p->life == PROCESS_GONE ? ", gone"
						      : ", gone; the number is another's now",
			      stdout);
		}
		putchar('\n');
	}
	if (i < r->nr_processes)
		printf("  %-12s  and %s more\n", "", number_text(r->nr_processes - i));
}

static void recover_put_clock(const struct recover *r)
{
	char text[TEXT_SIZE];

	if (!r->image.lanes.ext || !r->lanes.lanes)
		return; /* stations store the time itself */
	printf("  times         %s off at most, if the clock was slewed meanwhile",
	       text_duration(text, recover_clock_error_ns(r)));
	if (r->image.clock_from == IMAGE_CLOCK_MEASURED)
		fputs("; the collector left no clock, so ours was used", stdout);
	else if (r->image.clock_from == IMAGE_CLOCK_ELSEWHERE)
		fputs("; by the collector's clock alone: this machine, or its uptime, is another",
		      stdout);
	putchar('\n');
}

static void recover_put_trouble(const struct recover *r)
{
	uint64_t garbage = r->lanes.garbage + r->stations.garbage;

	if (r->image.cut)
		puts("  cut short     the file is not as long as it says; what is missing reads as "
		     "nothing");
	if (r->image.no_lanes.code)
		printf("  no lanes      %s\n", r->image.no_lanes.text);
	if (garbage)
		printf("  garbage       %s thing%s that no event can be, left out\n",
		       number_text(garbage), number_plural(garbage));
	if (r->stations.unfinished)
		printf("  unfinished    %s event%s begun and never completed\n",
		       number_text(r->stations.unfinished), number_plural(r->stations.unfinished));
	if (r->lanes.homeless)
		printf("  dropped       %s event%s of threads that found no lane\n",
		       number_text(r->lanes.homeless), number_plural(r->lanes.homeless));
	if (r->lanes.unborn)
		printf("  untraced      %s coroutine%s that found no room\n",
		       number_text(r->lanes.unborn), number_plural(r->lanes.unborn));
	if (r->lanes.later)
		printf("  untraced      %s coroutine%s that began before the program had joined "
		       "the collector\n",
		       number_text(r->lanes.later), number_plural(r->lanes.later));
	if (r->short_of_memory)
		puts("  incomplete    there was no memory for all of it");
}

static void recover_put_trace(const struct recover *r)
{
	if (!r->options.output)
		return;
	fputs("  trace         ", stdout);
	text_put(stdout, r->options.output);
	printf(": %s event%s, %s\n", number_text(r->written.written),
	       number_plural(r->written.written),
	       r->options.join    ? "those of the collector's trace and the rest"
	       : r->options.all   ? "all that are there"
	       : r->journal.found ? "those that are not in the collector's trace"
				  : "those that the collector had not read");
}

/* Account for every event after a collector was killed. */
static void recover_put_account(const struct recover *r)
{
	const struct recover_account *a = &r->account;

	if (!r->journal.found)
		return;
	printf("  in the trace  %s event%s, and %s other%s: ", number_text(a->saved),
	       number_plural(a->saved), number_text(a->others_saved),
	       number_plural(a->others_saved));
	text_put(stdout, r->journal.trace);
	puts(r->journal.has_trace ? "" : " (not there any more)");
	printf("  not in it     %s event%s, and %s other%s, in this region\n",
	       number_text(a->unsaved), number_plural(a->unsaved), number_text(a->others_unsaved),
	       number_plural(a->others_unsaved));
	if (a->lost + a->others_lost)
		printf("  lost          %s event%s, and %s other%s, for want of room\n",
		       number_text(a->lost), number_plural(a->lost), number_text(a->others_lost),
		       number_plural(a->others_lost));
	if (a->gone)
		printf("  unaccounted   %s record%s, in neither place\n", number_text(a->gone),
		       number_plural(a->gone));
	if (a->missing)
		printf("  missing       %s event%s that the trace had when it was written\n",
		       number_text(a->missing), number_plural(a->missing));
	if (r->journal.failed)
		puts("  output        the trace could not be written to its end");
}

static void recover_put_head(const struct recover *r, const char *path, bool all)
{
	text_put(stdout, path);
	fputs("\n\n  made          ", stdout);
	recover_put_date(r->image.made);
	fputs("\n  state as of   ", stdout);
	recover_put_moment(r, recover_moment(r));
	puts(r->same_time && recover_goes_on(r) ? ", now" : ", the last sign of life");
	recover_put_collector(r);
	recover_put_processes(r, all);
	recover_put_clock(r);
	recover_put_account(r);
	recover_put_trouble(r);
	recover_put_trace(r);
}

/* ---- threads ------------------------------------------------------------------------- */

static size_t count_lanes(const struct recover *r)
{
	size_t i, nr = 0;

	for (i = 0; i < r->nr_threads; i++)
		nr += r->threads[i].lane != TRACE_LANE_STATIONS;
	return nr;
}

static void recover_put_lane(const struct recover_thread *t)
{
	printf("  %8" PRIu64 "  %8u  %5u  %14s  %14s  %12s  %8s  %8s%s\n", t->tid, t->pid, t->lane,
	       number_text(t->written), number_text(t->read), number_text(t->written - t->read),
	       number_text(t->kept), number_text(t->dropped + t->dropped_others),
	       t->broken   ? "  cannot be read"
	       : t->closed ? "  ended"
			   : "");
}

static void recover_put_lanes(const struct recover *r, bool all)
{
	size_t i, shown = 0, nr = count_lanes(r);

	if (!nr)
		return;
	printf("\nlanes (%s thread%s), in records\n", number_text(nr), number_plural(nr));
	printf("  %8s  %8s  %5s  %14s  %14s  %12s  %8s  %8s\n", "TID", "PID", "LANE", "WRITTEN",
	       "READ", "NOT READ YET", "KEPT", "DROPPED");
	for (i = 0; i < r->nr_threads && (all || shown < RECOVER_THREADS); i++) {
		if (r->threads[i].lane == TRACE_LANE_STATIONS)
			continue;
		recover_put_lane(&r->threads[i]);
		shown++;
	}
	if (shown < nr)
		printf("  ... %s more: --all\n", number_text(nr - shown));
}

/* ---- coroutines ------------------------------------------------------------------------ */

/* "net/server.c:120 handle", or the address, or nothing. */
static void recover_put_where(const struct recover *r, uint32_t id, uint64_t addr)
{
	const struct trace_site *site = recover_site(r, id);

	char text[2 * SITE_NAME_SIZE + 16];

	if (site) {
		site_text(text, sizeof(text), site->file, site->line, site->function);
		fputs("  ", stdout);
		text_put(stdout, text);
	} else if (addr) {
		printf("  0x%" PRIx64, addr);
	}
}

static void recover_put_why(unsigned reason, bool has_resource, uint64_t resource)
{
	bool is_file = reason >= TRACE_REASON_IO_READ && reason <= TRACE_REASON_CONNECT;
	const char *name = trace_reason_name(reason);

	if (reason && name)
		printf("  %s", name);
	if (!has_resource)
		return;
	if (is_file)
		printf(" fd %" PRIu64, resource);
	else if (resource > UINT16_MAX)
		printf(" 0x%" PRIx64, resource);
	else
		printf(" %" PRIu64, resource);
}

static const char *state_text(const struct recover_coroutine *c)
{
	const char *name = trace_state_name(c->co.state);

	if (c->woken_ts)
		return "woken";
	return name ? name : "unknown";
}

static void recover_put_coroutine(const struct recover *r, const struct recover_coroutine *c,
				  uint64_t moment)
{
	char text[TEXT_SIZE];
	uint64_t since = c->woken_ts ? c->woken_ts : c->co.since_ts;

	printf("  %8" PRIu64 "  %-9s  %12s", c->co.probe_id, state_text(c),
	       since && since <= moment ? text_duration(text, moment - since) : "?");
	if (c->name[0]) {
		fputs("  \"", stdout);
		text_put(stdout, c->name);
		fputs(c->co.name_truncated ? "...\"" : "\"", stdout);
	}
	recover_put_where(r, c->co.site, c->co.addr);
	recover_put_why(c->co.reason, c->co.has_resource, c->co.resource);
	if (c->co.lost)
		printf("  (%s of %s events dropped)", number_text(c->co.lost),
		       number_text(c->co.written));
	putchar('\n');
}

static size_t count_woken(const struct recover *r)
{
	size_t i, nr = 0;

	for (i = 0; i < r->nr_coroutines; i++)
		nr += r->coroutines[i].woken_ts != 0;
	return nr;
}

static void recover_put_states(const struct recover *r)
{
	size_t woken = count_woken(r);
	const char *comma = ":";
	unsigned s;

	printf("\ncoroutines (%s)", number_text(r->nr_coroutines));
	for (s = NR_TRACE_STATES; s-- > 0;) {
		if (!r->by_state[s])
			continue;
		printf("%s %s %s", comma, number_text(r->by_state[s]),
		       trace_state_name(s) ? trace_state_name(s) : "unknown");
		if (s == TRACE_STATE_SUSPENDED && woken)
			printf(" (%s of them woken, and not resumed)", number_text(woken));
		comma = ",";
	}
	putchar('\n');
}

static void recover_put_coroutines(const struct recover *r, bool all)
{
	uint64_t moment = recover_moment(r);
	size_t i;

	recover_put_states(r);
	if (!r->nr_coroutines)
		return;
	printf("  %8s  %-9s  %12s  %s\n", "ID", "STATE", "FOR", "NAME, WHERE, WHY");
	for (i = 0; i < r->nr_coroutines && (all || i < RECOVER_COROUTINES); i++)
		recover_put_coroutine(r, &r->coroutines[i], moment);
	if (i < r->nr_coroutines)
		printf("  ... %s more: --all\n", number_text(r->nr_coroutines - i));
}

/* ---- events ------------------------------------------------------------------------------ */

static void recover_put_event(const struct recover *r, const struct recover_event *e,
			      bool mark_read)
{
	const struct trace_event *ev = &e->ev;

	fputs("  ", stdout);
	recover_put_time(r, ev->ts);
	printf("  %8" PRIu64 "  %s", ev->probe_id, trace_kind_name(ev->kind));
	if (e->name[0]) {
		fputs("  \"", stdout);
		text_put(stdout, e->name);
		putchar('"');
	}
	if (ev->kind == TRACE_WAKE && ev->peer)
		printf("  by %" PRIu64, ev->peer);
	recover_put_where(r, ev->site, ev->addr);
	recover_put_why(ev->reason, ev->flags & TRACE_HAS_RESOURCE, ev->resource);
	puts(mark_read && !e->unread ? "  (read)" : "");
}

static void put_last(const struct recover *r, const struct recover_thread *t, bool all)
{
	uint32_t i = all || t->nr_last < RECOVER_EVENTS ? 0 : t->nr_last - RECOVER_EVENTS;

	printf("\nlast of thread %" PRIu64, t->tid);
	if (t->pid)
		printf(" (pid %u)", t->pid);
	printf(": %s of %s event%s that %s here\n", number_text(t->nr_last - i),
	       number_text(t->events), number_plural(t->events), t->events == 1 ? "is" : "are");
	for (; i < t->nr_last; i++)
		recover_put_event(r, &t->last[i], t->lane != TRACE_LANE_STATIONS);
}

static void recover_put_events(const struct recover *r, bool all)
{
	size_t i, shown = 0, nr = 0;

	for (i = 0; i < r->nr_threads; i++) {
		if (!r->threads[i].nr_last)
			continue;
		nr++;
		if (!all && shown == RECOVER_THREADS)
			continue;
		put_last(r, &r->threads[i], all);
		shown++;
	}
	if (shown < nr)
		printf("\n... %s more thread%s: --all\n", number_text(nr - shown),
		       number_plural(nr - shown));
}

void recover_print_text(const struct recover *r, const char *path, bool all)
{
	recover_put_head(r, path, all);
	recover_put_lanes(r, all);
	recover_put_coroutines(r, all);
	recover_put_events(r, all);
}
