/* SPDX-License-Identifier: MIT */
/* run_metrics.c - the process that serves metrics of a trace to Prometheus while it is written. */
#include "run_metrics.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/memory_shortage.h"
#include "base/niceness.h"
#include "cmd.h"
#include "serve/server.h"

#define METRICS_NICE    5
#define METRICS_LOOK_MS 100 /* a collector writes ten times a second */

/* ---- before the run ------------------------------------------------------------- */

static void run_metrics_label(char *label, size_t size, const char *text)
{
	snprintf(label, size, "%s", text ? text : "");
}

void run_metrics_set_labels(struct run_metrics *m, const struct ship_options *o)
{
	struct metrics_labels *l = &m->labels;

	run_metrics_label(l->service, sizeof(l->service), o->service);
	run_metrics_label(l->version, sizeof(l->version), o->version);
	run_metrics_label(l->host, sizeof(l->host), o->host);
	run_metrics_label(l->region, sizeof(l->region), o->region);
}

/* "9100", "127.0.0.1:9100", "[::1]:9100".  False: not of that form. */
static bool run_metrics_split(const char *text, char *host, size_t size, uint16_t *port)
{
	const char *colon = strrchr(text, ':'), *digits = colon ? colon + 1 : text;
	size_t length = colon ? (size_t)(colon - text) : 0;
	char *end;
	unsigned long number;

	if (*digits < '0' || *digits > '9')
		return false;
	number = strtoul(digits, &end, 10);
	if (*end || number > 65535 || (colon && !length))
		return false;
	if (length && text[0] == '[' && text[length - 1] == ']') {
		text++;
		length -= 2;
	}
	if (length >= size)
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	*port = (uint16_t)number;
	return true;
}

static int run_metrics_refuse(const struct run_metrics *m, const char *why, const char *hint)
{
	message_print(m->command, "--metrics %s", why);
	fprintf(stderr, "hint: %s\n", hint);
	return EXIT_USAGE;
}

static int run_metrics_check(const struct run_metrics *m, bool is_ctf, bool is_flight)
{
	struct stat st;

	if (!server_library())
		return run_metrics_refuse(
			m, "needs libmicrohttpd, which this corotracer was built without",
			"install libmicrohttpd-dev, and build again");
	if (is_flight)
		return run_metrics_refuse(
			m, "follows the trace, and a flight recorder writes none meanwhile",
			"leave out --flight-recorder");
	if (is_ctf)
		return run_metrics_refuse(
			m, "follows the trace, and of CTF only a finished one can be read",
			"choose another format: -o trace.ct");
	if (m->is_collected &&
	    (!strcmp(m->trace, "-") || (stat(m->trace, &st) == 0 && !S_ISREG(st.st_mode))))
		return run_metrics_refuse(m, "follows the trace, which has to be a file",
					  "name one with -o");
	return -1;
}

int run_metrics_prepare(struct run_metrics *m, bool is_ctf, bool is_flight)
{
	struct err err = { 0 };
	char host[64];
	uint16_t port;
	int status;

	m->go_fd = m->listener.fd = -1;
	if (!m->address)
		return -1;
	if (!run_metrics_split(m->address, host, sizeof(host), &port)) {
		message_print(m->command, "invalid value '%s' for --metrics: expected [HOST:]PORT",
			      m->address);
		return EXIT_USAGE;
	}
	status = run_metrics_check(m, is_ctf, is_flight);
	if (status >= 0)
		return status;
	if (listener_open(&m->listener, host[0] ? host : NULL, port, &err) < 0) {
		message_error(m->command, &err);
		return EXIT_FAILED;
	}
	if (!m->listener.is_loopback)
		message_print(m->command,
			      "warning: other machines can reach %s and read the metrics", host);
	return -1;
}

/* ---- the process ---------------------------------------------------------------- */

static int run_metrics_catch_signals(void)
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

/* Follow the trace to its end, and serve until a signal comes. */
static void run_metrics_follow(const struct run_metrics *m, struct metrics *metrics,
			       struct trace_reader *reader, int signals)
{
	struct pollfd fd = { .fd = signals, .events = POLLIN };
	bool is_reading = true, is_short = false;
	int rc = 1;

	while (poll(&fd, 1, rc > 0 ? 0 : is_reading ? METRICS_LOOK_MS : -1) == 0) {
		struct err err = { 0 };

		if (is_reading)
			rc = metrics_read(metrics, reader, &err);
		if (!is_short && memory_shortage_noted()) {
			is_short = true;
			message_print(m->command, "memory ran out: the metrics are not complete");
		}
		if (!is_reading || rc > 0 || rc == -EAGAIN)
			continue;
		is_reading = false;
		metrics_finish(metrics);
		if (rc < 0)
			message_error(m->command, &err);
	}
}

static int run_metrics_serve(struct run_metrics *m, struct metrics *metrics, int signals,
			     struct err *err)
{
	struct trace_reader *reader = trace_reader_follow(m->trace, err);
	struct metrics_server *server;

	if (!reader)
		return err->code;
	server = metrics_server_start(&m->listener, metrics, err);
	if (server)
		run_metrics_follow(m, metrics, reader, signals);
	metrics_server_stop(server);
	trace_reader_close(reader);
	return server ? 0 : err->code;
}

static int run_metrics_main(struct run_metrics *m, pid_t parent)
{
	int signals = run_metrics_catch_signals();
	struct metrics metrics;
	struct err err = { 0 };
	int rc;

	niceness_at_least(METRICS_NICE);
	rc = metrics_init(&metrics, m->trace, m->sites, &err);
	if (rc == 0) {
		metrics.labels = m->labels;
		metrics.collector = m->is_collected ? parent : 0;
		rc = run_metrics_serve(m, &metrics, signals, &err);
	}
	if (rc < 0)
		message_error(m->command, &err);
	metrics_release(&metrics);
	close(signals);
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}

/* For the go of the parent.  False: it has ended, or the go cannot be read. */
static bool run_metrics_wait(const struct run_metrics *m, int fd)
{
	char go;
	ssize_t got = io_read(fd, &go, 1);

	if (got < 0)
		message_print(m->command, "no metrics: cannot read from the parent process");
	return got == 1;
}

bool run_metrics_fork(struct run_metrics *m)
{
	struct err err = { 0 };
	pid_t parent = getpid();
	int fds[2];

	if (!m->address)
		return true;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
		err_errno(&err, "cannot make a pair of sockets");
		message_error(m->command, &err);
		return false;
	}
	fflush(NULL);
	m->child = fork();
	if (m->child == 0) {
		/* The terminal's signals are for the program; the end of the parent ends this. */
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		prctl(PR_SET_NAME, "corotracer-stat");
		close(fds[1]);
		_exit(getppid() == parent && run_metrics_wait(m, fds[0])
			      ? run_metrics_main(m, parent)
			      : EXIT_OK);
	}
	close(fds[0]);
	m->go_fd = fds[1];
	listener_close(&m->listener);
	if (m->child > 0) {
		message_print(m->command, "metrics are at http://%s:%u/metrics", m->listener.name,
			      m->listener.port);
		return true;
	}
	err_errno(&err, "cannot fork");
	message_error(m->command, &err);
	close(m->go_fd);
	m->go_fd = -1;
	m->child = 0;
	return false;
}

void run_metrics_go(struct run_metrics *m)
{
	if (m->child <= 0 || m->go_fd < 0)
		return;
	/* A child that has ended must not end this process by SIGPIPE. */
	if (send(m->go_fd, "g", 1, MSG_NOSIGNAL) != 1)
		message_print(m->command, "no metrics: cannot reach their process");
	close(m->go_fd);
	m->go_fd = -1;
}

void run_metrics_end(struct run_metrics *m)
{
	if (m->child <= 0)
		return;
	if (m->go_fd >= 0)
		close(m->go_fd); /* without the go, the child exits at end of file */
	m->go_fd = -1;
	kill(m->child, SIGTERM);
	while (waitpid(m->child, NULL, 0) < 0 && errno == EINTR)
		;
	m->child = 0;
}
