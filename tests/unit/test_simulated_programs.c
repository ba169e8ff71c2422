/* SPDX-License-Identifier: MIT */
/*
 * test_simulated_programs.c - findings of small programs that are simulated: workers with queues,
 * locks, timers, files, children and long slices, on a few threads, each with some faults.
 *
 * Which coroutines there are, what they wait for and what goes wrong depends on a number alone. All
 * findings are compared with tests/fixtures/golden/simulated.txt, and some reports as a whole.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "analyze/report.h"
#include "check.h"
#include "golden.h"

#define PROGRAMS 56u
#define COROS    160u
#define LOCKS    3u
#define QUEUES   3u
#define THREADS  4u
#define MS       UINT64_C(1000000)
#define START    (UINT64_C(1000) * 1000 * MS)

enum role {
	ROLE_WORKER,
	ROLE_PRODUCER,
	ROLE_TICKER,
	ROLE_LOCKER,
	ROLE_HOG,
	ROLE_SPAWNER,
	ROLE_YIELDER,
	ROLE_READER,
	ROLE_CHILD,
	NR_ROLES
};

static const char *const role_names[] = { "worker",  "producer", "ticker", "locker", "hog",
					  "spawner", "yielder",  "reader", "child" };

/* What may go wrong; the others are in sim_program(). */
enum {
	FAULT_MIGRATION = 1 << 14,  /* any thread resumes */
	FAULT_HERD = 1 << 15,       /* all waiters are woken */
	FAULT_LEAK = 1 << 16,       /* children come fast, and stay */
	FAULT_DOUBLE = 1 << 17,     /* resumed twice */
	FAULT_NEVER_RUN = 1 << 18,  /* children that never run */
	FAULT_SWITCHES = 1 << 19,   /* switches of threads are recorded */
	FAULT_NAMES = 1 << 20,      /* long names */
	FAULT_EARLY = 1 << 21,      /* woken before it suspends */
	FAULT_AFTER_END = 1 << 22,  /* resumed after its end */
	FAULT_STARVATION = 1 << 23, /* others are ready for long */
	FAULT_ADDRESS = 1 << 24,    /* addresses without sites */
	NR_FAULTS = 25,
};

struct sim_coro {
	bool is_alive, is_running, is_stuck;
	enum role role;
	uint64_t at;        /* time of its next step; 0: it is woken by another one */
	unsigned waits_for; /* queue, 0: none */
	unsigned lock;      /* 1 + the lock that it waits for or holds */
	bool has_lock;
	unsigned steps, events;
};

#define LONG "0123456789012345678901234567890"
static const char *const long_names[] = { LONG LONG LONG LONG,
					  LONG "0123456789012345678901234567\xc3\xa9 and more",
					  "handle request 17" };

struct sim_program {
	uint64_t seed, now, end;
	struct sim_coro coros[COROS];
	unsigned nr, threads, faults;
	bool is_plain;      /* a trace of another tool: transitions alone */
	uint64_t first_tid; /* of its threads */
	int owners[LOCKS];  /* -1: free */
	uint64_t busy[THREADS];
	struct analysis *a;
};

static uint64_t sim_some(struct sim_program *p, uint64_t below)
{
	p->seed ^= p->seed << 13;
	p->seed ^= p->seed >> 7;
	p->seed ^= p->seed << 17;
	return (p->seed >> 8) % below;
}

/* ---- events ------------------------------------------------------------------------------ */

static void sim_item(struct sim_program *p, const struct trace_item *item)
{
	CHECK_EQ(analysis_add(p->a, item), 0);
}

static uint64_t sim_thread(const struct sim_program *p, unsigned co)
{
	if (p->faults & FAULT_MIGRATION)
		return p->first_tid + (co + p->coros[co].steps) % p->threads;
	return p->first_tid + co % p->threads;
}

static void sim_event(struct sim_program *p, unsigned kind, unsigned co, struct trace_event ev)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_EVENT);
	ev.kind = (uint8_t)kind;
	ev.is_active = kind == TRACE_RESUME;
	ev.ts = p->now;
	ev.probe_id = 1 + co;
	ev.tid = ev.tid ? ev.tid : sim_thread(p, co);
	ev.seq = kind <= TRACE_RESUME ? 2 : 0;
	ev.station = TRACE_NO_STATION;
	ev.name_size = ev.name ? (uint32_t)strlen(ev.name) : 0;
	if (p->faults & FAULT_ADDRESS && kind == TRACE_SUSPEND && co % 2) {
		ev.site = 0;
		ev.addr = co % 4 == 1 ? 0x401000 + co : 0x10;
	}
	if (kind == TRACE_BIRTH || (kind >= TRACE_CLOSE && kind <= TRACE_RELEASE))
		ev.pid = 50;
	if (ev.resource)
		ev.flags |= TRACE_HAS_RESOURCE;
	if (p->is_plain && kind > TRACE_RESUME)
		return;
	if (p->is_plain)
		ev = (struct trace_event){ .kind = ev.kind,
					   .is_active = ev.is_active,
					   .ts = ev.ts,
					   .probe_id = ev.probe_id,
					   .tid = ev.tid,
					   .seq = 2 * (p->coros[co].events++ / 8) + 2,
					   .station = co,
					   .addr = kind == TRACE_SUSPEND
							   ? 0x401000 + 16 * p->coros[co].role
							   : 0 };
	item.event = ev;
	sim_item(p, &item);
	p->now += 1000;
}

#define SIM_EVENT(p, kind, co, ...) \
	sim_event(p, TRACE_##kind, co, (struct trace_event){ __VA_ARGS__ })

static unsigned sim_born(struct sim_program *p, enum role role, unsigned parent)
{
	struct sim_coro *c = &p->coros[p->nr];

	*c = (struct sim_coro){ .is_alive = true,
				.role = role,
				.at = p->now + sim_some(p, 20) * MS };
	SIM_EVENT(p, BIRTH, p->nr, .peer = parent, .site = 1 + role,
		  .name = p->faults & FAULT_NAMES ? long_names[p->nr % 3] : role_names[role],
		  .tid = sim_thread(p, parent));
	return p->nr++;
}

static void sim_switch(struct sim_program *p, unsigned co, const char *state, uint64_t from,
		       uint64_t to)
{
	struct trace_item item;

	if (!(p->faults & FAULT_SWITCHES))
		return;
	trace_item_init(&item, TRACE_ITEM_SWITCH);
	item.switched = (struct trace_switch){ .pid = 50,
					       .tid = to ? sim_thread(p, co) : 0,
					       .from_ts = from,
					       .to_ts = to ? to : from,
					       .cpu = co % 3,
					       .state = state };
	sim_item(p, &item);
}

static void sim_resume(struct sim_program *p, unsigned co)
{
	p->coros[co].is_running = true;
	SIM_EVENT(p, RESUME, co, 0);
	if (p->faults & FAULT_DOUBLE && p->coros[co].steps == 7)
		SIM_EVENT(p, RESUME, co, .tid = 100);
}

static void sim_suspend(struct sim_program *p, unsigned co, unsigned reason, uint64_t resource,
			uint64_t until)
{
	p->coros[co].is_running = false;
	p->coros[co].at = until;
	SIM_EVENT(p, SUSPEND, co, .site = 20 + p->coros[co].role, .reason = (uint8_t)reason,
		  .resource = resource);
}

static void sim_wake(struct sim_program *p, unsigned co, unsigned waker)
{
	if (p->coros[co].is_stuck)
		return; /* the wake-up is lost */
	SIM_EVENT(p, WAKE, co, .peer = 1 + waker, .site = 40 + p->coros[waker].role,
		  .tid = sim_thread(p, waker));
	p->coros[co].at = p->now + (1 + sim_some(p, 3)) * MS / 4;
	p->coros[co].waits_for = 0;
}

/* ---- what a coroutine does when it runs ------------------------------------------------------ */

static void sim_take_lock(struct sim_program *p, unsigned co)
{
	struct sim_coro *c = &p->coros[co];
	unsigned lock = c->lock - 1;

	if (p->owners[lock] < 0) {
		p->owners[lock] = (int)co;
		c->has_lock = true;
		SIM_EVENT(p, ACQUIRE, co, .site = 30, .resource = 0x9000 + lock);
		sim_suspend(p, co, TRACE_REASON_TIMER, 0, p->now + (1 + sim_some(p, 4)) * MS);
		return;
	}
	sim_suspend(p, co, TRACE_REASON_MUTEX, 0x9000 + lock, 0);
}

static void sim_give_lock(struct sim_program *p, unsigned co)
{
	struct sim_coro *c = &p->coros[co];
	unsigned lock = c->lock - 1, i;

	c->has_lock = false;
	c->lock = 0;
	p->owners[lock] = -1;
	SIM_EVENT(p, RELEASE, co, .site = 31, .resource = 0x9000 + lock);
	for (i = 0; i < p->nr; i++) {
		if (p->coros[i].is_alive && p->coros[i].lock == lock + 1 && !p->coros[i].at &&
		    !p->coros[i].is_running) {
			sim_wake(p, i, co);
			break;
		}
	}
}

static void sim_end(struct sim_program *p, unsigned co)
{
	p->coros[co].is_alive = p->coros[co].is_running = false;
	p->coros[co].at = 0;
	SIM_EVENT(p, END, co, .flags = p->faults & 64 && co % 3 == 0 ? TRACE_CANCELLED : 0);
	if (co % 2)
		SIM_EVENT(p, DESTROY, co, 0);
}

static void sim_lock_step(struct sim_program *p, unsigned co)
{
	struct sim_coro *c = &p->coros[co];

	if (c->has_lock && p->faults & 1 && c->steps > 12) {
		if (p->faults & 128)
			sim_end(p, co); /* with its lock */
		else
			sim_suspend(p, co, TRACE_REASON_MUTEX,
				    0x9000 + (unsigned)sim_some(p, LOCKS),
				    0); /* holds one, waits for another */
		return;
	}
	if (c->has_lock) {
		sim_give_lock(p, co);
		sim_suspend(p, co, TRACE_REASON_TIMER, 0, p->now + (2 + sim_some(p, 9)) * MS);
		return;
	}
	if (!c->lock)
		c->lock = 1 + (unsigned)sim_some(p, LOCKS);
	sim_take_lock(p, co);
}

static void sim_produce(struct sim_program *p, unsigned co)
{
	unsigned queue = 1 + (unsigned)sim_some(p, QUEUES), i;

	for (i = 0; i < p->nr; i++) {
		if (p->coros[i].is_alive && p->coros[i].waits_for == queue && !p->coros[i].at) {
			sim_wake(p, i, co);
			if (!(p->faults & FAULT_HERD))
				break;
		}
	}
	if (p->faults & 2 && p->coros[co].steps > 30) {
		sim_end(p, co); /* its queues are never filled again */
		return;
	}
	sim_suspend(p, co, TRACE_REASON_TIMER, 0, p->now + (5 + sim_some(p, 3)) * MS);
}

static void sim_work_long(struct sim_program *p, unsigned co)
{
	struct trace_item item;
	uint64_t from = p->now;

	p->now += (p->faults & 4 ? 40 + sim_some(p, 120) : 1) * MS;
	sim_switch(p, co, co % 2 ? TRACE_SWITCH_BLOCKED : TRACE_SWITCH_PREEMPTED, from + MS / 4,
		   p->now - MS / 4);
	if (p->faults & 8) { /* measured: in a system call, or on a processor */
		trace_item_init(&item, TRACE_ITEM_CPU);
		item.cpu = (struct trace_cpu){ .pid = 50,
					       .tid = sim_thread(p, co),
					       .from_ts = from,
					       .to_ts = p->now,
					       .state = co % 2 ? TRACE_CPU_BLOCKED
							       : TRACE_CPU_RUNNING,
					       .call = co % 2 ? "read" : NULL,
					       .cpu_ns = co % 2 ? MS : p->now - from };
		sim_item(p, &item);
	}
	sim_suspend(p, co, TRACE_REASON_TIMER, 0, p->now + (30 + sim_some(p, 40)) * MS);
}

static void sim_spawn(struct sim_program *p, unsigned co)
{
	unsigned child;

	if (p->nr < COROS) {
		child = sim_born(p, ROLE_CHILD, co);
		if (p->faults & 16 && sim_some(p, 4))
			p->coros[child].is_stuck = true; /* it will wait for ever */
		if (p->faults & FAULT_NEVER_RUN && child % 3 == 0)
			p->coros[child].at = 0;
	}
	if (p->faults & FAULT_LEAK) {
		sim_suspend(p, co, TRACE_REASON_TIMER, 0, p->now + 25 * MS);
		return;
	}
	sim_suspend(p, co, p->faults & 256 ? TRACE_REASON_JOIN : TRACE_REASON_TIMER,
		    p->faults & 256 ? p->nr : 0, p->now + (20 + sim_some(p, 60)) * MS);
}

static void sim_read(struct sim_program *p, unsigned co)
{
	if (p->faults & 32 && p->coros[co].steps > 5) {
		sim_suspend(p, co, TRACE_REASON_IO_READ, 5 + co, 0);
		SIM_EVENT(p, CLOSE, 0, .resource = 5 + co, .site = 32);
		return;
	}
	sim_suspend(p, co, TRACE_REASON_IO_READ, 5 + co, p->now + (3 + sim_some(p, 30)) * MS);
}

static void sim_run(struct sim_program *p, unsigned co)
{
	struct sim_coro *c = &p->coros[co];

	sim_resume(p, co);
	c->steps++;
	p->now += (10 + sim_some(p, 90)) * 1000;
	switch (c->role) {
	case ROLE_PRODUCER:
		sim_produce(p, co);
		break;
	case ROLE_TICKER:
		sim_suspend(p, co, TRACE_REASON_TIMER, 0,
			    p->now + 10 * MS * (p->faults & 512 && c->steps > 20 ? 100 : 1));
		break;
	case ROLE_LOCKER:
		sim_lock_step(p, co);
		break;
	case ROLE_HOG:
		sim_work_long(p, co);
		break;
	case ROLE_SPAWNER:
		sim_spawn(p, co);
		break;
	case ROLE_YIELDER:
		sim_suspend(p, co, p->faults & 1024 ? TRACE_REASON_YIELD : TRACE_REASON_UNKNOWN, 0,
			    p->now + (p->faults & 2048 ? 20000 : 4 * MS));
		break;
	case ROLE_READER:
		sim_read(p, co);
		break;
	case ROLE_CHILD:
		if (p->faults & FAULT_LEAK) {
			sim_suspend(p, co, TRACE_REASON_USER, 0, p->now + 200 * MS);
		} else if (c->steps > 2 && !c->is_stuck) {
			sim_end(p, co);
			if (p->faults & FAULT_AFTER_END)
				SIM_EVENT(p, RESUME, co, 0);
		} else
			sim_suspend(p, co, TRACE_REASON_USER, 0,
				    c->is_stuck ? 0 : p->now + (4 + sim_some(p, 9)) * MS);
		break;
	default:
		c->waits_for = 1 + (unsigned)sim_some(p, QUEUES);
		if (p->faults & 4096 && c->steps == 9)
			c->is_stuck = true;
		if (p->faults & FAULT_EARLY && c->steps == 8) {
			SIM_EVENT(p, WAKE, co, .peer = 2, .site = 41, .tid = 100);
			c->is_stuck = true;
		}
		sim_suspend(p, co, TRACE_REASON_CHANNEL_RECV, 0x7000 + c->waits_for, 0);
		break;
	}
}

/* ---- a program
 * ----------------------------------------------------------------------------------- */

static void sim_sites(struct sim_program *p)
{
	char function[32];
	struct trace_item item;
	uint32_t i;

	for (i = 1; i < 60; i++) {
		snprintf(function, sizeof(function), "function_%u", i);
		trace_item_init(&item, TRACE_ITEM_SITE);
		item.site = (struct trace_site){ .id = i,
						 .file = i % 2 ? "src/a.c" : "src/b.c",
						 .function = function,
						 .line = 10 * i };
		sim_item(p, &item);
	}
}

static void sim_loss(struct sim_program *p)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_GAP);
	item.gap.from_ts = START + 100 * MS;
	item.gap.to_ts = START + 300 * MS;
	item.gap.pid = 50;
	item.gap.tid = 101;
	item.gap.transitions = 6;
	item.gap.others = 2;
	sim_item(p, &item);
}

static void sim_totals(struct sim_program *p, bool has_losses)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_TOTALS);
	item.totals = (struct sidecar_totals){ .complete = !has_losses,
					       .end_ts = p->now,
					       .lost = has_losses ? 6 : 0,
					       .others_lost = has_losses ? 2 : 0,
					       .signal = p->faults & 8192 ? 9 : 0 };
	sim_item(p, &item);
}

static void sim_steps(struct sim_program *p)
{
	unsigned i, next;

	while (p->now < p->end) {
		next = COROS;
		for (i = 0; i < p->nr; i++) {
			if (p->coros[i].at && (next == COROS || p->coros[i].at < p->coros[next].at))
				next = i;
		}
		if (next == COROS)
			return;
		p->now = p->coros[next].at > p->now ? p->coros[next].at : p->now;
		/* A thread that is busy: what is ready waits, the last one longest. */
		if (p->faults & FAULT_STARVATION && next % 5 == 4 && p->coros[next].steps % 4 == 3)
			p->now += 8 * MS;
		sim_run(p, next);
	}
}

/* Programs one after the other, in a trace without anything but transitions. */
static struct analysis *sim_plain(unsigned number, unsigned nr_runs)
{
	struct analysis *a = analysis_new(NULL);
	uint64_t now = START;
	unsigned run, i;

	CHECK(a);
	for (run = 0; run < nr_runs; run++) {
		struct sim_program p = { .a = a,
					 .now = now,
					 .seed = 77 + UINT64_C(7919) * 1000003 * (number + run),
					 .is_plain = true,
					 .first_tid = 100 + 10 * run,
					 .threads = 2,
					 .faults = (number * 37 + run) & 0x1bff };

		for (i = 0; i < LOCKS; i++)
			p.owners[i] = -1;
		p.end = now + (run == 1 && number % 2 ? 20 : 1200) * MS;
		for (i = 0; i < NR_ROLES - 1; i++)
			sim_born(&p, (enum role)i, 0);
		sim_steps(&p);
		now = p.now + 1500 * MS;
	}
	CHECK_EQ(analysis_finish(a, NULL), 0);
	return a;
}

static struct analysis *sim_program(unsigned number)
{
	struct sim_program p = { .first_tid = 100,
				 .seed = UINT64_C(88172645463325252) +
					 number * UINT64_C(7919) * 1000003,
				 .now = START };
	struct trace_item item;
	unsigned i, nr;

	p.a = analysis_new(NULL);
	CHECK(p.a);
	p.threads = 1 + (unsigned)sim_some(&p, THREADS);
	p.faults = number < 13 ? 1u << number
			       : (unsigned)sim_some(&p, 16384) & (unsigned)sim_some(&p, 16384);
	p.end = START + (number % 5 ? 4000 : 1500) * MS;
	for (i = 0; i < LOCKS; i++)
		p.owners[i] = -1;
	trace_item_init(&item, TRACE_ITEM_RUN);
	sim_item(&p, &item);
	sim_sites(&p);
	sim_switch(&p, 0, TRACE_SWITCH_RECORDED, START, 0);
	if (number % 2)
		sim_switch(&p, 0, TRACE_SWITCH_WAKES, START, 0);
	nr = 6 + (unsigned)sim_some(&p, 14);
	for (i = 0; i < nr; i++)
		sim_born(&p, (enum role)(i < NR_ROLES - 1 ? i : sim_some(&p, NR_ROLES - 1)), 0);
	if (number % 7 == 3)
		sim_loss(&p);
	sim_steps(&p);
	if (number % 6 != 4)
		sim_totals(&p, number % 7 == 3);
	CHECK_EQ(analysis_finish(p.a, NULL), 0);
	return p.a;
}

/* ---- what was found
 * -------------------------------------------------------------------------------- */

static void sim_show(FILE *out, const struct analysis *a)
{
	size_t i;
	unsigned k, at_exit = 0;

	fprintf(out, " %llu transitions, %llu others, %u threads, %u kinds, %u places\n",
		(unsigned long long)a->model.events, (unsigned long long)a->model.others,
		(unsigned)a->model.nr_threads, (unsigned)a->model.nr_spawns,
		(unsigned)a->model.nr_places);
	for (i = 0; i < a->findings.nr; i++) {
		const struct group *g = &a->findings.groups[i];

		at_exit += !strcmp(g->detector->name, "suspended-at-exit");
		if (at_exit > 2 && !strcmp(g->detector->name, "suspended-at-exit"))
			continue;
		fprintf(out, " %s %s: %llu of %u coroutines, %.3f ms, chain %u, %s\n",
			confidence_name(g->confidence), g->detector->name,
			(unsigned long long)g->count, (unsigned)g->affected.nr,
			(double)g->oldest_ns / 1e6, g->nr_chain, g->finding.detail);
		if (g->finding.hint[0])
			fprintf(out, "  hint %s\n", g->finding.hint);
		if (g->finding.doubt)
			fprintf(out, "  doubt %s\n", g->finding.doubt);
		for (k = 0; k < g->finding.nr_evidence; k++)
			fprintf(out, "  %u %s\n", g->finding.evidence[k].role,
				g->finding.evidence[k].text);
	}
}

static void findings_are_as_in_the_golden_file(void)
{
	char *text = NULL;
	size_t size;
	unsigned i;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	for (i = 0; i < PROGRAMS; i++) {
		struct analysis *a = sim_program(i);

		fprintf(out, "program %u:", i);
		sim_show(out, a);
		analysis_free(a);
	}
	for (i = 0; i < 8; i++) {
		struct analysis *a = sim_plain(i, 1 + i % 4);

		fprintf(out, "%u plain programs, %u runs:", 1 + i % 4, a->runs.nr + 1);
		sim_show(out, a);
		analysis_free(a);
	}
	fclose(out);
	golden_check("simulated.txt", text);
	free(text);
}

static void reports_are_as_in_the_golden_file(void)
{
	static const unsigned chosen[] = {
		0, 3, 19, 20, 30, 1000 + 2, 1000 + 3
	}; /* from 1000 on: plain ones */
	struct trace_stats stats = { 0 };
	char *text = NULL;
	size_t size, i;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	for (i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++) {
		struct analysis *a = chosen[i] < 1000 ? sim_program(chosen[i])
						      : sim_plain(chosen[i], 3);
		struct report r = { .trace = "simulated.jsonl",
				    .analysis = a,
				    .stats = &stats,
				    .least = CONFIDENCE_INFO,
				    .gate = CONFIDENCE_STRONG,
				    .source_root = "/src",
				    .columns = 100,
				    .all = true };

		CHECK_EQ(report_text(&r, out), 0);
		analysis_free(a);
	}
	fclose(out);
	golden_check("simulated_reports.txt", text);
	free(text);
}

int main(void)
{
	RUN(findings_are_as_in_the_golden_file);
	RUN(reports_are_as_in_the_golden_file);
	return 0;
}
