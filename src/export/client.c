/* SPDX-License-Identifier: MIT */
/* client.c - start a command line client, send it a script, and report how it ended. */
#include "export/client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

#define SEND_AT ((size_t)128 * 1024)

/* ---- its command line and environment ------------------------------------ */

void client_arg(struct client_args *args, const char *option, const char *value)
{
	char *word;

	if (!value)
		return;
	if (args->nr == CLIENT_ARGS_MAX || asprintf(&word, "%s%s", option, value) < 0) {
		args->failed = true;
		return;
	}
	args->words[args->nr++] = word;
}

void client_args_release(struct client_args *args)
{
	while (args->nr)
		free(args->words[--args->nr]);
}

/*
 * The environment of this process and the password; the caller frees it and its first entry.
 * NULL: no memory.
 */
static char **make_environment(const char *variable, const char *password)
{
	size_t nr = 0, at = 1, i;
	char **env;

	while (environ[nr])
		nr++;
	env = calloc(nr + 2, sizeof(*env));
	if (!env || asprintf(&env[0], "%s=%s", variable, password) < 0) {
		free(env);
		return NULL;
	}
	for (i = 0; i < nr; i++) {
		if (strncmp(environ[i], env[0], strlen(variable) + 1) != 0)
			env[at++] = environ[i];
	}
	return env;
}

/* ---- starting ------------------------------------------------------------ */

/*
 * Starts the shell with default signal handling, @input as standard input and c->output as
 * output.
 */
static int client_spawn(struct client *c, int input, char **argv, char **env)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int rc;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
	/* The output of the client is not output of the export. */
	posix_spawn_file_actions_adddup2(&files, c->output, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, c->output, STDERR_FILENO);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawn(&c->pid, "/bin/sh", &files, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	if (rc)
		c->pid = 0;
	return -rc;
}

/* The shell splits the words of the command, but not the words of @args. */
static int start_shell(struct client *c, int input, const struct client_args *args, char **env)
{
	char *argv[CLIENT_ARGS_MAX + 5] = { 0 }, *script;
	char sh[] = "sh", dash_c[] = "-c";
	int rc;

	if (asprintf(&script, "exec %s \"$@\"", c->command) < 0)
		return -ENOMEM;
	argv[0] = argv[3] = sh;
	argv[1] = dash_c;
	argv[2] = script;
	memcpy(&argv[4], args->words, args->nr * sizeof(argv[0]));
	rc = client_spawn(c, input, argv, env);
	free(script);
	return rc;
}

static int start_piped(struct client *c, const struct client_args *args, char **env,
		       struct err *err)
{
	int pipe_fds[2], rc;

	c->output = memfd_create("client", MFD_CLOEXEC);
	if (c->output < 0 || pipe2(pipe_fds, O_CLOEXEC) < 0)
		return err_errno(err, "cannot make a pipe");
	c->input = pipe_fds[1];
	rc = start_shell(c, pipe_fds[0], args, env);
	close(pipe_fds[0]);
	if (rc < 0)
		err_set(err, rc, "cannot start '%s': %s", c->command, strerror(-rc));
	return rc;
}

int client_start(struct client *c, const char *command, struct client_args *args,
		 const char *variable, const char *password, struct err *err)
{
	char **env;
	int rc;

	c->command = command;
	c->input = c->output = -1;
	if (args->failed)
		return err_set(err, -ENOMEM, "no memory for a command line");
	if (!password || !variable)
		return start_piped(c, args, environ, err);
	env = make_environment(variable, password);
	if (!env)
		return err_set(err, -ENOMEM, "no memory for an environment");
	rc = start_piped(c, args, env, err);
	explicit_bzero(env[0], strlen(env[0]));
	free(env[0]);
	free(env);
	return rc;
}

/* ---- feeding ------------------------------------------------------------- */

int client_settle(struct client *c, bool all, struct err *err)
{
	size_t done = 0;

	if (!all && c->bytes.size < SEND_AT)
		return 0;
	while (done < c->bytes.size) {
		ssize_t put = io_write(c->input, c->bytes.data + done, c->bytes.size - done);

		if (put < 0) {
			/* The client closed its input; its own message says why. */
			if (client_finish(c, err) == 0)
				err_set(err, (int)put, "'%s' ended before it had all", c->command);
			return err->code;
		}
		done += (size_t)put;
	}
	c->bytes.size = 0;
	return 0;
}

/* ---- the end ------------------------------------------------------------- */

/* The end of its output, on one line. */
static void last_words(struct client *c, char *text, size_t size)
{
	off_t end = lseek(c->output, 0, SEEK_END);
	off_t from = end > (off_t)size - 1 ? end - ((off_t)size - 1) : 0;
	ssize_t got = end > 0 ? io_pread(c->output, text, size - 1, from) : 0;
	ssize_t i;

	if (got < 0)
		got = 0;
	while (got && (text[got - 1] == '\n' || text[got - 1] == ' '))
		got--;
	text[got] = '\0';
	for (i = 0; i < got; i++) {
		if ((unsigned char)text[i] < ' ')
			text[i] = ' ';
	}
}

static int client_wait_for(struct client *c)
{
	int status;

	if (c->input >= 0)
		close(c->input);
	c->input = -1;
	while (waitpid(c->pid, &status, 0) < 0) {
		if (errno != EINTR) {
			status = -1;
			break;
		}
	}
	c->pid = 0;
	return status;
}

int client_finish(struct client *c, struct err *err)
{
	char text[320];
	int status;

	if (!c->pid)
		return 0;
	status = client_wait_for(c);
	if (status == 0)
		return 0;
	last_words(c, text, sizeof(text));
	if (WIFSIGNALED(status))
		err_set(err, -EIO, "'%.80s' was killed by signal %d%s%s", c->command,
			WTERMSIG(status), *text ? ": " : "", text);
	else
		err_set(err, -EIO, "'%.80s' ended with status %d%s%s", c->command,
			WEXITSTATUS(status), *text ? ": " : "", text);
	err_hint(err, "nothing of it is in the database");
	return err->code;
}

void client_close(struct client *c)
{
	if (c->pid)
		client_wait_for(c);
	if (c->input >= 0)
		close(c->input);
	if (c->output >= 0)
		close(c->output);
	bytes_release(&c->bytes);
}
