/* SPDX-License-Identifier: MIT */
/* jsonl_parse.h - parse one line of a trace. */
#ifndef TRACE_JSONL_PARSE_H
#define TRACE_JSONL_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/event.h"

/*
 * Lines come from lines.h, without a carriage return: a newline follows the text, and
 * LINES_SLACK bytes after the newline may be read.
 */

/* Parses exactly the form that jsonl_writer.h writes.  False: the line has another form. */
bool jsonl_parse_ours(const char *text, size_t size, struct trace_event *ev);

/* The problem of a line that could not be parsed because memory ran out: the line may be valid. */
extern const char jsonl_no_memory[];

/*
 * Parses any JSON object that has the six keys, in any order, with or without other keys.
 * Members that jsonl_writer.h appends to the six are used if they are valid.  Numbers may be in
 * quotes; is_active may be 0 or 1.  Returns NULL, or why the line is not an event.
 */
const char *jsonl_parse_any(const char *text, size_t size, struct trace_event *ev);

/* Tries jsonl_parse_ours(), then jsonl_parse_any(), and rejects what cannot be an event. */
const char *jsonl_parse(const char *text, size_t size, struct trace_event *ev);

#endif
