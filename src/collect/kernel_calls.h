/* SPDX-License-Identifier: MIT */
/*
 * kernel_calls.h - system calls that are newer than the oldest kernel that works, and which are
 * missing.
 *
 * Each has a substitute: docs/containers.md has the table.  A sandbox that forbids one counts as a
 * kernel without it.
 */
#ifndef COLLECT_KERNEL_CALLS_H
#define COLLECT_KERNEL_CALLS_H

#include <stdbool.h>
#include <stddef.h>

struct kernel_call {
	const char *name;
	const char *since; /* version of Linux */
	bool (*exists)(void);
};

/* A table that ends with a NULL name, the newest first. */
extern const struct kernel_call kernel_calls[];

#endif
