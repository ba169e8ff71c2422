/* SPDX-License-Identifier: MIT */
/* picture_bed.h - pictures of `top` that are written by hand: coroutines, threads and sites. */
#ifndef PICTURE_BED_H
#define PICTURE_BED_H

#include "base/monotonic.h"
#include "check.h"
#include "top/top_rows.h"
#include "trace/event.h"

#define PICTURE_MOMENT (1000 * NS_PER_SEC)
#define PICTURE_ROWS   200u
#define PICTURE_EVENTS 16u

#pragma GCC diagnostic ignored "-Wunused-function"

static struct recover_coroutine coroutines[PICTURE_ROWS];
static struct top_row rows_of[PICTURE_ROWS];
static struct recover_thread threads[2];
static struct recover_event events_of[2][PICTURE_EVENTS];
static struct recover_process processes[2];
static struct trace_site sites[3];
static struct top_picture p;

static void picture_new(void)
{
	unsigned i;

	memset(&p, 0, sizeof(p));
	memset(events_of, 0, sizeof(events_of));
	for (i = 0; i < 2; i++)
		threads[i] = (struct recover_thread){ .tid = 100 + i,
						      .pid = 77,
						      .last = events_of[i] };
	sites[0] = (struct trace_site){ 1, 10, 77, "/src/main.c", "main" };
	sites[1] = (struct trace_site){ 2, 20, 77, "read.c", "reader" };
	sites[2] = (struct trace_site){ 3, 30, 77, "/a/b/lock.c", "take" };
	p.rows = rows_of;
	p.moment = PICTURE_MOMENT;
	p.up_ns = 500 * NS_PER_SEC;
	p.r.threads = threads;
	p.r.nr_threads = 2;
	p.r.processes = processes;
	p.r.nr_processes = 1;
	p.r.sites = sites;
	p.r.nr_sites = 3;
}

/* Since @ago_ns in its state; ids are 1, 2 ... */
static struct recover_coroutine *add(const char *name, enum trace_state state, uint64_t ago_ns)
{
	struct recover_coroutine *c = &coroutines[p.nr];

	CHECK(p.nr < PICTURE_ROWS);
	*c = (struct recover_coroutine){ .unit = (uint32_t)p.nr };
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->co.probe_id = p.nr + 1;
	c->co.pid = 77;
	c->co.state = (uint8_t)state;
	c->co.since_ts = PICTURE_MOMENT - ago_ns;
	rows_of[p.nr++] = (struct top_row){ .c = c, .state = (uint8_t)state };
	return c;
}

static struct recover_coroutine *waits(struct recover_coroutine *c, uint8_t reason,
				       uint64_t resource)
{
	c->co.reason = reason;
	c->co.has_resource = true;
	c->co.resource = resource;
	return c;
}

static struct trace_event *happened(unsigned thread, uint8_t kind, uint64_t id, uint64_t ago_ns)
{
	struct recover_thread *t = &threads[thread];
	struct trace_event *ev = &events_of[thread][t->nr_last++].ev;

	CHECK(t->nr_last <= PICTURE_EVENTS);
	trace_event_init(ev);
	ev->kind = kind;
	ev->is_active = kind == TRACE_RESUME;
	ev->pid = 77;
	ev->tid = t->tid;
	ev->probe_id = id;
	ev->ts = PICTURE_MOMENT - ago_ns;
	return ev;
}

#endif
