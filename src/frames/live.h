/* SPDX-License-Identifier: MIT */
/*
 * live.h - a buffer in a running process: its description, its handle, its owner.
 *
 * The owner is the collector that is attached; its pid stands in the program's _stat.
 */
#ifndef FRAMES_LIVE_H
#define FRAMES_LIVE_H

#include "frames/desc.h"
#include "frames/places.h"
#include "frames/target.h"

struct live_buffer {
	struct target target;
	struct places places;
	const struct place *place;
	struct desc desc;
	bool owned;       /* the program's _stat has our pid */
	char notice[256]; /* something a user should know; "" */
};

/*
 * Finds @name (NULL: the only one) in process @pid, and reads its description, in which
 * nothing is left unchecked.  On failure there is nothing to release.
 */
int live_open(struct live_buffer *b, pid_t pid, const char *name, struct err *err);
void live_release(struct live_buffer *b);

/* The description of one of several buffers of a process. */
int live_describe(struct target *t, const struct place *place, struct desc *d, struct err *err);

/*
 * Make it ours.  Refused while another collector is attached, unless @force; one that is dead, or
 * never was a collector, is said in b->notice and taken over from.
 */
int live_claim(struct live_buffer *b, bool force, struct err *err);

/* Gives it back, if it still is ours. */
void live_unclaim(struct live_buffer *b);

/* Whose pid is in _stat; 0: nobody's, or it cannot be read. */
pid_t live_owner(struct live_buffer *b);

/* Is that process a collector that is attached to this buffer? */
bool live_owner_works(struct live_buffer *b, pid_t owner);

/* Has @owner, as live_owner() gives it, offered a ring?  A claim alone is not enough. */
bool live_is_attached(struct live_buffer *b, pid_t owner);

/* The program's reason for the last attach that failed, an errno; 0: none. */
int live_client_error(struct live_buffer *b);

int live_get_handle(struct live_buffer *b, int32_t *id, struct err *err);
int live_set_handle(struct live_buffer *b, int32_t id, struct err *err);

#endif
