/* SPDX-License-Identifier: MIT */
/*
 * region_file.h - the file of a region, written by hand: stations, lanes with chains of chunks,
 * coroutines and sites, as a collector and its programs leave them.
 */
#ifndef REGION_FILE_H
#define REGION_FILE_H

#include <corotracer/lanes.h>
#include <corotracer/pool.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define REGION_FILE_STATIONS 4u
#define REGION_FILE_LANES    8u
#define REGION_FILE_CHUNKS   16u
#define REGION_FILE_SITES    64u

#define PER_CHUNK            CTP_CHUNK_RECORDS

/* A test uses what it needs. */
#pragma GCC diagnostic ignored "-Wunused-function"

static struct {
	char dir[64], path[128];
	uint64_t size;
	struct ctp_header *header;
	struct ctp_ext_header *ext;
	struct ctp_ext_lanes *lanes_ext;
	struct ctp_station *stations;
	struct ctp_lane *lanes;
	struct ctp_chunk *chunks;
	struct ctp_life *lives;
	struct ctp_site *sites;
} reg;

static void region_file_remove(void)
{
	if (reg.header)
		munmap(reg.header, reg.size);
	unlink(reg.path);
	rmdir(reg.dir);
}

/* Call first in main(). */
static void region_file_begin(void)
{
	snprintf(reg.dir, sizeof(reg.dir), "/tmp/corotracer-test-XXXXXX");
	CHECK(mkdtemp(reg.dir) != NULL);
	snprintf(reg.path, sizeof(reg.path), "%s/region", reg.dir);
	atexit(region_file_remove);
}

static uint64_t region_file_place(struct ctp_pool *pool, uint64_t offset, uint32_t unit,
				  uint32_t limit)
{
	pool->offset = offset;
	pool->unit = unit;
	pool->limit = pool->committed = limit;
	return (offset + (uint64_t)unit * limit + 65535) / 65536 * 65536;
}

static void region_file_map(const struct ctp_ext_lanes *ext, uint64_t size)
{
	int fd;
	char *map;

	if (reg.header)
		munmap(reg.header, reg.size);
	unlink(reg.path);
	fd = open(reg.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	close(fd);
	reg.size = size;
	reg.header = (struct ctp_header *)(void *)map;
	reg.ext = ctp_header_ext(reg.header);
	reg.lanes_ext = ctp_header_lanes(reg.header);
	reg.stations = ctp_stations(reg.header);
	reg.lanes = (struct ctp_lane *)(void *)(map + ext->lanes.offset);
	reg.chunks = (struct ctp_chunk *)(void *)(map + ext->chunks.offset);
	reg.lives = (struct ctp_life *)(void *)(map + ext->lives.offset);
	reg.sites = (struct ctp_site *)(void *)(map + ext->sites.offset);
}

/* Another region, empty, with room for @lives coroutines. */
static void region_file_new(uint32_t lives)
{
	struct ctp_ext_lanes ext = { .version = CTP_LANES_VERSION, .magic = CTP_LANES_MAGIC };
	uint64_t end = 65536;

	end = region_file_place(&ext.lanes, end, sizeof(struct ctp_lane), REGION_FILE_LANES);
	end = region_file_place(&ext.sites, end, sizeof(struct ctp_site), REGION_FILE_SITES);
	end = region_file_place(&ext.lives, end, sizeof(struct ctp_life), lives);
	end = region_file_place(&ext.chunks, end, sizeof(struct ctp_chunk), REGION_FILE_CHUNKS);
	ext.map_size = end;
	region_file_map(&ext, end);
	*reg.lanes_ext = ext;
	reg.header->magic_number = CTP_MAGIC;
	reg.header->version = CTP_VERSION;
	reg.header->max_stations = REGION_FILE_STATIONS;
	reg.ext->magic = CTP_EXT_MAGIC;
	reg.ext->version = CTP_EXT_VERSION;
	reg.ext->features = CTP_EXT_CLOCK | CTP_EXT_LANES;
}

/*
 * Lane @i of thread 100 + @i in process 42.  @chain: its chunks, oldest first, -1 at the end;
 * @returned of them were given back before; @head records were written ever.
 */
static struct ctp_lane *region_file_lane(uint32_t i, const int *chain, uint32_t returned,
					 uint64_t head)
{
	uint32_t k;

	reg.lanes[i] = (struct ctp_lane){ .state = CTP_LANE_OPEN,
					  .head = head * sizeof(struct ctp_record),
					  .tid = 100 + i,
					  .pid = 42,
					  .first = returned ? 77 : (uint32_t)chain[0] + 1,
					  .returned = returned,
					  .taken = 9,
					  .oldest = (uint64_t)chain[0] + 1 };
	for (k = 0; chain[k] >= 0; k++) {
		reg.chunks[chain[k]].lane = i;
		reg.chunks[chain[k]].link = (uint32_t)(chain[k + 1] + 1);
	}
	if (reg.lanes_ext->lanes.used <= i)
		reg.lanes_ext->lanes.used = i + 1;
	return &reg.lanes[i];
}

#endif
