/* SPDX-License-Identifier: MIT */
/* test_top_events.c - pictures of `top` as events for the detectors, and the warnings they lead to.
 */
#include "top/top_events.h"

#include "count_memory.h"
#include "picture_bed.h"
#include "top/top_detect.h"
#include "top/top_warnings.h"

#define MS NS_PER_MS

static struct top_events made;

/* "500 birth 1, 200 suspend 1": milliseconds ago, kinds and ids. */
static const char *events(void)
{
	static char list[2048];
	size_t i, used = 0;

	list[0] = '\0';
	top_events_release(&made);
	CHECK_EQ(top_events_make(&made, &p), 0);
	for (i = 0; i < made.nr; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%g %s %d",
					 i ? ", " : "",
					 (double)(PICTURE_MOMENT - made.at[i].ts) / MS,
					 trace_kind_name(made.at[i].kind),
					 (int)made.at[i].probe_id);
	return list;
}

/* ---- which coroutines ------------------------------------------------------------------ */

static void short_states_are_left_out(void)
{
	picture_new();
	add("runs", TRACE_STATE_RUNNING, 100 * MS - 1);
	add("ready", TRACE_STATE_READY, 50 * MS)->woken_ts = PICTURE_MOMENT - 5 * MS + 1;
	add("waits", TRACE_STATE_SUSPENDED, 900 * MS);
	add("new", TRACE_STATE_NEW, 900 * MS);
	CHECK_STR(events(), "");
	coroutines[0].co.since_ts--;
	CHECK_STR(events(), "100 resume 1");
	coroutines[1].woken_ts--;
	CHECK_STR(events(), "100 resume 1, 50 suspend 2, 5 wake 2");
}

/* They are part of deadlocks, however short. */
static void waits_for_others_are_always_needed(void)
{
	picture_new();
	waits(add("join", TRACE_STATE_SUSPENDED, 1), TRACE_REASON_JOIN, 9);
	CHECK_STR(events(), "1e-06 birth 1, 1e-06 suspend 1");
	CHECK_EQ(made.at[1].reason, TRACE_REASON_JOIN);
	coroutines[0].co.reason = TRACE_REASON_MUTEX;
	CHECK_EQ(strlen(events()) > 0, true);
	coroutines[0].co.reason = TRACE_REASON_SEMAPHORE;
	CHECK_EQ(strlen(events()) > 0, true);
	coroutines[0].co.reason = TRACE_REASON_IO_READ;
	CHECK_STR(events(), "");
	coroutines[0].co.reason = TRACE_REASON_MUTEX;
	coroutines[0].co.has_resource = false;
	CHECK_STR(events(), "");
	coroutines[0].co.has_resource = true;
	rows_of[0].state = TRACE_STATE_NEW;
	CHECK_STR(events(), "");
}

static void coroutines_with_events_are_needed(void)
{
	picture_new();
	add("a", TRACE_STATE_SUSPENDED, 10 * MS);
	add("b", TRACE_STATE_SUSPENDED, 20 * MS);
	add("c", TRACE_STATE_SUSPENDED, 30 * MS);
	happened(0, TRACE_RESUME, 1, 15 * MS);
	happened(1, TRACE_WAKE, 2, 25 * MS);
	happened(1, TRACE_BIRTH, 3, 99 * MS);
	CHECK_STR(events(), "99 birth 3, 25 wake 2, 20 suspend 2, 15 resume 1, 10 suspend 1");
	/* Those of a lock are not about a coroutine's state. */
	happened(0, TRACE_ACQUIRE, 3, 40 * MS);
	CHECK_STR(events(), "99 birth 3, 40 acquire 3, 25 wake 2, 20 suspend 2, 15 resume 1, "
			    "10 suspend 1");
	/* Of one coroutine alone: nothing is known about what its thread did meanwhile. */
	p.r.options.of = 1;
	CHECK_STR(events(), "");
}

/* ---- what is added -------------------------------------------------------------------------- */

static void what_the_threads_have_is_not_added(void)
{
	picture_new();
	add("a", TRACE_STATE_RUNNING, 200 * MS)->co.birth_ts = PICTURE_MOMENT - 800 * MS;
	happened(0, TRACE_RESUME, 1, 200 * MS);
	CHECK_STR(events(), "800 birth 1, 200 resume 1");
	happened(0, TRACE_BIRTH, 1, 800 * MS);
	CHECK_STR(events(), "800 birth 1, 200 resume 1");
	CHECK_EQ(made.at[0].flags & TRACE_ADOPTED, 0); /* the thread's own */
	coroutines[0].co.since_ts++;                   /* a later one */
	CHECK_STR(events(), "800 birth 1, 200 resume 1, 200 resume 1");
	CHECK_EQ(made.at[2].ts, PICTURE_MOMENT - 200 * MS + 1);
	coroutines[0].co.since_ts--;
	rows_of[0].state = TRACE_STATE_READY;
	coroutines[0].woken_ts = PICTURE_MOMENT - 100 * MS;
	CHECK_STR(events(), "800 birth 1, 200 resume 1, 100 wake 1");
	happened(1, TRACE_WAKE, 1, 100 * MS);
	CHECK_STR(events(), "800 birth 1, 200 resume 1, 100 wake 1");
	/* The newest counts, whichever order they have. */
	happened(1, TRACE_WAKE, 1, 300 * MS);
	CHECK_STR(events(), "800 birth 1, 300 wake 1, 200 resume 1, 100 wake 1");
}

static void fields_are_those_of_the_coroutine(void)
{
	struct recover_coroutine *c;

	picture_new();
	c = waits(add("named", TRACE_STATE_SUSPENDED, 7 * MS), TRACE_REASON_MUTEX, 0x77);
	c->co.site = 3;
	c->co.addr = 0x1234;
	c->tid = 55;
	c->co.birth_ts = PICTURE_MOMENT - 70 * MS;
	c = add("busy", TRACE_STATE_RUNNING, 900 * MS);
	c->co.site = 2;
	c->co.addr = 0x99;
	c->tid = 56;
	c->co.reason = TRACE_REASON_TIMER;
	CHECK_STR(events(), "900 resume 2, 70 birth 1, 7 suspend 1");
	CHECK_EQ(made.at[1].flags, TRACE_ADOPTED);
	CHECK_EQ(made.at[1].pid, 77);
	CHECK_EQ(made.at[1].name_size, 5);
	CHECK(!memcmp(made.at[1].name, "named", 5));
	CHECK_EQ(made.at[2].is_active, false);
	CHECK_EQ(made.at[2].site, 3);
	CHECK_EQ(made.at[2].addr, 0x1234);
	CHECK_EQ(made.at[2].tid, 55);
	CHECK_EQ(made.at[2].reason, TRACE_REASON_MUTEX);
	CHECK_EQ(made.at[2].flags, TRACE_HAS_RESOURCE);
	CHECK_EQ(made.at[2].resource, 0x77);
	CHECK_EQ(made.at[0].is_active, true);
	CHECK_EQ(made.at[0].tid, 56);
	CHECK_EQ(made.at[0].addr, 0x99);
	CHECK_EQ(made.at[0].site, 0); /* where it waited last */
	CHECK_EQ(made.at[0].reason, 0);
	CHECK_EQ(made.at[0].flags, 0);
	CHECK_EQ(made.at[0].peer, 0);
	/* A time of creation after its state cannot be. */
	coroutines[0].co.birth_ts = PICTURE_MOMENT - 1 * MS;
	CHECK_STR(events(), "900 resume 2, 7 birth 1, 7 suspend 1");
}

static void names_of_events_are_whole(void)
{
	picture_new();
	happened(0, TRACE_BIRTH, 5, 50 * MS);
	snprintf(events_of[0][0].name, sizeof(events_of[0][0].name), "alpha");
	CHECK_STR(events(), "50 birth 5");
	CHECK_EQ(made.at[0].name_size, 5);
	CHECK(made.at[0].name == events_of[0][0].name);
}

/* Many: the list grows, and at one time creations come first. */
static void events_are_in_the_order_of_time(void)
{
	size_t i;

	picture_new();
	for (i = 0; i < PICTURE_ROWS; i++)
		add("x", TRACE_STATE_RUNNING, (100 + i * 7919 % 300) * MS)->co.birth_ts = 5;
	for (i = 0; i < PICTURE_ROWS; i += 2)
		coroutines[i].co.birth_ts = coroutines[i].co.since_ts;
	top_events_release(&made);
	CHECK_EQ(top_events_make(&made, &p), 0);
	CHECK_EQ(made.nr, 2 * PICTURE_ROWS);
	for (i = 1; i < made.nr; i++) {
		const struct trace_event *a = &made.at[i - 1], *b = &made.at[i];

		CHECK(a->ts <= b->ts);
		CHECK(a->ts < b->ts || a->kind == TRACE_BIRTH || b->kind != TRACE_BIRTH);
	}
}

static void make_and_release(void)
{
	CHECK_EQ(top_events_make(&made, &p), 0);
	top_events_release(&made);
	CHECK(!made.at && !made.nr);
}

static void nothing_is_kept(void)
{
	picture_new();
	add("a", TRACE_STATE_RUNNING, 200 * MS)->co.birth_ts = 7;
	happened(0, TRACE_RESUME, 1, 200 * MS);
	happened(0, TRACE_WAKE, 1, 200 * MS);
	happened(0, TRACE_BIRTH, 1, 300 * MS);
	top_events_release(&made);
	check_keeps_no_memory(make_and_release);
}

/* ---- findings ------------------------------------------------------------------------------- */

static struct top_finding found[16];
static char details[16][512], found_names[16][64];
static size_t nr_found;

static void note_finding(void *arg, const struct top_finding *f)
{
	CHECK(arg == &nr_found);
	CHECK(nr_found < 16);
	found[nr_found] = *f;
	snprintf(details[nr_found], sizeof(details[0]), "%s", f->detail);
	snprintf(found_names[nr_found++], sizeof(found_names[0]), "%s", f->name);
}

static void detect(void)
{
	nr_found = 0;
	CHECK_EQ(top_detect(&p, note_finding, &nr_found), 0);
}

static void a_ring_of_joins_is_certain(void)
{
	struct top_warnings w = { .nr = 5 };

	picture_new();
	waits(add("left", TRACE_STATE_SUSPENDED, 90 * NS_PER_SEC), TRACE_REASON_JOIN, 2);
	waits(add("right", TRACE_STATE_SUSPENDED, 80 * NS_PER_SEC), TRACE_REASON_JOIN, 1);
	detect();
	CHECK_EQ(nr_found, 1);
	CHECK_STR(found[0].detector, "deadlock");
	CHECK(found[0].is_sure);
	CHECK(details[0][0] != '\0');
	top_warnings_make(&w, &p);
	CHECK_EQ(w.nr, 1);
	CHECK(strstr(w.text[0], "deadlock: ") == w.text[0]);
	p.lost = 1234567;
	top_warnings_make(&w, &p);
	CHECK_EQ(w.nr, 2);
	CHECK_STR(w.text[1], "loss: 1,234,567 events are lost");
	p.nr = 0;
	p.lost = 0;
	top_warnings_make(&w, &p);
	CHECK_EQ(w.nr, 0);
}

static void a_coroutine_that_never_yields_is_suspected(void)
{
	struct top_warnings w;

	picture_new();
	add("spinner", TRACE_STATE_RUNNING, 100 * NS_PER_SEC)->tid = 100;
	add("victim", TRACE_STATE_READY, 110 * NS_PER_SEC)->woken_ts = PICTURE_MOMENT -
								       80 * NS_PER_SEC;
	coroutines[1].tid = 100;
	coroutines[0].co.birth_ts = coroutines[1].co.birth_ts = PICTURE_MOMENT - 400 * NS_PER_SEC;
	detect();
	CHECK(nr_found >= 1);
	CHECK_STR(found[0].detector, "never-yielded");
	CHECK_STR(found_names[0], "spinner");
	CHECK_EQ(found[0].id, 1);
	CHECK_EQ(found[0].nr, 1);
	CHECK_EQ(found[0].longest_ns, 100 * NS_PER_SEC);
	CHECK(!found[0].is_sure);
	top_warnings_make(&w, &p);
	CHECK_STR(w.text[0], "never-yielded (suspected): 1 for 100.000 s at most, 1 spinner");
	/* A run that has just begun has no long slices. */
	coroutines[0].co.since_ts = coroutines[1].co.since_ts = PICTURE_MOMENT - 50 * MS;
	coroutines[1].woken_ts = PICTURE_MOMENT - 40 * MS;
	detect();
	CHECK_EQ(nr_found, 0);
}

/* One line of the eight is for loss. */
static void there_is_room_for_loss(void)
{
	struct top_warnings w;
	unsigned i;

	picture_new();
	for (i = 0; i < 10; i++) {
		char name[2][16];

		snprintf(name[0], sizeof(name[0]), "%c-left", (int)('a' + i));
		snprintf(name[1], sizeof(name[1]), "%c-right", (int)('a' + i));
		waits(add(name[0], TRACE_STATE_SUSPENDED, (90 + i) * NS_PER_SEC), TRACE_REASON_JOIN,
		      p.nr + 2)
			->co.site = 1 + i % 3;
		waits(add(name[1], TRACE_STATE_SUSPENDED, (80 + i) * NS_PER_SEC), TRACE_REASON_JOIN,
		      p.nr);
	}
	detect();
	CHECK(nr_found > 0);
	p.lost = 5;
	top_warnings_make(&w, &p);
	CHECK_EQ(w.nr, (nr_found < 7 ? nr_found : 7) + 1);
	CHECK_STR(w.text[w.nr - 1], "loss: 5 events are lost");
}

int main(void)
{
	RUN(short_states_are_left_out);
	RUN(waits_for_others_are_always_needed);
	RUN(coroutines_with_events_are_needed);
	RUN(what_the_threads_have_is_not_added);
	RUN(fields_are_those_of_the_coroutine);
	RUN(names_of_events_are_whole);
	RUN(events_are_in_the_order_of_time);
	RUN(nothing_is_kept);
	RUN(a_ring_of_joins_is_certain);
	RUN(a_coroutine_that_never_yields_is_suspected);
	RUN(there_is_room_for_loss);
	top_events_release(&made);
	return 0;
}
