/* SPDX-License-Identifier: MIT */
/* paper_screen.h - a screen in memory instead of ncurses: keys from a list, cells to look at. */
#ifndef TESTS_PAPER_SCREEN_H
#define TESTS_PAPER_SCREEN_H

#include <signal.h>
#include <stdbool.h>

#include "check.h"
#include "top/ncursesw_loader.h"

#define PAPER_LINES_MAX 60
#define PAPER_WIDTH_MAX 200
#define PAPER_KEYS_MAX  128

static struct {
	int lines, columns, y, x;
	chtype attributes;
	char text[PAPER_LINES_MAX][PAPER_WIDTH_MAX + 1];
	chtype marks[PAPER_LINES_MAX][PAPER_WIDTH_MAX];
	int keys[PAPER_KEYS_MAX]; /* ERR: draw, then go on with the next one */
	size_t nr_keys, next_key;
	unsigned nr_refreshed;
	int signal; /* arrives when the screen is drawn; 0: none */
} paper_cells;

static int paper_move(int y, int x)
{
	CHECK(y >= 0 && y < paper_cells.lines && x >= 0 && x < paper_cells.columns);
	paper_cells.y = y;
	paper_cells.x = x;
	return OK;
}

static int paper_addch(const chtype c)
{
	CHECK(paper_cells.x < paper_cells.columns); /* nothing is written beyond the line */
	paper_cells.text[paper_cells.y][paper_cells.x] = (char)c;
	paper_cells.marks[paper_cells.y][paper_cells.x++] = paper_cells.attributes;
	return OK;
}

static int paper_addwstr(const wchar_t *text)
{
	return paper_addch(text[0] > 0x7f ? 'u' : (chtype)text[0]);
}

static int paper_mvhline(int y, int x, chtype c, int nr)
{
	CHECK_EQ(paper_move(y, x), OK);
	while (nr-- > 0)
		paper_addch(c);
	return OK;
}

static int paper_attron(NCURSES_ATTR_T a)
{
	paper_cells.attributes |= (chtype)a;
	return OK;
}

static int paper_attroff(NCURSES_ATTR_T a)
{
	paper_cells.attributes &= ~(chtype)a;
	return OK;
}

static int paper_color_pair(int number)
{
	return number << 8;
}

static int paper_erase(void)
{
	int y;

	for (y = 0; y < PAPER_LINES_MAX; y++) {
		memset(paper_cells.text[y], ' ', (size_t)paper_cells.columns);
		paper_cells.text[y][paper_cells.columns] = '\0';
	}
	memset(paper_cells.marks, 0, sizeof(paper_cells.marks));
	return OK;
}

static int paper_refresh(void)
{
	CHECK_EQ(paper_cells.attributes, 0); /* every attribute was switched off */
	paper_cells.nr_refreshed++;
	if (paper_cells.signal)
		raise(paper_cells.signal);
	return OK;
}

/* After the last key Escape, which ends what is being typed, and "q". */
static int paper_getch(void)
{
	size_t at = paper_cells.next_key++;

	return at < paper_cells.nr_keys    ? paper_cells.keys[at]
	       : at == paper_cells.nr_keys ? 27
					   : 'q';
}

static void paper_screen_open(int lines, int columns)
{
	memset(&paper_cells, 0, sizeof(paper_cells));
	paper_cells.lines = lines;
	paper_cells.columns = columns;
	ncursesw = (struct ncursesw){ .LINES = &paper_cells.lines,
				      .COLS = &paper_cells.columns,
				      .move = paper_move,
				      .addch = paper_addch,
				      .addwstr = paper_addwstr,
				      .mvhline = paper_mvhline,
				      .attron = paper_attron,
				      .attroff = paper_attroff,
				      .COLOR_PAIR = paper_color_pair,
				      .erase = paper_erase,
				      .refresh = paper_refresh,
				      .getch = paper_getch };
	paper_erase();
}

/* Line @y without the spaces at its end. */
static const char *paper_line(int y)
{
	char *text = paper_cells.text[y];
	size_t nr = strlen(text);

	while (nr && text[nr - 1] == ' ')
		text[--nr] = '\0';
	return text;
}

/* The first line that contains @part; -1: none. */
static int paper_find(const char *part)
{
	int y;

	for (y = 0; y < paper_cells.lines; y++) {
		if (strstr(paper_cells.text[y], part))
			return y;
	}
	return -1;
}

/* The color of the first character of @part. */
static int paper_color_of(const char *part)
{
	int y = paper_find(part);

	CHECK(y >= 0);
	return (int)(paper_cells.marks[y]
				      [strstr(paper_cells.text[y], part) - paper_cells.text[y]] >>
			     8 &
		     0xff);
}

static bool paper_is_marked(int y)
{
	return paper_cells.marks[y][0] & A_REVERSE;
}

#endif
