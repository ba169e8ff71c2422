/* SPDX-License-Identifier: MIT */
/* mem_stat_text.c - statistics of a memory trace, as text. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "mem.h"
#include "mem_stat.h"

static void print_totals(const struct mem_stat *s, const char *path)
{
	uint64_t all = s->reads + s->writes;

	text_put(stdout, path);
	printf(": %s accesses, %.1f %% of them writes, %s annotations, %zu thread%s\n",
	       mem_number(all), mem_percent(s->writes, all), mem_number(s->annotations),
	       s->nr_threads, s->nr_threads == 1 ? "" : "s");
	printf("  %s lines of %u bytes, %s; %s accesses straddle two\n",
	       mem_number(s->lines.distinct), s->config.line_size,
	       mem_bytes(s->lines.distinct * s->config.line_size), mem_number(s->straddles));
	if (s->lost)
		printf("  %s accesses are missing: lost\n", mem_number(s->lost));
	if (s->left_out)
		printf("  %s accesses are missing: left out on purpose\n", mem_number(s->left_out));
	if (s->lines.one_in > 1)
		printf("  lines are a sample, 1 in %s: what follows about lines is estimated\n",
		       mem_number(s->lines.one_in));
}

static void print_threads(const struct mem_stat *s, const struct mem_facts *facts)
{
	size_t i;

	if (s->nr_threads < 2)
		return;
	puts("\nthread                          reads           writes");
	for (i = 0; i < s->nr_threads && i < 32; i++) {
		const struct mem_stat_thread *t = &s->threads[i];
		const struct mem_thread *known = mem_facts_thread(facts, t->number);

		printf("%-12llu %24s %16s  ", (unsigned long long)mem_facts_id(facts, t->number),
		       mem_number(t->reads), mem_number(t->writes));
		if (known && known->name)
			text_put_short(stdout, known->name, 24);
		if (t->lines)
			printf("  %s lines", mem_number(t->lines->distinct));
		putchar('\n');
	}
	if (s->nr_threads > 32)
		printf("and %zu more\n", s->nr_threads - 32);
}

size_t mem_stat_types(const struct mem_stat *s, uint32_t *out, size_t nr)
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

static void print_types(const struct mem_stat *s, unsigned top)
{
	uint32_t order[MEM_STAT_TOP_MAX];
	size_t nr = mem_stat_types(s, order, top), i;

	if (!nr)
		return;
	puts("\ntype                            reads           writes        allocated");
	for (i = 0; i < nr; i++) {
		const struct mem_stat_type *t = &s->types[order[i]];
		const char *name = strtab_text(&s->names, order[i]);
		int width = text_width(name);

		text_put_short(stdout, name, 20);
		printf("%*s %16s %16s %16s\n", width < 20 ? 20 - width : 0, "",
		       mem_number(t->reads), mem_number(t->writes), mem_number(t->added));
	}
}

static void print_hot(struct mem_stat *s, unsigned top)
{
	const struct reuse_line *hot[MEM_STAT_TOP_MAX];
	size_t nr = lines_hottest(&s->lines, hot, top), i;
	uint64_t all = s->reads + s->writes;

	if (!nr)
		return;
	puts("\nhot lines                       reads           writes    share  threads");
	for (i = 0; i < nr; i++) {
		const struct reuse_line *l = hot[i];
		int users = __builtin_popcountll(l->readers | l->writers);

		printf("0x%-18llx %16s %16s %6.2f %%  %d%s",
		       (unsigned long long)l->line * s->config.line_size, mem_number(l->reads),
		       mem_number(l->writes), mem_percent(l->reads + l->writes, all), users,
		       users > 1 && l->writers ? ", written" : "");
		if (l->type != ~0u) {
			fputs("  ", stdout);
			text_put_short(stdout, strtab_text(&s->names, l->type), 24);
		}
		putchar('\n');
	}
}

static void print_windows(const struct mem_stat *s)
{
	uint64_t most = 1;
	size_t i;

	if (s->nr_windows < 2)
		return;
	for (i = 0; i < s->nr_windows; i++)
		most = s->windows[i].lines > most ? s->windows[i].lines : most;
	printf("\nworking set, per %s accesses\n", mem_number(s->window));
	for (i = 0; i < s->nr_windows && i < 64; i++) {
		const struct mem_stat_window *w = &s->windows[i];
		int bar = (int)(40 * w->lines / most);

		printf("%14s %10s  %.*s\n", mem_number((uint64_t)i * s->window),
		       mem_bytes(w->lines * s->config.line_size), bar,
		       "########################################");
	}
	if (s->nr_windows > 64)
		printf("and %zu more%s\n", s->nr_windows - 64,
		       s->windows_full ? ", the last one to the end of the trace" : "");
}

static void print_strides(const struct mem_stat *s, unsigned top)
{
	const struct strides *st = &s->strides;
	size_t i;

	if (!st->all)
		return;
	printf("\nstrides: %.1f %% as the one before of the same place, %.1f %% the same address, "
	       "%.1f %% the next\n",
	       mem_percent(st->same, st->all), mem_percent(st->zero, st->all),
	       mem_percent(st->next, st->all));
	for (i = 0; i < st->nr_kept && i < top; i++)
		printf("%20lld %16s %6.2f %%%s\n", (long long)st->kept[i].stride,
		       mem_number(st->kept[i].count), mem_percent(st->kept[i].count, st->all),
		       st->under * 10 > st->kept[i].count ? "  at least" : "");
}

static void print_reuse(const struct reuse_lines *l, uint32_t line_size, const char *whose)
{
	uint64_t all = l->cold, hits = 0;
	unsigned b, last = 0;

	for (b = 0; b < LINES_BUCKETS; b++) {
		all += l->reuse[b];
		last = l->reuse[b] ? b : last;
	}
	if (!all)
		return;
	printf("\nreuse distance%s, and what an LRU cache of that size would have\n", whose);
	for (b = 0; b <= last; b++) {
		hits += l->reuse[b];
		printf("          < %-9s lines %16s  %8s: %6.2f %% hits\n",
		       mem_number(lines_bucket_start(b + 1)), mem_number(l->reuse[b]),
		       mem_bytes(lines_bucket_start(b + 1) * line_size), mem_percent(hits, all));
	}
	printf("%9s   %-9s       %16s\n", "", "first use", mem_number(l->cold));
}

void mem_stat_text(struct mem_stat *s, const struct mem_facts *facts, const char *path,
		   unsigned top)
{
	char whose[64];
	size_t i;

	print_totals(s, path);
	print_threads(s, facts);
	print_types(s, top);
	print_hot(s, top);
	print_windows(s);
	print_strides(s, top);
	print_reuse(&s->lines, s->config.line_size, "");
	for (i = 0; i < s->nr_threads; i++) {
		if (!s->threads[i].lines)
			continue;
		snprintf(whose, sizeof(whose), " of thread %llu",
			 (unsigned long long)mem_facts_id(facts, s->threads[i].number));
		print_reuse(s->threads[i].lines, s->config.line_size, whose);
	}
}
