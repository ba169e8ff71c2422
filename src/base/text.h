/* SPDX-License-Identifier: MIT */
/* text.h - format numbers and sanitize untrusted strings for a terminal. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Buffer size for the functions below. */
#define TEXT_SIZE 32

/* "1,234,567".  Returns @buf. */
const char *text_count(char buf[TEXT_SIZE], uint64_t value);

/* " (0.0104 %)", or "" if @part is 0: a nonzero loss is never shown as 0 %.  Returns @buf. */
const char *text_share(char buf[TEXT_SIZE], uint64_t part, uint64_t whole);

/* "1.500 ms": in a unit that fits, with three decimals for us, ms and s.  Returns @buf. */
const char *text_duration(char buf[TEXT_SIZE], uint64_t ns);

/*
 * True for a character that does not show as itself: a control character, or one that reorders or
 * hides the characters around it (U+202E, U+200B).  Names in a traced program may contain any of
 * them.
 */
bool text_is_unsafe(uint32_t cp);

/* True if @text contains an unsafe character or is not UTF-8. */
bool text_has_unsafe(const char *text);

/*
 * Write @text as one line that cannot control a terminal: unsafe characters as \xNN and \uNNNN,
 * invalid UTF-8 as U+FFFD.
 */
void text_put(FILE *file, const char *text);

/* As text_put(), for the first @size bytes. */
void text_put_n(FILE *file, const char *text, size_t size);

/*
 * As text_put(), into a buffer of @size bytes; cut between characters if it does not fit.  Returns
 * @buf.
 */
const char *text_safe(const char *text, char *buf, size_t size);

/* ---- spreadsheets --------------------------------------------------------- */

/*
 * True if a spreadsheet would take the text for a formula: it begins with = + - @, a tab or a line
 * end, also after leading apostrophes (which this code may have added).  Such a text gets an
 * apostrophe in front; a reader that wants the original removes one apostrophe from a text of this
 * form.
 */
bool text_is_formula(const char *text, size_t size);

/* Write @text quoted as in RFC 4180; @guard: with the apostrophe against formulas. */
void text_put_csv(FILE *file, const char *text, size_t size, bool guard);

/* As text_put(); a longer text is cut to @columns columns, "..." included. */
void text_put_short(FILE *file, const char *text, int columns);

/* As text_put(), quoted for a shell where necessary. */
void text_put_word(FILE *file, const char *word);

/* Columns that text_put() uses, counting each character as one column. */
int text_width(const char *text);

#endif
