/* SPDX-License-Identifier: MIT */
/* run_server.c - serve a trace as a page over HTTP until the user ends it. */
#include "json_file.h"
#include "run_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/io.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "cmd.h"
#include "page/page.h"

/* Interval for reading a growing trace; a collector writes ten times a second. */
#define LOOK_MS 50

/* After the death of the collector: to read the rest of its trace, and to send it. */
#define LAST_WORDS_NS (2 * NS_PER_SEC)
#define LAST_WORDS_MS 300

/* ---- address -------------------------------------------------------------------------- */

bool serving_listen(struct serving *s, const char *address, uint16_t port)
{
	struct err err = { 0 };

	s->go_fd = -1;
	if (listener_open(&s->listener, address, port, &err) < 0) {
		message_error(s->command, &err);
		return false;
	}
	if (!s->listener.is_loopback)
		message_print(
			s->command,
			"warning: other machines can reach %s: with the URL they can read the "
			"trace, and the connection is not encrypted",
			address);
	return true;
}

static void print_url(const struct serving *s, bool grows)
{
	struct json_writer j;

	if (!s->json) {
		puts(s->listener.url);
		fflush(stdout);
		return;
	}
	jw_init_file(&j, json_file_stream(stdout));
	jw_object_begin(&j);
	jw_field_string(&j, "url", s->listener.url);
	jw_field_u64(&j, "port", s->listener.port);
	jw_field_string(&j, "trace", s->trace);
	jw_field_bool(&j, "live", grows);
	jw_object_end(&j);
	jw_newline(&j);
	jw_release(&j);
	json_file_finish(EXIT_OK); /* readers of the file need the URL now */
}

/* Without a browser the user still has the URL, which is printed. */
static void open_browser(struct serving *s)
{
	struct err err = { 0 };

	if (open_page_show(&s->opened, s->listener.url, &err) < 0) {
		message_error(s->command, &err);
		fputs("hint: open the printed URL yourself\n", stderr);
	}
}

/* ---- the loop -------------------------------------------------------------------------- */

/* Signals are read from the returned descriptor from now on. */
static int catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* True: a signal asks this process to end. */
static bool wait_a_moment(int signal_fd, int ms)
{
	struct pollfd fd = { .fd = signal_fd, .events = POLLIN };

	return poll(&fd, 1, ms) > 0;
}

/* Report what is missing in the trace, if it is known to be incomplete. */
static void say_shortage(const struct serving *s, const struct feed *f)
{
	const struct trace_stats *stats = view_stats(f->view);
	char what[TRACE_SHORTAGE_SIZE];

	if (trace_shortage(stats, what, sizeof(what)))
		message_print(s->command, "the trace is %s: %s; the page says so",
			      trace_verdict_name(trace_verdict(stats)), what);
}

static void say_end(const struct serving *s, const struct feed *f)
{
	if (!f->ended)
		return;
	say_shortage(s, f);
	if (!s->quiet)
		message_print(s->command, "the trace %s; the page stays until Ctrl-C",
			      trace_verdict(view_stats(f->view)) == TRACE_COMPLETE ? "is complete"
										   : "has ended");
}

static void serving_ask_collector(struct serving *s, struct feed *f)
{
	uint64_t silent_ns, lost;
	int failed = f->reader ? collector_watch_failed(&s->watch) : 0;

	if (failed)
		message_print(s->command,
			      "warning: cannot ask the collector: %s; the page may not show that "
			      "it is stopped, or what it lost",
			      strerror(-failed));
	if (f->reader && collector_watch_get(&s->watch, &silent_ns, &lost))
		feed_set_collector(f, silent_ns, lost);
}

/*
 * The collector that this process belongs to was killed: tell the pages before they lose their
 * server.
 */
static void serving_tell_orphaned(const struct serving *s, struct feed *f, struct server *server)
{
	uint64_t end_ns = clock_now_ns() + LAST_WORDS_NS;
	struct err ignored = { 0 };

	if (!s->parent || getppid() == s->parent)
		return;
	while (f->reader && clock_now_ns() < end_ns) {
		if (feed_step(f, &ignored))
			server_ticked(server);
		poll(NULL, 0, LOOK_MS);
	}
	poll(NULL, 0, LAST_WORDS_MS); /* for the streams to be sent */
}

static void serving_loop(struct serving *s, struct feed *f, struct server *server, int signal_fd)
{
	uint64_t beat_ns = clock_now_ns();
	bool stop = false;

	while (!stop) {
		struct err err = { 0 };
		bool grows = f->reader != NULL;
		int rc;

		serving_ask_collector(s, f);
		rc = feed_step(f, &err);

		if (rc < 0)
			message_error(s->command, &err);
		if (rc)
			server_ticked(server);
		if (grows && !f->reader)
			say_end(s, f);
		if (clock_now_ns() - beat_ns >= SERVER_BEAT_NS) {
			beat_ns = clock_now_ns();
			server_beat(server);
		}
		server_sweep(server);
		if (server_was_visited(server))
			open_page_remove(&s->opened);
		stop = wait_a_moment(signal_fd, f->has_more ? 0 : f->reader ? LOOK_MS : 1000);
	}
}

static void say_page_is_missing(const struct serving *s)
{
	struct html_page page;
	struct err err = { 0 };

	if (page_embedded("index", &page, &err) < 0)
		message_error(s->command, &err);
}

static int serving_serve(struct serving *s, struct feed *f, bool grows, int signal_fd,
			 struct err *err)
{
	struct server *server;

	server = server_start(&s->listener, f, err);
	if (!server)
		return err->code;
	if (!s->child) {
		say_page_is_missing(s);
		print_url(s, grows);
		if (s->open)
			open_browser(s);
		if (!s->quiet)
			message_print(s->command, "%s; Ctrl-C ends it",
				      grows ? "following a trace that is being written"
					    : "serving");
		if (!grows)
			say_shortage(s, f);
	}
	if (grows)
		collector_watch_start(&s->watch, s->trace);
	serving_loop(s, f, server, signal_fd);
	serving_tell_orphaned(s, f, server);
	if (grows)
		collector_watch_stop(&s->watch);
	open_page_remove(&s->opened);
	server_stop(server);
	return 0;
}

/* A finished trace is read with signals as they are: Ctrl-C ends that at once. */
static int serving_read(struct serving *s, struct feed *f, bool *grows, struct err *err)
{
	if (feed_open(f, s->trace, err) < 0)
		return err->code;
	*grows = feed_grows(f);
	return *grows ? 0 : feed_read_all(f, s->trace, err);
}

int serving_run(struct serving *s)
{
	int signal_fd = -1, rc;
	struct err err = { 0 };
	struct feed feed;
	bool grows = false;

	rc = serving_read(s, &feed, &grows, &err);
	if (rc == 0) {
		signal_fd = catch_signals();
		rc = signal_fd < 0 ? err_errno(&err, "no descriptor for signals")
				   : serving_serve(s, &feed, grows, signal_fd, &err);
	}
	feed_close(&feed);
	if (signal_fd >= 0)
		close(signal_fd);
	listener_close(&s->listener);
	if (rc < 0)
		message_error(s->command, &err);
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- for a collector ------------------------------------------------------------------ */

static bool serving_refuse(const char *command, const char *why, const char *hint)
{
	message_print(command, "--serve %s", why);
	fprintf(stderr, "hint: %s\n", hint);
	return false;
}

bool serving_can_follow(const char *command, const char *output, bool is_ctf, bool is_flight)
{
	struct stat st;

	if (!server_library())
		return serving_refuse(
			command, "needs libmicrohttpd, which this corotracer was built without",
			"install libmicrohttpd-dev, and build again");
	if (is_flight)
		return serving_refuse(
			command, "follows the trace, and a flight recorder writes none meanwhile",
			"leave out --flight-recorder, or look with 'corotracer top'");
	if (is_ctf)
		return serving_refuse(
			command, "follows the trace, and of CTF only a finished one can be read",
			"choose JSON lines: -o trace.jsonl");
	if (!strcmp(output, "-") || (stat(output, &st) == 0 && !S_ISREG(st.st_mode)))
		return serving_refuse(command, "follows the trace, which has to be a file",
				      "name one with -o");
	return true;
}

/* In the child: wait until the trace exists; false: it never will. */
static bool wait_for_go(int fd)
{
	char go;
	bool came = io_read(fd, &go, 1) == 1;

	close(fd);
	return came;
}

bool serving_fork(struct serving *s)
{
	struct err err = { 0 };
	pid_t parent = getpid();
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0) {
		err_errno(&err, "cannot make a pipe");
		message_error(s->command, &err);
		return false;
	}
	fflush(NULL);
	s->child = fork();
	if (s->child == 0) {
		/*
		 * The terminal's signals are for the program; the end of the collector ends this
		 * process.
		 */
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		close(fds[1]);
		s->child = getpid();
		s->parent = parent;
		if (getppid() != parent || !wait_for_go(fds[0]))
			_exit(EXIT_OK);
		s->quiet = true;
		_exit(serving_run(s));
	}
	close(fds[0]);
	s->go_fd = fds[1];
	listener_close(&s->listener);
	if (s->child > 0)
		return true;
	err_errno(&err, "cannot fork");
	message_error(s->command, &err);
	close(s->go_fd);
	s->go_fd = -1;
	s->child = 0;
	return false;
}

void serving_go(struct serving *s)
{
	if (s->go_fd < 0)
		return;
	(void)!io_write(s->go_fd, "g", 1);
	close(s->go_fd);
	s->go_fd = -1;
}

/* Does not reap the child. */
static bool serving_child_ended(pid_t child)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid;
}

/* Wait until the user or the child ends it. */
static void serving_stay(const struct serving *s)
{
	int signal_fd = catch_signals();
	sigset_t set;

	message_print(s->command, "the page stays at %s until Ctrl-C", s->listener.url);
	while (!wait_a_moment(signal_fd, 500) && !serving_child_ended(s->child))
		;
	close(signal_fd);
	/* Discard the pending signal that ended the wait. */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	while (sigtimedwait(&set, NULL, &(struct timespec){ 0, 0 }) > 0)
		;
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void serving_end(struct serving *s, bool should_stay)
{
	if (s->go_fd >= 0)
		close(s->go_fd); /* without the go, the child exits at end of file */
	s->go_fd = -1;
	if (s->child <= 0)
		return;
	if (should_stay)
		serving_stay(s);
	kill(s->child, SIGTERM);
	while (waitpid(s->child, NULL, 0) < 0 && errno == EINTR)
		;
	s->child = 0;
}
