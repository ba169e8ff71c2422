/* SPDX-License-Identifier: MIT */
/* top_details.c - the details of one coroutine, and the help: text that scrolls. */
#include "top/top_screen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report.h"
#include "base/monotonic.h"
#include "base/text.h"
#include "top/ncursesw_loader.h"

#define CHAIN_MAX 16

void top_paper_line(struct paper *p, const char *fmt, ...)
{
	size_t at = p->line++;
	char text[1024];
	va_list ap;

	if (at < p->t->scroll || at - p->t->scroll >= (size_t)p->height)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	top_put(p->t, p->top + (int)(at - p->t->scroll), 0, p->width, text);
}

void top_paper_limit(struct top *t, const struct paper *p)
{
	size_t most = p->line > (size_t)p->height ? p->line - (size_t)p->height : 0;

	if (t->scroll > most)
		t->scroll = most;
}

/* ---- one coroutine --------------------------------------------------------------- */

static const char *top_draw_ago(char buf[TEXT_SIZE], const struct top_picture *p, uint64_t ts)
{
	if (!ts || ts > p->moment)
		return "?";
	return text_duration(buf, p->moment - ts);
}

static void top_draw_put_state(struct paper *out, struct top *t, const struct top_row *row)
{
	const struct recover_coroutine *c = row->c;
	const char *state = trace_state_name(row->state);
	char age[TEXT_SIZE], why[128];

	top_paper_line(out, "coroutine %" PRIu64 "%s%s", c->co.probe_id, c->name[0] ? "  " : "",
		       c->name);
	top_paper_line(out, " ");
	top_paper_line(out, "  state     %s for %s", state ? state : "?",
		       text_duration(age, top_row_age(row, &t->picture)));
	if (row->state == TRACE_STATE_SUSPENDED || row->state == TRACE_STATE_READY) {
		top_why(c, why, sizeof(why));
		top_paper_line(out, "  where     %s", top_row_place(row, &t->picture, &t->places));
		top_paper_line(out, "  why       %s", why[0] ? why : "not told");
		if (c->woken_ts)
			top_paper_line(out, "  woken     %s ago, and not seen to run since",
				       top_draw_ago(age, &t->picture, c->woken_ts));
	}
	if (c->tid)
		top_paper_line(out, "  thread    %" PRIu64, c->tid);
	top_paper_line(out, "  process   %" PRIu64, c->co.pid);
}

static void top_draw_put_life(struct paper *out, struct top *t, const struct top_row *row)
{
	const struct sidecar_coroutine *co = &row->c->co;
	char a[TEXT_SIZE], b[TEXT_SIZE];

	top_paper_line(out, "  born      %s ago%s%s", top_draw_ago(a, &t->picture, co->birth_ts),
		       co->birth_site ? " at " : "",
		       top_place(&t->places, &t->picture.r, (uint32_t)co->pid, co->birth_site, 0));
	top_paper_line(out, "  events    %s, %.1f/s%s%s", text_count(a, co->written), row->rate,
		       co->lost ? ", lost " : "", co->lost ? text_count(b, co->lost) : "");
}

static void top_draw_put_looks(struct paper *out, const struct top_row *row)
{
	char running[TEXT_SIZE], ready[TEXT_SIZE], waiting[TEXT_SIZE];

	top_share(running, row->looks.running, &row->looks);
	top_share(ready, row->looks.ready, &row->looks);
	top_share(waiting, row->looks.waiting, &row->looks);
	top_paper_line(out, "  so far    %s %% running, %s %% ready, %s %% waiting, by looks",
		       running, ready, waiting);
}

/* Nothing if processor time is not measured. */
static void top_draw_put_cpu(struct paper *out, struct top *t, const struct top_row *row)
{
	char on[TEXT_SIZE], ready[TEXT_SIZE], blocked[TEXT_SIZE], nr[TEXT_SIZE];

	if (!t->picture.has_cpu)
		return;
	if (row->cpu.slices)
		top_paper_line(out,
			       "  ran       %s on a processor, %s waiting for one, %s blocked in "
			       "the kernel (%s slices)",
			       text_duration(on, row->cpu.on_ns),
			       text_duration(ready, row->cpu.ready_ns),
			       text_duration(blocked, row->cpu.blocked_ns),
			       text_count(nr, row->cpu.slices));
	else
		top_paper_line(out, "  ran       processor time is not measured yet");
}

/* The chain of parents, as far as they are alive. */
static void top_draw_put_chain(struct paper *out, struct top *t, const struct top_row *row)
{
	uint64_t id = row->c->co.parent;
	unsigned depth;

	top_paper_line(out, " ");
	if (!id)
		top_paper_line(out, "parent unknown");
	for (depth = 0; id && depth < CHAIN_MAX; depth++) {
		const struct top_row *parent = top_row_of(&t->picture, id);
		char why[128] = "";

		if (!parent) {
			top_paper_line(out, "made by %" PRIu64 ", which is gone", id);
			return;
		}
		top_why(parent->c, why, sizeof(why));
		top_paper_line(out, "made by %" PRIu64 "  %s  %s  %s  %s", id, parent->c->name,
			       trace_state_name(parent->state) ? trace_state_name(parent->state)
							       : "?",
			       top_row_place(parent, &t->picture, &t->places), why);
		id = parent->c->co.parent;
	}
}

struct told_event {
	const struct recover_event *e;
	uint64_t tid;
};

static int top_draw_by_time(const void *a, const void *b)
{
	const struct told_event *x = a, *y = b;

	return x->e->ev.ts < y->e->ev.ts ? -1 : x->e->ev.ts > y->e->ev.ts;
}

static void top_draw_put_event(struct paper *out, struct top *t, const struct told_event *told,
			       const struct recover_coroutine *of)
{
	const struct trace_event *ev = &told->e->ev;
	const char *kind = trace_kind_name(ev->kind);
	char age[TEXT_SIZE], why[128] = "", whom[64] = "";

	report_waits_for(ev->reason, ev->flags & TRACE_HAS_RESOURCE, ev->resource, why,
			 sizeof(why));
	/* An event between this coroutine and another one. */
	if (ev->probe_id != of->co.probe_id)
		snprintf(whom, sizeof(whom), "of %" PRIu64, ev->probe_id);
	else if (ev->kind == TRACE_WAKE && ev->peer)
		snprintf(whom, sizeof(whom), "by %" PRIu64, ev->peer);
	top_paper_line(out, "  %12s ago  thread %-8" PRIu64 "  %-8s %s %s  %s",
		       top_draw_ago(age, &t->picture, ev->ts), told->tid, kind ? kind : "?", whom,
		       top_place(&t->places, &t->picture.r, (uint32_t)of->co.pid, ev->site,
				 ev->addr),
		       why);
}

/* The waits that the events in memory show, from each suspend to the next resume. */
static void top_draw_put_waits(struct paper *out, const struct told_event *all, size_t nr,
			       uint64_t id)
{
	struct histogram waits = { 0 };
	uint64_t since = 0;
	char n[TEXT_SIZE];
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct trace_event *ev = &all[i].e->ev;

		if (ev->probe_id != id || !trace_is_transition(ev))
			continue;
		if (since && ev->is_active && histogram_add(&waits, ev->ts - since) < 0)
			break;
		since = ev->is_active ? 0 : ev->ts;
	}
	if (waits.nr) {
		top_paper_line(out, " ");
		top_paper_line(out, "its last %s waits", text_count(n, waits.nr));
		top_draw_bars(out, &waits);
	}
	histogram_release(&waits);
}

/* Events still in shared memory; older ones are in the trace. */
static void top_draw_put_events(struct paper *out, struct top *t,
				const struct recover_coroutine *of)
{
	const struct recover *r = &t->picture.r;
	struct told_event *all;
	size_t i, nr = 0;
	uint32_t k;

	for (i = 0; i < r->nr_threads; i++)
		nr += r->threads[i].nr_last;
	all = calloc(nr + 1, sizeof(*all));
	nr = 0;
	for (i = 0; all && i < r->nr_threads; i++) {
		for (k = 0; k < r->threads[i].nr_last; k++)
			all[nr++] = (struct told_event){ &r->threads[i].last[k],
							 r->threads[i].tid };
	}
	if (nr)
		qsort(all, nr, sizeof(*all), top_draw_by_time);
	top_draw_put_waits(out, all, nr, of->co.probe_id);
	top_paper_line(out, " ");
	top_paper_line(out, nr ? "last events still in memory, newest first"
			       : "none of its events is still in memory: they are in the trace");
	while (nr--)
		top_draw_put_event(out, t, &all[nr], of);
	free(all);
}

void top_draw_details(struct top *t, int top, int height, int width)
{
	struct paper out = { t, top, height, width, 0 };
	const struct top_row *row = top_row_of(&t->picture, t->selected);

	if (!row) {
		top_paper_line(&out, "coroutine %" PRIu64 " is gone", t->selected);
		return;
	}
	top_draw_put_state(&out, t, row);
	top_draw_put_life(&out, t, row);
	top_draw_put_looks(&out, row);
	top_draw_put_cpu(&out, t, row);
	top_draw_put_chain(&out, t, row);
	top_draw_put_events(&out, t, row->c);
	top_paper_limit(t, &out);
}

/* ---- help ------------------------------------------------------------------------- */

void top_draw_help(struct top *t, int top, int height, int width)
{
	static const char *const lines[] = {
		"Tab        next view: kinds, sites, resources, tree, coroutines",
		"t r F5     coroutines, resources (locks, channels, descriptors), tree of awaits",
		"up down PgUp PgDn Home End   move; also j k g G",
		"Enter      details of one; of a group: percentiles and a histogram of its waits",
		"right      of a group: its coroutines          w  warnings",
		"/ F3 F4    show only those with this in their name or place; Esc clears it",
		"F6 < > i   sort by another column, reverse; P rate  T a age  N id  n name  s site",
		"1 2 3 4 5  show or hide: running, ready, suspended, new, ended; 0 shows all",
		"space p    pause, and go on                    + -  look less or more often",
		NULL, /* q */
		" ",
		"BUSY% READY% WAIT%  of all looks at the group    p50 p99 MAX  waits so far",
		"AGE   since when it is in its state    RATE/s   suspends and resumes a second",
		"ready: woken, and not seen to run since    THREAD  where it ran last, if recently",
		"ON CPU READY BLOCKED  where the time of its slices went (run --cpu)",
		"behind: records that the collector has not read yet    lost ?: it does not answer",
	};
	struct paper out = { t, top, height, width, 0 };
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		top_paper_line(&out, "%s",
			       lines[i]          ? lines[i]
			       : t->ends_program ? "q F10      quit, and end the program"
						 : "q F10      quit; the program goes on");
	top_paper_limit(t, &out);
}
