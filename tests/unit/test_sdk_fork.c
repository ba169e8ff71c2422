/* SPDX-License-Identifier: MIT */
/*
 * test_sdk_fork.c - a child never writes into its parent's stations.
 *
 * For every way to make a child: fork(3), which runs handlers, and the two that run
 * none, _Fork(3) and the bare system call.
 */
#include <corotracer/corotracer.h>

#include <sched.h>
#include <sys/syscall.h>

#include "test_sdk_region.h"

#define NR_STATIONS 16

static struct region region;

static pid_t fork_plain(void)
{
	return fork();
}

static pid_t fork_without_handlers(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
	return _Fork();
#else
	return fork();
#endif
}

static pid_t fork_by_system_call(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static pid_t (*const roads[])(void) = { fork_plain, fork_without_handlers, fork_by_system_call };
static size_t nr_roads; /* without MADV_WIPEONFORK the first: its handler wipes */

/* Run @body to its end in a child made by @road. */
static void in_child(pid_t (*road)(void), void (*body)(struct corotracer_coro *),
		     struct corotracer_coro *co)
{
	pid_t pid = road();

	CHECK(pid >= 0);
	if (pid == 0) {
		body(co);
		/* Not exit(): after a bare clone the C library's state is not consistent. */
		_exit(0);
	}
	child_reap(pid);
}

static uint64_t own_tid(void)
{
	return (uint64_t)syscall(SYS_gettid);
}

static void use(struct corotracer_coro *co)
{
	struct corotracer_coro none;

	memset(&none, 0, sizeof(none));
	for (int i = 0; i < 5; i++) {
		corotracer_suspend(co, co);
		corotracer_resume(co);
		corotracer_switch(co, co, &none);
	}
}

/* ---- inherited coroutines ------------------------------------------------------- */

static void inherited_use(struct corotracer_coro *co)
{
	use(co);
	CHECK_EQ(corotracer_enabled(), 0);
}

static void inherited_end(struct corotracer_coro *co)
{
	corotracer_end(co);
	CHECK(co->probe.station == NULL);
}

static void inherited_use_after_attach(struct corotracer_coro *co)
{
	CHECK_EQ(corotracer_init(), 0);
	CHECK_EQ(corotracer_enabled(), 1);
	use(co);
	corotracer_end(co);
}

static void expect_untouched_by(void (*body)(struct corotracer_coro *))
{
	struct ctp_station before;
	struct corotracer_coro co;

	region_open(&region, NR_STATIONS, REGION_EXT);
	CHECK_EQ(corotracer_begin(&co, "parent's"), 0);
	use(&co);
	for (size_t i = 0; i < nr_roads; i++) {
		/* A child that wrote an event would also wake the collector. */
		ctp_store_relaxed(&ctp_header_ext(region.header)->sleeping, 1u);
		before = region.stations[0];
		in_child(roads[i], body, &co);
		CHECK_EQ(memcmp(&before, &region.stations[0], sizeof(before)), 0);
		CHECK_EQ(ctp_header_ext(region.header)->sleeping, 1);
		use(&co);
		CHECK_EQ(ctp_header_ext(region.header)->sleeping, 0);
		CHECK_EQ(station_writes(&region.stations[0]), co.probe.nr_events);
	}
	CHECK_EQ(region.header->allocated_count, 1);
}

static void an_inherited_coroutine_writes_nothing(void)
{
	expect_untouched_by(inherited_use);
}

static void an_inherited_coroutine_does_not_die_in_the_child(void)
{
	expect_untouched_by(inherited_end);
}

/* Without the wake-up check: the child may wake, but inherited coroutines must not write. */
static void an_inherited_coroutine_writes_nothing_after_the_child_attached(void)
{
	struct ctp_station before;
	struct corotracer_coro co;

	region_open(&region, NR_STATIONS, REGION_EXT);
	CHECK_EQ(corotracer_begin(&co, "parent's"), 0);
	use(&co);
	for (size_t i = 0; i < nr_roads; i++) {
		before = region.stations[0];
		in_child(roads[i], inherited_use_after_attach, &co);
		CHECK_EQ(memcmp(&before, &region.stations[0], sizeof(before)), 0);
	}
}

/* ---- the child's own ------------------------------------------------------------- */

/* Begin a coroutine, and find it in @index with the right thread in each event. */
static void own_coroutine(uint32_t index)
{
	const struct ctp_station *st = &region.stations[index];
	struct corotracer_coro own;

	CHECK_EQ(region.header->allocated_count, index);
	CHECK_EQ(corotracer_begin(&own, "child's"), 0);
	CHECK_EQ(corotracer_enabled(), 1);
	use(&own);
	CHECK_EQ(station_writes(st), 15);
	for (unsigned i = 0; i < CTP_SLOTS; i++)
		CHECK_EQ(st->slots[i].tid, own_tid());
	CHECK_EQ(ctp_station_ext((struct ctp_station *)(uintptr_t)st)->pid, getpid());
	CHECK_EQ(st->probe_id, index + 1);
	corotracer_end(&own);
	CHECK_EQ(st->is_dead, 1);
}

static void child_with_its_own(struct corotracer_coro *inherited)
{
	use(inherited);
	own_coroutine(region.header->allocated_count);
	use(inherited);
}

static void a_childs_own_coroutine_has_a_new_station(void)
{
	struct corotracer_coro co;
	uint64_t written;

	region_open(&region, NR_STATIONS, REGION_EXT);
	CHECK_EQ(corotracer_begin(&co, "parent's"), 0);
	use(&co);
	for (size_t i = 0; i < nr_roads; i++) {
		written = station_writes(&region.stations[0]);
		in_child(roads[i], child_with_its_own, &co);
		CHECK_EQ(station_writes(&region.stations[0]), written);
		use(&co);
		CHECK_EQ(region.stations[0].slots[0].tid, own_tid());
	}
	CHECK_EQ(region.header->allocated_count, 1 + nr_roads);
	/* The parent is not affected. */
	CHECK_EQ(corotracer_enabled(), 1);
	own_coroutine(region.header->allocated_count);
	corotracer_end(&co);
	CHECK_EQ(region.stations[0].is_dead, 1);
}

static void child_with_a_child(struct corotracer_coro *inherited)
{
	uint32_t index = region.header->allocated_count;
	struct corotracer_coro own;
	uint64_t written;

	CHECK_EQ(corotracer_begin(&own, "child's"), 0);
	use(&own);
	written = own.probe.nr_events;
	in_child(fork_plain, child_with_its_own, &own);
	in_child(roads[nr_roads - 1], child_with_its_own, inherited);
	CHECK_EQ(station_writes(&region.stations[index]), written);
	use(&own);
	CHECK_EQ(station_writes(&region.stations[index]), own.probe.nr_events);
}

static void a_grandchild_is_a_process_of_its_own_too(void)
{
	struct corotracer_coro co;

	region_open(&region, NR_STATIONS, REGION_EXT);
	CHECK_EQ(corotracer_begin(&co, "parent's"), 0);
	use(&co);
	in_child(fork_plain, child_with_a_child, &co);
	CHECK_EQ(station_writes(&region.stations[0]), 15);
	CHECK_EQ(region.header->allocated_count, 4);
}

/* The child inherits no session: it attaches as any program does. */
static void child_first(struct corotracer_coro *none)
{
	(void)none;
	own_coroutine(0);
}

static void a_child_may_attach_before_its_parent(void)
{
	region_open(&region, NR_STATIONS, REGION_EXT);
	in_child(fork_plain, child_first, NULL);
	own_coroutine(1);
}

static void child_without_environment(struct corotracer_coro *inherited)
{
	struct corotracer_coro own;

	unsetenv(CTP_ENV_SHM);
	CHECK_EQ(corotracer_begin(&own, NULL), -ENOENT);
	use(inherited);
	use(&own);
	CHECK_EQ(corotracer_enabled(), 0);
}

static void a_child_that_finds_no_collector_is_untraced(void)
{
	struct corotracer_coro co;

	region_open(&region, NR_STATIONS, REGION_EXT);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	use(&co);
	in_child(fork_plain, child_without_environment, &co);
	CHECK_EQ(region.header->allocated_count, 1);
	CHECK_EQ(station_writes(&region.stations[0]), 15);
}

/* Each process has its own connection; the end of the child does not close the parent's. */
static void child_connects(struct corotracer_coro *inherited)
{
	uint32_t *flag = &ctp_header_ext(region.header)->sleeping;
	struct corotracer_coro own;
	int conn;

	(void)inherited;
	CHECK_EQ(corotracer_begin(&own, NULL), 0);
	conn = region_accept(&region);
	CHECK(conn >= 0);
	ctp_store_relaxed(flag, 1u);
	corotracer_suspend(&own, &own);
	CHECK_EQ(wakeups_count(conn), 1);
}

static void parent_and_child_wake_by_their_own_sockets(void)
{
	uint32_t *flag;
	struct corotracer_coro co;
	int conn;

	region_open(&region, NR_STATIONS, REGION_EXT);
	flag = &ctp_header_ext(region.header)->sleeping;
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	conn = region_accept(&region);
	in_child(fork_plain, child_connects, &co);
	CHECK_EQ(wakeups_count(conn), 0);
	ctp_store_relaxed(flag, 1u);
	corotracer_suspend(&co, &co);
	CHECK_EQ(wakeups_count(conn), 1);
}

int main(void)
{
	scratch_make();
	nr_roads = pages_are_wiped() ? sizeof(roads) / sizeof(roads[0]) : 1;
	RUN_ALONE(an_inherited_coroutine_writes_nothing);
	RUN_ALONE(an_inherited_coroutine_does_not_die_in_the_child);
	RUN_ALONE(an_inherited_coroutine_writes_nothing_after_the_child_attached);
	RUN_ALONE(a_childs_own_coroutine_has_a_new_station);
	RUN_ALONE(a_grandchild_is_a_process_of_its_own_too);
	RUN_ALONE(a_child_may_attach_before_its_parent);
	RUN_ALONE(a_child_that_finds_no_collector_is_untraced);
	RUN_ALONE(parent_and_child_wake_by_their_own_sockets);
	return 0;
}
