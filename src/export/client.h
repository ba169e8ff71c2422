/* SPDX-License-Identifier: MIT */
/*
 * client.h - load a trace through a command line client: sqlite3, psql, mysql.
 *
 * The user gives the command (--db-cli).  It may be several words for the shell, so that
 * `docker exec -i db psql` works; options for host, port, user and database are appended, and
 * the password is in the environment of the client.  The client gets a script on its standard
 * input.  The script ends with the COMMIT: a client that receives only a part of it commits
 * nothing.
 */
#ifndef EXPORT_CLIENT_H
#define EXPORT_CLIENT_H

#include <sys/types.h>

#include "base/bytes.h"
#include "export/sink.h"

extern const struct sink client_mysql;
extern const struct sink client_postgresql;
extern const struct sink client_sqlite;

#define CLIENT_ARGS_MAX 24

struct client {
	pid_t pid;  /* 0: not started, or it has ended */
	int input;  /* its standard input; -1: closed */
	int output; /* its stdout and stderr, an unnamed file; -1: none */
	const char *command;
	struct bytes bytes; /* for the client, not sent yet */
};

/*
 * Words appended to its command line.  client_arg() adds "--host=x" as one word; nothing if
 * @value is NULL.
 */
struct client_args {
	char *words[CLIENT_ARGS_MAX];
	size_t nr;
	bool failed; /* no memory, or too many words */
};
void client_arg(struct client_args *args, const char *option, const char *value);
void client_args_release(struct client_args *args);

/* @variable is set to @password, if there is one, only in the environment of the client. */
int client_start(struct client *c, const char *command, struct client_args *args,
		 const char *variable, const char *password, struct err *err);

/* Sends c->bytes once there are enough of them; @all: sends any number. */
int client_settle(struct client *c, bool all, struct err *err);

/* Closes the input and waits for the end.  On failure @err has its status and its output. */
int client_finish(struct client *c, struct err *err);

/* Ends the client without a COMMIT.  Harmless on a client that has ended. */
void client_close(struct client *c);

#endif
