/* SPDX-License-Identifier: MIT */
/*
 * exit_exec_hooks.c - complete the trace at _exit and exec, which run no destructors.
 *
 * Without a collector, a background thread of the program writes the trace, and _exit and exec
 * would kill it at any point.  So these functions interpose libc's and complete the file first.
 * Under a collector, and in a child of vfork, there is nothing to do.
 *
 * The PATH search is done here, because libc's functions call each other by internal names that
 * cannot be interposed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inprocess_writer.h"
#include "trace_session.h"
#include "sys.h"

const char crt_exit_hooks = 1; /* as crt_heap_hooks */

static bool exit_exec_hooks_is_own(void)
{
	return crt_session.alone && crt_session.pid == crt_pid();
}

static __attribute__((noreturn)) void exit_exec_hooks_is_gone(int status)
{
	if (exit_exec_hooks_is_own())
		crt_alone_finish();
	for (;;)
		syscall(SYS_exit_group, status);
}

CRT_API void _exit(int status);
CRT_API void _Exit(int status);

void _exit(int status)
{
	exit_exec_hooks_is_gone(status);
}

void _Exit(int status)
{
	exit_exec_hooks_is_gone(status);
}

static int exit_exec_hooks_run(const char *path, char *const argv[], char *const envp[])
{
	return (int)syscall(SYS_execve, path, argv, envp);
}

static int exit_exec_hooks_replace(const char *path, char *const argv[], char *const envp[])
{
	if (exit_exec_hooks_is_own())
		crt_alone_checkpoint();
	return exit_exec_hooks_run(path, argv, envp);
}

/* ENOEXEC: run the file as a shell script, as libc does. */
static void by_shell(const char *path, char *const argv[], char *const envp[])
{
	size_t n = 0, i;

	while (argv[n])
		n++;
	{
		char *args[n + 2];

		args[0] = (char *)"/bin/sh";
		args[1] = (char *)path;
		for (i = 1; i < n; i++)
			args[i + 1] = argv[i];
		args[n < 1 ? 2 : n + 1] = NULL;
		exit_exec_hooks_run("/bin/sh", args, envp);
	}
}

static int exit_exec_hooks_search(const char *file, char *const argv[], char *const envp[])
{
	const char *path = getenv("PATH");
	bool denied = false;
	char full[4096];

	if (!path)
		path = "/bin:/usr/bin";
	while (*file) {
		struct crt_text t;
		size_t n;

		for (n = 0; path[n] && path[n] != ':'; n++)
			;
		if (n + crt_length(file) + 2 < sizeof(full)) {
			__builtin_memcpy(full, path, n);
			crt_text_init(&t, full + n, sizeof(full) - n);
			crt_text_add(&t, n ? "/" : "");
			crt_text_add(&t, file);
			exit_exec_hooks_run(full, argv, envp);
			if (errno == ENOEXEC)
				by_shell(full, argv, envp);
			denied = denied || errno == EACCES;
			if (errno != EACCES && errno != ENOENT && errno != ENOTDIR &&
			    errno != ESTALE && errno != ENODEV && errno != ETIMEDOUT)
				return -1;
		}
		if (!path[n])
			break;
		path += n + 1;
	}
	errno = denied ? EACCES : ENOENT;
	return -1;
}

CRT_API int execve(const char *path, char *const argv[], char *const envp[]);
CRT_API int execv(const char *path, char *const argv[]);
CRT_API int execvp(const char *file, char *const argv[]);
CRT_API int execvpe(const char *file, char *const argv[], char *const envp[]);
CRT_API int fexecve(int fd, char *const argv[], char *const envp[]);

int execve(const char *path, char *const argv[], char *const envp[])
{
	return exit_exec_hooks_replace(path, argv, envp);
}

int execv(const char *path, char *const argv[])
{
	return exit_exec_hooks_replace(path, argv, environ);
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
	const char *c;

	if (exit_exec_hooks_is_own())
		crt_alone_checkpoint();
	for (c = file; *c; c++) {
		if (*c == '/') {
			exit_exec_hooks_run(file, argv, envp);
			if (errno == ENOEXEC)
				by_shell(file, argv, envp);
			return -1;
		}
	}
	return exit_exec_hooks_search(file, argv, envp);
}

int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
	if (exit_exec_hooks_is_own())
		crt_alone_checkpoint();
	return (int)syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
}

/* The variadic forms.  @with_env: the environment follows the arguments. */
#define IN_A_ROW(first, call, with_env)                       \
	do {                                                  \
		size_t nr = 1, i;                             \
		va_list ap;                                   \
                                                              \
		va_start(ap, first);                          \
		while (va_arg(ap, char *))                    \
			nr++;                                 \
		va_end(ap);                                   \
		{                                             \
			char *argv[nr + 1], **envp = environ; \
                                                              \
			argv[0] = (char *)first;              \
			va_start(ap, first);                  \
			for (i = 1; i <= nr; i++)             \
				argv[i] = va_arg(ap, char *); \
			if (with_env)                         \
				envp = va_arg(ap, char **);   \
			va_end(ap);                           \
			return call(path, argv, envp);        \
		}                                             \
	} while (0)

CRT_API int execl(const char *path, const char *arg, ...);
CRT_API int execle(const char *path, const char *arg, ...);
CRT_API int execlp(const char *path, const char *arg, ...);

int execl(const char *path, const char *arg, ...)
{
	IN_A_ROW(arg, exit_exec_hooks_replace, 0);
}

int execle(const char *path, const char *arg, ...)
{
	IN_A_ROW(arg, exit_exec_hooks_replace, 1);
}

int execlp(const char *path, const char *arg, ...)
{
	IN_A_ROW(arg, execvpe, 0);
}
