/* SPDX-License-Identifier: MIT */
/* mem_page.c - the HTML page: head, caches, threads, source lines. */
#include "memory/page/mem_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

/* ---- text ----------------------------------------------------------------- */

void page_text(FILE *out, const char *text)
{
	size_t left = strlen(text), taken;
	uint32_t cp;

	for (; left; text += taken, left -= taken) {
		taken = utf8_next(text, left, &cp);
		if (cp == '&')
			fputs("&amp;", out);
		else if (cp == '<')
			fputs("&lt;", out);
		else if (cp == '>')
			fputs("&gt;", out);
		else if (cp == '"')
			fputs("&quot;", out);
		else if (cp == '\'')
			fputs("&#39;", out);
		else if (cp == UTF8_BAD || (text_is_unsafe(cp) && cp != '\t'))
			fputs("&#xfffd;", out); /* also bidi and invisible characters */
		else
			fwrite(text, 1, taken, out);
	}
}

const char *page_count(char buf[32], uint64_t in_256)
{
	return text_count(buf, (in_256 + BLAME_ONE / 2) / BLAME_ONE);
}

static double page_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void page_bar(FILE *out, uint64_t part, uint64_t whole)
{
	double share = page_percent(part, whole);

	fprintf(out,
		"<td>%.1f&nbsp;%%</td><td class=\"b\"><span class=\"bar\"><i "
		"style=\"width:%.1f%%\">"
		"</i></span></td>",
		share, share > 100 ? 100 : share);
}

void page_thread(FILE *out, const struct page *page, uint32_t number)
{
	const struct mem_thread *t = mem_facts_thread(page->facts, number);

	if (number == SIM_NOBODY) {
		fputs("others", out);
		return;
	}
	if (t && t->name) {
		page_text(out, t->name);
		fputc(' ', out);
	}
	fprintf(out, "(%llu)", (unsigned long long)mem_facts_id(page->facts, number));
}

/* ---- head ---------------------------------------------------------------- */

static void page_put_command(FILE *out, const struct mem_facts *f)
{
	size_t at = 0;

	if (!f->command || !f->command_size)
		return;
	fputs("<p class=\"dim\"><code>", out);
	while (at < f->command_size) {
		size_t size = strnlen(f->command + at, f->command_size - at);
		char *word = strndup(f->command + at, size);

		if (word)
			page_text(out, word);
		free(word);
		at += size + 1;
		if (at < f->command_size)
			fputc(' ', out);
	}
	fputs("</code></p>\n", out);
}

static void page_put_head(FILE *out, const struct page *page)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<title>Cache misses of ",
	      out);
	page_text(out, page->title);
	fprintf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n", page_style);
	fputs("<header><h1>Cache misses of ", out);
	page_text(out, page->title);
	fputs("</h1>\n", out);
	page_put_command(out, page->facts);
}

static void page_put_notes(FILE *out, const struct page *page)
{
	const char *what;
	char text[TEXT_SIZE];
	unsigned i;

	if (page->lost)
		fprintf(out,
			"<p class=\"note\">%s accesses are missing in the trace: these are the "
			"figures of the others.</p>\n",
			text_count(text, page->lost));
	for (i = 0; (what = blame_problem(page->blame, i)); i++) {
		fputs("<p class=\"note\">", out);
		page_text(out, what);
		fputs("</p>\n", out);
	}
}

/* ---- caches --------------------------------------------------------------- */

static void page_put_level(FILE *out, const struct page *page, uint32_t level)
{
	const struct sim_level_config *c = &sim_config_of(page->sim)->level[level];
	struct sim_counts n;
	uint64_t hits, misses;
	char text[TEXT_SIZE];
	unsigned i;

	sim_level_totals(page->sim, level, &n);
	hits = n.hits[0] + n.hits[1];
	misses = n.misses[0] + n.misses[1];
	fputs("<tr><td>", out);
	page_text(out, c->name);
	fprintf(out, " <span class=\"dim\">%llu&nbsp;KiB, ", (unsigned long long)c->size / 1024);
	if (c->ways)
		fprintf(out, "%u ways</span></td>", c->ways);
	else
		fputs("fully associative</span></td>", out);
	fprintf(out, "<td>%s</td>", text_count(text, hits + misses));
	fprintf(out, "<td>%s</td>", text_count(text, misses));
	page_bar(out, misses, hits + misses);
	for (i = 0; i < SIM_CLASSES; i++)
		fprintf(out, "<td>%s</td>", text_count(text, n.by_class[i][0] + n.by_class[i][1]));
	fputs("</tr>\n", out);
}

static void put_caches(FILE *out, const struct page *page)
{
	const struct sim_config *c = sim_config_of(page->sim);
	char text[TEXT_SIZE];
	uint32_t i;

	fprintf(out, "<p>%s accesses, simulated with caches of ", text_count(text, page->accesses));
	page_text(out, page->machine);
	fprintf(out, ", lines of %u bytes.</p>\n", c->level[0].line);
	page_put_notes(out, page);
	fputs("</header>\n<main>\n<section><h2>Caches</h2>\n<div class=\"wide\"><table><thead><tr>"
	      "<th>Level</th><th>Lines looked up</th><th>Misses</th><th>Rate</th><th></th>"
	      "<th>Cold</th><th>Capacity</th><th>Conflict</th><th>Coherence</th></tr></"
	      "thead><tbody>\n",
	      out);
	for (i = 0; i < c->nr_levels; i++)
		page_put_level(out, page, i);
	fputs("</tbody></table></div></section>\n", out);
}

/* ---- source lines, threads -------------------------------------------------- */

static void page_put_site(FILE *out, const struct page *page, const struct blame_site *s)
{
	uint64_t all = blame_cost(page->blame, blame_total(page->blame));
	char text[32];
	uint32_t i;

	fputs("<tr><td>", out);
	if (s->function)
		page_text(out, s->function);
	else
		fprintf(out, "<code>0x%" PRIx64 "</code>", s->pc);
	if (s->file || s->module) {
		fputs("<br><span class=\"dim m\">", out);
		page_text(out, s->file ? s->file : s->module);
		if (s->file)
			fprintf(out, ":%u", s->line);
		fputs("</span>", out);
	}
	fputs("</td><td class=\"l\">", out);
	if (s->owner != UINT32_MAX)
		page_text(out, mem_places_owner(blame_places(page->blame), s->owner)->name);
	fprintf(out, "</td><td>%s</td>", page_count(text, s->counts.reads));
	fprintf(out, "<td>%s</td>", page_count(text, s->counts.writes));
	for (i = 0; i < blame_levels(page->blame); i++)
		fprintf(out, "<td>%s</td>", page_count(text, s->counts.misses[i]));
	page_bar(out, blame_cost(page->blame, &s->counts), all);
	fputs("</tr>\n", out);
}

static void page_put_sites(FILE *out, const struct page *page)
{
	const struct sim_config *c = sim_config_of(page->sim);
	const struct blame_site *list[PAGE_TOP_MAX];
	size_t nr = blame_sites(page->blame, list, page->top), i;

	fputs("<section><h2>Source lines</h2>\n<div class=\"wide\"><table><thead><tr><th>Function, "
	      "line</th><th class=\"l\">Data</th><th>Reads</th><th>Writes</th>",
	      out);
	for (i = 0; i < c->nr_levels; i++) {
		fputs("<th>", out);
		page_text(out, c->level[i].name);
		fputs(" misses</th>", out);
	}
	fputs("<th>Cost</th><th></th></tr></thead><tbody>\n", out);
	for (i = 0; i < nr && i < page->top; i++)
		page_put_site(out, page, list[i]);
	fputs("</tbody></table></div>", out);
	if (nr > page->top)
		fprintf(out, "<p class=\"dim\">and %zu more</p>", nr - page->top);
	fputs("</section>\n", out);
}

static void page_put_threads(FILE *out, const struct page *page)
{
	uint32_t nr = sim_nr_threads(page->sim), i;
	struct sim_thread t;
	struct sim_counts n;
	char text[TEXT_SIZE];

	fputs("<section><h2>Threads</h2>\n<div class=\"wide\"><table><thead><tr><th>Thread</th>"
	      "<th>Reads</th><th>Writes</th><th>Misses of the first level</th><th>Copies "
	      "destroyed</th><th>Copies lost</th></tr></thead><tbody>\n",
	      out);
	for (i = 0; i < nr && i < page->top; i++) {
		sim_thread(page->sim, i, &t);
		sim_level_thread(page->sim, i, 0, &n);
		fputs("<tr><td>", out);
		page_thread(out, page, t.thread);
		fprintf(out, "</td><td>%s</td>", text_count(text, t.accesses[SIM_READS]));
		fprintf(out, "<td>%s</td>", text_count(text, t.accesses[SIM_WRITES]));
		fprintf(out, "<td>%s</td>", text_count(text, n.misses[0] + n.misses[1]));
		fprintf(out, "<td>%s</td>", text_count(text, t.invalidated));
		fprintf(out, "<td>%s</td></tr>\n", text_count(text, t.lost));
	}
	fputs("</tbody></table></div>", out);
	if (nr > page->top)
		fprintf(out, "<p class=\"dim\">and %u more</p>", nr - page->top);
	fputs("</section>\n", out);
}

int page_write(FILE *out, const struct page *page)
{
	page_put_head(out, page);
	put_caches(out, page);
	page_types(out, page);
	page_sharing(out, page);
	page_put_sites(out, page);
	page_put_threads(out, page);
	fputs("</main>\n<footer>Cost is misses weighted by what the next level takes, about as "
	      "many "
	      "cycles. Made by corotracer mem html.</footer>\n</body>\n</html>\n",
	      out);
	return fflush(out) == 0 && !ferror(out) ? 0 : -EIO;
}
