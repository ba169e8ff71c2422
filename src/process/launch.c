/* SPDX-License-Identifier: MIT */
/* launch.c - start the program and report how it ended. */
#include "process/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "process/exec_stop.h"

/* The descriptor has its number already: do not close it on exec.  False: no memory. */
static bool launch_pass_on(const struct launch_env *env)
{
	if (env->fd > 0)
		fcntl(env->fd, F_SETFD, 0);
	return (env->value ? setenv(env->name, env->value, 1) : unsetenv(env->name)) == 0;
}

/* In the child. exec closes the pipe; only a failure writes to it. */
static void launch_exec_program(char *const argv[], const struct launch_env *env,
				const struct signals *signals, bool stdout_to_stderr, bool is_held,
				int failure_fd)
{
	bool is_lacking = false;
	int why;

	/*
	 * Without a standard error close standard output, so that the program cannot write into
	 * the trace.
	 */
	if (stdout_to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		close(STDOUT_FILENO);

	for (; env->name && !is_lacking; env++)
		is_lacking = !launch_pass_on(env);
	signals_restore_in_child(signals);
	signal(SIGBUS, SIG_DFL);
	if (is_lacking)
		errno = ENOMEM; /* without them the program would run untraced */
	else if (!is_held || exec_stop_allow())
		execvp(argv[0], argv);
	why = errno;
	if (write(failure_fd, &why, sizeof(why)) != sizeof(why))
		_exit(126);
	_exit(127);
}

static int launch_explain(const char *name, int why, struct err *err)
{
	struct stat st;

	errno = why;
	err_errno(err, "cannot run '%s'", name);
	err->exit_status = why == ENOENT || why == ENOTDIR ? 127 : 126; /* as a shell's */
	if (why == ENOENT && strchr(name, ' '))
		err_hint(err, "the program and its arguments are separate words; without quotes?");
	else if (why == ENOENT && !strchr(name, '/'))
		err_hint(err, "it is not in PATH; a program in this folder is './%s'", name);
	else if (why == EACCES && stat(name, &st) == 0 && S_ISDIR(st.st_mode))
		err_hint(err, "it is a directory");
	else if (why == EACCES)
		err_hint(err, "is it executable?  'chmod +x %s'", name);
	return err->code;
}

static int launch_fork(struct launch *l, char *const argv[], const struct launch_env *env,
		       const struct signals *signals, bool stdout_to_stderr, bool is_held,
		       struct err *err)
{
	int failure[2], why = 0;
	ssize_t got;

	memset(l, 0, sizeof(*l));
	if (pipe2(failure, O_CLOEXEC) < 0)
		return err_errno(err, "cannot make a pipe");
	l->pid = fork();
	if (l->pid < 0) {
		err_errno(err, "cannot start '%s'", argv[0]);
		close(failure[0]);
		close(failure[1]);
		return err->code;
	}
	if (l->pid == 0)
		launch_exec_program(argv, env, signals, stdout_to_stderr, is_held, failure[1]);
	close(failure[1]);
	do {
		got = read(failure[0], &why, sizeof(why));
	} while (got < 0 && errno == EINTR);
	close(failure[0]);
	if (got != sizeof(why))
		return 0;
	waitpid(l->pid, NULL, 0);
	l->pid = 0;
	return launch_explain(argv[0], why, err);
}

int launch_start(struct launch *l, char *const argv[], const struct launch_env *env,
		 const struct signals *signals, bool stdout_to_stderr, struct err *err)
{
	return launch_fork(l, argv, env, signals, stdout_to_stderr, false, err);
}

int launch_start_held(struct launch *l, char *const argv[], const struct launch_env *env,
		      const struct signals *signals, bool stdout_to_stderr, struct err *err)
{
	int rc = launch_fork(l, argv, env, signals, stdout_to_stderr, true, err);

	if (rc < 0)
		return rc;
	rc = exec_stop_await(l->pid, &l->status, &l->unheld);
	l->is_held = rc == 0;
	if (rc > 0) {
		l->ended = true;
		l->ended_ns = clock_now_ns();
		err_set(&l->unheld, -ESRCH, "the program ended before it started");
	}
	return 0;
}

void launch_release(struct launch *l)
{
	if (l->is_held)
		exec_stop_release(l->pid);
	l->is_held = false;
}

void launch_abort(struct launch *l)
{
	if (l->ended || l->pid <= 0)
		return;
	kill(l->pid, SIGKILL);
	while (waitpid(l->pid, &l->status, 0) < 0 && errno == EINTR)
		;
	l->ended = true;
	l->is_held = false;
}

bool launch_ended(struct launch *l)
{
	if (!l->ended && l->pid > 0 && waitpid(l->pid, &l->status, WNOHANG) == l->pid) {
		l->ended = true;
		l->ended_ns = clock_now_ns();
	}
	return l->ended;
}

int launch_signal(const struct launch *l)
{
	return l->ended && WIFSIGNALED(l->status) ? WTERMSIG(l->status) : 0;
}

int launch_exit_status(const struct launch *l)
{
	if (!l->ended)
		return 0;
	return WIFSIGNALED(l->status) ? 128 + WTERMSIG(l->status) : WEXITSTATUS(l->status);
}
