/* SPDX-License-Identifier: MIT */
/* u64map.c - a hash map from 64-bit numbers to 64-bit numbers. */
#include "base/u64map.h"

#include "base/memory_shortage.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_SIZE 64

static void choose_seed(struct u64map *map)
{
	struct timespec now;

	if (getrandom(map->seed, sizeof(map->seed), GRND_NONBLOCK) != sizeof(map->seed)) {
		/*
		 * No random numbers (early boot, a sandbox): a value that is hard to guess is
		 * enough.
		 */
		clock_gettime(CLOCK_MONOTONIC, &now);
		map->seed[0] = (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15);
		map->seed[1] = (uint64_t)(uintptr_t)map ^ (uint64_t)now.tv_sec << 32;
	}
	map->seed[1] |= 1;
}

/* Fold both halves of a 128-bit product: each bit of the key affects each bit of the index. */
static uint64_t u64map_hash(const struct u64map *map, uint64_t key)
{
	__extension__ unsigned __int128 product = (unsigned __int128)(key ^ map->seed[0]) *
						  (map->seed[1] | UINT64_C(1) << 63);
	uint64_t folded = (uint64_t)product ^ (uint64_t)(product >> 64);

	folded *= UINT64_C(0x9e3779b97f4a7c15);
	return folded ^ folded >> 32;
}

/* The entry of @key, or the free entry where it would be inserted. */
static struct u64map_entry *u64map_find(const struct u64map *map, uint64_t key)
{
	size_t at = (size_t)u64map_hash(map, key) & (map->size - 1);

	while (map->entries[at].key && map->entries[at].key != key)
		at = (at + 1) & (map->size - 1);
	return &map->entries[at];
}

static bool u64map_grow(struct u64map *map)
{
	struct u64map bigger = *map;
	size_t i;

	bigger.size = map->size ? map->size * 2 : FIRST_SIZE;
	bigger.entries = calloc(bigger.size, sizeof(*bigger.entries));
	if (!bigger.entries) {
		memory_shortage_note();
		return false;
	}
	if (!map->size)
		choose_seed(&bigger);
	for (i = 0; i < map->size; i++) {
		if (map->entries[i].key)
			*u64map_find(&bigger, map->entries[i].key) = map->entries[i];
	}
	free(map->entries);
	*map = bigger;
	return true;
}

uint64_t *u64map_at(struct u64map *map, uint64_t key)
{
	struct u64map_entry *entry;

	if (!key) {
		map->has_zero = true;
		return &map->zero_value;
	}
	if (map->size) {
		entry = u64map_find(map, key);
		if (entry->key)
			return &entry->value;
	}
	if (map->used >= map->size / 4 * 3 && !u64map_grow(map))
		return NULL;
	entry = u64map_find(map, key);
	entry->key = key;
	map->used++;
	return &entry->value;
}

int u64map_put(struct u64map *map, uint64_t key, uint64_t value)
{
	uint64_t *place = u64map_at(map, key);

	if (!place)
		return -ENOMEM;
	*place = value;
	return 0;
}

/*
 * The entry at @at is free: move later entries of the same probe sequence up, so that a search does
 * not stop at the gap before it reaches its key.
 */
static void close_gap(struct u64map *map, size_t at)
{
	size_t mask = map->size - 1, next = at;

	for (;;) {
		size_t home;

		next = (next + 1) & mask;
		if (!map->entries[next].key)
			break;
		home = (size_t)u64map_hash(map, map->entries[next].key) & mask;
		/* Does the probe sequence from home to next cross the gap? */
		if (((next - home) & mask) >= ((next - at) & mask)) {
			map->entries[at] = map->entries[next];
			at = next;
		}
	}
	map->entries[at] = (struct u64map_entry){ 0 };
}

bool u64map_remove(struct u64map *map, uint64_t key)
{
	struct u64map_entry *entry;
	bool had_zero = map->has_zero;

	if (!key) {
		map->has_zero = false;
		map->zero_value = 0;
		return had_zero;
	}
	entry = map->size ? u64map_find(map, key) : NULL;
	if (!entry || !entry->key)
		return false;
	close_gap(map, (size_t)(entry - map->entries));
	map->used--;
	return true;
}

bool u64map_get(const struct u64map *map, uint64_t key, uint64_t *value)
{
	const struct u64map_entry *entry;

	if (!key) {
		*value = map->zero_value;
		return map->has_zero;
	}
	if (!map->size)
		return false;
	entry = u64map_find(map, key);
	*value = entry->value;
	return entry->key != 0;
}

size_t u64map_count(const struct u64map *map)
{
	return map->used + map->has_zero;
}

bool u64map_next(const struct u64map *map, size_t *pos, uint64_t *key, uint64_t *value)
{
	/* Position 0 is key 0, position n + 1 is entry n. */
	if (*pos == 0) {
		(*pos)++;
		if (map->has_zero) {
			*key = 0;
			*value = map->zero_value;
			return true;
		}
	}
	while (*pos <= map->size) {
		const struct u64map_entry *entry = &map->entries[(*pos)++ - 1];

		if (entry->key) {
			*key = entry->key;
			*value = entry->value;
			return true;
		}
	}
	return false;
}

void u64map_release(struct u64map *map)
{
	free(map->entries);
	*map = (struct u64map){ 0 };
}
