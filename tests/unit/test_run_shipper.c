/* SPDX-License-Identifier: MIT */
/*
 * test_run_shipper.c - the process that ships a trace: its life, the paths that it gets, its
 * result.
 *
 * The shipper, its transport and the clock are the test's; the process and its signals are real.
 */
#include "run_shipper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "captured.h"
#include "cmd.h"
#include "count_open.h"
#include "run_leftovers.h"
#include "ship_watch.h"

enum manner { MANNER_QUICK, MANNER_WAITS, MANNER_DEAF };

/* Shared with the process. */
static struct {
	enum manner manner;
	int runs, no_punch;
	bool is_unfinished, has_wrong_signals, has_leftovers;
	unsigned nr_closed, nr_open;
	int nice;
	pid_t group;
	char name[32], log[512];
	bool is_in_run;
	struct shipper_config config;
} * world;

static bool has_no_process;
static unsigned pipe_fails; /* the first or the second call */
static unsigned stuck_polls, nr_polls;
static int waits[4];
static uint64_t shift;
static pid_t own_pid;
static struct ship_state saved;
static int state_reads;
static struct shipping s;

static void note(const char *text)
{
	size_t used = strlen(world->log);

	snprintf(world->log + used, sizeof(world->log) - used, "%s ", text);
}

int __real_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags)
{
	if (pipe_fails && --pipe_fails == 0) {
		errno = EMFILE;
		return -1;
	}
	return __real_pipe2(fds, flags);
}

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
	errno = EAGAIN;
	return has_no_process ? -1 : __real_fork();
}

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	uint64_t ns = shift;

	(void)clock;
	t->tv_sec = (time_t)(ns / NS_PER_SEC);
	t->tv_nsec = (long)(ns % NS_PER_SEC);
	return 0;
}

int __real_poll(struct pollfd *fds, nfds_t nr, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t nr, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t nr, int ms)
{
	if (getpid() != own_pid)
		return __real_poll(fds, nr, ms);
	if (nr_polls < 4)
		waits[nr_polls] = ms;
	nr_polls++;
	if (!stuck_polls)
		return __real_poll(fds, nr, -1);
	stuck_polls--;
	shift += (uint64_t)ms * NS_PER_MS;
	return 0;
}

static void transport_close(struct ship_transport *t)
{
	(void)t;
	world->nr_closed++;
}

static const struct ship_transport_ops ops = { .close = transport_close };
static struct ship_transport transport = { .ops = &ops, .name = "file:x" };

void ship_watch_begin(const char *trace)
{
	(void)trace;
	note("watch");
}

void ship_watch_look(bool has_ended, void (*found)(void *arg, uint64_t probe_id), void *arg)
{
	(void)has_ended;
	(void)found;
	(void)arg;
}

void ship_watch_end(void)
{
	note("unwatch");
}

void leftovers_start(const struct shipping *shipping, bool (*pause)(int ms))
{
	CHECK(shipping == &s);
	world->has_leftovers = pause(0) == false; /* no signal is there */
}

char *ship_state_path(const char *trace)
{
	char *path;

	CHECK(asprintf(&path, "%s.shipped", trace) > 0);
	return path;
}

int ship_state_read(struct ship_state *state, const char *path, struct err *err)
{
	(void)err;
	CHECK_STR(path, "t.ct.shipped");
	*state = saved;
	return state_reads;
}

static void look_at_process(void)
{
	sigset_t mask;

	world->nice = getpriority(PRIO_PROCESS, 0);
	world->group = getpgid(0);
	world->nr_open = count_open();
	prctl(PR_GET_NAME, world->name);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	world->has_wrong_signals |= !sigismember(&mask, SIGINT) || !sigismember(&mask, SIGHUP) ||
				    !sigismember(&mask, SIGTERM) || sigismember(&mask, SIGQUIT) ||
				    signal(SIGPIPE, SIG_IGN) != SIG_IGN;
}

int shipper_run(const struct shipper_config *config, struct shipper_result *result, struct err *err)
{
	static const struct ship_count one = { 1, 2, 3, 4 };

	look_at_process();
	note(strrchr(config->trace, '/') ? strrchr(config->trace, '/') + 1 : config->trace);
	world->config = *config;
	CHECK(config->watch == ship_watch_look);
	__atomic_store_n(&world->is_in_run, true, __ATOMIC_RELEASE);
	while (world->manner == MANNER_DEAF)
		__real_poll(NULL, 0, 1000);
	while (world->manner == MANNER_WAITS && !config->pause(1000))
		;
	*result = (struct shipper_result){
		.run = "run1",
		.shipped = one,
		.spooled = { 10, 20, 30, 40 },
		.given_up = { 100, 200, 300, 400 },
		.left_out = { 5, 6, 7, 8 },
		.whole = { 50, 60, 70, 80 },
		.whole_coroutines = 9,
		.sample = 11,
		.is_finished = !world->is_unfinished,
	};
	if (world->no_punch)
		err_set(&result->no_punch, world->no_punch, "no holes");
	if (world->manner == MANNER_WAITS) {
		config->report(&transport, err_set(err, -EIO, "is away") ? err : NULL);
		config->report(&transport, NULL);
	}
	return world->runs ? err_set(err, world->runs, "cannot ship") : 0;
}

/* ---- runs ---------------------------------------------------------------------------------- */

static void world_new(void)
{
	memset(world, 0, sizeof(*world));
	s = (struct shipping){ .command = "run", .trace = "t.ct", .transport = &transport };
	s.options.wait_ns = 7 * NS_PER_SEC;
	s.options.spool_size = 1234;
	s.path_fd = s.result_fd = -1;
	shift = 1000 * NS_PER_SEC;
	nr_polls = stuck_polls = 0;
	state_reads = 1;
}

static void check_all_is_gone(unsigned before)
{
	CHECK_EQ(count_open(), before);
	CHECK_EQ(s.child, 0);
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
}

static void await_run(void)
{
	unsigned i;

	for (i = 0; i < 4000 && !__atomic_load_n(&world->is_in_run, __ATOMIC_ACQUIRE); i++)
		usleep(2500);
	CHECK(world->is_in_run);
}

static void check_count(const struct ship_count *c, uint64_t blocks, uint64_t transitions,
			uint64_t others, uint64_t bytes)
{
	CHECK_EQ(c->blocks, blocks);
	CHECK_EQ(c->transitions, transitions);
	CHECK_EQ(c->others, others);
	CHECK_EQ(c->bytes, bytes);
}

static void a_trace_is_shipped_until_the_end(void)
{
	unsigned before = count_open();

	world_new();
	CHECK(shipping_fork(&s));
	CHECK(s.child > 0);
	CHECK_EQ(world->nr_closed, 1); /* in this process */
	CHECK(!s.transport);
	CHECK_EQ(fcntl(s.path_fd, F_GETFD), FD_CLOEXEC);
	CHECK(fcntl(s.path_fd, F_GETFL) & O_NONBLOCK);
	shipping_go(&s, "dir/t.ct");
	shipping_finish(&s);
	CHECK_EQ(nr_polls, 1);
	CHECK_EQ(waits[0], 12001); /* the time of the shipper, and five seconds */
	check_all_is_gone(before);
	CHECK(s.has_result && s.result.is_finished);
	CHECK_EQ(s.path_fd, -1);
	CHECK_STR(world->log, "watch t.ct unwatch ");
	CHECK_EQ(world->nr_closed, 2);
	CHECK(world->has_leftovers && !world->has_wrong_signals);
	CHECK_EQ(world->nice, 10);
	CHECK(world->group != getpgid(0));
	CHECK_STR(world->name, "corotracer-ship");
	CHECK_EQ(world->nr_open, before + 3); /* the ends of two pipes, and the signals */
	CHECK_EQ(world->config.spool_size, 0);
	CHECK_EQ(world->config.wait_ns, 7 * NS_PER_SEC);
	CHECK(!world->config.is_new);
	check_count(&s.result.shipped, 1, 2, 3, 4);
	check_count(&s.result.spooled, 10, 20, 30, 40);
	check_count(&s.result.given_up, 100, 200, 300, 400);
	check_count(&s.result.left_out, 5, 6, 7, 8);
	check_count(&s.result.whole, 50, 60, 70, 80);
	CHECK_EQ(s.result.whole_coroutines, 9);
	CHECK_EQ(s.result.sample, 11);
	CHECK_STR(s.result.run, "run1");
	shipping_settle(&s, 1000, 1000); /* it is accounted for */
	check_count(&s.result.spooled, 10, 20, 30, 40);
	shipping_finish(&s); /* it has ended */
	shipping_go(&s, "later");
	CHECK_EQ(s.nr_skipped, 0);
}

static void the_results_of_several_traces_are_added(void)
{
	world_new();
	s.is_new = true;
	world->is_unfinished = true;
	CHECK(shipping_fork(&s));
	shipping_go(&s, "a");
	shipping_go(&s, "b");
	shipping_finish(&s);
	CHECK_STR(world->log, "watch a unwatch watch b unwatch ");
	CHECK(!s.result.is_finished);
	CHECK(world->config.is_new);
	check_count(&s.result.shipped, 2, 4, 6, 8);
	CHECK_EQ(s.result.whole_coroutines, 18);
	CHECK_EQ(s.result.sample, 11);
}

static void make_file(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && close(fd) == 0);
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void ship_spool(bool is_spool, bool is_flight, bool is_unfinished, bool stays)
{
	char path[64], state[80];

	snprintf(path, sizeof(path), "/tmp/corotracer-test-%d.ct", (int)getpid());
	snprintf(state, sizeof(state), "%s.shipped", path);
	make_file(path);
	make_file(state);
	world_new();
	s.is_spool = is_spool;
	s.is_flight = is_flight;
	world->is_unfinished = is_unfinished;
	CHECK(shipping_fork(&s));
	shipping_go(&s, path);
	shipping_finish(&s);
	CHECK_EQ(world->config.spool_size, is_spool ? 1234 : 0);
	CHECK_EQ(is_there(path), stays);
	CHECK_EQ(is_there(state), stays);
	unlink(path);
	unlink(state);
}

static void a_spool_is_removed_when_all_has_arrived(void)
{
	ship_spool(true, false, false, false);
	ship_spool(true, false, true, true);
	ship_spool(false, true, false, false);
	ship_spool(false, true, true, true);
	ship_spool(false, false, false, true); /* a trace that the user keeps */
}

static const char *ship_and_fail(int runs, int no_punch)
{
	world_new();
	world->runs = runs;
	world->no_punch = no_punch;
	captured_begin(stderr);
	CHECK(shipping_fork(&s));
	shipping_go(&s, "t.ct");
	shipping_finish(&s);
	return captured_end();
}

static void trouble_is_told(void)
{
	CHECK_STR(ship_and_fail(-EIO, 0), "corotracer ship: cannot ship\n");
	CHECK_STR(ship_and_fail(-ENODATA, 0), ""); /* an empty trace */
	CHECK_STR(ship_and_fail(0, -EOPNOTSUPP),
		  "corotracer ship: no holes\nhint: the spool keeps its size until the run is "
		  "shipped; name a directory on another file system with --spool\n");
}

static void a_stop_ends_it_at_once(void)
{
	unsigned before = count_open();

	world_new();
	world->manner = MANNER_WAITS;
	captured_begin(stderr);
	CHECK(shipping_fork(&s));
	shipping_go(&s, "t.ct");
	shipping_go(&s, "not read any more");
	await_run();
	shipping_stop(&s);
	CHECK_STR(captured_end(), "corotracer ship: is away\n"
				  "corotracer ship: file:x accepts blocks again\n");
	CHECK_EQ(nr_polls, 1);
	CHECK(s.has_result);
	CHECK_STR(world->log, "watch t.ct unwatch ");
	check_all_is_gone(before);
	shipping_stop(&s);
}

/* It does not end in its time: a signal that asks, then one that cannot be blocked. */
static void one_that_does_not_end_is_ended(void)
{
	unsigned before = count_open();

	world_new();
	world->manner = MANNER_WAITS;
	captured_begin(stderr);
	CHECK(shipping_fork(&s));
	shipping_go(&s, "t.ct");
	await_run();
	stuck_polls = 2;
	shipping_finish(&s);
	captured_end();
	CHECK_EQ(nr_polls, 3);
	CHECK_EQ(waits[1], 0); /* the last look */
	CHECK_EQ(waits[2], 5001);
	CHECK(s.has_result);
	check_all_is_gone(before);
	world_new();
	world->manner = MANNER_DEAF;
	s.labels.sample = 3;
	saved = (struct ship_state){ .labels = { .run = "saved" },
				     .shipped = { 1, 10, 5, 1 },
				     .spooled = { 2, 20, 6, 2 },
				     .given_up = { 3, 30, 7, 3 },
				     .left_out = { 4, 40, 8, 4 } };
	CHECK(shipping_fork(&s));
	shipping_go(&s, "t.ct");
	await_run();
	stuck_polls = 4;
	shipping_finish(&s);
	check_all_is_gone(before);
	CHECK(!s.has_result);
	CHECK_STR(s.result.run, "saved");
	CHECK_EQ(s.result.sample, 3);
	check_count(&s.result.shipped, 1, 10, 5, 1);
	check_count(&s.result.spooled, 2, 20, 6, 2);
	check_count(&s.result.given_up, 3, 30, 7, 3);
	check_count(&s.result.left_out, 4, 40, 8, 4);
	shipping_settle(&s, 1000, 100);
	check_count(&s.result.spooled, 2, 920, 80, 2);
	s.is_flight = true; /* snapshots: the counts are those of other traces */
	shipping_settle(&s, 2000, 200);
	check_count(&s.result.spooled, 2, 920, 80, 2);
}

static void without_a_saved_state_nothing_arrived(void)
{
	world_new();
	world->manner = MANNER_DEAF;
	state_reads = 0;
	CHECK(shipping_fork(&s));
	s.result.whole_coroutines = 5; /* of an earlier run */
	kill(s.child, SIGKILL);
	shipping_finish(&s);
	CHECK(!s.has_result);
	CHECK_STR(s.result.run, "");
	CHECK_EQ(s.result.whole_coroutines, 0);
	shipping_settle(&s, 10, 1);
	check_count(&s.result.spooled, 0, 10, 1, 0);
}

static void a_process_that_cannot_be_started_leaves_nothing(void)
{
	unsigned before = count_open(), i;

	for (i = 1; i <= 2; i++) {
		world_new();
		pipe_fails = i;
		captured_begin(stderr);
		CHECK(!shipping_fork(&s));
		CHECK_STR(captured_end(),
			  "corotracer run: cannot make a pipe: Too many open files\n");
		CHECK_EQ(world->nr_closed, 1);
		check_all_is_gone(before);
	}
	world_new();
	has_no_process = true;
	captured_begin(stderr);
	CHECK(!shipping_fork(&s));
	CHECK_STR(captured_end(),
		  "corotracer run: cannot fork: Resource temporarily unavailable\n");
	has_no_process = false;
	CHECK_EQ(world->nr_closed, 1);
	CHECK_EQ(s.path_fd, -1);
	check_all_is_gone(before);
	/* Nor does one that was prepared only. */
	world_new();
	shipping_stop(&s);
	CHECK_EQ(world->nr_closed, 1);
	check_all_is_gone(before);
}

static void what_the_pipe_has_no_room_for_is_counted(void)
{
	char path[3000];
	unsigned i;

	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	world_new();
	world->manner = MANNER_DEAF;
	CHECK(shipping_fork(&s));
	for (i = 0; i < 40; i++)
		shipping_go(&s, path);
	CHECK(s.nr_skipped > 0 && s.nr_skipped < 40);
	kill(s.child, SIGKILL);
	shipping_finish(&s);
}

static void a_path_without_an_end_is_not_shipped(void)
{
	char path[PATH_MAX + 10];

	memset(path, 'x', sizeof(path));
	world_new();
	CHECK(shipping_fork(&s));
	CHECK_EQ(write(s.path_fd, path, sizeof(path)), sizeof(path));
	shipping_finish(&s);
	CHECK(s.has_result);
	CHECK_STR(world->log, "");
}

static void snapshots_get_names_of_their_own(void)
{
	char path[64], link_path[80];
	unsigned i;

	snprintf(path, sizeof(path), "/tmp/corotracer-test-%d.ct", (int)getpid());
	make_file(path);
	world_new();
	s.trace = path;
	shipping_snapshot(&s, path); /* without a process */
	CHECK_EQ(s.nr_links, 0);
	world->is_unfinished = true; /* they stay */
	CHECK(shipping_fork(&s));
	snprintf(link_path, sizeof(link_path), "%s.2.spool", path);
	make_file(link_path); /* the name is taken */
	shipping_snapshot(&s, path);
	shipping_snapshot(&s, path);
	shipping_snapshot(&s, "/tmp/other.jsonl"); /* not a format that can be shipped */
	CHECK_EQ(s.nr_skipped, 1);
	shipping_snapshot(&s, "/nonexistent/other.ct");
	CHECK_EQ(s.nr_skipped, 2);
	shipping_finish(&s);
	snprintf(link_path, sizeof(link_path),
		 "watch corotracer-test-%d.ct.1.spool unwatch watch corotracer-test-%d.ct.3.",
		 (int)getpid(), (int)getpid());
	CHECK(!strncmp(world->log, link_path, 60));
	CHECK(strstr(world->log, ".ct.3.spool unwatch ") != NULL);
	CHECK(!strstr(world->log, ".ct.2."));
	for (i = 1; i <= 3; i++) {
		snprintf(link_path, sizeof(link_path), "%s.%u.spool", path, i);
		CHECK_EQ(unlink(link_path), 0);
	}
	unlink(path);
}

int main(void)
{
	alarm(20);
	own_pid = getpid();
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	RUN(a_trace_is_shipped_until_the_end);
	RUN(the_results_of_several_traces_are_added);
	RUN(a_spool_is_removed_when_all_has_arrived);
	RUN(trouble_is_told);
	RUN(a_stop_ends_it_at_once);
	RUN(one_that_does_not_end_is_ended);
	RUN(without_a_saved_state_nothing_arrived);
	RUN(a_process_that_cannot_be_started_leaves_nothing);
	RUN(what_the_pipe_has_no_room_for_is_counted);
	RUN(a_path_without_an_end_is_not_shipped);
	RUN(snapshots_get_names_of_their_own);
	return 0;
}
