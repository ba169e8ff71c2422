/* SPDX-License-Identifier: MIT */
/* test_top_groups.c - coroutines of `top` summed up and as a tree, and the places where they wait.
 */
#include "top/top_groups.h"

#include <unistd.h>

#include "count_memory.h"
#include "picture_bed.h"

static struct top_rows rows;
static struct top_places places;
static struct top_groups groups;
static struct top_choice choice;

static void make_rows(void)
{
	struct top_choice by_id = { .sort = TOP_BY_ID };

	CHECK_EQ(top_rows_make(&rows, &p, &places, &by_id), 0);
}

static void group_by(enum top_grouping by, bool is_new)
{
	make_rows();
	CHECK_EQ(top_groups_make(&groups, by, &p, &rows, &places, &choice, is_new), 0);
}

/* "worker 2, reader 1" */
static const char *labels(enum top_grouping by)
{
	static char list[4096];
	size_t i, used = 0;

	list[0] = '\0';
	group_by(by, false);
	for (i = 0; i < groups.nr; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s %d", i ? ", " : "",
					 groups.at[i].label, (int)groups.at[i].nr);
	return list;
}

/* ---- groups ------------------------------------------------------------------------------ */

static void a_kind_is_a_name_without_its_number(void)
{
	CHECK_EQ(top_kind_size("worker-17"), 6);
	CHECK_EQ(top_kind_size("worker"), 6);
	CHECK_EQ(top_kind_size("a"), 1);
	CHECK_EQ(top_kind_size("7"), 0);
	CHECK_EQ(top_kind_size(""), 0);
	CHECK_EQ(top_kind_size("conn [3]/{4} (5) #6 7:8.9_0"), 4);
	CHECK_EQ(top_kind_size("x1y2"), 3);
}

static void kinds_are_counted(void)
{
	picture_new();
	choice = (struct top_choice){ 0 };
	add("worker-1", TRACE_STATE_RUNNING, 1000);
	add("reader-1", TRACE_STATE_SUSPENDED, 2000);
	add("worker-2", TRACE_STATE_READY, 3000);
	add("17", TRACE_STATE_SUSPENDED, 4000)->co.birth_site = 1;
	add("", TRACE_STATE_SUSPENDED, 4000);
	add("worker-3", TRACE_STATE_SUSPENDED, 5000);
	CHECK_STR(labels(TOP_BY_KIND), "worker 3, (no name) 1, main.c:10 main 1, reader 1");
	CHECK_EQ(groups.at[0].running, 1);
	CHECK_EQ(groups.at[0].ready, 1);
	CHECK_EQ(groups.at[0].waiting, 1);
	CHECK_EQ(groups.at[0].waits.nr, 1);
	CHECK_EQ(groups.at[0].waits.max, 5000);
	CHECK_EQ(groups.at[1].waiting, 1);
	CHECK_EQ(groups.at[1].running + groups.at[1].ready, 0);
}

static void groups_are_sorted(void)
{
	size_t i;

	picture_new();
	add("b", TRACE_STATE_SUSPENDED, 100);
	add("a1", TRACE_STATE_SUSPENDED, 300);
	add("a2", TRACE_STATE_SUSPENDED, 200);
	add("c", TRACE_STATE_SUSPENDED, 400);
	add("d", TRACE_STATE_SUSPENDED, 100);
	for (i = 0; i < 5; i++)
		rows_of[i].rate = (double)(5 - i);
	choice = (struct top_choice){ .sort = TOP_BY_RATE };
	CHECK_STR(labels(TOP_BY_KIND), "a 2, b 1, c 1, d 1"); /* 7, 5, 2, 1 */
	CHECK(groups.at[0].rate > 6.9 && groups.at[0].rate < 7.1);
	rows_of[4].rate = 6;
	CHECK_STR(labels(TOP_BY_KIND), "a 2, d 1, b 1, c 1");
	choice.sort = TOP_BY_AGE; /* the longest wait */
	CHECK_STR(labels(TOP_BY_KIND), "c 1, a 2, b 1, d 1");
	choice.reverse = true;
	CHECK_STR(labels(TOP_BY_KIND), "d 1, b 1, a 2, c 1");
	choice = (struct top_choice){ .sort = TOP_BY_NAME };
	CHECK_STR(labels(TOP_BY_KIND), "a 2, b 1, c 1, d 1");
	choice.sort = TOP_BY_SITE;
	CHECK_STR(labels(TOP_BY_KIND), "a 2, b 1, c 1, d 1");
	add("d", TRACE_STATE_NEW, 1);
	add("d", TRACE_STATE_NEW, 1);
	choice.sort = TOP_BY_ID; /* the number of coroutines */
	CHECK_STR(labels(TOP_BY_KIND), "d 3, a 2, b 1, c 1");
	choice.sort = TOP_BY_NAME;
	CHECK_STR(labels(TOP_BY_KIND), "a 2, b 1, c 1, d 3");
}

/* More than there is room for at first. */
static void there_may_be_many_groups(void)
{
	char name[16];
	unsigned i;

	picture_new();
	choice = (struct top_choice){ .sort = TOP_BY_NAME };
	for (i = 0; i < PICTURE_ROWS; i++) {
		snprintf(name, sizeof(name), "k%c%c", (int)('a' + i / 26), (int)('a' + i % 26));
		add(name, TRACE_STATE_SUSPENDED, 1000 + i);
	}
	group_by(TOP_BY_KIND, true);
	CHECK_EQ(groups.nr, PICTURE_ROWS);
	for (i = 0; i < PICTURE_ROWS; i++) {
		CHECK_STR(groups.at[i].label, coroutines[i].name);
		CHECK_EQ(groups.at[i].nr, 1);
		CHECK_EQ(groups.at[i].waits.max, 1000 + i);
		CHECK_EQ(groups.at[i].looks.waiting, 1);
	}
}

static void looks_are_added_up(void)
{
	picture_new();
	top_groups_release(&groups);
	choice = (struct top_choice){ 0 };
	add("w1", TRACE_STATE_RUNNING, 1000);
	add("w2", TRACE_STATE_SUSPENDED, 1000);
	group_by(TOP_BY_KIND, true);
	CHECK_EQ(groups.at[0].looks.running, 1);
	CHECK_EQ(groups.at[0].looks.waiting, 1);
	CHECK_EQ(groups.at[0].looks.ready, 0);
	rows_of[0].state = TRACE_STATE_READY;
	group_by(TOP_BY_KIND, true);
	CHECK_EQ(groups.at[0].looks.running, 1);
	CHECK_EQ(groups.at[0].looks.ready, 1);
	CHECK_EQ(groups.at[0].looks.waiting, 2);
	group_by(TOP_BY_KIND, false); /* the same picture again */
	CHECK_EQ(groups.at[0].looks.waiting, 2);
	CHECK_EQ(groups.at[0].nr, 2);
	group_by(TOP_BY_PLACE, true); /* another grouping starts again */
	group_by(TOP_BY_KIND, true);
	CHECK_EQ(groups.at[0].looks.waiting, 1);
}

static void places_are_groups(void)
{
	picture_new();
	choice = (struct top_choice){ 0 };
	add("a", TRACE_STATE_SUSPENDED, 1000)->co.site = 2;
	add("b", TRACE_STATE_SUSPENDED, 1000);
	add("c", TRACE_STATE_RUNNING, 1000)->co.site = 2;
	CHECK_STR(labels(TOP_BY_PLACE), "(not known) 1, read.c:20 reader 2");
}

static void resources_are_what_several_wait_for(void)
{
	picture_new();
	choice = (struct top_choice){ .sort = TOP_BY_ID }; /* the number of coroutines */
	waits(add("a", TRACE_STATE_SUSPENDED, 1000), TRACE_REASON_MUTEX, 0x100);
	waits(add("b", TRACE_STATE_SUSPENDED, 1000), TRACE_REASON_MUTEX, 0x100);
	waits(add("c", TRACE_STATE_SUSPENDED, 1000), TRACE_REASON_IO_READ, 7);
	waits(add("d", TRACE_STATE_SUSPENDED, 1000), TRACE_REASON_TIMER, 8);
	waits(add("e", TRACE_STATE_SUSPENDED, 1000), TRACE_REASON_JOIN, 9);
	waits(add("f", TRACE_STATE_SUSPENDED, 1000), TRACE_REASON_YIELD, 10);
	waits(add("g", TRACE_STATE_READY, 1000), TRACE_REASON_MUTEX, 0x100); /* woken */
	waits(add("h", TRACE_STATE_SUSPENDED, 1000), 0, 0x100);
	waits(add("i", TRACE_STATE_SUSPENDED, 1000), TRACE_REASON_SEMAPHORE, 0x300)
		->co.has_resource = false;
	waits(add("j", TRACE_STATE_SUSPENDED, 1000), TRACE_REASON_SEMAPHORE, 0x200);
	group_by(TOP_BY_RESOURCE, false);
	CHECK_EQ(groups.nr, 3);
	CHECK_EQ(groups.at[0].nr, 2);
	CHECK_EQ(groups.at[0].resource, 0x100);
	CHECK_EQ(groups.at[0].pid, 77);
	CHECK(groups.at[0].is_lock);
	CHECK(strstr(groups.at[0].label, "mutex") != NULL);
	CHECK(!strstr(groups.at[0].label, "process"));
	CHECK(!groups.at[1].is_lock);
	CHECK_EQ(groups.at[1].resource, 7);
	CHECK(groups.at[2].is_lock);
	CHECK_EQ(groups.at[2].resource, 0x200);
	/* Numbers are those of one process. */
	p.r.nr_processes = 2;
	coroutines[1].co.pid = 78;
	coroutines[9].co.pid = 0;
	group_by(TOP_BY_RESOURCE, false);
	CHECK_EQ(groups.nr, 4);
	CHECK(strstr(groups.at[1].label, ", process 77") != NULL);
	CHECK(strstr(groups.at[2].label, ", process 78") != NULL);
	CHECK(!strstr(groups.at[3].label, "process"));
}

static struct trace_event *lock_event(unsigned thread, uint8_t kind, uint64_t id, uint64_t ago)
{
	struct trace_event *ev = happened(thread, kind, id, ago);

	ev->resource = 0x100;
	ev->flags = TRACE_HAS_RESOURCE;
	return ev;
}

static uint64_t holder(void)
{
	group_by(TOP_BY_RESOURCE, false);
	CHECK_EQ(groups.nr, 1);
	return groups.at[0].holder;
}

static void the_holder_took_it_last(void)
{
	picture_new();
	choice = (struct top_choice){ 0 };
	waits(add("a", TRACE_STATE_SUSPENDED, 1000), TRACE_REASON_MUTEX, 0x100);
	CHECK_EQ(holder(), 0);
	lock_event(0, TRACE_ACQUIRE, 5, 900);
	CHECK_EQ(holder(), 5);
	lock_event(1, TRACE_ACQUIRE, 6, 950); /* before */
	CHECK_EQ(holder(), 5);
	lock_event(1, TRACE_ACQUIRE, 7, 800);
	CHECK_EQ(holder(), 7);
	lock_event(0, TRACE_ACQUIRE, 8, 700)->resource = 0x101; /* another lock */
	happened(0, TRACE_SUSPEND, 9, 600)->resource = 0x100;   /* not taken */
	CHECK_EQ(holder(), 7);
	lock_event(0, TRACE_RELEASE, 7, 500);
	CHECK_EQ(holder(), 0);
	lock_event(0, TRACE_ACQUIRE, 10, 400);
	CHECK_EQ(holder(), 10);
	threads[0].pid = 78; /* of another process */
	CHECK_EQ(holder(), 7);
	threads[0].pid = 0; /* not known */
	CHECK_EQ(holder(), 10);
	coroutines[0].co.reason = TRACE_REASON_IO_READ; /* not a lock */
	CHECK_EQ(holder(), 0);
}

static void make_and_release(void)
{
	group_by(TOP_BY_KIND, true);
	top_groups_release(&groups);
	CHECK(!groups.at && !groups.nr && !groups.looks);
	CHECK_EQ(groups.by, TOP_BY_KIND);
}

static void nothing_is_kept(void)
{
	there_may_be_many_groups();
	top_groups_release(&groups);
	check_keeps_no_memory(make_and_release);
}

/* ---- trees ---------------------------------------------------------------------------------- */

/* "1 2:1 3:2+": ids and depths; "+": awaited. */
static const char *tree(void)
{
	static char list[1024];
	size_t i, used = 0;

	list[0] = '\0';
	make_rows();
	CHECK_EQ(top_rows_tree(&rows, &p), 0);
	CHECK_EQ(rows.nr, p.nr);
	for (i = 0; i < rows.nr; i++) {
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%u", i ? " " : "",
					 rows.at[i].row + 1);
		if (rows.at[i].depth)
			used += (size_t)snprintf(list + used, sizeof(list) - used, ":%u%s",
						 rows.at[i].depth,
						 rows.at[i].is_awaited ? "+" : "");
	}
	return list;
}

static void five(void)
{
	unsigned i;

	picture_new();
	for (i = 0; i < 5; i++)
		add("x", TRACE_STATE_SUSPENDED, 1000);
}

static void children_are_below_their_parents(void)
{
	five();
	CHECK_STR(tree(), "1 2 3 4 5");
	coroutines[2].co.parent = 1;
	coroutines[3].co.parent = 1;
	coroutines[4].co.parent = 3;
	CHECK_STR(tree(), "1 3:1 5:2 4:1 2");
	coroutines[0].co.parent = 2;
	CHECK_STR(tree(), "2 1:1 3:2 5:3 4:2");
	coroutines[0].co.parent = 1; /* itself */
	CHECK_STR(tree(), "1 3:1 5:2 4:1 2");
	coroutines[0].co.parent = 99; /* gone */
	CHECK_STR(tree(), "1 3:1 5:2 4:1 2");
}

static void one_that_is_awaited_is_below_the_one_that_waits(void)
{
	five();
	coroutines[2].co.parent = 1;
	waits(&coroutines[3], TRACE_REASON_JOIN, 3);
	CHECK_STR(tree(), "1 2 4 3:1+ 5"); /* stronger than the creation */
	coroutines[3].co.reason = TRACE_REASON_MUTEX;
	CHECK_STR(tree(), "1 3:1 2 4 5");
	coroutines[3].co.reason = TRACE_REASON_JOIN;
	coroutines[3].co.has_resource = false;
	CHECK_STR(tree(), "1 3:1 2 4 5");
	coroutines[3].co.has_resource = true;
	coroutines[3].co.state = TRACE_STATE_RUNNING;
	CHECK_STR(tree(), "1 3:1 2 4 5");
	coroutines[3].co.state = TRACE_STATE_SUSPENDED;
	coroutines[3].co.resource = 4; /* itself */
	CHECK_STR(tree(), "1 3:1 2 4 5");
}

static void rings_are_shown_as_well(void)
{
	five();
	coroutines[0].co.parent = 3;
	coroutines[1].co.parent = 1;
	coroutines[2].co.parent = 2;
	coroutines[4].co.parent = 4;
	CHECK_STR(tree(), "4 5:1 1 2:1 3:2");
	picture_new();
	CHECK_STR(tree(), "");
}

static void a_chain_may_be_long(void)
{
	unsigned i;

	picture_new();
	for (i = 0; i < PICTURE_ROWS; i++)
		add("x", TRACE_STATE_SUSPENDED, 1000)->co.parent = i;
	make_rows();
	CHECK_EQ(top_rows_tree(&rows, &p), 0);
	for (i = 0; i < PICTURE_ROWS; i++) {
		CHECK_EQ(rows.at[i].row, i);
		CHECK_EQ(rows.at[i].depth, i);
	}
}

static void make_tree(void)
{
	CHECK_EQ(top_rows_tree(&rows, &p), 0);
}

static void a_tree_keeps_nothing(void)
{
	five();
	coroutines[2].co.parent = 1;
	make_rows();
	check_keeps_no_memory(make_tree);
}

/* ---- places -----------------------------------------------------------------------------------
 */

static void sites_are_texts_without_directories(void)
{
	struct trace_site many[200];
	struct recover r = { .sites = many, .nr_sites = 200 };
	uint32_t i;

	for (i = 0; i < 200; i++)
		many[i] = (struct trace_site){
			.id = i + 1, .line = i + 5, .file = "/x/y.c", .function = "f"
		};
	top_places_release(&places);
	CHECK_STR(top_place(&places, &r, 1, 200, 0), "y.c:204 f");
	CHECK_STR(top_place(&places, &r, 1, 1, 0x99), "y.c:5 f");
	CHECK_STR(top_place(&places, &r, 1, 64, 0), "y.c:68 f");
	CHECK_STR(top_place(&places, &r, 1, 65, 0), "y.c:69 f");
	CHECK(top_place(&places, &r, 1, 65, 0) == top_place(&places, &r, 1, 65, 0));
	CHECK_STR(top_place(&places, &r, 1, 201, 0), "");
	CHECK_STR(top_place(&places, &r, 1, 0, 0), "");
	top_places_release(&places);
	CHECK(!places.sites && !places.nr_sites);
}

/* Of this program: its own functions. */
static void addresses_are_looked_up(void)
{
	uint64_t addr = (uint64_t)(uintptr_t)addresses_are_looked_up + 1;
	struct recover r = { 0 };
	const char *place = top_place(&places, &r, (uint32_t)getpid(), 0, addr);
	size_t i;

	CHECK(strstr(place, "addresses_are_looked_up") != NULL);
	CHECK(top_place(&places, &r, (uint32_t)getpid(), 0, addr) == place); /* once */
	CHECK_EQ(places.nr_texts, 1);
	/* A process that is gone has no files. */
	CHECK_STR(top_place(&places, &r, 50000000, 0, 0x1234), "0x1234");
	for (i = 0; i < 300; i++)
		CHECK(top_place(&places, &r, 50000000, 0, 0x2000 + i)[0] == '0');
	CHECK_EQ(places.nr_texts, 302);
	CHECK_STR(top_place(&places, &r, 50000000, 0, 0x2000 + 299), "0x212b");
	top_places_begin(&places); /* few: they are kept */
	CHECK_EQ(places.nr_texts, 302);
	top_places_release(&places);
	CHECK(!places.texts && !places.symbols && !places.nr_texts);
}

int main(void)
{
	RUN(a_kind_is_a_name_without_its_number);
	RUN(kinds_are_counted);
	RUN(groups_are_sorted);
	RUN(there_may_be_many_groups);
	RUN(looks_are_added_up);
	RUN(places_are_groups);
	RUN(resources_are_what_several_wait_for);
	RUN(the_holder_took_it_last);
	RUN(nothing_is_kept);
	RUN(children_are_below_their_parents);
	RUN(one_that_is_awaited_is_below_the_one_that_waits);
	RUN(rings_are_shown_as_well);
	RUN(a_chain_may_be_long);
	RUN(a_tree_keeps_nothing);
	RUN(sites_are_texts_without_directories);
	RUN(addresses_are_looked_up);
	top_groups_release(&groups);
	top_rows_release(&rows);
	top_places_release(&places);
	return 0;
}
