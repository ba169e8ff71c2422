/* SPDX-License-Identifier: MIT */
/* run_shipper.c - the process that ships a trace while it is written. */
#include "run_shipper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/monotonic.h"
#include "base/niceness.h"
#include "cmd.h"
#include "run_leftovers.h"
#include "ship_watch.h"

#define SHIPPING_NICE 10
/* More than the shipper's own time: it may be in the middle of a call of a library. */
#define SHIPPING_GRACE_NS (5 * NS_PER_SEC)

/* ---- the process ------------------------------------------------------------------- */

static int shipping_signals = -1;

static bool shipping_pause(int ms)
{
	struct pollfd fd = { .fd = shipping_signals, .events = POLLIN };

	return poll(&fd, 1, ms) > 0;
}

static void shipping_report(const struct ship_transport *t, const struct err *trouble)
{
	if (trouble)
		message_error("ship", trouble);
	else
		message_print("ship", "%s accepts blocks again", t->name);
}

static void shipping_catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	shipping_signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Wait for the next path: "PATH\0".  False: there is none. */
static bool shipping_next_path(int fd, char *path, size_t size)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
				{ .fd = shipping_signals, .events = POLLIN } };
	size_t at = 0;

	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[1].revents)
			return false;
		if (!fds[0].revents)
			continue;
		if (at == size || io_read(fd, path + at, 1) != 1)
			return false;
		if (!path[at++])
			return true;
	}
	return false;
}

static void shipping_add_count(struct ship_count *sum, const struct ship_count *c)
{
	sum->blocks += c->blocks;
	sum->transitions += c->transitions;
	sum->others += c->others;
	sum->bytes += c->bytes;
}

static void shipping_remove_spool(const char *path)
{
	char *state = ship_state_path(path);

	unlink(path);
	if (state)
		unlink(state);
	free(state);
}

static void shipping_one(const struct shipping *s, const char *path, struct shipper_result *sum)
{
	struct shipper_config config = {
		.trace = path,
		.transport = s->transport,
		.labels = s->labels,
		.spool_size = s->is_spool ? s->options.spool_size : 0,
		.is_new = s->is_new,
		.wait_ns = s->options.wait_ns,
		.watch = ship_watch_look,
		.pause = shipping_pause,
		.report = shipping_report,
	};
	struct shipper_result r;
	struct err err = { 0 };
	int rc;

	ship_watch_begin(path);
	rc = shipper_run(&config, &r, &err);
	ship_watch_end();
	if (rc < 0 && rc != -ENODATA)
		message_error("ship", &err);
	if (r.no_punch.code) {
		message_error("ship", &r.no_punch);
		fputs("hint: the spool keeps its size until the run is shipped; name a directory "
		      "on "
		      "another file system with --spool\n",
		      stderr);
	}
	memcpy(sum->run, r.run, sizeof(sum->run));
	shipping_add_count(&sum->shipped, &r.shipped);
	shipping_add_count(&sum->spooled, &r.spooled);
	shipping_add_count(&sum->given_up, &r.given_up);
	shipping_add_count(&sum->left_out, &r.left_out);
	shipping_add_count(&sum->whole, &r.whole);
	sum->whole_coroutines += r.whole_coroutines;
	sum->sample = r.sample;
	sum->is_finished = sum->is_finished && r.is_finished;
	if ((s->is_spool || s->is_flight) && r.is_finished)
		shipping_remove_spool(path);
}

static int shipping_main(struct shipping *s, int path_fd, int result_fd)
{
	struct shipper_result sum = { .is_finished = true };
	char path[PATH_MAX];

	niceness_at_least(SHIPPING_NICE);
	shipping_catch_signals();
	leftovers_start(s, shipping_pause);
	while (shipping_next_path(path_fd, path, sizeof(path)))
		shipping_one(s, path, &sum);
	ship_transport_close(s->transport);
	return io_write(result_fd, &sum, sizeof(sum)) == (ssize_t)sizeof(sum) ? EXIT_OK
									      : EXIT_FAILED;
}

/* ---- start and end ----------------------------------------------------------------- */

static void shipping_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The transport belongs to the process. */
static void shipping_drop_transport(struct shipping *s)
{
	ship_transport_close(s->transport);
	s->transport = NULL;
}

static int shipping_make_pipes(int paths[2], int results[2], struct err *err)
{
	int rc;

	if (pipe2(paths, O_CLOEXEC) < 0)
		return err_errno(err, "cannot make a pipe");
	if (pipe2(results, O_CLOEXEC) == 0)
		return 0;
	rc = err_errno(err, "cannot make a pipe");
	close(paths[0]);
	close(paths[1]);
	return rc;
}

bool shipping_fork(struct shipping *s)
{
	int paths[2], results[2];
	struct err err = { 0 };
	pid_t parent = getpid();

	if (shipping_make_pipes(paths, results, &err) < 0) {
		message_error(s->command, &err);
		shipping_drop_transport(s);
		return false;
	}
	fflush(NULL);
	s->child = fork();
	if (s->child == 0) {
		/* The terminal's signals are for the program. */
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		prctl(PR_SET_NAME, "corotracer-ship");
		close(paths[1]);
		close(results[0]);
		_exit(getppid() == parent ? shipping_main(s, paths[0], results[1]) : EXIT_OK);
	}
	if (s->child < 0)
		err_errno(&err, "cannot fork");
	shipping_drop_transport(s);
	close(paths[0]);
	close(results[1]);
	s->path_fd = paths[1];
	s->result_fd = results[0];
	if (s->child > 0) {
		/* The collector must not wait for the shipper, whatever it does. */
		fcntl(s->path_fd, F_SETFL, O_NONBLOCK);
		return true;
	}
	message_error(s->command, &err);
	shipping_close(&s->path_fd);
	shipping_close(&s->result_fd);
	s->child = 0;
	return false;
}

void shipping_go(struct shipping *s, const char *path)
{
	size_t size = strlen(path) + 1;

	/* A short write does not happen: a path is shorter than PIPE_BUF. */
	if (s->child > 0 && s->path_fd >= 0 && write(s->path_fd, path, size) != (ssize_t)size)
		s->nr_skipped++;
}

/* Under a name of its own, which the shipper removes when all has arrived. */
void shipping_snapshot(struct shipping *s, const char *path)
{
	char name[PATH_MAX];

	if (s->child <= 0)
		return;
	if (strcmp(path, s->trace) != 0 && trace_format_of(path) != TRACE_FORMAT_CT) {
		s->nr_skipped++;
		return;
	}
	while (++s->nr_links < 100000) {
		if ((size_t)snprintf(name, sizeof(name), "%s.%u.spool", path, s->nr_links) >=
		    sizeof(name))
			break;
		if (link(path, name) == 0) {
			shipping_go(s, name);
			return;
		}
		if (errno != EEXIST)
			break;
	}
	s->nr_skipped++;
}

/* The process was killed: what it saved last is what is known. */
static void shipping_read_state(struct shipping *s)
{
	struct ship_state *state = malloc(sizeof(*state));
	char *path = ship_state_path(s->trace);
	struct err err = { 0 };

	memset(&s->result, 0, sizeof(s->result));
	s->result.sample = s->labels.sample;
	if (state && path && ship_state_read(state, path, &err) > 0) {
		s->result.shipped = state->shipped;
		s->result.spooled = state->spooled;
		s->result.given_up = state->given_up;
		s->result.left_out = state->left_out;
		memcpy(s->result.run, state->labels.run, sizeof(s->result.run));
	}
	free(path);
	free(state);
}

static void shipping_read_result(struct shipping *s)
{
	s->has_result = io_read(s->result_fd, &s->result, sizeof(s->result)) ==
			(ssize_t)sizeof(s->result);
	if (!s->has_result)
		shipping_read_state(s);
}

void shipping_settle(struct shipping *s, uint64_t collected, uint64_t others)
{
	struct shipper_result *r = &s->result;

	if (s->has_result || s->is_flight)
		return;
	r->spooled.transitions = collected - r->shipped.transitions - r->given_up.transitions -
				 r->left_out.transitions;
	r->spooled.others = others - r->shipped.others - r->given_up.others - r->left_out.others;
}

/* Wait until the child closes the pipe of its result. */
static bool shipping_wait(const struct shipping *s, uint64_t ns)
{
	struct pollfd fd = { .fd = s->result_fd, .events = POLLIN };
	uint64_t end = clock_now_ns() + ns;

	for (;;) {
		uint64_t now = clock_now_ns();

		if (poll(&fd, 1, now < end ? (int)((end - now) / NS_PER_MS) + 1 : 0) > 0)
			return true;
		if (now >= end)
			return false;
	}
}

static void shipping_end(struct shipping *s)
{
	shipping_drop_transport(s); /* of a process that was not started */
	if (s->child <= 0)
		return;
	shipping_close(&s->path_fd);
	if (!shipping_wait(s, SHIPPING_GRACE_NS + s->options.wait_ns)) {
		kill(s->child, SIGTERM);
		if (!shipping_wait(s, SHIPPING_GRACE_NS))
			kill(s->child, SIGKILL);
	}
	shipping_read_result(s);
	shipping_close(&s->result_fd);
	while (waitpid(s->child, NULL, 0) < 0 && errno == EINTR)
		;
	s->child = 0;
}

void shipping_finish(struct shipping *s)
{
	shipping_end(s);
}

void shipping_stop(struct shipping *s)
{
	if (s->child > 0)
		kill(s->child, SIGTERM);
	shipping_end(s);
}
