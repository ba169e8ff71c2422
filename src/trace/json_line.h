/* SPDX-License-Identifier: MIT */
/*
 * json_line.h - parse a line of JSON with jansson, keeping 64-bit numbers exact.
 *
 * jansson stores integers in a signed 64-bit type and rejects a document with a larger one; as
 * a double the number would lose digits.  Integers that may not fit are therefore passed to
 * jansson in quotes, and json_u64() accepts quoted digits as a number.
 */
#ifndef TRACE_JSON_LINE_H
#define TRACE_JSON_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns the value, to be released with json_decref().  Returns NULL on failure, and *@rc is
 * -EINVAL if the text is not JSON, -ENOMEM if memory ran out.
 */
json_t *json_line_parse(const char *text, size_t size, int *rc);

/*
 * A whole number, 0 to 2^64 - 1: a JSON integer, or a string of decimal or 0x digits.  False
 * for any other value; *@out is then unchanged.
 */
bool json_u64(const json_t *value, uint64_t *out);

#endif
