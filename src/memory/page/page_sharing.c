/* SPDX-License-Identifier: MIT */
/* page_sharing.c - shared lines: their fields, and the threads that take them from each other. */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "memory/page/mem_page.h"

static void page_put_fields(FILE *out, const struct page *page, const struct blame_shared *s)
{
	char text[TEXT_SIZE];
	uint32_t i;

	fputs("<div class=\"wide\"><table><thead><tr><th>Field</th><th class=\"l\">Thread</th>"
	      "<th>Offset in the line</th><th>Reads that missed</th><th>Writes that missed or "
	      "took it</th></tr></thead><tbody>\n",
	      out);
	for (i = 0; i < s->nr_fields; i++) {
		const struct blame_shared_field *f = &s->fields[i];

		fputs("<tr><td class=\"m\">", out);
		page_text(out, f->text);
		fputs("</td><td class=\"l\">", out);
		page_thread(out, page, f->thread);
		fprintf(out, "</td><td>%u</td><td>%s</td>", f->offset, text_count(text, f->reads));
		fprintf(out, "<td>%s</td></tr>\n", text_count(text, f->writes));
	}
	fputs("</tbody></table></div>\n", out);
}

static void put_thefts(FILE *out, const struct page *page, const struct sim_shared_line *l)
{
	char text[TEXT_SIZE];
	uint32_t i;

	fputs("<p class=\"dim\">", out);
	for (i = 0; i < l->nr_thefts && i < 8; i++) {
		const struct sim_theft *t = &l->thefts[i];

		fputs(i ? "; " : "", out);
		page_thread(out, page, t->by);
		fputs(" took it from ", out);
		page_thread(out, page, t->from);
		fprintf(out, " %s times", text_count(text, t->invalidations));
	}
	fputs("</p>\n", out);
}

static void page_put_line(FILE *out, const struct page *page, const struct sim_shared_line *l)
{
	const struct blame_shared *named = blame_shared_at(page->blame, l->address);
	char text[TEXT_SIZE];

	fprintf(out,
		"<article><h3>line <code>0x%" PRIx64 "</code></h3><p>%s misses of false sharing, ",
		l->address, text_count(text, l->false_misses));
	fprintf(out, "%s of true sharing, ", text_count(text, l->true_misses));
	fprintf(out, "%s copies destroyed</p>\n", text_count(text, l->invalidations));
	if (named)
		page_put_fields(out, page, named);
	put_thefts(out, page, l);
	fputs("</article>\n", out);
}

void page_sharing(FILE *out, const struct page *page)
{
	const struct sim_shared_line *list[PAGE_TOP_MAX];
	size_t nr = sim_shared_lines(page->sim, list, page->top), i;
	struct sim_totals totals;
	char text[TEXT_SIZE];

	sim_totals(page->sim, &totals);
	fputs("<section><h2>Shared lines</h2>\n", out);
	if (!nr) {
		fputs("<p>No thread took a line from another.</p></section>\n", out);
		return;
	}
	fprintf(out, "<p>%s misses since another core took the line away: ",
		text_count(text,
			   totals.false_sharing + totals.true_sharing + totals.unknown_sharing));
	fprintf(out, "%s by false sharing (what was written is not what was wanted), ",
		text_count(text, totals.false_sharing));
	fprintf(out, "%s by true sharing.</p>\n", text_count(text, totals.true_sharing));
	for (i = 0; i < nr && i < page->top && i < 10; i++)
		page_put_line(out, page, list[i]);
	if (nr > i)
		fprintf(out, "<p class=\"dim\">and %zu more lines</p>", nr - i);
	fputs("</section>\n", out);
}
