/* SPDX-License-Identifier: MIT */
/*
 * program_door.h - the descriptors that a launched program inherits: the region and the door.
 *
 * include/corotracer/inherit.h has the protocol.  A process that has the door was launched by this
 * collector, or by a process that was: it is accepted whatever its user is by now.  What it sends
 * is untrusted all the same.
 */
#ifndef COLLECT_PROGRAM_DOOR_H
#define COLLECT_PROGRAM_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct door {
	int fd;         /* the collector's end; -1: closed */
	int program_fd; /* the program's end until it is launched; -1: none */
	int region_fd;  /* the region's file for the program; -1: none */
	char *value;    /* of CTP_FDS */
};

/* A message of a process. */
struct door_guest {
	int fd; /* its connection, which the receiver owns; -1: it is not attached */
	uint32_t pid, uid;
	uint32_t inner;  /* its pid as it sees it */
	char name[32];   /* without a connection: of the process */
	uint32_t why;    /* without a connection: ctp_request.why */
	bool is_no_room; /* its connection was lost: this process has no descriptor left */
};

/* Not opened: for door_close(). */
void door_init(struct door *d);

/* Open the door and, again, the region at @path. */
int door_open(struct door *d, const char *path, struct err *err);

/* The program is launched: close its descriptors in this process. */
void door_launched(struct door *d);

void door_close(struct door *d);

/*
 * The next message.  Never blocks.  Returns false if there is none; *@is_over: there will be none.
 * A guest with pid 0 is to be ignored.
 */
bool door_receive(struct door *d, struct door_guest *guest, bool *is_over);

#endif
