/* SPDX-License-Identifier: MIT */
/* jsonl_input.h - read lines of JSON, and the sidecar beside them: a format of reader.h. */
#ifndef TRACE_JSONL_INPUT_H
#define TRACE_JSONL_INPUT_H

#include "trace/reader.h"

/* @may_grow: follow it while somebody writes it (reader.h). */
struct trace_reader *jsonl_input_open(const char *path, bool may_grow, struct err *err);

/* How long what was told waits for lines that are older, where the default does not suit (tests).
 */
void jsonl_input_patience(struct trace_reader *r, uint64_t ns);

#endif
