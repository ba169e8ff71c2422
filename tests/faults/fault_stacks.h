/* SPDX-License-Identifier: MIT */
/*
 * fault_stacks.h - tell the calls of a program apart by their call stacks.
 *
 * Numbers of calls ("the 319th malloc") depend on the machine: on the environment, on the lengths
 * of paths, on threads.  Call stacks depend on the program only.  Frames of shared libraries are
 * left out, so that they depend on the libraries' versions as little as possible.
 */
#ifndef FAULT_STACKS_H
#define FAULT_STACKS_H

#include <stdint.h>

#define FAULT_STACKS 4096
#define FAULT_FRAMES 24

/* Shared by the processes of one run. */
struct fault_stack {
	uint64_t id; /* 0: the slot is free */
	uint64_t count;
	uint32_t call, nr_frames;
	uint64_t frames[FAULT_FRAMES]; /* offsets in the executable, the inner one first */
};

/* Find the executable, and load what unwinding needs.  Call it once, first. */
void fault_stacks_prepare(void);

/* The number of the caller's stack, together with @call: never 0. */
uint64_t fault_stack_id(uint32_t call);

/* Count the caller's stack in @table of FAULT_STACKS; a full table ignores new ones. */
void fault_stack_note(struct fault_stack *table, uint32_t call);

/*
 * The file name of the program or library whose code made the call, or where the caller of a signal
 * handler stood: the innermost one that belongs neither to the C library nor to this one.
 */
void fault_stack_owner(char *name, unsigned size);

#endif
