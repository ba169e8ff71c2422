/* SPDX-License-Identifier: MIT */
/*
 * control.h - the socket at which a running collector takes requests.
 *
 * Beside the region, as REGION.control.  A connection carries one line of request and
 * gets one line of answer:
 *
 *	status              what is being collected
 *	snapshot [PATH]     write what the flight recorder has, there or where it would go
 *
 * Trust
 *   Only our own user (or root) is let in, as the kernel vouches for them.  Nothing here
 *   waits: who is slow, talks too much or does not read the answer is dropped.
 */
#ifndef CTP_CONTROL_H
#define CTP_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CONTROL_LINE_MAX 8192u /* of a request */
#define CONTROL_CLIENTS  16u

struct control_client {
	int fd; /* -1: free */
	bool asked;
	uint64_t ticket; /* nobody else ever has the same */
	uint64_t since_ns;
	uint32_t used;
	char line[CONTROL_LINE_MAX];
};

/* A whole request, without its newline.  To be answered now or later, by its ticket. */
typedef void control_handler(void *ctx, uint64_t ticket, const char *request);

struct control {
	int listen_fd; /* -1: closed */
	int epoll_fd;
	char *path;
	uint64_t tickets;
	uint32_t nr_refused; /* of another user */
	control_handler *handle;
	void *ctx;
	struct control_client clients[CONTROL_CLIENTS];
};

/* "REGION.control", to be freed; NULL without memory. */
char *control_path(const char *region);

/* Listens; epoll_fd becomes readable when somebody calls. */
int control_open(struct control *c, const char *region, control_handler *handle, void *ctx,
		 struct err *err);
void control_close(struct control *c);

/* Let in who knocks, hear and handle requests.  Never waits. */
void control_serve(struct control *c);

/* The answer, a line without its newline; ends the connection.  Nothing if they have left. */
void control_answer(struct control *c, uint64_t ticket, const char *text);

/* ---- the other side ---------------------------------------------------------- */

/*
 * Ask the collector that serves @region, and wait for the answer: @timeout_ms at most,
 * or for as long as it takes (-1).  The answer is to be freed.
 */
int control_ask(const char *region, const char *request, int timeout_ms, char **answer,
		struct err *err);

#endif
