/* SPDX-License-Identifier: MIT */
/*
 * test_run_server.c - what `serve` and `run --serve` say and do from the first line to Ctrl-C.
 *
 * The trace, the HTTP server, the browser and the clock are the test's, which writes down every
 * call; signals and the child process of `run --serve` are real.
 */
#include "run_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "captured.h"
#include "cmd.h"
#include "count_open.h"
#include "json_file.h"
#include "page/page.h"

#define URL "http://127.0.0.1:8080/secret/"

/* Shared with the child. */
static struct {
	uint64_t now;
	unsigned nr_polls;
	/* What is to happen. */
	int listens, opens, reads, starts, steps[64], shows, page;
	bool grows, has_no_library, is_known;
	unsigned signal_at; /* the poll at which @signal comes; 0: none */
	int signal;
	unsigned ends_at;    /* the step that reads the end; 0: none */
	unsigned more_until; /* steps before this one leave something to read */
	unsigned visited_at; /* the poll before the first visit; 0: none */
	bool has_ended;
	int fails;
	bool really_waits; /* polls take time: a signal comes from another process */
	/* What has happened. */
	unsigned nr_steps, nr_ticks, nr_beats, nr_sweeps, nr_removed;
	uint64_t silent, lost;
	bool was_asked;
	int waits[64];
	char log[2048];
} * world;

static pid_t own_pid;
static struct trace_stats stats;
static int server_object, view_object;

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
	size_t used = strlen(world->log);
	va_list args;

	va_start(args, fmt);
	vsnprintf(world->log + used, sizeof(world->log) - used, fmt, args);
	va_end(args);
}

/* ---- clock and polls ----------------------------------------------------------------- */

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	*t = (struct timespec){ (time_t)(world->now / NS_PER_SEC),
				(long)(world->now % NS_PER_SEC) };
	return 0;
}

int __real_poll(struct pollfd *fds, nfds_t nr, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t nr, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t nr, int ms)
{
	CHECK(++world->nr_polls < 100000);
	if (world->nr_polls < 64)
		world->waits[world->nr_polls] = ms;
	world->now += (uint64_t)ms * NS_PER_MS;
	if (world->signal_at && getpid() == own_pid && world->nr_polls >= world->signal_at) {
		world->signal_at = 0;
		raise(world->signal);
	}
	return __real_poll(fds, nr, world->really_waits ? 10 : 0);
}

static bool has_no_pipe, has_no_process;

int __real_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags)
{
	errno = EMFILE;
	return has_no_pipe ? -1 : __real_pipe2(fds, flags);
}

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
	errno = EAGAIN;
	return has_no_process ? -1 : __real_fork();
}

/* ---- trace and server -------------------------------------------------------------------- */

int listener_open(struct listener *l, const char *address, uint16_t port, struct err *err)
{
	if (world->listens < 0)
		return err_set(err, world->listens, "cannot listen");
	*l = (struct listener){ .fd = 99, .port = port, .url = URL };
	l->is_loopback = !strcmp(address, "127.0.0.1");
	return 0;
}

void listener_close(struct listener *l)
{
	l->fd = -1;
	note("unlisten ");
}

int feed_open(struct feed *f, const char *path, struct err *err)
{
	memset(f, 0, sizeof(*f));
	CHECK_STR(path, "t.jsonl");
	note("open ");
	f->view = (struct view *)&view_object;
	f->reader = (struct trace_reader *)&view_object;
	return world->opens ? err_set(err, world->opens, "cannot open") : 0;
}

bool feed_grows(const struct feed *f)
{
	CHECK(f->reader != NULL);
	return world->grows;
}

int feed_read_all(struct feed *f, const char *name, struct err *err)
{
	sigset_t mask;

	CHECK_STR(name, "t.jsonl");
	sigprocmask(SIG_BLOCK, NULL, &mask);
	CHECK(!sigismember(&mask, SIGINT)); /* Ctrl-C ends the reading */
	note("read ");
	f->reader = NULL;
	return world->reads ? err_set(err, world->reads, "cannot read") : 0;
}

int feed_step(struct feed *f, struct err *err)
{
	int rc = world->nr_steps < 63 ? world->steps[world->nr_steps] : 0;

	world->nr_steps++;
	f->has_more = world->nr_steps < world->more_until;
	if (world->nr_steps == world->ends_at) {
		f->reader = NULL;
		f->ended = world->has_ended;
	}
	return rc < 0 ? err_set(err, rc, "step failed") : rc;
}

void feed_set_collector(struct feed *f, uint64_t silent_ns, uint64_t lost)
{
	CHECK(f->reader != NULL);
	world->silent = silent_ns;
	world->lost = lost;
}

void feed_close(struct feed *f)
{
	(void)f;
	note("close ");
}

const struct trace_stats *view_stats(const struct view *v)
{
	CHECK((const void *)v == (const void *)&view_object);
	return &stats;
}

struct server *server_start(const struct listener *l, struct feed *f, struct err *err)
{
	sigset_t mask;

	(void)f;
	CHECK_STR(l->url, URL);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	CHECK(sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM) &&
	      sigismember(&mask, SIGHUP) && !sigismember(&mask, SIGQUIT));
	note("start ");
	if (!world->starts)
		return (struct server *)&server_object;
	err_set(err, world->starts, "cannot serve");
	return NULL;
}

void server_ticked(struct server *s)
{
	CHECK((void *)s == (void *)&server_object);
	world->nr_ticks++;
}

void server_beat(struct server *s)
{
	CHECK((void *)s == (void *)&server_object);
	world->nr_beats++;
}

void server_sweep(struct server *s)
{
	CHECK((void *)s == (void *)&server_object);
	world->nr_sweeps++;
}

bool server_was_visited(struct server *s)
{
	(void)s;
	return world->visited_at && world->nr_polls >= world->visited_at;
}

void server_stop(struct server *s)
{
	CHECK((void *)s == (void *)&server_object);
	note("stop ");
}

const char *server_library(void)
{
	return world->has_no_library ? NULL : "1.0";
}

int page_embedded(const char *name, struct html_page *page, struct err *err)
{
	(void)page;
	CHECK_STR(name, "index");
	return world->page ? err_set(err, world->page, "no page") : 0;
}

int open_page_show(struct open_page *o, const char *url, struct err *err)
{
	CHECK_STR(url, URL);
	snprintf(o->file, sizeof(o->file), "file");
	note("show ");
	return world->shows ? err_set(err, world->shows, "no browser") : 0;
}

void open_page_remove(struct open_page *o)
{
	o->file[0] = '\0';
	world->nr_removed++;
}

void collector_watch_start(struct collector_watch *w, const char *trace)
{
	(void)w;
	CHECK_STR(trace, "t.jsonl");
	note("watch ");
}

int collector_watch_failed(struct collector_watch *w)
{
	int failed = world->fails;

	(void)w;
	world->was_asked = true;
	world->fails = 0;
	return failed;
}

bool collector_watch_get(struct collector_watch *w, uint64_t *silent_ns, uint64_t *lost)
{
	(void)w;
	*silent_ns = 5;
	*lost = 6;
	return world->is_known;
}

void collector_watch_stop(struct collector_watch *w)
{
	(void)w;
	note("unwatch ");
}

/* ---- runs ---------------------------------------------------------------------------------- */

static struct serving s;

static void world_new(bool grows, unsigned signal_at)
{
	memset(world, 0, sizeof(*world));
	world->now = 100 * NS_PER_SEC;
	world->grows = grows;
	world->signal = SIGINT;
	world->signal_at = signal_at;
	memset(&stats, 0, sizeof(stats));
	stats.completeness.has_totals = true;
	s = (struct serving){ .command = "serve", .trace = "t.jsonl", .go_fd = -1 };
	s.listener = (struct listener){ .fd = 99, .port = 8080, .url = URL };
}

/* Signals as before a run: the pending one was not read. */
static void forget_signals(void)
{
	const struct timespec none = { 0, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	while (sigtimedwait(&set, NULL, &none) > 0)
		;
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Serve; returns what was written to @stream. */
static const char *serve(int status, FILE *stream)
{
	unsigned before = count_open();
	const char *said;

	captured_begin(stream);
	CHECK_EQ(serving_run(&s), status);
	said = captured_end();
	CHECK_EQ(count_open(), before);
	forget_signals();
	return said;
}

static void a_finished_trace_is_served_until_a_signal(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	size_t i;

	for (i = 0; i < 3; i++) {
		world_new(false, 25);
		world->signal = signals[i];
		CHECK_STR(serve(EXIT_OK, stderr), "corotracer serve: serving; Ctrl-C ends it\n");
		CHECK_STR(world->log, "open read start stop close unlisten ");
		CHECK_EQ(world->nr_polls, 25);
		CHECK_EQ(world->waits[1], 1000);
		CHECK_EQ(world->nr_sweeps, 25);
		CHECK_EQ(world->nr_ticks, 0);
		CHECK_EQ(world->nr_beats, 2); /* after 10 and 20 seconds */
		CHECK(!world->was_asked);
	}
	CHECK(signal(SIGPIPE, SIG_DFL) == SIG_IGN);
	world_new(false, 1);
	s.quiet = true;
	CHECK_STR(serve(EXIT_OK, stderr), "");
	world_new(false, 1);
	CHECK_STR(serve(EXIT_OK, stdout), URL "\n");
	world_new(false, 1);
	s.json = true;
	CHECK_STR(serve(EXIT_OK, stdout), "{\"url\":\"" URL "\",\"port\":8080,\"trace\":"
					  "\"t.jsonl\",\"live\":false}\n");
}

/* Readers of the file of --json=FILE need the URL before the end. */
static void the_file_of_the_url_is_complete_at_once(void)
{
	char path[64], text[256];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/corotracer-test-%d.json", (int)getpid());
	world_new(false, 1);
	s.json = true;
	json_file_set(path);
	serve(EXIT_OK, stdout);
	f = fopen(path, "r");
	CHECK(f && fgets(text, sizeof(text), f) && fclose(f) == 0);
	CHECK(strstr(text, "\"url\":\"" URL "\"") != NULL);
	CHECK_EQ(unlink(path), 0);
	json_file_set(NULL);
}

static void what_a_trace_lacks_is_told(void)
{
	world_new(false, 1);
	stats.completeness.expected = 10;
	stats.completeness.read = 7;
	s.quiet = true;
	CHECK_STR(serve(EXIT_OK, stderr), "corotracer serve: the trace is incomplete: 3 of 10 "
					  "transitions are missing; the page says so\n");
	/* Of one that grows, at its end. */
	world_new(true, 10);
	stats.completeness.expected = 10;
	stats.completeness.read = 7;
	world->ends_at = 3;
	world->has_ended = true;
	CHECK_STR(serve(EXIT_OK, stderr),
		  "corotracer serve: following a trace that is being written; Ctrl-C ends it\n"
		  "corotracer serve: the trace is incomplete: 3 of 10 transitions are missing; the "
		  "page says so\n"
		  "corotracer serve: the trace has ended; the page stays until Ctrl-C\n");
}

static void a_growing_trace_is_followed(void)
{
	world_new(true, 10);
	world->steps[0] = world->steps[2] = 1;
	world->steps[4] = -EIO;
	world->more_until = 2;
	world->ends_at = 7;
	world->has_ended = true;
	world->is_known = true;
	world->fails = -EMFILE;
	CHECK_STR(serve(EXIT_OK, stderr),
		  "corotracer serve: following a trace that is being written; Ctrl-C ends it\n"
		  "corotracer serve: warning: cannot ask the collector: Too many open files; the "
		  "page may not show that it is stopped, or what it lost\n"
		  "corotracer serve: step failed\n"
		  "corotracer serve: the trace is complete; the page stays until Ctrl-C\n");
	CHECK_STR(world->log, "open start watch unwatch stop close unlisten ");
	CHECK_EQ(world->nr_steps, 10);
	CHECK_EQ(world->nr_ticks, 3); /* the page learns of a failure, too */
	CHECK_EQ(world->waits[1], 0); /* there was more to read */
	CHECK_EQ(world->waits[2], 50);
	CHECK_EQ(world->waits[6], 50);
	CHECK_EQ(world->waits[7], 1000); /* the end is read */
	CHECK_EQ(world->silent, 5);
	CHECK_EQ(world->lost, 6);
	world_new(true, 3);
	CHECK_STR(serve(EXIT_OK, stdout), URL "\n");
	CHECK_EQ(world->lost, 0); /* nothing is known of the collector */
	world_new(true, 3);
	s.json = true;
	CHECK(strstr(serve(EXIT_OK, stdout), "\"live\":true}") != NULL);
	/* It ended without an end: nothing is said of it. */
	world_new(true, 3);
	s.quiet = true;
	world->ends_at = 2;
	CHECK_STR(serve(EXIT_OK, stderr), "");
	world_new(true, 3);
	s.quiet = true;
	world->ends_at = 2;
	world->has_ended = true;
	CHECK_STR(serve(EXIT_OK, stderr), "");
}

static void a_browser_is_opened_if_asked(void)
{
	world_new(false, 4);
	s.open = true;
	world->visited_at = 2;
	CHECK_STR(serve(EXIT_OK, stdout), URL "\n");
	CHECK_STR(world->log, "open read start show stop close unlisten ");
	CHECK_EQ(world->nr_removed, 3); /* in two rounds after the visit, and at the end */
	world_new(false, 4);
	s.open = true;
	world->shows = -ENOENT;
	s.quiet = true;
	CHECK_STR(serve(EXIT_OK, stderr),
		  "corotracer serve: no browser\nhint: open the printed URL yourself\n");
	CHECK_EQ(world->nr_removed, 1); /* at the end */
	world_new(false, 1);
	s.quiet = true;
	world->page = -ENOTSUP;
	CHECK_STR(serve(EXIT_OK, stderr), "corotracer serve: no page\n");
}

static void failures_are_told(void)
{
	world_new(false, 1);
	world->opens = -ENOENT;
	CHECK_STR(serve(EXIT_FAILED, stderr), "corotracer serve: cannot open\n");
	CHECK_STR(world->log, "open close unlisten ");
	world_new(false, 1);
	world->reads = -EIO;
	CHECK_STR(serve(EXIT_FAILED, stderr), "corotracer serve: cannot read\n");
	CHECK_STR(world->log, "open read close unlisten ");
	world_new(false, 1);
	world->starts = -EMFILE;
	CHECK_STR(serve(EXIT_FAILED, stderr), "corotracer serve: cannot serve\n");
	CHECK_STR(world->log, "open read start close unlisten ");
	CHECK_EQ(world->nr_polls, 0);
}

static const char *listen_at(const char *address, bool result)
{
	captured_begin(stderr);
	s.go_fd = 7;
	CHECK_EQ(serving_listen(&s, address, 1234), result);
	CHECK_EQ(s.go_fd, -1);
	return captured_end();
}

static void an_address_that_others_can_reach_is_told(void)
{
	world_new(false, 1);
	CHECK_STR(listen_at("127.0.0.1", true), "");
	CHECK_EQ(s.listener.port, 1234);
	CHECK_STR(listen_at("0.0.0.0", true),
		  "corotracer serve: warning: other machines can reach 0.0.0.0: with the URL they "
		  "can read the trace, and the connection is not encrypted\n");
	world->listens = -EADDRINUSE;
	CHECK_STR(listen_at("127.0.0.1", false), "corotracer serve: cannot listen\n");
}

/* ---- for a collector ------------------------------------------------------------------- */

static const char *follow(const char *output, bool is_ctf, bool is_flight, bool result)
{
	captured_begin(stderr);
	CHECK_EQ(serving_can_follow("run", output, is_ctf, is_flight), result);
	return captured_end();
}

static void only_a_file_of_lines_can_be_followed(void)
{
	world_new(false, 1);
	CHECK_STR(follow("/nonexistent/new", false, false, true), "");
	CHECK_STR(follow("/proc/self/exe", false, false, true), ""); /* a file */
	CHECK_STR(follow("-", false, false, false),
		  "corotracer run: --serve follows the trace, which has to be a file\n"
		  "hint: name one with -o\n");
	CHECK_STR(follow("/dev/null", false, false, false),
		  "corotracer run: --serve follows the trace, which has to be a file\n"
		  "hint: name one with -o\n");
	CHECK_STR(follow("x", true, false, false),
		  "corotracer run: --serve follows the trace, and of CTF only a finished one can "
		  "be read\nhint: choose JSON lines: -o trace.jsonl\n");
	CHECK_STR(follow("x", false, true, false),
		  "corotracer run: --serve follows the trace, and a flight recorder writes none "
		  "meanwhile\nhint: leave out --flight-recorder, or look with 'corotracer top'\n");
	world->has_no_library = true;
	CHECK_STR(follow("x", false, false, false),
		  "corotracer run: --serve needs libmicrohttpd, which this corotracer was built "
		  "without\nhint: install libmicrohttpd-dev, and build again\n");
}

static void check_no_child(void)
{
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
}

/* Wait until the child has served for some rounds. */
static void await_child(void)
{
	unsigned i;

	for (i = 0; i < 2000 && __atomic_load_n(&world->nr_polls, __ATOMIC_ACQUIRE) < 3; i++)
		usleep(5000);
	CHECK(world->nr_polls >= 3);
}

static void a_child_serves_until_the_run_is_over(void)
{
	unsigned before = count_open();

	world_new(true, 0);
	world->really_waits = true;
	captured_begin(stderr);
	CHECK(serving_fork(&s));
	CHECK(s.child > 0);
	CHECK(s.go_fd >= 0);
	CHECK(fcntl(s.go_fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(s.listener.fd, -1); /* it is the child's */
	usleep(20000);
	CHECK(!strstr(world->log, "open")); /* there is no trace yet */
	serving_go(&s);
	CHECK_EQ(s.go_fd, -1);
	serving_go(&s); /* nothing to do */
	await_child();
	CHECK_EQ(getpgid(s.child), s.child);
	serving_end(&s, false);
	CHECK_EQ(s.child, 0);
	CHECK_STR(captured_end(), ""); /* the collector speaks */
	CHECK(strstr(world->log, "open start watch unwatch stop close unlisten ") != NULL);
	check_no_child();
	CHECK_EQ(count_open(), before);
	serving_end(&s, true); /* it has ended */
	CHECK_EQ(count_open(), before);
}

static void without_a_trace_the_child_ends(void)
{
	unsigned before = count_open();

	world_new(true, 0);
	CHECK(serving_fork(&s));
	serving_end(&s, false);
	CHECK_EQ(s.go_fd, -1);
	CHECK(!strstr(world->log, "open"));
	check_no_child();
	CHECK_EQ(count_open(), before);
}

static void a_child_that_cannot_be_started_leaves_nothing(void)
{
	unsigned before = count_open();

	world_new(true, 0);
	has_no_pipe = true;
	captured_begin(stderr);
	CHECK(!serving_fork(&s));
	CHECK_STR(captured_end(), "corotracer serve: cannot make a pipe: Too many open files\n");
	has_no_pipe = false;
	has_no_process = true;
	captured_begin(stderr);
	CHECK(!serving_fork(&s));
	CHECK_STR(captured_end(),
		  "corotracer serve: cannot fork: Resource temporarily unavailable\n");
	has_no_process = false;
	CHECK_EQ(s.child, 0);
	CHECK_EQ(s.go_fd, -1); /* it is not closed again */
	CHECK_EQ(count_open(), before);
	serving_end(&s, true);
	check_no_child();
}

/* A collector that waits for Ctrl-C while its child serves. */
static void stay(int sig)
{
	sigset_t mask, pending;

	world_new(true, 0);
	world->really_waits = true;
	CHECK(serving_fork(&s));
	serving_go(&s);
	await_child();
	if (sig) {
		world->signal = sig;
		__atomic_store_n(&world->signal_at, 1, __ATOMIC_RELEASE);
	} else {
		kill(s.child, SIGKILL);
	}
	captured_begin(stderr);
	serving_end(&s, true);
	CHECK_STR(captured_end(), "corotracer serve: the page stays at " URL " until Ctrl-C\n");
	sigprocmask(SIG_BLOCK, NULL, &mask);
	sigpending(&pending);
	CHECK(!sigismember(&mask, SIGINT) && !sigismember(&mask, SIGTERM) &&
	      !sigismember(&mask, SIGHUP));
	CHECK(!sigismember(&pending, SIGINT));
	check_no_child();
}

static void a_page_stays_until_a_signal(void)
{
	unsigned before = count_open();

	stay(SIGINT);
	stay(SIGTERM);
	stay(SIGHUP);
	stay(0); /* the child was killed */
	CHECK_EQ(count_open(), before);
}

/* The collector was killed: the pages are told before they lose their server. */
static void a_child_without_its_collector_reads_the_rest(void)
{
	world_new(true, 5);
	s.child = getpid();
	s.parent = getppid() + 1;
	world->steps[7] = world->steps[8] = 1;
	world->ends_at = 12;
	CHECK_STR(serve(EXIT_OK, stdout), "");
	CHECK_EQ(world->nr_steps, 12);
	CHECK_EQ(world->nr_ticks, 2);
	CHECK_EQ(world->waits[6], 50);
	CHECK_EQ(world->waits[12], 50);
	CHECK_EQ(world->waits[13], 300); /* for the streams */
	CHECK_EQ(world->nr_polls, 13);
	/* Two seconds at most. */
	world_new(true, 5);
	s.child = getpid();
	s.parent = getppid() + 1;
	CHECK_STR(serve(EXIT_OK, stdout), "");
	CHECK_EQ(world->nr_polls, 5 + 40 + 1);
	/* The collector runs. */
	world_new(true, 5);
	s.child = getpid();
	s.parent = getppid();
	CHECK_STR(serve(EXIT_OK, stdout), "");
	CHECK_EQ(world->nr_polls, 5);
}

int main(void)
{
	alarm(20);
	own_pid = getpid();
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	RUN(a_finished_trace_is_served_until_a_signal);
	RUN(the_file_of_the_url_is_complete_at_once);
	RUN(what_a_trace_lacks_is_told);
	RUN(a_growing_trace_is_followed);
	RUN(a_browser_is_opened_if_asked);
	RUN(failures_are_told);
	RUN(an_address_that_others_can_reach_is_told);
	RUN(only_a_file_of_lines_can_be_followed);
	RUN(a_child_serves_until_the_run_is_over);
	RUN(without_a_trace_the_child_ends);
	RUN(a_child_that_cannot_be_started_leaves_nothing);
	RUN(a_page_stays_until_a_signal);
	RUN(a_child_without_its_collector_reads_the_rest);
	return 0;
}
