/* SPDX-License-Identifier: MIT */
/*
 * top_terminal.c - set up and restore the terminal.  A separate file: term.h defines macros with
 * common names.
 */
#include "top/top_screen.h"

#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>

#include "top/ncursesw_loader.h"

/* The terminfo functions and the current terminal: term.h declares them, ncurses exports them. */
#define TERMINFO_SYMBOLS(X)   X(cur_term) X(del_curterm) X(setupterm) X(tigetstr)
#define TERMINFO_SYMBOL(name) { #name, &terminfo.name, DYNLIB_LINKED(name) },

static struct {
	DYNLIB_POINTERS(TERMINFO_SYMBOLS)
} terminfo;
static const struct dynlib_symbol terminfo_symbols[] = { TERMINFO_SYMBOLS(TERMINFO_SYMBOL) };
static struct dynlib terminfo_file = {
	.file = LIBNCURSESW_SONAME,
	.package = "libncursesw6",
	.symbols = terminfo_symbols,
	.nr_symbols = sizeof(terminfo_symbols) / sizeof(terminfo_symbols[0]),
};

static SCREEN *screen;

static void open_colors(struct top *t)
{
	const char *no = getenv("NO_COLOR");

	t->has_colors = !(no && *no) && ncursesw.has_colors() && ncursesw.start_color() == OK;
	if (!t->has_colors)
		return;
	ncursesw.use_default_colors();
	ncursesw.init_pair(TOP_QUIET, COLOR_CYAN, -1);
	ncursesw.init_pair(TOP_GOOD, COLOR_GREEN, -1);
	ncursesw.init_pair(TOP_WARN, COLOR_YELLOW, -1);
	ncursesw.init_pair(TOP_BAD, COLOR_RED, -1);
	ncursesw.init_pair(TOP_HEAD, COLOR_CYAN, -1);
}

/*
 * Terminals send arrow keys in two forms, depending on a mode that is set when a key is first
 * waited for.  After a stop an arrow key may arrive before that, and must not be read as Escape and
 * letters.
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
		ncursesw.define_key(text, keys[i].key);
		text[1] = 'O';
		ncursesw.define_key(text, keys[i].key);
	}
}

int top_screen_open(struct top *t, struct err *err)
{
	const char *term = getenv("TERM");
	int rc = ncursesw_load(err);

	if (!rc)
		rc = dynlib_load(&terminfo_file, err);
	if (rc < 0)
		return rc;
	/*
	 * NULL: the terminal cannot move the cursor. (char *)-1 is returned only for names that are
	 * not string capabilities.
	 */
	if (terminfo.setupterm(NULL, fileno(stdout), &rc) != OK || !terminfo.tigetstr("cup")) {
		err_set(err, -ENOTTY, "the terminal '%s' cannot show a screen", term ? term : "");
		err_hint(err, "set TERM, or use 'corotracer top --once'");
		return err->code;
	}
	terminfo.del_curterm(*terminfo.cur_term); /* newterm() creates its own */
	screen = ncursesw.newterm(NULL, stdout, stdin);
	if (!screen)
		return err_set(err, -ENOTTY, "the terminal '%s' cannot be used", term);
	t->is_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	open_colors(t);
	ncursesw.cbreak();
	ncursesw.noecho();
	ncursesw.nonl();
	ncursesw.keypad(*ncursesw.stdscr, TRUE);
	know_both_forms();
	ncursesw.nodelay(*ncursesw.stdscr, TRUE);
	ncursesw.set_escdelay(50);
	ncursesw.curs_set(0);
	return 0;
}

void top_screen_close(void)
{
	if (!screen)
		return;
	/* On a terminal without an alternate screen, leave an empty line for the next output. */
	ncursesw.move(*ncursesw.LINES - 1, 0);
	ncursesw.clrtoeol();
	ncursesw.refresh();
	ncursesw.endwin();
	ncursesw.delscreen(screen);
	screen = NULL;
}

const char *top_library(void)
{
	return NCURSES_VERSION;
}
