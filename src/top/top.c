/* SPDX-License-Identifier: MIT */
/*
 * top.c - the main loop of the terminal view: pictures, keys, signals.
 *
 * Signals that end the process are blocked except where it waits, so that they always arrive with
 * the terminal in a state that can be restored. ncurses handles SIGTSTP and SIGWINCH.
 */
#include "top/top_screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "top/ncursesw_loader.h"

#define KEY_ESCAPE 27
#define SHORT_LIST 20u /* lines */

/* ---- signals ------------------------------------------------------------------- */

static volatile sig_atomic_t came;

static void on_signal(int sig)
{
	came = sig;
}

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define NR_ENDING (sizeof(ending) / sizeof(ending[0]))

struct held {
	sigset_t mask;
	struct sigaction before[NR_ENDING];
};

static void hold_signals(struct held *h)
{
	struct sigaction act = { .sa_handler = on_signal };
	sigset_t set;
	size_t i;

	came = 0;
	sigemptyset(&set);
	for (i = 0; i < NR_ENDING; i++)
		sigaddset(&set, ending[i]);
	sigprocmask(SIG_BLOCK, &set, &h->mask);
	for (i = 0; i < NR_ENDING; i++)
		sigaction(ending[i], &act, &h->before[i]);
}

static void release_signals(const struct held *h)
{
	size_t i;

	for (i = 0; i < NR_ENDING; i++)
		sigaction(ending[i], &h->before[i], NULL);
	sigprocmask(SIG_SETMASK, &h->mask, NULL);
}

/* ---- pictures -------------------------------------------------------------------- */

/*
 * The selection follows its coroutine; if the coroutine is destroyed, the row in its position is
 * selected.
 */
static void follow_selected(struct top *t)
{
	size_t i;

	for (i = 0; t->has_selected && top_is_grouped(t) && i < t->groups.nr; i++) {
		if (t->groups.at[i].name == t->selected_group) {
			t->cursor = i;
			return;
		}
	}
	for (i = 0; t->has_selected && !top_is_grouped(t) && i < t->rows.nr; i++) {
		if (t->picture.rows[t->rows.at[i].row].c->co.probe_id == t->selected) {
			t->cursor = i;
			return;
		}
	}
}

static void limit_cursor(struct top *t)
{
	size_t page = (size_t)top_screen_page(), nr = top_nr_lines(t);

	if (t->cursor >= nr)
		t->cursor = nr ? nr - 1 : 0;
	if (t->cursor < t->first)
		t->first = t->cursor;
	if (t->cursor >= t->first + page)
		t->first = t->cursor - page + 1;
	if (t->first + page > nr)
		t->first = nr > page ? nr - page : 0;
}

/* Lists that do not fit on the screen are summed up, until the user chooses a view. */
static void top_choose_view(struct top *t)
{
	if (t->view != TOP_VIEW_AUTO)
		return;
	/* A window that is made small for a moment does not change the view of a short list. */
	if (!t->choice.filter[0] && t->rows.nr > SHORT_LIST &&
	    t->rows.nr > (size_t)top_screen_page())
		t->view = TOP_VIEW_KINDS;
}

static int top_make_lines(struct top *t, bool is_new)
{
	static const enum top_grouping groupings[NR_TOP_VIEWS] = {
		[TOP_VIEW_KINDS] = TOP_BY_KIND,
		[TOP_VIEW_PLACES] = TOP_BY_PLACE,
		[TOP_VIEW_RESOURCES] = TOP_BY_RESOURCE,
	};
	int rc = top_rows_make(&t->rows, &t->picture, &t->places, &t->choice);

	if (rc < 0)
		return rc;
	top_choose_view(t);
	if (t->view == TOP_VIEW_TREE)
		return top_rows_tree(&t->rows, &t->picture);
	if (!top_is_grouped(t))
		return 0;
	return top_groups_make(&t->groups, groupings[t->view], &t->picture, &t->rows, &t->places,
			       &t->choice, is_new);
}

/* The choice or (@is_new) the picture changed: rebuild the lines. */
static void top_rebuild(struct top *t, bool is_new)
{
	if (top_make_lines(t, is_new) < 0)
		snprintf(t->over, sizeof(t->over), "no memory for the list.");
	follow_selected(t);
	limit_cursor(t);
}

static void top_choose(struct top *t)
{
	top_rebuild(t, false);
}

/* Keeps the last picture if no new one can be taken. */
static void take_picture(struct top *t)
{
	struct top_picture p;
	struct err err = { 0 };

	if (top_picture_take(t->source, &p, t->mode == TOP_DETAILS ? t->selected : 0, &err) < 0) {
		snprintf(t->over, sizeof(t->over), "%s",
			 err.code == -ESRCH ? "the run is over; this is how it was last seen."
					    : err.text);
		return;
	}
	top_picture_release(&t->picture);
	top_places_begin(&t->places);
	t->picture = p;
	top_warnings_make(&t->warnings, &t->picture);
	top_rebuild(t, true);
}

static void top_set_view(struct top *t, enum top_view view)
{
	t->view = view;
	t->mode = TOP_LIST;
	t->has_selected = false;
	t->cursor = t->first = 0;
	t->source->wants_events = view == TOP_VIEW_RESOURCES;
	/* The picture does not contain the holders yet. */
	if (t->source->wants_events && !t->over[0] && !t->paused)
		take_picture(t);
	else
		top_choose(t);
}

/* The coroutines of the group at the cursor. */
static void top_open_group(struct top *t)
{
	if (t->cursor >= t->groups.nr || t->view == TOP_VIEW_RESOURCES)
		return;
	snprintf(t->choice.filter, sizeof(t->choice.filter), "%s", t->groups.at[t->cursor].label);
	top_set_view(t, TOP_VIEW_ROWS);
}

/* ---- keys ------------------------------------------------------------------------ */

static void move_by(struct top *t, long by)
{
	if (t->mode != TOP_LIST) {
		t->scroll = by < 0 && t->scroll < (size_t)-by ? 0 : t->scroll + (size_t)by;
		return;
	}
	if (by < 0 && t->cursor < (size_t)-by)
		t->cursor = 0;
	else
		t->cursor += (size_t)by;
	limit_cursor(t);
	t->has_selected = t->cursor < top_nr_lines(t);
	if (t->has_selected && top_is_grouped(t))
		t->selected_group = t->groups.at[t->cursor].name;
	else if (t->has_selected)
		t->selected = t->picture.rows[t->rows.at[t->cursor].row].c->co.probe_id;
}

static void sort_by(struct top *t, enum top_sort sort)
{
	t->choice.reverse = t->choice.sort == sort && !t->choice.reverse;
	t->choice.sort = sort;
	top_choose(t);
}

static void toggle_state(struct top *t, uint8_t state)
{
	t->choice.hidden[state] = !t->choice.hidden[state];
	top_choose(t);
}

static void top_type(struct top *t, int key)
{
	size_t size = strlen(t->choice.filter);

	if (key == '\r' || key == '\n' || key == KEY_ENTER) {
		t->typing = false;
	} else if (key == KEY_ESCAPE) {
		t->typing = false;
		t->choice.filter[0] = '\0';
	} else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && size) {
		/* Remove a whole multi-byte character. */
		while (size && (t->choice.filter[size - 1] & 0xc0) == 0x80)
			size--;
		t->choice.filter[size ? size - 1 : 0] = '\0';
	} else if (key >= ' ' && key < 256 && key != 127 && size + 1 < sizeof(t->choice.filter)) {
		t->choice.filter[size] = (char)key;
		t->choice.filter[size + 1] = '\0';
	}
	top_choose(t);
}

static void enter_mode(struct top *t, enum top_mode mode)
{
	if (mode == TOP_DETAILS) {
		if (t->cursor >= top_nr_lines(t))
			return;
		if (top_is_grouped(t)) {
			t->selected_group = t->groups.at[t->cursor].name;
			t->has_selected = true;
			t->mode = TOP_GROUP;
			t->scroll = 0;
			return;
		}
		t->selected = t->picture.rows[t->rows.at[t->cursor].row].c->co.probe_id;
		t->has_selected = true;
	}
	t->mode = mode;
	t->scroll = 0;
	/* The picture does not contain the coroutine's last events yet. */
	if (mode == TOP_DETAILS && !t->over[0] && !t->paused)
		take_picture(t);
}

static void leave_mode(struct top *t)
{
	if (t->mode == TOP_LIST) {
		t->choice.filter[0] = '\0';
		top_choose(t);
	}
	t->mode = TOP_LIST;
	t->scroll = 0;
}

/* True if @key moves the cursor. */
static bool move_key(struct top *t, int key)
{
	switch (key) {
	case KEY_UP:
	case 'k':
		move_by(t, -1);
		return true;
	case KEY_DOWN:
	case 'j':
		move_by(t, 1);
		return true;
	case KEY_PPAGE:
		move_by(t, -top_screen_page());
		return true;
	case KEY_NPAGE:
		move_by(t, top_screen_page());
		return true;
	case KEY_HOME:
	case 'g':
		move_by(t, -(1L << 40));
		t->has_selected = t->mode != TOP_LIST &&
				  t->has_selected; /* the first row, whichever it is */
		return true;
	case KEY_END:
	case 'G':
		move_by(t, t->mode == TOP_LIST ? (long)top_nr_lines(t) : 1000);
		return true;
	default:
		return false;
	}
}

/* True if @key changes the choice. */
static bool choice_key(struct top *t, int key)
{
	static const struct {
		char key;
		enum top_sort sort;
	} sorts[] = { { 'a', TOP_BY_AGE },   { 'T', TOP_BY_AGE },  { 'P', TOP_BY_RATE },
		      { 'N', TOP_BY_ID },    { 'n', TOP_BY_NAME }, { 's', TOP_BY_SITE },
		      { 'e', TOP_BY_EVENTS } };
	size_t i;
	static const uint8_t states[] = { TRACE_STATE_RUNNING, TRACE_STATE_READY,
					  TRACE_STATE_SUSPENDED, TRACE_STATE_NEW,
					  TRACE_STATE_ENDED };

	for (i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		if (key == sorts[i].key) {
			sort_by(t, sorts[i].sort);
			return true;
		}
	}
	if (key >= '1' && key <= '5')
		toggle_state(t, states[key - '1']);
	else if (key == '0') {
		memset(t->choice.hidden, 0, sizeof(t->choice.hidden));
		top_choose(t);
	} else if (key == KEY_F(6) || key == '>')
		sort_by(t, (enum top_sort)((t->choice.sort + 1) % NR_TOP_SORTS));
	else if (key == '<')
		sort_by(t, (enum top_sort)((t->choice.sort + NR_TOP_SORTS - 1) % NR_TOP_SORTS));
	else if (key == 'i' || key == 'I')
		sort_by(t, t->choice.sort);
	else
		return false;
	return true;
}

/* True if @key changes the view. */
static bool view_key(struct top *t, int key)
{
	if (key == '\t')
		top_set_view(t,
			     t->view + 1 < NR_TOP_VIEWS && t->view ? t->view + 1 : TOP_VIEW_KINDS);
	else if (key == 't')
		top_set_view(t, TOP_VIEW_ROWS);
	else if (key == 'r')
		top_set_view(t, TOP_VIEW_RESOURCES);
	else if (key == KEY_F(5))
		top_set_view(t, TOP_VIEW_TREE);
	else
		return false;
	return true;
}

static void change_interval(struct top *t, bool longer)
{
	uint32_t ms = longer ? t->interval_ms * 2 : t->interval_ms / 2;

	if (ms >= TOP_INTERVAL_LEAST_MS && ms <= TOP_INTERVAL_MOST_MS)
		t->interval_ms = ms;
}

/* False: quit. */
static bool top_press(struct top *t, int key)
{
	if (key == KEY_RESIZE) {
		limit_cursor(t);
	} else if (t->typing) {
		top_type(t, key);
	} else if (key == 'q' || key == 'Q' || key == KEY_F(10)) {
		return false;
	} else if (key == KEY_ESCAPE || (t->mode != TOP_LIST && (key == KEY_LEFT || key == 'h'))) {
		leave_mode(t);
	} else if (key == '?' || key == 'h' || key == KEY_F(1)) {
		enter_mode(t, TOP_HELP);
	} else if (key == ' ' || key == 'p') {
		t->paused = !t->paused;
	} else if (key == '+' || key == '=' || key == '-') {
		change_interval(t, key != '-');
	} else if (key == 'w') {
		enter_mode(t, TOP_WARNINGS);
	} else if (view_key(t, key) || move_key(t, key) || t->mode != TOP_LIST) {
		return true;
	} else if (key == '/' || key == KEY_F(3) || key == KEY_F(4)) {
		t->typing = true;
	} else if (key == KEY_RIGHT && top_is_grouped(t)) {
		top_open_group(t);
	} else if (key == '\r' || key == '\n' || key == KEY_ENTER || key == KEY_RIGHT) {
		enter_mode(t, TOP_DETAILS);
	} else {
		choice_key(t, key);
	}
	return true;
}

static bool press_all(struct top *t)
{
	int key;

	while ((key = ncursesw.getch()) != ERR) {
		if (!top_press(t, key))
			return false;
	}
	return true;
}

/* ---- the loop -------------------------------------------------------------------- */

/* Wait until @until_ns, a key or a signal.  False: the terminal was closed. */
static bool wait_until(uint64_t until_ns, const struct held *held)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	uint64_t now = clock_now_ns(), ns = until_ns > now ? until_ns - now : 0;
	struct timespec ts = { (time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC) };

	return ppoll(&fd, 1, &ts, &held->mask) <= 0 ||
	       !(fd.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void top_loop(struct top *t, const struct held *held)
{
	uint64_t next_ns = clock_now_ns();
	bool go_on = true;

	while (go_on && !came) {
		uint64_t now = clock_now_ns();

		if (now >= next_ns && !t->paused && !t->over[0])
			take_picture(t);
		/*
		 * Count from the end of this picture: on a slow machine pictures must not queue up.
		 */
		if (now >= next_ns)
			next_ns = clock_now_ns() + (uint64_t)t->interval_ms * NS_PER_MS;
		top_screen_draw(t);
		go_on = wait_until(next_ns, held) && press_all(t);
	}
}

int top_run(struct top_source *source, const struct top_options *options, int *sig, struct err *err)
{
	struct top t = {
		.source = source,
		.choice = options->choice,
		.interval_ms = options->interval_ms,
		.view = options->view,
		.ends_program = options->ends_program,
	};
	struct held held;

	*sig = 0;
	/*
	 * Take the first picture before the terminal is taken over, so that an error can be printed
	 * normally.
	 */
	source->wants_events = options->view == TOP_VIEW_RESOURCES;
	if (top_picture_take(source, &t.picture, 0, err) < 0)
		return err->code;
	hold_signals(&held);
	if (top_screen_open(&t, err) == 0) {
		top_warnings_make(&t.warnings, &t.picture);
		top_rebuild(&t, true);
		top_loop(&t, &held);
		top_screen_close();
		*sig = came;
	}
	release_signals(&held);
	top_rows_release(&t.rows);
	top_groups_release(&t.groups);
	top_places_release(&t.places);
	top_picture_release(&t.picture);
	return err->code;
}
