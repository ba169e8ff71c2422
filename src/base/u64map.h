/* SPDX-License-Identifier: MIT */
/*
 * u64map.h - a hash map from 64-bit numbers to 64-bit numbers.
 *
 *	struct u64map map = { 0 };
 *	uint64_t *count = u64map_at(&map, tid);
 *
 *	if (!count)
 *		return -ENOMEM;
 *	(*count)++;
 *	u64map_release(&map);
 *
 * Open addressing, at most three quarters full, every key allowed (0 too).  Keys
 * come from traces that others wrote: each map hashes with random numbers of its
 * own, so that nobody can choose keys that all fall on one place.
 */
#ifndef BASE_U64MAP_H
#define BASE_U64MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct u64map_entry {
	uint64_t key; /* 0: free */
	uint64_t value;
};

/* All zero is an empty map. */
struct u64map {
	struct u64map_entry *entries;
	size_t size; /* a power of two, or 0 */
	size_t used; /* entries in use, without the one of key 0 */
	uint64_t seed[2];
	bool has_zero;
	uint64_t zero_value;
};

/* The value of @key, which is entered as 0 if it is new; NULL without memory.  Valid until the
 * next. */
uint64_t *u64map_at(struct u64map *map, uint64_t key);

/* 0 or -ENOMEM. */
int u64map_put(struct u64map *map, uint64_t key, uint64_t value);

/* False if @key was not in. */
bool u64map_remove(struct u64map *map, uint64_t key);

/* False if @key is not in. */
bool u64map_get(const struct u64map *map, uint64_t key, uint64_t *value);

size_t u64map_count(const struct u64map *map);

/* Walk: *@pos starts at 0; false at the end.  In no order; nothing may be entered meanwhile. */
bool u64map_next(const struct u64map *map, size_t *pos, uint64_t *key, uint64_t *value);

void u64map_release(struct u64map *map);

#endif
