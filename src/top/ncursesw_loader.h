/* SPDX-License-Identifier: MIT */
/* ncursesw_loader.h - the functions and variables used from ncurses, loaded on first use. */
#ifndef TOP_NCURSESW_LOADER_H
#define TOP_NCURSESW_LOADER_H

#define NCURSES_NOMACROS /* move() and similar macros also exist as functions */
#include <curses.h>

#include "base/dynlib.h"

#define NCURSESW_SYMBOLS(X)   \
	X(COLOR_PAIR)         \
	X(addch)              \
	X(addwstr)            \
	X(attroff)            \
	X(attron)             \
	X(cbreak)             \
	X(clrtoeol)           \
	X(curs_set)           \
	X(define_key)         \
	X(delscreen)          \
	X(endwin)             \
	X(erase)              \
	X(getch)              \
	X(has_colors)         \
	X(init_pair)          \
	X(keypad)             \
	X(move)               \
	X(mvhline)            \
	X(newterm)            \
	X(nodelay)            \
	X(noecho)             \
	X(nonl)               \
	X(refresh)            \
	X(set_escdelay)       \
	X(start_color)        \
	X(use_default_colors) \
	X(COLS)               \
	X(LINES)              \
	X(stdscr)

struct ncursesw {
	DYNLIB_POINTERS(NCURSESW_SYMBOLS)
};

extern struct ncursesw ncursesw;

/* Set the pointers of `ncursesw`; see dynlib_load(). */
int ncursesw_load(struct err *err);

#endif
