/* SPDX-License-Identifier: MIT */
/* cpu_sampler.c - processor time of threads that run one coroutine for long, and stops. */
#include "collect/cpu_sampler.h"

#include <corotracer/atomic.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "base/monotonic.h"

#define PASS_NS   (2 * NS_PER_MS)  /* between two passes over the lanes */
#define LONG_NS   (4 * NS_PER_MS)  /* a slice of this length is measured */
#define LEAST_NS  (5 * NS_PER_MS)  /* between two readings of a thread, */
#define MOST_NS   (1 * NS_PER_SEC) /* and one sixteenth of the slice in between */
#define TAIL_NS   (50 * NS_PER_MS) /* after a slice: one more reading within this time */
#define LINE_NS   (1 * NS_PER_SEC) /* an interval is written after this time, */
#define LINE_PART 8                /* and this part of the slice: few lines for a long one */
#define STOPS_NS  (50 * NS_PER_MS) /* between two looks at the state of the processes */
#define PASS_MOST 32u              /* threads read in one pass */
#define LOOK_BACK 256u             /* records, to find the resume of a slice */

/* ---- intervals -------------------------------------------------------------------- */

static void interval_write(struct cpu_sampler *s, struct sampled_lane *l)
{
	if (l->open.to_ts > l->open.from_ts)
		trace_put_cpu(s->writer, &l->open);
	l->open.to_ts = 0;
}

static bool texts_differ(const char *a, const char *b)
{
	return a != b && (!a || !b || strcmp(a, b) != 0);
}

static bool is_line_due(const struct trace_cpu *open, const struct drain_lane *c, uint64_t now_ns)
{
	uint64_t length = now_ns - open->from_ts;

	return length > LINE_NS && length > (now_ns - c->last) / LINE_PART;
}

/* Add the time since the last reading.  @is_over: the slice ended in between. */
static void interval_add(struct cpu_sampler *s, struct sampled_lane *l, const struct drain_lane *c,
			 const struct thread_stat *now, uint64_t now_ns, bool is_over)
{
	/*
	 * A thread that runs now may have slept before: the last reading says in what.  What it
	 * waits for after the slice says nothing about the slice.
	 */
	const struct thread_stat *seen = is_over || !strcmp(now->state, TRACE_CPU_RUNNING)
						 ? &l->last
						 : now;

	if (l->open.to_ts &&
	    (texts_differ(l->open.state, seen->state) || texts_differ(l->open.call, seen->call) ||
	     l->open.tid != c->tid || is_line_due(&l->open, c, now_ns)))
		interval_write(s, l);
	if (!l->open.to_ts) {
		l->open = (struct trace_cpu){
			.pid = c->pid,
			.tid = c->tid,
			.from_ts = l->at_ns,
			.state = seen->state,
			.call = seen->call,
		};
	}
	l->open.to_ts = now_ns;
	l->open.cpu_ns += now->cpu_ns - l->last.cpu_ns;
	l->open.queued_ns += now->queued_ns - l->last.queued_ns;
}

static void lane_measure(struct cpu_sampler *s, struct sampled_lane *l, const struct drain_lane *c,
			 bool is_over)
{
	struct thread_stat now;
	uint64_t now_ns, slice_ns;

	if (!thread_stat_read(c->pid, c->tid, &now)) {
		l->runs = l->measured = false;
		return;
	}
	now_ns = clock_now_ns();
	if (l->measured && now.cpu_ns >= l->last.cpu_ns && now.queued_ns >= l->last.queued_ns)
		interval_add(s, l, c, &now, now_ns, is_over);
	l->measured = true;
	l->last = now;
	l->at_ns = now_ns;
	slice_ns = now_ns > c->last ? now_ns - c->last : 0;
	l->due_ns = now_ns + (slice_ns / 16 < LEAST_NS  ? LEAST_NS
			      : slice_ns / 16 > MOST_NS ? MOST_NS
							: slice_ns / 16);
}

/* ---- lanes ------------------------------------------------------------------------ */

/* 1: the record begins a slice; -1: it ends one; 0: neither. */
static int record_step(const struct ctp_record *rec)
{
	switch (ctp_load_relaxed(&rec->kind) & ~CTP_REC_HAS_MORE) {
	case CTP_REC_RESUME:
		return 1;
	case CTP_REC_SUSPEND:
		return -1;
	case CTP_REC_END: /* also of a coroutine that is destroyed while it is suspended */
		return ctp_load_relaxed(&rec->reason) & CTP_END_SUSPENDED ? 0 : -1;
	default:
		return 0;
	}
}

/*
 * True if a coroutine runs after the lane's last record: one of the last records of the chunk is a
 * resume without a suspend or an end.  Coroutines may be nested, so both are counted.
 */
static bool lane_runs(const struct drain *d, const struct drain_lane *c)
{
	const struct ctp_chunk *chunk = lanes_chunk(d->lanes, c->chunk);
	uint32_t i = c->at < CTP_CHUNK_RECORDS ? c->at : CTP_CHUNK_RECORDS;
	uint32_t end = i > LOOK_BACK ? i - LOOK_BACK : 0;
	int ended = 0;

	while (i-- > end) {
		int step = record_step(&chunk->records[i]);

		if (step > 0 && !ended)
			return true;
		ended -= step;
	}
	return false;
}

/*
 * A program in another pid namespace writes numbers that mean other processes here: only those that
 * the kernel named when they connected are read.
 */
static bool is_peer(const struct endpoint *e, uint32_t pid)
{
	uint32_t i = e->nr_peers;

	while (i-- > 0) {
		if (e->peers[i].pid == pid)
			return true;
	}
	return false;
}

/* Time that the thread waited for room in its lane, since the last pass. */
static void lane_note_waits(struct cpu_sampler *s, struct sampled_lane *l,
			    const struct drain_lane *c, uint64_t now_ns)
{
	uint64_t waited = c->blocked_ns - l->blocked_ns;
	bool is_same = l->tid == c->tid && c->blocked_ns >= l->blocked_ns;

	l->blocked_ns = c->blocked_ns;
	l->tid = c->tid;
	if (!is_same || waited < NS_PER_MS)
		return;
	trace_put_cpu(s->writer, &(struct trace_cpu){
					 .pid = c->pid,
					 .tid = c->tid,
					 .from_ts = now_ns - waited,
					 .to_ts = now_ns,
					 .state = TRACE_CPU_TRACER,
				 });
}

/* The lane has new events: the slice that was measured is over. */
static void lane_moved(struct cpu_sampler *s, struct sampled_lane *l, const struct drain_lane *c,
		       uint64_t now_ns)
{
	if (l->measured && l->tid == c->tid && now_ns - l->at_ns < TAIL_NS)
		lane_measure(s, l, c, true);
	interval_write(s, l);
	l->measured = l->judged = l->runs = false;
	l->read = c->read;
	l->due_ns = 0;
}

/* Returns whether a reading was made. */
static bool lane_sample(struct cpu_sampler *s, uint32_t i, uint64_t now_ns)
{
	const struct drain_lane *c = &s->drain->cursors[i];
	struct sampled_lane *l = &s->lanes[i];

	if (!c->open || c->broken || c->orphan) {
		interval_write(s, l);
		*l = (struct sampled_lane){ 0 };
		return false;
	}
	if (c->read != l->read)
		lane_moved(s, l, c, now_ns);
	if (c->blocked_ns != l->blocked_ns || c->tid != l->tid)
		lane_note_waits(s, l, c, now_ns);
	if (c->read != c->head || now_ns < c->last + LONG_NS || !c->read)
		return false;
	if (!l->judged) {
		l->judged = true;
		l->runs = is_peer(s->endpoint, c->pid) && lane_runs(s->drain, c);
	}
	if (!l->runs)
		return false;
	s->is_running = true;
	if (now_ns < l->due_ns)
		return false;
	lane_measure(s, l, c, false);
	return true;
}

static bool lanes_make_room(struct cpu_sampler *s)
{
	uint32_t room = s->drain->nr_cursors;
	struct sampled_lane *lanes;

	if (room <= s->room)
		return true;
	lanes = realloc(s->lanes, room * sizeof(*lanes));
	if (!lanes)
		return false;
	memset(lanes + s->room, 0, (room - s->room) * sizeof(*lanes));
	s->lanes = lanes;
	s->room = room;
	return true;
}

static void lanes_look(struct cpu_sampler *s, uint64_t now_ns)
{
	uint32_t k, left = PASS_MOST;

	s->is_running = false;
	for (k = 0; k < s->room; k++) {
		uint32_t i = (s->turn + k) % s->room;

		if (lane_sample(s, i, now_ns) && !--left) {
			s->turn = i + 1;
			return;
		}
	}
}

/* ---- stops ------------------------------------------------------------------------ */

/* Time of the last event of process @pid, if that is after @ns. */
static uint64_t last_event_of(const struct cpu_sampler *s, uint32_t pid, uint64_t ns)
{
	uint32_t i;

	for (i = 0; i < s->drain->nr_cursors; i++) {
		const struct drain_lane *c = &s->drain->cursors[i];

		if (c->open && c->pid == pid && c->last > ns)
			ns = c->last;
	}
	return ns;
}

static void stop_look(struct cpu_sampler *s, uint32_t pid, struct sampled_stop *stop)
{
	bool is_stopped = thread_stat_is_stopped(pid);
	uint64_t now_ns = clock_now_ns();

	if (is_stopped && !stop->from_ns)
		stop->from_ns = last_event_of(s, pid, stop->seen_ns ? stop->seen_ns : now_ns);
	if (is_stopped)
		return;
	if (stop->from_ns && now_ns > stop->from_ns)
		trace_put_cpu(s->writer, &(struct trace_cpu){
						 .pid = pid,
						 .from_ts = stop->from_ns,
						 .to_ts = now_ns,
						 .state = TRACE_CPU_STOPPED,
					 });
	stop->from_ns = 0;
	stop->seen_ns = now_ns;
}

static void stops_look(struct cpu_sampler *s)
{
	struct sampled_stop *stops;
	uint32_t i, nr = s->endpoint->nr_peers;

	if (nr > s->nr_stops) {
		stops = realloc(s->stops, nr * sizeof(*stops));
		if (!stops) {
			memory_shortage_note();
			return;
		}
		memset(stops + s->nr_stops, 0, (nr - s->nr_stops) * sizeof(*stops));
		s->stops = stops;
		s->nr_stops = nr;
	}
	for (i = 0; i < s->nr_stops; i++) {
		if (!s->endpoint->peers[i].hung_up_ns || s->stops[i].from_ns)
			stop_look(s, s->endpoint->peers[i].pid, &s->stops[i]);
	}
}

void cpu_sampler_child_changed(struct cpu_sampler *s)
{
	s->stops_ns = 0;
}

/* ---- all of it -------------------------------------------------------------------- */

void cpu_sampler_open(struct cpu_sampler *s, const struct drain *drain,
		      const struct endpoint *endpoint, struct trace_writer *writer)
{
	*s = (struct cpu_sampler){ .drain = drain, .endpoint = endpoint, .writer = writer };
}

void cpu_sampler_look(struct cpu_sampler *s, uint64_t now_ns)
{
	if (now_ns >= s->stops_ns) {
		stops_look(s);
		s->stops_ns = now_ns + STOPS_NS;
	}
	if (now_ns < s->next_ns || !lanes_make_room(s))
		return;
	lanes_look(s, now_ns);
	s->next_ns = now_ns + PASS_NS;
}

uint64_t cpu_sampler_wait(const struct cpu_sampler *s, uint64_t now_ns, uint64_t ns)
{
	uint64_t due = now_ns + ns;
	uint32_t i;

	for (i = 0; i < s->nr_stops; i++) {
		if (s->stops[i].from_ns && s->stops_ns < due)
			due = s->stops_ns;
	}
	if (!s->is_running && due == now_ns + ns)
		return ns;
	for (i = 0; i < s->room; i++) {
		if (s->lanes[i].runs && s->lanes[i].due_ns < due)
			due = s->lanes[i].due_ns;
	}
	return due > now_ns + NS_PER_MS ? due - now_ns : NS_PER_MS;
}

void cpu_sampler_finish(struct cpu_sampler *s, uint64_t now_ns)
{
	uint32_t i;

	for (i = 0; i < s->room; i++)
		interval_write(s, &s->lanes[i]);
	for (i = 0; i < s->nr_stops; i++) {
		if (s->stops[i].from_ns && now_ns > s->stops[i].from_ns)
			trace_put_cpu(s->writer, &(struct trace_cpu){
							 .pid = s->endpoint->peers[i].pid,
							 .from_ts = s->stops[i].from_ns,
							 .to_ts = now_ns,
							 .state = TRACE_CPU_STOPPED,
						 });
	}
}

void cpu_sampler_close(struct cpu_sampler *s)
{
	free(s->lanes);
	free(s->stops);
	*s = (struct cpu_sampler){ 0 };
}
