/* SPDX-License-Identifier: MIT */
/*
 * top_screen.c - text that is safe for a terminal, the header, the list.
 *
 * Names come from untrusted memory.  Only characters that occupy columns and do nothing else reach
 * the terminal, in the terminal's encoding.
 */
#include "top/top_screen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "analyze/report.h"
#include "base/monotonic.h"
#include "base/text.h"
#include "base/utf8.h"
#include "collect/collector_client.h"
#include "top/ncursesw_loader.h"

#define HEAD_LINES 4 /* including the column titles */

/* ---- text --------------------------------------------------------------------- */

/* Columns of @cp as shown; 0: omitted. */
static int width_of(const struct top *t, uint32_t cp)
{
	int width;

	if (cp < 0x80)
		return 1;
	if (!t->is_utf8)
		return 1; /* shown as a question mark */
	width = wcwidth((wchar_t)cp);
	return width < 0 ? 1 : width;
}

static void put_char(const struct top *t, uint32_t cp)
{
	wchar_t wide[2] = { (wchar_t)cp, 0 };

	if (cp < 0x20 || cp == 0x7f || (cp >= 0x80 && !t->is_utf8) ||
	    (cp >= 0x80 && wcwidth((wchar_t)cp) < 0))
		ncursesw.addch('?');
	else if (cp < 0x80)
		ncursesw.addch(cp);
	else
		ncursesw.addwstr(wide);
}

void top_put(const struct top *t, int y, int x, int width, const char *text)
{
	size_t size = strlen(text);
	int used = 0;

	if (width <= 0 || y >= *ncursesw.LINES || x >= *ncursesw.COLS || ncursesw.move(y, x) == ERR)
		return;
	if (width > *ncursesw.COLS - x)
		width = *ncursesw.COLS - x;
	while (size) {
		uint32_t cp;
		size_t len = utf8_next(text, size, &cp);
		int columns = width_of(t, cp);

		/* The last column shows that the text continues. */
		if (columns && used + columns > width - (size > len)) {
			if (used < width)
				ncursesw.addch(size > len ? '>' : ' ');
			used++;
			break;
		}
		if (columns)
			put_char(t, cp);
		used += columns;
		text += len;
		size -= len;
	}
	for (; used < width; used++)
		ncursesw.addch(' ');
}

void top_putf(const struct top *t, int y, int x, int width, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	top_put(t, y, x, width, text);
}

void top_color(const struct top *t, enum top_color color, bool on)
{
	attr_t attr = color == TOP_BAD || color == TOP_HEAD ? A_BOLD : A_NORMAL;

	if (t->has_colors && color != TOP_PLAIN)
		attr |= (attr_t)ncursesw.COLOR_PAIR((int)color);
	if (on)
		ncursesw.attron((int)attr);
	else
		ncursesw.attroff((int)attr);
}

enum top_color top_state_color(uint8_t state)
{
	switch (state) {
	case TRACE_STATE_RUNNING:
		return TOP_GOOD;
	case TRACE_STATE_READY:
		return TOP_WARN;
	case TRACE_STATE_NEW:
	case TRACE_STATE_ENDED:
		return TOP_QUIET;
	default:
		return TOP_PLAIN;
	}
}

void top_why(const struct recover_coroutine *c, char *buf, size_t size)
{
	report_waits_for(c->co.reason, c->co.has_resource, c->co.resource, buf, size);
}

/* ---- the header ---------------------------------------------------------------- */

/* "server --port 80": untrusted text, to be written with top_put(). */
static void command_of(const struct top *t, char *buf, size_t size)
{
	const json_t *words = json_object_get(t->picture.status, "command");
	const struct recover *r = &t->picture.r;
	size_t i, used = 0;

	buf[0] = '\0';
	for (i = 0; i < json_array_size(words) && used < size; i++) {
		const char *word = json_string_value(json_array_get(words, i));
		const char *slash = word && !i ? strrchr(word, '/') : NULL;
		int n = snprintf(buf + used, size - used, "%s%s", i ? " " : "",
				 slash && slash[1] ? slash + 1
				 : word            ? word
						   : "");

		used += n > 0 ? (size_t)n : 0;
	}
	for (i = 0; !buf[0] && i < r->nr_processes; i++)
		snprintf(buf, size, "%s", r->processes[i].command);
}

static void put_up_time(char *buf, size_t size, uint64_t ns)
{
	uint64_t s = ns / NS_PER_SEC;

	if (s >= 86400)
		snprintf(buf, size, "%" PRIu64 "d %02" PRIu64 ":%02" PRIu64, s / 86400,
			 s % 86400 / 3600, s % 3600 / 60);
	else
		snprintf(buf, size, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600,
			 s % 3600 / 60, s % 60);
}

static void draw_target(struct top *t, int width)
{
	const struct top_picture *p = &t->picture;
	char command[512], up[32], right[64];
	int at;

	command_of(t, command, sizeof(command));
	put_up_time(up, sizeof(up), p->up_ns);
	snprintf(right, sizeof(right), " %s  up %s",
		 t->over[0]  ? "[ENDED]"
		 : t->paused ? "[PAUSED]"
			     : "",
		 up);
	at = width - (int)strlen(right);
	top_color(t, TOP_HEAD, true);
	if (p->r.nr_processes == 1)
		top_putf(t, 0, 0, at, "%s  pid %u", command, p->r.processes[0].pid);
	else
		top_putf(t, 0, 0, at, "%s  %" PRIu64 " programs", command, p->programs);
	top_color(t, TOP_HEAD, false);
	if (t->over[0] || t->paused)
		top_color(t, TOP_WARN, true);
	top_put(t, 0, at, width - at, right);
	top_color(t, TOP_WARN, false);
}

static void draw_states(struct top *t, int width)
{
	static const uint8_t order[] = { TRACE_STATE_RUNNING, TRACE_STATE_READY,
					 TRACE_STATE_SUSPENDED, TRACE_STATE_NEW,
					 TRACE_STATE_ENDED };
	const struct top_picture *p = &t->picture;
	char text[256], n[TEXT_SIZE];
	size_t i, used;

	used = (size_t)snprintf(text, sizeof(text), "coroutines %s:", text_count(n, p->nr));
	for (i = 0; i < sizeof(order) && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %s %s%s",
					 i ? "," : "", text_count(n, p->by_state[order[i]]),
					 trace_state_name(order[i]),
					 t->choice.hidden[order[i]] ? " (hidden)" : "");
	top_put(t, 1, 0, width, text);
}

static const char *rate_text(char buf[TEXT_SIZE], double rate)
{
	if (rate >= 9.95)
		return text_count(buf, (uint64_t)(rate + 0.5));
	snprintf(buf, TEXT_SIZE, "%.1f", rate);
	return buf;
}

/* Loss first: a narrow screen must not cut it off. */
static void draw_rates(struct top *t, int width)
{
	const struct top_picture *p = &t->picture;
	char a[TEXT_SIZE], b[TEXT_SIZE], c[TEXT_SIZE];
	char lost[64];
	int at = snprintf(lost, sizeof(lost), "lost %s%s  ", text_count(a, p->lost),
			  p->told ? "" : "?");

	top_color(t, p->lost ? TOP_BAD : TOP_PLAIN, true);
	top_put(t, 2, 0, at, lost);
	top_color(t, p->lost ? TOP_BAD : TOP_PLAIN, false);
	top_putf(t, 2, at, width - at, "events %s/s  births %s/s  behind %s  threads %" PRIu64,
		 rate_text(a, p->event_rate), rate_text(b, p->birth_rate),
		 text_count(c, p->backlog), p->threads);
}

/* ---- the list ------------------------------------------------------------------- */

enum column {
	COL_ID,
	COL_STATE,
	COL_AGE,
	COL_RATE,
	COL_THREAD,
	COL_ON,
	COL_WAITS,
	COL_BLOCKED,
	COL_NAME,
	COL_SITE,
	COL_WHY,
	NR_COLUMNS
};

struct screen_columns {
	int at[NR_COLUMNS], width[NR_COLUMNS]; /* 0: not shown */
};

/*
 * On a narrow screen, omit columns in this order: processor time (if it is measured), thread, rate,
 * why, name.
 */
static void top_lay_out(struct screen_columns *c, int width, bool has_cpu)
{
	static const int fixed[NR_COLUMNS] = {
		[COL_ID] = 8,     [COL_STATE] = 9, [COL_AGE] = 10,   [COL_RATE] = 9,
		[COL_THREAD] = 8, [COL_ON] = 10,   [COL_WAITS] = 10, [COL_BLOCKED] = 10
	};
	bool has[NR_COLUMNS];
	int i, left, at = 0, flexible;

	for (i = 0; i < NR_COLUMNS; i++)
		has[i] = true;
	has[COL_ON] = has[COL_WAITS] = has[COL_BLOCKED] = has_cpu && width >= 106;
	has[COL_THREAD] = width >= (has[COL_ON] ? 125 : 92);
	has[COL_RATE] = width >= 78;
	has[COL_WHY] = width >= 64;
	has[COL_NAME] = width >= 52;
	left = width;
	for (i = 0; i < NR_COLUMNS; i++)
		left -= has[i] ? fixed[i] + 1 : 0;
	flexible = has[COL_NAME] + 2 + has[COL_WHY];
	for (i = 0; i < NR_COLUMNS; i++) {
		int w = fixed[i];

		/* The place is the longest text, and gets two shares. */
		if (!w)
			w = i == COL_SITE ? left * 2 / flexible : left / flexible;
		if (i == COL_WHY || (i == COL_SITE && !has[COL_WHY]))
			w = width - at;
		c->at[i] = at;
		c->width[i] = has[i] && w > 0 ? w : 0;
		at += has[i] ? w + 1 : 0;
	}
}

static void draw_titles(struct top *t, const struct screen_columns *c, int y, int width)
{
	static const char *const titles[NR_COLUMNS] = { "      ID",   "STATE",      "       AGE",
							"   RATE/s",  "  THREAD",   "    ON CPU",
							"     READY", "   BLOCKED", "NAME",
							"WHERE",      "WHY" };
	static const enum top_sort sorts[NR_COLUMNS] = {
		TOP_BY_ID,    NR_TOP_SORTS, TOP_BY_AGE,  TOP_BY_RATE, TOP_BY_THREAD, NR_TOP_SORTS,
		NR_TOP_SORTS, NR_TOP_SORTS, TOP_BY_NAME, TOP_BY_SITE, NR_TOP_SORTS,
	};
	int i;

	ncursesw.attron(A_REVERSE);
	ncursesw.mvhline(y, 0, ' ', width);
	for (i = 0; i < NR_COLUMNS; i++) {
		if (sorts[i] == t->choice.sort)
			ncursesw.attron(A_BOLD | A_UNDERLINE);
		top_put(t, y, c->at[i], c->width[i] ? (int)strlen(titles[i]) : 0, titles[i]);
		ncursesw.attroff(A_BOLD | A_UNDERLINE);
	}
	ncursesw.attroff(A_REVERSE);
}

/* Times of its slices so far; a dash: not measured. */
static void draw_cpu(struct top *t, const struct screen_columns *c, int y,
		     const struct top_cpu *cpu)
{
	const uint64_t values[] = { cpu->on_ns, cpu->ready_ns, cpu->blocked_ns };
	char text[TEXT_SIZE];
	int i;

	for (i = 0; i < 3; i++)
		top_putf(t, y, c->at[COL_ON + i], c->width[COL_ON + i], "%10s",
			 cpu->slices ? text_duration(text, values[i]) : "-");
}

static void draw_name(struct top *t, const struct screen_columns *c, int y,
		      const struct top_shown *shown, const char *name)
{
	unsigned indent = shown->depth < 12 ? shown->depth * 2u : 24u;

	if (t->view == TOP_VIEW_TREE && shown->depth)
		top_putf(t, y, c->at[COL_NAME], c->width[COL_NAME], "%*s%s%s", (int)indent - 2, "",
			 shown->is_awaited ? "+>" : "`-", name);
	else
		top_put(t, y, c->at[COL_NAME], c->width[COL_NAME], name);
}

static void draw_row(struct top *t, const struct screen_columns *c, int y,
		     const struct top_shown *shown, bool selected, int width)
{
	const struct top_row *row = &t->picture.rows[shown->row];
	const struct recover_coroutine *co = row->c;
	const char *state = trace_state_name(row->state);
	char why[128], text[TEXT_SIZE];
	uint64_t age = top_row_age(row, &t->picture);

	if (selected) {
		ncursesw.attron(A_REVERSE);
		ncursesw.mvhline(y, 0, ' ', width);
	}
	top_putf(t, y, c->at[COL_ID], c->width[COL_ID], "%8" PRIu64, co->co.probe_id);
	if (!selected)
		top_color(t, top_state_color(row->state), true);
	top_put(t, y, c->at[COL_STATE], c->width[COL_STATE], state ? state : "?");
	top_color(t, top_state_color(row->state), false);
	top_putf(t, y, c->at[COL_AGE], c->width[COL_AGE], "%10s",
		 age ? text_duration(text, age) : "?");
	top_putf(t, y, c->at[COL_RATE], c->width[COL_RATE], "%9s", rate_text(text, row->rate));
	if (co->tid)
		top_putf(t, y, c->at[COL_THREAD], c->width[COL_THREAD], "%8" PRIu64, co->tid);
	draw_cpu(t, c, y, &row->cpu);
	draw_name(t, c, y, shown, co->name);
	top_put(t, y, c->at[COL_SITE], c->width[COL_SITE],
		top_row_place(row, &t->picture, &t->places));
	top_why(co, why, sizeof(why));
	top_put(t, y, c->at[COL_WHY], c->width[COL_WHY], why);
	ncursesw.attroff(A_REVERSE);
}

int top_screen_page(void)
{
	/* Before the screen is opened there is no library, and no size. */
	int page = ncursesw.LINES ? *ncursesw.LINES - HEAD_LINES - 1 : 0;

	return page > 1 ? page : 1;
}

static void draw_list(struct top *t, int top, int height, int width)
{
	struct screen_columns c;
	int y;

	top_lay_out(&c, width, t->picture.has_cpu);
	draw_titles(t, &c, top, width);
	for (y = 0; y < height - 1 && t->first + (size_t)y < t->rows.nr; y++) {
		size_t at = t->first + (size_t)y;

		draw_row(t, &c, top + 1 + y, &t->rows.at[at], at == t->cursor, width);
	}
	if (t->rows.nr || height < 3)
		return;
	top_put(t, top + 2, 2, width - 2,
		t->picture.nr ? "none of the coroutines is shown: Esc clears the filter, 0 shows "
				"all states"
			      : "no coroutine is there");
}

/* ---- the footer ------------------------------------------------------------------ */

/* Returns the number of its bytes, which are columns if the filter is ASCII. */
static int top_foot_text(const struct top *t, char *buf, size_t size)
{
	char n[TEXT_SIZE], groups[64] = "";

	if (top_is_grouped(t))
		snprintf(groups, sizeof(groups), "%s %s of ", text_count(n, t->groups.nr),
			 t->view == TOP_VIEW_KINDS    ? "kinds"
			 : t->view == TOP_VIEW_PLACES ? "sites"
						      : "resources");
	return snprintf(buf, size, "%s%s shown, by %s%s%s%s%s  every %g s  Tab view  ? help",
			groups, text_count(n, t->rows.nr), top_sort_name(t->choice.sort),
			t->choice.reverse ? " (reversed)" : "",
			t->choice.filter[0] ? ", filter '" : "", t->choice.filter,
			t->choice.filter[0] ? "'" : "", t->interval_ms / 1000.0);
}

static void draw_foot(struct top *t, int width)
{
	int y = *ncursesw.LINES - 1, used;
	char text[512];

	if (t->typing) {
		top_putf(t, y, 0, width, "filter by name or place: %s_", t->choice.filter);
		return;
	}
	if (t->over[0]) {
		top_color(t, TOP_WARN, true);
		top_putf(t, y, 0, width, "%s  q quits", t->over);
		top_color(t, TOP_WARN, false);
		return;
	}
	if (t->mode != TOP_LIST) {
		top_put(t, y, 0, width, "Esc back   up/down scroll   q quit");
		return;
	}
	used = top_foot_text(t, text, sizeof(text));
	top_color(t, TOP_QUIET, true);
	top_put(t, y, 0, width, text);
	top_color(t, TOP_QUIET, false);
	if (!t->warnings.nr)
		return;
	top_color(t, TOP_BAD, true);
	top_putf(t, y, used + 2, width - used - 2, "w: %s%s", t->warnings.text[0],
		 t->warnings.nr > 1 ? ", and more" : "");
	top_color(t, TOP_BAD, false);
}

void top_screen_draw(struct top *t)
{
	int width = *ncursesw.COLS, height = *ncursesw.LINES - (HEAD_LINES - 1) - 1;

	ncursesw.erase();
	draw_target(t, width);
	draw_states(t, width);
	draw_rates(t, width);
	if (height > 0 && t->mode == TOP_DETAILS)
		top_draw_details(t, HEAD_LINES - 1, height, width);
	else if (height > 0 && t->mode == TOP_GROUP)
		top_draw_group_details(t, HEAD_LINES - 1, height, width);
	else if (height > 0 && t->mode == TOP_WARNINGS)
		top_draw_warnings(t, HEAD_LINES - 1, height, width);
	else if (height > 0 && t->mode == TOP_HELP)
		top_draw_help(t, HEAD_LINES - 1, height, width);
	else if (height > 0 && top_is_grouped(t))
		top_draw_groups(t, HEAD_LINES - 1, height, width);
	else if (height > 0)
		draw_list(t, HEAD_LINES - 1, height, width);
	draw_foot(t, width);
	ncursesw.refresh();
}
