/* SPDX-License-Identifier: MIT */
/*
 * top_target.h - start a program to watch, under its own collector.
 *
 * The collector is a child process in its own process group: the terminal's signals are for the
 * view, not for the program.
 */
#ifndef TOOL_TOP_TARGET_H
#define TOOL_TOP_TARGET_H

#include <sys/types.h>

#include "base/err.h"

struct top_target {
	pid_t collector;
	int told_fd; /* pipe with the collector's messages */
	char *region;
};

/* @trace: file of the trace, NULL: none; @log: file of the program's output, NULL: none. */
int top_target_start(struct top_target *t, char *const *argv, const char *trace, const char *log,
		     struct err *err);

/*
 * End the program if it still runs.  Returns its exit status, or 128 + a signal that was not sent
 * here.  *@err: why the program could not be started.
 */
int top_target_end(struct top_target *t, struct err *err);

#endif
