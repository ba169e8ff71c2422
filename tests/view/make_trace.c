/* SPDX-License-Identifier: MIT */
/*
 * make_trace.c - a trace of any size, like that of a busy server: for tests of scale.
 *
 *	make_trace PATH EVENTS COROUTINES THREADS
 *
 * A quarter of the coroutines exist at a time; each runs for some microseconds, wakes the
 * one that has waited longest, and waits.  After its share of events it is destroyed, and
 * another is created.  One in a thousand is never woken again; some block their thread.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/trace_writer.h"
#include "unit/trace_items.h"

#define THREADS_MAX 256
#define SITES       40
#define START       UINT64_C(5000000000000)

struct thread {
	uint64_t next_ts;
	uint64_t coro;  /* running; 0: idle */
	uint64_t woken; /* to run next; 0: the longest waiter */
};

struct world {
	struct trace_writer *w;
	unsigned long events, transitions, left, coros, born, share;
	unsigned nr_threads;
	uint64_t *ring; /* waiting coroutines, longest first */
	size_t head, tail, size;
	uint32_t *runs; /* by coroutine */
	uint64_t *seqs;
	struct thread threads[THREADS_MAX];
};

static void put(struct world *world, unsigned t, struct trace_event *ev, uint64_t ts)
{
	ev->ts = ts;
	ev->tid = 1000 + t;
	trace_put_event(world->w, t, ev);
	world->events++;
	world->transitions += trace_is_transition(ev);
}

static void push(struct world *world, uint64_t coro)
{
	world->ring[world->tail++ % world->size] = coro;
}

static uint64_t pop(struct world *world)
{
	return world->head == world->tail ? 0 : world->ring[world->head++ % world->size];
}

static uint64_t give_birth(struct world *world, unsigned t, uint64_t ts, uint64_t parent)
{
	struct trace_event ev;
	char name[32];

	if (world->born == world->coros)
		return 0;
	trace_event_init(&ev);
	ev.kind = TRACE_BIRTH;
	ev.probe_id = ++world->born;
	ev.peer = parent;
	ev.pid = 77;
	ev.site = 1 + (uint32_t)(ev.probe_id % 3);
	snprintf(name, sizeof(name), ev.probe_id % 2 ? "connection %lu" : "worker", world->born);
	ev.name = name;
	ev.name_size = (uint32_t)strlen(name);
	put(world, t, &ev, ts);
	return ev.probe_id;
}

static void wake(struct world *world, unsigned t, uint64_t coro, uint64_t waker, uint64_t ts)
{
	struct trace_event ev;

	trace_event_init(&ev);
	ev.kind = TRACE_WAKE;
	ev.probe_id = coro;
	ev.peer = waker;
	put(world, t, &ev, ts);
}

static void transition(struct world *world, unsigned t, uint64_t coro, bool active, uint64_t ts)
{
	struct trace_event ev;

	trace_event_init(&ev);
	ev.kind = active ? TRACE_RESUME : TRACE_SUSPEND;
	ev.is_active = active;
	ev.probe_id = coro;
	ev.seq = 2 * (++world->seqs[coro] / 8 + 1);
	if (!active) {
		ev.site = 4 + (uint32_t)(next_random() % (SITES - 4));
		ev.reason = (uint8_t)(1 + ev.site % (NR_TRACE_REASONS - 1));
		ev.flags = TRACE_HAS_RESOURCE;
		ev.resource = coro % 1000;
	}
	put(world, t, &ev, ts);
}

static void end(struct world *world, unsigned t, uint64_t coro, uint64_t ts)
{
	struct trace_event ev;

	trace_event_init(&ev);
	ev.kind = TRACE_END;
	ev.flags = TRACE_DESTROYED;
	ev.probe_id = coro;
	ev.written = world->seqs[coro];
	put(world, t, &ev, ts);
}

/* The running one yields: it wakes another one, and waits or ends. */
static void stop_running(struct world *world, unsigned t)
{
	struct thread *th = &world->threads[t];
	uint64_t coro = th->coro, ts = th->next_ts;

	th->woken = pop(world);
	if (th->woken)
		wake(world, t, th->woken, coro, ts);
	if (++world->runs[coro] > world->share && world->born < world->coros) {
		push(world, give_birth(world, t, ts + 100, coro));
		end(world, t, coro, ts + 200);
	} else {
		transition(world, t, coro, false, ts + 200);
		/* Some are never woken. */
		if (next_random() % 1000 || world->runs[coro] < world->share / 2)
			push(world, coro);
	}
	th->coro = 0;
	th->next_ts = ts + 200 + 100 + next_random() % 2000;
}

static void start_running(struct world *world, unsigned t)
{
	struct thread *th = &world->threads[t];

	th->coro = th->woken ? th->woken : pop(world);
	if (!th->coro)
		th->coro = give_birth(world, t, th->next_ts, 0);
	if (!th->coro) { /* no coroutine: idle */
		th->next_ts += 100000;
		world->left = 0;
		return;
	}
	th->woken = 0;
	transition(world, t, th->coro, true, th->next_ts + 1);
	th->next_ts += 1000 + next_random() % 20000;
	if (next_random() % 500000 == 0)
		th->next_ts += 60000000; /* it blocks */
}

static void go_on(struct world *world)
{
	unsigned t, first = 0;

	for (t = 1; t < world->nr_threads; t++) {
		if (world->threads[t].next_ts < world->threads[first].next_ts)
			first = t;
	}
	if (world->threads[first].coro)
		stop_running(world, first);
	else
		start_running(world, first);
}

static void put_facts(struct world *world)
{
	uint32_t i;

	for (i = 1; i < SITES; i++)
		trace_put_site(world->w, &(struct trace_site){ i, 10 * i, 77, "src/server.c",
							       i < 4 ? "spawn" : "serve" });
	for (i = 0; i < world->nr_threads; i++)
		trace_put_lane(world->w, &(struct trace_lane){ i, 77, 1000 + i });
}

static void run(struct world *world)
{
	uint64_t end_ts = 0;
	unsigned t;
	unsigned long i;

	put_facts(world);
	for (t = 0; t < world->nr_threads; t++)
		world->threads[t].next_ts = START + 100000 + t * 10;
	for (i = 0; i < world->coros / 4; i++)
		push(world, give_birth(world, 0, START + i, 0));
	while (world->events < world->left)
		go_on(world);
	for (t = 0; t < world->nr_threads; t++)
		end_ts = world->threads[t].next_ts > end_ts ? world->threads[t].next_ts : end_ts;
	trace_put_totals(world->w, &(struct sidecar_totals){
					   .complete = true,
					   .written = world->transitions,
					   .collected = world->transitions,
					   .others_written = world->events - world->transitions,
					   .others_collected = world->events - world->transitions,
					   .coroutines = world->born,
					   .end_ts = end_ts + 2000000000,
				   });
}

static int open_output(const char *path, struct trace_output *output)
{
	output->path = path;
	output->format = trace_format_of(path);
	output->has_sidecar = true;
	if (output->format != TRACE_FORMAT_CTF)
		return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	mkdir(path, 0777);
	return open(path, O_RDONLY | O_DIRECTORY);
}

int main(int argc, char **argv)
{
	struct trace_output output = { .run = { .tool = "make_trace", .arch = "any" } };
	struct world *world = calloc(1, sizeof(*world));
	struct trace_counts counts;
	struct err err = { 0 }, facts = { 0 };

	if (argc != 5 || !world) {
		fputs("usage: make_trace PATH EVENTS COROUTINES THREADS\n", stderr);
		return 2;
	}
	world->left = strtoul(argv[2], NULL, 10);
	world->coros = strtoul(argv[3], NULL, 10);
	world->nr_threads = (unsigned)strtoul(argv[4], NULL, 10) % THREADS_MAX;
	world->share = world->left / 3 / (world->coros + 1) + 1;
	world->size = world->coros + 1;
	world->ring = calloc(world->size, sizeof(*world->ring));
	world->runs = calloc(world->coros + 1, sizeof(*world->runs));
	world->seqs = calloc(world->coros + 1, sizeof(*world->seqs));
	output.fd = open_output(argv[1], &output);
	world->w = output.fd < 0 ? NULL : trace_writer_open(&output, &err);
	if (!world->w || !world->ring || !world->runs || !world->seqs) {
		fprintf(stderr, "make_trace: %s\n", err.code ? err.text : "cannot");
		return 1;
	}
	trace_put_run(world->w, &output.run);
	run(world);
	trace_writer_close(world->w, &counts, &err, &facts);
	if (err.code)
		fprintf(stderr, "make_trace: %s\n", err.text);
	printf("%lu events, %lu coroutines\n", world->events, world->born);
	free(world->ring);
	free(world->runs);
	free(world->seqs);
	free(world);
	return err.code ? 1 : 0;
}
