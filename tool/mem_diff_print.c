/* SPDX-License-Identifier: MIT */
/* mem_diff_print.c - the comparison of two memory traces as text, Markdown and JSON. */
#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "base/printer.h"
#include "base/text.h"
#include "mem_diff.h"

enum { MEM_DIFF_BASE, MEM_DIFF_HEAD };

/* ---- changes as text ----------------------------------------------------------- */

/* "+12.5 %", "12.5 times" or "new".  Returns @buf. */
static const char *diff_percent(char buf[TEXT_SIZE], uint64_t base, uint64_t head)
{
	if (base == head)
		snprintf(buf, TEXT_SIZE, "0 %%");
	else if (!base)
		snprintf(buf, TEXT_SIZE, "new");
	else if (head / 10 >= base)
		snprintf(buf, TEXT_SIZE, "%.1f times", (double)head / (double)base);
	else
		snprintf(buf, TEXT_SIZE, "%+.1f %%",
			 100.0 * ((double)head - (double)base) / (double)base);
	return buf;
}

static uint64_t diff_cost(const struct miss_row *row)
{
	return row ? row->cost : 0;
}

static uint64_t diff_accesses(const struct miss_row *row)
{
	return row ? row->accesses : 0;
}

static uint64_t diff_misses(const struct miss_row *row, uint32_t level)
{
	return row ? row->misses[level] : 0;
}

/* "struct node.next", "walk (list.c)".  Returns @buf. */
static const char *diff_name(const struct miss_row *row, char *buf, size_t size)
{
	if (row->kind == MISS_FIELD)
		snprintf(buf, size, "%s.%s", row->name, row->part);
	else if (*row->part)
		snprintf(buf, size, "%s (%s)", row->name, row->part);
	else
		snprintf(buf, size, "%s", row->name);
	return buf;
}

/* ---- text ------------------------------------------------------------------------ */

static void diff_text_total(const char *what, uint64_t base, uint64_t head, FILE *out)
{
	char change[TEXT_SIZE];

	fprintf(out, "%-46s %14s %14s %10s\n", what, number_text(base), number_text(head),
		diff_percent(change, base, head));
}

static void diff_text_totals(const struct mem_diff_result *r, FILE *out)
{
	const struct miss_row *base = &r->sides[MEM_DIFF_BASE].rows.total;
	const struct miss_row *head = &r->sides[MEM_DIFF_HEAD].rows.total;
	char what[SIM_NAME_MAX + 8];
	uint32_t i;

	fprintf(out, "%-46s %14s %14s %10s\n", "total", "base", "head", "change");
	diff_text_total("accesses", base->accesses, head->accesses, out);
	for (i = 0; i < r->config->nr_levels; i++) {
		snprintf(what, sizeof(what), "%s misses", r->config->level[i].name);
		diff_text_total(what, base->misses[i], head->misses[i], out);
	}
	diff_text_total("cost", base->cost, head->cost, out);
}

static void diff_text_change(const struct mem_diff_result *r, const struct miss_change *c,
			     FILE *out)
{
	const struct miss_row *row = c->base ? c->base : c->head;
	uint32_t last = r->config->nr_levels - 1;
	char name[900], change[TEXT_SIZE], accesses[TEXT_SIZE], misses[TEXT_SIZE];
	int width;

	fprintf(out, "  %-8s ", miss_kind_name(row->kind));
	diff_name(row, name, sizeof(name));
	text_put_short(out, name, 35);
	width = text_width(name);
	fprintf(out, "%*s %14s %14s %10s %10s %10s\n", width < 35 ? 35 - width : 0, "",
		number_text(diff_cost(c->base)), number_text(diff_cost(c->head)),
		c->head ? diff_percent(change, diff_cost(c->base), diff_cost(c->head)) : "gone",
		c->head ? diff_percent(accesses, diff_accesses(c->base), diff_accesses(c->head))
			: "gone",
		c->head ? diff_percent(misses, diff_misses(c->base, last),
				       diff_misses(c->head, last))
			: "gone");
	if (c->base && c->head && c->base->size != c->head->size)
		fprintf(out, "  %-8s %s bytes, was %s\n", "", number_text(c->head->size),
			number_text(c->base->size));
}

static void diff_text_verdict(const struct mem_diff_result *r, enum miss_verdict verdict, FILE *out)
{
	const struct miss_comparison *c = &r->comparison;
	const struct sim_config *config = r->config;
	char head[SIM_NAME_MAX + 8];
	size_t i, nr = 0;

	if (!c->by_verdict[verdict])
		return;
	snprintf(head, sizeof(head), "%s misses", config->level[config->nr_levels - 1].name);
	fprintf(out, "\n%-46s %14s %14s %10s %10s %10s\n", miss_verdict_name(verdict), "base cost",
		"head cost", "change", "accesses", head);
	for (i = 0; i < c->nr; i++) {
		if (c->changes[i].verdict == verdict && nr++ < r->top)
			diff_text_change(r, &c->changes[i], out);
	}
	if (nr > r->top)
		fprintf(out, "  and %zu more\n", nr - r->top);
}

static const char *diff_conclusion(const struct mem_diff_result *r)
{
	const struct miss_comparison *c = &r->comparison;

	if (miss_comparison_regressed(c))
		return "worse";
	if (c->total.verdict == MISS_BETTER)
		return "better";
	return c->nr ? "changed, not worse" : "no change";
}

static void diff_put_text(const struct mem_diff_result *r, FILE *out)
{
	static const enum miss_verdict order[] = { MISS_WORSE, MISS_NEW, MISS_BETTER, MISS_GONE };
	const struct miss_limits *l = &r->comparison.limits;
	unsigned i;

	fputs("base ", out);
	text_put(out, r->sides[MEM_DIFF_BASE].trace);
	fputs(", head ", out);
	text_put(out, r->sides[MEM_DIFF_HEAD].trace);
	fprintf(out, ", caches of %s\n\n", r->machine);
	diff_text_totals(r, out);
	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		diff_text_verdict(r, order[i], out);
	fprintf(out,
		"\n%s: changes of at least %g %% of a row's cost, and %g %% of the base's cost\n",
		diff_conclusion(r), (double)l->of_row / MISS_PERCENT,
		(double)l->of_total / MISS_PERCENT);
}

/* ---- Markdown ---------------------------------------------------------------------- */

/* Text of the program in a cell: as code, without what would end the cell. */
static void diff_markdown_name(const char *name, FILE *out)
{
	char safe[900], *at;

	text_safe(name, safe, sizeof(safe));
	for (at = safe; *at; at++) {
		if (*at == '|' || *at == '`')
			*at = '/';
	}
	fprintf(out, "`%s`", safe);
}

static void diff_markdown_change(const struct miss_change *c, FILE *out)
{
	const struct miss_row *row = c->base ? c->base : c->head;
	char name[900], change[TEXT_SIZE], accesses[TEXT_SIZE];

	fprintf(out, "| %s | %s | ", miss_verdict_name(c->verdict), miss_kind_name(row->kind));
	diff_markdown_name(diff_name(row, name, sizeof(name)), out);
	fprintf(out, " | %s | %s | %s | %s |\n", number_text(diff_cost(c->base)),
		number_text(diff_cost(c->head)),
		c->head ? diff_percent(change, diff_cost(c->base), diff_cost(c->head)) : "gone",
		c->head ? diff_percent(accesses, diff_accesses(c->base), diff_accesses(c->head))
			: "gone");
}

static void diff_put_markdown(const struct mem_diff_result *r, FILE *out)
{
	const struct miss_row *base = &r->sides[MEM_DIFF_BASE].rows.total;
	const struct miss_row *head = &r->sides[MEM_DIFF_HEAD].rows.total;
	char change[TEXT_SIZE], accesses[TEXT_SIZE];
	size_t i, nr[MISS_GONE + 1] = { 0 };

	fprintf(out, "**Cache misses: %s**\n\n", diff_conclusion(r));
	fputs("| | | | base cost | head cost | change | accesses "
	      "|\n|---|---|---|--:|--:|--:|--:|\n",
	      out);
	fprintf(out, "| %s | total | | %s | %s | %s | %s |\n",
		miss_verdict_name(r->comparison.total.verdict), number_text(base->cost),
		number_text(head->cost), diff_percent(change, base->cost, head->cost),
		diff_percent(accesses, base->accesses, head->accesses));
	for (i = 0; i < r->comparison.nr; i++) {
		const struct miss_change *c = &r->comparison.changes[i];

		if (nr[c->verdict]++ < r->top)
			diff_markdown_change(c, out);
	}
}

/* ---- JSON -------------------------------------------------------------------------- */

static void diff_json_row(struct printer *p, const char *key, const struct miss_row *row,
			  uint32_t nr_levels)
{
	uint32_t i;

	if (!row) {
		print_string(p, key, NULL);
		return;
	}
	print_object(p, key);
	print_count(p, "accesses", NULL, row->accesses);
	print_list(p, "misses");
	for (i = 0; i < nr_levels; i++)
		jw_u64(&p->json, row->misses[i]);
	print_list_end(p);
	print_count(p, "cost", NULL, row->cost);
	if (row->size)
		print_count(p, "size", NULL, row->size);
	print_object_end(p);
}

static void diff_json_side(struct printer *p, const char *key, const struct mem_diff_side *side,
			   uint32_t nr_levels)
{
	print_object(p, key);
	print_string(p, "trace", side->trace);
	print_count(p, "lost", NULL, side->replay.lost);
	diff_json_row(p, "total", &side->rows.total, nr_levels);
	print_object_end(p);
}

static void diff_json_changes(struct printer *p, const struct mem_diff_result *r)
{
	uint32_t nr_levels = r->config->nr_levels;
	size_t i;

	print_list(p, "changes");
	for (i = 0; i < r->comparison.nr; i++) {
		const struct miss_change *c = &r->comparison.changes[i];
		const struct miss_row *row = c->base ? c->base : c->head;

		print_row(p);
		print_string(p, "verdict", miss_verdict_name(c->verdict));
		print_string(p, "kind", miss_kind_name(row->kind));
		print_string(p, "name", row->name);
		print_string(p, "part", *row->part ? row->part : NULL);
		diff_json_row(p, "base", c->base, nr_levels);
		diff_json_row(p, "head", c->head, nr_levels);
		print_row_end(p);
	}
	print_list_end(p);
}

static int diff_put_json(const struct mem_diff_result *r, FILE *out)
{
	const struct miss_comparison *c = &r->comparison;
	struct printer p;

	printer_begin(&p, out, true);
	print_string(&p, "machine_from", r->machine);
	diff_json_side(&p, "base", &r->sides[MEM_DIFF_BASE], r->config->nr_levels);
	diff_json_side(&p, "head", &r->sides[MEM_DIFF_HEAD], r->config->nr_levels);
	print_real(&p, "threshold", NULL, (double)c->limits.of_row / MISS_PERCENT);
	print_real(&p, "min_share", NULL, (double)c->limits.of_total / MISS_PERCENT);
	print_string(&p, "total_verdict", miss_verdict_name(c->total.verdict));
	print_flag(&p, "regressed", NULL, miss_comparison_regressed(c));
	diff_json_changes(&p, r);
	print_count(&p, "same", NULL, c->by_verdict[MISS_SAME]);
	return printer_end(&p);
}

int mem_diff_print(const struct mem_diff_result *r, enum mem_diff_form form, FILE *out)
{
	if (form == MEM_DIFF_JSON)
		return diff_put_json(r, out);
	if (form == MEM_DIFF_MARKDOWN)
		diff_put_markdown(r, out);
	else
		diff_put_text(r, out);
	return ferror(out) ? -EIO : 0;
}
