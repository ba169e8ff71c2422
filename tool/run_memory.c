/* SPDX-License-Identifier: MIT */
/* run_memory.c - `run --mem`: the collector of memory accesses beside that of coroutines. */
#include "run_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <corotracer/version.h>

#include "base/bytes.h"
#include "base/io.h"
#include "cmd.h"
#include "mem.h"
#include "memory/collect/mem_collector.h"
#include "wire.h"

bool run_memory_name(const char *trace, char *buf, size_t size)
{
	size_t length = strlen(trace);

	while (length > 1 && trace[length - 1] == '/')
		length--;
	return snprintf(buf, size, "%.*s" RUN_MEMORY_ENDING, (int)length, trace) < (int)size;
}

/* ---- the collector's process ------------------------------------------------------ */

static int run_memory_region_fd; /* config.ready has no context */

static void run_memory_send_region(const char *region)
{
	if (io_write(run_memory_region_fd, region, strlen(region)) < 0)
		_exit(EXIT_FAILED);
	close(run_memory_region_fd);
}

/* Signals of the terminal are for the program: this process ends after it. */
static void run_memory_ignore_signals(void)
{
	static const int ignored[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
				       SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE };
	size_t i;

	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
}

/*
 * The names of the files, each with a NUL, and their size before them.  Returns when the other side
 * has read them, or does not want them.
 */
static void run_memory_send_files(int fd, const struct outputs *outputs)
{
	const struct output *out;
	struct bytes names = { 0 };
	ssize_t got = 1;
	uint64_t size;
	char byte;

	for (out = outputs->first; out; out = out->next)
		bytes_add(&names, out->path, strlen(out->path) + 1);
	size = names.error ? 0 : names.size;
	if (io_write(fd, &size, sizeof(size)) < 0 || (size && io_write(fd, names.data, size) < 0))
		got = 0;
	while (got > 0 || (got < 0 && errno == EINTR))
		got = read(fd, &byte, 1);
	bytes_release(&names);
}

static void __attribute__((noreturn))
run_memory_collect(const char *output, char *const *argv, int until_fd, bool json, bool quiet)
{
	struct collect_config config = {
		.output = output,
		.argv = argv,
		.ready = run_memory_send_region,
		.until_fd = until_fd,
		.level = 1,
		.tool = "corotracer " COROTRACER_VERSION,
	};
	struct collect_result result;
	struct err err = { 0 };
	int status = EXIT_FAILED;

	run_memory_ignore_signals();
	if (collect_run(&config, &result, &err) < 0)
		message_error("run", &err);
	else {
		run_memory_send_files(until_fd, &result.outputs);
		status = mem_run_conclude("run", &result, false, quiet || json);
	}
	collect_result_release(&result);
	fflush(stderr);
	_exit(status);
}

/* ---- the other process -------------------------------------------------------------- */

static const struct run_memory *run_memory_last; /* config.add_facts has no context */

/* The region's path, which the collector sends; false: it has ended. */
static bool run_memory_receive(int fd, char *path, size_t size)
{
	size_t used = 0;
	ssize_t got = 1;

	while (used + 1 < size && got > 0) {
		got = read(fd, path + used, size - 1 - used);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			used += (size_t)got;
	}
	path[used] = '\0';
	return used > 0;
}

/* Both are for the program, which this process starts. */
static bool run_memory_pass_on(struct run_memory *m, const char *path)
{
	unsetenv(CRW_ENV_FD);
	if (!m->no_inherit && region_heritage_open(&m->heritage, path) &&
	    setenv(CRW_ENV_FD, m->heritage.value, 1) == 0)
		fcntl(m->heritage.fd, F_SETFD, 0);
	return setenv(CRW_ENV, path, 1) == 0;
}

/* 0; an errno; or -1: the collector has ended, and has said why. */
static int run_memory_fork(struct run_memory *m, const char *output, char *const *argv, bool json,
			   bool quiet)
{
	int region[2], end[2], code;
	char path[PATH_MAX];

	m->heritage.fd = -1;
	if (pipe2(region, O_CLOEXEC) < 0)
		return errno;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) < 0) {
		code = errno;
		close(region[0]);
		close(region[1]);
		return code;
	}
	fflush(NULL);
	m->collector = fork();
	if (m->collector == 0) {
		close(region[0]);
		close(end[1]);
		run_memory_region_fd = region[1];
		run_memory_collect(output, argv, end[0], json, quiet);
	}
	code = m->collector < 0 ? errno : 0;
	close(region[1]);
	close(end[0]);
	m->end_fd = end[1];
	if (code)
		close(m->end_fd);
	else if (!run_memory_receive(region[0], path, sizeof(path)))
		code = -1;
	else if (!run_memory_pass_on(m, path))
		code = errno;
	close(region[0]);
	if (code)
		run_memory_end(m, EXIT_FAILED);
	return code;
}

bool run_memory_begin(struct run_memory *m, const char *trace, char *const *argv, bool json,
		      bool quiet)
{
	char output[PATH_MAX];
	int code;

	if (!m->wanted)
		return true;
	m->trace = trace;
	if (!m->output && !run_memory_name(trace, output, sizeof(output))) {
		message_print("run", "the name of the trace is too long for --mem");
		return false;
	}
	code = run_memory_fork(m, m->output ? m->output : output, argv, json, quiet);
	run_memory_last = m;
	if (code > 0)
		message_print("run", "cannot start the collector of memory accesses: %s",
			      strerror(code));
	return !code;
}

static bool run_memory_read(int fd, void *to, size_t size)
{
	char *at = to;

	while (size) {
		ssize_t got = read(fd, at, size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		size -= (size_t)got;
	}
	return true;
}

void run_memory_add_facts(struct trace_writer *writer, pid_t pid, bool is_running,
			  bool has_attached)
{
	const struct run_memory *m = run_memory_last;
	char *names, *at;
	uint64_t size;

	(void)pid;
	(void)is_running;
	(void)has_attached;
	send(m->end_fd, "", 1, MSG_NOSIGNAL);
	if (!run_memory_read(m->end_fd, &size, sizeof(size)) || !size)
		return;
	names = malloc(size);
	if (names && run_memory_read(m->end_fd, names, size)) {
		for (at = names; at < names + size; at += strlen(at) + 1)
			run_memory_put_facts(writer, m->trace, at);
	}
	free(names);
}

int run_memory_end(struct run_memory *m, int status)
{
	int ended = 0;
	pid_t got;

	if (m->collector <= 0)
		return status;
	/* Not only closed: another child of this process may have it, too. */
	send(m->end_fd, "", 1, MSG_NOSIGNAL);
	shutdown(m->end_fd, SHUT_RDWR);
	close(m->end_fd);
	do {
		got = waitpid(m->collector, &ended, 0);
	} while (got < 0 && errno == EINTR);
	m->collector = 0;
	unsetenv(CRW_ENV);
	unsetenv(CRW_ENV_FD);
	region_heritage_close(&m->heritage);
	if (got > 0 && WIFEXITED(ended) && WEXITSTATUS(ended) == EXIT_OK)
		return status;
	if (got > 0 && WIFSIGNALED(ended))
		message_print("run",
			      "signal %d ended the collector of memory accesses: their trace "
			      "is incomplete",
			      WTERMSIG(ended));
	return status ? status : EXIT_FAILED;
}
