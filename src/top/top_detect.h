/* SPDX-License-Identifier: MIT */
/*
 * top_detect.h - detectors of `report`, over one picture.
 *
 * A picture has who waits for whom now, what runs and since when, who is ready, and perhaps the
 * newest events of the threads.  So deadlocks (of locks, as far as their acquires are among these
 * events), coroutines that never yield, starvation and unfair order are found as `report` finds
 * them, with the same limits.  Other detectors need events, or times on a processor, that a picture
 * does not have.
 */
#ifndef TOP_TOP_DETECT_H
#define TOP_TOP_DETECT_H

#include "top/top_rows.h"

struct top_finding {
	const char *detector; /* its name */
	const char *detail;   /* what was observed */
	uint64_t nr;          /* coroutines */
	uint64_t longest_ns;
	uint64_t id;      /* of the example; 0: none */
	const char *name; /* of the example */
	bool is_sure;     /* proven or strong; else suspected */
};

/* Calls @found with each finding that is at least suspected.  0 or -ENOMEM. */
int top_detect(const struct top_picture *p,
	       void (*found)(void *arg, const struct top_finding *finding), void *arg);

#endif
