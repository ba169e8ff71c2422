/* SPDX-License-Identifier: MIT */
/*
 * exec_stop.h - hold a program that is being started before its first instruction.
 *
 * The child calls exec_stop_allow() and executes the program.  exec_stop_await() lets the dynamic
 * loader map and relocate all libraries, and returns before any constructor runs: the memory of
 * the program can then be changed.  A static program is held at its first instruction, where a
 * position-independent one is not relocated yet.  exec_stop_release() lets the program run,
 * without a tracer.
 *
 * All calls but the first are made by the thread that started the child.
 */
#ifndef PROCESS_EXEC_STOP_H
#define PROCESS_EXEC_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* In the child, before it executes the program.  False: not allowed here. */
bool exec_stop_allow(void);

/*
 * Returns 0 if process @pid is held; 1 if it ended before, with *@status as of wait(2); or a
 * negative errno: then the program runs, and is not traced.
 */
int exec_stop_await(pid_t pid, int *status, struct err *err);

void exec_stop_release(pid_t pid);

#endif
