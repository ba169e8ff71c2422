/* SPDX-License-Identifier: MIT */
/* look_wait.h - wait for a process that looks at the program, as long as it makes progress. */
#ifndef TOOL_LOOK_WAIT_H
#define TOOL_LOOK_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Wait for @child, which stays a zombie.  True: it has succeeded.  Otherwise the reason is in @why:
 * it failed, it and its children used no processor time for 5 seconds, it took a minute, a signal
 * asks this process to stop, or another thread has set @is_unwanted (NULL: none will).
 */
bool look_wait(pid_t child, const bool *is_unwanted, char *why, size_t size);

#endif
