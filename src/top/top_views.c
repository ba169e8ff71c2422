/* SPDX-License-Identifier: MIT */
/* top_views.c - draw groups of coroutines, resources, the histogram of a group, and warnings. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "top/ncursesw_loader.h"
#include "top/top_screen.h"

/* A column of a list of groups; the first column has the rest of the width. */
struct top_column {
	const char *title;
	int width;
	int least; /* width of a screen that has room for it */
};

static const struct top_column group_columns[] = {
	{ "COUNT", 9, 0 },      { "RUN", 6, 40 },     { "READY", 7, 48 },  { "WAIT", 9, 56 },
	{ "BUSY%", 6, 100 },    { "READY%", 7, 100 }, { "WAIT%", 6, 100 }, { "RATE/s", 10, 66 },
	{ "WAIT p50", 11, 92 }, { "p99", 11, 80 },    { "MAX", 11, 70 },
};

static const struct top_column resource_columns[] = {
	{ "WAITERS", 9, 0 },
	{ "WAIT p50", 11, 70 },
	{ "p99", 11, 80 },
	{ "MAX", 11, 50 },
};

#define NR_GROUP_COLUMNS    (sizeof(group_columns) / sizeof(group_columns[0]))
#define NR_RESOURCE_COLUMNS (sizeof(resource_columns) / sizeof(resource_columns[0]))
#define HOLDER_WIDTH        26

static int top_columns_width(const struct top_column *columns, size_t nr, int width)
{
	int all = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		all += width >= columns[i].least ? columns[i].width : 0;
	return all;
}

static void top_draw_group_titles(const struct top *t, const struct top_column *columns, size_t nr,
				  int y, int width, int at)
{
	size_t i;

	ncursesw.attron(A_REVERSE);
	ncursesw.mvhline(y, 0, ' ', width);
	top_put(t, y, 0, at,
		t->view == TOP_VIEW_KINDS    ? "KIND"
		: t->view == TOP_VIEW_PLACES ? "WHERE"
					     : "WAITING FOR");
	for (i = 0; i < nr; i++) {
		if (width < columns[i].least)
			continue;
		top_putf(t, y, at, columns[i].width, "%*s", columns[i].width, columns[i].title);
		at += columns[i].width;
	}
	if (t->view == TOP_VIEW_RESOURCES)
		top_put(t, y, at + 2, width - at - 2, "HELD BY");
	ncursesw.attroff(A_REVERSE);
}

void top_share(char buf[TEXT_SIZE], uint64_t part, const struct top_looks *looks)
{
	uint64_t all = looks->running + looks->ready + looks->waiting;

	if (all)
		snprintf(buf, TEXT_SIZE, "%.0f", 100.0 * (double)part / (double)all);
	else
		snprintf(buf, TEXT_SIZE, "-");
}

static void top_wait_text(char buf[TEXT_SIZE], const struct top_group *g, unsigned permille)
{
	if (!g->waits.nr)
		snprintf(buf, TEXT_SIZE, "-");
	else
		text_duration(buf,
			      permille ? histogram_quantile(&g->waits, permille) : g->waits.max);
}

static void top_group_cell(char buf[TEXT_SIZE], const struct top_group *g, size_t column)
{
	switch (column) {
	case 0:
		text_count(buf, g->nr);
		break;
	case 1:
		text_count(buf, g->running);
		break;
	case 2:
		text_count(buf, g->ready);
		break;
	case 3:
		text_count(buf, g->waiting);
		break;
	case 4:
		top_share(buf, g->looks.running, &g->looks);
		break;
	case 5:
		top_share(buf, g->looks.ready, &g->looks);
		break;
	case 6:
		top_share(buf, g->looks.waiting, &g->looks);
		break;
	case 7:
		snprintf(buf, TEXT_SIZE, "%.1f", g->rate);
		break;
	default:
		top_wait_text(buf, g, column == 8 ? 500 : column == 9 ? 990 : 0);
	}
}

static void top_resource_cell(char buf[TEXT_SIZE], const struct top_group *g, size_t column)
{
	if (column == 0)
		text_count(buf, g->nr);
	else
		top_wait_text(buf, g, column == 1 ? 500 : column == 2 ? 990 : 0);
}

static enum top_color top_cell_color(const struct top *t, const struct top_group *g, size_t column)
{
	if (t->view == TOP_VIEW_RESOURCES)
		return TOP_PLAIN;
	return column == 1 && g->running ? TOP_GOOD
	       : column == 2 && g->ready ? TOP_WARN
					 : TOP_PLAIN;
}

static void top_draw_holder(const struct top *t, int y, int at, int width,
			    const struct top_group *g)
{
	const struct top_row *row = g->holder ? top_row_of(&t->picture, g->holder) : NULL;

	if (!g->is_lock)
		return;
	if (row)
		top_putf(t, y, at, width, "%" PRIu64 " %s, %s", g->holder, row->c->name,
			 trace_state_name(row->state) ? trace_state_name(row->state) : "?");
	else if (g->holder)
		top_putf(t, y, at, width, "%" PRIu64 ", which is gone", g->holder);
	else
		top_put(t, y, at, width, "not known");
}

static void top_draw_group(const struct top *t, int y, int width, int at, const struct top_group *g,
			   bool selected)
{
	bool is_resource = t->view == TOP_VIEW_RESOURCES;
	const struct top_column *columns = is_resource ? resource_columns : group_columns;
	size_t nr = is_resource ? NR_RESOURCE_COLUMNS : NR_GROUP_COLUMNS, i;
	char text[TEXT_SIZE];

	if (selected) {
		ncursesw.attron(A_REVERSE);
		ncursesw.mvhline(y, 0, ' ', width);
	}
	top_put(t, y, 0, at - 1, g->label);
	for (i = 0; i < nr; i++) {
		enum top_color color = selected ? TOP_PLAIN : top_cell_color(t, g, i);

		if (width < columns[i].least)
			continue;
		if (is_resource)
			top_resource_cell(text, g, i);
		else
			top_group_cell(text, g, i);
		top_color(t, color, true);
		top_putf(t, y, at, columns[i].width, "%*s", columns[i].width, text);
		top_color(t, color, false);
		at += columns[i].width;
	}
	if (is_resource)
		top_draw_holder(t, y, at + 2, width - at - 2, g);
	ncursesw.attroff(A_REVERSE);
}

void top_draw_groups(struct top *t, int top, int height, int width)
{
	bool is_resource = t->view == TOP_VIEW_RESOURCES;
	const struct top_column *columns = is_resource ? resource_columns : group_columns;
	size_t nr = is_resource ? NR_RESOURCE_COLUMNS : NR_GROUP_COLUMNS;
	int at = width - top_columns_width(columns, nr, width);
	int y;

	if (is_resource && width >= 50 + HOLDER_WIDTH)
		at -= HOLDER_WIDTH;
	top_draw_group_titles(t, columns, nr, top, width, at);
	for (y = 0; y < height - 1 && t->first + (size_t)y < t->groups.nr; y++) {
		size_t i = t->first + (size_t)y;

		top_draw_group(t, top + 1 + y, width, at, &t->groups.at[i], i == t->cursor);
	}
	if (!t->groups.nr && height > 2)
		top_put(t, top + 2, 2, width - 2,
			is_resource ? "no coroutine waits for a lock, a channel or a descriptor"
				    : "no coroutine is shown");
}

/* ---- one group -------------------------------------------------------------------------- */

/* The waits of a step of the histogram: all up to twice the time of the step before. */
void top_draw_bars(struct paper *out, const struct histogram *h)
{
	uint64_t counts[64] = { 0 }, value, nr, most = 0;
	unsigned step = 0, first = 64, last = 0, i;
	char time[TEXT_SIZE], count[TEXT_SIZE], bar[61];

	while (histogram_next(h, &step, &value, &nr)) {
		unsigned octave = value ? 63 - (unsigned)__builtin_clzll(value) : 0;

		counts[octave] += nr;
		first = octave < first ? octave : first;
		last = octave > last ? octave : last;
	}
	for (i = 0; i < 64; i++)
		most = counts[i] > most ? counts[i] : most;
	for (i = first; i <= last && most; i++) {
		int length = (int)(counts[i] * 60 / most);

		memset(bar, '#', sizeof(bar) - 1);
		bar[counts[i] && !length ? 1 : length] = '\0';
		top_paper_line(out, "  below %12s  %10s  %s",
			       text_duration(time, i < 63 ? UINT64_C(2) << i : UINT64_MAX),
			       text_count(count, counts[i]), bar);
	}
}

void top_draw_group_details(struct top *t, int top, int height, int width)
{
	struct paper out = { t, top, height, width, 0 };
	const struct top_group *g = t->cursor < t->groups.nr ? &t->groups.at[t->cursor] : NULL;
	char a[TEXT_SIZE], b[TEXT_SIZE], c[TEXT_SIZE];

	if (!g) {
		top_paper_line(&out, "none of them is left");
		return;
	}
	top_paper_line(&out, "%s", g->label);
	top_paper_line(&out, "  now       %s: %s running, %s ready, %" PRIu64 " waiting",
		       text_count(a, g->nr), text_count(b, g->running), text_count(c, g->ready),
		       g->waiting);
	top_share(a, g->looks.running, &g->looks);
	top_share(b, g->looks.ready, &g->looks);
	top_share(c, g->looks.waiting, &g->looks);
	top_paper_line(&out, "  so far    %s %% running, %s %% ready, %s %% waiting, by looks", a,
		       b, c);
	top_paper_line(&out, "  rate      %.1f suspends and resumes a second", g->rate);
	top_wait_text(a, g, 500);
	top_wait_text(b, g, 900);
	top_wait_text(c, g, 990);
	top_paper_line(&out, "  waits     p50 %s, p90 %s, p99 %s so far", a, b, c);
	top_paper_line(&out, " ");
	top_paper_line(&out, "how long those that wait have waited");
	top_draw_bars(&out, &g->waits);
	top_paper_limit(t, &out);
}

/* ---- warnings ------------------------------------------------------------------------------ */

void top_draw_warnings(struct top *t, int top, int height, int width)
{
	struct paper out = { t, top, height, width, 0 };
	unsigned i;

	if (!t->warnings.nr)
		top_paper_line(&out, "no warnings in this picture");
	for (i = 0; i < t->warnings.nr; i++)
		top_paper_line(&out, "%s", t->warnings.text[i]);
	top_paper_line(&out, " ");
	top_paper_line(&out, "A picture is one moment: 'corotracer report' on the trace decides.");
	top_paper_limit(t, &out);
}
