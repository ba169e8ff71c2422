/* SPDX-License-Identifier: MIT */
/* diff_text.c - a comparison for a terminal, and as Markdown for a pull request. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/diff.h"
#include "base/text.h"

#define SHOWN_MAX 10 /* changes of one class, unless all are asked for */

static const char *const class_words[] = { "WORSE", "BETTER", "NEW", "GONE" };

/* ---- texts --------------------------------------------------------------------- */

static bool is_duration(const struct diff_change *c)
{
	return c->subject <= DIFF_OF_RUN;
}

/* "+200 %", "-33 %" or "3.0 times" for what more than doubles. */
static void change_text(const struct diff_change *c, char *buf, size_t size)
{
	double ratio = c->verdict.ratio;

	if (ratio >= 2)
		snprintf(buf, size, "%.1f times", ratio);
	else
		snprintf(buf, size, "%+.0f %%", (ratio - 1) * 100);
}

/* "p50 1.000 ms -> 3.000 ms (3.0 times), p99 1.4 ms -> 4.1 ms, 1,000 -> 990 values" */
static void describe_change(const struct diff *d, const struct diff_change *c, char *buf,
			    size_t size)
{
	char a[TEXT_SIZE], b[TEXT_SIZE], e[TEXT_SIZE], f[TEXT_SIZE], g[TEXT_SIZE], h[TEXT_SIZE];
	char change[32];
	bool is_tail = c->verdict.permille == 900;

	change_text(c, change, sizeof(change));
	if (is_duration(c))
		snprintf(buf, size, "p%u %s -> %s (%s), p99 %s -> %s, %s -> %s times",
			 c->verdict.permille / 10,
			 text_duration(a, is_tail ? c->base.p90 : c->base.p50),
			 text_duration(b, is_tail ? c->head.p90 : c->head.p50), change,
			 text_duration(e, c->base.p99), text_duration(f, c->head.p99),
			 text_count(g, c->base.count), text_count(h, c->head.count));
	else if (c->subject == DIFF_OF_ALIVE)
		snprintf(buf, size, "%s -> %s per run", text_count(a, c->base.count),
			 text_count(b, c->head.count));
	else if (c->subject == DIFF_OF_FINDING)
		snprintf(buf, size, "%s, in %s of %zu runs", c->detector,
			 text_count(a, c->class == DIFF_WORSE ? c->head.count : c->base.count),
			 c->class == DIFF_WORSE ? d->head.nr_runs : d->base.nr_runs);
	else
		snprintf(buf, size, "%s waits, p50 %s",
			 text_count(a, c->class == DIFF_NEW ? c->head.count : c->base.count),
			 text_duration(b, c->class == DIFF_NEW ? c->head.p50 : c->base.p50));
}

/* "2 worse, 1 better, 3 new, 0 gone; 14 sites compared" */
static void describe_all(const struct diff *d, char *buf, size_t size)
{
	if (!d->nr)
		snprintf(buf, size, "no difference beyond noise; %zu sites compared", d->compared);
	else
		snprintf(buf, size, "%zu worse, %zu better, %zu new, %zu gone; %zu sites compared",
			 d->by_class[DIFF_WORSE], d->by_class[DIFF_BETTER], d->by_class[DIFF_NEW],
			 d->by_class[DIFF_GONE], d->compared);
}

static size_t shown_of(const struct diff *d, const struct diff_form *form, int class)
{
	size_t nr = d->by_class[class];

	return form->all || nr <= SHOWN_MAX ? nr : SHOWN_MAX;
}

/* ---- text ---------------------------------------------------------------------- */

static void text_style(const struct diff_form *form, FILE *out, const char *code)
{
	if (form->color)
		fprintf(out, "\033[%sm", code);
}

static void text_side(FILE *out, const char *word, const char *const *names, size_t nr)
{
	fprintf(out, "%s  ", word);
	for (; *names; names++) {
		text_put(out, *names);
		fputc(names[1] ? ' ' : '\n', out);
	}
	if (!nr)
		fputc('\n', out);
}

static void text_change(const struct diff *d, const struct diff_form *form, FILE *out,
			const struct diff_change *c)
{
	static const char *const colors[] = { "1;31", "32", "36", "36" };
	char numbers[320];

	describe_change(d, c, numbers, sizeof(numbers));
	fputc('\n', out);
	text_style(form, out, colors[c->class]);
	fprintf(out, "%-6s", class_words[c->class]);
	text_style(form, out, "0");
	fprintf(out, "  %s: ", diff_title(c));
	text_style(form, out, "1");
	text_put(out, c->text);
	text_style(form, out, "0");
	fprintf(out, "\n        %s\n", numbers);
}

int diff_text(const struct diff *d, const struct diff_form *form, FILE *out)
{
	size_t i = 0, k;
	char line[160];
	int class;

	text_side(out, "base", form->base, d->base.nr_runs);
	text_side(out, "head", form->head, d->head.nr_runs);
	for (k = 0; form->notes[k]; k++) {
		fputs("note: ", out);
		text_put(out, form->notes[k]);
		fputc('\n', out);
	}
	describe_all(d, line, sizeof(line));
	text_style(form, out, "1");
	fprintf(out, "%s\n", line);
	text_style(form, out, "0");
	for (class = 0; class < NR_DIFF_CLASSES; class ++) {
		size_t nr = d->by_class[class], shown = shown_of(d, form, class);

		for (k = 0; k < shown; k++)
			text_change(d, form, out, &d->changes[i + k]);
		if (shown < nr)
			fprintf(out, "\nand %zu more %s; --all shows every one\n", nr - shown,
				class_words[class]);
		i += nr;
	}
	return ferror(out) ? -EIO : 0;
}

/* ---- Markdown ------------------------------------------------------------------ */

/* Escape text of the traced program: it must not act as Markdown. */
static void markdown_put(FILE *out, const char *text)
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

static void markdown_change(const struct diff *d, FILE *out, const struct diff_change *c)
{
	static const char *const marks[] = { "**worse**", "better", "new", "gone" };
	char numbers[320];

	describe_change(d, c, numbers, sizeof(numbers));
	fprintf(out, "| %s | %s | ", marks[c->class], diff_title(c));
	markdown_put(out, c->text);
	fputs(" | ", out);
	markdown_put(out, numbers);
	fputs(" |\n", out);
}

int diff_markdown(const struct diff *d, const struct diff_form *form, FILE *out)
{
	size_t i = 0, k;
	char line[160];
	int class;

	describe_all(d, line, sizeof(line));
	fprintf(out, "### Coroutines: %s\n\n%zu base run%s, %zu head run%s.\n", line,
		d->base.nr_runs, d->base.nr_runs == 1 ? "" : "s", d->head.nr_runs,
		d->head.nr_runs == 1 ? "" : "s");
	for (k = 0; form->notes[k]; k++) {
		fputs("\n> ", out);
		markdown_put(out, form->notes[k]);
		fputc('\n', out);
	}
	if (d->nr)
		fputs("\n| | what | where | base -> head |\n|---|---|---|---|\n", out);
	for (class = 0; class < NR_DIFF_CLASSES; class ++) {
		size_t shown = shown_of(d, form, class);

		for (k = 0; k < shown; k++)
			markdown_change(d, out, &d->changes[i + k]);
		i += d->by_class[class];
	}
	for (class = 0; class < NR_DIFF_CLASSES; class ++) {
		size_t left = d->by_class[class] - shown_of(d, form, class);

		if (left)
			fprintf(out, "\nand %zu more %s; `--all` shows every one.\n", left,
				class_words[class]);
	}
	return ferror(out) ? -EIO : 0;
}
