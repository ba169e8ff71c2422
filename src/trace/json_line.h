/* SPDX-License-Identifier: MIT */
/*
 * json_line.h - a line of JSON by jansson, with 64-bit numbers unharmed.
 *
 * jansson holds integers in a signed 64-bit type and refuses a document with a larger
 * one; read as a double it would lose digits.  So integers that may not fit are given
 * to jansson in quotes, and json_u64() takes digits in quotes for a number.
 */
#ifndef TRACE_JSON_LINE_H
#define TRACE_JSON_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The value, to be released with json_decref(); or NULL, and *@rc is -EINVAL if it is not JSON,
 * -ENOMEM if there is not enough memory to tell.
 */
json_t *json_line_parse(const char *text, size_t size, int *rc);

/*
 * A whole number, 0 to 2^64 - 1: a JSON integer, or a string of decimal or 0x digits.
 * False, and *@out as it was, if it is anything else.
 */
bool json_u64(const json_t *value, uint64_t *out);

#endif
