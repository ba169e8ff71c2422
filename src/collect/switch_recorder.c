/* SPDX-License-Identifier: MIT */
/* switch_recorder.c - write to the trace when threads had no processor. */
#include "collect/switch_recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "collect/switch_order.h"

/* A ring has room for the switches of this time at 500,000 a second, and some more. */
#define READ_NS (20 * NS_PER_MS)

/* A record appears in its ring within this time. */
#define LATE_NS   (2 * NS_PER_MS)

#define BATCH_MAX (1u << 20)

/* A thread may be woken while it still leaves its processor, before its switch is recorded. */
#define EARLY_NS 2000

int switch_recorder_open_child(struct switch_recorder *s, struct err *err)
{
	*s = (struct switch_recorder){ 0 };
	if (switch_records_open_child(&s->records, err) < 0)
		return err->code;
	s->is_open = true;
	coro_cpu_open(&s->cpu);
	s->start_ns = s->read_ns = clock_now_ns();
	coro_cpu_forget(&s->cpu, s->start_ns);
	return 0;
}

int switch_recorder_open_process(struct switch_recorder *s, pid_t pid, struct err *err)
{
	*s = (struct switch_recorder){ 0 };
	if (switch_records_open_process(&s->records, pid, err) < 0)
		return err->code;
	s->is_open = true;
	coro_cpu_open(&s->cpu);
	s->start_ns = s->read_ns = clock_now_ns();
	coro_cpu_forget(&s->cpu, s->start_ns);
	return 0;
}

void switch_recorder_begin(struct switch_recorder *s, uint32_t pid, const struct endpoint *endpoint,
			   struct trace_writer *writer)
{
	if (!s->is_open)
		return;
	s->pid = pid;
	s->endpoint = endpoint;
	s->writer = writer;
	trace_put_switch(s->writer, &(struct trace_switch){
					    .pid = pid,
					    .from_ts = s->start_ns,
					    .to_ts = s->start_ns,
					    .state = TRACE_SWITCH_RECORDED,
				    });
	if (s->records.waking.number)
		trace_put_switch(s->writer, &(struct trace_switch){
						    .pid = pid,
						    .from_ts = s->start_ns,
						    .to_ts = s->start_ns,
						    .state = TRACE_SWITCH_WAKES,
					    });
}

/* ---- from records to intervals ------------------------------------------------------- */

/* Processes that the program started and that do not connect are not in the trace. */
static bool is_traced_process(const struct switch_recorder *s, uint32_t pid)
{
	uint32_t i = s->endpoint->nr_peers;

	if (pid == s->pid)
		return true;
	while (i-- > 0) {
		if (s->endpoint->peers[i].pid == pid)
			return true;
	}
	return false;
}

static void write_part(struct switch_recorder *s, const struct switch_record *r, uint64_t from,
		       uint64_t to, const char *state)
{
	if (to <= from)
		return;
	trace_put_switch(s->writer, &(struct trace_switch){
					    .pid = r->pid,
					    .tid = r->tid,
					    .from_ts = from,
					    .to_ts = to,
					    .cpu = r->cpu,
					    .state = state,
				    });
	s->nr_written++;
	coro_cpu_wait(&s->cpu, r->tid, from, to, !strcmp(state, TRACE_SWITCH_BLOCKED));
}

/* The thread has a processor again at the time of @r. */
static void write_interval(struct switch_recorder *s, const struct switch_record *r, uint64_t out)
{
	uint64_t from = out >> 1, woken;

	if (r->ts <= from || !is_traced_process(s, r->pid))
		return;
	if (out & 1) {
		write_part(s, r, from, r->ts, TRACE_SWITCH_PREEMPTED);
		return;
	}
	if (!u64map_get(&s->wakes, r->tid, &woken) || !woken || woken > r->ts)
		woken = r->ts;
	woken = woken > from ? woken : from;
	write_part(s, r, from, woken, TRACE_SWITCH_BLOCKED);
	write_part(s, r, woken, r->ts, TRACE_SWITCH_READY);
}

static void write_loss(struct switch_recorder *s, const struct switch_record *r)
{
	trace_put_switch(s->writer, &(struct trace_switch){
					    .pid = s->pid,
					    .from_ts = r->ts,
					    .to_ts = r->to_ts,
					    .cpu = r->cpu,
					    .lost = r->lost,
					    .state = TRACE_SWITCH_LOST,
				    });
	s->nr_lost += r->lost;
	/* What was running meanwhile is not measured. */
	coro_cpu_forget(&s->cpu, r->to_ts);
}

/* One of a pair may be missing: what was open before a loss is not known. */
static void forget_outs(struct switch_recorder *s)
{
	u64map_release(&s->outs);
	u64map_release(&s->wakes);
	u64map_release(&s->pids);
}

/* The first wake-up of a wait counts; later ones have no effect. */
static void recorder_add_wake(struct switch_recorder *s, const struct switch_record *r)
{
	uint64_t *woken, out;

	if (u64map_get(&s->outs, r->tid, &out) && out) {
		woken = out & 1 ? NULL : u64map_at(&s->wakes, r->tid);
		if (woken && !*woken)
			*woken = r->ts;
		return;
	}
	/* Only threads that are recorded have a place here: it is made by their first switch. */
	if (u64map_get(&s->wakes, r->tid, &out))
		u64map_put(&s->wakes, r->tid, r->ts);
}

static void recorder_add_out(struct switch_recorder *s, const struct switch_record *r)
{
	uint64_t *out = u64map_at(&s->outs, r->tid), *woken;

	/* A thread that is recorded twice has two equal records. */
	if (!out || *out)
		return;
	*out = r->ts << 1 | (r->kind == SWITCH_PREEMPTED);
	if (r->pid != s->pid && u64map_put(&s->pids, r->tid, r->pid) < 0)
		*out = 0;
	if (!s->records.waking.number)
		return;
	woken = u64map_at(&s->wakes, r->tid);
	if (woken && *woken && *woken + EARLY_NS < r->ts)
		*woken = 0;
}

static void recorder_add(struct switch_recorder *s, const struct switch_record *r)
{
	uint64_t *out;

	switch (r->kind) {
	case SWITCH_LOST:
		write_loss(s, r);
		forget_outs(s);
		return;
	case SWITCH_EXIT:
		u64map_remove(&s->outs, r->tid);
		u64map_remove(&s->wakes, r->tid);
		u64map_remove(&s->pids, r->tid);
		return;
	case SWITCH_IN:
		out = u64map_at(&s->outs, r->tid);
		if (!out || !*out)
			return;
		write_interval(s, r, *out);
		*out = 0;
		if (s->records.waking.number)
			u64map_put(&s->wakes, r->tid, 0);
		return;
	case SWITCH_WOKEN:
		recorder_add_wake(s, r);
		return;
	case SWITCH_BLOCKED:
	case SWITCH_PREEMPTED:
		recorder_add_out(s, r);
		return;
	}
}

/* ---- in order of time ----------------------------------------------------------------- */

static void batch_take(void *ctx, const struct switch_record *r)
{
	struct switch_recorder *s = ctx;

	if (s->nr == s->room && s->room < BATCH_MAX) {
		size_t room = s->room ? 2 * s->room : 1024;
		/* The second half is for sorting. */
		struct switch_record *batch = reallocarray(s->batch, 2 * room, sizeof(*batch));

		if (batch) {
			s->batch = batch;
			s->room = room;
		}
	}
	if (s->nr == s->room) {
		s->nr_short++;
		return;
	}
	s->batch[s->nr++] = *r;
}

/* Write what is older than @until_ns: nothing older follows. */
static void batch_write(struct switch_recorder *s, uint64_t until_ns)
{
	size_t i, kept;

	switch_order_sort(s->batch, s->nr, s->batch + s->room);
	for (i = 0; i < s->nr && s->batch[i].ts < until_ns; i++)
		recorder_add(s, &s->batch[i]);
	kept = s->nr - i;
	memmove(s->batch, s->batch + i, kept * sizeof(*s->batch));
	s->nr = kept;
}

static void recorder_read(struct switch_recorder *s, uint64_t now_ns, uint64_t late_ns)
{
	uint64_t from_ns = s->read_ns;

	if (s->nr && s->batch[0].ts < from_ns)
		from_ns = s->batch[0].ts;
	s->read_ns = now_ns;
	switch_records_read(&s->records, batch_take, s);
	if (s->nr)
		batch_write(s, now_ns - late_ns);
	coro_cpu_settle(&s->cpu, now_ns - late_ns);
	if (!s->nr_short)
		return;
	forget_outs(s);
	trace_put_switch(s->writer, &(struct trace_switch){
					    .pid = s->pid,
					    .from_ts = from_ns,
					    .to_ts = clock_now_ns(),
					    .lost = s->nr_short,
					    .state = TRACE_SWITCH_LOST,
				    });
	s->nr_lost += s->nr_short;
	s->nr_short = 0;
}

void switch_recorder_look(struct switch_recorder *s, uint64_t now_ns)
{
	if (!s->is_open || now_ns < s->next_ns)
		return;
	recorder_read(s, now_ns, LATE_NS);
	s->next_ns = now_ns + READ_NS;
}

uint64_t switch_recorder_wait(const struct switch_recorder *s, uint64_t now_ns, uint64_t ns)
{
	if (!s->is_open || s->next_ns >= now_ns + ns)
		return ns;
	return s->next_ns > now_ns + NS_PER_MS ? s->next_ns - now_ns : NS_PER_MS;
}

/* Threads that had no processor when the run ended. */
void switch_recorder_finish(struct switch_recorder *s, uint64_t end_ns)
{
	uint64_t tid, out, pid;
	size_t at = 0;

	if (!s->is_open)
		return;
	recorder_read(s, clock_now_ns(), 0);
	while (u64map_next(&s->outs, &at, &tid, &out)) {
		if (!out)
			continue;
		if (!u64map_get(&s->pids, tid, &pid))
			pid = s->pid;
		write_interval(s,
			       &(struct switch_record){
				       .pid = (uint32_t)pid, .tid = (uint32_t)tid, .ts = end_ns },
			       out);
	}
}

void switch_recorder_close(struct switch_recorder *s)
{
	if (!s->is_open)
		return;
	switch_records_close(&s->records);
	coro_cpu_close(&s->cpu);
	forget_outs(s);
	free(s->batch);
	*s = (struct switch_recorder){ 0 };
}
