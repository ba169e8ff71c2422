/* SPDX-License-Identifier: MIT */
/* jsonl_input.h - read lines of JSON, and the sidecar beside them: a format of reader.h. */
#ifndef TRACE_JSONL_INPUT_H
#define TRACE_JSONL_INPUT_H

#include "trace/reader.h"

struct trace_reader *jsonl_input_open(const char *path, struct err *err);

#endif
