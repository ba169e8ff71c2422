/* SPDX-License-Identifier: MIT */
/*
 * lane_reader.h - read one lane: available records, next event, release.
 *
 * Part of the drain (lane_scan.h): lanes are identified by number, and the state of a lane is in
 * its cursor.  All functions read memory that a program may be writing, and reject impossible
 * values.
 */
#ifndef COLLECT_LANE_READER_H
#define COLLECT_LANE_READER_H

#include "collect/lane_scan.h"

/* Read the clock: later events wait for the next poll. */
void drain_set_limit(struct drain *d);

/* True if a counter can grow from @before to @now: counters grow at most once per nanosecond. */
bool drain_believes(const struct drain *d, uint64_t before, uint64_t now);

/* Read head and counters of lane @i.  Returns true if its thread has left the lane. */
bool lane_look(struct drain *d, uint32_t i);

/* Find the next event of lane @i and its time.  False: none before the limit. */
bool lane_next(struct drain *d, uint32_t i);

/* Deliver the event that lane_next() found. */
void lane_take(struct drain *d, uint32_t i);

/* Deliver the following events, as long as they are plain transitions before @until. */
void lane_take_run(struct drain *d, uint32_t i, uint64_t until);

/* True if each lane keeps the last chunk that was read, for later inspection. */
bool drain_keeps_back(const struct drain *d);

/* True if everything read of lane @i is in the trace's files, or without drain.saves. */
bool lane_is_saved(const struct drain *d, uint32_t i);

/* Give back chunks that were read and saved, except one that may be kept. */
void lane_give_back(struct drain *d, uint32_t i);

/* Lane @i may have been read: include it in the next save. */
void lane_touched(struct drain *d, uint32_t i);

/* Report the losses of lane @i that are not reported yet. */
void lane_tell_last_gap(struct drain *d, uint32_t i);

/* The lane is read completely and its thread has left it: free it for another thread. */
void lane_release(struct drain *d, uint32_t i);

#endif
