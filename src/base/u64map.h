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
 * Open addressing, at most three quarters full, every key allowed (including 0).  Keys come from
 * untrusted traces: each map hashes with its own random seed, so that a trace cannot contain keys
 * chosen to collide.
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

/* All zero: an empty map. */
struct u64map {
	struct u64map_entry *entries;
	size_t size; /* a power of two, or 0 */
	size_t used; /* entries in use, without key 0 */
	uint64_t seed[2];
	bool has_zero;
	uint64_t zero_value;
};

/*
 * The value of @key, inserted as 0 if new; NULL: no memory.  Valid until the next insertion or
 * removal.
 */
uint64_t *u64map_at(struct u64map *map, uint64_t key);

/* 0 or -ENOMEM. */
int u64map_put(struct u64map *map, uint64_t key, uint64_t value);

/* False if @key was not in the map. */
bool u64map_remove(struct u64map *map, uint64_t key);

/* False if @key is not in the map. */
bool u64map_get(const struct u64map *map, uint64_t key, uint64_t *value);

size_t u64map_count(const struct u64map *map);

/* Iterate: *@pos starts at 0; false at the end.  Unordered; do not insert during the iteration. */
bool u64map_next(const struct u64map *map, size_t *pos, uint64_t *key, uint64_t *value);

void u64map_release(struct u64map *map);

#endif
