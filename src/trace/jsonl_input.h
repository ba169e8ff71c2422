/* SPDX-License-Identifier: MIT */
/* jsonl_input.h - read JSON lines and their sidecar: a format of reader.h. */
#ifndef TRACE_JSONL_INPUT_H
#define TRACE_JSONL_INPUT_H

#include "trace/trace_reader.h"

/* @may_grow: follow the trace while it is being written (reader.h). */
struct trace_reader *jsonl_input_open(const char *path, bool may_grow, struct err *err);

/* How long an item of the sidecar waits for older lines; for tests that need another value. */
void jsonl_input_patience(struct trace_reader *r, uint64_t ns);

#endif
