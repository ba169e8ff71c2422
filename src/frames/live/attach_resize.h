/* SPDX-License-Identifier: MIT */
/*
 * attach_resize.h - change the number of slots while attached.
 *
 * The collector makes the new slots and stores their id; the program switches to them at its
 * next save().  Both blocks are read until no thread is left in the old one.
 */
#ifndef FRAMES_LIVE_ATTACH_RESIZE_H
#define FRAMES_LIVE_ATTACH_RESIZE_H

#include "frames/live/attach_session.h"

/* The collector never makes a larger ring on its own. */
#define RING_BYTES_MAX (UINT64_C(1) << 30)

/* Ask the program to use @slots slots; queued if another resize is in progress. */
void resize_start(struct attach *a, uint64_t slots);

/* Check the progress of a resize.  Call it before every poll. */
void resize_follow(struct attach *a);

/* After a loss: double the number of slots, if auto_resize is set. */
void resize_on_loss(struct attach *a);

/* ---- attach_session.c ----------------------------------------------------------------- */

void attach_say(struct attach *a, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
uint32_t attach_power_of_two(uint64_t at_least);
int attach_check_slots(struct attach *a, uint64_t slots, struct err *err);
bool attach_is_resizable(const struct attach *a);
/* True if a thread of the program has taken a block of tickets: they all do, then. */
bool attach_has_blocks(const struct attach *a);
/* Bytes of @slots slots and of their stamps, if there are any. */
size_t attach_data_size(const struct attach *a, uint32_t slots);
/* Set block->stamps; its slots and their number are set. */
void attach_find_stamps(const struct attach *a, struct ring_block *block);

#endif
