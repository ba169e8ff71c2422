/* SPDX-License-Identifier: MIT */
/* shown_program.h - a program that `corotracer top` shows, and keys that are pressed meanwhile. */
#ifndef TESTS_SHOWN_PROGRAM_H
#define TESTS_SHOWN_PROGRAM_H

#include "live/paper_screen.h"
#include "top/top_screen.h"

#define SECOND     UINT64_C(1000000000)
#define MOMENT     (1000 * SECOND)
#define ROWS_MAX   64
#define EVENTS_MAX 8

/* The program that is shown. */
static struct {
	struct recover_coroutine coroutines[ROWS_MAX];
	struct top_row rows[ROWS_MAX];
	struct recover_thread threads[2];
	struct recover_event events[2][EVENTS_MAX];
	struct recover_process processes[2];
	size_t nr_processes;
	struct trace_site sites[4];
	size_t nr;
	uint64_t lost;
	int fails; /* the error of all pictures but the first */
	unsigned nr_pictures, nr_open;
	uint64_t asked_for;
	bool asked_events, has_cpu, is_utf8, is_silent;
	uint64_t up_s;
	uint32_t interval_ms; /* 0: a minute */
	const char *status;   /* of the collector */
} shown;

int __wrap_top_picture_take(struct top_source *s, struct top_picture *p, uint64_t of,
			    struct err *err);
void __wrap_top_picture_release(struct top_picture *p);
int __wrap_top_screen_open(struct top *t, struct err *err);
void __wrap_top_screen_close(void);

int __wrap_top_picture_take(struct top_source *s, struct top_picture *p, uint64_t of,
			    struct err *err)
{
	size_t i;

	memset(p, 0, sizeof(*p));
	shown.nr_pictures++;
	shown.asked_for = of;
	shown.asked_events = s->wants_events;
	if (shown.fails && shown.nr_pictures > 1)
		return err_set(err, shown.fails, "the region is damaged");
	p->rows = shown.rows;
	p->nr = shown.nr;
	p->moment = MOMENT;
	p->up_ns = (shown.up_s ? shown.up_s : 3661) * SECOND;
	p->has_cpu = shown.has_cpu;
	p->programs = shown.nr_processes;
	p->status = shown.status ? json_loads(shown.status, 0, NULL) : NULL;
	p->lost = shown.lost;
	p->told = !shown.is_silent;
	p->threads = 2;
	p->backlog = 17;
	p->event_rate = 1234.4;
	p->birth_rate = 0.52;
	p->r.threads = shown.threads;
	p->r.nr_threads = 2;
	p->r.processes = shown.processes;
	p->r.nr_processes = shown.nr_processes;
	p->r.sites = shown.sites;
	p->r.nr_sites = 4;
	for (i = 0; i < shown.nr; i++)
		p->by_state[shown.rows[i].state]++;
	return 0;
}

void __wrap_top_picture_release(struct top_picture *p)
{
	json_decref(p->status);
	memset(p, 0, sizeof(*p));
}

int __wrap_top_screen_open(struct top *t, struct err *err)
{
	(void)err;
	t->has_colors = true;
	t->is_utf8 = shown.is_utf8;
	shown.nr_open++;
	return 0;
}

void __wrap_top_screen_close(void)
{
	shown.nr_open--;
}

/* ---- the program ----------------------------------------------------------------- */

static struct recover_coroutine *add_coroutine(const char *name, uint8_t state, uint64_t age_s,
					       uint32_t site)
{
	struct recover_coroutine *c = &shown.coroutines[shown.nr];

	CHECK(shown.nr < ROWS_MAX);
	memset(c, 0, sizeof(*c));
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->co.probe_id = shown.nr + 1;
	c->co.pid = 77;
	c->co.state = state;
	c->co.site = site;
	c->co.birth_site = 1;
	c->co.birth_ts = MOMENT - 500 * SECOND;
	c->co.since_ts = MOMENT - age_s * SECOND;
	c->co.written = 10 * (shown.nr + 1);
	shown.rows[shown.nr] = (struct top_row){ .c = c,
						 .state = state,
						 .rate = (double)shown.nr,
						 .looks = {
							 .running = 1, .ready = 1, .waiting = 2 } };
	shown.nr++;
	return c;
}

static void wait_for(struct recover_coroutine *c, uint8_t reason, uint64_t resource)
{
	c->co.reason = reason;
	c->co.has_resource = true;
	c->co.resource = resource;
}

static void add_lock_event(unsigned thread, uint8_t kind, uint64_t id, uint64_t resource,
			   uint64_t ago_s)
{
	struct recover_thread *t = &shown.threads[thread];
	struct trace_event *ev = &shown.events[thread][t->nr_last++].ev;

	CHECK(t->nr_last <= EVENTS_MAX);
	trace_event_init(ev);
	ev->kind = kind;
	ev->pid = 77;
	ev->probe_id = id;
	ev->resource = resource;
	ev->flags = TRACE_HAS_RESOURCE;
	ev->ts = MOMENT - ago_s * SECOND;
}

/* Six coroutines: 1 to 3 are readers, 4 runs, 5 and 6 wait for a lock. */
static void begin_program(void)
{
	static const struct trace_site sites[4] = {
		{ 1, 10, 77, "/src/main.c", "main" },
		{ 2, 20, 77, "/src/read.c", "reader" },
		{ 3, 30, 77, "/src/lock.c", "take" },
		{ 4, 40, 77, "/src/work.c", "work" },
	};
	struct recover_coroutine *c;
	unsigned i;

	memset(&shown, 0, sizeof(shown));
	memcpy(shown.sites, sites, sizeof(sites));
	shown.nr_processes = 1;
	shown.processes[0] = (struct recover_process){ .pid = 77,
						       .life = PROCESS_THERE,
						       .command = "server" };
	for (i = 0; i < 2; i++)
		shown.threads[i] = (struct recover_thread){ .tid = 100 + i,
							    .pid = 77,
							    .last = shown.events[i] };
	wait_for(add_coroutine("reader-1", TRACE_STATE_SUSPENDED, 3, 2), TRACE_REASON_IO_READ, 7);
	wait_for(add_coroutine("reader-2", TRACE_STATE_SUSPENDED, 9, 2), TRACE_REASON_IO_READ, 8);
	c = add_coroutine("reader-3", TRACE_STATE_READY, 5, 2);
	c->woken_ts = MOMENT - SECOND / 4;
	c = add_coroutine("Worker", TRACE_STATE_RUNNING, 0, 4);
	c->co.since_ts = MOMENT - SECOND / 2;
	c->tid = 101;
	wait_for(add_coroutine("locker-1", TRACE_STATE_SUSPENDED, 40, 3), TRACE_REASON_MUTEX,
		 0x100);
	wait_for(add_coroutine("locker-2", TRACE_STATE_SUSPENDED, 30, 3), TRACE_REASON_MUTEX,
		 0x100);
	shown.coroutines[5].co.parent = 4;
}

/* Press @keys on a screen; what is drawn last stays in paper_cells.  -1 in the keys: draw first. */
static void press_on(int lines, int columns, enum top_view view, const int *keys, size_t nr)
{
	const struct top_options options = { .interval_ms = shown.interval_ms ? shown.interval_ms
									      : 60000,
					     .view = view };
	struct top_source source = { 0 };
	struct err err = { 0 };
	int sig = -1;

	paper_screen_open(lines, columns);
	memcpy(paper_cells.keys, keys, nr * sizeof(*keys));
	paper_cells.keys[nr] = ERR;
	paper_cells.nr_keys = nr + 1;
	CHECK_EQ(top_run(&source, &options, &sig, &err), 0);
	CHECK_EQ(sig, 0);
	CHECK(paper_cells.nr_refreshed >= 2);
	CHECK_EQ(shown.nr_open, 0);
}

#define PRESS_AS(view, ...)                                                    \
	do {                                                                   \
		const int keys[] = { __VA_ARGS__ };                            \
		press_on(24, 120, view, keys, sizeof(keys) / sizeof(keys[0])); \
	} while (0)
#define PRESS(...) PRESS_AS(TOP_VIEW_ROWS, ERR, __VA_ARGS__)

/* Coroutines in the order of the list. */
static void expect_order(const char *ids)
{
	char text[256] = "";
	int y;

	for (y = 4; y < 23; y++) {
		unsigned long id = strtoul(paper_cells.text[y], NULL, 10);

		if (id)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%lu ", id);
	}
	CHECK_STR(text, ids);
}

/* The list's line at the cursor. */
static int cursor_line(void)
{
	int y, found = -1;

	for (y = 4; y < 23; y++) {
		if (paper_is_marked(y)) {
			CHECK_EQ(found, -1);
			found = y;
		}
	}
	return found - 4;
}

#endif
