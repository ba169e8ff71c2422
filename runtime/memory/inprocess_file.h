/* SPDX-License-Identifier: MIT */
/* inprocess_file.h - the trace file of a program that runs alone, and the file of its region. */
#ifndef RUNTIME_MEMORY_INPROCESS_FILE_H
#define RUNTIME_MEMORY_INPROCESS_FILE_H

#include <stdbool.h>

/* Create the trace file.  @child: called after fork.  -1: the failure is printed on stderr. */
int crt_open_trace(bool child);

/*
 * Create the file of the region on tmpfs; its name, which derives from the file @trace, is put
 * into the session.  Returns a descriptor, or -1.
 */
int crt_open_region(int trace);

#endif
