/* SPDX-License-Identifier: MIT */
/* timeline_tracks.h - the tracks of a timeline, made as they are needed. */
#ifndef EXPORT_TIMELINE_TRACKS_H
#define EXPORT_TIMELINE_TRACKS_H

#include "export/timeline.h"

/* Words, and places in the tables; 0 or -ENOMEM. */
int tracks_begin(struct timeline *tl);

int tracks_run(struct timeline *tl, const struct sidecar_run *run);
int tracks_site(struct timeline *tl, const struct trace_site *site);

/* The number of the process, made if it is new; where there is no more room, the first. */
int64_t tracks_process(struct timeline *tl, uint64_t pid);

/* The number of the thread, made if it is new; @process is whose it is if nothing else tells. */
int64_t tracks_thread(struct timeline *tl, uint64_t tid, uint32_t process);

/* The track of a coroutine that has just come, by its kind. */
int tracks_coroutine(struct timeline *tl, struct timeline_coro *co, uint32_t site, const char *name,
		     size_t name_size);

/* It has a name only now. */
int tracks_rename(struct timeline *tl, struct timeline_coro *co, const char *name, size_t size);

void tracks_count(struct timeline *tl, uint32_t process, enum timeline_counter counter, int change,
		  uint64_t ts);
/* What the counters have not told yet. */
void tracks_finish(struct timeline *tl);

void tracks_release(struct timeline *tl);

#endif
