/* SPDX-License-Identifier: MIT */
/* ctf_writer.h - write a trace as a CTF directory: a format of writer.h. */
#ifndef TRACE_CTF_WRITER_H
#define TRACE_CTF_WRITER_H

#include "trace/trace_writer.h"

struct trace_writer *ctf_writer_open(const struct trace_output *output, struct err *err);

#endif
