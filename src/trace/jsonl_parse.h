/* SPDX-License-Identifier: MIT */
/* jsonl_parse.h - one line of a trace. */
#ifndef TRACE_JSONL_PARSE_H
#define TRACE_JSONL_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/event.h"

/*
 * Lines here are as lines.h hands them out, less a carriage return: a newline follows,
 * and LINES_SLACK bytes behind that may be read.
 */

/* The form that jsonl_writer.h writes, to the byte.  False: it is another, or none. */
bool jsonl_parse_ours(const char *text, size_t size, struct trace_event *ev);

/* The problem of a line that could not be parsed for want of memory: nothing is wrong with it. */
extern const char jsonl_no_memory[];

/*
 * Any JSON object with the six keys, in any order, with any others beside them.
 * What our writer puts behind the six is taken where it makes sense.
 * Numbers may be in quotes; is_active may be 0 or 1.  NULL, or why it is no record.
 */
const char *jsonl_parse_any(const char *text, size_t size, struct trace_event *ev);

/* The one, or else the other; and then what cannot be an event is refused too. */
const char *jsonl_parse(const char *text, size_t size, struct trace_event *ev);

#endif
