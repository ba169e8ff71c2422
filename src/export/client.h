/* SPDX-License-Identifier: MIT */
/*
 * client.h - the same load through a command line client: sqlite3, psql, mysql.
 *
 * The command is the user's (--db-cli) and may be several words for the shell, so that
 * `docker exec -i db psql` works; what tells the client where to go is added behind it, and
 * the password is in its environment.  It gets a script on its standard input.  The script's
 * last line is the COMMIT: a client that gets less commits nothing.
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
	pid_t pid;  /* 0: none, or it has ended */
	int input;  /* its standard input; -1: closed */
	int output; /* what it says on stderr, an unnamed file; -1: none */
	const char *command;
	struct bytes bytes; /* for the client, not sent yet */
};

/* One more word of its command line, "--host=x" in one; nothing if @value is NULL. */
struct client_args {
	char *words[CLIENT_ARGS_MAX];
	size_t nr;
	bool failed; /* no memory */
};
void client_arg(struct client_args *args, const char *option, const char *value);
void client_args_release(struct client_args *args);

/* @variable (of @password, if there is one) goes to its environment only. */
int client_start(struct client *c, const char *command, struct client_args *args,
		 const char *variable, const char *password, struct err *err);

/* Send what is in c->bytes if it is much; @all: whatever there is. */
int client_settle(struct client *c, bool all, struct err *err);

/* No more comes; wait for its end.  Its status and what it said are the error's words. */
int client_finish(struct client *c, struct err *err);

/* It gets no COMMIT and ends by that.  Harmless on one that has ended. */
void client_close(struct client *c);

#endif
