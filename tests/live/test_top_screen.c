/* SPDX-License-Identifier: MIT */
/* test_top_screen.c - what keys do in `corotracer top`, and what its screens say, without a
 * terminal. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include "live/shown_program.h"

/* ---- the list ---------------------------------------------------------------------- */

static void the_header_says_what_runs(void)
{
	begin_program();
	PRESS(ERR);
	CHECK_STR(paper_line(0) + 106, "   up 01:01:01");
	CHECK(strstr(paper_line(0), "server  pid 77") == paper_line(0));
	CHECK_STR(paper_line(1), "coroutines 6: 1 running, 1 ready, 4 suspended, 0 new, 0 ended");
	CHECK_STR(paper_line(2), "lost 0  events 1,234/s  births 0.5/s  behind 17  threads 2");
	CHECK_STR(paper_line(23), "6 shown, by age  every 60 s  Tab view  ? help");
	CHECK_EQ(paper_find("reader-2"), 6);
	CHECK_STR(paper_line(6), "       2 suspended    9.000 s       1.0          reader-2        "
				 "  read.c:20 reader                   io-read, descript>");
}

static void lists_are_sorted_by_keys(void)
{
	begin_program();
	PRESS(ERR);
	expect_order("5 6 2 1 3 4 ");
	PRESS('i');
	expect_order("4 3 1 2 6 5 ");
	CHECK(paper_find("by age (reversed)") == 23);
	PRESS('P');
	expect_order("6 5 4 3 2 1 ");
	PRESS('P', 'P');
	expect_order("1 2 3 4 5 6 ");
	PRESS('P', 'T');
	expect_order("5 6 2 1 3 4 ");
	PRESS('N');
	expect_order("1 2 3 4 5 6 ");
	PRESS('n');
	expect_order("4 5 6 1 2 3 ");
	PRESS('s');
	expect_order("5 6 1 2 3 4 ");
	PRESS('e');
	expect_order("6 5 4 3 2 1 ");
	PRESS('>');
	CHECK(paper_find("by rate") == 23);
	PRESS('<');
	CHECK(paper_find("by events") == 23);
	PRESS('N', '<', '<');
	CHECK(paper_find("by age") == 23);
	PRESS('e', KEY_F(6));
	CHECK(paper_find("by age") == 23);
	PRESS('N', '>', '>', '>');
	CHECK(paper_find("by thread") == 23);
	expect_order("4 1 2 3 5 6 ");
}

static void states_are_hidden_by_keys(void)
{
	begin_program();
	PRESS('N', '1');
	expect_order("1 2 3 5 6 ");
	CHECK(paper_find("1 running (hidden)") == 1);
	PRESS('N', '2');
	expect_order("1 2 4 5 6 ");
	PRESS('N', '3');
	expect_order("3 4 ");
	PRESS('N', '3', '3');
	expect_order("1 2 3 4 5 6 ");
	PRESS('1', '2', '3');
	expect_order("");
	CHECK(paper_find("none of the coroutines is shown: Esc clears the filter") == 5);
	PRESS('N', '1', '2', '3', '0');
	expect_order("1 2 3 4 5 6 ");
	shown.nr = 0;
	PRESS(ERR);
	CHECK(paper_find("no coroutine is there") == 5);
}

static void a_filter_is_typed(void)
{
	begin_program();
	PRESS('N', '/', 'L', 'O', 'C');
	CHECK_STR(paper_line(23), "filter by name or place: LOC_");
	expect_order("5 6 ");
	PRESS('N', '/', 'L', 'O', 'X', KEY_BACKSPACE, 'C', '\r');
	expect_order("5 6 ");
	CHECK_STR(paper_line(23), "2 shown, by id, filter 'LOC'  every 60 s  Tab view  ? help");
	PRESS('N', '/', 'W', 0xc3, 0xa4, 127, '\n');
	expect_order("4 ");
	PRESS('N', KEY_F(4), 'r', 'e', 'a', 'd', '.', 'c', KEY_ENTER);
	expect_order("1 2 3 ");
	PRESS('N', KEY_F(3), 'W', KEY_ENTER, 27); /* Escape clears it */
	expect_order("1 2 3 4 5 6 ");
	PRESS('N', '/', 'W', 27);
	expect_order("1 2 3 4 5 6 ");
	PRESS('N', '/', 8, 'q'); /* nothing to remove; q is a letter here */
	CHECK_STR(paper_line(23), "filter by name or place: q_");
}

static void the_cursor_moves_and_follows_its_coroutine(void)
{
	begin_program();
	PRESS('N');
	CHECK_EQ(cursor_line(), 0);
	PRESS('N', KEY_DOWN, 'j');
	CHECK_EQ(cursor_line(), 2);
	PRESS('N', KEY_DOWN, 'j', 'k');
	CHECK_EQ(cursor_line(), 1);
	PRESS('N', 'k');
	CHECK_EQ(cursor_line(), 0);
	PRESS('N', 'G');
	CHECK_EQ(cursor_line(), 5);
	PRESS('N', KEY_END, KEY_UP, 'g');
	CHECK_EQ(cursor_line(), 0);
	PRESS('N', KEY_NPAGE);
	CHECK_EQ(cursor_line(), 5);
	PRESS('N', KEY_NPAGE, KEY_PPAGE);
	CHECK_EQ(cursor_line(), 0);
	PRESS('N', 'j', 'i'); /* coroutine 2, when the order is reversed */
	CHECK_EQ(cursor_line(), 4);
	PRESS('N', 'j', 'g', 'i'); /* the first one, whichever it is */
	CHECK_EQ(cursor_line(), 0);
	PRESS('N', 'j', '/', 'l', 'o', 'c', '\r'); /* it is not shown */
	CHECK_EQ(cursor_line(), 1);
}

static void a_long_list_is_scrolled(void)
{
	static const int end[] = { ERR, 'N', 'G' }, up[] = { ERR, 'N', 'G', KEY_PPAGE, 'k' };
	unsigned i;

	begin_program();
	for (i = 0; i < 30; i++)
		add_coroutine("more", TRACE_STATE_SUSPENDED, 1, 2);
	press_on(15, 100, TOP_VIEW_ROWS, end, 3);
	CHECK_EQ(strtoul(paper_line(4), NULL, 10), 27);
	CHECK_EQ(strtoul(paper_line(13), NULL, 10), 36);
	CHECK(paper_is_marked(13));
	press_on(15, 100, TOP_VIEW_ROWS, up, 5);
	CHECK_EQ(strtoul(paper_line(4), NULL, 10), 25);
	CHECK(paper_is_marked(4));
}

/* More coroutines than lines: kinds, until the user chooses. */
static void long_lists_are_summed_up(void)
{
	static const int nothing[] = { ERR };
	unsigned i;

	begin_program();
	press_on(5, 100, TOP_VIEW_AUTO, nothing, 1); /* short lists are not, in a small window */
	CHECK_EQ(paper_find("KIND"), -1);
	for (i = 6; i < 20; i++)
		add_coroutine("more", TRACE_STATE_NEW, 1, 2);
	press_on(10, 100, TOP_VIEW_AUTO, nothing, 1);
	CHECK_EQ(paper_find("KIND"), -1);
	add_coroutine("more", TRACE_STATE_NEW, 1, 2);
	press_on(10, 100, TOP_VIEW_AUTO, nothing, 1);
	CHECK_EQ(paper_find("KIND"), 3);
	press_on(26, 100, TOP_VIEW_AUTO, nothing, 1); /* it fits */
	CHECK_EQ(paper_find("KIND"), -1);
	press_on(10, 100, TOP_VIEW_ROWS, nothing, 1);
	CHECK_EQ(paper_find("KIND"), -1);
}

/* ---- groups -------------------------------------------------------------------------- */

static void kinds_are_counted(void)
{
	begin_program();
	PRESS_AS(TOP_VIEW_KINDS, ERR);
	CHECK_STR(paper_line(3), "KIND                           COUNT   RUN  READY     WAIT BUSY% "
				 "READY% WAIT%    RATE/s   WAIT p50        p99        MAX");
	CHECK_STR(paper_line(4), "locker                             2     0      0        2     0 "
				 "     0   100       9.0   30.065 s   40.000 s   40.000 s");
	CHECK_STR(paper_line(5), "reader                             3     0      1        2     0 "
				 "    33    67       3.0    3.020 s    9.000 s    9.000 s");
	CHECK_STR(paper_line(6), "Worker                             1     1      0        0   100 "
				 "     0     0       3.0          -          -          -");
	CHECK_STR(paper_line(7), "");
	CHECK_STR(paper_line(23), "3 kinds of 6 shown, by age  every 60 s  Tab view  ? help");
	CHECK(paper_is_marked(4) && !paper_is_marked(5));
	PRESS_AS(TOP_VIEW_KINDS, ERR, 'P');
	CHECK_EQ(paper_find("locker"), 4);
	CHECK_EQ(paper_find("Worker"), 5);
	PRESS_AS(TOP_VIEW_KINDS, ERR, 'N'); /* the most first */
	CHECK_EQ(paper_find("reader"), 4);
	PRESS_AS(TOP_VIEW_KINDS, ERR, 'e'); /* groups have no events: by their number */
	CHECK_EQ(paper_find("reader"), 4);
	CHECK_EQ(paper_find("locker"), 5);
	PRESS_AS(TOP_VIEW_KINDS, ERR, 'n', 'i');
	CHECK_EQ(paper_find("reader"), 4);
	CHECK_EQ(paper_find("Worker"), 6);
}

static void narrow_screens_have_fewer_columns(void)
{
	static const int nothing[] = { ERR };

	begin_program();
	press_on(24, 99, TOP_VIEW_KINDS, nothing, 1);
	CHECK_STR(paper_line(3), "KIND                         COUNT   RUN  READY     WAIT    "
				 "RATE/s   WAIT p50        p99        MAX");
	press_on(24, 69, TOP_VIEW_KINDS, nothing, 1);
	CHECK_STR(paper_line(3),
		  "KIND                            COUNT   RUN  READY     WAIT    RATE/s");
	press_on(24, 39, TOP_VIEW_KINDS, nothing, 1);
	CHECK_STR(paper_line(3), "KIND                              COUNT");
	CHECK_STR(paper_line(4), "locker                                2");
}

static void the_view_is_changed_by_tab(void)
{
	begin_program();
	PRESS_AS(TOP_VIEW_KINDS, '\t');
	CHECK_EQ(paper_find("WHERE"), 3);
	CHECK(paper_find("3 sites of 6 shown") == 23);
	CHECK_EQ(paper_find("read.c:20 reader"), 5);
	PRESS_AS(TOP_VIEW_KINDS, '\t', '\t');
	CHECK_EQ(paper_find("WAITING FOR"), 3);
	CHECK(shown.asked_events);
	PRESS_AS(TOP_VIEW_KINDS, '\t', '\t', '\t');
	CHECK_EQ(paper_find("`-locker-2"), paper_find("Worker") + 1);
	PRESS_AS(TOP_VIEW_KINDS, '\t', '\t', '\t', '\t');
	expect_order("5 6 2 1 3 4 ");
	PRESS_AS(TOP_VIEW_KINDS, '\t', '\t', '\t', '\t', '\t');
	CHECK_EQ(paper_find("KIND"), 3);
	PRESS_AS(TOP_VIEW_AUTO, '\t');
	CHECK_EQ(paper_find("KIND"), 3);
	PRESS_AS(TOP_VIEW_KINDS, 't');
	CHECK_EQ(paper_find("  ID"), 3);
	PRESS_AS(TOP_VIEW_KINDS, 'r');
	CHECK_EQ(paper_find("WAITING FOR"), 3);
	PRESS_AS(TOP_VIEW_KINDS, KEY_F(5));
	CHECK(paper_find("`-locker-2") > 0);
}

static void locks_have_holders(void)
{
	begin_program();
	add_lock_event(0, TRACE_ACQUIRE, 2, 0x100, 60);
	add_lock_event(1, TRACE_ACQUIRE, 4, 0x100, 50);
	add_lock_event(0, TRACE_RELEASE, 2, 0x100, 55);
	add_lock_event(0, TRACE_ACQUIRE, 1, 0x200, 45);
	PRESS_AS(TOP_VIEW_RESOURCES, ERR);
	CHECK_STR(paper_line(3), "WAITING FOR                                           WAITERS   "
				 "WAIT p50        p99        MAX  HELD BY");
	CHECK_STR(paper_line(4), "mutex, 0x100                                                2   "
				 "30.065 s   40.000 s   40.000 s  4 Worker, running");
	CHECK_STR(paper_line(5), "io-read, descriptor 8                                       1    "
				 "9.000 s    9.000 s    9.000 s");
	CHECK(paper_find("3 resources of 6 shown") == 23);
	add_lock_event(1, TRACE_RELEASE, 4, 0x100, 40);
	PRESS_AS(TOP_VIEW_RESOURCES, ERR);
	CHECK(strstr(paper_line(4), "40.000 s  not known"));
	add_lock_event(1, TRACE_ACQUIRE, 99, 0x100, 35);
	PRESS_AS(TOP_VIEW_RESOURCES, ERR);
	CHECK(strstr(paper_line(4), "40.000 s  99, which is gone"));
	shown.nr = 0;
	PRESS_AS(TOP_VIEW_RESOURCES, ERR);
	CHECK_STR(paper_line(5), "  no coroutine waits for a lock, a channel or a descriptor");
	PRESS_AS(TOP_VIEW_KINDS, ERR);
	CHECK_STR(paper_line(5), "  no coroutine is shown");
}

/* Each process has numbers of its own. */
static void locks_of_two_processes_are_two(void)
{
	begin_program();
	shown.nr_processes = 2;
	shown.processes[1].pid = 78;
	shown.coroutines[5].co.pid = 78;
	PRESS_AS(TOP_VIEW_RESOURCES, ERR);
	CHECK(strstr(paper_line(paper_find("mutex, 0x100, process 77")), " 1 "));
	CHECK(strstr(paper_line(paper_find("mutex, 0x100, process 78")), " 1 "));
}

static void a_group_is_opened(void)
{
	begin_program();
	PRESS_AS(TOP_VIEW_KINDS, ERR, KEY_DOWN, KEY_RIGHT);
	expect_order("2 1 3 ");
	CHECK(paper_find("filter 'reader'") == 23);
	PRESS_AS(TOP_VIEW_KINDS, ERR, KEY_DOWN, '\r');
	CHECK_STR(paper_line(3), "reader");
	CHECK_STR(paper_line(4), "  now       3: 0 running, 1 ready, 2 waiting");
	CHECK_STR(paper_line(5), "  so far    0 % running, 33 % ready, 67 % waiting, by looks");
	CHECK_STR(paper_line(6), "  rate      3.0 suspends and resumes a second");
	CHECK_STR(paper_line(7), "  waits     p50 3.020 s, p90 9.000 s, p99 9.000 s so far");
	CHECK_STR(paper_line(8), "");
	CHECK_STR(paper_line(9), "how long those that wait have waited");
	CHECK_STR(paper_line(23), "Esc back   up/down scroll   q quit");
	PRESS_AS(TOP_VIEW_KINDS, ERR, KEY_DOWN, '\r', 27);
	CHECK_EQ(paper_find("KIND"), 3);
	CHECK_EQ(cursor_line(), 1);
	PRESS_AS(TOP_VIEW_RESOURCES, ERR, KEY_RIGHT); /* has no filter */
	CHECK_EQ(paper_find("WAITING FOR"), 3);
}

/* 3 s is below 4.3 s, 9 s below 17.2 s; the steps between are empty. */
static void waits_have_a_histogram(void)
{
	begin_program();
	wait_for(add_coroutine("reader-4", TRACE_STATE_SUSPENDED, 9, 2), TRACE_REASON_IO_READ, 9);
	PRESS_AS(TOP_VIEW_KINDS, ERR, KEY_DOWN, '\r');
	CHECK_STR(paper_line(10),
		  "  below      4.295 s           1  ##############################");
	CHECK_STR(paper_line(11), "  below      8.590 s           0");
	CHECK_STR(paper_line(12), "  below     17.180 s           2  "
				  "############################################################");
	CHECK_STR(paper_line(13), "");
}

/* ---- one coroutine ---------------------------------------------------------------------- */

static void details_are_opened_and_left(void)
{
	begin_program();
	PRESS('N', 'G', '\r');
	CHECK_EQ(shown.asked_for, 6);
	CHECK_STR(paper_line(3), "coroutine 6  locker-2");
	CHECK_EQ(paper_find("  state     suspended for 30.000 s"), 5);
	CHECK_EQ(paper_find("  where     lock.c:30 take"), 6);
	CHECK_EQ(paper_find("  why       mutex, 0x100"), 7);
	CHECK(paper_find("  events    60, 5.0/s") > 0);
	CHECK(paper_find("  so far    25 % running, 25 % ready, 50 % waiting, by looks") > 0);
	CHECK(paper_find("made by 4  Worker  running") > 0);
	CHECK(paper_find("none of its events is still in memory: they are in the trace") > 0);
	PRESS('N', KEY_RIGHT);
	CHECK_STR(paper_line(3), "coroutine 1  reader-1");
	PRESS('N', KEY_RIGHT, KEY_LEFT);
	CHECK_EQ(paper_find("  ID"), 3);
	PRESS('N', KEY_RIGHT, 'h');
	CHECK_EQ(paper_find("  ID"), 3);
	PRESS('N', KEY_RIGHT, 'N', 27); /* keys of the list do nothing there */
	CHECK_EQ(paper_find("  ID"), 3);
	PRESS('/', 'n', 'o', 'n', 'e', '\r', '\r'); /* there is none */
	CHECK_EQ(paper_find("  ID"), 3);
}

static void add_move(unsigned thread, uint8_t kind, uint64_t id, uint64_t ago_s)
{
	struct recover_thread *t = &shown.threads[thread];

	add_lock_event(thread, kind, id, 0, ago_s);
	t->last[t->nr_last - 1].ev.flags = 0;
	t->last[t->nr_last - 1].ev.is_active = kind == TRACE_RESUME;
}

static void last_events_are_listed(void)
{
	unsigned i;

	begin_program();
	add_move(0, TRACE_SUSPEND, 1, 50);
	add_move(1, TRACE_WAKE, 1, 49);
	shown.events[1][0].ev.peer = 6;
	add_move(0, TRACE_RESUME, 1, 48);
	add_move(0, TRACE_SUSPEND, 9, 46);
	PRESS('N', '\r');
	CHECK(paper_find("its last 1 waits") > 0);
	CHECK_EQ(paper_find("  below      2.147 s           1  ####"),
		 paper_find("its last 1 waits") + 1);
	i = (unsigned)paper_find("last events still in memory, newest first");
	CHECK(strstr(paper_line((int)i + 1), "46.000 s ago  thread 100       suspend  of 9"));
	CHECK(strstr(paper_line((int)i + 2), "48.000 s ago  thread 100       resume"));
	CHECK(strstr(paper_line((int)i + 3), "49.000 s ago  thread 101       wake     by 6"));
	CHECK(strstr(paper_line((int)i + 4), "50.000 s ago  thread 100       suspend"));
}

/* Without a site there is the address; a process that is gone has no files. */
static void places_may_be_addresses(void)
{
	begin_program();
	shown.coroutines[0].co.site = 0;
	shown.coroutines[0].co.addr = 0x1234;
	shown.coroutines[0].co.pid = 50000000;
	PRESS('N');
	CHECK(strstr(paper_line(4), "  0x1234  "));
}

/* Coroutines that created each other are shown nevertheless. */
static void a_tree_has_every_coroutine(void)
{
	begin_program();
	shown.coroutines[0].co.parent = 2;
	shown.coroutines[1].co.parent = 1;
	PRESS('N', KEY_F(5));
	CHECK(paper_find("reader-1") > 0 && paper_find("reader-2") > 0);
	CHECK(paper_find("6 shown") == 23);
	CHECK_EQ(paper_find("`-locker-2"), paper_find("Worker") + 1);
}

static void help_scrolls_to_its_end(void)
{
	static const int down[] = { ERR, '?', ERR, 'j' },
			 end[] = { ERR, 'h', ERR, 'G', ERR, ERR, 'k' };
	static const int past[] = { ERR, KEY_F(1), ERR, 'j', 'k', 'k' };

	begin_program();
	PRESS('?');
	CHECK(strstr(paper_line(3), "Tab        next view") == paper_line(3));
	CHECK(paper_find("q F10      quit; the program goes on") > 0);
	CHECK_STR(paper_line(13), "");
	press_on(10, 100, TOP_VIEW_ROWS, down, 4);
	CHECK(strstr(paper_line(3), "t r F5 ") == paper_line(3));
	press_on(10, 100, TOP_VIEW_ROWS, end, 7);
	CHECK(strstr(paper_line(8), "ON CPU READY BLOCKED") == paper_line(8));
	press_on(10, 100, TOP_VIEW_ROWS, past, 6);
	CHECK(strstr(paper_line(3), "Tab ") == paper_line(3));
}

/* ---- pictures -------------------------------------------------------------------------- */

static void a_run_that_is_over_stays_on_the_screen(void)
{
	begin_program();
	shown.fails = -ESRCH;
	PRESS('N', ERR, '\r');
	CHECK(strstr(paper_line(0), "[ENDED]  up 01:01:01"));
	CHECK_STR(paper_line(23), "the run is over; this is how it was last seen.  q quits");
	CHECK_STR(paper_line(3), "coroutine 1  reader-1");
	CHECK_EQ(shown.nr_pictures, 2); /* it is not asked again */
	begin_program();
	shown.fails = -EIO;
	PRESS(ERR);
	CHECK_STR(paper_line(23), "the region is damaged  q quits");
	CHECK_EQ(paper_find("locker-1"), 4);
}

static void a_pause_stops_new_pictures(void)
{
	begin_program();
	PRESS(ERR);
	CHECK_EQ(shown.nr_pictures, 2);
	PRESS('p');
	CHECK(strstr(paper_line(0), "[PAUSED]  up 01:01:01"));
	CHECK_EQ(paper_color_of("[PAUSED]"), TOP_WARN);
	PRESS(' ', ' ');
	CHECK_EQ(paper_find("[PAUSED]"), -1);
	shown.nr_pictures = 0;
	PRESS('p', '\r'); /* no new picture for the details */
	CHECK_EQ(shown.nr_pictures, 2);
	CHECK_EQ(shown.asked_for, 0);
}

static void the_interval_has_limits(void)
{
	begin_program();
	PRESS('+');
	CHECK(paper_find("every 60 s") == 23);
	PRESS('-');
	CHECK(paper_find("every 30 s") == 23);
	PRESS('-', '-', '=');
	CHECK(paper_find("every 30 s") == 23);
	PRESS('-', '-', '-', '-', '-', '-', '-', '-', '-', '-', '-', '-');
	CHECK(paper_find("every 0.117 s") == 23);
	shown.interval_ms = 200;
	PRESS('-');
	CHECK(paper_find("every 0.1 s") == 23); /* the least */
	PRESS('-', '-');
	CHECK(paper_find("every 0.1 s") == 23);
}

/* ---- warnings -------------------------------------------------------------------------- */

static void warnings_are_shown(void)
{
	begin_program();
	PRESS('w');
	CHECK_STR(paper_line(3), "no warnings in this picture");
	CHECK_STR(paper_line(4), "");
	CHECK_STR(paper_line(5),
		  "A picture is one moment: 'corotracer report' on the trace decides.");
	shown.coroutines[3].co.since_ts = MOMENT - 100 * SECOND;
	shown.coroutines[2].tid = shown.coroutines[3].tid;
	shown.coroutines[2].co.since_ts = MOMENT - 110 * SECOND;
	shown.coroutines[2].woken_ts = MOMENT - 80 * SECOND;
	shown.lost = 1500;
	PRESS('w');
	CHECK_STR(paper_line(3), "never-yielded (suspected): 1 for 100.000 s at most, 4 Worker");
	CHECK_STR(paper_line(4), "loss: 1,500 events are lost");
	PRESS(ERR);
	CHECK(paper_find("w: never-yielded (suspected): 1 for") == 23);
	CHECK(paper_find(", and more") == 23 || strstr(paper_line(23), ">"));
}

/* Two coroutines that wait for each other's lock. */
static void a_deadlock_is_found_in_a_picture(void)
{
	begin_program();
	shown.nr = 0;
	wait_for(add_coroutine("left", TRACE_STATE_SUSPENDED, 20, 3), TRACE_REASON_MUTEX, 0x200);
	wait_for(add_coroutine("right", TRACE_STATE_SUSPENDED, 10, 3), TRACE_REASON_MUTEX, 0x100);
	PRESS('w');
	CHECK_STR(paper_line(3), "no warnings in this picture");
	add_lock_event(0, TRACE_ACQUIRE, 1, 0x100, 30);
	add_lock_event(1, TRACE_ACQUIRE, 2, 0x200, 40);
	PRESS('w');
	CHECK(strstr(paper_line(3), "deadlock: ") == paper_line(3));
	add_lock_event(0, TRACE_RELEASE, 1, 0x100, 25); /* it has released it */
	PRESS('w');
	CHECK_STR(paper_line(3), "no warnings in this picture");
	shown.threads[0].nr_last = shown.threads[1].nr_last = 0;
	wait_for(&shown.coroutines[0], TRACE_REASON_JOIN, 2);
	wait_for(&shown.coroutines[1], TRACE_REASON_JOIN, 1);
	PRESS('w');
	CHECK(strstr(paper_line(3), "deadlock: ") == paper_line(3));
	wait_for(&shown.coroutines[1], TRACE_REASON_IO_READ, 1);
	PRESS('w');
	CHECK_STR(paper_line(3), "no warnings in this picture");
}

/* ---- widths and texts -------------------------------------------------------------------- */

/* The titles of the list on a screen of @columns, one space between them. */
static const char *titles(int columns)
{
	static const int nothing[] = { ERR };
	static char text[256];
	size_t used = 0;
	const char *at;

	press_on(24, columns, TOP_VIEW_ROWS, nothing, 1);
	for (at = paper_line(3); *at; at++) {
		if (*at != ' ' || (used && text[used - 1] != ' '))
			text[used++] = *at;
	}
	text[used] = '\0';
	return text;
}

static void narrow_lists_have_fewer_columns(void)
{
	begin_program();
	CHECK_STR(titles(51), "ID STATE AGE WHERE");
	CHECK_STR(titles(52), "ID STATE AGE NAME WHERE");
	CHECK_STR(titles(63), "ID STATE AGE NAME WHERE");
	CHECK_STR(titles(64), "ID STATE AGE NAME WHERE WHY");
	CHECK_STR(titles(77), "ID STATE AGE NAME WHERE WHY");
	CHECK_STR(titles(78), "ID STATE AGE RATE/s NAME WHERE WHY");
	CHECK_STR(titles(91), "ID STATE AGE RATE/s NAME WHERE WHY");
	CHECK_STR(titles(92), "ID STATE AGE RATE/s THREAD NAME WHERE WHY");
	shown.has_cpu = true;
	CHECK_STR(titles(105), "ID STATE AGE RATE/s THREAD NAME WHERE WHY");
	CHECK_STR(titles(106), "ID STATE AGE RATE/s ON CPU READY BLOCKED NAME WHERE WHY");
	CHECK_STR(titles(124), "ID STATE AGE RATE/s ON CPU READY BLOCKED NAME WHERE WHY");
	CHECK_STR(titles(125), "ID STATE AGE RATE/s THREAD ON CPU READY BLOCKED NAME WHERE WHY");
	/* 44 columns are left: one part for the name, two for the place, one for the reason. */
	PRESS(ERR);
	CHECK_EQ(strstr(paper_line(3), "NAME") - paper_line(3), 73);
	CHECK_EQ(strstr(paper_line(3), "WHERE") - paper_line(3), 73 + 11 + 1);
	CHECK_EQ(strstr(paper_line(3), "WHY") - paper_line(3), 85 + 22 + 1);
}

/* The color of the cell under the end of the title @title. */
static int color_under(const char *title, int y)
{
	const char *at = strstr(paper_line(3), title);

	CHECK(at != NULL);
	return (int)(paper_cells.marks[y][at - paper_line(3) + (long)strlen(title) - 1] >> 8 &
		     0xff);
}

static void states_have_colors(void)
{
	begin_program();
	PRESS_AS(TOP_VIEW_KINDS, ERR, 'N', 'j', 'j');     /* the third line is selected */
	CHECK(paper_is_marked(3) && !paper_is_marked(4)); /* the titles */
	CHECK_EQ(paper_find("reader"), 4);
	CHECK_EQ(color_under("RUN", 4), TOP_PLAIN);
	CHECK_EQ(color_under("READY", 4), TOP_WARN);
	CHECK_EQ(color_under("WAIT", 4), TOP_PLAIN);
	CHECK_EQ(paper_find("Worker"), 6);
	CHECK_EQ(color_under("RUN", 6), TOP_PLAIN);
	PRESS_AS(TOP_VIEW_KINDS, ERR, 'N');
	CHECK_EQ(color_under("RUN", 6), TOP_GOOD);
	CHECK_EQ(color_under("READY", 6), TOP_PLAIN);
	PRESS_AS(TOP_VIEW_RESOURCES, ERR, 'j');
	CHECK_EQ(color_under("WAITERS", 4), TOP_PLAIN);
	shown.coroutines[4].co.state = shown.rows[4].state = TRACE_STATE_NEW;
	PRESS('N');
	CHECK(paper_is_marked(3) && paper_is_marked(4) && !paper_is_marked(5));
	CHECK_EQ(color_under("STATE", 5), TOP_PLAIN); /* suspended */
	CHECK_EQ(color_under("STATE", 6), TOP_WARN);
	CHECK_EQ(color_under("STATE", 7), TOP_GOOD);
	CHECK_EQ(color_under("STATE", 8), TOP_QUIET);
}

static void slices_have_times(void)
{
	begin_program();
	shown.has_cpu = true;
	shown.rows[4].cpu = (struct top_cpu){ 3, 5 * SECOND, 6 * SECOND, 7 * SECOND };
	PRESS(ERR);
	CHECK(strstr(paper_line(4), "   5.000 s    6.000 s    7.000 s"));
	CHECK(strstr(paper_line(5), "         -          -          -"));
	PRESS('\r');
	CHECK(paper_find("5.000 s on a processor, 6.000 s waiting for one, 7.000 s blocked") > 0);
	CHECK(paper_find("(3 slices)") > 0);
	PRESS('N', '\r');
	CHECK(paper_find("processor time is not measured yet") > 0);
}

static void the_header_names_the_command(void)
{
	begin_program();
	shown.status = "{\"command\": [\"/usr/bin/server\", \"--root\", \"/srv/x\"]}";
	shown.up_s = 2 * 86400 + 3 * 3600 + 4 * 60 + 5;
	PRESS(ERR);
	CHECK(strstr(paper_line(0), "server --root /srv/x  pid 77") == paper_line(0));
	CHECK(strstr(paper_line(0), "up 2d 03:04"));
	shown.up_s = 86399;
	shown.status = "{\"command\": [\"dir/\", 7]}";
	shown.nr_processes = 2;
	shown.is_silent = true; /* the collector does not answer */
	PRESS(ERR);
	CHECK(strstr(paper_line(0), "dir/   2 programs") == paper_line(0));
	CHECK(strstr(paper_line(0), "up 23:59:59"));
	CHECK(strstr(paper_line(2), "lost 0?  events") == paper_line(2));
}

/* Characters that do something, or have no column, do not reach the terminal. */
static void names_are_safe(void)
{
	begin_program();
	snprintf(shown.coroutines[0].name, sizeof(shown.coroutines[0].name), "a\033b\x7f\xc3\xa9z");
	PRESS('N');
	CHECK(strstr(paper_line(4), " a?b??z  "));
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return;
	shown.is_utf8 = true;
	PRESS('N');
	CHECK(strstr(paper_line(4), " a?b?uz  "));
	/* A combining accent has no column of its own, a wide character has two. */
	snprintf(shown.coroutines[0].name, sizeof(shown.coroutines[0].name),
		 "e\xcc\x81|\xe4\xb8\xad");
	PRESS('N');
	CHECK(strstr(paper_line(4), " e|u"));
	setlocale(LC_CTYPE, "C");
}

static void parents_are_listed(void)
{
	unsigned i;

	begin_program();
	PRESS('N', '\r');
	CHECK(paper_find("parent unknown") > 0);
	CHECK_EQ(paper_find("made by"), -1);
	shown.coroutines[0].co.parent = 99;
	PRESS('N', '\r');
	CHECK(paper_find("made by 99, which is gone") > 0);
	CHECK_EQ(paper_find("parent unknown"), -1);
	for (i = 6; i < 30; i++)
		add_coroutine("deep", TRACE_STATE_NEW, 1, 2)->co.parent = i + 2;
	shown.coroutines[0].co.parent = 7;
	press_on(60, 120, TOP_VIEW_ROWS, (const int[]){ ERR, 'N', '\r' }, 3);
	CHECK(paper_find("made by 7  deep  new  read.c:20 reader") > 0);
	CHECK_EQ(paper_find("made by 22  deep"), paper_find("made by 7  deep") + 15);
	CHECK_EQ(paper_find("made by 23  deep"), -1); /* not more than 16 */
}

/* A signal ends the screen; afterwards it is handled as before. */
static void check_signal(int number)
{
	const struct top_options options = { .interval_ms = 100, .view = TOP_VIEW_ROWS };
	struct top_source source = { 0 };
	struct sigaction after;
	struct err err = { 0 };
	sigset_t mask, before;
	int sig = -1;

	begin_program();
	sigemptyset(&mask);
	sigemptyset(&before);
	CHECK_EQ(sigprocmask(SIG_SETMASK, NULL, &before), 0);
	paper_screen_open(24, 120);
	paper_cells.keys[0] = paper_cells.keys[1] = ERR;
	paper_cells.nr_keys = 2;
	paper_cells.signal = number;
	CHECK_EQ(top_run(&source, &options, &sig, &err), 0);
	CHECK_EQ(sig, number);
	CHECK_EQ(paper_cells.nr_refreshed, 1);
	CHECK_EQ(shown.nr_open, 0);
	CHECK_EQ(sigaction(number, NULL, &after), 0);
	CHECK(after.sa_handler == SIG_DFL);
	CHECK_EQ(sigprocmask(SIG_SETMASK, NULL, &mask), 0);
	CHECK_EQ(sigismember(&mask, number), sigismember(&before, number));
}

static void a_signal_ends_the_screen(void)
{
	int keys[2], input = dup(STDIN_FILENO);

	/* A terminal at which no key is pressed. */
	CHECK(pipe2(keys, O_CLOEXEC) == 0 && dup2(keys[0], STDIN_FILENO) == STDIN_FILENO);
	signal(SIGINT, SIG_DFL); /* shells ignore it for jobs in the background */
	signal(SIGQUIT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	check_signal(SIGTERM);
	check_signal(SIGINT);
	check_signal(SIGHUP);
	check_signal(SIGQUIT);
	CHECK_EQ(dup2(input, STDIN_FILENO), STDIN_FILENO);
	close(input);
	close(keys[0]);
	close(keys[1]);
}

int main(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CHECK(null >= 0 && dup2(null, STDIN_FILENO) == STDIN_FILENO);
	RUN(the_header_says_what_runs);
	RUN(lists_are_sorted_by_keys);
	RUN(states_are_hidden_by_keys);
	RUN(a_filter_is_typed);
	RUN(the_cursor_moves_and_follows_its_coroutine);
	RUN(a_long_list_is_scrolled);
	RUN(long_lists_are_summed_up);
	RUN(kinds_are_counted);
	RUN(narrow_screens_have_fewer_columns);
	RUN(the_view_is_changed_by_tab);
	RUN(locks_have_holders);
	RUN(locks_of_two_processes_are_two);
	RUN(a_group_is_opened);
	RUN(waits_have_a_histogram);
	RUN(details_are_opened_and_left);
	RUN(last_events_are_listed);
	RUN(places_may_be_addresses);
	RUN(a_tree_has_every_coroutine);
	RUN(help_scrolls_to_its_end);
	RUN(a_run_that_is_over_stays_on_the_screen);
	RUN(a_pause_stops_new_pictures);
	RUN(the_interval_has_limits);
	RUN(warnings_are_shown);
	RUN(a_deadlock_is_found_in_a_picture);
	RUN(narrow_lists_have_fewer_columns);
	RUN(states_have_colors);
	RUN(slices_have_times);
	RUN(the_header_names_the_command);
	RUN(names_are_safe);
	RUN(parents_are_listed);
	RUN(a_signal_ends_the_screen);
	return 0;
}
