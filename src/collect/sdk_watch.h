/* SPDX-License-Identifier: MIT */
/*
 * sdk_watch.h - processes that have the SDK and did not connect, and why.
 *
 * Such a process has an ELF note that leads to a request block (corotracer/request.h), and the
 * block says why the process is not attached.  So the launched program and its descendants are
 * looked at while they run, at growing intervals, and the blocks that were found are read more
 * often.  A process that finds the door open reports by itself (program_door.h).  Of a program that
 * ended before the first look its file is looked at.  Nothing is stopped.
 */
#ifndef COLLECT_SDK_WATCH_H
#define COLLECT_SDK_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/wake_socket.h"

#define SDK_PROCESSES 16u

struct sdk_process {
	uint32_t pid;
	char name[32];
	bool is_seen;   /* `why` is known; otherwise only that it has the SDK */
	uint32_t why;   /* ctp_request.why */
	uint64_t block; /* address of the request block; 0: unknown */
};

struct sdk_watch {
	pid_t program;
	char name[32]; /* of the program's file */
	bool has_sdk;  /* the program's file has the SDK or needs its library */
	uint64_t start_ns;
	uint64_t next_ns;       /* look at all processes */
	uint64_t next_block_ns; /* read the blocks of those that were found */
	struct sdk_process found[SDK_PROCESSES];
	uint32_t nr;
};

/* @program was launched from the file @name, found as execvp(3) does. */
void sdk_watch_begin(struct sdk_watch *w, pid_t program, const char *name, uint64_t now_ns);

/* Look if it is time to.  A watch that was not begun does nothing. */
void sdk_watch_look(struct sdk_watch *w, const struct endpoint *e, uint64_t now_ns);

/* Time until the next look, at most @ns. */
uint64_t sdk_watch_wait(const struct sdk_watch *w, uint64_t now_ns, uint64_t ns);

/*
 * The run is over: keep in `found` the processes that never connected; if others did, only those
 * that could not.
 */
void sdk_watch_finish(struct sdk_watch *w, const struct endpoint *e);

/* A word for @p, for scripts: "no-environment" and so on. */
const char *sdk_process_reason(const struct sdk_process *p);

/* True if the process wanted to be traced and could not. */
bool sdk_process_failed(const struct sdk_process *p);

#endif
