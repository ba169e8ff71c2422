/* SPDX-License-Identifier: MIT */
/* top_target.c - start a program to watch, under its own collector. */
#include "top_target.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/io.h"
#include "collect/region_list.h"
#include "run_collector.h"

/* Time for the program to end after SIGTERM; then it is killed. */
#define PATIENCE_NS (5 * NS_PER_SEC)

/* ---- in the child ------------------------------------------------------------------ */

static int told_fd = -1;

/* Messages: 'R' and the region's path, terminated; 'E' and a struct err, at the end. */
static void target_tell(char what, const void *text, size_t size)
{
	if (io_write(told_fd, &what, 1) == 1)
		(void)!io_write(told_fd, text, size);
}

/* The collector's callbacks have no context argument; it keeps the path as long as it runs. */
static const char *target_region;

static int keep_region(const char *shm, const char *sock, uint32_t nr_stations, struct err *err)
{
	(void)sock;
	(void)nr_stations;
	(void)err;
	target_region = shm;
	return 0;
}

/* Once the program runs: of one that cannot be started there is nothing to show. */
static void tell_region(void)
{
	target_tell('R', target_region, strlen(target_region) + 1);
}

static int open_log(const char *log, struct err *err)
{
	const char *path = log ? log : "/dev/null";
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	return fd < 0 ? err_errno(err, "cannot write to '%s'", path) : fd;
}

/* The view owns the terminal: the program must not use it. */
static int leave_terminal(const char *log, struct err *err)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), out = open_log(log, err);

	if (null < 0 || out < 0)
		return err->code ? err->code : err_errno(err, "cannot open '/dev/null'");
	if (dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(out, STDERR_FILENO) < 0)
		return err_errno(err, "no descriptors");
	return 0;
}

static void target_collect(char *const *argv, const char *trace, const char *log)
{
	struct collector_result result;
	struct err err = { 0 };
	struct session s;

	session_init(&s, &command_run);
	s.config.argv = argv;
	s.config.output = trace ? trace : "/dev/null";
	s.config.tool = "corotracer top";
	s.config.ready = keep_region;
	s.config.started = tell_region;
	setpgid(0, 0);
	/* If the view dies, the collector and the program must not stay. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (leave_terminal(log, &err) == 0 && collector_run(&s.config, &result, &err) == 0)
		_exit(result.signal ? 128 + result.signal : result.exit_status);
	target_tell('E', &err, sizeof(err));
	_exit(EXIT_FAILED);
}

/* ---- in the view --------------------------------------------------------------------- */

static bool target_read_bytes(int fd, void *buf, size_t size)
{
	size_t used = 0;
	ssize_t n;

	while (used < size && (n = io_read(fd, (char *)buf + used, size - used)) > 0)
		used += (size_t)n;
	return used == size;
}

/* The error of the child, if it sent one. */
static void hear_error(int fd, struct err *err)
{
	struct err told;
	char what;

	if (target_read_bytes(fd, &what, 1) && what == 'E' &&
	    target_read_bytes(fd, &told, sizeof(told)))
		*err = told;
}

/* Receive the region's path, or the error. */
static int target_hear(struct top_target *t, struct err *err)
{
	char what = 0, path[4096];
	size_t i = 0;

	if (target_read_bytes(t->told_fd, &what, 1) && what == 'R') {
		while (i < sizeof(path) && target_read_bytes(t->told_fd, &path[i], 1) && path[i])
			i++;
		t->region = i < sizeof(path) ? strndup(path, i) : NULL;
		return t->region ? 0 : err_set(err, -ENOMEM, "no memory");
	}
	err_set(err, -ECHILD, "the collector ended before it began");
	if (what == 'E')
		target_read_bytes(t->told_fd, err, sizeof(*err));
	return err->code;
}

int top_target_start(struct top_target *t, char *const *argv, const char *trace, const char *log,
		     struct err *err)
{
	int fds[2];

	memset(t, 0, sizeof(*t));
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_errno(err, "cannot make a pipe");
	fflush(NULL);
	t->collector = fork();
	if (t->collector == 0) {
		close(fds[0]);
		told_fd = fds[1];
		target_collect(argv, trace, log);
	}
	close(fds[1]);
	t->told_fd = fds[0];
	if (t->collector < 0)
		err_errno(err, "cannot fork");
	else
		target_hear(t, err);
	if (err->code)
		top_target_end(t, &(struct err){ 0 });
	return err->code;
}

static bool target_has_ended(pid_t pid, int *status)
{
	return waitpid(pid, status, WNOHANG) != 0;
}

/* True if the collector is exiting by itself: it has released its region. */
static bool is_over(const struct top_target *t)
{
	int fd = t->region ? open(t->region, O_RDONLY | O_CLOEXEC) : -1;
	bool live = fd >= 0 && region_is_live(fd);

	if (fd >= 0)
		close(fd);
	return !live;
}

int top_target_end(struct top_target *t, struct err *err)
{
	struct timespec moment = { 0, 10000000 };
	uint64_t asked = 0;
	int status = 0, sent = 0;

	while (t->collector > 0 && !target_has_ended(t->collector, &status)) {
		uint64_t now = clock_now_ns();

		/*
		 * The collector forwards SIGTERM, drains the region, and exits when the program
		 * does.
		 */
		if (!asked) {
			asked = now;
			if (!is_over(t))
				kill(t->collector, sent = SIGTERM);
		} else if (now - asked > PATIENCE_NS && sent != SIGKILL) {
			message_print("top", "the program does not exit: it is killed");
			kill(-t->collector, sent = SIGKILL);
		}
		nanosleep(&moment, NULL);
	}
	hear_error(t->told_fd, err);
	close(t->told_fd);
	/* A collector that was killed could not remove its region. */
	if (sent == SIGKILL && t->region)
		region_remove(t->region, &(struct err){ 0 });
	free(t->region);
	t->region = NULL;
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return sent && status == 128 + sent ? EXIT_OK : status; /* as intended */
}
