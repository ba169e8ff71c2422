/* SPDX-License-Identifier: MIT */
/* launch.h - start the program to be traced, and tell how it ended. */
#ifndef CTP_LAUNCH_H
#define CTP_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "ctp/signals.h"

struct launch {
	pid_t pid;
	bool ended;
	int status;        /* of wait(2), once ended */
	uint64_t ended_ns; /* CLOCK_MONOTONIC, when that was found out */
};

/* What the program finds in its environment; a list ends with a zero entry. */
struct launch_env {
	const char *name, *value;
};

/*
 * The program's standard files, signals and limits are those we were given.  One exception:
 * with @stdout_to_stderr its standard output is our standard error.
 */
int launch_start(struct launch *l, char *const argv[], const struct launch_env *env,
		 const struct signals *signals, bool stdout_to_stderr, struct err *err);

/* Has it ended?  Never waits. */
bool launch_ended(struct launch *l);

/* As a shell would put it: 0..255, 128 + signal. */
int launch_exit_status(const struct launch *l);
int launch_signal(const struct launch *l); /* 0: none */

#endif
