/* SPDX-License-Identifier: MIT */
/*
 * control_socket.h - the socket where a running collector accepts requests.
 *
 * The socket is REGION.control.  A connection carries one request line and gets one answer
 * line:
 *
 * 	status              what is being collected
 * 	cpu                 processor time of coroutines (coro_cpu.h)
 * 	snapshot [PATH]     write the flight recorder's events to PATH or to the output
 *
 * Trust
 *   Only the same user and root may connect, checked with SO_PEERCRED.  Nothing here blocks: a
 *   client that is slow, sends too much or does not read the answer is dropped.
 */
#ifndef COLLECT_CONTROL_SOCKET_H
#define COLLECT_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CONTROL_LINE_MAX 8192u /* bytes of a request line */
#define CONTROL_CLIENTS  16u

struct control_client {
	int fd; /* -1: free */
	bool asked;
	uint64_t ticket; /* unique among all clients ever accepted */
	uint64_t since_ns;
	uint32_t used;
	char line[CONTROL_LINE_MAX];
};

/*
 * Handles a complete request, without its newline.  Answer it now or later with
 * control_answer().
 */
typedef void control_handler(void *ctx, uint64_t ticket, const char *request);

struct control {
	int listen_fd; /* -1: closed */
	int epoll_fd;
	char *path;
	uint64_t tickets;
	uint32_t nr_refused; /* connections of other users */
	control_handler *handle;
	void *ctx;
	struct control_client clients[CONTROL_CLIENTS];
};

/* Returns "REGION.control", which the caller frees; NULL without memory. */
char *control_path(const char *region);

/* Start to listen; epoll_fd becomes readable when there is work for control_serve(). */
int control_open(struct control *c, const char *region, control_handler *handle, void *ctx,
		 struct err *err);
void control_close(struct control *c);

/*
 * A killed collector leaves its sockets.  Remove the one at @path if nothing listens there.  The
 * caller has created the region that it belongs to.
 */
void control_remove_stale(const char *path);

/* Accept connections, read and handle requests.  Never blocks. */
void control_serve(struct control *c);

/* Send @text as one line and close the connection.  Does nothing if the client has disconnected. */
void control_answer(struct control *c, uint64_t ticket, const char *text);

/* ---- client side ------------------------------------------------------------- */

/*
 * Send @request to the collector that serves @region and wait for the answer, at most
 * @timeout_ms (-1: no limit).  The caller frees the answer.
 */
int control_ask(const char *region, const char *request, int timeout_ms, char **answer,
		struct err *err);

#endif
