/* SPDX-License-Identifier: MIT */
/*
 * slot_shares.h - count how often texts occur: enums, booleans, strings.
 *
 * The first SHARES_MAX different texts are counted separately, all others together.  Texts are
 * equal if their first SHARES_TEXT bytes are.
 */
#ifndef FRAMES_FILE_SLOT_SHARES_H
#define FRAMES_FILE_SLOT_SHARES_H

#include <stddef.h>

#include "base/strtab.h"

#define SHARES_MAX  1024
#define SHARES_TEXT 127

/* All zero is empty. */
struct shares {
	struct strtab texts;
	uint64_t *counts; /* per text */
	uint64_t nr, others;
};

struct share {
	const char *text;
	uint64_t nr;
};

/* @text is not terminated.  0 or -ENOMEM. */
int shares_add(struct shares *s, const char *text, size_t size);

/* The @max most frequent texts, most frequent first.  Returns their number. */
size_t shares_top(const struct shares *s, struct share *top, size_t max);

/* Different texts since the last reset, without those that are counted together. */
size_t shares_different(const struct shares *s);

/* Reset the counts; frees memory only if the table is full. */
void shares_reset(struct shares *s);
void shares_release(struct shares *s);

#endif
