/* SPDX-License-Identifier: MIT */
/* compact_writer.h - write a trace in the compact format: see trace_writer.h and compact.h. */
#ifndef TRACE_COMPACT_WRITER_H
#define TRACE_COMPACT_WRITER_H

#include "trace/trace_writer.h"

/* Owns output->fd, also on failure.  Returns NULL and sets @err on failure. */
struct trace_writer *compact_writer_open(const struct trace_output *output, struct err *err);

#endif
