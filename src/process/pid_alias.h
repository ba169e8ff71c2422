/* SPDX-License-Identifier: MIT */
/*
 * pid_alias.h - pids of processes in another pid namespace.
 *
 * A process in a container writes its own pid into shared memory, and this process knows it by
 * another number.  A table of both.
 */
#ifndef PROCESS_PID_ALIAS_H
#define PROCESS_PID_ALIAS_H

#include <stdint.h>

#define PID_ALIASES 64u
#define PID_OWN     8u

/* All zero: empty. */
struct pid_aliases {
	uint32_t inner[PID_ALIASES], outer[PID_ALIASES];
	uint32_t nr;
	/* A number that is not in the table: there may be news of its process.  NULL: none. */
	void (*learn)(void *ctx);
	void *ctx;
	uint32_t own[PID_OWN], next_own; /* numbers of which nothing was learned */
};

/* Add process @outer, as this process sees it, if it sees itself under another number. */
void pid_alias_add(struct pid_aliases *a, uint32_t outer);

/* Add process @outer, which says that its own number is @inner. */
void pid_alias_set(struct pid_aliases *a, uint32_t inner, uint32_t outer);

/* The pid of this process's namespace for @inner; @inner itself if none is known.  @a may be NULL.
 */
uint32_t pid_alias_outer(struct pid_aliases *a, uint32_t inner);

#endif
