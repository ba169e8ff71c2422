/* SPDX-License-Identifier: MIT */
/*
 * ring_segment.h - System V shared memory that cannot be left behind.
 *
 * The segment is marked for removal before its id is known to any other process.  Linux keeps a
 * marked segment, and lets other processes attach it by id, for as long as it is attached.  So
 * it is removed when the last process detaches, however that process ends.  A helper process
 * creates and marks the segment, so that both happen even if the collector is killed.
 */
#ifndef FRAMES_LIVE_RING_SEGMENT_H
#define FRAMES_LIVE_RING_SEGMENT_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct segment {
	int id; /* never 0, which means "not attached" to the program */
	void *map;
	size_t size;
};

/* The memory is all zero.  The user of @pid may attach it, too. */
int segment_create(struct segment *s, size_t size, pid_t pid, struct err *err);

/* Has no effect on one that is all zero, or released. */
void segment_release(struct segment *s);

/*
 * Enter the IPC namespace of @pid, because ids of segments are per namespace.  The collector stays
 * there; nothing else that it does depends on it.
 */
int segment_join_namespace(pid_t pid, struct err *err);

#endif
