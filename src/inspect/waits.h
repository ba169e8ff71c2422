/* SPDX-License-Identifier: MIT */
/*
 * waits.h - what a suspended coroutine waits for: the descriptor that its awaiter holds.
 *
 * A member of type int counts as a descriptor if its name says so: fd, sock_fd, socket.  gcc names
 * the awaiters in a frame, so the one of the current co_await is known; for other compilers all
 * variables of the frame are searched, and nothing is claimed if they name two descriptors.
 */
#ifndef INSPECT_WAITS_H
#define INSPECT_WAITS_H

#include "inspect/frame_table.h"
#include "process/process_image.h"
#include "symbols/coroutine_types.h"

enum wait_direction {
	WAIT_EITHER,
	WAIT_READ,
	WAIT_WRITE,
};

struct frame_wait {
	int fd;             /* -1: none known */
	bool is_in_awaiter; /* certainly what it waits for; otherwise a variable of the coroutine */
	uint8_t direction;  /* enum wait_direction, by the names of functions and types */
	uint8_t verdict;    /* enum inspect_verdict, set by wait_judge() */
	uint8_t confidence; /* enum inspect_confidence */
	const char *reason; /* a constant; NULL: nothing is wrong */
};

/* What frame @f waits for; @bytes are its contents. */
struct frame_wait frame_wait_read(const struct coro_frame *f, const struct coro_type *type,
				  const uint8_t *bytes, size_t size);

/*
 * Read what every innermost frame waits for: an array with an element per frame, for the caller to
 * free.  NULL: no memory.
 */
struct frame_wait *frame_waits_read(const struct process_image *image, struct coro_types *types,
				    const struct frame_table *table);

#endif
