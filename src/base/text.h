/* SPDX-License-Identifier: MIT */
/* text.h - numbers and strangers' strings, for people to read. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* Long enough for what the functions below write. */
#define TEXT_SIZE 32

/* "1,234,567".  Returns @buf. */
const char *text_count(char buf[TEXT_SIZE], uint64_t value);

/* " (0.0104 %)", or nothing when @part is 0: what was lost never looks like 0 %.  Returns @buf. */
const char *text_share(char buf[TEXT_SIZE], uint64_t part, uint64_t whole);

/* "1.500 ms": three digits behind the point, in the unit that suits.  Returns @buf. */
const char *text_duration(char buf[TEXT_SIZE], uint64_t ns);

/*
 * @text as one line that does nothing to a terminal: control characters as \xNN,
 * what is not UTF-8 as U+FFFD.
 */
void text_put(FILE *file, const char *text);

/* Of a longer text only the start and "...", @columns in all. */
void text_put_short(FILE *file, const char *text, int columns);

/* The same, quoted as a shell would want it back if it has to be. */
void text_put_word(FILE *file, const char *word);

/* Columns that text_put() takes, each character counted as one. */
int text_width(const char *text);

#endif
