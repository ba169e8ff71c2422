/* SPDX-License-Identifier: MIT */
/*
 * top_target.h - a program that is started to be watched, under a collector of its own.
 *
 * The collector is a child of ours in a process group of its own: what the terminal's keys
 * send is for the view, not for the program.
 */
#ifndef TOOL_TOP_TARGET_H
#define TOOL_TOP_TARGET_H

#include <sys/types.h>

#include "base/err.h"

struct top_target {
	pid_t collector;
	int told_fd; /* what it tells */
	char *region;
};

/* @trace: where it goes, NULL: nowhere; @log likewise of the program's output. */
int top_target_start(struct top_target *t, char *const *argv, const char *trace, const char *log,
		     struct err *err);

/*
 * Ends the program, if it has not ended.  Its exit status; 128 + a signal that we did not send.
 * *@err: why it was not started after all.
 */
int top_target_end(struct top_target *t, struct err *err);

#endif
