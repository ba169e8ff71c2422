/* SPDX-License-Identifier: MIT */
/*
 * endpoint.h - the wake-up socket, and who is connected to it.
 *
 * Any number of processes may connect: the program, its children, their children.
 * A connection carries nothing but wake-up bytes; it also tells who is there.  Only
 * processes of our own user (or root) are let in, as the kernel vouches for them.
 */
#ifndef CTP_ENDPOINT_H
#define CTP_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ctp/modules.h"

struct peer {
	int fd;      /* -1 once it has hung up */
	bool buried; /* it is known to be gone for good */
	uint32_t pid;
	uint32_t uid;
	uint64_t connected_ns;
	uint64_t hung_up_ns;    /* when that was noticed; 0: it has not */
	uint64_t look_again_ns; /* for libraries that it has loaded since */
};

struct endpoint {
	int listen_fd; /* -1: closed */
	int epoll_fd;
	int spare_fd; /* to turn away who comes when there are no more */
	uint32_t nr_turned_away;
	const char *path;
	struct peer *peers; /* everybody that ever connected, in order */
	uint32_t nr_peers;
	uint32_t room;
	uint32_t nr_connected;
	uint32_t nr_doubtful; /* hung up, and not known to be gone */
	uint32_t nr_refused;  /* of another user */
	uint64_t nr_wakeups;  /* bytes received */
	struct modules modules;
};

/* Listens at @path, which must stay valid; epoll_fd becomes readable when somebody calls. */
int endpoint_open(struct endpoint *e, const char *path, struct err *err);
void endpoint_close(struct endpoint *e);

/*
 * A process that hung up and is gone for good, told once: its pid, or 0 for none.  Who
 * only closed its socket is asked about again next time.
 */
uint32_t endpoint_gone(struct endpoint *e);

/* No process of that number is alive. */
bool endpoint_process_is_gone(uint32_t pid);

/* Once in a while, ever more seldom: what have processes loaded since? */
void endpoint_look_again(struct endpoint *e, uint64_t now_ns);

/* Let in who knocks, take the wake-up bytes, notice who left.  Never waits. */
int endpoint_serve(struct endpoint *e);

#endif
