/* SPDX-License-Identifier: MIT */
/*
 * report_text.c - the report for a terminal.
 *
 * By default a screenful: as many groups in full as fit, further ones in one line each, then the
 * number of those that are left.  With `all` every group, with the last steps of its example.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report.h"
#include "base/text.h"
#include "base/io.h"

#define WAITING_SHOWN   5 /* stacks of coroutines that existed before */
#define TEXTFORM_WIDTH  92
#define TEXTFORM_LABEL  12 /* columns before the text of a labelled line */
#define TEXTFORM_NAMES  6  /* coroutines of a group that are named */
#define TEXTFORM_LIST   4  /* lines kept for groups that are not shown in full */
#define TEXTFORM_ANYWAY UINT_MAX

enum style { STYLE_END, STYLE_BOLD, STYLE_LABEL, STYLE_BAD, STYLE_WARN, STYLE_INFO, NR_STYLES };

static void textform_style(const struct report *r, FILE *out, enum style style)
{
	static const char *const codes[NR_STYLES] = { "0", "1", "2", "1;31", "33", "36" };

	if (r->color)
		fprintf(out, "\033[%sm", codes[style]);
}

static int textform_width(const struct report *r)
{
	return r->columns ? (int)r->columns : TEXTFORM_WIDTH;
}

/* Bytes before the next blank at which a line may be broken: a name stays with its id. */
static int textform_word(const char *text)
{
	const char *quote = text + strspn(text, "0123456789");

	if (quote > text && !strncmp(quote, " '", 2)) {
		const char *end = strstr(quote + 2, "'");

		if (end)
			return (int)(end - text) + (int)strcspn(end, " ");
	}
	return (int)strcspn(text, " ");
}

/* Write the words of @text from @column on; further lines are indented by @indent blanks. */
static void textform_wrap(const struct report *r, FILE *out, int column, int indent,
			  const char *text)
{
	bool is_first = true;

	while (*text) {
		int len = textform_word(text);

		if (!is_first && column + len + 1 > textform_width(r)) {
			column = fprintf(out, "\n%*s", indent, "") - 1;
			is_first = true;
		}
		if (!is_first)
			fputc(' ', out);
		text_put_n(out, text, (size_t)len);
		column += len + !is_first;
		is_first = false;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

/* "  label     text" */
static void textform_line(const struct report *r, FILE *out, const char *label, const char *text,
			  enum style style)
{
	int column;

	textform_style(r, out, STYLE_LABEL);
	/* A label that fills its column has a blank after it, too. */
	column = fprintf(out, "  %-*s ", TEXTFORM_LABEL - 3, label);
	textform_style(r, out, STYLE_END);
	if (style)
		textform_style(r, out, style);
	textform_wrap(r, out, column, TEXTFORM_LABEL, text);
	if (style)
		textform_style(r, out, STYLE_END);
}

/* ---- the head -------------------------------------------------------------- */

static void textform_head(const struct report *r, FILE *out, const struct report_counts *c)
{
	const char *comma = "";
	int i;

	textform_style(r, out, STYLE_BOLD);
	text_put(out, r->trace);
	if (!c->groups) {
		fputs(": nothing found\n", out);
		textform_style(r, out, STYLE_END);
		return;
	}
	fprintf(out, ": %" PRIu64 " finding%s at %" PRIu64 " place%s (", c->findings,
		c->findings == 1 ? "" : "s", c->groups, c->groups == 1 ? "" : "s");
	for (i = NR_CONFIDENCES - 1; i >= 0; i--) {
		if (!c->by_confidence[i])
			continue;
		fprintf(out, "%s%" PRIu64 " %s", comma, c->by_confidence[i],
			confidence_name((enum confidence)i));
		comma = ", ";
	}
	fputs(")\n", out);
	textform_style(r, out, STYLE_END);
}

static void textform_lost(const struct report *r, const struct report_totals *t, char *buf,
			  size_t size)
{
	char a[TEXT_SIZE], b[TEXT_SIZE], share[TEXT_SIZE];

	if (!t->loss_known)
		snprintf(buf, size, "not known");
	else if (!t->lost && !t->others_lost)
		snprintf(buf, size, report_is_incomplete(r) ? "none by the collector" : "none");
	else
		snprintf(buf, size, "%s transitions%s, %s others", text_count(a, t->lost),
			 text_share(share, t->lost, t->written), text_count(b, t->others_lost));
}

/* All totals on a line or two. */
static void textform_totals_short(const struct report *r, FILE *out)
{
	struct report_totals t = report_totals_of(r);
	char a[TEXT_SIZE], b[TEXT_SIZE], c[TEXT_SIZE], d[TEXT_SIZE], e[TEXT_SIZE];
	char lost[160], row[400];
	int used;

	textform_lost(r, &t, lost, sizeof(lost));
	used = snprintf(row, sizeof(row),
			"%s coroutines, %s not ended; %s events, %s, %s thread%s; lost: %s",
			text_count(a, t.coroutines), text_count(b, t.alive),
			text_count(c, t.events + t.others), text_duration(d, t.duration_ns),
			text_count(e, t.threads), t.threads == 1 ? "" : "s", lost);
	if (t.garbage)
		snprintf(row + used, sizeof(row) - (size_t)used, "; garbage: %s",
			 text_count(a, t.garbage));
	textform_wrap(r, out, 0, 2, row);
}

static void textform_row(FILE *out, const char *name, const char *value)
{
	fprintf(out, "  %-12s  %s\n", name, value);
}

static void textform_totals(const struct report *r, FILE *out)
{
	struct report_totals t = report_totals_of(r);
	char a[TEXT_SIZE], b[TEXT_SIZE], row[160];

	fputc('\n', out);
	snprintf(row, sizeof(row), "%s; %s had not ended", text_count(a, t.coroutines),
		 text_count(b, t.alive));
	textform_row(out, "coroutines", row);
	snprintf(row, sizeof(row), "%s transitions, %s others", text_count(a, t.events),
		 text_count(b, t.others));
	textform_row(out, "events", row);
	textform_row(out, "duration", text_duration(a, t.duration_ns));
	textform_row(out, "threads", text_count(a, t.threads));
	textform_lost(r, &t, row, sizeof(row));
	textform_row(out, "lost", row);
	if (t.missing) {
		snprintf(row, sizeof(row), "%s events are not in the trace",
			 text_count(a, t.missing));
		textform_row(out, "missing", row);
	}
	textform_row(out, "garbage", t.garbage ? text_count(a, t.garbage) : "none");
}

static void textform_caveats(const struct report *r, FILE *out)
{
	char buf[640];
	unsigned i;

	for (i = 0; report_caveat(r, i, buf, sizeof(buf)); i++) {
		textform_style(r, out, STYLE_WARN);
		fputs("note: ", out);
		textform_style(r, out, STYLE_END);
		textform_wrap(r, out, 6, 6, buf);
	}
}

/* ---- one group -------------------------------------------------------------- */

/* "STRONG  Lost wakeup (lost-wakeup)  3 times, oldest 2.000 s" */
static void textform_title(const struct report *r, FILE *out, const struct group *g)
{
	static const enum style styles[] = { STYLE_INFO, STYLE_WARN, STYLE_BAD, STYLE_BAD };
	char count[TEXT_SIZE], age[TEXT_SIZE];
	const char *size = report_size_word(g), *p;

	textform_style(r, out, styles[g->confidence]);
	for (p = confidence_name(g->confidence); *p; p++)
		fputc(toupper((unsigned char)*p), out);
	textform_style(r, out, STYLE_END);
	textform_style(r, out, STYLE_BOLD);
	fprintf(out, "  %s", g->detector->title);
	textform_style(r, out, STYLE_END);
	fprintf(out, " (%s)  %s", g->detector->name,
		g->count == 1 ? "once" : text_count(count, g->count));
	if (g->count != 1)
		fputs(" times", out);
	if (size)
		fprintf(out, ", %s %s", size, text_duration(age, g->oldest_ns));
}

static void textform_step(const struct report *r, FILE *out, const struct coro *co,
			  const struct step *s)
{
	char ago[TEXT_SIZE];
	struct report_place where;
	uint64_t end = r->analysis->model.end_ts;

	fprintf(out, "    %12s before the end  %-8s thread %" PRIu64,
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

/* The last steps of the example. */
static void textform_example(const struct report *r, FILE *out, const struct group *g)
{
	const struct coro *co = &g->example;
	char name[300];
	unsigned i;

	report_coroutine(r, co->probe_id, co->name, name, sizeof(name));
	fputs("  for example ", out);
	text_put(out, name);
	fputs(":\n", out);
	if (co->parent) {
		const struct coro *parent = model_find(&r->analysis->model, co->parent);

		report_coroutine(r, co->parent, parent ? parent->name : 0, name, sizeof(name));
		fputs("    child of ", out);
		text_put(out, name);
		fputc('\n', out);
	}
	for (i = 0; i < co->nr_steps; i++)
		textform_step(r, out, co, report_step(co, i));
}

static void textform_chain(const struct report *r, FILE *out, const struct group *g)
{
	char line[900], name[300];
	unsigned i;

	for (i = 0; i < g->nr_chain; i++) {
		const struct link *l = &g->chain[i];
		struct report_place where;

		report_coroutine(r, l->probe_id, l->name, name, sizeof(name));
		report_place_of(r, g->example.pid, l->site, l->addr, &where);
		snprintf(line, sizeof(line), "%s at %s", name, where.text);
		textform_line(r, out, i ? "" : "awaited by", line, STYLE_END);
	}
}

/* A line about the example: with its id, if the group has several coroutines. */
static void textform_line_of_example(const struct report *r, FILE *out, const struct group *g,
				     const char *label, const char *text)
{
	char line[FINDING_DETAIL + 64];

	if (g->has_coro && g->affected.nr > 1)
		snprintf(line, sizeof(line), "%s (coroutine %" PRIu64 ")", text,
			 g->example.probe_id);
	else
		snprintf(line, sizeof(line), "%s", text);
	textform_line(r, out, label, line, STYLE_END);
}

static void textform_coroutines(const struct report *r, FILE *out, const struct group *g)
{
	char names[1024], what[128];
	const struct coro *co = &g->example;

	if (report_names(r, g, TEXTFORM_NAMES, names, sizeof(names)))
		textform_line(r, out, "coroutine", names, STYLE_BOLD);
	if (!g->has_coro || co->state != TRACE_STATE_SUSPENDED)
		return;
	report_example_waits_for(r, co, what, sizeof(what));
	if (what[0])
		textform_line_of_example(r, out, g, "waits for", what);
}

static void textform_evidence(const struct report *r, FILE *out, const struct group *g)
{
	static const char *const labels[] = { "because", "resource", "holder", "waker" };
	char line[EVIDENCE_TEXT + 520];
	const char *before = "";
	unsigned i;

	for (i = 0; report_evidence(r, g, i, line, sizeof(line)); i++) {
		const char *label = labels[g->finding.evidence[i].role];

		textform_line(r, out, label == before ? "" : label, line, STYLE_END);
		before = label;
	}
}

static void textform_group(const struct report *r, FILE *out, const struct group *g)
{
	struct report_place where;
	char kind[640];

	fputc('\n', out);
	textform_title(r, out, g);
	fputc('\n', out);
	textform_coroutines(r, out, g);
	if (report_group_place(r, g, &where))
		textform_line(r, out, "at", where.text, STYLE_BOLD);
	if (report_kind_of(r, g, kind, sizeof(kind)))
		textform_line(r, out, "of", kind, STYLE_END);
	textform_chain(r, out, g);
	textform_line_of_example(r, out, g, "seen", g->finding.detail);
	textform_evidence(r, out, g);
	if (g->finding.doubt)
		textform_line(r, out, "but", g->finding.doubt, STYLE_WARN);
	if (r->all && g->has_coro)
		textform_example(r, out, g);
	if (r->all)
		textform_line(r, out, "means", g->detector->meaning, STYLE_END);
	textform_line(r, out, "next", report_hint(g), STYLE_END);
}

/* The same group on one line. */
static void textform_group_short(const struct report *r, FILE *out, const struct group *g)
{
	char *title = NULL;
	size_t size = 0;
	FILE *plain = open_memstream(&title, &size);
	struct report uncolored = *r;
	struct report_place where;

	uncolored.color = false;
	if (plain) {
		textform_title(&uncolored, plain, g);
		io_end_memory(plain, &title);
	}
	textform_title(r, out, g);
	if (report_group_place(r, g, &where)) {
		int room = textform_width(r) - (int)size - 4;

		fputs(" at ", out);
		text_put_short(out, where.text, room > 24 ? room : 24);
	}
	fputc('\n', out);
	free(title);
}

/* ---- the screen ------------------------------------------------------------- */

/* Lines of the screen that @text uses; escape sequences use no columns. */
static unsigned textform_lines(const struct report *r, const char *text, size_t size)
{
	unsigned lines = 0;
	int column = 0;
	size_t i;

	for (i = 0; i < size; i++) {
		if (text[i] == '\033') {
			while (i < size && text[i] != 'm')
				i++;
		} else if (text[i] == '\n') {
			lines += 1 + (unsigned)((column ? column - 1 : 0) / textform_width(r));
			column = 0;
		} else {
			column += ((unsigned char)text[i] & 0xc0) != 0x80;
		}
	}
	return lines;
}

typedef void textform_part(const struct report *r, FILE *out, const struct group *g);

/*
 * Write a part if it fits into *@left lines, which become fewer, and leaves @keep of them free
 * (TEXTFORM_ANYWAY: also if it does not fit).  False: it did not fit.
 */
static bool textform_fit(const struct report *r, FILE *out, textform_part *part,
			 const struct group *g, unsigned *left, unsigned keep)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	unsigned lines;
	bool fits;

	if (memory)
		part(r, memory, g);
	if (!memory || io_end_memory(memory, &text) < 0) {
		part(r, out, g); /* rather too long than incomplete */
		return true;
	}
	lines = textform_lines(r, text, size);
	fits = keep == TEXTFORM_ANYWAY || !r->rows || lines + keep <= *left;
	if (fits)
		fwrite(text, 1, size, out);
	if (fits)
		*left -= lines < *left ? lines : *left;
	free(text);
	return fits;
}

static void textform_top(const struct report *r, FILE *out, const struct group *g)
{
	struct report_counts c = report_count(r);

	(void)g;
	textform_head(r, out, &c);
	if (r->all)
		textform_totals(r, out);
	else
		textform_totals_short(r, out);
	textform_caveats(r, out);
	waiting_facts_print(&r->analysis->waiting, out, r->all ? 0 : WAITING_SHOWN);
}

/* Lines to keep for a list of the groups after this one. */
static unsigned textform_reserve(uint64_t following)
{
	if (!following)
		return 0;
	return 1 + (unsigned)(following < TEXTFORM_LIST ? following : TEXTFORM_LIST);
}

/* The groups: in full while they fit, then in one line.  Returns how many are left out. */
static uint64_t textform_groups(const struct report *r, FILE *out, uint64_t following,
				unsigned left)
{
	const struct findings *f = &r->analysis->findings;
	bool is_full = true, is_first = true;
	uint64_t omitted = 0;
	size_t i;

	for (i = 0; i < f->nr; i++) {
		const struct group *g = &f->groups[i];

		if (!report_shows(r, g))
			continue;
		following--;
		if (is_full &&
		    textform_fit(r, out, textform_group, g, &left,
				 is_first ? TEXTFORM_ANYWAY : textform_reserve(following))) {
			is_first = false;
			continue;
		}
		if (is_full && left) {
			fputc('\n', out);
			left--;
		}
		is_full = false;
		if (omitted || !textform_fit(r, out, textform_group_short, g, &left, 0))
			omitted++;
	}
	return omitted;
}

/* On one line: with the command that shows them, if its argument fits. */
static void textform_omitted(const struct report *r, FILE *out, uint64_t nr)
{
	int column = fprintf(out, "and %" PRIu64 " more group%s: corotracer report --all", nr,
			     nr == 1 ? "" : "s");

	/* Quotes may be added. */
	if (column + 1 + text_width(r->trace) + 2 <= textform_width(r)) {
		fputc(' ', out);
		text_put_word(out, r->trace);
	}
	fputc('\n', out);
}

static void textform_report(const struct report *r, FILE *out)
{
	struct report_counts c = report_count(r);
	/* The prompt after the report, and the two lines below. */
	unsigned left = r->rows > 4 ? r->rows - 3 - (c.suppressed || c.below) : 1;
	uint64_t omitted;

	textform_fit(r, out, textform_top, NULL, &left, TEXTFORM_ANYWAY);
	omitted = textform_groups(r, out, c.groups, left);
	if (omitted)
		textform_omitted(r, out, omitted);
	if (c.suppressed || c.below)
		fprintf(out,
			"\nnot shown: %" PRIu64 " suppressed, %" PRIu64
			" less sure than asked for\n",
			c.suppressed, c.below);
}

int report_text(const struct report *r, FILE *out)
{
	for (; r; r = r->next) {
		textform_report(r, out);
		if (r->next)
			fputc('\n', out);
	}
	return ferror(out) ? -EIO : 0;
}
