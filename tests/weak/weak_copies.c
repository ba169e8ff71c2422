/* SPDX-License-Identifier: MIT */
/*
 * weak_copies.c - all executions of a tool that copies a region while a program and its collector
 * use it (region_copy.c).
 *
 * What the copy has of a lane are whole records, in the order in which they were written: none of
 * before, none of a chunk's next use.  A read of the file is a relaxed load of each word.
 */
/* timebase_store() is what another thread does while the header is copied. */
#include "collect/timebase.c"

#include "collect/region_copy.h"
#include "collect/region_list.h"
#include "weak_region.h"
#include "weak_tests.h"

#define FILE_DESCRIPTOR 3
#define LARGEST         1024u /* bytes of a piece that are used */

static struct image image;
static bool is_copied, header_is_fixed, is_live;
static uint64_t nr_records; /* of all executions */
static char memory[REGION_PIECES * REGION_PIECE];
static struct ctp_header first_header;

/* ---- what region_copy.c calls ------------------------------------------------------------ */

ssize_t copy_pread(int fd, void *to, size_t size, off_t at);
off_t copy_lseek(int fd, off_t at, int whence);
void *copy_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
int copy_munmap(void *at, size_t size);
int copy_nanosleep(const struct timespec *time, struct timespec *rest);

/* Of the header, only the clock and the numbers of units change. */
ssize_t copy_pread(int fd, void *to, size_t size, off_t at)
{
	(void)fd;
	if (header_is_fixed && (uint64_t)at < REGION_PIECE)
		memcpy(to, (const char *)&first_header + at, size);
	else
		memcpy(to, region_at((uint64_t)at), size);
	return (ssize_t)size;
}

off_t copy_lseek(int fd, off_t at, int whence)
{
	(void)fd;
	(void)whence;
	return at;
}

void *copy_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	unsigned i;

	(void)at;
	(void)prot;
	(void)flags;
	(void)fd;
	(void)offset;
	if (size > sizeof(memory))
		weak_fail("a copy of %zu bytes", size);
	for (i = 0; i < REGION_PIECES; i++)
		memset(memory + i * REGION_PIECE, 0, LARGEST);
	return memory;
}

int copy_munmap(void *at, size_t size)
{
	(void)at;
	(void)size;
	return 0;
}

int copy_nanosleep(const struct timespec *time, struct timespec *rest)
{
	(void)time;
	(void)rest;
	return 0;
}

bool region_is_live(int fd)
{
	(void)fd;
	return is_live;
}

void tickclock_open(struct tickclock *tc)
{
	memset(tc, 0, sizeof(*tc));
}

void tickclock_freeze(struct tickclock *tc, const struct tick_mark *from, uint64_t to_ticks)
{
	(void)tc;
	(void)from;
	(void)to_ticks;
}

/* ---- set up --------------------------------------------------------------------------------- */

static struct ctp_header *file_header(void)
{
	return region_at(0);
}

static void clock_store(uint64_t k)
{
	struct timebase_pair at = { 100 + k, 200 + k };

	timebase_store(ctp_header_ext(file_header()), &at, 300 + k, 400 + k);
}

static void make_header(void)
{
	struct ctp_header *header = file_header();

	header->magic_number = CTP_MAGIC;
	header->version = CTP_VERSION;
	ctp_header_ext(header)->magic = CTP_EXT_MAGIC;
	clock_store(1);
	memset(&image, 0, sizeof(image));
	is_copied = false;
	weak_restore(&image, sizeof(image));
	weak_restore(&is_copied, sizeof(is_copied));
}

/* The fields that a copy does not use, or that decide nothing. */
static void ignore_rest(const struct lanes *l)
{
	uint32_t i;

	for (i = 0; i < l->lanes.limit; i++) {
		const struct ctp_lane *lane = lanes_lane(l, i);

		weak_ignore(&lane->dropped,
			    offsetof(struct ctp_lane, tid) - offsetof(struct ctp_lane, dropped));
		weak_ignore(&lane->tail, sizeof(lane->tail));
	}
	for (i = 0; i < l->chunks.limit; i++) {
		const struct ctp_chunk *chunk = lanes_chunk(l, i);

		weak_ignore(&chunk->tid,
			    offsetof(struct ctp_chunk, records) - offsetof(struct ctp_chunk, tid));
		weak_ignore(&chunk->records[0].ticks, sizeof(uint64_t));
		weak_ignore(&chunk->records[1].ticks, sizeof(uint64_t));
	}
	weak_ignore(l->lives.units, (size_t)l->lives.limit * l->lives.unit);
}

static void make_lane(unsigned events)
{
	struct ctp_ext_lanes *ext;

	region_make(&(struct region_shape){ .lanes = 1, .chunks = 2, .lane_chunks = 2 });
	ext = region_lanes()->ext;
	ext->magic = CTP_LANES_MAGIC;
	ext->version = CTP_LANES_VERSION;
	ext->map_size = REGION_PIECES * REGION_PIECE;
	region_open(0);
	region_write(0, events);
	make_header();
	weak_seqlock(region_lanes()->lanes.units, sizeof(struct ctp_lane));
	weak_seqlock(region_lanes()->chunks.units, 2 * sizeof(struct ctp_chunk));
	ignore_rest(region_lanes());
	memcpy(&first_header, file_header(), sizeof(first_header));
	header_is_fixed = true;
	is_live = true;
}

static void make_half_lane(void)
{
	make_lane(1);
}

/* The collector was killed, and the program goes on. */
static void make_left_lane(void)
{
	make_lane(1);
	is_live = false;
}

static void make_full_lane(void)
{
	make_lane(4);
}

static void make_clock(void)
{
	region_make(&(struct region_shape){ .lanes = 1, .chunks = 1, .lane_chunks = 1 });
	make_header();
	weak_seqlock(file_header(), sizeof(struct ctp_header));
	header_is_fixed = false;
}

/* ---- threads -------------------------------------------------------------------------------- */

static void copy_region(void)
{
	struct err err = { 0 };

	/* A second user of the pool: the search also stops the other thread while it gives. */
	ctp_load_relaxed(&region_lanes()->ext->chunks.free);
	is_copied = region_copy_read(&image, FILE_DESCRIPTOR, "region", 0, &err) == 0;
}

static void store_clock(void)
{
	clock_store(2);
}

/* The poll gives a chunk back, and the event is written there. */
static void look_and_write(void)
{
	region_look();
	region_event(0);
}

static void write_one(void)
{
	region_event(0);
}

static void write_two(void)
{
	region_event(0);
	region_event(0);
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static void check_clock(void)
{
	const struct ctp_ext_header *ext = is_copied ? ctp_header_ext(image.header) : NULL;
	uint64_t k = ext ? ext->clock_seq / 2 : 0;

	if (!ext)
		weak_fail("the header was not copied");
	if (ext->clock_seq % 2 == 0 &&
	    (ext->clock_ticks != 100 + k || ext->clock_ns != 200 + k || ext->clock_mult != 300 + k))
		weak_fail("clock %llu: ticks %llu, ns %llu, rate %llu", (unsigned long long)k,
			  (unsigned long long)ext->clock_ticks, (unsigned long long)ext->clock_ns,
			  (unsigned long long)ext->clock_mult);
	region_copy_close(&image);
}

/* Record @n of the lane, from 0, is event n + 1, as long as none was lost. */
static void record_check(const struct ctp_record *r, uint64_t n)
{
	if (!region_lanes()->ext->chunks.refused &&
	    (r->kind != CTP_REC_SUSPEND || r->id != 1 || r->value != n + 1))
		weak_fail("record %llu of the copy: kind %u, event %llu", (unsigned long long)n,
			  r->kind, (unsigned long long)r->value);
}

static void check_lane(void)
{
	const struct image_lane *at = &image.at[0];
	const struct ctp_lane *lane = lanes_lane(&image.lanes, 0);
	uint32_t number = lane->first;
	uint64_t n;

	if (at->used && at->broken && !is_live)
		weak_fail("the lane is not copied, and no collector uses it");
	if (!at->used || at->broken)
		return;
	for (n = 0; n < at->head - at->skip; n++) {
		const struct ctp_chunk *chunk;

		if (!number || number > image.lanes.chunks.limit)
			weak_fail("chunk %u of the copy", number);
		chunk = lanes_chunk(&image.lanes, number - 1);
		record_check(&chunk->records[n % CTP_CHUNK_RECORDS], at->skip + n);
		if (n % CTP_CHUNK_RECORDS == CTP_CHUNK_RECORDS - 1)
			number = chunk->link;
	}
	nr_records += n;
}

static void check_copy(void)
{
	if (!is_copied)
		weak_fail("the region was not copied");
	check_lane();
	region_copy_close(&image);
	region_check();
}

static void check_records(const char *name)
{
	if (!nr_records)
		weak_fail("%s: no record was copied", name);
	nr_records = 0;
}

const struct weak_test weak_tests[] = {
	{ .name = "copy-clock",
	  .what = "the clock is stored; a copy; two preemptions",
	  .nr_threads = 2,
	  .set_up = make_clock,
	  .threads = { store_clock, copy_region },
	  .check = check_clock,
	  .most_switches = 2,
	  .most_stale = 3 },
	{ .name = "copy-lane",
	  .what = "a thread writes 2 events, in two chunks; a copy",
	  .nr_threads = 2,
	  .set_up = make_half_lane,
	  .threads = { write_two, copy_region },
	  .check = check_copy,
	  .finish = check_records,
	  .most_stale = 3 },
	{ .name = "copy-left",
	  .what = "the same without a collector",
	  .nr_threads = 2,
	  .set_up = make_left_lane,
	  .threads = { write_two, copy_region },
	  .check = check_copy,
	  .finish = check_records,
	  .most_stale = 3 },
	{ .name = "copy-given-back",
	  .what = "a chunk is given back and used again; a copy; two preemptions",
	  .nr_threads = 2,
	  .set_up = make_full_lane,
	  .threads = { look_and_write, copy_region },
	  .check = check_copy,
	  .finish = check_records,
	  .is_multi_copy = true,
	  .most_switches = 2,
	  .most_stale = 2 },
	{ .name = "copy-given-threads",
	  .what = "the same, by the collector and a thread",
	  .nr_threads = 3,
	  .set_up = make_full_lane,
	  .threads = { write_one, copy_region, region_look },
	  .check = check_copy,
	  .finish = check_records,
	  .is_multi_copy = true,
	  .most_switches = 2,
	  .most_stale = 2,
	  .full_only = true },
	{ 0 },
};
