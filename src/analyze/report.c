/* SPDX-License-Identifier: MIT */
/* report.c - texts and numbers that all forms of a report share. */
#include "analyze/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

bool report_shows(const struct report *r, const struct group *g)
{
	return !g->suppressed_by && g->confidence >= r->least;
}

struct report_counts report_count(const struct report *r)
{
	const struct findings *f = &r->analysis->findings;
	struct report_counts c = { 0 };
	size_t i;

	for (i = 0; i < f->nr; i++) {
		const struct group *g = &f->groups[i];

		if (report_shows(r, g)) {
			c.groups++;
			c.findings += g->count;
			c.by_confidence[g->confidence]++;
		} else if (g->suppressed_by) {
			c.suppressed++;
		} else {
			c.below++;
		}
	}
	return c;
}

/* ---- places -------------------------------------------------------------- */

static bool place_by_site(const struct report *r, uint32_t id, struct report_place *out)
{
	struct trace_site site;

	if (!sites_find(&r->analysis->sites, id, &site))
		return false;
	out->file = site.file[0] ? site.file : NULL;
	out->function = site.function[0] ? site.function : NULL;
	out->line = site.line;
	site_text(out->text, sizeof(out->text), site.file, site.line, site.function);
	return true;
}

static bool place_by_symbol(const struct report *r, uint32_t pid, uint64_t addr,
			    struct report_place *out)
{
	struct symbol symbol;
	struct trace_site told;

	if (!r->symbols || !addr || !symbols_find_resume(r->symbols, pid, addr, &symbol))
		return false;
	out->file = symbol.file;
	out->function = symbol.function;
	out->line = symbol.line;
	/* One site has one path: the path recorded by the program takes precedence over DWARF. */
	if (symbol.file &&
	    sites_find_line(&r->analysis->sites, symbol.file, symbol.line, symbol.function, &told))
		out->file = told.file;
	if (symbol.file)
		site_text(out->text, sizeof(out->text), out->file, out->line, out->function);
	else
		snprintf(out->text, sizeof(out->text), "%s+0x%" PRIx64 " in %s",
			 symbol.function ? symbol.function : "?", symbol.offset, symbol.module);
	return true;
}

void report_place_of(const struct report *r, uint32_t pid, uint32_t site, uint64_t addr,
		     struct report_place *out)
{
	out->file = out->function = NULL;
	out->line = 0;
	if (site && place_by_site(r, site, out))
		return;
	if (place_by_symbol(r, pid, addr, out))
		return;
	snprintf(out->text, sizeof(out->text), "0x%" PRIx64, addr);
}

bool report_group_place(const struct report *r, const struct group *g, struct report_place *out)
{
	const struct wait_place *p = &r->analysis->model.places[g->place];

	if (!g->place || (!p->site && !p->addr))
		return false;
	report_place_of(r, g->has_coro ? g->example.pid : 0, p->site, p->addr, out);
	return true;
}

bool report_group_spawn(const struct report *r, const struct group *g, struct report_place *out)
{
	const struct spawn *s = &r->analysis->model.spawns[g->spawn];

	if (!g->spawn || !s->site)
		return false;
	report_place_of(r, 0, s->site, 0, out);
	return true;
}

bool report_kind_of(const struct report *r, const struct group *g, char *buf, size_t size)
{
	return report_spawn(r, g->spawn, buf, size);
}

bool report_spawn(const struct report *r, uint32_t spawn, char *buf, size_t size)
{
	const struct model *m = &r->analysis->model;
	const struct spawn *s = &m->spawns[spawn];
	const char *name = s->name ? strtab_text(&m->names, s->name - 1) : NULL;
	struct report_place where;

	if (!spawn)
		return false;
	if (!s->site) {
		snprintf(buf, size, "%s", name ? name : "?");
		return name;
	}
	report_place_of(r, 0, s->site, 0, &where);
	if (name)
		snprintf(buf, size, "%s, created at %s", name, where.text);
	else
		snprintf(buf, size, "created at %s", where.text);
	return true;
}

void report_prepare(const struct report *r)
{
	const struct findings *f = &r->analysis->findings;
	struct report_place ignored;
	size_t i;
	unsigned k;

	for (i = 0; i < f->nr; i++) {
		const struct group *g = &f->groups[i];

		if (!report_shows(r, g))
			continue;
		report_group_place(r, g, &ignored);
		for (k = 0; g->has_coro && k < g->example.nr_steps; k++) {
			const struct step *s = report_step(&g->example, k);

			if (s->kind == TRACE_SUSPEND)
				report_place_of(r, g->example.pid, s->site, s->addr, &ignored);
		}
	}
}

/* ---- texts --------------------------------------------------------------- */

void report_coroutine(const struct report *r, uint64_t probe_id, uint32_t name, char *buf,
		      size_t size)
{
	if (name)
		snprintf(buf, size, "coroutine %" PRIu64 " '%s'", probe_id,
			 strtab_text(&r->analysis->model.names, name - 1));
	else
		snprintf(buf, size, "coroutine %" PRIu64, probe_id);
}

void report_waits_for(unsigned reason, bool has_resource, uint64_t resource, char *buf, size_t size)
{
	const char *why = reason ? trace_reason_name(reason) : NULL;

	buf[0] = '\0';
	if (!why && !has_resource)
		return;
	switch (reason) {
	case TRACE_REASON_IO_READ:
	case TRACE_REASON_IO_WRITE:
	case TRACE_REASON_ACCEPT:
	case TRACE_REASON_CONNECT:
		if (has_resource) {
			snprintf(buf, size, "%s, descriptor %" PRIu64, why, resource);
			return;
		}
		break;
	case TRACE_REASON_JOIN:
		if (has_resource) {
			snprintf(buf, size, "join, coroutine %" PRIu64, resource);
			return;
		}
		break;
	default:
		break;
	}
	if (has_resource)
		snprintf(buf, size, "%s, 0x%" PRIx64, why ? why : "resource", resource);
	else
		snprintf(buf, size, "%s", why);
}

void report_example_waits_for(const struct report *r, const struct coro *co, char *buf, size_t size)
{
	uint64_t end = r->analysis->model.end_ts;
	bool is_past = co->resource <= end;
	char span[TEXT_SIZE];

	/* A deadline before the wait is unset, or uses another clock. */
	if (co->reason != TRACE_REASON_TIMER || !co->has_resource || co->resource < co->since_ts) {
		report_waits_for(co->reason, co->has_resource, co->resource, buf, size);
		return;
	}
	snprintf(buf, size, "%s, due %s %s the end", trace_reason_name(co->reason),
		 text_duration(span, is_past ? end - co->resource : co->resource - end),
		 is_past ? "before" : "after");
}

const struct step *report_step(const struct coro *co, unsigned i)
{
	return &co->steps[((unsigned)co->next_step + MODEL_STEPS - co->nr_steps + i) % MODEL_STEPS];
}

const char *report_size_word(const struct group *g)
{
	if (!g->oldest_ns || g->detector == &detector_double_resume ||
	    g->detector == &detector_after_end)
		return NULL;
	return g->detector == &detector_blocking || g->detector == &detector_starvation ||
			       g->detector == &detector_destroyed_suspended
		       ? "longest"
		       : "oldest";
}

/* ---- totals -------------------------------------------------------------- */

struct report_totals report_totals_of(const struct report *r)
{
	const struct model *m = &r->analysis->model;
	const struct trace_stats *s = r->stats;
	struct report_totals t = {
		.coroutines = coro_ids_count(&m->ids),
		.events = m->events,
		.others = m->others,
		.threads = m->nr_threads,
		.duration_ns = m->last_ts - m->first_ts,
		.loss_known = m->has_totals,
		.garbage = s->lines.garbage + s->sidecar.garbage + s->ctf.damaged,
		.missing = trace_missing_events(s),
	};
	size_t i;

	t.coroutines += r->analysis->runs.coroutines;
	t.alive += r->analysis->runs.alive;
	t.threads += r->analysis->runs.threads;
	t.duration_ns += r->analysis->runs.duration_ns;
	for (i = 0; i < m->nr_coros; i++)
		t.alive += m->coros[i].in_use && m->coros[i].state != TRACE_STATE_ENDED;
	if (m->has_totals) {
		t.written = m->totals.written;
		t.lost = m->totals.lost;
		t.others_lost = m->totals.others_lost;
		t.garbage += m->totals.garbage;
	}
	return t;
}

struct report_totals report_totals_of_parts(const struct report *r)
{
	struct report_totals sum = report_totals_of(r);
	uint64_t first = r->analysis->model.first_ts, last = r->analysis->model.last_ts;

	for (r = r->next; r; r = r->next) {
		struct report_totals t = report_totals_of(r);
		const struct model *m = &r->analysis->model;

		sum.coroutines += t.coroutines;
		sum.alive += t.alive;
		sum.events += t.events;
		sum.others += t.others;
		sum.threads += t.threads;
		sum.loss_known &= t.loss_known;
		sum.written += t.written;
		sum.lost += t.lost;
		sum.others_lost += t.others_lost;
		sum.garbage += t.garbage;
		sum.missing += t.missing;
		if (!m->last_ts)
			continue;
		first = first && first < m->first_ts ? first : m->first_ts;
		last = last > m->last_ts ? last : m->last_ts;
		sum.duration_ns = last - first;
	}
	return sum;
}

bool report_is_incomplete(const struct report *r)
{
	return trace_verdict(r->stats) == TRACE_INCOMPLETE;
}

static bool missing_parts(const struct report *r, char *buf, size_t size)
{
	char what[TRACE_SHORTAGE_SIZE];

	if (!report_is_incomplete(r))
		return false;
	snprintf(buf, size, "The trace is incomplete: %s. What depends on that is a suspicion.",
		 trace_shortage(r->stats, what, sizeof(what)));
	return true;
}

typedef bool caveat_function(const struct report *r, char *buf, size_t size);

static bool lost_events(const struct report *r, char *buf, size_t size)
{
	const struct model *m = &r->analysis->model;
	char count[TEXT_SIZE];

	if (!m->has_totals || !(m->totals.lost + m->totals.others_lost))
		return false;
	snprintf(buf, size,
		 "%s events were lost: findings that they could explain are marked as suspicions.",
		 text_count(count, m->totals.lost + m->totals.others_lost));
	return true;
}

static bool forgotten_events(const struct report *r, char *buf, size_t size)
{
	const struct model *m = &r->analysis->model;
	char count[TEXT_SIZE];

	if (!m->has_totals || !(m->totals.forgotten + m->totals.others_forgotten))
		return false;
	snprintf(buf, size, "A flight recorder kept the newest events; %s older ones are not here.",
		 text_count(count, m->totals.forgotten + m->totals.others_forgotten));
	return true;
}

/* Of coroutines that existed before the program was attached. */
static bool missing_waiting(const struct report *r, char *buf, size_t size)
{
	const char *missing = r->analysis->waiting.missing;

	if (missing)
		snprintf(buf, size, "The collector %s.", missing);
	return missing != NULL;
}

static bool no_totals(const struct report *r, char *buf, size_t size)
{
	const struct model *m = &r->analysis->model;
	char count[TEXT_SIZE];

	if (m->has_totals)
		return false;
	if (m->has_run)
		snprintf(buf, size,
			 "The collector did not come to its end (killed, or still at it), or the "
			 "end of the trace was cut off: what was lost is not known.");
	else if (m->skipped)
		snprintf(buf, size,
			 "The trace has no sidecar: its sequence numbers show that at least "
			 "%s transitions are missing; what else was lost is not known.",
			 text_count(count, m->skipped));
	else
		snprintf(buf, size,
			 "The trace has no sidecar: what was lost is known only as far as "
			 "the events' numbers tell.");
	return true;
}

static bool late_events(const struct report *r, char *buf, size_t size)
{
	char count[TEXT_SIZE];

	if (!r->analysis->model.late)
		return false;
	snprintf(buf, size, "%s transitions came too late to be put in order, and were left out.",
		 text_count(count, r->analysis->model.late));
	return true;
}

static bool too_many_groups(const struct report *r, char *buf, size_t size)
{
	char count[TEXT_SIZE];

	if (!r->analysis->findings.beyond)
		return false;
	snprintf(buf, size, "%s findings are at more places than fit in here.",
		 text_count(count, r->analysis->findings.beyond));
	return true;
}

static bool no_symbols(const struct report *r, char *buf, size_t size)
{
	const char *why = r->symbols ? symbols_problem(r->symbols) : NULL;

	if (!why)
		return false;
	snprintf(buf, size, "%s", why);
	return true;
}

static bool own_addresses(const struct report *r, char *buf, size_t size)
{
	char count[TEXT_SIZE];

	if (!r->analysis->model.own_addresses)
		return false;
	snprintf(buf, size,
		 "%s addresses belong each to one coroutine and to no code (frames, futures): they "
		 "are not places, and what happened there is not told apart.",
		 text_count(count, r->analysis->model.own_addresses));
	return true;
}

static bool chosen_coroutines(const struct report *r, char *buf, size_t size)
{
	const struct analysis_options *o = &r->analysis->options;

	if (!o->chosen_text)
		return false;
	snprintf(buf, size, "%s", o->chosen_text);
	return true;
}

static bool merged_parts(const struct report *r, char *buf, size_t size)
{
	size_t nr = r->analysis->options.nr_parts;

	if (!nr)
		return false;
	snprintf(buf, size,
		 "The trace is a merge of %zu traces, which are judged as one program here; "
		 "'corotracer report' judges each by itself, and --part N shows one.",
		 nr);
	return true;
}

static bool several_runs(const struct report *r, char *buf, size_t size)
{
	const struct runs *runs = &r->analysis->runs;
	char span[TEXT_SIZE];

	if (!runs->nr)
		return false;
	snprintf(buf, size,
		 "The trace holds %u runs, up to %s apart. Each is judged by itself; the duration "
		 "is "
		 "their sum.",
		 runs->nr + 1, text_duration(span, runs->longest_ns));
	return true;
}

const char *report_caveat(const struct report *r, unsigned nr, char *buf, size_t size)
{
	static caveat_function *const caveats[] = {
		chosen_coroutines, merged_parts,     several_runs,  missing_parts,
		lost_events,       forgotten_events, no_totals,     late_events,
		too_many_groups,   no_symbols,       own_addresses, missing_waiting
	};
	size_t i;

	for (i = 0; i < sizeof(caveats) / sizeof(caveats[0]); i++) {
		if (caveats[i](r, buf, size) && !nr--)
			return buf;
	}
	return NULL;
}
