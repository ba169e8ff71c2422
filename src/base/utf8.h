/* SPDX-License-Identifier: MIT */
/* utf8.h - decode text that may not be valid UTF-8. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define UTF8_BAD UINT32_C(0xFFFD) /* the replacement character */

/*
 * Decode the character at @s, with @size >= 1 bytes available.  Returns its length, 1 to 4, and
 * *@cp.  Invalid UTF-8 (overlong, surrogate, truncated, stray) gives UTF8_BAD, with a length that
 * skips only bytes that cannot start another character.
 */
size_t utf8_next(const char *s, size_t size, uint32_t *cp);

#endif
