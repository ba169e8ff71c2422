/* SPDX-License-Identifier: MIT */
/*
 * inprocess_writer.h - the consumer of a program that runs without a collector.
 */
#ifndef RUNTIME_MEMORY_INPROCESS_WRITER_H
#define RUNTIME_MEMORY_INPROCESS_WRITER_H

#include <stdbool.h>

/*
 * Open the file, create the region and start the background thread.  @child: called after fork.
 * False: the failure is printed on stderr and this process has no session.
 */
bool crt_alone_begin(bool child);

/*
 * Write everything recorded so far and complete the file.  Recording continues after it: called
 * before exec, which may fail.
 */
void crt_alone_checkpoint(void);

/* Write everything recorded, complete the file and end the background thread. */
void crt_alone_finish(void);

/*
 * In a child of fork: release the state that it inherited.  The parent keeps its thread and file.
 */
void crt_alone_forget(void);

#endif
