/* SPDX-License-Identifier: MIT */
/* report_text.c - the report for a terminal. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "analyze/report.h"
#include "base/text.h"

#define WIDTH 92

/* Wrap @text into lines that are indented by @indent blanks. */
static void put_wrapped(FILE *out, int indent, const char *label, const char *text)
{
	int column = fprintf(out, "%*s%s", indent, "", label);

	while (*text) {
		int len = 0;

		while (text[len] && text[len] != ' ')
			len++;
		if (column + len + 1 > WIDTH && column > indent + 4)
			column = fprintf(out, "\n%*s", indent + 2, "") - 1;
		fputc(' ', out);
		text_put_n(out, text, (size_t)len);
		column += 1 + len;
		text += len;
		while (*text == ' ')
			text++;
	}
	fputc('\n', out);
}

static void put_row(FILE *out, const char *name, const char *value)
{
	fprintf(out, "  %-12s  %s\n", name, value);
}

static void put_totals(const struct report *r, FILE *out)
{
	struct report_totals t = report_totals_of(r);
	char a[TEXT_SIZE], b[TEXT_SIZE], share[TEXT_SIZE], row[160];

	snprintf(row, sizeof(row), "%s; %s had not ended", text_count(a, t.coroutines),
		 text_count(b, t.alive));
	put_row(out, "coroutines", row);
	snprintf(row, sizeof(row), "%s transitions, %s others", text_count(a, t.events),
		 text_count(b, t.others));
	put_row(out, "events", row);
	put_row(out, "duration", text_duration(a, t.duration_ns));
	put_row(out, "threads", text_count(a, t.threads));
	if (!t.loss_known)
		put_row(out, "lost", "not known");
	else if (!t.lost && !t.others_lost)
		put_row(out, "lost", report_is_incomplete(r) ? "none by the collector" : "none");
	else {
		snprintf(row, sizeof(row), "%s transitions%s, %s others", text_count(a, t.lost),
			 text_share(share, t.lost, t.written), text_count(b, t.others_lost));
		put_row(out, "lost", row);
	}
	if (t.missing) {
		snprintf(row, sizeof(row), "%s events are not in the trace",
			 text_count(a, t.missing));
		put_row(out, "missing", row);
	}
	put_row(out, "garbage", t.garbage ? text_count(a, t.garbage) : "none");
}

static void put_caveats(const struct report *r, FILE *out)
{
	char buf[640];
	unsigned i;

	for (i = 0; report_caveat(r, i, buf, sizeof(buf)); i++)
		put_wrapped(out, 2, "note:", buf);
}

static void put_step(const struct report *r, FILE *out, const struct coro *co, const struct step *s)
{
	char ago[TEXT_SIZE];
	struct report_place where;
	uint64_t end = r->analysis->model.end_ts;

	fprintf(out, "      %12s before the end  %-8s thread %" PRIu64,
		text_duration(ago, end > s->ts ? end - s->ts : 0), trace_kind_name(s->kind),
		s->tid);
	if (s->kind == TRACE_WAKE) {
		if (s->addr)
			fprintf(out, ", by coroutine %" PRIu64, s->addr);
	} else if (s->kind == TRACE_SUSPEND && (s->site || s->addr)) {
		report_place_of(r, co->pid, s->site, s->addr, &where);
		fputs(" at ", out);
		text_put(out, where.text);
	}
	fputc('\n', out);
}

static void put_chain(const struct report *r, FILE *out, const struct group *g)
{
	char name[300];
	unsigned i;

	for (i = 0; i < g->nr_chain; i++) {
		const struct link *l = &g->chain[i];
		struct report_place where;

		report_coroutine(r, l->probe_id, l->name, name, sizeof(name));
		report_place_of(r, g->example.pid, l->site, l->addr, &where);
		fprintf(out, "    %*sawaited by ", (int)i * 2, "");
		text_put(out, name);
		fputs(" at ", out);
		text_put(out, where.text);
		fputc('\n', out);
	}
}

static void put_example(const struct report *r, FILE *out, const struct group *g)
{
	const struct coro *co = &g->example;
	char name[300], what[128];
	unsigned i;

	report_coroutine(r, co->probe_id, co->name, name, sizeof(name));
	fputs("    for example ", out);
	text_put(out, name);
	if (co->state == TRACE_STATE_SUSPENDED) {
		report_waits_for(co->reason, co->has_resource, co->resource, what, sizeof(what));
		if (what[0])
			fprintf(out, " (%s)", what);
	}
	fputs(":\n", out);
	if (co->parent) {
		const struct coro *parent = model_find(&r->analysis->model, co->parent);

		report_coroutine(r, co->parent, parent ? parent->name : 0, name, sizeof(name));
		fputs("      child of ", out);
		text_put(out, name);
		fputc('\n', out);
	}
	for (i = 0; i < co->nr_steps; i++)
		put_step(r, out, co, report_step(co, i));
	put_chain(r, out, g);
}

static void put_group(const struct report *r, FILE *out, const struct group *g)
{
	char count[TEXT_SIZE], age[TEXT_SIZE], kind[640];
	struct report_place where;
	const char *size = report_size_word(g), *p;

	fputc('\n', out);
	for (p = confidence_name(g->confidence); *p; p++)
		fputc(toupper((unsigned char)*p), out);
	fprintf(out, "  %s (%s)  %s", g->detector->title, g->detector->name,
		g->count == 1 ? "once" : text_count(count, g->count));
	if (g->count != 1)
		fputs(" times", out);
	if (size)
		fprintf(out, ", %s %s", size, text_duration(age, g->oldest_ns));
	fputc('\n', out);
	if (report_group_place(r, g, &where)) {
		fputs("    at ", out);
		text_put(out, where.text);
		fputc('\n', out);
	}
	if (report_kind_of(r, g, kind, sizeof(kind))) {
		fputs("    of ", out);
		text_put(out, kind);
		fputc('\n', out);
	}
	put_wrapped(out, 4, "seen:", g->finding.detail);
	if (g->finding.doubt)
		put_wrapped(out, 4, "but:", g->finding.doubt);
	if (g->has_coro)
		put_example(r, out, g);
	put_wrapped(out, 4, "means:", g->detector->meaning);
	put_wrapped(out, 4, "next:", g->detector->advice);
}

static void put_head(const struct report *r, FILE *out, const struct report_counts *c)
{
	int i;

	text_put(out, r->trace);
	if (!c->groups) {
		fputs(": nothing found\n\n", out);
		return;
	}
	fprintf(out, ": %" PRIu64 " finding%s at %" PRIu64 " place%s (", c->findings,
		c->findings == 1 ? "" : "s", c->groups, c->groups == 1 ? "" : "s");
	for (i = NR_CONFIDENCES - 1; i >= 0; i--) {
		if (c->by_confidence[i])
			fprintf(out, "%" PRIu64 " %s%s", c->by_confidence[i], confidence_name(i),
				i && c->groups > c->by_confidence[i] ? " " : "");
	}
	fputs(")\n\n", out);
}

int report_text(const struct report *r, FILE *out)
{
	const struct findings *f = &r->analysis->findings;
	struct report_counts c = report_count(r);
	size_t i;

	put_head(r, out, &c);
	put_totals(r, out);
	put_caveats(r, out);
	for (i = 0; i < f->nr; i++) {
		if (report_shows(r, &f->groups[i]))
			put_group(r, out, &f->groups[i]);
	}
	if (c.suppressed || c.below)
		fprintf(out,
			"\nnot shown: %" PRIu64 " suppressed, %" PRIu64
			" less sure than asked for\n",
			c.suppressed, c.below);
	return ferror(out) ? -EIO : 0;
}
