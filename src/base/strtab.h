/* SPDX-License-Identifier: MIT */
/*
 * strtab.h - string interning: each different string has one number, from 0 in order of appearance.
 *
 * Many coroutines share few names; a number per coroutine is enough.
 */
#ifndef BASE_STRTAB_H
#define BASE_STRTAB_H

#include "base/u64map.h"

struct strtab_entry {
	char *text;
	int64_t next; /* next entry with the same hash; -1: none */
};

/* All zero: an empty table. */
struct strtab {
	struct strtab_entry *entries;
	size_t nr, size;
	struct u64map by_hash; /* hash to 1 + the first entry */
	uint64_t seed;
};

/* The number of @text, added if new; -ENOMEM. */
int64_t strtab_intern(struct strtab *tab, const char *text);

/* The number of @text; -ENOENT if it is not in the table. */
int64_t strtab_find(const struct strtab *tab, const char *text);

/* Owned by the table, valid until the release. */
const char *strtab_text(const struct strtab *tab, size_t number);

void strtab_release(struct strtab *tab);

#endif
