/* SPDX-License-Identifier: MIT */
/*
 * attach_resize.h - another number of slots while attached; and what that shares with the
 * rest of an attach.
 *
 * The collector makes the new slots and tells the program, which takes them at its next
 * save().  Until nobody is left in the old ones both are read.
 */
#ifndef FRAMES_ATTACH_RESIZE_H
#define FRAMES_ATTACH_RESIZE_H

#include "frames/attach.h"

/* More than this is not made by itself. */
#define RING_BYTES_MAX (UINT64_C(1) << 30)

/* Ask the program for so many; later, if it is not the time. */
void resize_start(struct attach *a, uint64_t slots);

/* See how far it is.  Before every look. */
void resize_follow(struct attach *a);

/* After a loss: twice as many, if that was wanted. */
void resize_on_loss(struct attach *a);

/* ---- attach.c's --------------------------------------------------------------- */

void attach_say(struct attach *a, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
uint32_t attach_power_of_two(uint64_t at_least);
int attach_check_slots(struct attach *a, uint64_t slots, struct err *err);
bool attach_is_resizable(const struct attach *a);

#endif
