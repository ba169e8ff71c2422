/* SPDX-License-Identifier: MIT */
/*
 * recover_print.c - the state of a run from its region, as text for the user on call or as JSON.
 *
 * First what happened to which process, then which coroutine waits for what and since when, then
 * the last events of every thread.
 */
#include "json_file.h"
#include "recover_print.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"
#include "base/text.h"

/* ---- parts of coroutines and events ------------------------------------------------------ */

/* A name that may be empty: then it is left out. */
static void recover_print_name(struct printer *p, const char *name, const char *after)
{
	if (!name[0])
		return;
	print_string(p, "name", name);
	print_text(p, "  \"");
	print_safe(p, name, 0);
	print_text(p, "%s", after);
}

static void recover_json_nonzero(struct printer *p, const char *key, uint64_t value)
{
	if (value)
		print_count(p, key, NULL, value);
}

static void recover_json_site(struct printer *p, const char *key, const struct recover *r,
			      uint32_t id)
{
	const struct trace_site *site = recover_site(r, id);

	if (!site)
		return;
	print_object(p, key);
	print_string(p, "file", site->file);
	print_count(p, "line", NULL, site->line);
	print_string(p, "function", site->function);
	print_object_end(p);
}

static void recover_json_why(struct printer *p, unsigned reason, bool has_resource,
			     uint64_t resource)
{
	if (reason)
		print_string(p, "reason", trace_reason_name(reason));
	if (has_resource)
		print_count(p, "resource", NULL, resource);
}

/* "net/server.c:120 handle", or the address, or nothing. */
static void recover_put_where(struct printer *p, const struct recover *r, uint32_t id,
			      uint64_t addr)
{
	const struct trace_site *site = recover_site(r, id);
	char text[2 * SITE_NAME_SIZE + 16];

	if (site) {
		site_text(text, sizeof(text), site->file, site->line, site->function);
		print_text(p, "  ");
		print_safe(p, text, 0);
	} else if (addr) {
		print_text(p, "  0x%" PRIx64, addr);
	}
}

static void recover_put_why(struct printer *p, unsigned reason, bool has_resource,
			    uint64_t resource)
{
	bool is_file = reason >= TRACE_REASON_IO_READ && reason <= TRACE_REASON_CONNECT;
	const char *name = trace_reason_name(reason);

	if (reason && name)
		print_text(p, "  %s", name);
	if (!has_resource)
		return;
	if (is_file)
		print_text(p, " fd %" PRIu64, resource);
	else if (resource > UINT16_MAX)
		print_text(p, " 0x%" PRIx64, resource);
	else
		print_text(p, " %" PRIu64, resource);
}

static const char *state_text(const struct recover_coroutine *c)
{
	const char *name = trace_state_name(c->co.state);

	if (c->woken_ts)
		return "woken";
	return name ? name : "unknown";
}

/* ---- events ------------------------------------------------------------------------------ */

static void recover_print_event(struct printer *p, const struct recover *r,
				const struct recover_event *e, bool mark_read)
{
	const struct trace_event *ev = &e->ev;
	bool has_resource = ev->flags & TRACE_HAS_RESOURCE;

	print_row(p);
	print_text(p, "  ");
	recover_print_time(p, r, ev->ts);
	print_count(p, "ts", NULL, ev->ts);
	print_number(p, "id", "  %8s", ev->probe_id);
	print_string(p, "kind", trace_kind_name(ev->kind));
	print_text(p, "  %s", trace_kind_name(ev->kind));
	print_flag(p, "unread", NULL, e->unread);
	recover_print_name(p, e->name, "\"");
	if (ev->peer)
		print_number(p, "peer", ev->kind == TRACE_WAKE ? "  by %s" : NULL, ev->peer);
	if (p->is_json) {
		recover_json_nonzero(p, "addr", ev->addr);
		recover_json_site(p, "site", r, ev->site);
		recover_json_why(p, ev->reason, has_resource, ev->resource);
	} else {
		recover_put_where(p, r, ev->site, ev->addr);
		recover_put_why(p, ev->reason, has_resource, ev->resource);
		print_text(p, "%s", mark_read && !e->unread ? "  (read)" : "");
	}
	print_row_end(p);
}

static void recover_text_last(struct printer *p, const struct recover *r,
			      const struct recover_thread *t, bool all)
{
	uint32_t i = all || t->nr_last < RECOVER_EVENTS ? 0 : t->nr_last - RECOVER_EVENTS;

	print_text(p, "\nlast of thread %" PRIu64, t->tid);
	if (t->pid)
		print_text(p, " (pid %u)", t->pid);
	print_text(p, ": %s of %s event%s that %s here\n", number_text(t->nr_last - i),
		   number_text(t->events), number_plural(t->events), t->events == 1 ? "is" : "are");
	for (; i < t->nr_last; i++)
		recover_print_event(p, r, &t->last[i], t->lane != TRACE_LANE_STATIONS);
}

static void recover_text_events(struct printer *p, const struct recover *r, bool all)
{
	size_t i, shown = 0, nr = 0;

	for (i = 0; i < r->nr_threads; i++) {
		if (!r->threads[i].nr_last)
			continue;
		nr++;
		if (!all && shown == RECOVER_THREADS)
			continue;
		recover_text_last(p, r, &r->threads[i], all);
		shown++;
	}
	if (shown < nr)
		print_text(p, "\n... %s more thread%s: --all\n", number_text(nr - shown),
			   number_plural(nr - shown));
}

/* ---- threads ----------------------------------------------------------------------------- */

static size_t count_lanes(const struct recover *r)
{
	size_t i, nr = 0;

	for (i = 0; i < r->nr_threads; i++)
		nr += r->threads[i].lane != TRACE_LANE_STATIONS;
	return nr;
}

static void recover_print_lane(struct printer *p, const struct recover_thread *t)
{
	print_number(p, "pid", "  %8s", t->pid);
	print_number(p, "lane", "  %5s", t->lane);
	print_count(p, "written", "  %14s", t->written);
	print_count(p, "read", "  %14s", t->read);
	print_count(p, "unread", "  %12s", t->written - t->read);
	print_count(p, "kept", "  %8s", t->kept);
	print_count(p, "dropped", NULL, t->dropped);
	print_count(p, "dropped_others", NULL, t->dropped_others);
	print_text(p, "  %8s", number_text(t->dropped + t->dropped_others));
	print_flag(p, "ended", t->broken ? NULL : "  ended", t->closed);
	print_flag(p, "broken", "  cannot be read", t->broken);
}

static void recover_json_last(struct printer *p, const struct recover *r,
			      const struct recover_thread *t)
{
	uint32_t i;

	print_count(p, "events", NULL, t->events);
	print_list(p, "last");
	for (i = 0; i < t->nr_last; i++)
		recover_print_event(p, r, &t->last[i], false);
	print_list_end(p);
}

/* Text: only threads with a lane; their events follow after the coroutines. */
static void recover_print_threads(struct printer *p, const struct recover *r, bool all)
{
	size_t i, shown = 0, nr = count_lanes(r);

	if (nr) {
		print_text(p, "\nlanes (%s thread%s), in records\n", number_text(nr),
			   number_plural(nr));
		print_text(p, "  %8s  %8s  %5s  %14s  %14s  %12s  %8s  %8s\n", "TID", "PID", "LANE",
			   "WRITTEN", "READ", "NOT READ YET", "KEPT", "DROPPED");
	}
	print_list(p, "threads");
	for (i = 0; i < r->nr_threads && (all || p->is_json || shown < RECOVER_THREADS); i++) {
		const struct recover_thread *t = &r->threads[i];
		bool has_lane = t->lane != TRACE_LANE_STATIONS;

		if (!has_lane && !p->is_json)
			continue;
		print_row(p);
		print_number(p, "tid", "  %8s", t->tid);
		if (has_lane)
			recover_print_lane(p, t);
		if (p->is_json)
			recover_json_last(p, r, t);
		print_row_end(p);
		shown++;
	}
	print_list_end(p);
	if (shown < nr)
		print_text(p, "  ... %s more: --all\n", number_text(nr - shown));
}

/* ---- coroutines -------------------------------------------------------------------------- */

void recover_json_coroutine(struct printer *p, const struct recover *r,
			    const struct recover_coroutine *c, uint64_t moment)
{
	const struct sidecar_coroutine *co = &c->co;

	print_count(p, "id", NULL, co->probe_id);
	if (co->station != TRACE_NO_STATION)
		print_count(p, "station", NULL, co->station);
	print_count(p, "pid", NULL, co->pid);
	recover_print_name(p, c->name, "");
	print_string(p, "state", trace_state_name(co->state));
	print_count(p, "since_ts", NULL, co->since_ts);
	if (co->since_ts && co->since_ts <= moment)
		print_count(p, "for_ns", NULL, moment - co->since_ts);
	recover_json_nonzero(p, "woken_ts", c->woken_ts);
	recover_json_nonzero(p, "addr", co->addr);
	recover_json_site(p, "site", r, co->site);
	recover_json_site(p, "birth_site", r, co->birth_site);
	recover_json_why(p, co->reason, co->has_resource, co->resource);
	recover_json_nonzero(p, "parent", co->parent);
	print_count(p, "birth_ts", NULL, co->birth_ts);
	print_count(p, "events", NULL, co->written);
	print_count(p, "dropped", NULL, co->lost);
}

static void recover_text_coroutine(struct printer *p, const struct recover *r,
				   const struct recover_coroutine *c, uint64_t moment)
{
	uint64_t since = c->woken_ts ? c->woken_ts : c->co.since_ts;
	char text[TEXT_SIZE];

	print_text(p, "  %8" PRIu64 "  %-9s  %12s", c->co.probe_id, state_text(c),
		   since && since <= moment ? text_duration(text, moment - since) : "?");
	recover_print_name(p, c->name, c->co.name_truncated ? "...\"" : "\"");
	recover_put_where(p, r, c->co.site, c->co.addr);
	recover_put_why(p, c->co.reason, c->co.has_resource, c->co.resource);
	if (c->co.lost)
		print_text(p, "  (%s of %s events dropped)", number_text(c->co.lost),
			   number_text(c->co.written));
}

static size_t count_woken(const struct recover *r)
{
	size_t i, nr = 0;

	for (i = 0; i < r->nr_coroutines; i++)
		nr += r->coroutines[i].woken_ts != 0;
	return nr;
}

static void recover_put_states(struct printer *p, const struct recover *r)
{
	size_t woken = count_woken(r);
	const char *comma = ":";
	unsigned s;

	print_text(p, "\ncoroutines (%s)", number_text(r->nr_coroutines));
	for (s = NR_TRACE_STATES; s-- > 0;) {
		if (!r->by_state[s])
			continue;
		print_text(p, "%s %s %s", comma, number_text(r->by_state[s]),
			   trace_state_name(s) ? trace_state_name(s) : "unknown");
		if (s == TRACE_STATE_SUSPENDED && woken)
			print_text(p, " (%s of them woken, and not resumed)", number_text(woken));
		comma = ",";
	}
	print_text(p, "\n");
}

static void recover_print_coroutines(struct printer *p, const struct recover *r, bool all)
{
	uint64_t moment = recover_moment(r);
	size_t i;

	if (!p->is_json)
		recover_put_states(p, r);
	if (r->nr_coroutines)
		print_text(p, "  %8s  %-9s  %12s  %s\n", "ID", "STATE", "FOR", "NAME, WHERE, WHY");
	print_list(p, "coroutines");
	for (i = 0; i < r->nr_coroutines && (all || p->is_json || i < RECOVER_COROUTINES); i++) {
		print_row(p);
		if (p->is_json)
			recover_json_coroutine(p, r, &r->coroutines[i], moment);
		else
			recover_text_coroutine(p, r, &r->coroutines[i], moment);
		print_row_end(p);
	}
	print_list_end(p);
	if (i < r->nr_coroutines)
		print_text(p, "  ... %s more: --all\n", number_text(r->nr_coroutines - i));
}

int recover_print(const struct recover *r, const char *path, bool all, bool json)
{
	struct printer p;

	printer_begin(&p, json_file_stream(stdout), json);
	recover_print_head(&p, r, path, all);
	recover_print_threads(&p, r, all);
	recover_print_coroutines(&p, r, all);
	if (!json)
		recover_text_events(&p, r, all);
	return printer_end(&p);
}
