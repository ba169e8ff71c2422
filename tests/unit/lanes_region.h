/* SPDX-License-Identifier: MIT */
/*
 * lanes_region.h - a region with lanes for tests of the SDK, without a collector.
 *
 * As a collector makes it, but small, and without committed memory: whatever a test
 * does, the SDK has to ask the kernel for memory first.  Tests read the lanes directly
 * from the region.
 */
#ifndef LANES_REGION_H
#define LANES_REGION_H

#include <corotracer/lanes.h>
#include <corotracer/pool.h>

#include "test_sdk_region.h"

struct shape {
	uint32_t lanes, chunks, lives, sites;
	uint32_t lane_chunks; /* 0: all */
	uint32_t on_full, block_ms;
	int what;         /* REGION_* */
	uint32_t without; /* features not to announce */
};

#define SHAPE                                                                             \
	{                                                                                 \
		.lanes = 64, .chunks = 64, .lives = 256, .sites = 64, .what = REGION_EXT, \
	}

struct lanes_region {
	struct region region;
	struct ctp_ext_lanes *ext;
	char *map;
	uint64_t size;
	struct ctp_arena lanes, chunks, lives, sites;
};

UNUSED static uint64_t lanes_place(struct lanes_region *r, struct ctp_arena *a,
				   struct ctp_pool *pool, uint64_t offset, uint32_t unit,
				   uint32_t limit)
{
	pool->offset = offset;
	pool->unit = unit;
	pool->limit = limit;
	*a = (struct ctp_arena){ pool, r->map + offset, unit, limit };
	return (offset + (uint64_t)unit * limit + 65535) / 65536 * 65536;
}

/* Create the region, and set the environment to it. */
UNUSED static void lanes_region_open(struct lanes_region *r, struct shape s)
{
	uint64_t most = UINT64_C(1) << 20 | 65535, end = 65536;
	int fd;

	memset(r, 0, sizeof(*r));
	region_open(&r->region, 4, s.what);
	most += (uint64_t)s.lanes * sizeof(struct ctp_lane) + s.chunks * sizeof(struct ctp_chunk) +
		s.lives * sizeof(struct ctp_life) + s.sites * sizeof(struct ctp_site);
	fd = open(r->region.shm, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, (off_t)most), 0);
	r->map = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(r->map != MAP_FAILED);
	r->ext = ctp_header_lanes(r->region.header);
	end = lanes_place(r, &r->lanes, &r->ext->lanes, end, sizeof(struct ctp_lane), s.lanes);
	end = lanes_place(r, &r->sites, &r->ext->sites, end, sizeof(struct ctp_site), s.sites);
	end = lanes_place(r, &r->lives, &r->ext->lives, end, sizeof(struct ctp_life), s.lives);
	end = lanes_place(r, &r->chunks, &r->ext->chunks, end, sizeof(struct ctp_chunk), s.chunks);
	CHECK(end <= most);
	r->size = end;
	CHECK_EQ(ftruncate(fd, (off_t)end), 0);
	close(fd);
	r->ext->version = CTP_LANES_VERSION;
	r->ext->map_size = end;
	r->ext->lane_chunks = s.lane_chunks ? s.lane_chunks : s.chunks;
	r->ext->on_full = s.on_full;
	r->ext->block_ms = s.block_ms;
	/* (ctp-E) pairs with the acquire load in ctp_session_lanes(). */
	ctp_store_release(&r->ext->magic, CTP_LANES_MAGIC);
	ctp_header_ext(r->region.header)->features |= CTP_EXT_LANES;
	ctp_header_ext(r->region.header)->features &= ~s.without;
}

UNUSED static struct ctp_lane *lane_nr(struct lanes_region *r, uint32_t number)
{
	return ctp_unit(&r->lanes, number);
}

UNUSED static struct ctp_life *life_nr(struct lanes_region *r, uint32_t number)
{
	return ctp_unit(&r->lives, number);
}

/* The records of lane @number since it was opened; returns how many.  Chunks not given back. */
UNUSED static uint64_t lane_records(struct lanes_region *r, uint32_t number, struct ctp_record *out,
				    uint64_t room)
{
	struct ctp_lane *lane = lane_nr(r, number);
	/* (ctp-H) pairs with the release store in ctp_lane_publish(). */
	uint64_t nr = ctp_load_acquire(&lane->head) / sizeof(struct ctp_record), i;
	uint32_t link = lane->first;

	CHECK(nr <= room);
	for (i = 0; i < nr; i++) {
		struct ctp_chunk *chunk;

		CHECK(link >= 1 && link <= r->chunks.limit);
		chunk = ctp_unit(&r->chunks, link - 1);
		CHECK_EQ(chunk->lane, number);
		out[i] = chunk->records[i % CTP_CHUNK_RECORDS];
		if (i % CTP_CHUNK_RECORDS == CTP_CHUNK_RECORDS - 1)
			link = chunk->link;
	}
	return nr;
}

/* Give back the lane's oldest chunk, as the collector does after reading it. */
UNUSED static void lane_give_back(struct lanes_region *r, uint32_t number)
{
	struct ctp_lane *lane = lane_nr(r, number);
	uint32_t oldest = (uint32_t)lane->oldest;
	struct ctp_chunk *chunk = ctp_unit(&r->chunks, oldest - 1);

	ctp_store_relaxed(&lane->oldest, (uint64_t)chunk->link);
	ctp_pool_give(&r->chunks, oldest - 1);
	/* (ctp-J) pairs with the acquire load in ctp_lane_held(). */
	ctp_store_release(&lane->returned, lane->returned + 1);
}

#endif
