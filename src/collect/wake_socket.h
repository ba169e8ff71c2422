/* SPDX-License-Identifier: MIT */
/*
 * wake_socket.h - the wake-up socket and the processes connected to it.
 *
 * Any number of processes may connect: the program, its children and theirs.  A connection
 * carries only wake-up bytes; it also shows which processes exist.  Only processes of the same
 * user and of root are accepted, checked with SO_PEERCRED; through the door (program_door.h) those
 * of any user.
 */
#ifndef COLLECT_WAKE_SOCKET_H
#define COLLECT_WAKE_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/mapped_modules.h"
#include "collect/program_door.h"
#include "process/pid_alias.h"

/* Reports of processes that could not attach; more are not kept. */
#define ENDPOINT_FAILED 16u

struct peer {
	int fd;      /* -1 after disconnect */
	bool buried; /* the process has ended */
	uint32_t pid;
	uint32_t uid;
	uint64_t connected_ns;
	uint64_t hung_up_ns;    /* when the disconnect was noticed; 0: connected */
	uint64_t look_again_ns; /* when to read its newly loaded libraries */
};

struct endpoint {
	int listen_fd; /* -1: closed */
	int epoll_fd;
	uint32_t guest_uid; /* connections of this user are accepted, too */
	int spare_fd;       /* reserve, used to reject connections when descriptors run out */
	uint32_t nr_turned_away;
	const char *path;
	struct peer *peers; /* all processes that ever connected, in order */
	uint32_t nr_peers;
	uint32_t room;
	uint32_t nr_connected;
	uint32_t nr_doubtful;                      /* disconnected, and not known to have ended */
	uint32_t nr_refused;                       /* connections of other users */
	uint64_t nr_wakeups;                       /* bytes received */
	struct door door;                          /* for a launched program */
	struct door_guest failed[ENDPOINT_FAILED]; /* processes that could not attach */
	uint32_t nr_failed;
	struct modules modules;
	struct pid_aliases pids; /* of processes in other pid namespaces */
};

/* Listen at @path, which must stay valid; epoll_fd becomes readable when there is work to do. */
int endpoint_open(struct endpoint *e, const char *path, struct err *err);
void endpoint_close(struct endpoint *e);

/* Open the door for a program that is to be launched, with the region at @path. */
int endpoint_open_door(struct endpoint *e, const char *path, struct err *err);

/*
 * Pid of a process that has disconnected and ended, each returned once; 0 if there is none.  A
 * process that only closed its socket is checked again at the next call.
 */
uint32_t endpoint_gone(struct endpoint *e);

/* True if no process with that pid runs any more. */
bool endpoint_process_is_gone(uint32_t pid);

/* Read the libraries that processes loaded since the last time, at growing intervals. */
void endpoint_look_again(struct endpoint *e, uint64_t now_ns);

/* Accept connections, read wake-up bytes, notice disconnects.  Never blocks. */
int endpoint_serve(struct endpoint *e);

#endif
