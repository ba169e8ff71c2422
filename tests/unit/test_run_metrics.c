/* SPDX-License-Identifier: MIT */
/*
 * test_run_metrics.c - the process that serves metrics: its address, its life, what it says.
 *
 * The trace and the HTTP server are the test's; the process and its signals are real.
 */
#include "run_metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory_shortage.h"
#include "captured.h"
#include "cmd.h"
#include "count_open.h"
#include "serve/server.h"

/* Shared with the process. */
static struct {
	int inits, follows, starts;
	int reads[8]; /* what each reading returns; the last one is repeated */
	bool has_no_library, is_short;
	unsigned nr_reads, nr_finished, nr_polls;
	int waits[8];
	int nice;
	pid_t group, collector;
	bool has_wrong_signals;
	size_t sites;
	char name[32], host[32], log[512];
	char asked[64];
	uint16_t port;
} * world;

static bool has_no_sockets, has_no_process;
static struct run_metrics m;

static void note(const char *text)
{
	size_t used = strlen(world->log);

	snprintf(world->log + used, sizeof(world->log) - used, "%s ", text);
}

int __real_socketpair(int domain, int type, int protocol, int fds[2]);
int __wrap_socketpair(int domain, int type, int protocol, int fds[2]);
int __wrap_socketpair(int domain, int type, int protocol, int fds[2])
{
	errno = EMFILE;
	return has_no_sockets ? -1 : __real_socketpair(domain, type, protocol, fds);
}

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
	errno = EAGAIN;
	return has_no_process ? -1 : __real_fork();
}

int __real_poll(struct pollfd *fds, nfds_t nr, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t nr, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t nr, int ms)
{
	if (world->nr_polls < 8)
		world->waits[world->nr_polls] = ms;
	__atomic_fetch_add(&world->nr_polls, 1, __ATOMIC_RELEASE);
	return __real_poll(fds, nr, ms > 0 ? 1 : ms);
}

int listener_open(struct listener *l, const char *address, uint16_t port, struct err *err)
{
	snprintf(world->asked, sizeof(world->asked), "%s", address ? address : "default");
	world->port = port;
	if (port == 1)
		return err_set(err, -EACCES, "cannot listen");
	*l = (struct listener){ .fd = 99, .port = port, .name = "127.0.0.1" };
	l->is_loopback = !address || !strcmp(address, "127.0.0.1");
	return 0;
}

void listener_close(struct listener *l)
{
	l->fd = -1;
}

const char *server_library(void)
{
	return world->has_no_library ? NULL : "1.0";
}

int metrics_init(struct metrics *metrics, const char *path, size_t sites_max, struct err *err)
{
	memset(metrics, 0, sizeof(*metrics));
	CHECK_STR(path, "t.jsonl");
	world->sites = sites_max;
	note("init");
	return world->inits ? err_set(err, world->inits, "no metrics") : 0;
}

void metrics_release(struct metrics *metrics)
{
	world->collector = metrics->collector;
	snprintf(world->host, sizeof(world->host), "%.30s", metrics->labels.host);
	note("release");
}

int metrics_read(struct metrics *metrics, struct trace_reader *reader, struct err *err)
{
	int rc = world->reads[world->nr_reads < 7 ? world->nr_reads : 7];
	sigset_t mask;

	(void)metrics;
	CHECK(reader != NULL);
	CHECK(!world->nr_finished);
	world->nr_reads++;
	world->nice = getpriority(PRIO_PROCESS, 0);
	world->group = getpgid(0);
	prctl(PR_GET_NAME, world->name);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	world->has_wrong_signals |= !sigismember(&mask, SIGINT) || !sigismember(&mask, SIGHUP) ||
				    !sigismember(&mask, SIGTERM) || sigismember(&mask, SIGQUIT) ||
				    signal(SIGPIPE, SIG_IGN) != SIG_IGN;
	if (world->is_short)
		memory_shortage_note();
	return rc < 0 && rc != -EAGAIN ? err_set(err, rc, "cannot read the trace") : rc;
}

void metrics_finish(struct metrics *metrics)
{
	(void)metrics;
	world->nr_finished++;
}

struct metrics_server *metrics_server_start(const struct listener *l, struct metrics *metrics,
					    struct err *err)
{
	(void)l;
	(void)metrics;
	note("start");
	if (!world->starts)
		return (struct metrics_server *)world;
	err_set(err, world->starts, "no server");
	return NULL;
}

void metrics_server_stop(struct metrics_server *server)
{
	note(server ? "stop" : "stop-none");
}

struct trace_reader *trace_reader_follow(const char *path, struct err *err)
{
	CHECK_STR(path, "t.jsonl");
	note("follow");
	if (!world->follows)
		return (struct trace_reader *)world;
	err_set(err, world->follows, "no trace");
	return NULL;
}

void trace_reader_close(struct trace_reader *reader)
{
	CHECK((void *)reader == (void *)world);
	note("close");
}

/* ---- addresses ----------------------------------------------------------------------------- */

static void world_new(const char *address)
{
	memset(world, 0, sizeof(*world));
	for (size_t i = 0; i < 8; i++)
		world->reads[i] = -EAGAIN;
	m = (struct run_metrics){ .address = address, .command = "run", .trace = "t.jsonl" };
	m.is_collected = true;
	m.sites = 12;
}

/* "host port", or what was said. */
static const char *prepare(const char *address, int status)
{
	static char text[512];
	const char *said;

	world_new(address);
	captured_begin(stderr);
	CHECK_EQ(run_metrics_prepare(&m, false, false), status);
	said = captured_end();
	CHECK_EQ(m.go_fd, -1);
	snprintf(text, sizeof(text), "%s %u %.400s", world->asked, world->port, said);
	return text;
}

static void an_address_is_a_port_with_or_without_a_host(void)
{
	static const char *const wrong[] = { "",        "x",     ":",    ":9100", "host:", "9100x",
					     "h:65536", "65536", "h:-1", "h: 1",  "+1" };
	char wanted[256], longest[128];
	size_t i;

	CHECK_STR(prepare("9100", -1), "default 9100 ");
	CHECK_STR(prepare("0", -1), "default 0 ");
	CHECK_STR(prepare("65535", -1), "default 65535 ");
	CHECK_STR(prepare("127.0.0.1:9100", -1), "127.0.0.1 9100 ");
	CHECK_STR(prepare("[::1]:9", -1),
		  "::1 9 corotracer run: warning: other machines can reach ::1 and read the "
		  "metrics\n");
	CHECK_STR(prepare("[::1:9", -1), "[::1 9 corotracer run: warning: other machines can reach "
					 "[::1 and read the metrics\n");
	CHECK_STR(prepare("1", EXIT_FAILED), "default 1 corotracer run: cannot listen\n");
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(wanted, sizeof(wanted),
			 " 0 corotracer run: invalid value '%s' for --metrics: expected "
			 "[HOST:]PORT\n",
			 wrong[i]);
		CHECK_STR(prepare(wrong[i], EXIT_USAGE), wanted);
	}
	/* A host of 63 characters is the longest. */
	snprintf(longest, sizeof(longest), "%063d:9", 0);
	CHECK_EQ(strlen(prepare(longest, -1)) > 63, true);
	snprintf(longest, sizeof(longest), "%064d:9", 0);
	prepare(longest, EXIT_USAGE);
	/* Not wanted. */
	world_new(NULL);
	CHECK_EQ(run_metrics_prepare(&m, true, true), -1);
	CHECK_EQ(m.listener.fd, -1);
	CHECK(run_metrics_fork(&m));
	run_metrics_go(&m);
	run_metrics_end(&m);
	CHECK_STR(world->asked, "");
}

static const char *refused(const char *trace, bool is_ctf, bool is_flight, int status)
{
	m.trace = trace;
	captured_begin(stderr);
	CHECK_EQ(run_metrics_prepare(&m, is_ctf, is_flight), status);
	return captured_end();
}

static void only_a_file_that_grows_can_be_followed(void)
{
	world_new("9100");
	CHECK_STR(refused("/nonexistent/new", false, false, -1), "");
	CHECK_STR(refused("/proc/self/exe", false, false, -1), "");
	CHECK_STR(refused("-", false, false, EXIT_USAGE),
		  "corotracer run: --metrics follows the trace, which has to be a file\n"
		  "hint: name one with -o\n");
	CHECK_STR(refused("/dev/null", false, false, EXIT_USAGE),
		  "corotracer run: --metrics follows the trace, which has to be a file\n"
		  "hint: name one with -o\n");
	m.is_collected = false; /* an operand: the reader says what it is */
	CHECK_STR(refused("/dev/null", false, false, -1), "");
	CHECK_STR(refused("x", true, false, EXIT_USAGE),
		  "corotracer run: --metrics follows the trace, and of CTF only a finished one can "
		  "be read\nhint: choose another format: -o trace.ct\n");
	CHECK_STR(refused("x", false, true, EXIT_USAGE),
		  "corotracer run: --metrics follows the trace, and a flight recorder writes none "
		  "meanwhile\nhint: leave out --flight-recorder\n");
	world->has_no_library = true;
	CHECK_STR(refused("x", false, false, EXIT_USAGE),
		  "corotracer run: --metrics needs libmicrohttpd, which this corotracer was built "
		  "without\nhint: install libmicrohttpd-dev, and build again\n");
}

static void labels_are_those_of_the_user(void)
{
	struct ship_options o = { .service = "s", .version = NULL, .host = "h", .region = "r" };

	world_new("9100");
	snprintf(m.labels.version, sizeof(m.labels.version), "old");
	run_metrics_set_labels(&m, &o);
	CHECK_STR(m.labels.service, "s");
	CHECK_STR(m.labels.version, "");
	CHECK_STR(m.labels.host, "h");
	CHECK_STR(m.labels.region, "r");
}

/* ---- the process --------------------------------------------------------------------------- */

static void check_no_child(void)
{
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
}

static void await_polls(unsigned nr)
{
	unsigned i;

	for (i = 0; i < 2000 && __atomic_load_n(&world->nr_polls, __ATOMIC_ACQUIRE) < nr; i++)
		usleep(2000);
	CHECK(world->nr_polls >= nr);
}

/* Serve until the process has polled @polls times, or has ended (0); what was said. */
static const char *serve(unsigned polls)
{
	unsigned before = count_open();
	siginfo_t info;
	const char *said;

	captured_begin(stderr);
	m.listener = (struct listener){ .fd = 99, .port = 9100, .name = "127.0.0.1" };
	m.go_fd = -1;
	CHECK(run_metrics_fork(&m));
	CHECK(m.child > 0);
	CHECK_EQ(m.listener.fd, -1);
	usleep(5000);
	CHECK_STR(world->log, ""); /* there is no trace yet */
	run_metrics_go(&m);
	CHECK_EQ(m.go_fd, -1);
	run_metrics_go(&m);
	if (polls) {
		await_polls(polls);
		CHECK_EQ(world->group, m.child);
	} else {
		CHECK_EQ(waitid(P_PID, (id_t)m.child, &info, WEXITED | WNOWAIT), 0);
	}
	run_metrics_end(&m);
	CHECK_EQ(m.child, 0);
	said = captured_end();
	CHECK_EQ(count_open(), before);
	check_no_child();
	return said;
}

#define HELLO "corotracer run: metrics are at http://127.0.0.1:9100/metrics\n"

static void a_growing_trace_is_read_until_the_end_of_the_run(void)
{
	world_new("9100");
	snprintf(m.labels.host, sizeof(m.labels.host), "machine");
	world->reads[0] = world->reads[1] = 1; /* there is more */
	world->reads[2] = -EAGAIN;
	world->reads[3] = 1;
	world->reads[4] = -EAGAIN;
	CHECK_STR(serve(8), HELLO);
	CHECK_STR(world->log, "init follow start stop close release ");
	CHECK_EQ(world->sites, 12);
	CHECK_EQ(world->nr_finished, 0);
	CHECK_EQ(world->waits[0], 0);
	CHECK_EQ(world->waits[1], 0);
	CHECK_EQ(world->waits[2], 0);
	CHECK_EQ(world->waits[3], 100);
	CHECK_EQ(world->waits[4], 0);
	CHECK_EQ(world->waits[5], 100);
	CHECK(!world->has_wrong_signals);
	CHECK_EQ(world->nice >= 5, true);
	CHECK_STR(world->name, "corotracer-stat");
	CHECK_STR(world->host, "machine");
	CHECK_EQ(world->collector, getpid());
}

static void after_the_end_of_the_trace_it_only_serves(void)
{
	world_new("9100");
	m.is_collected = false;
	world->reads[0] = 1;
	world->reads[1] = 0; /* the end */
	CHECK_STR(serve(3), HELLO);
	CHECK_EQ(world->nr_reads, 2);
	CHECK_EQ(world->nr_finished, 1);
	CHECK_EQ(world->waits[2], -1); /* until a signal */
	CHECK_EQ(world->collector, 0);
	world_new("9100");
	world->reads[0] = -EIO;
	CHECK_STR(serve(2), HELLO "corotracer run: cannot read the trace\n");
	CHECK_EQ(world->nr_reads, 1);
	CHECK_EQ(world->nr_finished, 1);
	CHECK_EQ(world->waits[1], -1);
	world_new("9100");
	world->is_short = true;
	CHECK_STR(serve(5), HELLO "corotracer run: memory ran out: the metrics are not complete\n");
}

static void failures_are_told(void)
{
	world_new("9100");
	world->inits = -ENOMEM;
	CHECK_STR(serve(0), HELLO "corotracer run: no metrics\n");
	CHECK_STR(world->log, "init release ");
	world_new("9100");
	world->follows = -ENOENT;
	CHECK_STR(serve(0), HELLO "corotracer run: no trace\n");
	CHECK_STR(world->log, "init follow release ");
	world_new("9100");
	world->starts = -EMFILE;
	CHECK_STR(serve(0), HELLO "corotracer run: no server\n");
	CHECK_STR(world->log, "init follow start stop-none close release ");
}

static void without_a_trace_the_process_ends(void)
{
	unsigned before = count_open();

	world_new("9100");
	captured_begin(stderr);
	CHECK(run_metrics_fork(&m));
	CHECK(fcntl(m.go_fd, F_GETFD) & FD_CLOEXEC);
	run_metrics_end(&m);
	CHECK_EQ(m.go_fd, -1);
	CHECK_STR(captured_end(), "corotracer run: metrics are at http://:0/metrics\n");
	CHECK_STR(world->log, "");
	check_no_child();
	CHECK_EQ(count_open(), before);
}

static void a_process_that_is_gone_cannot_be_reached(void)
{
	siginfo_t info;

	world_new("9100");
	captured_begin(stderr);
	CHECK(run_metrics_fork(&m));
	captured_end();
	kill(m.child, SIGKILL);
	CHECK_EQ(waitid(P_PID, (id_t)m.child, &info, WEXITED | WNOWAIT), 0);
	captured_begin(stderr);
	run_metrics_go(&m); /* without SIGPIPE */
	CHECK_STR(captured_end(), "corotracer run: no metrics: cannot reach their process\n");
	run_metrics_end(&m);
	check_no_child();
}

static void a_process_that_cannot_be_started_leaves_nothing(void)
{
	unsigned before = count_open();

	world_new("9100");
	has_no_sockets = true;
	captured_begin(stderr);
	CHECK(!run_metrics_fork(&m));
	CHECK_STR(captured_end(),
		  "corotracer run: cannot make a pair of sockets: Too many open files\n");
	has_no_sockets = false;
	has_no_process = true;
	captured_begin(stderr);
	CHECK(!run_metrics_fork(&m));
	CHECK_STR(captured_end(),
		  "corotracer run: cannot fork: Resource temporarily unavailable\n");
	has_no_process = false;
	CHECK_EQ(m.child, 0);
	CHECK_EQ(m.go_fd, -1);
	CHECK_EQ(count_open(), before);
	run_metrics_end(&m);
}

int main(void)
{
	alarm(30);
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	RUN(an_address_is_a_port_with_or_without_a_host);
	RUN(only_a_file_that_grows_can_be_followed);
	RUN(labels_are_those_of_the_user);
	RUN(a_growing_trace_is_read_until_the_end_of_the_run);
	RUN(after_the_end_of_the_trace_it_only_serves);
	RUN(failures_are_told);
	RUN(without_a_trace_the_process_ends);
	RUN(a_process_that_is_gone_cannot_be_reached);
	RUN(a_process_that_cannot_be_started_leaves_nothing);
	return 0;
}
