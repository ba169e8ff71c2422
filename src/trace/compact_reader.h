/* SPDX-License-Identifier: MIT */
/* compact_reader.h - read a trace in the compact format: see trace_reader.h and compact.h. */
#ifndef TRACE_COMPACT_READER_H
#define TRACE_COMPACT_READER_H

#include "trace/trace_reader.h"

/* True if the @size first bytes of a file begin a compact trace of any version. */
bool compact_begins(const void *begin, size_t size);

/*
 * @may_grow: follow the trace while its writer holds the lock.  Returns NULL and sets @err on
 * failure.
 */
struct trace_reader *compact_reader_open(const char *path, bool may_grow, struct err *err);

#endif
