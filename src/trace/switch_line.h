/* SPDX-License-Identifier: MIT */
/*
 * switch_line.h - the JSON line of a context switch, without a JSON writer.
 *
 * There may be a line per event of the program, and the general way takes ten times as long.
 */
#ifndef TRACE_SWITCH_LINE_H
#define TRACE_SWITCH_LINE_H

#include <stddef.h>

#include "trace/item.h"

/* Room for the longest line. */
#define SWITCH_LINE_SIZE 256

/*
 * Write the line of @s with its newline, as schema_put_json() would.  Returns its size; 0: only the
 * general way can write it.
 */
size_t switch_line_put(char line[SWITCH_LINE_SIZE], const struct trace_switch *s);

#endif
