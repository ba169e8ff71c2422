/* SPDX-License-Identifier: MIT */
/*
 * test_top_terminal.c - how `top` sets up a terminal and gives it back.
 *
 * ncurses is the test's: it writes down every call.
 */
#include "top/top_screen.h"

#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>

#include "top/ncursesw_loader.h"

#include "check.h"

/* term.h defines macros with common names. */
#undef lines
#undef columns

static struct {
	int curses, terminfo; /* of loading */
	int setupterm;
	const char *cup;
	bool has_screen, has_colors;
	int start_color;
	char log[4096];
} world;

static int screen_object, terminal_object;
static TERMINAL *current;
static int nr_lines = 24;
static WINDOW *window = (WINDOW *)&screen_object;

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
	size_t used = strlen(world.log);
	va_list args;

	va_start(args, fmt);
	vsnprintf(world.log + used, sizeof(world.log) - used, fmt, args);
	va_end(args);
}

/* ---- ncurses --------------------------------------------------------------------------- */

static bool fake_has_colors(void)
{
	return world.has_colors;
}

static int fake_start_color(void)
{
	note("start_color ");
	return world.start_color;
}

static int fake_default_colors(void)
{
	note("default ");
	return OK;
}

static int fake_init_pair(short pair, short fg, short bg)
{
	note("pair %d %d %d ", pair, fg, bg);
	return OK;
}

static int fake_cbreak(void)
{
	note("cbreak ");
	return OK;
}

static int fake_noecho(void)
{
	note("noecho ");
	return OK;
}

static int fake_nonl(void)
{
	note("nonl ");
	return OK;
}

static int fake_keypad(WINDOW *w, bool on)
{
	CHECK(w == window);
	note("keypad %d ", on);
	return OK;
}

static int fake_nodelay(WINDOW *w, bool on)
{
	CHECK(w == window);
	note("nodelay %d ", on);
	return OK;
}

static int fake_define_key(const char *text, int key)
{
	CHECK_EQ(text[0], '\033');
	note("%s=%d ", text + 1, key);
	return OK;
}

static int fake_escdelay(int ms)
{
	note("escdelay %d ", ms);
	return OK;
}

static int fake_curs_set(int visible)
{
	note("cursor %d ", visible);
	return OK;
}

static SCREEN *fake_newterm(const char *type, FILE *out, FILE *input)
{
	CHECK(!type && out == stdout && input == stdin);
	note("newterm ");
	return world.has_screen ? (SCREEN *)&screen_object : NULL;
}

static void fake_delscreen(SCREEN *screen)
{
	CHECK((void *)screen == (void *)&screen_object);
	note("delscreen ");
}

static int fake_move(int y, int x)
{
	note("move %d %d ", y, x);
	return OK;
}

static int fake_clrtoeol(void)
{
	note("clear ");
	return OK;
}

static int fake_refresh(void)
{
	note("refresh ");
	return OK;
}

static int fake_endwin(void)
{
	note("endwin ");
	return OK;
}

static int fake_setupterm(const char *type, int fd, int *rc)
{
	CHECK(!type && fd == 1);
	*rc = 1;
	current = (TERMINAL *)&terminal_object;
	return world.setupterm;
}

static char *fake_tigetstr(const char *name)
{
	CHECK_STR(name, "cup");
	return (char *)world.cup;
}

static int fake_del_curterm(TERMINAL *terminal)
{
	CHECK((void *)terminal == (void *)&terminal_object);
	note("del_curterm ");
	return OK;
}

int __wrap_ncursesw_load(struct err *err);
int __wrap_ncursesw_load(struct err *err)
{
	ncursesw = (struct ncursesw){
		.has_colors = fake_has_colors,
		.start_color = fake_start_color,
		.use_default_colors = fake_default_colors,
		.init_pair = fake_init_pair,
		.cbreak = fake_cbreak,
		.noecho = fake_noecho,
		.nonl = fake_nonl,
		.keypad = fake_keypad,
		.nodelay = fake_nodelay,
		.define_key = fake_define_key,
		.set_escdelay = fake_escdelay,
		.curs_set = fake_curs_set,
		.newterm = fake_newterm,
		.delscreen = fake_delscreen,
		.move = fake_move,
		.clrtoeol = fake_clrtoeol,
		.refresh = fake_refresh,
		.endwin = fake_endwin,
		.LINES = &nr_lines,
		.stdscr = &window,
	};
	return world.curses ? err_set(err, world.curses, "no ncurses") : 0;
}

/* Of terminfo: the names that the file of the screen wants. */
int __wrap_dynlib_load(struct dynlib *lib, struct err *err);
int __wrap_dynlib_load(struct dynlib *lib, struct err *err)
{
	const struct {
		const char *name;
		void *value;
	} known[] = { { "cur_term", (void *)&current },
		      { "del_curterm", (void *)fake_del_curterm },
		      { "setupterm", (void *)fake_setupterm },
		      { "tigetstr", (void *)fake_tigetstr } };
	size_t i, k, found = 0;

	CHECK_STR(lib->file, LIBNCURSESW_SONAME);
	CHECK_STR(lib->package, "libncursesw6");
	CHECK_EQ(lib->nr_symbols, 4);
	for (i = 0; i < lib->nr_symbols; i++) {
		for (k = 0; k < 4; k++) {
			if (!strcmp(lib->symbols[i].name, known[k].name)) {
				memcpy(lib->symbols[i].pointer, &known[k].value, sizeof(void *));
				found++;
			}
		}
	}
	CHECK_EQ(found, 4);
	return world.terminfo ? err_set(err, world.terminfo, "no terminfo") : 0;
}

/* ---- tests ------------------------------------------------------------------------------ */

static void world_new(void)
{
	memset(&world, 0, sizeof(world));
	world.cup = "x";
	world.has_screen = world.has_colors = true;
	unsetenv("NO_COLOR");
	setenv("TERM", "vt100", 1);
}

static const char colors[] = "start_color default pair 1 6 -1 pair 2 2 -1 pair 3 3 -1 pair 4 1 -1 "
			     "pair 5 6 -1 ";
static const char keys[] = "cbreak noecho nonl keypad 1 "
			   "[A=259 OA=259 [B=258 OB=258 [C=261 OC=261 [D=260 OD=260 "
			   "[H=262 OH=262 [F=360 OF=360 nodelay 1 escdelay 50 cursor 0 ";

/* Open, compare the calls, and close. */
static void check_opened(const char *of_colors, bool has_colors)
{
	struct top t = { .has_colors = !has_colors };
	struct err err = { 0 };
	char wanted[1024];

	CHECK_EQ(top_screen_open(&t, &err), 0);
	CHECK_EQ(t.has_colors, has_colors);
	snprintf(wanted, sizeof(wanted), "del_curterm newterm %s%s", of_colors, keys);
	CHECK_STR(world.log, wanted);
	world.log[0] = '\0';
	nr_lines = 31;
	top_screen_close();
	CHECK_STR(world.log, "move 30 0 clear refresh endwin delscreen ");
	world.log[0] = '\0';
	top_screen_close(); /* it is closed */
	CHECK_STR(world.log, "");
}

static void a_terminal_is_set_up_and_given_back(void)
{
	world_new();
	check_opened(colors, true);
	setenv("NO_COLOR", "", 1); /* empty: not set */
	check_opened(colors, true);
}

static void colors_may_be_missing(void)
{
	world_new();
	setenv("NO_COLOR", "1", 1);
	check_opened("", false);
	world_new();
	world.has_colors = false;
	check_opened("", false);
	world_new();
	world.start_color = ERR;
	check_opened("start_color ", false);
}

static void the_encoding_is_the_one_of_the_locale(void)
{
	struct top t = { .is_utf8 = true };
	struct err err = { 0 };

	world_new();
	CHECK(setlocale(LC_ALL, "C") != NULL);
	CHECK_EQ(top_screen_open(&t, &err), 0);
	CHECK(!t.is_utf8);
	top_screen_close();
	if (!setlocale(LC_ALL, "C.UTF-8"))
		return;
	CHECK_EQ(top_screen_open(&t, &err), 0);
	CHECK(t.is_utf8);
	top_screen_close();
	setlocale(LC_ALL, "C");
}

/* The terminal is unchanged: there is nothing to close. */
static void check_refused(int code, const char *text)
{
	struct top t = { 0 };
	struct err err = { 0 };

	world.log[0] = '\0';
	CHECK_EQ(top_screen_open(&t, &err), code);
	CHECK_EQ(err.code, code);
	CHECK_STR(err.text, text);
	CHECK(!strstr(world.log, "cbreak"));
	world.log[0] = '\0';
	top_screen_close();
	CHECK_STR(world.log, "");
}

static void a_terminal_that_cannot_show_a_screen_is_refused(void)
{
	struct top t = { 0 };
	struct err err = { 0 };

	world_new();
	world.setupterm = ERR;
	check_refused(-ENOTTY, "the terminal 'vt100' cannot show a screen");
	CHECK_EQ(top_screen_open(&t, &err), -ENOTTY);
	CHECK_STR(err.hint, "set TERM, or use 'corotracer top --once'");
	world_new();
	world.cup = NULL;
	check_refused(-ENOTTY, "the terminal 'vt100' cannot show a screen");
	unsetenv("TERM");
	check_refused(-ENOTTY, "the terminal '' cannot show a screen");
	world_new();
	world.has_screen = false;
	check_refused(-ENOTTY, "the terminal 'vt100' cannot be used");
	world_new();
	world.curses = -ENOENT;
	check_refused(-ENOENT, "no ncurses");
	world_new();
	world.terminfo = -ENOENT;
	check_refused(-ENOENT, "no terminfo");
}

int main(void)
{
	RUN(a_terminal_is_set_up_and_given_back);
	RUN(colors_may_be_missing);
	RUN(the_encoding_is_the_one_of_the_locale);
	RUN(a_terminal_that_cannot_show_a_screen_is_refused);
	CHECK_STR(top_library(), NCURSES_VERSION);
	return 0;
}
