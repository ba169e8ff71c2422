/* SPDX-License-Identifier: MIT */
/*
 * test_region_inspect.c - what a region says about a run: the last events of each thread, the state
 * of each coroutine, sites, processes, and the trace that is written from it.
 *
 * The region is written here by hand, with times in nanoseconds.
 */
#include "collector_bed.h"
#include "count_memory.h"
#include "region_file.h"

#define B UINT64_C(1000000000000) /* a time; events are later */

static struct recover rec;
static bool is_live;
static uint64_t now_ns;
static struct tick_mark reading;

bool __wrap_region_is_live(int fd);
bool __wrap_region_is_live(int fd)
{
	(void)fd;
	return is_live;
}

void __wrap_tickclock_open(struct tickclock *tc);
void __wrap_tickclock_open(struct tickclock *tc)
{
	memset(tc, 0, sizeof(*tc));
	tc->usable = true;
	tickclock_add(tc, reading.ticks, reading.ns);
}

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_MONOTONIC)
		return __real_clock_gettime(id, ts);
	*ts = (struct timespec){ (time_t)(now_ns / NS_PER_SEC), (long)(now_ns % NS_PER_SEC) };
	return 0;
}

/* ---- the region ----------------------------------------------------------------------- */

static uint32_t nr_records[REGION_FILE_LANES];

/* The collector looked last at B + 500, one tick a nanosecond. */
static void region_new(void)
{
	region_file_new(256);
	reg.ext->clock_seq = 2;
	reg.ext->clock_ticks = reg.ext->clock_ns = B + 500;
	reg.ext->clock_mult = UINT64_C(1) << 32;
	reading = (struct tick_mark){ B + 5000, B + 5000, 0 };
	now_ns = B + 6000;
	is_live = false;
	memset(nr_records, 0, sizeof(nr_records));
}

/* Lane @i with chunk @i; its process is the test's, which has the region mapped. */
static struct ctp_lane *lane_new(uint32_t i)
{
	struct ctp_lane *lane = region_file_lane(i, (const int[]){ (int)i, -1 }, 0, 0);

	lane->pid = (uint32_t)getpid();
	lane->ticks = CTP_TICKS_NS;
	return lane;
}

static struct ctp_record *put(uint32_t i, uint64_t at, uint64_t id, uint8_t kind)
{
	struct ctp_record *to = &reg.chunks[i].records[nr_records[i]++];

	*to = (struct ctp_record){ .ticks = B + at, .id = id, .kind = kind };
	reg.lanes[i].head = nr_records[i] * sizeof(struct ctp_record);
	return to;
}

static void put_birth(uint32_t i, uint64_t at, uint64_t id, const char *name)
{
	struct ctp_record_text *part;

	put(i, at, id, CTP_REC_BIRTH)->seq = (uint32_t)strlen(name);
	part = (struct ctp_record_text *)(void *)put(i, 0, 0, 0);
	memset(part, 0, sizeof(*part));
	memcpy(part->text, name, strlen(name));
	part->kind = CTP_REC_TEXT;
}

static struct ctp_life *life_new(uint32_t i, uint64_t id, uint8_t kind, uint64_t since)
{
	struct ctp_life *life = &reg.lives[i];

	*life = (struct ctp_life){ .id = id,
				   .state = CTP_LIFE_STATE(kind, 0, 0),
				   .last_ticks = B + since,
				   .birth_ticks = B + 1,
				   .pid = (uint32_t)getpid(),
				   .ticks = CTP_TICKS_NS };
	if (reg.lanes_ext->lives.used <= i)
		reg.lanes_ext->lives.used = i + 1;
	return life;
}

static void inspect(struct recover_options options)
{
	struct err err = { 0 };

	options.tool = "corotracer test";
	if (recover_open(&rec, reg.path, &options, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(err.code, 0);
	CHECK(!rec.short_of_memory);
}

static void inspect_last(uint32_t last)
{
	inspect((struct recover_options){ .last = last });
}

/* ---- events of threads ------------------------------------------------------------------ */

/* "30s 40r": times and kinds of the last events of a thread; "*": not read by the collector. */
static const char *last_events(size_t thread)
{
	static const char kinds[] = "srbwedcul";
	static char list[512];
	const struct recover_thread *t = &rec.threads[thread];
	size_t used = 0;
	uint32_t k;

	list[0] = '\0';
	for (k = 0; k < t->nr_last; k++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d%c%s", k ? " " : "",
					 (int)(t->last[k].ev.ts - B), kinds[t->last[k].ev.kind],
					 t->last[k].unread ? "*" : "");
	return list;
}

static void two_threads(void)
{
	struct ctp_lane *lane;

	region_new();
	lane = lane_new(0);
	put_birth(0, 10, 1, "alpha");
	put(0, 20, 1, CTP_REC_RESUME);
	put(0, 30, 1, CTP_REC_SUSPEND)->seq = 1;
	put(0, 35, 2, CTP_REC_WAKE)->value = 1;
	lane->tail = 3 * sizeof(struct ctp_record); /* the birth and the resume */
	lane->dropped = 5;
	lane->dropped_marks = 6;
	lane = lane_new(1);
	lane->state = CTP_LANE_CLOSED;
	put(1, 25, 2, CTP_REC_RESUME);
	put(1, 40, 2, CTP_REC_SUSPEND)->seq = 1;
	lane->tail = 2 * sizeof(struct ctp_record);
	lane_new(2)->state = CTP_LANE_FREE;
	lane = lane_new(3); /* damaged */
	lane->pid = 0;
	put(3, 50, 3, CTP_REC_RESUME);
	lane->tail = 2 * sizeof(struct ctp_record);
}

static void each_thread_has_its_last_events(void)
{
	const struct recover_thread *t;

	two_threads();
	inspect_last(3);
	CHECK_EQ(rec.nr_threads, 3);
	t = &rec.threads[0];
	CHECK_EQ(t->tid, 100);
	CHECK_EQ(t->pid, getpid());
	CHECK_EQ(t->lane, 0);
	CHECK(!t->closed && !t->broken);
	CHECK_EQ(t->written, 5);
	CHECK_EQ(t->read, 3);
	CHECK_EQ(t->kept, 3);
	CHECK_EQ(t->saved, 3);
	CHECK_EQ(t->dropped, 5);
	CHECK_EQ(t->dropped_others, 6);
	CHECK_EQ(t->events, 4);
	CHECK_STR(last_events(0), "20r 30s* 35w*");
	t = &rec.threads[1];
	CHECK_EQ(t->tid, 101);
	CHECK_EQ(t->lane, 1);
	CHECK(t->closed && !t->broken);
	CHECK_EQ(t->events, 2);
	CHECK_STR(last_events(1), "25r 40s");
	t = &rec.threads[2];
	CHECK_EQ(t->tid, 103);
	CHECK_EQ(t->lane, 3);
	CHECK(t->broken && !t->closed);
	CHECK_EQ(t->kept, 0);
	CHECK_EQ(t->written, 1);
	CHECK_EQ(t->events, 0);
	CHECK_EQ(t->nr_last, 0);
	CHECK_EQ(rec.first_ts, B + 10);
	CHECK_EQ(rec.last_ts, B + 40);
	CHECK_EQ(rec.nr_processes, 1); /* 0 is not a process */
	CHECK(!rec.journal.found);
	CHECK_EQ(rec.account.unsaved, 0);
	recover_close(&rec);
	CHECK(!rec.threads && !rec.image.map);
}

static void names_are_copied(void)
{
	two_threads();
	inspect_last(10);
	CHECK_STR(last_events(0), "10b 20r 30s* 35w*");
	CHECK_STR(rec.threads[0].last[0].name, "alpha");
	CHECK_STR(rec.threads[0].last[1].name, "");
	CHECK(!rec.threads[0].last[0].ev.name);
	recover_close(&rec);
	inspect_last(0);
	CHECK(!rec.threads[0].last);
	CHECK_EQ(rec.threads[0].events, 4);
	recover_close(&rec);
}

/* Also those in which it is the other one. */
static void events_of_one_coroutine_can_be_kept(void)
{
	two_threads();
	inspect((struct recover_options){ .last = 10, .of = 1 });
	CHECK_STR(last_events(0), "10b 20r 30s* 35w*"); /* it woke another */
	CHECK_STR(last_events(1), "");
	CHECK_EQ(rec.threads[1].events, 2);
	recover_close(&rec);
	inspect((struct recover_options){ .last = 10, .of = 2 });
	CHECK_STR(last_events(0), "35w*");
	CHECK_STR(last_events(1), "25r 40s");
	recover_close(&rec);
}

/* Part of the lane was given back. */
static void records_are_counted_since_the_lane_was_opened(void)
{
	struct ctp_lane *lane;

	region_new();
	lane = region_file_lane(0, (const int[]){ 0, -1 }, 2, 0);
	lane->ticks = CTP_TICKS_NS;
	put(0, 20, 1, CTP_REC_RESUME);
	put(0, 30, 1, CTP_REC_SUSPEND);
	lane->head = (2 * PER_CHUNK + 2) * sizeof(struct ctp_record);
	lane->tail = (2 * PER_CHUNK + 1) * sizeof(struct ctp_record);
	inspect_last(5);
	CHECK_EQ(rec.threads[0].written, 2 * PER_CHUNK + 2);
	CHECK_EQ(rec.threads[0].read, 2 * PER_CHUNK + 1);
	CHECK_EQ(rec.threads[0].kept, 1);
	CHECK_STR(last_events(0), "20r 30s*");
	recover_close(&rec);
}

/* ---- coroutines ------------------------------------------------------------------------- */

/* "7 suspended": ids and states. */
static const char *states(void)
{
	static char list[512];
	size_t i, used = 0;

	list[0] = '\0';
	for (i = 0; i < rec.nr_coroutines; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d %s", i ? ", " : "",
					 (int)rec.coroutines[i].co.probe_id,
					 trace_state_name(rec.coroutines[i].co.state));
	return list;
}

static void coroutines_that_wait_the_longest_come_first(void)
{
	region_new();
	life_new(0, 7, CTP_REC_RESUME, 90);
	life_new(1, 3, CTP_REC_BIRTH, 80);
	life_new(3, 9, CTP_REC_SUSPEND, 70);
	life_new(4, 5, CTP_REC_SUSPEND, 60);
	life_new(5, 2, CTP_REC_SUSPEND, 70);
	life_new(6, 8, CTP_REC_END, 10);
	life_new(7, 6, CTP_REC_RESUME, 85);
	inspect_last(0);
	CHECK_STR(states(), "5 suspended, 2 suspended, 9 suspended, 3 new, 6 running, 7 running, "
			    "8 ended");
	CHECK_EQ(rec.by_state[TRACE_STATE_SUSPENDED], 3);
	CHECK_EQ(rec.by_state[TRACE_STATE_NEW], 1);
	CHECK_EQ(rec.by_state[TRACE_STATE_RUNNING], 2);
	CHECK_EQ(rec.by_state[TRACE_STATE_ENDED], 1);
	CHECK_EQ(rec.coroutines[0].unit, 4);
	CHECK_EQ(rec.coroutines[2].unit, 3);
	recover_close(&rec);
	inspect((struct recover_options){ .unordered = true });
	CHECK_STR(states(), "7 running, 3 new, 9 suspended, 5 suspended, 2 suspended, 8 ended, "
			    "6 running");
	CHECK_EQ(rec.by_state[TRACE_STATE_SUSPENDED], 3);
	recover_close(&rec);
}

/* More than the first allocation has room for. */
static void there_may_be_many(void)
{
	uint32_t i;

	region_new();
	for (i = 0; i < 200; i++)
		life_new(i, 1000 + i, CTP_REC_SUSPEND, 300 - i);
	inspect_last(0);
	CHECK_EQ(rec.nr_coroutines, 200);
	for (i = 0; i < 200; i++)
		CHECK_EQ(rec.coroutines[i].co.probe_id, 1199 - i);
	recover_close(&rec);
}

static void details_of_a_coroutine_are_copied(void)
{
	struct ctp_life *life;
	const struct recover_coroutine *c;

	region_new();
	life = life_new(2, 11, CTP_REC_SUSPEND | CTP_REC_HAS_MORE, 70);
	life->state |= CTP_REASON_CHANNEL_RECV << 8;
	life->resource = 0xabc;
	life->addr = 0x1234;
	life->events = 12;
	life->dropped = 2;
	life->parent = 4;
	life->site = 1;
	life->birth_site = 2;
	memcpy(life->name, "a coroutine with thirty-two bytes", CTP_LIFE_NAME_SIZE);
	life->name_size = CTP_LIFE_NAME_SIZE;
	reg.lanes_ext->sites.used = 2;
	reg.sites[0] = (struct ctp_site){ .ready = 1, .line = 5, .file = "a.c", .function = "f" };
	reg.sites[1] = (struct ctp_site){ .ready = 1, .line = 6, .file = "b.c", .function = "g" };
	inspect_last(0);
	CHECK_EQ(rec.nr_coroutines, 1);
	c = &rec.coroutines[0];
	CHECK_STR(c->name, "a coroutine with thirty-two byte");
	CHECK(!c->co.name);
	CHECK_EQ(c->co.reason, CTP_REASON_CHANNEL_RECV);
	CHECK(c->co.has_resource);
	CHECK_EQ(c->co.resource, 0xabc);
	CHECK_EQ(c->co.addr, 0x1234);
	CHECK_EQ(c->co.written, 12);
	CHECK_EQ(c->co.lost, 2);
	CHECK_EQ(c->co.parent, 4);
	CHECK_EQ(c->co.since_ts, B + 70);
	CHECK_EQ(c->co.birth_ts, B + 1);
	CHECK_STR(recover_site(&rec, c->co.site)->function, "f");
	CHECK_STR(recover_site(&rec, c->co.birth_site)->function, "g");
	CHECK_EQ(c->unit, 2);
	CHECK_EQ(c->tid, 0);
	recover_close(&rec);
}

static uint64_t woken_of(uint64_t id)
{
	size_t i;

	for (i = 0; i < rec.nr_coroutines; i++) {
		if (rec.coroutines[i].co.probe_id == id)
			return rec.coroutines[i].woken_ts ? rec.coroutines[i].woken_ts - B : 0;
	}
	CHECK(!"there");
	return 0;
}

static void a_wake_counts_until_the_coroutine_runs(void)
{
	region_new();
	lane_new(0);
	put(0, 50, 1, CTP_REC_WAKE)->seq = 4;
	put(0, 51, 2, CTP_REC_WAKE)->seq = 4;
	put(0, 52, 3, CTP_REC_WAKE)->seq = 3;
	put(0, 53, 4, CTP_REC_WAKE)->seq = 4;
	put(0, 54, 4, CTP_REC_WAKE)->seq = 4;
	life_new(0, 1, CTP_REC_SUSPEND, 50)->events = 9; /* at the same time */
	life_new(1, 2, CTP_REC_SUSPEND, 60)->events = 4; /* the waker had seen the suspend */
	life_new(2, 3, CTP_REC_SUSPEND, 60)->events = 4; /* an earlier wait */
	life_new(3, 4, CTP_REC_RESUME, 20)->events = 4;  /* it runs */
	life_new(4, 5, CTP_REC_SUSPEND, 20)->events = 4; /* not woken */
	inspect_last(9);
	CHECK_EQ(woken_of(1), 50);
	CHECK_EQ(woken_of(2), 51);
	CHECK_EQ(woken_of(3), 0);
	CHECK_EQ(woken_of(4), 0);
	CHECK_EQ(woken_of(5), 0);
	recover_close(&rec);
}

static void the_thread_of_the_last_transition_is_found(void)
{
	two_threads();
	put(0, 45, 2, CTP_REC_RESUME)->seq = 2;
	put(0, 46, 1, CTP_REC_WAKE)->seq = 2; /* not a transition */
	life_new(0, 1, CTP_REC_SUSPEND, 30);
	life_new(1, 2, CTP_REC_RESUME, 45);
	life_new(2, 9, CTP_REC_RESUME, 45);
	inspect((struct recover_options){ .threads = true, .unordered = true });
	CHECK_EQ(rec.coroutines[0].tid, 100);
	CHECK_EQ(rec.coroutines[1].tid, 100);
	CHECK_EQ(rec.coroutines[2].tid, 0);
	recover_close(&rec);
	inspect_last(3);
	CHECK_EQ(rec.coroutines[0].tid, 0); /* not asked for */
	recover_close(&rec);
}

/* ---- stations --------------------------------------------------------------------------- */

/* Eight slots, so events are found in any order. */
static void stations_have_states_and_threads(void)
{
	struct ctp_station *st;

	region_new();
	reg.header->allocated_count = 4;
	st = reg.stations;
	st[0].probe_id = 50;
	st[0].birth_ts = B + 1;
	ctp_slot_write(&st[0].slots[0], 2, B + 10, 200, 0, 1);
	ctp_slot_write(&st[0].slots[1], 2, B + 20, 201, 0x77, 0);
	st[1].probe_id = 51;
	st[1].birth_ts = B + 2;
	ctp_slot_write(&st[1].slots[0], 2, B + 30, 201, 0, 1);
	st[2].probe_id = 52;
	st[2].birth_ts = B + 3;
	st[3].probe_id = 53;
	st[3].birth_ts = B + 4;
	st[3].is_dead = 1;
	ctp_slot_write(&st[3].slots[0], 2, B + 15, 201, 0, 1);
	inspect((struct recover_options){ .last = 2, .threads = true });
	CHECK_STR(states(), "50 suspended, 52 new, 51 running");
	CHECK_EQ(rec.coroutines[0].co.since_ts, B + 20);
	CHECK_EQ(rec.coroutines[0].co.addr, 0x77);
	CHECK_EQ(rec.coroutines[0].tid, 201);
	CHECK_EQ(rec.coroutines[0].unit, 0);
	CHECK_EQ(rec.coroutines[1].co.since_ts, B + 3);
	CHECK_EQ(rec.coroutines[1].tid, 0);
	CHECK_EQ(rec.coroutines[2].co.since_ts, B + 30);
	CHECK_EQ(rec.coroutines[2].tid, 201);
	CHECK_EQ(rec.coroutines[2].co.addr, 0);
	CHECK_EQ(rec.nr_threads, 2);
	CHECK_EQ(rec.threads[0].tid, 200);
	CHECK_EQ(rec.threads[0].lane, TRACE_LANE_STATIONS);
	CHECK_STR(last_events(0), "10r*");
	CHECK_EQ(rec.threads[1].tid, 201);
	CHECK_EQ(rec.threads[1].events, 3);
	CHECK_STR(last_events(1), "20s* 30r*"); /* without the oldest, which was found last */
	recover_close(&rec);
	inspect_last(3);
	CHECK_STR(last_events(1), "15r* 20s* 30r*");
	CHECK_EQ(rec.coroutines[0].tid, 0);
	recover_close(&rec);
}

/* ---- sites ---------------------------------------------------------------------------------- */

static void sites_are_known_by_their_numbers(void)
{
	const struct trace_site *site;

	region_new();
	reg.lanes_ext->sites.used = 3;
	reg.sites[0] = (struct ctp_site){ .ready = 1, .line = 5, .pid = 8 };
	memset(reg.sites[0].file, 'x', sizeof(reg.sites[0].file)); /* not terminated */
	memset(reg.sites[0].function, 'y', sizeof(reg.sites[0].function));
	reg.sites[1] = (struct ctp_site){ .line = 6, .file = "b.c", .function = "g" };
	reg.sites[2] = (struct ctp_site){ .ready = 1, .line = 7, .file = "c.c", .function = "h" };
	inspect_last(0);
	site = recover_site(&rec, 1);
	CHECK(site != NULL);
	CHECK_EQ(site->id, 1);
	CHECK_EQ(site->line, 5);
	CHECK_EQ(site->pid, 8);
	CHECK_EQ(strlen(site->file), CTP_SITE_FILE_SIZE);
	CHECK_EQ(strlen(site->function), CTP_SITE_FUNCTION_SIZE);
	CHECK(!recover_site(&rec, 2)); /* being written */
	site = recover_site(&rec, 3);
	CHECK(site != NULL);
	CHECK_EQ(site->id, 3);
	CHECK_STR(site->file, "c.c");
	CHECK_STR(site->function, "h");
	CHECK(!recover_site(&rec, 4) && !recover_site(&rec, 0));
	recover_close(&rec);
}

/* ---- processes and time ------------------------------------------------------------------------
 */

static uint32_t pid_of_the_past(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	return (uint32_t)pid;
}

/* A process that does not use the region. */
static uint32_t other_process(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	CHECK_EQ(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		munmap(reg.header, reg.size);
		CHECK_EQ(write(ready[1], "x", 1), 1);
		for (;;)
			pause();
	}
	CHECK(pid > 0);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return (uint32_t)pid;
}

static const struct recover_process *process_of(uint32_t pid)
{
	size_t i;

	for (i = 0; i < rec.nr_processes; i++) {
		CHECK(!i || rec.processes[i - 1].pid < rec.processes[i].pid);
		if (rec.processes[i].pid == pid)
			return &rec.processes[i];
	}
	CHECK(!"there");
	return NULL;
}

static void processes_may_have_ended(void)
{
	uint32_t gone = pid_of_the_past(), other;

	region_new();
	other = other_process();
	lane_new(0);
	lane_new(1)->pid = gone;
	lane_new(2)->pid = other;
	life_new(0, 1, CTP_REC_SUSPEND, 30);
	life_new(1, 2, CTP_REC_SUSPEND, 30)->pid = 4000000000u;
	inspect_last(0);
	CHECK_EQ(rec.nr_processes, 4);
	CHECK_EQ(process_of((uint32_t)getpid())->life, PROCESS_THERE);
	CHECK(!strncmp(process_of((uint32_t)getpid())->command, "test_region_ins", 15));
	CHECK_EQ(process_of(gone)->life, PROCESS_GONE);
	CHECK_EQ(process_of(other)->life, PROCESS_OTHER);
	CHECK_STR(process_of(other)->command, "");
	CHECK_EQ(process_of(4000000000u)->life, PROCESS_GONE);
	CHECK(recover_goes_on(&rec));
	recover_close(&rec);
	reg.lanes[0].pid = gone;
	reg.lives[0].pid = gone;
	inspect_last(0);
	CHECK_EQ(rec.nr_processes, 3);
	CHECK(!recover_goes_on(&rec));
	recover_close(&rec);
	kill((pid_t)other, SIGKILL);
	waitpid((pid_t)other, NULL, 0);
}

static void ages_refer_to_the_last_known_moment(void)
{
	uint32_t gone = pid_of_the_past();

	region_new();
	lane_new(0);
	put(0, 20, 1, CTP_REC_RESUME);
	inspect_last(0);
	CHECK(rec.same_time);
	CHECK_EQ(rec.now_ns, B + 6000);
	CHECK_EQ(recover_moment(&rec), B + 6000); /* it goes on */
	recover_close(&rec);
	reg.lanes[0].pid = gone;
	inspect_last(0);
	CHECK_EQ(recover_moment(&rec), B + 500); /* the collector's last look */
	recover_close(&rec);
	put(0, 700, 1, CTP_REC_SUSPEND)->seq = 1;
	inspect_last(0);
	CHECK_EQ(recover_moment(&rec), B + 700); /* the last event */
	recover_close(&rec);
	life_new(0, 3, CTP_REC_SUSPEND, 800)->pid = gone;
	life_new(1, 4, CTP_REC_SUSPEND, 750)->pid = gone;
	inspect_last(0);
	CHECK_EQ(recover_moment(&rec), B + 800); /* a state */
	recover_close(&rec);
	/* Another machine's clock: its last look cannot be compared. */
	reading = (struct tick_mark){ 7, B + 5000, 0 };
	reg.ext->clock_ticks = reg.ext->clock_ns = B + 900;
	reg.lanes[0].pid = (uint32_t)getpid();
	inspect_last(0);
	CHECK(!rec.same_time);
	CHECK_EQ(recover_moment(&rec), B + 800);
	recover_close(&rec);
}

/* ---- the trace
 * ------------------------------------------------------------------------------------ */

static struct seen written_trace(struct recover_options options)
{
	static char path[600];
	struct seen seen;

	snprintf(path, sizeof(path), "%s/out.jsonl", scratch);
	options.output = path;
	inspect(options);
	CHECK_EQ(rec.output.code, 0);
	CHECK_EQ(rec.sidecar.code, 0);
	seen = read_trace(path);
	CHECK_EQ(seen.nr_runs, 1);
	CHECK_EQ(seen.nr_totals, 1);
	CHECK_STR(seen.tool, "corotracer test");
	CHECK_EQ(seen.run.stations, REGION_FILE_STATIONS);
	CHECK_EQ(seen.totals.exit_status, -1);
	CHECK(!seen.totals.complete);
	CHECK_EQ(seen.totals.end_ts, recover_moment(&rec));
	CHECK_EQ(seen.totals.coroutines, rec.nr_coroutines);
	unlink(path);
	strcat(path, ".meta");
	unlink(path);
	return seen;
}

static void events_that_were_not_read_become_a_trace(void)
{
	struct seen s;

	two_threads();
	life_new(0, 1, CTP_REC_SUSPEND, 30);
	reg.lanes_ext->homeless = 3;
	s = written_trace((struct recover_options){ .last = 1 });
	CHECK_STR(text, "suspend 1\nwake 2 by 1\ngap 5 6\nleft 1 suspended\n");
	CHECK_EQ(s.nr_processes, 1);
	CHECK_EQ(s.totals.collected, 1);
	CHECK_EQ(s.totals.others_collected, 1);
	CHECK_EQ(s.totals.lost_full, 5 + 3);
	CHECK_EQ(s.totals.lost, 5 + 3);
	CHECK_EQ(s.totals.lost_output, 0);
	CHECK_EQ(s.totals.written, 1 + 5 + 3);
	CHECK_EQ(s.totals.others_lost, 6);
	CHECK_EQ(s.totals.others_written, 1 + 6);
	CHECK_EQ(rec.written.written, 1);
	recover_close(&rec);
	s = written_trace((struct recover_options){ .all = true });
	CHECK_STR(text,
		  "birth 1 of 0 alpha\nresume 1\nresume 2\nsuspend 1\nwake 2 by 1\nsuspend 2\n"
		  "gap 5 6\nleft 1 suspended\n");
	CHECK_EQ(s.totals.collected, 4);
	CHECK_EQ(s.totals.others_collected, 2);
	recover_close(&rec);
}

static void sites_and_stations_are_in_the_trace(void)
{
	struct seen s;

	region_new();
	lane_new(0);
	put(0, 20, 1, CTP_REC_SUSPEND)->site = 2;
	reg.lanes_ext->sites.used = 2;
	reg.sites[1] = (struct ctp_site){ .ready = 1, .line = 7, .file = "c.c", .function = "h" };
	reg.header->allocated_count = 2;
	reg.stations[0].probe_id = 50;
	reg.stations[0].birth_ts = B + 1;
	ctp_slot_write(&reg.stations[0].slots[0], 2, B + 10, 200, 0, 1);
	reg.stations[1].probe_id = 51;
	reg.stations[1].birth_ts = B + 1;
	reg.stations[1].is_dead = 1;
	s = written_trace((struct recover_options){ .last = 1 });
	CHECK_STR(text, "suspend 1 c.c:7 h\nresume 50\nleft 50 running\nleft 51 ended dead\n");
	CHECK_EQ(rec.nr_coroutines, 1); /* one of the two is there */
	CHECK_EQ(s.totals.collected, 2);
	/* Since when the region exists, on the clock of its events. */
	CHECK_EQ(s.run.start_realtime / NS_PER_SEC, rec.image.made);
	recover_close(&rec);
}

static void a_trace_that_cannot_be_written_is_an_error(void)
{
	struct recover_options options = { .output = "/nonexistent/dir/trace", .tool = "t" };
	struct err err = { 0 };

	two_threads();
	CHECK_EQ(recover_open(&rec, reg.path, &options, &err), -ENOENT);
	CHECK(err.text[0] != '\0');
	CHECK(!rec.threads && !rec.image.map);
	options.output = NULL;
	options.join = true;
	err = (struct err){ 0 };
	CHECK_EQ(recover_open(&rec, reg.path, &options, &err), -ENOENT);
	CHECK(strstr(err.text, "left no account of its trace") != NULL);
	is_live = true;
	err = (struct err){ 0 };
	CHECK_EQ(recover_open(&rec, reg.path, &options, &err), -EBUSY);
	CHECK(strstr(err.text, "is running") != NULL);
	CHECK(err.hint[0] != '\0');
	is_live = false;
	err = (struct err){ 0 };
	CHECK_EQ(recover_open(&rec, "/nonexistent/region", &options, &err), -ENOENT);
}

static void inspect_and_close(void)
{
	inspect((struct recover_options){ .last = 4, .threads = true });
	recover_close(&rec);
}

static void nothing_is_kept_after_the_end(void)
{
	two_threads();
	life_new(0, 1, CTP_REC_SUSPEND, 30);
	reg.lanes_ext->sites.used = 1;
	reg.sites[0] = (struct ctp_site){ .ready = 1, .line = 7, .file = "c.c", .function = "h" };
	check_keeps_no_memory(inspect_and_close);
}

int main(void)
{
	bed_prepare();
	region_file_begin();
	RUN(each_thread_has_its_last_events);
	RUN(names_are_copied);
	RUN(events_of_one_coroutine_can_be_kept);
	RUN(records_are_counted_since_the_lane_was_opened);
	RUN(coroutines_that_wait_the_longest_come_first);
	RUN(there_may_be_many);
	RUN(details_of_a_coroutine_are_copied);
	RUN(a_wake_counts_until_the_coroutine_runs);
	RUN(the_thread_of_the_last_transition_is_found);
	RUN(stations_have_states_and_threads);
	RUN(sites_are_known_by_their_numbers);
	RUN(processes_may_have_ended);
	RUN(ages_refer_to_the_last_known_moment);
	RUN(events_that_were_not_read_become_a_trace);
	RUN(sites_and_stations_are_in_the_trace);
	RUN(a_trace_that_cannot_be_written_is_an_error);
	RUN(nothing_is_kept_after_the_end);
	scratch_clean(scratch);
	return 0;
}
