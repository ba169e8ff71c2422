/* SPDX-License-Identifier: MIT */
/*
 * nearest_word.c - which known word was meant by a mistyped one.
 *
 * The distance of two words is the number of letters to insert, to remove, to replace or to swap
 * with their neighbour.  One in three letters may be wrong; the beginning of a word means it, too.
 */
#include "base/nearest_word.h"

#include <string.h>

enum { WORD_MAX = 40, FAR_AWAY = WORD_MAX + 1 };

static unsigned lower_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The cost of letter @j of @known under letter @i of @typed; @rows are the last three rows. */
static unsigned word_step(const char *typed, const char *known, size_t i, size_t j,
			  unsigned rows[3][WORD_MAX + 1])
{
	const unsigned *now = rows[i % 3], *before = rows[(i + 2) % 3],
		       *earlier = rows[(i + 1) % 3];
	unsigned cost = lower_of(before[j], now[j - 1]) + 1;

	cost = lower_of(cost, before[j - 1] + (typed[i - 1] != known[j - 1]));
	if (i > 1 && j > 1 && typed[i - 1] == known[j - 2] && typed[i - 2] == known[j - 1])
		cost = lower_of(cost, earlier[j - 2] + 1);
	return cost;
}

static unsigned word_distance(const char *typed, size_t len, const char *known, size_t known_len)
{
	unsigned rows[3][WORD_MAX + 1];
	size_t i, j;

	for (j = 0; j <= known_len; j++)
		rows[0][j] = (unsigned)j;
	for (i = 1; i <= len; i++) {
		rows[i % 3][0] = (unsigned)i;
		for (j = 1; j <= known_len; j++)
			rows[i % 3][j] = word_step(typed, known, i, j, rows);
	}
	return rows[len % 3][known_len];
}

void nearest_word_begin(struct nearest_word *near, const char *typed, size_t len)
{
	near->typed = typed;
	near->len = len;
	near->best = NULL;
	near->distance = FAR_AWAY;
}

void nearest_word_offer(struct nearest_word *near, const char *known)
{
	size_t known_len = strlen(known);
	unsigned distance;

	if (near->len < 2 || near->len > WORD_MAX || known_len > WORD_MAX)
		return;
	if (near->len > 2 && near->len < known_len && !strncmp(near->typed, known, near->len))
		distance = 1;
	else
		distance = word_distance(near->typed, near->len, known, known_len);
	if (distance > (near->len + 2) / 3 || distance >= near->distance)
		return;
	near->distance = distance;
	near->best = known;
}
