/* SPDX-License-Identifier: MIT */
/*
 * propose.h - layouts that may be better than what is there.
 *
 * Guesses, each with its reason; which one is good, a replay of the trace decides.
 */
#ifndef MEMORY_LAYOUT_PROPOSE_H
#define MEMORY_LAYOUT_PROPOSE_H

#include "memory/layout/profile.h"

#define PROPOSE_MAX 10

/*
 * Shapes that differ from each other and from what is, the caller's to free.  Returns how
 * many; -ENOMEM.
 */
int propose(const struct profile_type *t, uint32_t line, struct shape *out[PROPOSE_MAX]);

#endif
