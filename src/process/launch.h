/* SPDX-License-Identifier: MIT */
/* launch.h - start the program and report how it ended. */
#ifndef PROCESS_LAUNCH_H
#define PROCESS_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "process/signals.h"

struct launch {
	pid_t pid;
	bool ended;
	int status;        /* status of wait(2), once ended */
	uint64_t ended_ns; /* CLOCK_MONOTONIC, when the end was noticed */
	bool is_held;      /* before its first instruction: launch_release() lets it run */
	struct err unheld; /* with hold: why it could not be held */
};

/* Environment variables for the program; an entry with NULL ends the list. */
struct launch_env {
	const char *name, *value;
	int fd; /* stays open in the program: the value names it; 0: none */
};

/*
 * The program inherits the collector's standard files, original signals and limits, with one
 * exception: with @stdout_to_stderr its standard output is the collector's standard error.
 */
int launch_start(struct launch *l, char *const argv[], const struct launch_env *env,
		 const struct signals *signals, bool stdout_to_stderr, struct err *err);

/* As launch_start(), and hold the program before its first instruction: see exec_stop.h. */
int launch_start_held(struct launch *l, char *const argv[], const struct launch_env *env,
		      const struct signals *signals, bool stdout_to_stderr, struct err *err);

/* Let a held program run. */
void launch_release(struct launch *l);

/* Kill a held program: it has not executed an instruction of its own. */
void launch_abort(struct launch *l);

/* True if the program has ended.  Never blocks. */
bool launch_ended(struct launch *l);

/* As a shell reports it: 0..255, or 128 + signal. */
int launch_exit_status(const struct launch *l);
int launch_signal(const struct launch *l); /* 0: none */

#endif
