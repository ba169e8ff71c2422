/* SPDX-License-Identifier: MIT */
/* text.h - numbers and strangers' strings, for people to read. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
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
 * A character that does not show as itself: a control character, or one that reorders or hides
 * those around it (U+202E, U+200B).  A name of a traced program may hold any of them.
 */
bool text_is_unsafe(uint32_t cp);

/* @text has such a character, or is not UTF-8. */
bool text_has_unsafe(const char *text);

/*
 * @text as one line that does nothing to a terminal: unsafe characters as \xNN and \uNNNN,
 * what is not UTF-8 as U+FFFD.
 */
void text_put(FILE *file, const char *text);

/* The first @size bytes of it. */
void text_put_n(FILE *file, const char *text, size_t size);

/*
 * The same into a buffer of @size bytes, cut between characters where it does not fit.  Returns
 * @buf.
 */
const char *text_safe(const char *text, char *buf, size_t size);

/* ---- spreadsheets --------------------------------------------------------- */

/*
 * A spreadsheet takes a cell that begins with = + - @, a tab or a line end for a formula, also
 * behind apostrophes that we put there.  Such a text gets an apostrophe in front of it; a reader
 * that wants the text as it was removes one apostrophe from a text of this form.
 */
bool text_is_formula(const char *text, size_t size);

/* @text in quotes as RFC 4180 has it, with the apostrophe if @guard says so. */
void text_put_csv(FILE *file, const char *text, size_t size, bool guard);

/* Of a longer text only the start and "...", @columns in all. */
void text_put_short(FILE *file, const char *text, int columns);

/* The same, quoted as a shell would want it back if it has to be. */
void text_put_word(FILE *file, const char *word);

/* Columns that text_put() takes, each character counted as one. */
int text_width(const char *text);

#endif
