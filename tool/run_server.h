/* SPDX-License-Identifier: MIT */
/*
 * run_server.h - serve a trace as a page over HTTP until the user ends it.
 *
 * `serve` runs the server itself. `run --serve` runs it in a child process: a collector must not
 * wait for clients, and the page stays available after the program ended.
 */
#ifndef TOOL_RUN_SERVER_H
#define TOOL_RUN_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "open_page.h"
#include "serve_collector.h"
#include "serve/server.h"

struct serving {
	const char *command; /* for messages */
	const char *trace;
	struct listener listener;
	bool quiet, json;
	bool open; /* open a browser */
	struct open_page opened;
	struct collector_watch watch;
	pid_t child;  /* of run --serve; 0: none */
	pid_t parent; /* in that child: the collector */
	int go_fd;    /* of run --serve: signals the child that the trace exists; -1: done */
};

/* Bind the port.  Prints an error, or a warning if other machines can reach the address. */
bool serving_listen(struct serving *s, const char *address, uint16_t port);

/* Read, serve and print the URL until a signal ends it.  Returns the exit status. */
int serving_run(struct serving *s);

/* ---- for a collector ----------------------------------------------------------------- */

/* True if a trace written to @output can be followed; otherwise prints why not. */
bool serving_can_follow(const char *command, const char *output, bool is_ctf, bool is_flight);

/* Start the child, which waits for serving_go().  False after an error message. */
bool serving_fork(struct serving *s);

/* The trace exists: the child may read it. */
void serving_go(struct serving *s);

/* The run is over.  @stay: keep serving until the user ends it; otherwise end at once. */
void serving_end(struct serving *s, bool stay);

#endif
