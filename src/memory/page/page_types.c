/* SPDX-License-Identifier: MIT */
/*
 * page_types.c - misses per type, and a map of each type's cache lines.
 *
 * A type with fields is drawn as the cache lines of an element that starts at a line, with its
 * fields as blocks.  A table with the same numbers follows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/page/mem_page.h"

#define ROWS_MAX  64u /* lines of a type that are drawn */
#define HEATS     6u
#define FIELD_BIG 8u /* lines; of a longer field only the first FIELD_BIG lines are drawn */

static const char *page_name_of(const struct page *page, const struct blame_owner *o)
{
	return mem_places_owner(blame_places(page->blame), o->owner)->name;
}

/* ---- the table ----------------------------------------------------------- */

static void put_level_heads(FILE *out, const struct page *page)
{
	const struct sim_config *c = sim_config_of(page->sim);
	uint32_t i;

	for (i = 0; i < c->nr_levels; i++) {
		fputs("<th>", out);
		page_text(out, c->level[i].name);
		fputs(" misses</th>", out);
	}
}

static void put_counts(FILE *out, const struct page *page, const struct blame_counts *c)
{
	char text[32];
	uint32_t i;

	fprintf(out, "<td>%s</td>", page_count(text, c->reads));
	fprintf(out, "<td>%s</td>", page_count(text, c->writes));
	for (i = 0; i < blame_levels(page->blame); i++)
		fprintf(out, "<td>%s</td>", page_count(text, c->misses[i]));
	fprintf(out, "<td>%s</td>", page_count(text, c->false_sharing));
}

static void put_owner(FILE *out, const struct page *page, const struct blame_owner *o)
{
	fputs("<tr><td class=\"m\">", out);
	if (o->fields)
		fprintf(out, "<a href=\"#t%u\">", o->owner);
	page_text(out, page_name_of(page, o));
	if (o->fields)
		fputs("</a>", out);
	fputs("</td>", out);
	put_counts(out, page, &o->counts);
	page_bar(out, blame_cost(page->blame, &o->counts),
		 blame_cost(page->blame, blame_total(page->blame)));
	fputs("</tr>\n", out);
}

/* ---- a type -------------------------------------------------------------- */

struct drawing {
	FILE *out;
	const struct page *page;
	const struct blame_owner *owner;
	const struct type *type;
	uint64_t most; /* cost of the most expensive field */
	uint32_t line;
};

static unsigned page_heat(const struct drawing *d, const struct blame_counts *c)
{
	uint64_t cost = blame_cost(d->page->blame, c);
	unsigned step;

	if (!cost || !d->most)
		return 0;
	/* Each step is twice the previous one: logarithmic, so that medium costs remain visible. */
	for (step = HEATS; step > 1 && cost * 2 <= d->most >> (HEATS - step); step--)
		;
	return step;
}

static void put_figures(const struct drawing *d, const struct blame_counts *c)
{
	const struct sim_config *config = sim_config_of(d->page->sim);
	char text[32];
	uint32_t i;

	fprintf(d->out, "%s reads", page_count(text, c->reads));
	fprintf(d->out, ", %s writes\n", page_count(text, c->writes));
	for (i = 0; i < config->nr_levels; i++) {
		fputs(i ? ", " : "", d->out);
		page_text(d->out, config->level[i].name);
		fprintf(d->out, " misses: %s", page_count(text, c->misses[i]));
	}
	if (c->false_sharing)
		fprintf(d->out, "\nfalsely shared: %s", page_count(text, c->false_sharing));
}

/* The part of leaf @n that is in line @row. */
static void page_put_block(const struct drawing *d, uint32_t n, uint64_t row)
{
	const struct type_leaf *leaf = &d->type->leaves[n];
	const struct blame_counts *c = &d->owner->fields[n].counts;
	uint64_t start = row * d->line, end = start + d->line;
	uint64_t from = leaf->offset > start ? leaf->offset : start;
	uint64_t to = leaf->offset + leaf->size < end ? leaf->offset + leaf->size : end;
	double left = 100.0 * (double)(from - start) / d->line;
	double width = 100.0 * (double)(to - from) / d->line;

	fprintf(d->out,
		"<div class=\"f h%u%s\" tabindex=\"0\" style=\"left:%.4g%%;width:%.4g%%\"><span>",
		page_heat(d, c), left > 55 ? " r" : "", left, width);
	page_text(d->out, leaf->path);
	fputs("</span><em>", d->out);
	page_text(d->out, leaf->path);
	fputs(": ", d->out);
	page_text(d->out, leaf->type_name);
	fprintf(d->out, "\noffset %llu, %llu bytes\n", (unsigned long long)leaf->offset,
		(unsigned long long)leaf->size);
	put_figures(d, c);
	fputs("</em></div>", d->out);
}

/*
 * True if leaf @n is drawn in @row.  Of union members that overlap, only the most expensive is
 * drawn.
 */
static bool is_drawn(const struct drawing *d, uint32_t n, uint64_t row)
{
	const struct type_leaf *leaf = &d->type->leaves[n];
	uint64_t first = leaf->offset / d->line, i;
	uint64_t own = blame_cost(d->page->blame, &d->owner->fields[n].counts);

	if (!leaf->size || row < first || row > (leaf->offset + leaf->size - 1) / d->line ||
	    row - first >= FIELD_BIG)
		return false;
	for (i = 0; i < d->type->nr_leaves; i++) {
		const struct type_leaf *other = &d->type->leaves[i];
		uint64_t cost = blame_cost(d->page->blame, &d->owner->fields[i].counts);

		if (i != n && other->size && other->offset < leaf->offset + leaf->size &&
		    leaf->offset < other->offset + other->size &&
		    (cost > own || (cost == own && i < n)))
			return false;
	}
	return true;
}

static void put_map(const struct drawing *d)
{
	uint64_t rows = (d->type->size + d->line - 1) / d->line, row, hidden = 0;
	uint32_t n, drawn;

	fputs("<div class=\"map\">\n", d->out);
	for (row = 0; row < rows && row < ROWS_MAX; row++) {
		drawn = 0;
		for (n = 0; n < d->type->nr_leaves; n++)
			drawn += is_drawn(d, n, row);
		if (!drawn && row) {
			hidden++;
			continue;
		}
		fprintf(d->out, "<div class=\"row\"><b>%llu</b><div class=\"track\">",
			(unsigned long long)row * d->line);
		for (n = 0; n < d->type->nr_leaves; n++) {
			if (is_drawn(d, n, row))
				page_put_block(d, n, row);
		}
		fputs("</div></div>\n", d->out);
	}
	hidden += rows > row ? rows - row : 0;
	if (hidden)
		fprintf(d->out, "<p class=\"dim\">%llu more lines of long fields</p>\n",
			(unsigned long long)hidden);
	fputs("</div>\n", d->out);
}

static void put_field_table(const struct drawing *d)
{
	uint32_t n;

	fputs("<details><summary>the same as a table</summary><div "
	      "class=\"wide\"><table><thead><tr>"
	      "<th>Field</th><th class=\"l\">Type</th><th>Offset</th><th>Bytes</th><th>Reads</th>"
	      "<th>Writes</th>",
	      d->out);
	put_level_heads(d->out, d->page);
	fputs("<th>Falsely shared</th></tr></thead><tbody>\n", d->out);
	for (n = 0; n < d->owner->nr_fields; n++) {
		const struct blame_counts *c = &d->owner->fields[n].counts;
		bool is_leaf = n < d->type->nr_leaves;

		if (!is_leaf && !c->reads && !c->writes)
			continue;
		fputs("<tr><td class=\"m\">", d->out);
		page_text(d->out, blame_field_name(d->page->blame, d->owner, n));
		fputs("</td><td class=\"l m\">", d->out);
		if (is_leaf) {
			page_text(d->out, d->type->leaves[n].type_name);
			fprintf(d->out, "</td><td>%llu</td><td>%llu</td>",
				(unsigned long long)d->type->leaves[n].offset,
				(unsigned long long)d->type->leaves[n].size);
		} else {
			fputs("</td><td></td><td></td>", d->out);
		}
		put_counts(d->out, d->page, c);
		fputs("</tr>\n", d->out);
	}
	fputs("</tbody></table></div></details>\n", d->out);
}

static void page_put_type(FILE *out, const struct page *page, const struct blame_owner *o)
{
	const struct owner *known = mem_places_owner(blame_places(page->blame), o->owner);
	struct drawing d = { .out = out,
			     .page = page,
			     .owner = o,
			     .type = types_get(blame_types(page->blame), known->type),
			     .line = blame_line_size(page->blame) };
	uint32_t n;

	for (n = 0; n < d.type->nr_leaves; n++) {
		uint64_t cost = blame_cost(page->blame, &o->fields[n].counts);

		d.most = cost > d.most ? cost : d.most;
	}
	fprintf(out, "<article><h3 id=\"t%u\" class=\"m\">", o->owner);
	page_text(out, known->name);
	fprintf(out, "</h3><p class=\"dim\">%llu bytes", (unsigned long long)d.type->size);
	if (d.type->file) {
		fputs(", <span class=\"m\">", out);
		page_text(out, d.type->file);
		fprintf(out, ":%u</span>", d.type->line);
	}
	fputs("</p>\n", out);
	put_map(&d);
	put_field_table(&d);
	fputs("</article>\n", out);
}

static void page_put_key(FILE *out)
{
	unsigned i;

	fputs("<p class=\"key\" aria-hidden=\"true\"><span>no misses</span>", out);
	for (i = 0; i <= HEATS; i++)
		fprintf(out, "<i class=\"h%u\"></i>", i);
	fputs("<span>most of the type (each step twice the one before); hatched: "
	      "padding</span></p>\n",
	      out);
}

void page_types(FILE *out, const struct page *page)
{
	const struct blame_owner *list[PAGE_TOP_MAX];
	size_t nr = blame_owners(page->blame, list, page->top), i, drawn = 0;

	fputs("<section><h2>Whose misses they are</h2>\n<div class=\"wide\"><table><thead><tr>"
	      "<th>Type, variable or memory</th><th>Reads</th><th>Writes</th>",
	      out);
	put_level_heads(out, page);
	fputs("<th>Falsely shared</th><th>Cost</th><th></th></tr></thead><tbody>\n", out);
	for (i = 0; i < nr && i < page->top; i++) {
		put_owner(out, page, list[i]);
		drawn += list[i]->fields != NULL;
	}
	fputs("</tbody></table></div>", out);
	if (nr > page->top)
		fprintf(out, "<p class=\"dim\">and %zu more</p>", nr - page->top);
	fputs("</section>\n", out);
	if (!drawn)
		return;
	fputs("<section><h2>Layouts</h2>\n<p>Each row is a cache line of an element that begins "
	      "one. "
	      "Point at a field, or go to it by Tab, for its figures.</p>\n",
	      out);
	page_put_key(out);
	for (i = 0; i < nr && i < page->top; i++) {
		if (list[i]->fields)
			page_put_type(out, page, list[i]);
	}
	fputs("</section>\n", out);
}
