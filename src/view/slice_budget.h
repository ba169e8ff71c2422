/* SPDX-License-Identifier: MIT */
/*
 * slice_budget.h - select the slices to keep if not all fit.
 *
 * A slice is kept for one of two reasons: by itself (its coroutine has a finding, or it is among
 * the last slices of its coroutine), or as part of a block that is kept whole.
 */
#ifndef VIEW_SLICE_BUDGET_H
#define VIEW_SLICE_BUDGET_H

#include "view/view_data.h"

/* From the most generous level to none. */
#define THIN_LEVELS 5u

/* The rule of a level as text: "the last 8 of each coroutine, ..."; NULL: keeps none. */
const char *thin_rule(unsigned level);

/* Number of slices that the level keeps. */
uint64_t thin_count(const struct view *v, unsigned level);

/* One bit per slice: set if kept.  The caller frees it.  NULL with a message in @err. */
uint8_t *thin_mark(struct view *v, unsigned level, struct err *err);

/*
 * All blocks in the order in which to keep them whole: the last one, those with findings, the first
 * one, then spread over the run.  The caller frees it.  NULL: no memory.
 */
size_t *thin_order(const struct view *v);

#endif
