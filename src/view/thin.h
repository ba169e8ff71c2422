/* SPDX-License-Identifier: MIT */
/*
 * thin.h - which slices stay when not all have room.
 *
 * Two ways to be in: a slice that is worth it by itself (of a coroutine that a finding is
 * about, or among the last of its coroutine), and a block that is kept whole.
 */
#ifndef VIEW_THIN_H
#define VIEW_THIN_H

#include "view/view_data.h"

/* From generous to nothing. */
#define THIN_LEVELS 5u

/* Which slices stay by themselves at a level, as "the last 8 of each coroutine, ..."; NULL: none.
 */
const char *thin_rule(unsigned level);

/* How many slices that is. */
uint64_t thin_count(const struct view *v, unsigned level);

/* A bit per slice: it stays.  NULL and words on failure; the caller frees. */
uint8_t *thin_mark(struct view *v, unsigned level, struct err *err);

/*
 * All blocks, those to be kept whole first in front: the last one, where findings are, the
 * first one, then spread over the run.  NULL without memory; the caller frees.
 */
size_t *thin_order(const struct view *v);

#endif
