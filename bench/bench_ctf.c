/* SPDX-License-Identifier: MIT */
/*
 * bench_ctf.c - from events in memory to CTF packets in files on tmpfs, against memcpy() of as
 * many 32-byte records, the size of an event in a lane.  One memcpy() writes to memory of the
 * full size, because a trace also takes new memory; another, for reference, writes repeatedly
 * to a few pages that stay in the cache.
 *
 *	bench-ctf [--seconds=S] [--lanes=N] [--told=1]
 *
 * A round writes a million events in bursts of one lane each, as a collector drains lanes,
 * to a new directory; creating and removing it is not timed.  With --told every suspension
 * has a site, a reason and a resource.
 */
#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/trace_writer.h"

#define BURST       4096u
#define NR_BURSTS   256u
#define NR_EVENTS   ((double)BURST * NR_BURSTS)
#define RECORD_SIZE 32u
/* The source of memcpy(), as large as a lane: like the events, it stays in the cache. */
#define RING_SIZE  ((size_t)BURST * RECORD_SIZE * 8)
#define TOTAL_SIZE ((size_t)BURST * RECORD_SIZE * NR_BURSTS)

struct rig {
	char dir[64];
	struct trace_event *events; /* one burst */
	unsigned nr_lanes;
	uint64_t now_ns;
	char *from, *to;
	struct bench_samples writer_ns, memcpy_ns, cached_ns; /* per event */
};

static void fill(struct rig *r, bool told)
{
	unsigned i;

	for (i = 0; i < BURST; i++) {
		struct trace_event *ev = &r->events[i];

		trace_event_init(ev);
		ev->probe_id = 1 + i / 2 % 1000;
		ev->is_active = i % 2;
		ev->kind = i % 2;
		ev->addr = i % 2 ? 0 : 0x400000 + i % 64 * 16;
		ev->seq = 2 + i / 1000 * 2;
		if (told && !ev->is_active) {
			ev->site = 1 + i % 64;
			ev->reason = TRACE_REASON_IO_READ;
			ev->flags = TRACE_HAS_RESOURCE;
			ev->resource = i % 100;
		}
	}
}

static struct trace_writer *open_trace(struct rig *r, int *dir)
{
	struct trace_output output = { .path = r->dir, .format = TRACE_FORMAT_CTF };
	struct trace_writer *w;
	struct err err = { 0 };

	strcpy(r->dir, "/dev/shm/bench-ctf.XXXXXX");
	if (!mkdtemp(r->dir))
		bench_die("cannot make a directory in /dev/shm");
	*dir = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	output.fd = *dir;
	w = trace_writer_open(&output, &err);
	if (!w)
		bench_die(err.text);
	return w;
}

static void remove_trace(const struct rig *r, int dir)
{
	DIR *d = fdopendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		unlinkat(dir, e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(r->dir);
}

/* Each round changes only the time of an event. */
static void put_burst(struct rig *r, struct trace_writer *w, unsigned lane)
{
	unsigned i;

	for (i = 0; i < BURST; i++) {
		struct trace_event *ev = &r->events[i];

		ev->ts = r->now_ns += 10;
		ev->tid = 1000 + lane;
		trace_put_event(w, lane, ev);
	}
}

static void measure_writer(struct rig *r)
{
	struct trace_counts counts;
	struct err err = { 0 };
	int dir;
	struct trace_writer *w = open_trace(r, &dir);
	uint64_t start;
	unsigned i;

	for (i = 0; i < r->nr_lanes; i++)
		trace_put_lane(w, &(struct trace_lane){ i, 1, 1000 + i });
	start = bench_now_ns();
	for (i = 0; i < NR_BURSTS; i++)
		put_burst(r, w, i % r->nr_lanes);
	trace_flush(w);
	bench_sample(&r->writer_ns, (double)(bench_now_ns() - start) / NR_EVENTS);
	trace_writer_close(w, &counts, &err, &err);
	remove_trace(r, dir);
	if (err.code || counts.written != (uint64_t)NR_EVENTS || counts.clamped)
		bench_die("not every event got into the trace");
}

/* Copy every burst to its own offset in @room bytes, wrapping around. */
static void measure_memcpy(struct rig *r, struct bench_samples *samples, size_t room)
{
	size_t burst = BURST * RECORD_SIZE, at;
	uint64_t start = bench_now_ns();

	for (at = 0; at < TOTAL_SIZE; at += burst) {
		char *to = r->to + at % room;

		memcpy(to, r->from + at % RING_SIZE, burst);
		BENCH_LAUNDER(to);
	}
	bench_sample(samples, (double)(bench_now_ns() - start) / NR_EVENTS);
}

int main(int argc, char **argv)
{
	double seconds = bench_option(argc, argv, "seconds", 3);
	bool told = bench_option(argc, argv, "told", 0) != 0;
	const char *key = told ? "ctf.told" : "ctf.plain";
	struct rig r = { .nr_lanes = (unsigned)bench_option(argc, argv, "lanes", 4) };
	uint64_t end;

	bench_pin();
	r.now_ns = bench_now_ns();
	r.events = calloc(BURST, sizeof(*r.events));
	r.from = calloc(1, RING_SIZE);
	r.to = calloc(1, TOTAL_SIZE);
	if (!r.events || !r.from || !r.to || !r.nr_lanes)
		bench_die("no memory, or no lanes");
	fill(&r, told);
	end = bench_now_ns() + (uint64_t)(seconds * 1e9);
	while (bench_now_ns() < end) {
		measure_writer(&r);
		measure_memcpy(&r, &r.memcpy_ns, TOTAL_SIZE);
		measure_memcpy(&r, &r.cached_ns, RING_SIZE);
	}
	bench_emit(bench_best(&r.writer_ns), "%s.event_ns", key);
	bench_emit(1e9 / bench_best(&r.writer_ns), "%s.events_per_s", key);
	bench_emit(1e9 / bench_median(&r.writer_ns), "%s.events_per_s_median", key);
	bench_emit(1e9 / bench_best(&r.memcpy_ns), "%s.memcpy_per_s", key);
	bench_emit(1e9 / bench_median(&r.memcpy_ns), "%s.memcpy_per_s_median", key);
	bench_emit(1e9 / bench_best(&r.cached_ns), "%s.memcpy_cached_per_s", key);
	free(r.events);
	free(r.from);
	free(r.to);
	return 0;
}
