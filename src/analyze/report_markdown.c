/* SPDX-License-Identifier: MIT */
/* report_markdown.c - the report as Markdown, for a file or an issue. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/report.h"
#include "base/text.h"

/* Escape text of the traced program: it must not act as Markdown, break the line or be hidden. */
static void report_markdown_put(FILE *out, const char *text)
{
	size_t size;

	for (; *text; text += size) {
		size = strcspn(text, "\\`*_[]<>|#&");
		text_put_n(out, text, size);
		if (!size)
			fprintf(out, "&#%u;", (unsigned char)*text);
		size += !size;
	}
}

static void put_totals(const struct report *r, FILE *out)
{
	struct report_totals t = report_totals_of(r);
	char a[TEXT_SIZE], b[TEXT_SIZE], share[TEXT_SIZE];

	fprintf(out, "| | |\n|---|---|\n| coroutines | %s, of which %s had not ended |\n",
		text_count(a, t.coroutines), text_count(b, t.alive));
	fprintf(out, "| events | %s transitions, %s others |\n", text_count(a, t.events),
		text_count(b, t.others));
	fprintf(out, "| duration | %s |\n", text_duration(a, t.duration_ns));
	fprintf(out, "| threads | %s |\n", text_count(a, t.threads));
	if (!t.loss_known)
		fputs("| **lost** | not known |\n", out);
	else
		fprintf(out, "| **lost** | %s transitions%s, %s others |\n", text_count(a, t.lost),
			text_share(share, t.lost, t.written), text_count(b, t.others_lost));
	if (t.missing)
		fprintf(out, "| **missing** | %s events are not in the trace |\n",
			text_count(a, t.missing));
	fprintf(out, "| **garbage** | %s |\n", text_count(a, t.garbage));
}

/* Groups in the overview and in full; --all shows every one. */
#define OVERVIEW_MAX 50
#define DETAILS_MAX  10

static void put_omitted(const struct report *r, FILE *out, uint64_t nr, uint64_t max)
{
	if (!r->all && nr > max)
		fprintf(out, "\nand %" PRIu64 " more group%s: `--all` shows everything.\n",
			nr - max, nr - max == 1 ? "" : "s");
}

static void put_overview(const struct report *r, FILE *out)
{
	const struct findings *f = &r->analysis->findings;
	struct report_counts c = report_count(r);
	char count[TEXT_SIZE];
	uint64_t nr = 0;
	size_t i;

	fputs("\n## Findings\n\n", out);
	if (!c.groups)
		fputs("None.\n", out);
	else
		fputs("| | finding | where | how many |\n|---|---|---|---|\n", out);
	for (i = 0; i < f->nr; i++) {
		const struct group *g = &f->groups[i];
		struct report_place where;

		if (!report_shows(r, g) || (nr++ >= OVERVIEW_MAX && !r->all))
			continue;
		fprintf(out, "| %s | %s | ", confidence_name(g->confidence), g->detector->title);
		if (report_group_place(r, g, &where))
			report_markdown_put(out, where.text);
		fprintf(out, " | %s |\n", text_count(count, g->count));
	}
	put_omitted(r, out, nr, OVERVIEW_MAX);
	if (c.suppressed || c.below)
		fprintf(out,
			"\nNot shown: %" PRIu64 " suppressed, %" PRIu64
			" less sure than asked for.\n",
			c.suppressed, c.below);
}

static void report_markdown_put_steps(const struct report *r, FILE *out, const struct coro *co)
{
	uint64_t end = r->analysis->model.end_ts;
	char ago[TEXT_SIZE];
	unsigned i;

	if (!co->nr_steps)
		return;
	fputs("\n| before the end | | thread | where |\n|---:|---|---:|---|\n", out);
	for (i = 0; i < co->nr_steps; i++) {
		const struct step *s = report_step(co, i);
		struct report_place where;

		fprintf(out, "| %s | %s | %" PRIu64 " | ",
			text_duration(ago, end > s->ts ? end - s->ts : 0), trace_kind_name(s->kind),
			s->tid);
		if (s->kind == TRACE_WAKE && s->addr) {
			fprintf(out, "by coroutine %" PRIu64, s->addr);
		} else if (s->kind == TRACE_SUSPEND && (s->site || s->addr)) {
			report_place_of(r, co->pid, s->site, s->addr, &where);
			report_markdown_put(out, where.text);
		}
		fputs(" |\n", out);
	}
}

static void report_markdown_put_chain(const struct report *r, FILE *out, const struct group *g)
{
	char name[300];
	unsigned i;

	if (g->nr_chain)
		fputc('\n', out);
	for (i = 0; i < g->nr_chain; i++) {
		const struct link *l = &g->chain[i];
		struct report_place where;

		report_coroutine(r, l->probe_id, l->name, name, sizeof(name));
		report_place_of(r, g->example.pid, l->site, l->addr, &where);
		fputs("- awaited by ", out);
		report_markdown_put(out, name);
		fputs(" at ", out);
		report_markdown_put(out, where.text);
		fputc('\n', out);
	}
}

static void report_markdown_put_example(const struct report *r, FILE *out, const struct group *g)
{
	const struct coro *co = &g->example;
	char name[300], what[128];

	report_coroutine(r, co->probe_id, co->name, name, sizeof(name));
	fputs("\nFor example ", out);
	report_markdown_put(out, name);
	report_example_waits_for(r, co, what, sizeof(what));
	if (co->state == TRACE_STATE_SUSPENDED && what[0])
		fprintf(out, " (%s)", what);
	if (co->parent)
		fprintf(out, ", child of coroutine %" PRIu64, co->parent);
	fputs(":\n", out);
	report_markdown_put_steps(r, out, co);
	report_markdown_put_chain(r, out, g);
}

static void put_names(const struct report *r, FILE *out, const struct group *g)
{
	char names[2048];

	if (!report_names(r, g, 20, names, sizeof(names)))
		return;
	fputs("\nCoroutines: ", out);
	report_markdown_put(out, names);
	fputs(".\n", out);
}

static void report_markdown_put_evidence(const struct report *r, FILE *out, const struct group *g)
{
	char line[EVIDENCE_TEXT + 520];
	unsigned i;

	for (i = 0; report_evidence(r, g, i, line, sizeof(line)); i++) {
		fputs(i ? "- " : "\n- ", out);
		report_markdown_put(out, line);
		fputc('\n', out);
	}
}

static void report_markdown_put_group(const struct report *r, FILE *out, const struct group *g)
{
	char count[TEXT_SIZE], age[TEXT_SIZE], kind[640];
	const char *size = report_size_word(g);
	struct report_place where;

	fprintf(out, "\n### %s (%s)\n\n", g->detector->title, confidence_name(g->confidence));
	fprintf(out, "`%s`, %s%s", g->detector->name,
		g->count == 1 ? "once" : text_count(count, g->count),
		g->count == 1 ? "" : " times");
	if (size)
		fprintf(out, ", %s %s", size, text_duration(age, g->oldest_ns));
	if (report_group_place(r, g, &where)) {
		fputs(", at **", out);
		report_markdown_put(out, where.text);
		fputs("**", out);
	}
	if (report_kind_of(r, g, kind, sizeof(kind))) {
		fputs(", of ", out);
		report_markdown_put(out, kind);
	}
	fprintf(out, ".\n\n%s\n\nSeen: ", g->detector->meaning);
	report_markdown_put(out, g->finding.detail);
	fputs(".\n", out);
	report_markdown_put_evidence(r, out, g);
	put_names(r, out, g);
	if (g->finding.doubt)
		fprintf(out, "\nBut %s.\n", g->finding.doubt);
	if (g->has_coro)
		report_markdown_put_example(r, out, g);
	fputs("\n**Next:** ", out);
	report_markdown_put(out, report_hint(g));
	fputc('\n', out);
}

/* Coroutines that existed before the program was attached and did not run. */
static void report_markdown_put_waiting(const struct report *r, FILE *out)
{
	const struct waiting_facts *w = &r->analysis->waiting;
	size_t i;

	if (!w->nr)
		return;
	fputs("\n## Not run since the attach\n\n"
	      "| coroutines | of these not run | stack | verdict |\n|---:|---:|---|---|\n",
	      out);
	for (i = 0; i < w->nr && (i < DETAILS_MAX || r->all); i++) {
		const struct trace_waiting *fact = &w->at[i];
		char a[TEXT_SIZE], b[TEXT_SIZE];

		fprintf(out, "| %s | %s | ", text_count(a, fact->count),
			fact->is_checked ? text_count(b, fact->unmoved) : "unknown");
		report_markdown_put(out, fact->stack ? fact->stack : "?");
		fputs(" | ", out);
		report_markdown_put(out, fact->verdict ? fact->verdict : "");
		fputs(" |\n", out);
	}
	put_omitted(r, out, w->nr, DETAILS_MAX);
}

static void report_markdown_part(const struct report *r, FILE *out)
{
	const struct findings *f = &r->analysis->findings;
	char buf[640];
	uint64_t shown = 0;
	unsigned nr;
	size_t i;

	fputs("# DeepDive: ", out);
	report_markdown_put(out, r->trace);
	fputs("\n\n", out);
	put_totals(r, out);
	for (nr = 0; report_caveat(r, nr, buf, sizeof(buf)); nr++) {
		fputs("\n> ", out);
		report_markdown_put(out, buf);
		fputc('\n', out);
	}
	put_overview(r, out);
	for (i = 0; i < f->nr; i++) {
		if (report_shows(r, &f->groups[i]) && (shown++ < DETAILS_MAX || r->all))
			report_markdown_put_group(r, out, &f->groups[i]);
	}
	put_omitted(r, out, shown, DETAILS_MAX);
	report_markdown_put_waiting(r, out);
}

int report_markdown(const struct report *r, FILE *out)
{
	for (; r; r = r->next) {
		report_markdown_part(r, out);
		if (r->next)
			fputc('\n', out);
	}
	return ferror(out) ? -EIO : 0;
}
