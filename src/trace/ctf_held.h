/* SPDX-License-Identifier: MIT */
/*
 * ctf_held.h - records that wait until nothing earlier can come any more.
 *
 * Stations are read one after the other, so their events arrive in order of time only
 * within each; a CTF stream wants them in order among all.  Whoever reads the stations
 * knows how far back an event can still come from, and says so (the horizon).
 */
#ifndef TRACE_CTF_HELD_H
#define TRACE_CTF_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct held_record {
	uint64_t ts;
	uint64_t at; /* in bytes */
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

/* Room for a record of up to @size bytes; NULL without memory. */
uint8_t *held_room(struct ctf_held *h, size_t size);

/* So many bytes were written there. */
void held_keep(struct ctf_held *h, uint64_t ts, size_t size, bool is_transition);

/* In order of time; of those of one time the first stays first. */
void held_sort(struct ctf_held *h);

/* The first @nr are gone. */
void held_drop(struct ctf_held *h, size_t nr);

void held_release(struct ctf_held *h);

#endif
