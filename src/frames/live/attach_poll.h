/* SPDX-License-Identifier: MIT */
/*
 * attach_poll.h - read the ring of an attached buffer, and pass on its frames.
 *
 * attach_await_program() until the program has mapped the ring and a->ring_open is set, then
 * attach_poll() again and again.
 */
#ifndef FRAMES_LIVE_ATTACH_POLL_H
#define FRAMES_LIVE_ATTACH_POLL_H

#include "frames/live/attach_session.h"

/* True if the number of frames that the user wants is reached. */
bool attach_is_enough(const struct attach *a);

/* For ring_init(): @arg is a struct attach. */
void attach_take_frame(void *arg, uint64_t ticket, const uint8_t *image);

/*
 * Check whether the program has mapped the ring or refuses it.  Returns 0, 1 if the run is over, or
 * a negative errno.
 */
int attach_await_program(struct attach *a, struct err *err);

/* Use the ring where the program says that its slots are. */
int attach_open_ring(struct attach *a, const struct control_answer *answer, struct err *err);

/*
 * Pass on the frames that are in the ring, and choose the time until the next poll.  @patient: as
 * for ring_poll().
 */
int attach_poll(struct attach *a, bool patient, struct err *err);

/* Pass on the number of frames that were lost since the last call. */
void attach_tell_losses(struct attach *a);

#endif
