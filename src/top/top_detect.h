/* SPDX-License-Identifier: MIT */
/*
 * top_detect.h - the detector of deadlocks of `report`, over one picture.
 *
 * It judges who waits for whom now, which a picture has: joins, and locks and semaphores with their
 * holders as far as their acquires are among the newest events of the threads.  Other detectors
 * need events that a picture does not have.
 */
#ifndef TOP_TOP_DETECT_H
#define TOP_TOP_DETECT_H

#include "top/top_rows.h"

/* Calls @found with the text of each finding, proven or strong.  0 or -ENOMEM. */
int top_detect_deadlocks(const struct top_picture *p, void (*found)(void *arg, const char *text),
			 void *arg);

#endif
