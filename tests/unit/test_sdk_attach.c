/* SPDX-License-Identifier: MIT */
/*
 * test_sdk_attach.c - which regions a program attaches to, and which it does not touch.
 *
 * Whatever the environment names, the program continues, prints nothing and writes no
 * byte outside a valid region.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>

#include "test_sdk_region.h"

/* All calls on a coroutine; without a collector they do nothing. */
static void use_untraced(void)
{
	struct corotracer_coro a, b;

	memset(&a, 0xa5, sizeof(a));
	CHECK_EQ(corotracer_begin(&a, "nobody"), -ENOENT);
	CHECK(!a.probe.life && !a.probe.station && !a.probe.nr_events); /* marked for adoption */
	memset(&b, 0, sizeof(b));
	corotracer_suspend(&a, &a);
	corotracer_resume(&a);
	corotracer_switch(&a, &a, &b);
	corotracer_end(&a);
	corotracer_end(&a);
	CHECK(all_zero(&a, sizeof(a)));
	CHECK_EQ(corotracer_enabled(), 0);
}

/* The environment is set; the program must stay untraced, and print nothing. */
static void expect_untraced(void)
{
	struct quiet q;
	int rc, enabled;

	quiet_begin(&q);
	rc = corotracer_init();
	enabled = corotracer_enabled();
	CHECK_EQ(quiet_end(&q, NULL, 0), 0);
	CHECK_EQ(rc, -ENOENT);
	CHECK_EQ(enabled, 0);
	use_untraced();
	CHECK_EQ(corotracer_init(), -ENOENT);
}

/* As expect_untraced(), and the request block says why. */
static void expect_untraced_because(uint32_t why, int error)
{
	expect_untraced();
	CHECK_EQ(corotracer__request.why, why | (uint32_t)error << 8);
}

static void expect_traced(void)
{
	struct quiet q;
	int rc;

	quiet_begin(&q);
	rc = corotracer_init();
	CHECK_EQ(quiet_end(&q, NULL, 0), 0);
	CHECK_EQ(rc, 0);
	CHECK_EQ(corotracer_enabled(), 1);
}

static void without_a_collector_nothing_happens(void)
{
	CHECK_EQ(corotracer__request.why, CTP_WHY_NO_COROUTINE);
	expect_untraced_because(CTP_WHY_NO_ENVIRONMENT, 0);
}

static void an_empty_path_is_no_collector(void)
{
	setenv(CTP_ENV_SHM, "", 1);
	expect_untraced();
}

static void a_missing_region_is_no_collector(void)
{
	struct region r;

	region_open(&r, 4, 0);
	CHECK_EQ(unlink(r.shm), 0);
	expect_untraced_because(CTP_WHY_NOT_OPENED, ENOENT);
}

static void a_directory_is_no_region(void)
{
	setenv(CTP_ENV_SHM, scratch_dir, 1);
	expect_untraced();
}

static void a_fifo_neither_blocks_nor_passes_for_a_region(void)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/fifo", scratch_dir);
	CHECK_EQ(mkfifo(path, 0600), 0);
	setenv(CTP_ENV_SHM, path, 1);
	expect_untraced();
}

static void a_wrong_magic_is_refused(void)
{
	struct region r;

	region_open(&r, 4, REGION_EXT);
	r.header->magic_number ^= 1;
	expect_untraced_because(CTP_WHY_NOT_REGION, 0);
	CHECK_EQ(r.header->allocated_count, 0);
}

static void a_wrong_version_is_refused(void)
{
	struct region r;

	region_open(&r, 4, REGION_EXT);
	r.header->version = CTP_VERSION + 1;
	expect_untraced_because(CTP_WHY_VERSION, 0);
	CHECK_EQ(r.header->allocated_count, 0);
}

static void an_empty_file_is_refused(void)
{
	struct region r;

	region_open(&r, 4, 0);
	CHECK_EQ(truncate(r.shm, 0), 0);
	expect_untraced_because(CTP_WHY_NOT_REGION, 0);
}

static void a_header_without_a_station_is_refused(void)
{
	struct region r;

	region_open(&r, 4, 0);
	CHECK_EQ(truncate(r.shm, sizeof(struct ctp_header)), 0);
	expect_untraced();
}

/* The file is shorter than its header says: an access would raise SIGBUS. */
static void a_region_shorter_than_its_header_says_is_refused(void)
{
	struct region r;

	region_open(&r, 64, 0);
	setenv(CTP_ENV_STATIONS, "2", 1);
	CHECK_EQ(truncate(r.shm, (off_t)ctp_region_size(4)), 0);
	expect_untraced();
}

static void a_promise_of_more_than_the_file_is_refused(void)
{
	struct region r;

	region_open(&r, 4, 0);
	setenv(CTP_ENV_STATIONS, "5", 1);
	expect_untraced();
	CHECK_EQ(r.header->allocated_count, 0);
}

static void a_promise_beyond_all_numbers_is_refused(void)
{
	struct region r;

	region_open(&r, 4, 0);
	setenv(CTP_ENV_STATIONS, "99999999999999999999999", 1);
	expect_untraced();
}

static void a_header_of_no_stations_is_refused(void)
{
	struct region r;

	region_open(&r, 4, 0);
	r.header->max_stations = 0;
	expect_untraced();
}

/* ---- inherited descriptors ----------------------------------------------------------- */

/* A door and the descriptor of the region, named by CTP_FDS.  Returns the collector's end. */
static int door_make(const struct region *r, int *region_fd)
{
	struct stat region, door;
	char value[600];
	int pair[2];

	*region_fd = open(r->shm, O_RDWR);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	CHECK(fstat(*region_fd, &region) == 0 && fstat(pair[1], &door) == 0);
	snprintf(value, sizeof(value), "%x:%llx:%llx:%x:%llx:%llx:%s", (unsigned)*region_fd,
		 (unsigned long long)region.st_dev, (unsigned long long)region.st_ino,
		 (unsigned)pair[1], (unsigned long long)door.st_dev,
		 (unsigned long long)door.st_ino, r->shm);
	setenv(CTP_ENV_FDS, value, 1);
	return pair[0];
}

/* The next message, and the descriptor that comes with it; -1: none. */
static int door_read(int door, struct ctp_hello *hello)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec io = { .iov_base = hello, .iov_len = sizeof(*hello) };
	struct msghdr message = { .msg_iov = &io,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg;
	int fd = -1;

	CHECK_EQ(recvmsg(door, &message, MSG_DONTWAIT), (ssize_t)sizeof(*hello));
	CHECK_EQ(hello->magic, CTP_HELLO_MAGIC);
	CHECK_EQ(hello->pid, (uint32_t)getpid());
	cmsg = CMSG_FIRSTHDR(&message);
	if (cmsg)
		memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

static void inherited_descriptors_need_no_path(void)
{
	struct corotracer_coro co;
	struct ctp_hello hello;
	struct region r;
	int door, region_fd, connection;
	char byte;

	region_open(&r, 4, REGION_NO_SOCKET);
	door = door_make(&r, &region_fd);
	CHECK_EQ(unlink(r.shm), 0);
	expect_traced();
	CHECK_EQ(corotracer__request.why, CTP_WHY_ATTACHED);
	connection = door_read(door, &hello);
	CHECK(connection >= 0 && hello.kind == CTP_HELLO_CONNECT);
	r.header->tracer_sleeping = 1;
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	corotracer_suspend(&co, &co);
	CHECK_EQ(r.header->allocated_count, 1);
	CHECK_EQ(recv(connection, &byte, 1, MSG_DONTWAIT), 1);
	CHECK_EQ(byte, CTP_WAKE_BYTE);
}

static void a_failure_is_reported_through_the_door(void)
{
	struct ctp_hello hello;
	struct region r;
	int door, region_fd;

	region_open(&r, 4, REGION_NO_SOCKET);
	door = door_make(&r, &region_fd);
	CHECK_EQ(unlink(r.shm), 0);
	close(region_fd);
	expect_untraced_because(CTP_WHY_NOT_OPENED, ENOENT);
	CHECK_EQ(door_read(door, &hello), -1);
	CHECK_EQ(hello.kind, CTP_HELLO_FAILED);
	CHECK_EQ(hello.why, CTP_WHY_NOT_OPENED | (uint32_t)ENOENT << 8);
}

static void descriptors_of_another_region_are_not_used(void)
{
	struct region r;
	int door, region_fd;
	char byte;

	region_open(&r, 4, 0);
	door = door_make(&r, &region_fd);
	setenv(CTP_ENV_SHM, scratch_dir, 1);
	expect_untraced_because(CTP_WHY_NOT_OPENED, EISDIR);
	CHECK_EQ(recv(door, &byte, 1, MSG_DONTWAIT), -1);
}

static void the_smaller_promise_counts(void)
{
	struct corotracer_coro co;
	struct region r;

	region_open(&r, 4, 0);
	setenv(CTP_ENV_STATIONS, "1", 1);
	expect_traced();
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK_EQ(corotracer_begin(&co, NULL), -ENOSPC);
	CHECK(all_zero(&r.stations[1], sizeof(r.stations[1])));
}

static void without_a_promise_the_header_counts(void)
{
	struct corotracer_coro co;
	struct region r;

	region_open(&r, 2, 0);
	unsetenv(CTP_ENV_STATIONS);
	expect_traced();
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK_EQ(corotracer_begin(&co, NULL), -ENOSPC);
}

static void a_missing_socket_costs_only_the_wakeups(void)
{
	struct corotracer_coro co;
	struct region r;

	region_open(&r, 4, REGION_NO_SOCKET);
	expect_traced();
	r.header->tracer_sleeping = 1;
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	corotracer_suspend(&co, &co);
	CHECK_EQ(station_writes(&r.stations[0]), 1);
	/* A thread that cannot send the byte must leave the flag to threads that can. */
	CHECK_EQ(r.header->tracer_sleeping, 1);
}

static void a_socket_path_too_long_costs_only_the_wakeups(void)
{
	char path[400];
	struct region r;

	region_open(&r, 4, REGION_NO_SOCKET);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	setenv(CTP_ENV_SOCK, path, 1);
	expect_traced();
}

static void attaching_twice_is_attaching_once(void)
{
	struct region r;

	region_open(&r, 4, REGION_EXT);
	expect_traced();
	CHECK_EQ(corotracer_init(), 0);
	CHECK_EQ(corotracer_init(), 0);
	CHECK(region_accept(&r) >= 0);
	CHECK_EQ(region_accept(&r), -1);
}

static void beginning_a_coroutine_attaches(void)
{
	struct corotracer_coro co;
	struct region r;

	region_open(&r, 4, REGION_EXT);
	CHECK_EQ(corotracer_enabled(), 0);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK_EQ(corotracer_enabled(), 1);
}

/* A foreign collector's header stays unchanged, except for the count. */
static void a_plain_header_is_left_alone(void)
{
	struct corotracer_coro co;
	struct region r;

	region_open(&r, 4, 0);
	expect_traced();
	CHECK_EQ(corotracer_begin(&co, "name"), 0);
	corotracer_suspend(&co, &co);
	corotracer_end(&co);
	CHECK_EQ(r.header->max_stations, 4);
	CHECK_EQ(r.header->allocated_count, 1);
	CHECK_EQ(r.header->tracer_sleeping, 0);
	CHECK(all_zero(r.header->reserved, sizeof(r.header->reserved)));
}

/* The rule of ctp.h: without the collector's magic, keep to the plain protocol. */
static void a_plain_station_gets_nothing_but_the_plain_protocol(void)
{
	struct corotracer_coro co;
	struct region r;

	region_open(&r, 4, 0);
	expect_traced();
	CHECK_EQ(corotracer_begin(&co, "name"), 0);
	for (int i = 0; i < 20; i++)
		corotracer_suspend(&co, &co);
	corotracer_end(&co);
	CHECK_EQ(r.stations[0].is_dead, 1);
	CHECK(all_zero(r.stations[0].pad, sizeof(r.stations[0].pad)));
	CHECK(all_zero(r.stations[0].flexible, sizeof(r.stations[0].flexible)));
	for (unsigned i = 0; i < CTP_SLOTS; i++)
		CHECK(all_zero(r.stations[0].slots[i].reserved, 31));
}

static void who_asks_is_told_why(void)
{
	char text[1000];
	struct region r;
	struct quiet q;

	region_open(&r, 4, 0);
	r.header->version = 77;
	setenv(CTP_ENV_VERBOSE, "1", 1);
	quiet_begin(&q);
	corotracer_init();
	corotracer_init();
	CHECK(quiet_end(&q, text, sizeof(text)) > 0);
	CHECK(strstr(text, "version 77") != NULL);
	/* Once, and one line. */
	CHECK(strchr(text, '\n') == text + strlen(text) - 1);
}

/* ---- several threads at once ------------------------------------------------ */

enum { NR_RACERS = 8 };

static pthread_barrier_t start_line;

static void *race_to_begin(void *arg)
{
	struct corotracer_coro *co = arg;
	int rc;

	pthread_barrier_wait(&start_line);
	CHECK(corotracer_enabled() == 0 || corotracer_enabled() == 1);
	rc = corotracer_begin(co, NULL);
	/* -ENOENT: another thread was still attaching. */
	CHECK(rc == 0 || rc == -ENOENT);
	corotracer_suspend(co, co);
	corotracer_resume(co);
	return NULL;
}

static void threads_that_race_attach_once(void)
{
	struct corotracer_coro cos[NR_RACERS];
	pthread_t threads[NR_RACERS];
	uint64_t traced = 0, events = 0;
	struct region r;

	region_open(&r, 64, REGION_EXT);
	CHECK_EQ(pthread_barrier_init(&start_line, NULL, NR_RACERS), 0);
	for (int i = 0; i < NR_RACERS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, race_to_begin, &cos[i]), 0);
	for (int i = 0; i < NR_RACERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < NR_RACERS; i++) {
		traced += cos[i].probe.station != NULL;
		events += station_writes(&r.stations[i]);
	}
	CHECK(traced >= 1);
	CHECK_EQ(r.header->allocated_count, traced);
	CHECK_EQ(events, 2 * traced);
	CHECK(region_accept(&r) >= 0);
	CHECK_EQ(region_accept(&r), -1);
	CHECK_EQ(corotracer_begin(&cos[0], NULL), 0);
}

int main(void)
{
	scratch_make();
	RUN_ALONE(without_a_collector_nothing_happens);
	RUN_ALONE(an_empty_path_is_no_collector);
	RUN_ALONE(a_missing_region_is_no_collector);
	RUN_ALONE(a_directory_is_no_region);
	RUN_ALONE(a_fifo_neither_blocks_nor_passes_for_a_region);
	RUN_ALONE(a_wrong_magic_is_refused);
	RUN_ALONE(a_wrong_version_is_refused);
	RUN_ALONE(inherited_descriptors_need_no_path);
	RUN_ALONE(a_failure_is_reported_through_the_door);
	RUN_ALONE(descriptors_of_another_region_are_not_used);
	RUN_ALONE(an_empty_file_is_refused);
	RUN_ALONE(a_header_without_a_station_is_refused);
	RUN_ALONE(a_region_shorter_than_its_header_says_is_refused);
	RUN_ALONE(a_promise_of_more_than_the_file_is_refused);
	RUN_ALONE(a_promise_beyond_all_numbers_is_refused);
	RUN_ALONE(a_header_of_no_stations_is_refused);
	RUN_ALONE(the_smaller_promise_counts);
	RUN_ALONE(without_a_promise_the_header_counts);
	RUN_ALONE(a_missing_socket_costs_only_the_wakeups);
	RUN_ALONE(a_socket_path_too_long_costs_only_the_wakeups);
	RUN_ALONE(attaching_twice_is_attaching_once);
	RUN_ALONE(beginning_a_coroutine_attaches);
	RUN_ALONE(a_plain_header_is_left_alone);
	RUN_ALONE(who_asks_is_told_why);
	RUN_ALONE(threads_that_race_attach_once);
	for (int i = 0; i < 20 && !getenv("TEST_ONLY"); i++)
		run_alone(threads_that_race_attach_once);
	RUN_ALONE(a_plain_station_gets_nothing_but_the_plain_protocol);
	return 0;
}
