/* SPDX-License-Identifier: MIT */
/*
 * test_sdk_wake.c - how a program wakes its collector, without harm to itself.
 *
 * The program may close and reuse any descriptor, the socket's included, and the
 * collector may be dead: no byte goes to another descriptor, no signal is raised,
 * nothing blocks.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>

#include "test_sdk_region.h"

/* The SDK's socket among this process' descriptors; it is the only one of its kind. */
static int sdk_socket(void)
{
	struct sockaddr_un peer;
	int found = -1;

	for (int fd = 0; fd < 2048; fd++) {
		socklen_t size = sizeof(peer);

		if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
		    peer.sun_family == AF_UNIX && size > sizeof(sa_family_t)) {
			CHECK_EQ(found, -1);
			found = fd;
		}
	}
	return found;
}

struct wake_case {
	struct region region;
	struct corotracer_coro co;
	uint32_t *flag; /* what the collector sets before it sleeps */
	int conn;
};

static void wake_open(struct wake_case *w, int what)
{
	region_open(&w->region, 16, what);
	CHECK_EQ(corotracer_begin(&w->co, NULL), 0);
	w->conn = region_accept(&w->region);
	CHECK(w->conn >= 0);
	w->flag = what & REGION_EXT ? &ctp_header_ext(w->region.header)->sleeping
				    : &w->region.header->tracer_sleeping;
}

static void fall_asleep(struct wake_case *w)
{
	ctp_store_relaxed(w->flag, 1u);
}

static bool asleep(struct wake_case *w)
{
	return ctp_load_relaxed(w->flag) != 0;
}

static void expect_one_byte_per_sleep(struct wake_case *w)
{
	corotracer_suspend(&w->co, w);
	CHECK_EQ(wakeups_count(w->conn), 0);
	for (int i = 0; i < 10; i++) {
		fall_asleep(w);
		corotracer_resume(&w->co);
		CHECK(!asleep(w));
		corotracer_suspend(&w->co, w);
		CHECK_EQ(wakeups_count(w->conn), 1);
	}
}

static void a_plain_collector_is_woken_once_per_sleep(void)
{
	struct wake_case w;

	wake_open(&w, 0);
	expect_one_byte_per_sleep(&w);
}

static void an_extended_collector_is_woken_by_its_own_flag(void)
{
	struct wake_case w;

	wake_open(&w, REGION_EXT);
	/* For programs without the extension; the SDK must not clear it. */
	w.region.header->tracer_sleeping = 1;
	expect_one_byte_per_sleep(&w);
	CHECK_EQ(w.region.header->tracer_sleeping, 1);
}

static void a_switch_wakes_too(void)
{
	struct corotracer_coro other;
	struct wake_case w;

	wake_open(&w, 0);
	CHECK_EQ(corotracer_begin(&other, NULL), 0);
	fall_asleep(&w);
	corotracer_switch(&w.co, &w, &other);
	CHECK_EQ(wakeups_count(w.conn), 1);
}

/* ---- a slow or dead collector ------------------------------------------------- */

static void a_full_socket_blocks_nobody(void)
{
	struct wake_case w;
	int drained;

	wake_open(&w, 0);
	for (int i = 0; i < 50000; i++) {
		fall_asleep(&w);
		corotracer_suspend(&w.co, &w);
	}
	drained = wakeups_count(w.conn);
	CHECK(drained > 0 && drained < 50000);
	/* When there is room again, waking works again. */
	fall_asleep(&w);
	corotracer_suspend(&w.co, &w);
	CHECK_EQ(wakeups_count(w.conn), 1);
}

/* Waking stops for the rest of the run: the byte has no reader, so no thread pays for it. */
static void expect_no_more_waking(struct wake_case *w)
{
	for (int i = 0; i < 100; i++) {
		fall_asleep(w);
		corotracer_suspend(&w->co, w);
		corotracer_resume(&w->co);
	}
	CHECK(asleep(w));
	CHECK_EQ(station_writes(&w->region.stations[0]), w->co.probe.nr_events);
}

static void a_collector_that_died_is_no_sigpipe(void)
{
	struct wake_case w;

	wake_open(&w, 0);
	CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	close(w.conn);
	close(w.region.listener);
	fall_asleep(&w);
	corotracer_suspend(&w.co, &w);
	expect_no_more_waking(&w);
}

static void a_collector_that_died_with_bytes_unread_is_no_sigpipe(void)
{
	struct wake_case w;

	wake_open(&w, REGION_EXT);
	CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	fall_asleep(&w);
	corotracer_suspend(&w.co, &w);
	close(w.conn);
	close(w.region.listener);
	fall_asleep(&w);
	corotracer_suspend(&w.co, &w);
	expect_no_more_waking(&w);
}

/* ---- the program's descriptors -------------------------------------------------- */

static void the_socket_keeps_out_of_the_way(void)
{
	struct wake_case w;
	int before = dup(0), after, sock;

	close(before);
	wake_open(&w, 0);
	sock = sdk_socket();
	CHECK(sock >= 512);
	CHECK(fcntl(sock, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(sock, F_GETFL) & O_NONBLOCK);
	close(w.conn);
	close(w.region.listener);
	after = dup(0);
	CHECK_EQ(after, before);
}

/* The program closes the SDK's descriptor, and @fd takes its number. */
static void replace_socket(int fd)
{
	int sock = sdk_socket();

	CHECK(sock >= 0);
	if (fd < 0) {
		close(sock);
		return;
	}
	CHECK_EQ(dup2(fd, sock), sock);
	close(fd);
}

static void expect_nothing_to_read(int fd)
{
	char byte;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	CHECK_EQ(read(fd, &byte, 1), -1);
	CHECK_EQ(errno, EAGAIN);
}

/* Waking continues, over a new connection. */
static void expect_woken_anew(struct wake_case *w)
{
	int conn;

	fall_asleep(w);
	corotracer_suspend(&w->co, w);
	CHECK(!asleep(w));
	conn = region_accept(&w->region);
	CHECK(conn >= 0);
	CHECK_EQ(wakeups_count(conn), 1);
	fall_asleep(w);
	corotracer_resume(&w->co);
	CHECK_EQ(wakeups_count(conn), 1);
}

/* A daemon closes descriptors that it did not open.  After a few times the SDK gives up. */
static void a_closed_descriptor_is_replaced_a_few_times(void)
{
	struct wake_case w;

	wake_open(&w, 0);
	for (int i = 0; i < 4; i++) {
		replace_socket(-1);
		expect_woken_anew(&w);
	}
	replace_socket(-1);
	expect_no_more_waking(&w);
}

static void a_pipe_in_its_place_gets_no_byte(void)
{
	struct wake_case w;
	int ends[2];

	wake_open(&w, 0);
	CHECK_EQ(pipe(ends), 0);
	replace_socket(ends[1]);
	expect_woken_anew(&w);
	expect_nothing_to_read(ends[0]);
}

static void a_socket_in_its_place_gets_no_byte(void)
{
	struct wake_case w;
	int ends[2];

	wake_open(&w, REGION_EXT);
	/* An unnamed socket, so that sdk_socket() can distinguish the two. */
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	replace_socket(ends[1]);
	expect_woken_anew(&w);
	expect_nothing_to_read(ends[0]);
}

/* Even one that is connected to the same collector: it is not the SDK's any more. */
static void a_second_connection_in_its_place_gets_no_byte(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), conn;
	struct wake_case w;

	wake_open(&w, 0);
	memcpy(sun.sun_path, w.region.sock, strlen(w.region.sock));
	replace_socket(-1);
	CHECK_EQ(connect(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	conn = region_accept(&w.region);
	CHECK(conn >= 0);
	CHECK(dup2(fd, 512) == 512);
	expect_woken_anew(&w);
	CHECK_EQ(wakeups_count(conn), 0);
}

static void a_file_in_its_place_stays_empty(void)
{
	struct wake_case w;
	struct stat st;
	char path[300];
	int fd;

	wake_open(&w, 0);
	snprintf(path, sizeof(path), "%s/file", scratch_dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	replace_socket(fd);
	expect_woken_anew(&w);
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(st.st_size, 0);
}

/* ---- several threads ---------------------------------------------------------- */

enum { NR_WRITERS = 4, NR_NAPS = 200 };

static int stop;

static void *write_on(void *arg)
{
	struct corotracer_coro co;

	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	while (!ctp_load_relaxed(&stop)) {
		corotracer_suspend(&co, arg);
		corotracer_resume(&co);
	}
	return NULL;
}

/* The thread that clears the flag sends the byte: never two, and never zero. */
static void many_threads_send_one_byte_per_sleep(void)
{
	pthread_t threads[NR_WRITERS];
	struct wake_case w;

	wake_open(&w, REGION_EXT);
	for (int i = 0; i < NR_WRITERS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, write_on, &w), 0);
	for (int i = 0; i < NR_NAPS; i++) {
		fall_asleep(&w);
		/* Clearing and sending are two steps: wait for the byte. */
		while (wakeups_count(w.conn) == 0)
			sched_yield();
		CHECK(!asleep(&w));
	}
	ctp_store_relaxed(&stop, 1);
	for (int i = 0; i < NR_WRITERS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(wakeups_count(w.conn), 0);
}

int main(void)
{
	scratch_make();
	RUN_ALONE(a_plain_collector_is_woken_once_per_sleep);
	RUN_ALONE(an_extended_collector_is_woken_by_its_own_flag);
	RUN_ALONE(a_switch_wakes_too);
	RUN_ALONE(a_full_socket_blocks_nobody);
	RUN_ALONE(a_collector_that_died_is_no_sigpipe);
	RUN_ALONE(a_collector_that_died_with_bytes_unread_is_no_sigpipe);
	RUN_ALONE(the_socket_keeps_out_of_the_way);
	RUN_ALONE(a_closed_descriptor_is_replaced_a_few_times);
	RUN_ALONE(a_pipe_in_its_place_gets_no_byte);
	RUN_ALONE(a_socket_in_its_place_gets_no_byte);
	RUN_ALONE(a_second_connection_in_its_place_gets_no_byte);
	RUN_ALONE(a_file_in_its_place_stays_empty);
	RUN_ALONE(many_threads_send_one_byte_per_sleep);
	return 0;
}
