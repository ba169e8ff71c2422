/* SPDX-License-Identifier: MIT */
/*
 * test_thread_times.c - what the collector writes of threads that had no processor, that were
 * stopped, or that ran one coroutine for long (switch_recorder.c, cpu_sampler.c).
 *
 * The records of the kernel, the counters of threads and the clock are the test's.
 */
#include <corotracer/lanes.h>

#include <errno.h>
#include <time.h>

#include "lane_bed.h"

#include "check.h"
#include "collect/cpu_sampler.h"
#include "collect/switch_recorder.h"

#define MS    UINT64_C(1000000)
#define START (UINT64_C(5000) * 1000 * MS)
#define PID   7u

static uint64_t now_ns = START;
static char told[16384];
static size_t told_size;

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	ts->tv_sec = (time_t)(now_ns / (1000 * MS));
	ts->tv_nsec = (long)(now_ns % (1000 * MS));
	return 0;
}

/* Microseconds since the start. */
static unsigned us(uint64_t ns)
{
	return ns ? (unsigned)((ns - START) / 1000) : 0;
}

static void tell_nothing(void)
{
	told_size = 0;
	told[0] = '\0';
}

/* ---- switches ----------------------------------------------------------------------------- */

void __wrap_trace_put_switch(struct trace_writer *w, const struct trace_switch *t);
void __wrap_trace_put_switch(struct trace_writer *w, const struct trace_switch *t)
{
	CHECK(w == (struct trace_writer *)told);
	told_size += (size_t)snprintf(told + told_size, sizeof(told) - told_size, "%s %u/%u %u-%u",
				      t->state, (unsigned)t->pid, (unsigned)t->tid, us(t->from_ts),
				      us(t->to_ts));
	if (t->cpu)
		told_size += (size_t)snprintf(told + told_size, sizeof(told) - told_size, " cpu %u",
					      (unsigned)t->cpu);
	if (t->lost)
		told_size += (size_t)snprintf(told + told_size, sizeof(told) - told_size,
					      " lost %u", (unsigned)t->lost);
	told_size += (size_t)snprintf(told + told_size, sizeof(told) - told_size, "\n");
}

static const struct switch_record *coming;
static size_t nr_coming;
static size_t flood; /* this many equal records come after them */
static bool is_refused, has_wakes;
static unsigned nr_open;

static int records_open(struct switch_records *s, struct err *err)
{
	*s = (struct switch_records){ 0 };
	if (is_refused)
		return err_set(err, -EACCES, "not allowed");
	s->waking.number = has_wakes ? 5 : 0;
	nr_open++;
	return 0;
}

int __wrap_switch_records_open_child(struct switch_records *s, struct err *err);
int __wrap_switch_records_open_child(struct switch_records *s, struct err *err)
{
	return records_open(s, err);
}

int __wrap_switch_records_open_process(struct switch_records *s, pid_t pid, struct err *err);
int __wrap_switch_records_open_process(struct switch_records *s, pid_t pid, struct err *err)
{
	CHECK_EQ(pid, 77);
	return records_open(s, err);
}

void __wrap_switch_records_read(struct switch_records *s,
				void (*take)(void *ctx, const struct switch_record *r), void *ctx);
void __wrap_switch_records_read(struct switch_records *s,
				void (*take)(void *ctx, const struct switch_record *r), void *ctx)
{
	(void)s;
	for (; nr_coming; nr_coming--)
		take(ctx, coming++);
	for (; flood; flood--)
		take(ctx, &(struct switch_record){ SWITCH_WOKEN, 0, 0, 999, START, 0, 0 });
}

void __wrap_switch_records_close(struct switch_records *s);
void __wrap_switch_records_close(struct switch_records *s)
{
	(void)s;
	nr_open--;
}

static struct peer peers[4] = { { .pid = 8 }, { .pid = 9, .hung_up_ns = 1 } };
static struct endpoint endpoint = { .peers = peers, .nr_peers = 2 };
static struct switch_recorder recorder;

static void switches_begin(bool wakes)
{
	struct err err = { 0 };

	has_wakes = wakes;
	now_ns = START;
	tell_nothing();
	CHECK_EQ(switch_recorder_open_child(&recorder, &err), 0);
	now_ns += MS;
	switch_recorder_begin(&recorder, PID, &endpoint, (struct trace_writer *)told);
	CHECK_STR(told, wakes ? "recorded 7/0 0-0\nwakes 7/0 0-0\n" : "recorded 7/0 0-0\n");
	tell_nothing();
}

static void switches_end(void)
{
	switch_recorder_close(&recorder);
	CHECK(!recorder.batch && !recorder.is_open && !nr_open);
	switch_recorder_close(&recorder); /* again: nothing */
	switch_recorder_look(&recorder, now_ns);
	switch_recorder_finish(&recorder, now_ns);
	switch_recorder_begin(&recorder, PID, &endpoint, NULL);
}

static void switches_look(const struct switch_record *list, size_t nr, unsigned ms)
{
	coming = list;
	nr_coming = nr;
	now_ns = START + ms * MS;
	switch_recorder_look(&recorder, now_ns);
}

#define AT(us) (START + (us)*UINT64_C(1000))
#define IN(tid, us)                                  \
	{                                            \
		SWITCH_IN, 3, PID, tid, AT(us), 0, 0 \
	}
#define BLOCKED(tid, us)                                  \
	{                                                 \
		SWITCH_BLOCKED, 1, PID, tid, AT(us), 0, 0 \
	}
#define PREEMPTED(tid, us)                                  \
	{                                                   \
		SWITCH_PREEMPTED, 1, PID, tid, AT(us), 0, 0 \
	}
#define WOKEN(tid, us)                                \
	{                                             \
		SWITCH_WOKEN, 2, 0, tid, AT(us), 0, 0 \
	}
#define EXIT(tid, us)                                  \
	{                                              \
		SWITCH_EXIT, 1, PID, tid, AT(us), 0, 0 \
	}
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void pairs_of_switches_are_intervals(void)
{
	static const struct switch_record first[] = {
		IN(1, 10), /* without the switch away */
		BLOCKED(1, 100),
		PREEMPTED(2, 150),
		IN(2, 160),
		IN(1, 900),
		BLOCKED(1, 1000),
		BLOCKED(1, 1000), /* recorded twice */
		IN(1, 1000),      /* took no time */
		BLOCKED(3, 2000),
		EXIT(3, 2100),
		IN(3, 2200),
		{ SWITCH_BLOCKED, 1, 8, 4, AT(3000), 0, 0 },
		{ SWITCH_IN, 1, 8, 4, AT(3001), 0, 0 },
		{ SWITCH_BLOCKED, 1, 10, 5, AT(3000), 0, 0 },
		{ SWITCH_IN, 1, 10, 5, AT(3001), 0, 0 }, /* not traced */
		PREEMPTED(6, 4000),
		WOKEN(6, 4100),
		IN(6, 4200),
	};

	switches_begin(false);
	switches_look(first, COUNT(first), 10);
	CHECK_STR(told, "preempted 7/2 150-160 cpu 3\nblocked 7/1 100-900 cpu 3\nblocked 8/4 "
			"3000-3001 cpu 1\n"
			"preempted 7/6 4000-4200 cpu 3\n");
	CHECK_EQ(recorder.nr_written, 4);
	switches_end();
}

/* Of several processors: written once nothing older can follow. */
static void records_are_put_in_order(void)
{
	static const struct switch_record first[] = { IN(1, 8500), BLOCKED(1, 200),
						      BLOCKED(2, 7999), BLOCKED(4, 8000) };
	static const struct switch_record second[] = { IN(2, 8001), IN(4, 9000), BLOCKED(2, 9500) };

	switches_begin(false);
	CHECK_EQ(switch_recorder_wait(&recorder, START, 5 * MS), MS);
	switches_look(first, COUNT(first), 10);
	CHECK_STR(told, "");
	CHECK_EQ(recorder.nr, 2); /* 8000 is not older than 2 ms */
	CHECK_EQ(recorder.next_ns, START + 30 * MS);
	CHECK_EQ(switch_recorder_wait(&recorder, START + 10 * MS, 50 * MS), 20 * MS);
	CHECK_EQ(switch_recorder_wait(&recorder, START + 10 * MS, 20 * MS), 20 * MS);
	CHECK_EQ(switch_recorder_wait(&recorder, START + 10 * MS, 19 * MS), 19 * MS);
	CHECK_EQ(switch_recorder_wait(&recorder, START + 29 * MS, 50 * MS), MS);
	CHECK_EQ(switch_recorder_wait(&recorder, START + 31 * MS, 50 * MS), MS);
	switches_look(second, COUNT(second), 29); /* too early */
	CHECK_EQ(nr_coming, 3);
	switches_look(second, COUNT(second), 30);
	CHECK_STR(told, "blocked 7/2 7999-8001 cpu 3\nblocked 7/1 200-8500 cpu 3\nblocked 7/4 "
			"8000-9000 cpu 3\n");
	tell_nothing();
	switch_recorder_finish(&recorder, AT(40000)); /* thread 2 still waits */
	CHECK_STR(told, "blocked 7/2 9500-40000\n");
	CHECK_EQ(switch_recorder_wait(&(struct switch_recorder){ 0 }, START, 5), 5);
	switches_end();
}

static void wake_ups_divide_waits(void)
{
	static const struct switch_record first[] = {
		BLOCKED(1, 100),    WOKEN(1, 300),    WOKEN(1, 400),
		IN(1, 500),                                        /* the first counts */
		BLOCKED(1, 600),    IN(1, 700),                    /* not woken */
		WOKEN(1, 798),      BLOCKED(1, 800),  IN(1, 900),  /* a little early */
		WOKEN(1, 997),      BLOCKED(1, 1000), IN(1, 1100), /* too early: another wait */
		WOKEN(2, 1150),     BLOCKED(2, 1151), IN(2, 1250), /* not known before */
		PREEMPTED(1, 1300), WOKEN(1, 1350),   IN(1, 1400),
		BLOCKED(1, 1500),   WOKEN(1, 1500),   IN(1, 1600),
	};

	switches_begin(true);
	switches_look(first, COUNT(first), 10);
	CHECK_STR(told, "blocked 7/1 100-300 cpu 3\nready 7/1 300-500 cpu 3\n"
			"blocked 7/1 600-700 cpu 3\n"
			"ready 7/1 800-900 cpu 3\n"
			"blocked 7/1 1000-1100 cpu 3\n"
			"blocked 7/2 1151-1250 cpu 3\n"
			"preempted 7/1 1300-1400 cpu 3\n"
			"ready 7/1 1500-1600 cpu 3\n");
	switches_end();
}

static void losses_are_written_and_end_what_was_known(void)
{
	static const struct switch_record first[] = { BLOCKED(1, 100),
						      { SWITCH_LOST, 2, 0, 0, AT(200), AT(300),
							42 },
						      IN(1, 400),
						      BLOCKED(1, 500),
						      IN(1, 600) };

	switches_begin(true);
	switches_look(first, COUNT(first), 10);
	CHECK_STR(told, "lost 7/0 200-300 cpu 2 lost 42\nblocked 7/1 500-600 cpu 3\n");
	CHECK_EQ(recorder.nr_lost, 42);
	switches_end();
}

/* More than a batch has room for: each loss is written once. */
static void a_flood_of_records_is_a_loss(void)
{
	static const struct switch_record first[] = { BLOCKED(1, 100) },
					  second[] = { IN(1, 11000) };

	switches_begin(true);
	flood = (1u << 20) + 2;
	switches_look(first, COUNT(first), 10);
	CHECK_STR(told, "lost 7/0 0-10000 lost 3\n");
	tell_nothing();
	flood = 1u << 20;
	switches_look(second, COUNT(second), 40);
	CHECK_STR(told, "lost 7/0 10000-40000 lost 1\n");
	CHECK_EQ(recorder.nr_lost, 4);
	switches_end();
}

/* Of the processes that are traced, each thread with its own. */
static void waits_at_the_end_belong_to_their_processes(void)
{
	static const struct switch_record first[] = { BLOCKED(1, 100),
						      { SWITCH_BLOCKED, 1, 8, 4, AT(200), 0, 0 },
						      { SWITCH_BLOCKED, 1, 10, 5, AT(300), 0, 0 },
						      { SWITCH_BLOCKED, 1, 8, 6, AT(400), 0, 0 },
						      EXIT(6, 500),
						      BLOCKED(6, 600) };
	static const char *const lines[] = { "blocked 7/1 100-40000\n", "blocked 8/4 200-40000\n",
					     "blocked 7/6 600-40000\n" };
	size_t i, size = 0;

	switches_begin(true);
	switches_look(first, COUNT(first), 10);
	CHECK_STR(told, "");
	switch_recorder_finish(&recorder, AT(40000));
	for (i = 0; i < COUNT(lines); i++) {
		CHECK(strstr(told, lines[i]));
		size += strlen(lines[i]);
	}
	CHECK_EQ(strlen(told), size);
	switches_end();
}

static void recording_may_be_refused(void)
{
	struct err err = { 0 };

	is_refused = true;
	CHECK_EQ(switch_recorder_open_child(&recorder, &err), -EACCES);
	CHECK(!recorder.is_open);
	CHECK_EQ(switch_recorder_open_process(&recorder, 77, &err), -EACCES);
	CHECK(!recorder.is_open);
	is_refused = false;
	now_ns = START + 5 * MS;
	CHECK_EQ(switch_recorder_open_process(&recorder, 77, &err), 0);
	CHECK(recorder.is_open);
	CHECK_EQ(recorder.start_ns, now_ns);
	CHECK_EQ(recorder.cpu.since_ts, now_ns);
	CHECK(recorder.cpu.is_on);
	switches_end();
}

/* ---- counters of threads --------------------------------------------------------------------- */

void __wrap_trace_put_cpu(struct trace_writer *w, const struct trace_cpu *t);
void __wrap_trace_put_cpu(struct trace_writer *w, const struct trace_cpu *t)
{
	CHECK(w == (struct trace_writer *)told);
	told_size += (size_t)snprintf(told + told_size, sizeof(told) - told_size,
				      "%s%s%s %u/%u %u-%u cpu %u queued %u\n", t->state,
				      t->call ? " in " : "", t->call ? t->call : "",
				      (unsigned)t->pid, (unsigned)t->tid, us(t->from_ts),
				      us(t->to_ts), (unsigned)t->cpu_ns, (unsigned)t->queued_ns);
}

static struct thread_stat stat_now;
static bool is_gone, is_stopped;
static unsigned nr_reads, stat_cost_us;

bool __wrap_thread_stat_read(uint32_t pid, uint64_t tid, struct thread_stat *out);
bool __wrap_thread_stat_read(uint32_t pid, uint64_t tid, struct thread_stat *out)
{
	CHECK(pid == 8 && tid >= 80);
	nr_reads++;
	now_ns += stat_cost_us * UINT64_C(1000);
	*out = stat_now;
	return !is_gone;
}

bool __wrap_thread_stat_is_stopped(uint32_t pid);
bool __wrap_thread_stat_is_stopped(uint32_t pid)
{
	CHECK(pid == 8 || pid == 9);
	return is_stopped && pid == 8;
}

static struct drain_lane cursors[40];
static struct drain drain;
static struct cpu_sampler sampler;

static struct drain_lane a_lane(uint32_t tid)
{
	return (struct drain_lane){ .open = true,
				    .pid = 8,
				    .tid = tid,
				    .read = 64,
				    .head = 64,
				    .last = START,
				    .chunk = 0,
				    .at = 2 };
}

static void lane_kinds(unsigned first, unsigned second)
{
	bed_chunks[0].records[0].kind = (uint8_t)first;
	bed_chunks[0].records[1].kind = (uint8_t)second;
	bed_chunks[0].records[0].reason = bed_chunks[0].records[1].reason = 0;
}

static void sampler_begin(uint32_t nr)
{
	uint32_t i;

	bed_make();
	lane_kinds(CTP_REC_BIRTH, CTP_REC_RESUME);
	memset(&drain, 0, sizeof(drain));
	for (i = 0; i < nr; i++)
		cursors[i] = a_lane(80 + i);
	drain.lanes = &bed;
	drain.cursors = cursors;
	drain.nr_cursors = nr;
	stat_now = (struct thread_stat){ .state = TRACE_CPU_RUNNING };
	is_gone = is_stopped = false;
	nr_reads = stat_cost_us = 0;
	tell_nothing();
	cpu_sampler_open(&sampler, &drain, &endpoint, (struct trace_writer *)told);
}

static void sampler_look(unsigned at_us, uint64_t cpu_ns, uint64_t queued_ns, const char *state,
			 const char *call)
{
	stat_now = (struct thread_stat){
		.cpu_ns = cpu_ns, .queued_ns = queued_ns, .state = state, .call = call
	};
	now_ns = AT(at_us);
	cpu_sampler_look(&sampler, now_ns);
}

static void sampler_end(const char *expected)
{
	cpu_sampler_finish(&sampler, now_ns);
	CHECK_STR(told, expected);
	cpu_sampler_close(&sampler);
	CHECK(!sampler.lanes && !sampler.stops && !sampler.room);
}

static void a_long_slice_is_measured(void)
{
	sampler_begin(1);
	sampler_look(3999, 10, 1, TRACE_CPU_RUNNING, NULL); /* not long yet */
	CHECK_EQ(nr_reads, 0);
	CHECK_EQ(cpu_sampler_wait(&sampler, now_ns, 100 * MS), 100 * MS);
	sampler_look(5998, 100, 10, TRACE_CPU_RUNNING, NULL); /* a pass every 2 ms */
	CHECK_EQ(nr_reads, 0);
	sampler_look(6000, 100, 10, TRACE_CPU_RUNNING, NULL);
	CHECK_EQ(nr_reads, 1);
	CHECK_EQ(cpu_sampler_wait(&sampler, now_ns, 100 * MS), 5 * MS);
	CHECK_EQ(cpu_sampler_wait(&sampler, now_ns, 3 * MS), 3 * MS);
	CHECK_EQ(cpu_sampler_wait(&sampler, AT(10500), 100 * MS), MS);
	sampler_look(10999, 150, 15, TRACE_CPU_RUNNING, NULL);
	CHECK_EQ(nr_reads, 1); /* not due */
	sampler_look(13000, 200, 20, TRACE_CPU_RUNNING, NULL);
	sampler_look(20000, 300, 30, TRACE_CPU_BLOCKED, "read");
	sampler_look(30000, 400, 40, TRACE_CPU_BLOCKED, "read");
	sampler_look(40000, 500, 50, TRACE_CPU_BLOCKED, "futex");
	sampler_look(50000, 600, 60, TRACE_CPU_RUNNING,
		     NULL);                     /* it slept before: as the last reading */
	cursors[0].read = cursors[0].head = 96; /* the slice is over */
	cursors[0].last = AT(55000);
	sampler_look(56000, 700, 70, TRACE_CPU_BLOCKED, "poll");
	sampler_end("running 8/80 6000-13000 cpu 100 queued 10\nblocked in read 8/80 13000-30000 "
		    "cpu 200 queued 20\n"
		    "blocked in futex 8/80 30000-50000 cpu 200 queued 20\nrunning 8/80 "
		    "50000-56000 cpu 100 queued 10\n");
}

static void readings_become_rare_in_a_long_slice(void)
{
	sampler_begin(1);
	sampler_look(400000, 0, 0, TRACE_CPU_RUNNING, NULL);
	CHECK_EQ(sampler.lanes[0].due_ns, AT(425000)); /* a sixteenth */
	stat_cost_us = 1000;
	sampler_look(31999000, 1, 1, TRACE_CPU_RUNNING, NULL);
	CHECK_EQ(sampler.lanes[0].due_ns, AT(33000000)); /* at most a second */
	stat_cost_us = 0;
	CHECK_EQ(sampler.lanes[0].open.to_ts, AT(32000000));
	sampler_look(33000000, 2, 2, TRACE_CPU_RUNNING, NULL); /* the interval is long: another */
	sampler_look(34000000, 3, 3, TRACE_CPU_RUNNING, NULL);
	sampler_look(36000000, 4, 4, TRACE_CPU_RUNNING, NULL);
	sampler_look(38000000, 5, 5, TRACE_CPU_RUNNING, NULL);
	sampler_end("running 8/80 400000-32000000 cpu 1 queued 1\nrunning 8/80 32000000-36000000 "
		    "cpu 3 queued 3\n"
		    "running 8/80 36000000-38000000 cpu 1 queued 1\n");
}

static void only_running_coroutines_are_measured(void)
{
	static const struct {
		uint8_t first, second, reason;
		bool runs;
	} cases[] = {
		{ CTP_REC_BIRTH, CTP_REC_RESUME, 0, true },
		{ CTP_REC_RESUME, CTP_REC_SUSPEND, 0, false },
		{ CTP_REC_RESUME, CTP_REC_SUSPEND | CTP_REC_HAS_MORE, 0, false },
		{ CTP_REC_RESUME, CTP_REC_END, 0, false },
		{ CTP_REC_RESUME, CTP_REC_END, CTP_END_SUSPENDED, true },
		{ CTP_REC_RESUME, CTP_REC_WAKE, 0, true },
		{ CTP_REC_SUSPEND, CTP_REC_RESUME | CTP_REC_HAS_MORE, 0, true },
		{ CTP_REC_RESUME, CTP_REC_RESUME, 0, true },
		{ CTP_REC_SUSPEND, CTP_REC_WAKE, 0, false },
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		sampler_begin(1);
		lane_kinds(cases[i].first, cases[i].second);
		bed_chunks[0].records[1].reason = cases[i].reason;
		sampler_look(5000, 1, 1, TRACE_CPU_RUNNING, NULL);
		CHECK_EQ(nr_reads, cases[i].runs);
		CHECK_EQ(sampler.is_running, cases[i].runs);
		cpu_sampler_close(&sampler);
	}
}

/* The resume of a slice may be up to 256 records back; nested coroutines are counted. */
static void the_resume_is_searched(void)
{
	uint32_t nested, i;

	for (nested = 126; nested <= 128; nested++) {
		sampler_begin(1);
		bed_chunks[0].records[0].kind = CTP_REC_RESUME;
		for (i = 0; i < nested; i++) {
			bed_chunks[0].records[1 + 2 * i].kind = CTP_REC_RESUME;
			bed_chunks[0].records[2 + 2 * i].kind = CTP_REC_SUSPEND;
		}
		cursors[0].at = 1 + 2 * nested;
		sampler_look(5000, 1, 1, TRACE_CPU_RUNNING, NULL);
		CHECK_EQ(nr_reads, nested < 128);
		cpu_sampler_close(&sampler);
	}
}

static void other_lanes_are_passed_over(void)
{
	uint32_t i;

	for (i = 0; i < 7; i++) {
		sampler_begin(1);
		cursors[0].open = i != 0;
		cursors[0].broken = i == 1;
		cursors[0].orphan = i == 2;
		cursors[0].head = i == 3 ? 96 : 64; /* more to read */
		if (i == 4)
			cursors[0].read = cursors[0].head = 0;
		if (i == 5)
			cursors[0].pid = 12; /* has not connected */
		sampler_look(5000, 1, 1, TRACE_CPU_RUNNING, NULL);
		CHECK_EQ(nr_reads, i == 6);
		sampler_look(12000, 2, 2, TRACE_CPU_RUNNING, NULL);
		cursors[0].open = false; /* the thread ended */
		sampler_look(15000, 2, 2, TRACE_CPU_RUNNING, NULL);
		CHECK(!sampler.lanes[0].judged);
		sampler_end(i == 6 ? "running 8/80 5000-12000 cpu 1 queued 1\n" : "");
	}
}

static void a_thread_that_is_gone_or_another_is_not_mixed_up(void)
{
	sampler_begin(1);
	sampler_look(5000, 100, 10, TRACE_CPU_RUNNING, NULL);
	sampler_look(12000, 90, 10, TRACE_CPU_RUNNING, NULL); /* another thread has the number */
	sampler_look(20000, 100, 9, TRACE_CPU_RUNNING, NULL);
	sampler_look(30000, 100, 9, TRACE_CPU_RUNNING, NULL);
	is_gone = true;
	sampler_look(40000, 200, 19, TRACE_CPU_RUNNING, NULL);
	CHECK(!sampler.lanes[0].runs);
	is_gone = false;
	sampler_look(50000, 300, 29, TRACE_CPU_RUNNING, NULL);
	CHECK_EQ(nr_reads, 5);
	sampler_end("running 8/80 20000-30000 cpu 0 queued 0\n");
}

static void the_end_of_a_slice_is_read_soon_or_not_at_all(void)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		sampler_begin(1);
		sampler_look(5000, 100, 10, TRACE_CPU_BLOCKED, "read");
		cursors[0].read = cursors[0].head = 96;
		cursors[0].last = AT(6000);
		sampler_look(i ? 54999 : 55000, 200, 20, TRACE_CPU_RUNNING, NULL);
		sampler_end(i ? "blocked in read 8/80 5000-54999 cpu 100 queued 10\n" : "");
	}
}

static void waits_for_room_are_written(void)
{
	sampler_begin(1);
	cursors[0].last = AT(100000);
	sampler_look(1000, 0, 0, TRACE_CPU_RUNNING, NULL);
	cursors[0].blocked_ns = 2 * MS;
	sampler_look(5000, 0, 0, TRACE_CPU_RUNNING, NULL);
	cursors[0].blocked_ns += MS - 1; /* short */
	sampler_look(8000, 0, 0, TRACE_CPU_RUNNING, NULL);
	cursors[0].tid = 81; /* another thread has the lane */
	cursors[0].blocked_ns += 50 * MS;
	sampler_look(11000, 0, 0, TRACE_CPU_RUNNING, NULL);
	cursors[0].blocked_ns = MS; /* begins again */
	sampler_look(14000, 0, 0, TRACE_CPU_RUNNING, NULL);
	cursors[0].blocked_ns = 2 * MS;
	sampler_look(17000, 0, 0, TRACE_CPU_RUNNING, NULL);
	sampler_end(
		"tracer 8/80 3000-5000 cpu 0 queued 0\ntracer 8/81 16000-17000 cpu 0 queued 0\n");
}

static void a_pass_reads_some_of_many_threads(void)
{
	sampler_begin(40);
	sampler_look(5000, 1, 1, TRACE_CPU_RUNNING, NULL);
	CHECK_EQ(nr_reads, 32);
	CHECK_EQ(sampler.turn, 32);
	sampler_look(7000, 1, 1, TRACE_CPU_RUNNING, NULL);
	CHECK_EQ(nr_reads, 40); /* the others; none is due again */
	CHECK_EQ(sampler.lanes[39].at_ns, AT(7000));
	CHECK_EQ(sampler.lanes[0].at_ns, AT(5000));
	cpu_sampler_close(&sampler);
}

static void stops_of_a_process_are_written(void)
{
	sampler_begin(1);
	cursors[0].last = AT(20000);
	lane_kinds(CTP_REC_RESUME, CTP_REC_SUSPEND);
	sampler_look(1000, 0, 0, TRACE_CPU_RUNNING, NULL);
	is_stopped = true;
	sampler_look(50999, 0, 0, TRACE_CPU_RUNNING, NULL); /* too early to look */
	CHECK_EQ(cpu_sampler_wait(&sampler, now_ns, 100 * MS), 100 * MS);
	sampler_look(51000, 0, 0, TRACE_CPU_RUNNING, NULL);
	/* From the last event on. */
	CHECK_EQ(sampler.stops[0].from_ns, AT(20000));
	CHECK_EQ(cpu_sampler_wait(&sampler, now_ns, 100 * MS), 50 * MS);
	sampler_look(101000, 0, 0, TRACE_CPU_RUNNING, NULL);
	is_stopped = false;
	cpu_sampler_child_changed(&sampler);
	sampler_look(110000, 0, 0, TRACE_CPU_RUNNING, NULL);
	CHECK_STR(told, "stopped 8/0 20000-110000 cpu 0 queued 0\n");
	is_stopped = true;
	cpu_sampler_child_changed(&sampler);
	sampler_look(120000, 0, 0, TRACE_CPU_RUNNING, NULL); /* to the end */
	now_ns = AT(130000);
	sampler_end("stopped 8/0 20000-110000 cpu 0 queued 0\nstopped 8/0 110000-130000 cpu 0 "
		    "queued 0\n");
	sampler_begin(0); /* stopped at the first look */
	is_stopped = true;
	sampler_look(1000, 0, 0, TRACE_CPU_RUNNING, NULL);
	now_ns = AT(2000);
	sampler_end("stopped 8/0 1000-2000 cpu 0 queued 0\n");
}

int main(void)
{
	RUN(pairs_of_switches_are_intervals);
	RUN(records_are_put_in_order);
	RUN(wake_ups_divide_waits);
	RUN(losses_are_written_and_end_what_was_known);
	RUN(a_flood_of_records_is_a_loss);
	RUN(waits_at_the_end_belong_to_their_processes);
	RUN(recording_may_be_refused);
	RUN(a_long_slice_is_measured);
	RUN(readings_become_rare_in_a_long_slice);
	RUN(only_running_coroutines_are_measured);
	RUN(the_resume_is_searched);
	RUN(other_lanes_are_passed_over);
	RUN(a_thread_that_is_gone_or_another_is_not_mixed_up);
	RUN(the_end_of_a_slice_is_read_soon_or_not_at_all);
	RUN(waits_for_room_are_written);
	RUN(a_pass_reads_some_of_many_threads);
	RUN(stops_of_a_process_are_written);
	return 0;
}
