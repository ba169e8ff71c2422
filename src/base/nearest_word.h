/* SPDX-License-Identifier: MIT */
/*
 * nearest_word.h - which known word was meant by a mistyped one.
 *
 *	nearest_word_begin(&near, typed, strlen(typed));
 *	for each known word
 *		nearest_word_offer(&near, known);
 *	if (near.best)
 *		"did you mean ..."
 */
#ifndef BASE_NEAREST_WORD_H
#define BASE_NEAREST_WORD_H

#include <stddef.h>

struct nearest_word {
	const char *typed;
	size_t len;
	const char *best; /* NULL: no word is near */
	unsigned distance;
};

/* Only the first @len bytes of @typed count; they must stay valid. */
void nearest_word_begin(struct nearest_word *near, const char *typed, size_t len);
void nearest_word_offer(struct nearest_word *near, const char *known);

#endif
