/* SPDX-License-Identifier: MIT */
/* callgrind_file.c - a profile in the format of callgrind. */
#include "memory/calls/callgrind_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

#define CALLGRIND_UNKNOWN "???"

struct callgrind_writer {
	const struct call_profile *p;
	FILE *out;
	struct strtab names; /* with their kind in front: "ob", "fl" or "fn" */
	struct u64map numbers;
	uint32_t nr_names;
	uint32_t *places, *arcs; /* numbers, sorted by function */
	bool has_failed;
};

/* ---- names ---------------------------------------------------------------------- */

/* "KEY=(3) NAME" the first time, then "KEY=(3)"; @kind is the list of names. */
static void callgrind_put_name(struct callgrind_writer *w, const char *key, const char *kind,
			       const char *name)
{
	char text[1400], safe[1300];
	uint64_t *number = NULL;
	int64_t known;
	bool is_new;

	text_safe(name ? name : CALLGRIND_UNKNOWN, safe, sizeof(safe));
	snprintf(text, sizeof(text), "%s %s", kind, safe);
	known = strtab_intern(&w->names, text);
	if (known >= 0)
		number = u64map_at(&w->numbers, (uint64_t)known);
	if (!number) {
		w->has_failed = true;
		return;
	}
	is_new = !*number;
	if (is_new)
		*number = ++w->nr_names;
	fprintf(w->out, "%s=(%llu)%s%s\n", key, (unsigned long long)*number, is_new ? " " : "",
		is_new ? safe : "");
}

/* ---- costs ---------------------------------------------------------------------- */

/* @before: what is in front of the numbers. */
static void callgrind_put_counts(struct callgrind_writer *w, const char *before,
				 const struct call_counts *c)
{
	uint32_t i;

	fprintf(w->out, "%s %llu %llu %llu", before, (unsigned long long)call_profile_cost(w->p, c),
		(unsigned long long)c->n[CALL_READS], (unsigned long long)c->n[CALL_WRITES]);
	for (i = 0; i < 2 * w->p->nr_levels; i++)
		fprintf(w->out, " %llu", (unsigned long long)c->n[CALL_MISSES + i]);
	putc('\n', w->out);
}

static void callgrind_put_line(struct callgrind_writer *w, uint32_t line,
			       const struct call_counts *c)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", line);
	callgrind_put_counts(w, text, c);
}

static void callgrind_put_arc(struct callgrind_writer *w, const struct call_arc *a)
{
	const struct call_function *callee = &w->p->functions[a->callee];
	bool has_line = a->place != UINT32_MAX && w->p->places[a->place].function == a->caller;

	callgrind_put_name(w, "cob", "ob", callee->module);
	callgrind_put_name(w, "cfi", "fl", callee->file);
	callgrind_put_name(w, "cfn", "fn", callee->name);
	/* Without a number the costs would be those of the caller itself. */
	fprintf(w->out, "calls=%llu %u\n", (unsigned long long)(a->calls ? a->calls : 1),
		callee->line);
	callgrind_put_line(w, has_line ? w->p->places[a->place].line : 0, &a->whole);
}

static void callgrind_put_function(struct callgrind_writer *w, uint32_t function, uint32_t *place,
				   uint32_t *arc)
{
	const struct call_profile *p = w->p;
	const struct call_function *f = &p->functions[function];

	putc('\n', w->out);
	callgrind_put_name(w, "ob", "ob", f->module);
	callgrind_put_name(w, "fl", "fl", f->file);
	callgrind_put_name(w, "fn", "fn", f->name);
	for (; *place < p->nr_places && p->places[w->places[*place]].function == function;
	     ++*place) {
		const struct call_place *at = &p->places[w->places[*place]];

		if (at->self.n[CALL_READS] + at->self.n[CALL_WRITES])
			callgrind_put_line(w, at->line, &at->self);
	}
	/* Without stacks the only calls are those of the root, which is not written. */
	for (; *arc < p->nr_arcs && p->arcs[w->arcs[*arc]].caller == function; ++*arc)
		callgrind_put_arc(w, &p->arcs[w->arcs[*arc]]);
}

/* ---- order ---------------------------------------------------------------------- */

static int callgrind_places_compare(const void *x, const void *y, void *writer)
{
	const struct call_profile *p = ((const struct callgrind_writer *)writer)->p;
	const struct call_place *a = &p->places[*(const uint32_t *)x];
	const struct call_place *b = &p->places[*(const uint32_t *)y];

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

/* In the order of their first call. */
static int callgrind_arcs_compare(const void *x, const void *y, void *writer)
{
	const struct call_profile *p = ((const struct callgrind_writer *)writer)->p;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	if (p->arcs[a].caller != p->arcs[b].caller)
		return p->arcs[a].caller < p->arcs[b].caller ? -1 : 1;
	return (a > b) - (a < b);
}

static uint32_t *callgrind_sorted(struct callgrind_writer *w, uint32_t nr,
				  int (*compare)(const void *, const void *, void *))
{
	uint32_t *list = calloc((size_t)nr + 1, sizeof(*list)), i;

	for (i = 0; list && i < nr; i++)
		list[i] = i;
	if (list)
		qsort_r(list, nr, sizeof(*list), compare, w);
	return list;
}

/* ---- the file ------------------------------------------------------------------- */

static void callgrind_put_command(const struct mem_facts *facts, FILE *out)
{
	size_t at = 0, size = facts->command ? facts->command_size : 0, length;

	fputs("cmd:", out);
	for (; at < size; at += length + 1) {
		length = strnlen(facts->command + at, size - at);
		putc(' ', out);
		text_put_n(out, facts->command + at, length);
	}
	putc('\n', out);
}

static void callgrind_put_events(const struct callgrind_head *head, FILE *out)
{
	const struct sim_config *c = head->config;
	char names[2 * SIM_LEVELS_MAX * 8] = "", number[2] = "";
	uint32_t i;

	fputs("event: Cost : Estimated cycles of misses\n"
	      "event: Dr : Reads\nevent: Dw : Writes\n",
	      out);
	for (i = 0; i < c->nr_levels; i++) {
		number[0] = i && i + 1 == c->nr_levels ? 'L' : (char)('1' + i);
		fprintf(out, "event: D%smr : ", number);
		text_put(out, c->level[i].name);
		fprintf(out, " misses of reads\nevent: D%smw : ", number);
		text_put(out, c->level[i].name);
		fputs(" misses of writes\n", out);
		snprintf(names + strlen(names), sizeof(names) - strlen(names), " D%smr D%smw",
			 number, number);
	}
	fprintf(out, "events: Cost Dr Dw%s\n", names);
}

static void callgrind_put_head(const struct callgrind_head *head, FILE *out)
{
	uint32_t i;

	fputs("# callgrind format\nversion: 1\ncreator: corotracer\n", out);
	callgrind_put_command(head->facts, out);
	fputs("desc: Trace: ", out);
	text_put(out, head->trace);
	fputs("\ndesc: Caches of ", out);
	text_put(out, head->machine);
	putc(':', out);
	for (i = 0; i < head->config->nr_levels; i++) {
		fputs(i ? ", " : " ", out);
		text_put(out, head->config->level[i].name);
		fprintf(out, " %s", number_bytes(head->config->level[i].size));
	}
	fputs("\npositions: line\n", out);
	callgrind_put_events(head, out);
}

int callgrind_write(const struct call_profile *p, const struct callgrind_head *head, FILE *out)
{
	struct callgrind_writer w = { .p = p, .out = out };
	uint32_t i, place = 0, arc = 0;
	int rc = 0;

	w.places = callgrind_sorted(&w, p->nr_places, callgrind_places_compare);
	w.arcs = callgrind_sorted(&w, p->nr_arcs, callgrind_arcs_compare);
	if (w.places && w.arcs) {
		callgrind_put_head(head, out);
		/* The root has nothing but calls. */
		for (i = p->has_stacks ? 0 : 1; i < p->nr_functions; i++)
			callgrind_put_function(&w, i, &place, &arc);
		callgrind_put_counts(&w, "\ntotals:", call_profile_total(p));
	}
	if (!w.places || !w.arcs || w.has_failed)
		rc = -ENOMEM;
	else if (ferror(out))
		rc = -EIO;
	strtab_release(&w.names);
	u64map_release(&w.numbers);
	free(w.places);
	free(w.arcs);
	return rc;
}
