/* SPDX-License-Identifier: MIT */
/*
 * bench_flight.c - events into a full flight recorder, which discards an old event for each new
 * one, against memcpy() of as many 32-byte records, the size of an event in a lane.
 *
 *	bench-flight [--seconds=S] [--told=1]
 *
 * A thousand coroutines on four threads, eight events at a time.  With --told every
 * suspension has a site, a reason and a resource.  Also measures the bytes per event.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "collect/flight_recorder.h"

#define NR_EVENTS   (1u << 20)
#define NR_LANES    4u
#define RECORD_SIZE 32u
#define RING_SIZE   (UINT64_C(4) << 20) /* holds fewer events than one round writes */

static void fill(struct trace_event *ev, unsigned i, bool told)
{
	trace_event_init(ev);
	ev->probe_id = 1 + i / 2 % 1000;
	ev->is_active = i % 2;
	ev->kind = i % 2;
	ev->tid = 1000 + i / 8 % NR_LANES;
	ev->addr = i % 2 ? 0 : 0x400000 + i % 64 * 16;
	ev->seq = 2 + i / 8000 * 2;
	if (told && !ev->is_active) {
		ev->site = 1 + i % 64;
		ev->reason = TRACE_REASON_IO_READ;
		ev->flags = TRACE_HAS_RESOURCE;
		ev->resource = i % 100;
	}
}

/* Each round changes only the time of an event. */
static double put_all(struct flight *f, struct trace_event *events, uint64_t *now_ns)
{
	uint64_t start = bench_now_ns();
	unsigned i;

	for (i = 0; i < NR_EVENTS; i++) {
		struct trace_event *ev = &events[i % 8000];

		ev->ts = *now_ns += 100;
		trace_put_event(&f->writer, i / 8 % NR_LANES, ev);
	}
	return (double)(bench_now_ns() - start) / NR_EVENTS;
}

static double copy_all(const char *from, char *to)
{
	uint64_t start = bench_now_ns();
	unsigned i;

	for (i = 0; i < NR_EVENTS; i++) {
		char *at = to + (size_t)i * RECORD_SIZE;

		memcpy(at, from + (size_t)(i % 8000) * RECORD_SIZE, RECORD_SIZE);
		BENCH_LAUNDER(at);
	}
	return (double)(bench_now_ns() - start) / NR_EVENTS;
}

int main(int argc, char **argv)
{
	double seconds = bench_option(argc, argv, "seconds", 3);
	bool told = bench_option(argc, argv, "told", 0) != 0;
	const char *key = told ? "flight.told" : "flight.plain";
	struct bench_samples recorder_ns = { 0 }, memcpy_ns = { 0 };
	struct trace_event *events = calloc(8000, sizeof(*events));
	char *from = calloc(8000, RECORD_SIZE), *to = calloc(NR_EVENTS, RECORD_SIZE);
	uint64_t now_ns = bench_now_ns(), end;
	struct err err = { 0 };
	struct flight f;
	unsigned i;

	bench_pin();
	if (!events || !from || !to || flight_open(&f, RING_SIZE, &err) < 0)
		bench_die("no memory");
	for (i = 0; i < 8000; i++)
		fill(&events[i], i, told);
	for (i = 0; i < NR_LANES; i++)
		trace_put_lane(&f.writer, &(struct trace_lane){ i, 1, 1000 + i });
	put_all(&f, events, &now_ns);
	copy_all(from, to);
	end = bench_now_ns() + (uint64_t)(seconds * 1e9);
	while (bench_now_ns() < end) {
		bench_sample(&recorder_ns, put_all(&f, events, &now_ns));
		bench_sample(&memcpy_ns, copy_all(from, to));
	}
	if (!f.totals.forgotten)
		bench_die("the recorder was never full");
	bench_emit(bench_best(&recorder_ns), "%s.event_ns", key);
	bench_emit(1e9 / bench_best(&recorder_ns), "%s.events_per_s", key);
	bench_emit(1e9 / bench_best(&memcpy_ns), "%s.memcpy_per_s", key);
	bench_emit((double)flight_used(&f) / (double)f.totals.transitions, "%s.bytes_per_event",
		   key);
	flight_close(&f);
	free(events);
	free(from);
	free(to);
	return 0;
}
