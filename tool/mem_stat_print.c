/* SPDX-License-Identifier: MIT */
/* mem_stat_print.c - statistics of a memory trace, as text or as one JSON object. */
#include "json_file.h"
#include "mem_stat.h"

#include <stdio.h>

#include "base/number.h"
#include "base/printer.h"
#include "mem_unseen.h"

#define THREADS_SHOWN 32
#define WINDOWS_SHOWN 64

static size_t stat_shown(const struct printer *p, size_t nr, size_t most)
{
	return p->is_json || nr < most ? nr : most;
}

/* ---- totals ---------------------------------------------------------------------- */

static void stat_print_totals(struct printer *p, const struct mem_stat *s, const char *path)
{
	uint64_t all = s->reads + s->writes;

	print_string(p, "file", path);
	print_safe(p, path, 0);
	print_count(p, "accesses", ": %s accesses, ", all);
	print_count(p, "reads", NULL, s->reads);
	print_count(p, "writes", NULL, s->writes);
	print_text(p, "%.1f %% of them writes, ", number_percent(s->writes, all));
	print_count(p, "bytes", NULL, s->bytes);
	print_real(p, "weighted_accesses", NULL, (double)s->weighted_256 / 256);
	print_count(p, "annotations", "%s annotations, ", s->annotations);
	print_text(p, "%zu thread%s\n", s->nr_threads, number_plural(s->nr_threads));
	print_text(p, "  %s lines", number_text(s->lines.distinct));
	print_count(p, "lost", NULL, s->lost);
	print_count(p, "left_out", NULL, s->left_out);
	print_number(p, "line_size", " of %s bytes, ", s->config.line_size);
	print_text(p, "%s; ", number_bytes(s->lines.distinct * s->config.line_size));
	print_count(p, "straddles", "%s accesses straddle two\n", s->straddles);
	print_nonzero(p, "coroutine_resumes", "  %s slices of coroutines", s->resumes);
	print_nonzero(p, "in_coroutines", ", %s accesses in them", s->in_coroutines);
	if (s->resumes)
		print_text(p, "\n");
	print_nonzero(p, "allocations", "  %s blocks allocated", s->allocations);
	print_count(p, "bytes_allocated", NULL, s->allocated);
	if (s->allocations)
		print_text(p, ", %s\n", number_bytes(s->allocated));
	if (s->lost)
		print_text(p, "  %s accesses are missing: lost\n", number_text(s->lost));
	if (s->left_out)
		print_text(p, "  %s accesses are missing: left out on purpose\n",
			   number_text(s->left_out));
	if (s->lines.one_in > 1)
		print_text(p,
			   "  lines are a sample, 1 in %s: what follows about lines is estimated\n",
			   number_text(s->lines.one_in));
}

/* ---- reuse distances -------------------------------------------------------------- */

static void stat_print_reuse(struct printer *p, const struct reuse_lines *l, uint32_t line_size,
			     const char *whose)
{
	uint64_t all = l->cold, hits = 0;
	unsigned b, end = 0;

	for (b = 0; b < LINES_BUCKETS; b++) {
		all += l->reuse[b];
		end = l->reuse[b] ? b + 1 : end;
	}
	if (!p->is_json && !all)
		return;
	if (!p->is_json && !end)
		end = 1;
	print_text(p, "\nreuse distance%s, and what an LRU cache of that size would have\n", whose);
	print_count(p, "lines", NULL, l->distinct);
	print_count(p, "sampled_one_in", NULL, l->one_in);
	print_count(p, "first_uses", NULL, l->cold);
	print_list(p, "reuse");
	for (b = 0; b < end; b++) {
		hits += l->reuse[b];
		print_row(p);
		print_count(p, "from", NULL, lines_bucket_start(b));
		print_count(p, "below", "          < %-9s lines", lines_bucket_start(b + 1));
		print_count(p, "count", " %16s", l->reuse[b]);
		print_text(p, "  %8s: %6.2f %% hits",
			   number_bytes(lines_bucket_start(b + 1) * line_size),
			   number_percent(hits, all));
		print_row_end(p);
	}
	print_list_end(p);
	print_text(p, "%9s   %-9s       %16s\n", "", "first use", number_text(l->cold));
}

/* In JSON part of the threads. */
static void stat_print_reuse_of_threads(struct printer *p, const struct mem_stat *s,
					const struct mem_facts *facts)
{
	char whose[64];
	size_t i;

	for (i = 0; i < s->nr_threads; i++) {
		if (!s->threads[i].lines)
			continue;
		snprintf(whose, sizeof(whose), " of thread %llu",
			 (unsigned long long)mem_facts_id(facts, s->threads[i].number));
		stat_print_reuse(p, s->threads[i].lines, s->config.line_size, whose);
	}
}

/* ---- tables ----------------------------------------------------------------------- */

static void stat_print_thread(struct printer *p, const struct mem_stat *s,
			      const struct mem_stat_thread *t, const struct mem_facts *facts)
{
	const struct mem_thread *known = mem_facts_thread(facts, t->number);
	const char *name = known ? known->name : NULL;

	print_row(p);
	print_number(p, "id", "%-12s", mem_facts_id(facts, t->number));
	print_string(p, "name", name);
	print_count(p, "reads", " %24s", t->reads);
	print_count(p, "writes", " %16s  ", t->writes);
	print_count(p, "bytes", NULL, t->bytes);
	print_count(p, "missing", NULL, t->missing);
	if (name)
		print_safe(p, name, 24);
	if (t->lines && p->is_json)
		stat_print_reuse(p, t->lines, s->config.line_size, "");
	else if (t->lines)
		print_text(p, "  %s lines", number_text(t->lines->distinct));
	print_row_end(p);
}

static void stat_print_threads(struct printer *p, const struct mem_stat *s,
			       const struct mem_facts *facts)
{
	size_t nr = stat_shown(p, s->nr_threads, THREADS_SHOWN), i;

	if (!p->is_json && s->nr_threads < 2)
		return;
	print_text(p, "\nthread                          reads           writes\n");
	print_list(p, "threads");
	for (i = 0; i < nr; i++)
		stat_print_thread(p, s, &s->threads[i], facts);
	print_list_end(p);
	if (nr < s->nr_threads)
		print_text(p, "and %zu more\n", s->nr_threads - nr);
}

/* Fill @out with types, most accesses first; returns the number of types accessed or added. */
static size_t stat_sort_types(const struct mem_stat *s, uint32_t *out, size_t nr)
{
	size_t have = 0, k;
	uint32_t i;

	for (i = 0; i < s->names.nr; i++) {
		uint64_t uses = s->types[i].reads + s->types[i].writes;

		for (k = have < nr ? have : nr; k > 0; k--) {
			const struct mem_stat_type *before = &s->types[out[k - 1]];

			if (before->reads + before->writes >= uses)
				break;
			if (k < nr)
				out[k] = out[k - 1];
		}
		if (k < nr)
			out[k] = i;
		if (have < nr)
			have++;
	}
	return have;
}

static void stat_print_types(struct printer *p, const struct mem_stat *s, unsigned top)
{
	uint32_t order[MEM_STAT_TOP_MAX];
	size_t nr = stat_sort_types(s, order, top), i;

	if (nr)
		print_text(p, "\ntype                            reads           writes        "
			      "allocated\n");
	print_list(p, "types");
	for (i = 0; i < nr; i++) {
		const struct mem_stat_type *t = &s->types[order[i]];

		print_row(p);
		print_name(p, "type", 20, strtab_text(&s->names, order[i]));
		print_count(p, "reads", " %16s", t->reads);
		print_count(p, "writes", " %16s", t->writes);
		print_count(p, "bytes", NULL, t->bytes);
		print_count(p, "added", " %16s", t->added);
		print_count(p, "removed", NULL, t->removed);
		print_row_end(p);
	}
	print_list_end(p);
}

static void stat_print_hot_line(struct printer *p, const struct mem_stat *s,
				const struct reuse_line *l)
{
	const char *type = l->type == ~0u ? NULL : strtab_text(&s->names, l->type);
	int users = __builtin_popcountll(l->readers | l->writers);
	int writers = __builtin_popcountll(l->writers);

	print_row(p);
	print_address(p, "address", "%-20s", (uint64_t)l->line * s->config.line_size);
	print_count(p, "reads", " %16s", l->reads);
	print_count(p, "writes", " %16s", l->writes);
	print_text(p, " %6.2f %%", number_percent(l->reads + l->writes, s->reads + s->writes));
	print_integer(p, "threads", "  %s", users);
	print_integer(p, "writers", NULL, writers);
	print_text(p, "%s", users > 1 && writers ? ", written" : "");
	print_string(p, "type", type);
	if (type) {
		print_text(p, "  ");
		print_safe(p, type, 24);
	}
	print_row_end(p);
}

static void stat_print_hot(struct printer *p, struct mem_stat *s, unsigned top)
{
	const struct reuse_line *hot[MEM_STAT_TOP_MAX];
	size_t nr = lines_hottest(&s->lines, hot, top), i;

	if (nr)
		print_text(p, "\nhot lines                       reads           writes    share  "
			      "threads\n");
	print_list(p, "hot_lines");
	for (i = 0; i < nr; i++)
		stat_print_hot_line(p, s, hot[i]);
	print_list_end(p);
}

static void stat_print_windows(struct printer *p, const struct mem_stat *s)
{
	size_t nr = stat_shown(p, s->nr_windows, WINDOWS_SHOWN), i;
	uint64_t most = 1;

	if (!p->is_json && s->nr_windows < 2)
		return;
	for (i = 0; i < s->nr_windows; i++)
		most = s->windows[i].lines > most ? s->windows[i].lines : most;
	print_count(p, "window", "\nworking set, per %s accesses\n", s->window);
	print_list(p, "working_set");
	for (i = 0; i < nr; i++) {
		const struct mem_stat_window *w = &s->windows[i];

		print_row(p);
		print_text(p, "%14s %10s  %.*s", number_text((uint64_t)i * s->window),
			   number_bytes(w->lines * s->config.line_size),
			   (int)(40 * w->lines / most), "########################################");
		print_count(p, "accesses", NULL, w->accesses);
		print_count(p, "lines", NULL, w->lines);
		if (w->time_ns)
			print_count(p, "time_ns", NULL, w->time_ns);
		print_row_end(p);
	}
	print_list_end(p);
	if (nr < s->nr_windows)
		print_text(p, "and %zu more%s\n", s->nr_windows - nr,
			   s->windows_full ? ", the last one to the end of the trace" : "");
}

static void stat_print_strides(struct printer *p, const struct strides *st, unsigned top)
{
	size_t i;

	print_object(p, "strides");
	print_count(p, "all", NULL, st->all);
	print_count(p, "same_as_before", NULL, st->same);
	print_count(p, "zero", NULL, st->zero);
	print_count(p, "sequential", NULL, st->next);
	print_count(p, "not_followed", NULL, st->unknown);
	print_count(p, "counts_low_by_at_most", NULL, st->under);
	if (st->all)
		print_text(
			p,
			"\nstrides: %.1f %% as the one before of the same place, %.1f %% the same "
			"address, %.1f %% the next\n",
			number_percent(st->same, st->all), number_percent(st->zero, st->all),
			number_percent(st->next, st->all));
	print_list(p, "top");
	for (i = 0; i < st->nr_kept && i < top; i++) {
		print_row(p);
		print_integer(p, "stride", "%20s", st->kept[i].stride);
		print_count(p, "count", " %16s", st->kept[i].count);
		print_text(p, " %6.2f %%%s", number_percent(st->kept[i].count, st->all),
			   st->under * 10 > st->kept[i].count ? "  at least" : "");
		print_row_end(p);
	}
	print_list_end(p);
	print_object_end(p);
}

void mem_stat_print(struct mem_stat *s, const struct mem_facts *facts, const char *path,
		    unsigned top, bool json)
{
	struct printer p;

	printer_begin(&p, json_file_stream(stdout), json);
	stat_print_totals(&p, s, path);
	mem_unseen_print(&p, "  ", facts);
	if (json)
		stat_print_reuse(&p, &s->lines, s->config.line_size, "");
	stat_print_threads(&p, s, facts);
	stat_print_types(&p, s, top);
	stat_print_hot(&p, s, top);
	stat_print_windows(&p, s);
	stat_print_strides(&p, &s->strides, top);
	if (!json) {
		stat_print_reuse(&p, &s->lines, s->config.line_size, "");
		stat_print_reuse_of_threads(&p, s, facts);
	}
	printer_end(&p);
}
