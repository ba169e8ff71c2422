/* SPDX-License-Identifier: MIT */
/*
 * bench_jsonl.c - the collector's path from full stations to JSON lines, against fprintf() with the
 * same six fields of the same events.
 *
 *	bench-jsonl [--seconds=S]
 *
 * Everything runs in this process: the SDK fills every slot of a thousand stations (not timed),
 * the harvest reads the events and the writer writes them (timed).  Both sides write to
 * /dev/null, and then repeatedly to a file on tmpfs whose pages are already allocated.
 */
#include "bench.h"

#include <corotracer/corotracer.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/station_scan.h"
#include "trace/jsonl_writer.h"

#define NR_COROUTINES 1000u
#define NR_EVENTS     (NR_COROUTINES * CTP_SLOTS)

struct rig {
	struct corotracer_coro coroutines[NR_COROUTINES];
	struct harvest harvest;
	struct jsonl_writer *writer;          /* of the current output */
	struct trace_event events[NR_EVENTS]; /* of the last scan, for fprintf() */
	size_t nr_events;
};

/* One kind of output, with both ways to write to it. */
struct output {
	const char *key;
	struct jsonl_writer writer;
	FILE *file;
	struct bench_samples writer_ns, fprintf_ns; /* per event */
};

/* Fill every slot of every station, in round-robin order as a scheduler would. */
static void refill(struct rig *r)
{
	unsigned i, k;

	for (k = 0; k < CTP_SLOTS; k++) {
		for (i = 0; i < NR_COROUTINES; i++) {
			if (k % 2)
				corotracer_suspend(&r->coroutines[i], refill);
			else
				corotracer_resume(&r->coroutines[i]);
		}
	}
}

static void sink(void *ctx, const struct trace_event *ev)
{
	struct rig *r = ctx;

	jsonl_put(r->writer, ev);
}

static void keep_event(void *ctx, const struct trace_event *ev)
{
	struct rig *r = ctx;

	if (r->nr_events < NR_EVENTS)
		r->events[r->nr_events++] = *ev;
}

static void measure_writer(struct rig *r, struct output *o)
{
	struct harvest_scan found;
	uint64_t start;

	refill(r);
	lseek(o->writer.fd, 0, SEEK_SET);
	r->writer = &o->writer;
	start = bench_now_ns();
	harvest_scan(&r->harvest, &found);
	jsonl_flush(&o->writer);
	bench_sample(&o->writer_ns, (double)(bench_now_ns() - start) / NR_EVENTS);
	if (found.events != NR_EVENTS || o->writer.unwritten)
		bench_die("the collector did not get every event to the file");
}

static void measure_fprintf(const struct rig *r, struct output *o)
{
	uint64_t start;
	size_t i;

	rewind(o->file);
	start = bench_now_ns();
	for (i = 0; i < NR_EVENTS; i++) {
		const struct trace_event *ev = &r->events[i];

		fprintf(o->file,
			"{\"probe_id\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"addr\":\"0x%016" PRIx64
			"\",\"seq\":%" PRIu64 ",\"is_active\":%s,\"ts\":%" PRIu64 "}\n",
			ev->probe_id, ev->tid, ev->addr, ev->seq, ev->is_active ? "true" : "false",
			ev->ts);
	}
	fflush(o->file);
	bench_sample(&o->fprintf_ns, (double)(bench_now_ns() - start) / NR_EVENTS);
}

static void output_open(struct output *o, const char *key, int fd_writer, int fd_fprintf)
{
	struct err err = { 0 };

	o->key = key;
	if (fd_writer < 0 || jsonl_writer_open(&o->writer, fd_writer, key, &err) < 0)
		bench_die("cannot open the output");
	o->file = fdopen(fd_fprintf, "w");
	if (!o->file)
		bench_die("cannot open the output");
}

static void output_tell(struct output *o)
{
	struct err err = { 0 };

	bench_emit(bench_best(&o->writer_ns), "jsonl.%s.event_ns", o->key);
	bench_emit(1e9 / bench_best(&o->writer_ns), "jsonl.%s.events_per_s", o->key);
	bench_emit(1e9 / bench_median(&o->writer_ns), "jsonl.%s.events_per_s_median", o->key);
	bench_emit(1e9 / bench_best(&o->fprintf_ns), "jsonl.%s.fprintf_per_s", o->key);
	bench_emit(1e9 / bench_median(&o->fprintf_ns), "jsonl.%s.fprintf_per_s_median", o->key);
	jsonl_close(&o->writer, &err);
	fclose(o->file);
}

/* The harvest reads the session's own mapping of the region. */
static void rig_open(struct rig *r)
{
	const struct ctp_session *s;
	struct harvest_scan found;
	struct err err = { 0 };
	unsigned i;

	if (!bench_region_alone(NR_COROUTINES) || corotracer_init() < 0)
		bench_die("cannot make a region");
	for (i = 0; i < NR_COROUTINES; i++)
		corotracer_begin(&r->coroutines[i], NULL);
	s = corotracer__process.session;
	if (harvest_open(&r->harvest, s->header, s->stations, NR_COROUTINES, keep_event, r, &err) <
	    0)
		bench_die(err.text);
	refill(r);
	harvest_scan(&r->harvest, &found);
	if (r->nr_events != NR_EVENTS)
		bench_die("the collector did not get every event");
	r->harvest.sink = sink;
}

int main(int argc, char **argv)
{
	double seconds = bench_option(argc, argv, "seconds", 2);
	struct rig *r = calloc(1, sizeof(*r));
	struct output outputs[2] = { 0 };
	uint64_t end;
	size_t i;

	bench_pin();
	if (!r)
		bench_die("no memory");
	rig_open(r);
	output_open(&outputs[0], "null", open("/dev/null", O_WRONLY | O_CLOEXEC),
		    open("/dev/null", O_WRONLY | O_CLOEXEC));
	output_open(&outputs[1], "tmpfs", memfd_create("bench-writer", MFD_CLOEXEC),
		    memfd_create("bench-fprintf", MFD_CLOEXEC));

	end = bench_now_ns() + (uint64_t)(seconds * 1e9);
	while (bench_now_ns() < end) {
		for (i = 0; i < 2; i++) {
			measure_writer(r, &outputs[i]);
			measure_fprintf(r, &outputs[i]);
		}
	}
	for (i = 0; i < 2; i++)
		output_tell(&outputs[i]);
	harvest_close(&r->harvest);
	free(r);
	return 0;
}
