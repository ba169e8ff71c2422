/* SPDX-License-Identifier: MIT */
/* lane_memory.c - offer lanes: their layout in the file, and memory ahead of its use. */
#include "process/map_guard.h"
#include "collect/lane_memory.h"

#include <corotracer/atomic.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PAGE UINT64_C(65536) /* a multiple of every page size */

/* Units to commit at the start and ahead of those in use. */
#define LANES_AHEAD  32u
#define CHUNKS_AHEAD 32u
#define LIVES_AHEAD  1024u
#define SITES_AHEAD  16u
/* At most, in bytes: unlike chunks, the other units keep their memory until the region ends. */
#define AHEAD_MOST (UINT64_C(8) << 20)

static uint64_t lanes_round_up(uint64_t n)
{
	return (n + PAGE - 1) / PAGE * PAGE;
}

/* ---- memory ----------------------------------------------------------------- */

uint32_t lanes_used(const struct ctp_arena *a)
{
	uint32_t used = ctp_load_relaxed(&a->pool->used);

	return used < a->limit ? used : a->limit;
}

uint32_t lane_memory_committed(const struct ctp_arena *a)
{
	uint32_t n = ctp_load_relaxed(&a->pool->committed);

	return n < a->limit ? n : a->limit;
}

/* Commit memory for @nr units of @a in total. */
static void lanes_commit(struct lanes *l, struct ctp_arena *a, uint32_t nr)
{
	uint32_t before = lane_memory_committed(a);
	uint64_t from = (uint64_t)(a->units - l->map) + l->offset + (uint64_t)before * a->unit;

	if (nr > a->limit)
		nr = a->limit;
	if (nr <= before || (uint64_t)a->unit * a->limit == 0)
		return;
	if (fallocate(l->fd, FALLOC_FL_KEEP_SIZE, (off_t)from,
		      (off_t)((uint64_t)(nr - before) * a->unit)) < 0) {
		if (!l->starved)
			l->starved = errno;
		return;
	}
	/*
	 * A program may have committed the same units meanwhile; reserving them twice is
	 * harmless.
	 */
	ctp_pool_committed(a->pool, before, nr);
}

/*
 * Commit a quarter more than is in use, but at least @ahead and at most @most units more, in steps
 * large enough to be worth the system call.
 */
static void keep_ahead(struct lanes *l, struct ctp_arena *a, uint32_t ahead, uint32_t most)
{
	uint32_t used = lanes_used(a), there = lane_memory_committed(a);
	uint32_t more = used / 4 > ahead ? used / 4 : ahead;

	if (more > most)
		more = most;
	if (there < a->limit && there - (used < there ? used : there) < more / 2)
		lanes_commit(l, a, used + more);
}

void lanes_keep_ahead(struct lanes *l)
{
	if (!l->ext)
		return;
	keep_ahead(l, &l->lanes, LANES_AHEAD, UINT32_MAX);
	if (!parking_has_enough(l))
		keep_ahead(l, &l->chunks, CHUNKS_AHEAD, UINT32_MAX);
	keep_ahead(l, &l->lives, LIVES_AHEAD, AHEAD_MOST / sizeof(struct ctp_life));
	keep_ahead(l, &l->sites, SITES_AHEAD, UINT32_MAX);
}

uint64_t lanes_committed(const struct lanes *l)
{
	const struct ctp_arena *all[] = { &l->lanes, &l->chunks, &l->lives, &l->sites };
	uint64_t sum = 0;
	size_t i;

	for (i = 0; l->ext && i < sizeof(all) / sizeof(all[0]); i++)
		sum += (uint64_t)lane_memory_committed(all[i]) * all[i]->unit;
	return sum;
}

/* ---- layout ------------------------------------------------------------------- */

uint64_t lanes_wanted(const struct lanes_config *config)
{
	uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	if (config->buffer)
		return config->buffer;
	return ram / 4 < BUFFER_MOST ? ram / 4 : BUFFER_MOST;
}

/* The size that the user asked for; otherwise the default, limited to half of the free space. */
static uint64_t choose_buffer(struct lanes *l, int fd, const struct lanes_config *config)
{
	uint64_t wanted = lanes_wanted(config), most;
	struct statvfs vfs;

	if (fstatvfs(fd, &vfs) < 0)
		return wanted;
	most = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	if (!config->buffer)
		most /= 2;
	if (most < wanted)
		l->place_holds = most > BUFFER_LEAST ? most : BUFFER_LEAST;
	if (config->buffer)
		return config->buffer;
	if (l->place_holds)
		wanted = l->place_holds;
	return wanted > BUFFER_LEAST ? wanted : BUFFER_LEAST;
}

static uint64_t lane_memory_place(struct ctp_pool *pool, uint64_t offset, uint32_t unit,
				  uint32_t limit)
{
	pool->offset = offset;
	pool->unit = unit;
	pool->limit = limit;
	return lanes_round_up(offset + (uint64_t)unit * limit);
}

/* Fill in the pools; returns the size of the file. */
static uint64_t lanes_lay_out(struct ctp_ext_lanes *ext, uint64_t from, uint64_t buffer)
{
	uint64_t end = lanes_round_up(from);
	uint32_t chunks = (uint32_t)(buffer / CTP_CHUNK_SIZE);

	end = lane_memory_place(&ext->lanes, end, sizeof(struct ctp_lane), LANES_MAX);
	end = lane_memory_place(&ext->sites, end, sizeof(struct ctp_site), CTP_MAX_SITES);
	end = lane_memory_place(&ext->lives, end, sizeof(struct ctp_life), LIVES_MAX);
	return lane_memory_place(&ext->chunks, end, sizeof(struct ctp_chunk), chunks);
}

static int open_arena(struct lanes *l, struct ctp_arena *a, struct ctp_pool *pool, uint32_t unit,
		      struct err *err)
{
	uint64_t offset = pool->offset;
	uint32_t limit = pool->limit;

	if (pool->unit != unit || offset % 64 || offset < l->offset ||
	    offset > l->offset + l->size || limit > (l->offset + l->size - offset) / unit)
		return err_set(err, -EINVAL, "the region's lanes are not where they can be");
	a->pool = pool;
	a->units = l->map + (offset - l->offset);
	a->unit = unit;
	a->limit = limit;
	return 0;
}

static int open_arenas(struct lanes *l, struct ctp_ext_lanes *ext, struct err *err)
{
	if (open_arena(l, &l->lanes, &ext->lanes, sizeof(struct ctp_lane), err) < 0 ||
	    open_arena(l, &l->chunks, &ext->chunks, sizeof(struct ctp_chunk), err) < 0 ||
	    open_arena(l, &l->lives, &ext->lives, sizeof(struct ctp_life), err) < 0 ||
	    open_arena(l, &l->sites, &ext->sites, sizeof(struct ctp_site), err) < 0)
		return err->code;
	l->ext = ext;
	return 0;
}

static int lanes_map(struct lanes *l, int fd, uint64_t from, uint64_t to, int prot, struct err *err)
{
	void *p = mmap(NULL, to - from, prot, MAP_SHARED | MAP_NORESERVE, fd, (off_t)from);

	if (p == MAP_FAILED)
		return err_errno(err, "cannot map the region's lanes (%llu MiB of addresses)",
				 (unsigned long long)((to - from) >> 20));
	l->map = p;
	l->fd = fd;
	l->offset = from;
	l->size = to - from;
	map_guard_add(p, to - from, prot);
	return 0;
}

/* Commit the units for the start. */
static int commit_first(struct lanes *l, const struct lanes_config *config, const char *shm,
			struct err *err)
{
	lanes_commit(l, &l->lives, config->lives);
	lanes_keep_ahead(l);
	if (!l->starved)
		return 0;
	errno = l->starved;
	return err_errno(err, "no memory for lanes in '%s'", shm);
}

int lanes_offer(struct lanes *l, struct region *r, const struct lanes_config *config,
		struct err *err)
{
	struct ctp_ext_lanes *ext = ctp_header_lanes(r->header);
	uint64_t size, holds;

	memset(l, 0, sizeof(*l));
	size = lanes_lay_out(ext, r->size, choose_buffer(l, r->fd, config));
	holds = l->place_holds;
	if (getenv("COROTRACER_NO_LANES"))
		return err_set(err, -EOPNOTSUPP, "COROTRACER_NO_LANES is set");
	ext->version = CTP_LANES_VERSION;
	ext->on_full = config->on_full;
	ext->block_ms = config->block_ms;
	ext->map_size = size;
	/* One lane may take 7/8 of the chunks; the rest lets other lanes start. */
	ext->lane_chunks = ext->chunks.limit - ext->chunks.limit / 8;
	if (ftruncate(r->fd, (off_t)size) < 0)
		return err_errno(err, "cannot make room for lanes (%llu MiB of addresses)",
				 (unsigned long long)(size >> 20));
	if (lanes_map(l, r->fd, lanes_round_up(r->size), size, PROT_READ | PROT_WRITE, err) < 0 ||
	    open_arenas(l, ext, err) < 0 || commit_first(l, config, r->shm, err) < 0) {
		lanes_close(l);
		l->place_holds = holds;
		/* Programs map the whole file: restore the size without lanes. */
		(void)!ftruncate(r->fd, (off_t)r->size);
		return err->code;
	}
	/* (ctp-E) pairs with the acquire load in ctp_session_lanes(). */
	ctp_store_release(&ext->magic, CTP_LANES_MAGIC);
	ctp_header_ext(r->header)->features |= CTP_EXT_LANES | CTP_EXT_HANDOVER | CTP_EXT_CONTEXT;
	return 0;
}

int lanes_open(struct lanes *l, struct ctp_header *header, char *image, uint64_t size,
	       struct err *err)
{
	struct ctp_ext_lanes *ext = ctp_header_lanes(header);
	uint64_t from = ext->lanes.offset;

	memset(l, 0, sizeof(*l));
	if (ext->magic != CTP_LANES_MAGIC)
		return err_set(err, -ENOENT, "the region has no lanes");
	if (ext->version != CTP_LANES_VERSION)
		return err_set(err, -EINVAL, "the region's lanes are of version %u, we know %u",
			       ext->version, CTP_LANES_VERSION);
	if (from % PAGE || from >= size)
		return err_set(err, -EINVAL, "the region's lanes are not where they can be");
	l->fd = -1;
	l->map = image + from;
	l->offset = from;
	l->size = size - from;
	return open_arenas(l, ext, err);
}

void lanes_close(struct lanes *l)
{
	if (l->map) {
		map_guard_remove(l->map);
		munmap(l->map, l->size);
	}
	parking_release(&l->parking);
	memset(l, 0, sizeof(*l));
}
