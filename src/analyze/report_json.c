/* SPDX-License-Identifier: MIT */
/* report_json.c - the report for programs, as one JSON object. */
#include <inttypes.h>
#include <string.h>

#include "analyze/report.h"
#include "base/json_writer.h"
#include "base/text.h"

void report_put_totals(struct json_writer *j, const struct report *r)
{
	struct report_totals t = report_totals_of_parts(r);

	jw_key(j, "totals");
	jw_object_begin(j);
	jw_field_u64(j, "coroutines", t.coroutines);
	jw_field_u64(j, "not_ended", t.alive);
	jw_field_u64(j, "transitions", t.events);
	jw_field_u64(j, "others", t.others);
	jw_field_u64(j, "threads", t.threads);
	jw_field_u64(j, "duration_ns", t.duration_ns);
	if (t.loss_known) {
		jw_field_u64(j, "lost", t.lost);
		jw_field_u64(j, "others_lost", t.others_lost);
	} else {
		jw_field_null(j, "lost");
		jw_field_null(j, "others_lost");
	}
	jw_field_u64(j, "garbage", t.garbage);
	jw_field_u64(j, "missing", t.missing);
	jw_object_end(j);
}

static void put_place_members(struct json_writer *j, const struct report_place *where)
{
	jw_field_string(j, "text", where->text);
	if (where->file) {
		jw_field_string(j, "file", where->file);
		jw_field_u64(j, "line", where->line);
	}
}

static void put_place(struct json_writer *j, const struct report_place *where)
{
	jw_object_begin(j);
	put_place_members(j, where);
	jw_object_end(j);
}

/* Where the coroutines were created, if it is not known where they wait. */
static void put_spawn_place(struct json_writer *j, const struct report_place *where)
{
	jw_object_begin(j);
	put_place_members(j, where);
	jw_field_bool(j, "is_spawn", true);
	jw_object_end(j);
}

static void report_put_steps(struct json_writer *j, const struct report *r, const struct coro *co)
{
	unsigned i;

	jw_key(j, "last");
	jw_array_begin(j);
	for (i = 0; i < co->nr_steps; i++) {
		const struct step *s = report_step(co, i);
		struct report_place where;

		jw_object_begin(j);
		jw_field_u64(j, "ts", s->ts);
		jw_field_string(j, "kind", trace_kind_name(s->kind));
		jw_field_u64(j, "tid", s->tid);
		if (s->kind == TRACE_WAKE && s->addr)
			jw_field_u64(j, "waker", s->addr);
		if (s->kind == TRACE_SUSPEND && (s->site || s->addr)) {
			report_place_of(r, co->pid, s->site, s->addr, &where);
			jw_key(j, "place");
			put_place(j, &where);
		}
		jw_object_end(j);
	}
	jw_array_end(j);
}

static void put_awaiter(struct json_writer *j, const struct report *r, uint32_t pid,
			const struct link *l)
{
	struct report_place where;

	report_place_of(r, pid, l->site, l->addr, &where);
	jw_object_begin(j);
	jw_field_u64(j, "probe_id", l->probe_id);
	jw_field_string(j, "name",
			l->name ? strtab_text(&r->analysis->model.names, l->name - 1) : NULL);
	jw_key(j, "place");
	put_place(j, &where);
	jw_object_end(j);
}

static void report_put_chain(struct json_writer *j, const struct report *r, uint32_t pid,
			     const struct link *chain, unsigned nr)
{
	unsigned i;

	jw_key(j, "awaited_by");
	jw_array_begin(j);
	for (i = 0; i < nr; i++)
		put_awaiter(j, r, pid, &chain[i]);
	jw_array_end(j);
}

/* The members that need no more than what a group keeps of each of its coroutines. */
static void put_coroutine(struct json_writer *j, const struct report *r, const struct affected *co)
{
	const struct model *m = &r->analysis->model;

	jw_field_u64(j, "probe_id", co->probe_id);
	jw_field_string(j, "name", co->name ? strtab_text(&m->names, co->name - 1) : NULL);
	jw_field_u64(j, "pid", co->pid);
	jw_field_u64(j, "tid", co->tid);
	jw_field_string(j, "state", trace_state_name(co->state));
	jw_field_u64(j, "since_ts", co->since_ts);
	jw_field_u64(j, "age_ns", co->seen_ts > co->since_ts ? co->seen_ts - co->since_ts : 0);
	jw_field_u64(j, "at_ts", co->seen_ts);
	if (co->reason)
		jw_field_string(j, "reason", trace_reason_name(co->reason));
	if (co->has_resource)
		jw_field_u64(j, "resource", co->resource);
	if (co->parent)
		jw_field_u64(j, "parent", co->parent);
	jw_field_u64(j, "lost", co->lost);
}

static void report_put_example(struct json_writer *j, const struct report *r, const struct group *g)
{
	struct affected co = affected_of(&g->example, &g->finding);

	jw_key(j, "example");
	jw_object_begin(j);
	put_coroutine(j, r, &co);
	report_put_steps(j, r, &g->example);
	report_put_chain(j, r, g->example.pid, g->chain, g->nr_chain);
	jw_object_end(j);
}

/* The last steps of a coroutine that was destroyed since are known for the example only. */
static void put_history(struct json_writer *j, const struct report *r, const struct group *g,
			const struct affected *entry)
{
	const struct coro none = { 0 }, *co = model_find(&r->analysis->model, entry->probe_id);
	struct link chain[FINDING_CHAIN];

	if (entry->probe_id == g->example.probe_id) {
		report_put_steps(j, r, &g->example);
		report_put_chain(j, r, g->example.pid, g->chain, g->nr_chain);
		return;
	}
	report_put_steps(j, r, co ? co : &none);
	report_put_chain(j, r, entry->pid, chain,
			 co ? finding_chain(&r->analysis->model, co, chain) : 0);
}

static void put_coroutines(struct json_writer *j, const struct report *r, const struct group *g)
{
	const struct affected **all = affected_sorted(&r->analysis->findings.affected,
						      &g->affected);
	size_t nr = all ? g->affected.nr : 0, i;

	if (!r->all_coroutines && nr > r->some_coroutines)
		nr = r->some_coroutines;
	jw_key(j, "coroutines");
	jw_array_begin(j);
	for (i = 0; i < nr; i++) {
		enum confidence sure = report_confidence_of(g, all[0], all[i]);

		jw_object_begin(j);
		put_coroutine(j, r, all[i]);
		jw_field_string(j, "confidence", confidence_name(sure));
		if (r->all_coroutines)
			put_history(j, r, g, all[i]);
		jw_object_end(j);
	}
	jw_array_end(j);
	jw_field_u64(j, "coroutines_omitted", g->affected.omitted + g->affected.nr - nr);
}

static void report_put_evidence(struct json_writer *j, const struct report *r,
				const struct group *g)
{
	char line[EVIDENCE_TEXT + 520];
	unsigned i;

	jw_key(j, "evidence");
	jw_array_begin(j);
	for (i = 0; report_evidence(r, g, i, line, sizeof(line)); i++)
		jw_string(j, line);
	jw_array_end(j);
}

void report_put_group(struct json_writer *j, const struct report *r, const struct group *g)
{
	struct report_place where;
	char kind[640];

	jw_object_begin(j);
	jw_field_string(j, "detector", g->detector->name);
	jw_field_string(j, "title", g->detector->title);
	jw_field_string(j, "confidence", confidence_name(g->confidence));
	jw_field_bool(j, "fault", g->detector->is_fault);
	jw_field_u64(j, "count", g->count);
	jw_field_u64(j, "oldest_ns", report_size_word(g) ? g->oldest_ns : 0);
	jw_key(j, "place");
	if (report_group_place(r, g, &where))
		put_place(j, &where);
	else if (report_group_spawn(r, g, &where))
		put_spawn_place(j, &where);
	else
		jw_null(j);
	jw_field_string(j, "kind", report_kind_of(r, g, kind, sizeof(kind)) ? kind : NULL);
	jw_field_string(j, "seen", g->finding.detail);
	report_put_evidence(j, r, g);
	jw_field_string(j, "doubt", g->finding.doubt);
	jw_field_string(j, "meaning", g->detector->meaning);
	jw_field_string(j, "advice", g->detector->advice);
	jw_field_string(j, "hint", report_hint(g));
	if (g->has_coro)
		report_put_example(j, r, g);
	if (r->all_coroutines || r->some_coroutines)
		put_coroutines(j, r, g);
	jw_object_end(j);
}

/* The notes, and the coroutines that existed before the program was attached. */
static void report_put_notes(struct json_writer *j, const struct report *first)
{
	const struct report *r;
	bool has_waiting = false;
	char buf[640];
	unsigned nr;

	jw_key(j, "notes");
	jw_array_begin(j);
	for (r = first; r; r = r->next) {
		for (nr = 0; report_caveat(r, nr, buf, sizeof(buf)); nr++)
			jw_string(j, buf);
		has_waiting |= r->analysis->waiting.nr > 0;
	}
	jw_array_end(j);
	if (!has_waiting)
		return;
	jw_key(j, "waiting");
	jw_array_begin(j);
	for (r = first; r; r = r->next)
		waiting_facts_put(&r->analysis->waiting, j);
	jw_array_end(j);
}

static void report_put_findings(struct json_writer *j, const struct report *first)
{
	uint64_t suppressed = 0, below = 0;
	const struct report *r;
	size_t i;

	for (r = first; r; r = r->next) {
		struct report_counts c = report_count(r);

		suppressed += c.suppressed;
		below += c.below;
	}
	jw_field_u64(j, "suppressed", suppressed);
	jw_field_u64(j, "below", below);
	jw_key(j, "findings");
	jw_array_begin(j);
	for (r = first; r; r = r->next) {
		const struct findings *f = &r->analysis->findings;

		for (i = 0; i < f->nr; i++) {
			if (report_shows(r, &f->groups[i]))
				report_put_group(j, r, &f->groups[i]);
		}
	}
	jw_array_end(j);
}

int report_json(const struct report *r, FILE *out)
{
	struct json_writer j;

	jw_init_file(&j, out);
	jw_object_begin(&j);
	jw_field_string(&j, "trace", r->whole ? r->whole : r->trace);
	report_put_totals(&j, r);
	trace_put_completeness(&j, r->whole ? r->whole_stats : r->stats);
	report_put_notes(&j, r);
	report_put_findings(&j, r);
	if (r->put_more)
		r->put_more(&j, r->more);
	jw_object_end(&j);
	jw_newline(&j);
	return jw_release(&j);
}
