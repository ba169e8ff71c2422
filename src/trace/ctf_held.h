/* SPDX-License-Identifier: MIT */
/*
 * ctf_held.h - hold records back until no earlier record can arrive.
 *
 * The collector reads stations one after the other, so events are in order of time only within
 * a station; a CTF stream needs them in order across all stations.  The collector knows how old
 * an event of a later poll can be and announces that time (the horizon).
 */
#ifndef TRACE_CTF_HELD_H
#define TRACE_CTF_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct held_record {
	uint64_t ts;
	uint64_t at; /* offset in bytes */
	uint32_t size;
	bool is_transition;
};

/* All zero is empty. */
struct ctf_held {
	struct held_record *records;
	size_t nr, room;
	uint8_t *bytes;
	size_t used, size;
};

/* Returns room for a record of up to @size bytes; NULL: no memory. */
uint8_t *held_room(struct ctf_held *h, size_t size);

/* Adds the record of @size bytes that the caller wrote to held_room(). */
void held_keep(struct ctf_held *h, uint64_t ts, size_t size, bool is_transition);

/* Sorts by time; records with equal times keep their order. */
void held_sort(struct ctf_held *h);

/* Removes the first @nr records. */
void held_drop(struct ctf_held *h, size_t nr);

void held_release(struct ctf_held *h);

#endif
