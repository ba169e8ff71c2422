/* SPDX-License-Identifier: MIT */
/* top_screen.h - what `corotracer top` draws with ncurses. */
#ifndef TOP_TOP_SCREEN_H
#define TOP_TOP_SCREEN_H

#include "base/text.h"
#include "top/top.h"
#include "top/top_groups.h"
#include "top/top_warnings.h"

enum top_mode { TOP_LIST, TOP_DETAILS, TOP_GROUP, TOP_WARNINGS, TOP_HELP };

/* Everything that a screen is drawn from. */
struct top {
	struct top_source *source;
	struct top_picture picture;
	struct top_places places;
	struct top_rows rows;
	struct top_choice choice;
	enum top_view view;
	struct top_groups groups;
	struct top_warnings warnings;
	enum top_mode mode;
	bool ends_program;
	uint32_t interval_ms;
	bool paused;
	bool typing;             /* a filter is being typed */
	char over[512];          /* why there are no new pictures; "": there are */
	size_t cursor;           /* index in rows */
	uint64_t selected;       /* id of the coroutine at the cursor: the cursor follows it */
	bool has_selected;       /* false: select the first row, whichever it is */
	uint32_t selected_group; /* likewise, in a list of groups: its name */
	size_t first;            /* first visible row */
	size_t scroll;           /* details and help: lines above the top */
	bool has_colors, is_utf8;
};

/* 0, or a negative errno with a message in @err: the terminal is unchanged then. */
int top_screen_open(struct top *t, struct err *err);
void top_screen_close(void);

void top_screen_draw(struct top *t);

/* Number of list rows that fit on the screen. */
int top_screen_page(void);

/* ---- for the files that draw parts of the screen ------------------------------------ */

enum top_color { TOP_PLAIN, TOP_QUIET, TOP_GOOD, TOP_WARN, TOP_BAD, TOP_HEAD };

/* Write untrusted text in @width columns: padded, or cut if longer. */
void top_put(const struct top *t, int y, int x, int width, const char *text);
void top_putf(const struct top *t, int y, int x, int width, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void top_color(const struct top *t, enum top_color color, bool on);
enum top_color top_state_color(uint8_t state);

/* "io-read on 7"; "" if no reason was recorded. */
void top_why(const struct recover_coroutine *c, char *buf, size_t size);

/* Lines are drawn one by one; those above the top and below the end are only counted. */
struct paper {
	const struct top *t;
	int top, height, width;
	size_t line;
};

void top_paper_line(struct paper *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Do not scroll beyond the end. */
void top_paper_limit(struct top *t, const struct paper *p);

/* True for views whose lines are groups. */
static inline bool top_is_grouped(const struct top *t)
{
	return t->view >= TOP_VIEW_KINDS && t->view <= TOP_VIEW_RESOURCES;
}

/* Lines of the list. */
static inline size_t top_nr_lines(const struct top *t)
{
	return top_is_grouped(t) ? t->groups.nr : t->rows.nr;
}

/* "37", a percentage of the looks; "-" without one. */
void top_share(char buf[TEXT_SIZE], uint64_t part, const struct top_looks *looks);
/* A line per power of two. */
void top_draw_bars(struct paper *out, const struct histogram *h);
void top_draw_groups(struct top *t, int top, int height, int width);
void top_draw_group_details(struct top *t, int top, int height, int width);
void top_draw_warnings(struct top *t, int top, int height, int width);
void top_draw_details(struct top *t, int top, int height, int width);
void top_draw_help(struct top *t, int top, int height, int width);

#endif
