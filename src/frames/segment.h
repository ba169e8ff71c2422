/* SPDX-License-Identifier: MIT */
/*
 * segment.h - a piece of System V shared memory that cannot be left behind.
 *
 * It is marked for removal before anybody knows its number: Linux keeps it, and lets
 * others attach it by number, for as long as somebody has it attached.  So the last one
 * to go removes it, whichever way that one goes.  The moments between making and
 * marking belong to a helper process, which finishes them also if we are killed.
 */
#ifndef FRAMES_SEGMENT_H
#define FRAMES_SEGMENT_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct segment {
	int id; /* never 0, which means "nobody attached" to the program */
	void *map;
	size_t size;
};

/* All zero.  @pid's user may attach it too. */
int segment_create(struct segment *s, size_t size, pid_t pid, struct err *err);

/* Harmless on one that is all zero, or released. */
void segment_release(struct segment *s);

/*
 * Segments are numbered per IPC namespace: go where @pid's are.  For the rest of our life;
 * nothing else that we do depends on it.
 */
int segment_join_namespace(pid_t pid, struct err *err);

#endif
