/* SPDX-License-Identifier: MIT */
/* top_terminal.c - take the terminal, and give it back.  By itself: term.h has macros for words. */
#include "view/top_screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>

static SCREEN *screen;

static void open_colors(struct top *t)
{
	const char *no = getenv("NO_COLOR");

	t->has_colors = !(no && *no) && has_colors() && start_color() == OK;
	if (!t->has_colors)
		return;
	use_default_colors();
	init_pair(TOP_QUIET, COLOR_CYAN, -1);
	init_pair(TOP_GOOD, COLOR_GREEN, -1);
	init_pair(TOP_WARN, COLOR_YELLOW, -1);
	init_pair(TOP_BAD, COLOR_RED, -1);
	init_pair(TOP_HEAD, COLOR_CYAN, -1);
}

/*
 * Terminals send arrows in two forms, by a mode that is set when a key is first waited for: after
 * a stop one may come before that, and must not be taken for an Escape and some letters.
 */
static void know_both_forms(void)
{
	static const struct {
		char letter;
		int key;
	} keys[] = { { 'A', KEY_UP },   { 'B', KEY_DOWN }, { 'C', KEY_RIGHT },
		     { 'D', KEY_LEFT }, { 'H', KEY_HOME }, { 'F', KEY_END } };
	char text[4] = "\033[A";
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		text[2] = keys[i].letter;
		text[1] = '[';
		define_key(text, keys[i].key);
		text[1] = 'O';
		define_key(text, keys[i].key);
	}
}

int top_screen_open(struct top *t, struct err *err)
{
	const char *term = getenv("TERM");
	int rc;

	/* NULL: it cannot move the cursor; (char *)-1 only for what is no name of a string. */
	if (setupterm(NULL, fileno(stdout), &rc) != OK || !tigetstr("cup")) {
		err_set(err, -ENOTTY, "the terminal '%s' cannot show a screen", term ? term : "");
		err_hint(err, "set TERM, or use 'corotracer top --once'");
		return err->code;
	}
	del_curterm(cur_term); /* newterm() makes its own */
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return err_set(err, -ENOTTY, "the terminal '%s' cannot be used", term);
	t->is_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	open_colors(t);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	know_both_forms();
	nodelay(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	return 0;
}

void top_screen_close(void)
{
	if (!screen)
		return;
	/* Where a terminal has no other screen to go back to, a line for whoever comes next. */
	move(LINES - 1, 0);
	clrtoeol();
	refresh();
	endwin();
	delscreen(screen);
	screen = NULL;
}

const char *top_library(void)
{
	return NCURSES_VERSION;
}
