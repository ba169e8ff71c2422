/* SPDX-License-Identifier: MIT */
/*
 * live_buffer.h - a buffer in a running process: its description, handle and owner.
 *
 * The owner is the attached collector; its pid is in the program's _stat.
 */
#ifndef FRAMES_LIVE_LIVE_BUFFER_H
#define FRAMES_LIVE_LIVE_BUFFER_H

#include "frames/spec/layout_json.h"
#include "frames/live/buffer_symbols.h"
#include "process/target_memory.h"

struct live_buffer {
	struct target target;
	struct buffer_symbols places;
	const struct buffer_symbol *place;
	struct desc desc;
	bool owned;       /* the program's _stat has the pid of this process */
	char notice[256]; /* a message for the user; "" if none */
};

/*
 * Find @name (NULL: the only one) in process @pid, and read and check its description.  On
 * failure there is nothing to release.
 */
int live_open(struct live_buffer *b, pid_t pid, const char *name, struct err *err);
void live_release(struct live_buffer *b);

/* Read the description of one of several buffers of a process. */
int live_describe(struct target *t, const struct buffer_symbol *place, struct desc *d,
		  struct err *err);

/*
 * Become the owner.  Fails while another collector is attached, unless @force.  An owner that is
 * dead, or not a collector, is reported in b->notice and replaced.
 */
int live_claim(struct live_buffer *b, bool force, struct err *err);

/* Clear the owner, if it still is this process. */
void live_unclaim(struct live_buffer *b);

/* The pid in _stat; 0 if there is none, or if it cannot be read. */
pid_t live_owner(struct live_buffer *b);

/*
 * True if _stat names another process, or none.  False if it cannot be read: a process that is
 * about to end has no memory any more, and one whose main thread has ended cannot be read.
 */
bool live_has_other_owner(struct live_buffer *b, pid_t *owner);

/* True if that process is a collector attached to this buffer. */
bool live_owner_works(struct live_buffer *b, pid_t owner);

/* True if @owner, from live_owner(), has offered a ring.  A claim alone is not enough. */
bool live_is_attached(struct live_buffer *b, pid_t owner);

/* The errno of the program's last attach that failed; 0: none. */
int live_client_error(struct live_buffer *b);

int live_get_handle(struct live_buffer *b, int32_t *id, struct err *err);
int live_set_handle(struct live_buffer *b, int32_t id, struct err *err);

#endif
