/* SPDX-License-Identifier: MIT */
/*
 * serving.h - a trace on a page of a server of ours, until somebody ends it.
 *
 * `serve` does it itself.  `run --serve` leaves it to a child: a collector must not wait for
 * anybody, and the page stays when the program is gone.
 */
#ifndef TOOL_SERVING_H
#define TOOL_SERVING_H

#include <stdbool.h>
#include <sys/types.h>

#include "open_page.h"
#include "view/server.h"

struct serving {
	const char *command; /* for messages */
	const char *trace;
	struct listener listener;
	bool quiet, json;
	bool open; /* show it in a browser */
	struct open_page opened;
	pid_t child; /* of run --serve; 0: none */
	int go_fd;   /* likewise: tells it that the trace is there; -1: told */
};

/* Take the port; says on stderr what is wrong with that, or with an address that others reach. */
bool serving_listen(struct serving *s, const char *address, uint16_t port);

/* Read, serve, print the URL, until a signal ends it.  The exit status. */
int serving_run(struct serving *s);

/* ---- for a collector ----------------------------------------------------------------- */

/* Can a trace that goes to @output be followed?  If not, says why. */
bool serving_can_follow(const char *command, const char *output, bool is_ctf, bool is_flight);

/* The child; it waits for serving_go().  False after saying why not. */
bool serving_fork(struct serving *s);

/* The trace is there: read it. */
void serving_go(struct serving *s);

/* The run is over.  @stay: until the user ends it; else at once. */
void serving_end(struct serving *s, bool stay);

#endif
