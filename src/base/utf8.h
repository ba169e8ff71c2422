/* SPDX-License-Identifier: MIT */
/* utf8.h - take text apart that may not be UTF-8. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define UTF8_BAD UINT32_C(0xFFFD) /* the replacement character */

/*
 * The character at @s, of which @size >= 1 bytes are there.  Returns its length, 1
 * to 4, and *@cp; what is not UTF-8 (overlong, surrogate, cut off, stray) is
 * UTF8_BAD, with a length that skips as much as cannot start anything else.
 */
size_t utf8_next(const char *s, size_t size, uint32_t *cp);

#endif
