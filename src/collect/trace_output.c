/* SPDX-License-Identifier: MIT */
/* trace_output.c - write a run to a trace: events, and the description of the run. */
#include "collect/trace_output.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/monotonic.h"
#include "process/signals.h"

/* A reader that takes nothing for so long after a request to stop does not get the rest. */
#define READER_MS 2000

/* ---- description of the run ---------------------------------------------- */

static size_t count_words(char *const *argv)
{
	size_t nr = 0;

	while (argv && argv[nr])
		nr++;
	return nr;
}

/* @uts holds the strings. */
static struct sidecar_run describe_run(const struct record *r, uint64_t pid, struct utsname *uts)
{
	struct sidecar_run run = {
		.tool = r->config->tool,
		.command = (const char *const *)r->config->argv,
		.nr_command = count_words(r->config->argv),
		.pid = pid,
		.start_ts = r->start_ns,
		.start_realtime = r->start_realtime_ns,
		.stations = r->config->nr_stations,
	};

	if (uname(uts) == 0) {
		run.hostname = uts->nodename;
		run.arch = uts->machine;
	}
	return run;
}

void record_start(struct record *r, uint64_t pid)
{
	struct utsname uts;
	struct sidecar_run run = describe_run(r, pid, &uts);

	if (r->has_run)
		return;
	r->has_run = true;
	trace_put_run(r->writer, &run);
}

void record_processes(struct record *r, const struct endpoint *e)
{
	for (; r->nr_processes < e->nr_peers; r->nr_processes++) {
		const struct peer *peer = &e->peers[r->nr_processes];
		struct sidecar_process process = {
			.pid = peer->pid,
			.uid = peer->uid,
			.connected_ts = peer->connected_ns,
		};

		trace_put_process(r->writer, &process);
	}
	for (; r->nr_modules < e->modules.nr; r->nr_modules++)
		trace_put_module(r->writer, &e->modules.list[r->nr_modules]);
}

static void record_put_coroutines(struct record *r, const struct harvest *h)
{
	struct harvest_coroutine co;
	uint32_t i;

	for (i = 0; i < h->nr_claimed; i++) {
		struct sidecar_coroutine out;

		if (!harvest_describe(h, i, &co))
			continue;
		harvest_tell(&co, &out);
		record_coroutine(r, &out);
	}
}

static void record_put_totals(struct record *r, const struct collector_result *result)
{
	struct sidecar_totals totals = {
		.complete = true,
		.written = result->totals.written,
		.collected = result->collected,
		.lost = result->lost,
		.lost_overwritten = result->lost - result->lost_output - result->lost_full,
		.lost_full = result->lost_full,
		.lost_output = result->lost_output,
		.garbage = result->totals.garbage,
		.unfinished = result->totals.unfinished,
		.coroutines = result->totals.coroutines,
		.without_station = result->totals.without_station,
		.forgotten = result->forgotten,
		.others_written = result->others_collected + result->others_lost +
				  result->others_forgotten,
		.others_forgotten = result->others_forgotten,
		.others_collected = result->others_collected,
		.others_lost = result->others_lost,
		.waits = result->waits,
		.wait_ns = result->wait_ns,
		.exit_status = result->detached                      ? TRACE_EXIT_DETACHED
			       : result->launched && !result->signal ? result->exit_status
								     : -1,
		.signal = result->signal,
		.detached = result->detached,
		.end_ts = result->end_ns,
	};

	trace_put_totals(r->writer, &totals);
}

/* ---- open, events, close ------------------------------------------------------ */

/*
 * Makes the writer stop waiting for a slow reader of a pipe.  Signals are blocked during the
 * wait and pending until the main loop reads them.  After one that it has read, the reader has a
 * while to take the rest.
 */
static bool stop_is_wanted(unsigned waited_ms)
{
	sigset_t pending;

	if (signals_stop_was_read() && waited_ms >= READER_MS)
		return true;
	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
		sigismember(&pending, SIGHUP) == 1);
}

static int record_open_writer(struct record *r, struct err *err)
{
	struct utsname uts;
	struct trace_output output = {
		.path = r->place.path,
		.format = r->place.format,
		.fd = r->place.fd,
		.has_sidecar = r->place.is_file,
		.stop = r->place.is_file ? NULL : stop_is_wanted,
		.run = describe_run(r, 0, &uts),
	};

	if (r->place.format != TRACE_FORMAT_CTF)
		r->place.fd = -1; /* owned by the writer now */
	r->writer = trace_writer_open(&output, err);
	return r->writer ? 0 : err->code;
}

int record_open(struct record *r, const struct collector_config *config, uint64_t start_ns,
		struct err *err)
{
	r->config = config;
	r->start_ns = start_ns;
	r->start_realtime_ns = monotonic_clock_ns(CLOCK_REALTIME) - (clock_now_ns() - start_ns);
	if (config->flight_size) {
		if (flight_open(&r->flight, config->flight_size, err) == 0)
			r->writer = &r->flight.writer;
		return err->code;
	}
	if (place_open(&r->place, config->output, config->format, err) < 0)
		return err->code;
	return record_open_writer(r, err);
}

void record_close(struct record *r)
{
	struct trace_counts counts;
	struct err ignored;

	if (r->writer)
		trace_writer_close(r->writer, &counts, &ignored, &ignored);
	r->writer = NULL;
	place_close(&r->place);
}

void record_undo(struct record *r)
{
	place_undo(&r->place);
}

void record_station_event(void *ctx, const struct trace_event *event)
{
	record_event(ctx, TRACE_LANE_STATIONS, event);
}

/*
 * Compute what is in the files, once everything is written.  An event that was read and is not
 * in the file is lost, whatever the writer counted: written = collected + lost + forgotten.
 */
static void record_count(struct collector_result *result, const struct trace_counts *c)
{
	uint64_t given = result->totals.written - result->totals.lost - result->forgotten;

	result->collected = c->written;
	result->lost_output = given > c->written ? given - c->written : 0;
	result->lost = result->totals.lost + result->lost_output;
	result->others_collected = c->others_written;
	result->others_lost += c->others_unwritten;
	result->clamped = c->clamped;
}

void record_finish(struct record *r, const struct harvest *h, const struct endpoint *e,
		   struct collector_result *result)
{
	struct trace_counts counts;

	record_start(r, (uint64_t)result->pid);
	record_processes(r, e);
	record_scanned(r, UINT64_MAX);
	record_flush(r);
	record_put_coroutines(r, h);
	record_flush(r);
	trace_writer_counts(r->writer, &counts);
	record_count(result, &counts);
	record_put_totals(r, result);
	trace_writer_close(r->writer, &counts, &result->output, &result->sidecar);
	r->writer = NULL;
}
