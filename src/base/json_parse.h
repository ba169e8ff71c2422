/* SPDX-License-Identifier: MIT */
/*
 * json_parse.h - parse JSON with jansson; distinguish invalid JSON from out of memory.
 *
 * jansson reports a failed allocation like bad syntax, or not at all: its error code is not enough.
 * jansson therefore allocates through a function that records failures per thread.
 */
#ifndef BASE_JSON_PARSE_H
#define BASE_JSON_PARSE_H

#include <jansson.h>
#include <stddef.h>

/*
 * As json_loadb().  NULL: *@rc is -ENOMEM if an allocation failed, else -EINVAL, and then *@why
 * (may be NULL) says where the text is not JSON.  0 in *@rc otherwise.
 */
json_t *json_parse(const char *text, size_t size, size_t flags, json_error_t *why, int *rc);

#endif
