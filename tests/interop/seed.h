/* SPDX-License-Identifier: MIT */
/*
 * seed.h - cTP 0.x as its documents specify it, without corotracer's headers.
 *
 * For programs that stand for other implementations: if ctp.h and the documents
 * ever differ, the tests that use this file fail.  Nothing here may include or be taken
 * from include/corotracer.
 */
#ifndef INTEROP_SEED_H
#define INTEROP_SEED_H

#include <stddef.h>
#include <stdint.h>

#define SEED_MAGIC   0x434F524F54524352ull
#define SEED_VERSION 1u

struct seed_header {
	uint64_t magic_number;
	uint32_t version;
	uint32_t max_stations;
	uint32_t allocated_count;
	uint32_t tracer_sleeping;
	char reserved[1000];
} __attribute__((aligned(1024)));

struct seed_epoch {
	uint64_t timestamp;
	uint64_t tid;
	uint64_t addr;
	uint64_t seq;
	char reserved[31];
	uint8_t is_active;
} __attribute__((aligned(64)));

struct seed_station {
	uint64_t probe_id;
	uint64_t birth_ts;
	uint8_t is_dead;
	char pad[47];
	struct seed_epoch slots[8];
	char flexible[448];
} __attribute__((aligned(1024)));

_Static_assert(sizeof(struct seed_header) == 1024, "the header is 1 KiB");
_Static_assert(sizeof(struct seed_epoch) == 64, "an epoch is a cache line");
_Static_assert(sizeof(struct seed_station) == 1024, "a station is 1 KiB");
_Static_assert(offsetof(struct seed_header, tracer_sleeping) == 0x14, "header");
_Static_assert(offsetof(struct seed_epoch, seq) == 0x18, "epoch");
_Static_assert(offsetof(struct seed_epoch, is_active) == 0x3F, "epoch");
_Static_assert(offsetof(struct seed_station, slots) == 0x40, "station");
_Static_assert(offsetof(struct seed_station, flexible) == 0x240, "station");

#endif
