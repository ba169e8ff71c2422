/* SPDX-License-Identifier: MIT */
/* top_target.c - a program that is started to be watched, under a collector of its own. */
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

#include "base/clock.h"
#include "base/io.h"
#include "ctp/find.h"
#include "session.h"

/* How long a program may take to end when it is asked to; then it is made to. */
#define PATIENCE_NS (5 * NS_PER_SEC)

/* ---- in the child ------------------------------------------------------------------ */

static int told_fd = -1;

/* 'R' and the region's path; or 'E' and a struct err. */
static void tell(char what, const void *text, size_t size)
{
	if (io_write(told_fd, &what, 1) == 1)
		(void)!io_write(told_fd, text, size);
	close(told_fd);
	told_fd = -1;
}

static void tell_region(const char *shm, const char *sock, uint32_t nr_stations)
{
	(void)sock;
	(void)nr_stations;
	tell('R', shm, strlen(shm) + 1);
}

static int open_log(const char *log, struct err *err)
{
	int fd = open(log ? log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	return fd < 0 ? err_errno(err, "cannot write to '%s'", log) : fd;
}

/* The terminal is the view's: the program gets none of it. */
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

static void collect(char *const *argv, const char *trace, const char *log)
{
	struct collector_result result;
	struct err err = { 0 };
	struct session s;

	session_init(&s, &command_run);
	s.config.argv = argv;
	s.config.output = trace ? trace : "/dev/null";
	s.config.tool = "corotracer top";
	s.config.ready = tell_region;
	setpgid(0, 0);
	/* Whatever becomes of the view: nobody is left behind. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (leave_terminal(log, &err) == 0 && collector_run(&s.config, &result, &err) == 0)
		_exit(result.signal ? 128 + result.signal : result.exit_status);
	if (told_fd >= 0)
		tell('E', &err, sizeof(err));
	else
		fprintf(stderr, "corotracer top: %s\n", err.text);
	_exit(EXIT_FAILED);
}

/* ---- in the view --------------------------------------------------------------------- */

static size_t read_all(int fd, char *buf, size_t size)
{
	size_t used = 0;
	ssize_t n;

	while (used < size && (n = io_read(fd, buf + used, size - used)) > 0)
		used += (size_t)n;
	return used;
}

static int hear(struct top_target *t, int fd, struct err *err)
{
	char buf[sizeof(struct err) + 4096];
	size_t size = read_all(fd, buf, sizeof(buf) - 1);

	buf[size] = '\0';
	if (size > 1 && buf[0] == 'R') {
		t->region = strdup(buf + 1);
		return t->region ? 0 : err_set(err, -ENOMEM, "no memory");
	}
	if (size == 1 + sizeof(*err) && buf[0] == 'E')
		memcpy(err, buf + 1, sizeof(*err));
	if (!err->code)
		err_set(err, -ECHILD, "the collector ended before it began");
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
		collect(argv, trace, log);
	}
	close(fds[1]);
	if (t->collector < 0)
		err_errno(err, "cannot fork");
	else if (hear(t, fds[0], err) < 0)
		top_target_end(t);
	close(fds[0]);
	return err->code;
}

static bool has_ended(pid_t pid, int *status)
{
	return waitpid(pid, status, WNOHANG) != 0;
}

int top_target_end(struct top_target *t)
{
	struct timespec moment = { 0, 10000000 };
	uint64_t asked = 0;
	int status = 0, sent = 0;

	while (t->collector > 0 && !has_ended(t->collector, &status)) {
		uint64_t now = clock_now_ns();

		/* The collector passes it on, takes what is left, and goes when the program does.
		 */
		if (!asked) {
			asked = now;
			kill(t->collector, sent = SIGTERM);
		} else if (now - asked > PATIENCE_NS && sent == SIGTERM) {
			say("top", "the program does not end by itself: it is killed");
			kill(-t->collector, sent = SIGKILL);
		}
		nanosleep(&moment, NULL);
	}
	/* A collector that was killed could not. */
	if (sent == SIGKILL && t->region)
		region_remove(t->region, &(struct err){ 0 });
	free(t->region);
	t->region = NULL;
	if (sent)
		return EXIT_OK; /* we ended it */
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
