/* SPDX-License-Identifier: MIT */
/* timeline_tracks.h - the tracks of a timeline, created on demand. */
#ifndef EXPORT_TIMELINE_TRACKS_H
#define EXPORT_TIMELINE_TRACKS_H

#include "export/timeline.h"

/* Initializes words and tables.  Returns 0 or -ENOMEM. */
int tracks_begin(struct timeline *tl);

int tracks_run(struct timeline *tl, const struct sidecar_run *run);
int tracks_site(struct timeline *tl, const struct trace_site *site);

/*
 * Returns the number of the process, created if it is new; if the table is full, the first
 * process.
 */
int64_t tracks_process(struct timeline *tl, uint64_t pid);

/*
 * Returns the number of the thread, created if it is new; @process is its process if nothing
 * else is known.
 */
int64_t tracks_thread(struct timeline *tl, uint64_t tid, uint32_t process);

/* Creates the track of a new coroutine in the group of its kind. */
int tracks_coroutine(struct timeline *tl, struct timeline_coro *co, uint32_t site, const char *name,
		     size_t name_size);

/* Sets a name that became known later. */
int tracks_rename(struct timeline *tl, struct timeline_coro *co, const char *name, size_t size);

void tracks_count(struct timeline *tl, uint32_t process, enum timeline_counter counter, int change,
		  uint64_t ts);
/* Writes the counter values that are not written yet. */
void tracks_finish(struct timeline *tl);

void tracks_release(struct timeline *tl);

/* Size of "worker" in "worker-17": names that differ in a number are of one kind. */
size_t tracks_kind_size(const char *name, size_t size);

/* Viewers have times of 63 bits. */
static inline bool timeline_is_time(uint64_t ts)
{
	return ts && ts <= INT64_MAX;
}

#endif
