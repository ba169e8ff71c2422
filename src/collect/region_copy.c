/* SPDX-License-Identifier: MIT */
/* region_copy.c - a private copy of the region of another process. */
#include "collect/region_copy.h"

#include <corotracer/atomic.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "collect/region_list.h"
#include "collect/region.h"
#include "base/io.h"
#include "base/libc_gaps.h"

/* Limit for address space, not memory. */
#define IMAGE_MAX (2 * BUFFER_HIGHEST)

/* A rate measured over a shorter time is less accurate than the published one. */
#define RATE_NS  (1 * NS_PER_SEC)

#define SLEW_PPM 500u

/*
 * Attempts to walk a chain that changes meanwhile; fewer when only the newest chunks are
 * copied, because the caller repeats that periodically.
 */
#define WALKS        32
#define WALKS_GLANCE 2

/* Bytes to copy at a time. */
#define PIECE (UINT64_C(1) << 20)

/* ---- bytes ------------------------------------------------------------------- */

/* Copy what the file contains; the rest of the image is already zero. */
static void copy_bytes(struct image *im, int fd, uint64_t offset, uint64_t size)
{
	while (size) {
		ssize_t n = io_pread(fd, im->map + offset, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		offset += (uint64_t)n;
		size -= (uint64_t)n;
	}
}

/*
 * Copy a range without its large holes: a sparse file costs little.  The end of the data is not
 * determined (SEEK_HOLE): the kernel would inspect every page up to it, each time.
 */
static void copy_range(struct image *im, int fd, uint64_t offset, uint64_t size)
{
	uint64_t end = offset + size;

	while (offset < end) {
		off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
		uint64_t part;

		if (data < 0 && errno == ENXIO) /* no more data */
			return;
		if (data > (off_t)offset)
			offset = (uint64_t)data;
		if (offset >= end)
			return;
		part = end - offset < PIECE ? end - offset : PIECE;
		copy_bytes(im, fd, offset, part);
		offset += part;
	}
}

/* ---- header and stations -------------------------------------------------------- */

/* Read the header at a moment when its clock is not being written. */
static bool load_header(int fd, struct ctp_header *header)
{
	off_t at = CTP_EXT_HEADER_OFFSET + (off_t)offsetof(struct ctp_ext_header, clock_seq);
	uint64_t first, seq;
	int tries = 8;

	while (tries--) {
		if (io_pread(fd, &first, sizeof(first), at) != (ssize_t)sizeof(first))
			return false;
		/* (ctp-G) pairs with the release store in timebase.c: timebase_store(). */
		ctp_fence_load_load();
		if (io_pread(fd, header, sizeof(*header), 0) != (ssize_t)sizeof(*header))
			return false;
		/* (ctp-G) pairs with the store-store fence in timebase.c: timebase_store(). */
		ctp_fence_load_load();
		if (io_pread(fd, &seq, sizeof(seq), at) == (ssize_t)sizeof(seq) && seq % 2 == 0 &&
		    seq == first)
			return true;
	}
	/*
	 * The collector was killed while it stored the clock.  Make the seq odd: open_clock()
	 * then rejects the clock.
	 */
	ctp_header_ext(header)->clock_seq |= 1;
	return true;
}

static int region_copy_read_header(int fd, const char *path, struct ctp_header *header,
				   struct err *err)
{
	if (!load_header(fd, header))
		err_set(err, -EINVAL, "'%s' is too short to be a region", path);
	else if (header->magic_number != CTP_MAGIC)
		err_set(err, -EINVAL, "'%s' is not a region", path);
	else if (header->version != CTP_VERSION)
		err_set(err, -EINVAL, "'%s' is a region of version %u, we know %u", path,
			header->version, CTP_VERSION);
	else
		return 0;
	err_hint(err, "a region is the file that CTP_SHM_PATH names to a program; 'corotracer "
		      "recover' without a name lists those that were left behind");
	return err->code;
}

static uint64_t image_is_smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Size of the region if the file is complete. */
static uint64_t whole_size(const struct ctp_header *header)
{
	const struct ctp_ext_lanes *ext = (const void *)((const char *)header +
							 CTP_EXT_LANES_OFFSET);
	uint64_t size = ctp_region_size(image_is_smaller(header->max_stations, CTP_MAX_STATIONS));

	if (ext->magic == CTP_LANES_MAGIC && ext->map_size > size && ext->map_size <= IMAGE_MAX)
		size = ext->map_size;
	return size;
}

static int make_map(struct image *im, const struct ctp_header *header, struct err *err)
{
	void *map;

	im->size = whole_size(header);
	map = mmap(NULL, im->size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return err_errno(err, "no addresses for a copy of %llu MiB",
				 (unsigned long long)(im->size >> 20));
	im->map = map;
	im->header = map;
	memcpy(im->map, header, sizeof(*header));
	return 0;
}

static void copy_stations(struct image *im, int fd)
{
	uint64_t nr = image_is_smaller(im->header->allocated_count,
				       image_is_smaller(im->header->max_stations,
							CTP_MAX_STATIONS));

	im->nr_stations = (uint32_t)nr;
	copy_range(im, fd, sizeof(struct ctp_header), nr * sizeof(struct ctp_station));
}

/* ---- lanes ----------------------------------------------------------------------- */

/* Larger values than a collector ever offers are corrupt. */
static void limit_pool(struct ctp_pool *pool, uint32_t most)
{
	if (pool->limit > most)
		pool->limit = most;
	if (pool->used > pool->limit)
		pool->used = pool->limit;
}

static void copy_pool(struct image *im, int fd, const struct ctp_pool *pool)
{
	copy_range(im, fd, pool->offset, (uint64_t)pool->used * pool->unit);
}

static void open_lanes(struct image *im, int fd)
{
	struct ctp_ext_lanes *ext = ctp_header_lanes(im->header);

	if (ext->magic != CTP_LANES_MAGIC)
		return;
	limit_pool(&ext->lanes, LANES_MAX);
	limit_pool(&ext->lives, LIVES_MAX);
	limit_pool(&ext->sites, CTP_MAX_SITES);
	limit_pool(&ext->chunks, (uint32_t)(IMAGE_MAX / CTP_CHUNK_SIZE));
	if (lanes_open(&im->lanes, im->header, im->map, im->size, &im->no_lanes) < 0) {
		memset(&im->lanes, 0, sizeof(im->lanes));
		return;
	}
	copy_pool(im, fd, &ext->lanes);
	copy_pool(im, fd, &ext->lives);
	copy_pool(im, fd, &ext->sites);
	/*
	 * (ctp-H) pairs with the release store in ctp_lane_publish(): the records below the heads
	 * read above are visible.
	 */
	ctp_fence_load_load();
}

/* State for copying lanes, one after another. */
struct copier {
	struct image *im;
	int fd;
	uint32_t *chain; /* numbers of the lane's chunks, oldest first */
	uint32_t nr, room;
	uint32_t *seen; /* by chunk: the last walk that visited it */
	uint32_t walk;
	uint32_t used;   /* chunks in use in the image, from the first on */
	uint32_t newest; /* number of chunks to copy per lane; 0: all */
};

static uint64_t offset_of(const struct image *im, const void *unit)
{
	return im->lanes.offset + (uint64_t)((const char *)unit - im->lanes.map);
}

static bool add_to_chain(struct copier *c, uint32_t number)
{
	uint32_t room = c->room ? c->room * 2 : 64;
	uint32_t *chain;

	if (c->nr == c->room) {
		chain = reallocarray(c->chain, room, sizeof(*chain));
		if (!chain)
			return false;
		c->chain = chain;
		c->room = room;
	}
	c->chain[c->nr++] = number;
	return true;
}

/* List the chunks of lane @i, oldest first.  Reads only the head of each chunk, which is fast. */
static bool walk_chain(struct copier *c, uint32_t i)
{
	const struct image *im = c->im;
	uint64_t link = lanes_lane(&im->lanes, i)->oldest;
	struct {
		uint32_t link, lane;
	} head;

	c->nr = 0;
	c->walk++;
	while (link && link <= im->lanes.chunks.limit && c->seen[link - 1] != c->walk) {
		uint32_t number = (uint32_t)link - 1;
		uint64_t offset = offset_of(im, lanes_chunk(&im->lanes, number));

		c->seen[number] = c->walk;
		if (io_pread(c->fd, &head, sizeof(head), (off_t)offset) != (ssize_t)sizeof(head) ||
		    head.lane != i)
			break;
		if (!add_to_chain(c, number))
			return false;
		link = head.link;
	}
	return true;
}

/* Read the lane as it is now. */
static bool lane_now(const struct copier *c, uint32_t i, struct ctp_lane *now)
{
	uint64_t offset = offset_of(c->im, lanes_lane(&c->im->lanes, i));

	/*
	 * (ctp-J) pairs with the release store in the collector's lane_return(): if a chunk
	 * belonged to another lane when it was read, this read shows that it was given back: in
	 * `returned` or, if the collector is between the two stores, in `oldest`, which it
	 * stores first.
	 */
	ctp_fence_load_load();
	return io_pread(c->fd, now, sizeof(*now), (off_t)offset) == (ssize_t)sizeof(*now);
}

static bool same_owner(const struct ctp_lane *a, const struct ctp_lane *b)
{
	return a->tid == b->tid && a->pid == b->pid && a->first == b->first && a->head <= b->head &&
	       a->returned <= b->returned;
}

/* Read the lane and its chain consistently: no chunk is given back between the two reads. */
static bool read_chain(struct copier *c, uint32_t i)
{
	struct ctp_lane *lane = lanes_lane(&c->im->lanes, i), now;
	int tries = c->newest ? WALKS_GLANCE : WALKS;

	do {
		if (!walk_chain(c, i))
			return false;
		/* A file without a running collector, or a truncated one, needs only one walk. */
		if (!c->im->live || !lane_now(c, i, &now))
			return true;
		if (same_owner(lane, &now) && now.returned == lane->returned &&
		    now.oldest == lane->oldest)
			return true;
		copy_bytes(c->im, c->fd, offset_of(c->im, lane), sizeof(*lane));
		/* (ctp-H) pairs with the release store in ctp_lane_publish(). */
		ctp_fence_load_load();
	} while (--tries);
	return false;
}

/* Drop all but the newest chunks of the chain; *@first is the number of its first chunk. */
static void keep_newest(struct copier *c, uint64_t *first)
{
	uint32_t older = c->newest && c->nr > c->newest ? c->nr - c->newest : 0;

	if (!older)
		return;
	memmove(c->chain, c->chain + older, c->newest * sizeof(*c->chain));
	c->nr = c->newest;
	*first += older;
}

/* True if the head is in the last of @nr chunks when the first is number @first. */
static bool image_is_valid(uint64_t first, uint32_t nr, uint64_t head)
{
	uint64_t last = first + nr - 1;

	return head >= last * CTP_CHUNK_RECORDS && head <= (last + 1) * CTP_CHUNK_RECORDS;
}

/*
 * Number of the oldest chunk, counted since the lane was opened: the number of chunks given
 * back.  A collector that was killed between storing `oldest` and `returned` leaves that count
 * one too low.  Chunks that were linked after the head was read are left out of the chain.
 */
static bool find_first(const struct ctp_lane *lane, uint32_t *nr, uint64_t *first)
{
	uint64_t head = lane->head / sizeof(struct ctp_record), k, end;

	for (k = 0; k < 2; k++) {
		*first = (uint64_t)lane->returned + k;
		if (*nr && image_is_valid(*first, *nr, head))
			return true;
	}
	*first = lane->returned;
	end = head ? (head - 1) / CTP_CHUNK_RECORDS + 1 : 1;
	if (end <= *first || end - *first >= *nr)
		return false;
	*nr = (uint32_t)(end - *first);
	return true;
}

static void read_chunk(const struct copier *c, uint32_t number, struct ctp_chunk *to)
{
	uint64_t offset = offset_of(c->im, lanes_chunk(&c->im->lanes, number));

	if (io_pread(c->fd, to, sizeof(*to), (off_t)offset) < 0)
		memset(to, 0, sizeof(*to));
}

/*
 * Copy the chunks; the first is number @first since the lane was opened.  They get new numbers
 * in the image: a chunk may have belonged to another lane when that lane was copied.  Returns
 * how many chunks were given back meanwhile: these may contain records of another lane.
 */
static uint64_t copy_chain(struct copier *c, uint32_t i, uint64_t first)
{
	struct image *im = c->im;
	struct ctp_lane now;
	uint64_t given;
	uint32_t k;

	if (c->nr > im->lanes.chunks.limit - c->used)
		return c->nr;
	for (k = 0; k < c->nr; k++) {
		struct ctp_chunk *chunk = lanes_chunk(&im->lanes, c->used + k);

		read_chunk(c, c->chain[k], chunk);
		/* As of the walk: the last chunk may have got a successor since. */
		chunk->link = k + 1 < c->nr ? c->used + k + 2 : 0;
		c->chain[k] = c->used + k;
	}
	c->used += c->nr;
	if (!im->live || !lane_now(c, i, &now))
		return 0;
	if (!same_owner(lanes_lane(&im->lanes, i), &now))
		return c->nr;
	given = now.returned > first ? now.returned - first : 0;
	/* One more may be given back and not counted yet. */
	return given + (now.oldest != lanes_lane(&im->lanes, i)->oldest);
}

/* Thread of the first record of @chunk, number @nr since the lane was opened. */
static uint64_t thread_at(const struct ctp_lane *lane, const struct ctp_chunk *chunk, uint64_t nr)
{
	return nr && chunk->pid == lane->pid && chunk->nr == (uint32_t)(nr + 1) ? chunk->tid
										: lane->tid;
}

/* Start the lane with chunk @skip of the chain, whose first chunk is number @first of the lane. */
static void begin_at(struct copier *c, uint32_t i, uint64_t first, uint64_t skip)
{
	struct ctp_lane *lane = lanes_lane(&c->im->lanes, i);
	struct image_lane *at = &c->im->at[i];

	at->skip = (first + skip) * CTP_CHUNK_RECORDS;
	lane->first = c->chain[skip] + 1;
	lane->tid = thread_at(lane, lanes_chunk(&c->im->lanes, c->chain[skip]), first + skip);
	lane->head -= at->skip * sizeof(struct ctp_record);
	lane->taken = lane->returned = 0;
	lane->tail = 0;
}

static void copy_lane(struct copier *c, uint32_t i)
{
	struct ctp_lane *lane = lanes_lane(&c->im->lanes, i);
	struct image_lane *at = &c->im->at[i];
	uint64_t first, skip;
	bool whole;

	at->used = lane->state == CTP_LANE_OPEN || lane->state == CTP_LANE_CLOSED;
	if (!at->used)
		return;
	whole = read_chain(c, i);
	at->head = lane->head / sizeof(struct ctp_record);
	at->read = lane->tail / sizeof(struct ctp_record);
	at->broken = true;
	if (!whole || !find_first(lane, &c->nr, &first))
		return;
	keep_newest(c, &first);
	skip = copy_chain(c, i, first);
	if (skip >= c->nr || (first + skip) * CTP_CHUNK_RECORDS > at->head || at->read > at->head)
		return;
	at->broken = false;
	begin_at(c, i, first, skip);
}

static int copy_lanes(struct image *im, int fd, uint32_t newest, struct err *err)
{
	struct copier c = { .im = im, .fd = fd, .newest = newest };
	uint32_t i;

	if (!im->lanes.ext)
		return 0;
	im->nr_lanes = lanes_used(&im->lanes.lanes);
	im->at = calloc(im->nr_lanes + 1u, sizeof(*im->at));
	c.seen = calloc(im->lanes.chunks.limit + 1u, sizeof(*c.seen));
	if (!im->at || !c.seen) {
		free(c.seen);
		return err_set(err, -ENOMEM, "no memory for %u lanes", im->nr_lanes);
	}
	for (i = 0; i < im->nr_lanes; i++) {
		copy_lane(&c, i);
		/* A lane that cannot be read must not look as if it could. */
		if (!im->at[i].used || im->at[i].broken)
			lanes_lane(&im->lanes, i)->state = CTP_LANE_FREE;
	}
	im->lanes.ext->chunks.used = c.used;
	free(c.seen);
	free(c.chain);
	return 0;
}

/* ---- time ------------------------------------------------------------------------ */

/* (ns << 32) / ticks; 0 if the marks give no rate. */
static uint64_t image_rate(const struct tick_mark *from, const struct tick_mark *to)
{
	unsigned __int128 mult;

	if (to->ticks <= from->ticks || to->ns <= from->ns)
		return 0;
	mult = ((unsigned __int128)(to->ns - from->ns) << 32) / (to->ticks - from->ticks);
	return mult >> 42 ? 0 : (uint64_t)mult;
}

/* Read counter and clock now; zeros without a usable counter. */
static struct tick_mark read_both(struct image *im)
{
	tickclock_open(&im->clock);
	return im->clock.usable ? *tickclock_last(&im->clock) : (struct tick_mark){ 0, 0, 0 };
}

/* Nothing was published: measure the counter's rate now. */
static void measure_clock(struct image *im)
{
	struct timespec moment = { 0, 20000000 };
	struct tick_mark from = read_both(im), to;

	nanosleep(&moment, NULL);
	to = read_both(im);
	from.mult = image_rate(&from, &to);
	im->clock_from = IMAGE_CLOCK_MEASURED;
	tickclock_freeze(&im->clock, &from, to.ticks > from.ticks ? to.ticks : from.ticks + 1);
}

/* True if the collector's counter is this machine's counter and was not set back since. */
static bool same_counter(const struct tick_mark *then, const struct tick_mark *now)
{
	uint64_t mult = image_rate(then, now);
	uint64_t apart = mult > then->mult ? mult - then->mult : then->mult - mult;

	/* Too close for a rate to decide; or slewed, which stays within 2000 ppm. */
	return mult && (now->ns - then->ns < 50 * NS_PER_MS || apart <= mult / 512);
}

static void open_clock(struct image *im)
{
	const struct ctp_ext_header *ext = ctp_header_ext(im->header);
	struct tick_mark then = { ext->clock_ticks, ext->clock_ns, ext->clock_mult }, now;

	if (ext->magic != CTP_EXT_MAGIC || !ext->clock_seq || ext->clock_seq % 2 || !then.mult ||
	    then.mult >> 42 || then.ns >> 62 || then.ticks >> 62) {
		measure_clock(im);
		return;
	}
	im->last_look_ns = then.ns;
	now = read_both(im);
	if (!same_counter(&then, &now)) {
		/* Far enough for every event written after the collector's last poll. */
		im->clock_from = IMAGE_CLOCK_ELSEWHERE;
		tickclock_freeze(&im->clock, &then, then.ticks + (UINT64_C(1) << 44));
		return;
	}
	if (now.ns - then.ns >= RATE_NS)
		then.mult = image_rate(&then, &now);
	tickclock_freeze(&im->clock, &then, now.ticks);
}

uint64_t region_copy_clock_error_ns(const struct image *im, uint64_t ts)
{
	const struct tick_mark *b = tickclock_last(&im->clock);
	uint64_t length, from = tickclock_stretch(&im->clock, b->ticks, &length).ns;
	uint64_t far = ts > from ? ts - from : from - ts;

	if (im->clock_from == IMAGE_CLOCK_PUBLISHED && b->ns > ts)
		far = image_is_smaller(far, b->ns - ts);
	return far / (1000000 / SLEW_PPM) + 1000;
}

/* ---- open and close ---------------------------------------------------------------- */

/* Creation time if the file system stores it; otherwise the last change of the inode. */
static time_t file_made(int fd, const struct stat *st)
{
	struct statx x;

	if (kernel_statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &x) == 0 && (x.stx_mask & STATX_BTIME))
		return (time_t)x.stx_btime.tv_sec;
	return st->st_ctime;
}

static void look_at_file(struct image *im, int fd, const struct stat *st)
{
	const struct ctp_ext_header *ext = ctp_header_ext(im->header);

	im->cut = (uint64_t)st->st_size < im->size;
	im->live = region_is_live(fd);
	im->made = file_made(fd, st);
	if (ext->magic == CTP_EXT_MAGIC)
		im->collector_pid = ext->collector_pid;
}

int region_copy_read(struct image *im, int fd, const char *path, uint32_t newest, struct err *err)
{
	struct ctp_header header;
	struct stat st;

	memset(im, 0, sizeof(*im));
	if (fstat(fd, &st) < 0)
		return err_errno(err, "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode)) {
		err_set(err, -EINVAL, "'%s' is not a file, and so not a region", path);
		return err->code;
	}
	if (region_copy_read_header(fd, path, &header, err) < 0 || make_map(im, &header, err) < 0)
		return err->code;
	look_at_file(im, fd, &st);
	copy_stations(im, fd);
	open_lanes(im, fd);
	if (copy_lanes(im, fd, newest, err) < 0) {
		region_copy_close(im);
		return err->code;
	}
	/* Last: then no copied event is later than the clock. */
	open_clock(im);
	return 0;
}

char *region_copy_path(const char *path)
{
	struct stat st;
	char *whole = NULL;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return strdup(path);
	return asprintf(&whole, "%s/" REGION_FILE, path) < 0 ? NULL : whole;
}

int region_copy_open(struct image *im, const char *path, uint32_t newest, struct err *err)
{
	char *file = region_copy_path(path);
	int fd, rc;

	memset(im, 0, sizeof(*im));
	if (!file)
		return err_set(err, -ENOMEM, "no memory for a path");
	/* O_NONBLOCK: opening a fifo must not block. */
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		rc = err_errno(err, "cannot open the region '%s'", file);
		err_hint(err, "'corotracer recover' without a name lists those left behind");
	} else {
		rc = region_copy_read(im, fd, file, newest, err);
		close(fd);
	}
	free(file);
	return rc;
}

void region_copy_close(struct image *im)
{
	if (im->map)
		munmap(im->map, im->size);
	free(im->at);
	memset(im, 0, sizeof(*im));
}
