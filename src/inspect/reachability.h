/* SPDX-License-Identifier: MIT */
/*
 * reachability.h - where pointers to coroutines are searched, and what was not searched.
 *
 * Registers count only if they belong to the same moment as the memory: no thread may have run
 * since they were read.
 */
#ifndef INSPECT_REACHABILITY_H
#define INSPECT_REACHABILITY_H

#include "inspect/frame_marks.h"
#include "inspect/inspection.h"

/* Note the first reason why nothing is proven. */
void inspection_doubt(struct inspection *in, const char *why);

/* Note what was not searched. */
void inspection_doubt_all(struct inspection *in);

/*
 * The threads now, with their registers if that is possible without stopping them: it needs rights
 * that root has.
 */
int inspection_read_threads(struct inspection *in, struct err *err);

/* If that is allowed, stop the threads and keep their registers.  0 or -ENOMEM. */
int inspection_stop_threads(struct inspection *in);

/* Stop the threads again, if they have run since they were stopped.  0 or -ENOMEM. */
int inspection_stop_again(struct inspection *in);

/* Mark the coroutines that pointers lead to.  0 or a negative errno. */
int inspection_mark(struct inspection *in, enum mark_depth depth, struct err *err);

/* Mark again, by bytes: only what both looks did not reach stays unreached. */
int inspection_mark_again(struct inspection *in, struct err *err);

#endif
