/* SPDX-License-Identifier: MIT */
/*
 * propose.h - propose layouts that may be better than the current one.
 *
 * Proposals are guesses from the profile; a replay of the trace decides which are better.
 */
#ifndef MEMORY_LAYOUT_PROPOSE_H
#define MEMORY_LAYOUT_PROPOSE_H

#include "memory/layout/profile.h"

#define PROPOSE_MAX 10

/*
 * Fills @out with shapes that differ from each other and from the current layout; the caller
 * frees them.  Returns their number, or -ENOMEM.
 */
int layout_propose(const struct profile_type *t, uint32_t line, struct shape *out[PROPOSE_MAX]);

#endif
