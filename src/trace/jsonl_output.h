/* SPDX-License-Identifier: MIT */
/* jsonl_output.h - write a trace as JSON lines with a sidecar: a format of writer.h. */
#ifndef TRACE_JSONL_OUTPUT_H
#define TRACE_JSONL_OUTPUT_H

#include "trace/trace_writer.h"

struct trace_writer *jsonl_output_open(const struct trace_output *output, struct err *err);

#endif
