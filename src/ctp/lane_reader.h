/* SPDX-License-Identifier: MIT */
/*
 * lane_reader.h - the drain's view of one lane: how much is in it, its next event, its end.
 *
 * Part of the drain (drain.h): lanes are known by their number, and what is known of one is
 * in its cursor.  Everything here reads what a program may be writing, and believes nothing
 * that cannot be.
 */
#ifndef CTP_LANE_READER_H
#define CTP_LANE_READER_H

#include "ctp/drain.h"

/* Read the clock: no event that is later is taken before the next time. */
void drain_set_limit(struct drain *d);

/* Can a counter that was @before be @now?  None grows faster than time passes. */
bool drain_believes(const struct drain *d, uint64_t before, uint64_t now);

/* How much is in lane @i?  Returns whether its thread has left it. */
bool lane_look(struct drain *d, uint32_t i);

/* Find the next event of lane @i, and its time.  False: there is none until the limit. */
bool lane_next(struct drain *d, uint32_t i);

/* Hand on the event that lane_next() found. */
void lane_take(struct drain *d, uint32_t i);

/* And those behind it, in one go, as long as they are plain transitions earlier than @until. */
void lane_take_run(struct drain *d, uint32_t i, uint64_t until);

/* Is a chunk that was read kept for who wants to see what happened last? */
bool drain_keeps_back(const struct drain *d);

/* Is everything that was read of lane @i in the trace's files?  True without drain.saves. */
bool lane_is_saved(const struct drain *d, uint32_t i);

/* Give back chunks that were read and are saved, but for one that may be kept back. */
void lane_give_back(struct drain *d, uint32_t i);

/* Lane @i was read, perhaps: the next save is of interest to it. */
void lane_touched(struct drain *d, uint32_t i);

/* What of its losses was not told yet. */
void lane_tell_last_gap(struct drain *d, uint32_t i);

/* All of it is read, and its thread is gone: it is free for another. */
void lane_release(struct drain *d, uint32_t i);

#endif
