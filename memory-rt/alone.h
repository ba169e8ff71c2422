/* SPDX-License-Identifier: MIT */
/*
 * alone.h - the file of a program that runs without a collector.
 */
#ifndef MEMORY_RT_ALONE_H
#define MEMORY_RT_ALONE_H

#include <stdbool.h>

/*
 * Open the file, make the region, start the background thread.  @child: after fork.  False:
 * said on stderr, there is no session.
 */
bool crt_alone_begin(bool child);

/*
 * All that was recorded until now gets into the file, which is complete for the moment.  For
 * those who are about to replace the program, and may fail to.
 */
void crt_alone_checkpoint(void);

/* The same, for good: the background thread ends. */
void crt_alone_finish(void);

/* In a child: the parent's thread and file are none of its business. */
void crt_alone_forget(void);

#endif
