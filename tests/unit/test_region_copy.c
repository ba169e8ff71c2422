/* SPDX-License-Identifier: MIT */
/*
 * test_region_copy.c - copies of regions: chains of chunks as a collector leaves them, changes
 * while the region is read, files that are damaged or truncated, and the clock.
 *
 * The region is written here by hand.  The counter, the clock beside it and the collector's lock
 * are the test's.
 */
#include "collect/region_copy.h"

#include "base/monotonic.h"
#include "collect/region.h"
#include "count_open.h"
#include "region_file.h"

static struct image im;
static bool is_live;
static struct tick_mark readings[2]; /* of counter and clock; the last one stays */
static unsigned nr_readings;
static bool has_counter;

/* Before the file is read at @at. */
static void (*before_read)(size_t size, uint64_t at);

bool __wrap_region_is_live(int fd);
bool __wrap_region_is_live(int fd)
{
	(void)fd;
	return is_live;
}

void __wrap_tickclock_open(struct tickclock *tc);
void __wrap_tickclock_open(struct tickclock *tc)
{
	const struct tick_mark *m = &readings[nr_readings ? 1 : 0];

	nr_readings++;
	memset(tc, 0, sizeof(*tc));
	tc->usable = has_counter;
	tickclock_add(tc, m->ticks, m->ns);
}

ssize_t __real_io_pread(int fd, void *buf, size_t size, off_t at);
ssize_t __wrap_io_pread(int fd, void *buf, size_t size, off_t at);
ssize_t __wrap_io_pread(int fd, void *buf, size_t size, off_t at)
{
	if (before_read)
		before_read(size, (uint64_t)at);
	return __real_io_pread(fd, buf, size, at);
}

/* ---- the region ------------------------------------------------------------------- */

static void region_new(void)
{
	region_file_new(256);
	is_live = false;
	has_counter = true;
	before_read = NULL;
	nr_readings = 0;
	readings[0] = readings[1] = (struct tick_mark){ 1000000, 500000, 0 };
}

/* Record @k since the lane was opened has the id 1000 * (@i + 1) + @k. */
static void lane_new(uint32_t i, const int *chain, uint32_t returned, uint64_t head)
{
	uint32_t k, at;

	region_file_lane(i, chain, returned, head);
	for (k = 0; chain[k] >= 0; k++) {
		for (at = 0; at < PER_CHUNK; at++)
			reg.chunks[chain[k]].records[at].id = 1000u * (i + 1) +
							      (uint64_t)(returned + k) * PER_CHUNK +
							      at;
	}
}

#define LANE(i, returned, head, ...) lane_new(i, (const int[]){ __VA_ARGS__, -1 }, returned, head)

static void copy_newest(uint32_t newest)
{
	struct err err = { 0 };
	unsigned open_before = count_open();

	nr_readings = 0;
	CHECK_EQ(region_copy_open(&im, reg.path, newest, &err), 0);
	CHECK_EQ(count_open(), open_before);
}

/* Lane @i has every record from @skip to its head, in chunks of the image. */
static void check_lane(uint32_t i, uint64_t skip, uint64_t head)
{
	const struct ctp_lane *lane = lanes_lane(&im.lanes, i);
	uint32_t link = lane->first;
	uint64_t k;

	CHECK(im.at[i].used && !im.at[i].broken);
	CHECK_EQ(im.at[i].skip, skip);
	CHECK_EQ(im.at[i].head, head);
	CHECK_EQ(lane->head, (head - skip) * sizeof(struct ctp_record));
	CHECK_EQ(lane->tail, 0);
	CHECK_EQ(lane->taken, 0);
	CHECK_EQ(lane->returned, 0);
	for (k = skip; k < head; k++) {
		const struct ctp_chunk *chunk;

		CHECK(link >= 1 && link <= im.lanes.ext->chunks.used);
		chunk = lanes_chunk(&im.lanes, link - 1);
		CHECK_EQ(chunk->lane, i);
		CHECK_EQ(chunk->records[(k - skip) % PER_CHUNK].id, 1000u * (i + 1) + k);
		if ((k - skip) % PER_CHUNK == PER_CHUNK - 1 && k + 1 < head)
			link = chunk->link;
	}
}

/* A lane that cannot be read does not look as if it could. */
static void check_broken(uint32_t i)
{
	CHECK(im.at[i].used && im.at[i].broken);
	CHECK_EQ(lanes_lane(&im.lanes, i)->state, CTP_LANE_FREE);
}

/* ---- chains ------------------------------------------------------------------------ */

static void chains_are_copied_in_order(void)
{
	region_new();
	LANE(0, 0, 3, 4);
	reg.lanes[0].tail = 2 * sizeof(struct ctp_record);
	LANE(1, 0, 2 * PER_CHUNK + 5, 5, 2, 9);
	reg.lanes[1].state = CTP_LANE_CLOSED;
	LANE(2, 0, 1, 6);
	reg.lanes[2].state = CTP_LANE_FREE;
	LANE(3, 2, 3 * PER_CHUNK, 7, 1);
	LANE(4, 0, PER_CHUNK, 3, 8); /* the second has no record yet */
	copy_newest(0);
	CHECK_EQ(im.nr_lanes, 5);
	check_lane(0, 0, 3);
	CHECK_EQ(im.at[0].read, 2);
	check_lane(1, 0, 2 * PER_CHUNK + 5);
	CHECK_EQ(im.at[1].read, 0);
	CHECK_EQ(lanes_lane(&im.lanes, 1)->state, CTP_LANE_CLOSED);
	CHECK(!im.at[2].used && !im.at[2].broken);
	CHECK_EQ(lanes_lane(&im.lanes, 2)->state, CTP_LANE_FREE);
	check_lane(3, 2 * PER_CHUNK, 3 * PER_CHUNK);
	check_lane(4, 0, PER_CHUNK);
	/* One after another in the image, each chain with an end. */
	CHECK_EQ(im.lanes.ext->chunks.used, 1 + 3 + 2 + 2);
	CHECK_EQ(lanes_chunk(&im.lanes, 0)->link, 0);
	CHECK_EQ(lanes_chunk(&im.lanes, 1)->link, 3);
	CHECK_EQ(lanes_chunk(&im.lanes, 2)->link, 4);
	CHECK_EQ(lanes_chunk(&im.lanes, 3)->link, 0);
	/* The region is not changed. */
	CHECK_EQ(reg.lanes[0].tail, 2 * sizeof(struct ctp_record));
	CHECK_EQ(reg.lanes[3].first, 77);
	region_copy_close(&im);
	CHECK(!im.map && !im.at);
}

/* The collector stores `oldest` before `returned`, and may be killed between. */
static void a_chunk_may_be_given_back_and_not_counted(void)
{
	region_new();
	LANE(0, 1, PER_CHUNK + 7, 3); /* the first was given back, and is counted */
	LANE(1, 2, 2 * PER_CHUNK + 7, 4);
	reg.lanes[1].returned = 1;
	LANE(2, 4, 4 * PER_CHUNK + 7, 5);
	reg.lanes[2].returned = 2; /* two are too many */
	copy_newest(0);
	check_lane(0, PER_CHUNK, PER_CHUNK + 7);
	check_lane(1, 2 * PER_CHUNK, 2 * PER_CHUNK + 7);
	check_broken(2);
	region_copy_close(&im);
}

/* The chain is read after the head. */
static void chunks_that_are_newer_than_the_head_are_left_out(void)
{
	region_new();
	LANE(0, 0, PER_CHUNK - 1, 0, 1);
	LANE(1, 0, 0, 2, 3, 4);
	LANE(2, 1, PER_CHUNK + 1, 5, 6, 7);
	LANE(3, 0, 0, 8);
	LANE(4, 0, PER_CHUNK + 1, 9, 10, 11); /* the last is one too many */
	copy_newest(0);
	check_lane(0, 0, PER_CHUNK - 1);
	check_lane(1, 0, 0);
	check_lane(2, PER_CHUNK, PER_CHUNK + 1);
	check_lane(3, 0, 0);
	check_lane(4, 0, PER_CHUNK + 1);
	CHECK_EQ(im.lanes.ext->chunks.used, 1 + 1 + 1 + 1 + 2);
	region_copy_close(&im);
}

static void chains_that_cannot_be_are_refused(void)
{
	region_new();
	LANE(0, 0, 3 * PER_CHUNK + 1, 0, 1); /* more records than chunks */
	LANE(1, 0, 2 * PER_CHUNK + 1, 2, 3);
	reg.chunks[3].lane = 7; /* of another lane */
	LANE(2, 0, 3 * PER_CHUNK + 1, 4, 5, 6);
	reg.chunks[5].link = 5; /* back to the first */
	LANE(3, 0, 4, 7);
	reg.lanes[3].tail = 5 * sizeof(struct ctp_record); /* read more than was written */
	LANE(4, 0, 4, 8);
	reg.lanes[4].oldest = 17; /* no such chunk */
	LANE(5, 0, 4, 16 - 1);    /* the last one that exists */
	reg.lanes[5].tail = 4 * sizeof(struct ctp_record);
	LANE(6, 3, 2 * PER_CHUNK, 9); /* more were given back than written */
	copy_newest(0);
	check_broken(0);
	check_broken(1);
	check_broken(2);
	check_broken(3);
	check_broken(4);
	check_lane(5, 0, 4);
	CHECK_EQ(im.at[5].read, 4);
	check_broken(6);
	CHECK_EQ(im.at[6].head, 2 * PER_CHUNK);
	region_copy_close(&im);
}

static void only_the_newest_chunks_are_copied(void)
{
	region_new();
	LANE(0, 3, 6 * PER_CHUNK - 1, 0, 1, 2);
	LANE(1, 0, 4, 3);
	copy_newest(2);
	check_lane(0, 4 * PER_CHUNK, 6 * PER_CHUNK - 1);
	check_lane(1, 0, 4);
	CHECK_EQ(im.lanes.ext->chunks.used, 3);
	region_copy_close(&im);
	copy_newest(1);
	check_lane(0, 5 * PER_CHUNK, 6 * PER_CHUNK - 1);
	region_copy_close(&im);
	copy_newest(3);
	check_lane(0, 3 * PER_CHUNK, 6 * PER_CHUNK - 1);
	region_copy_close(&im);
}

/* Of the first record in the image: threads take over lanes from each other. */
static void a_chunk_names_its_thread(void)
{
	struct ctp_chunk *chunk;

	region_new();
	LANE(0, 2, 3 * PER_CHUNK, 0);
	chunk = &reg.chunks[0];
	chunk->tid = 500;
	chunk->pid = 42;
	chunk->nr = 3;
	LANE(1, 2, 3 * PER_CHUNK, 1); /* of a process before */
	chunk = &reg.chunks[1];
	*chunk = (struct ctp_chunk){ .lane = 1, .tid = 501, .pid = 41, .nr = 3 };
	LANE(2, 2, 3 * PER_CHUNK, 2); /* of another use of the chunk */
	chunk = &reg.chunks[2];
	*chunk = (struct ctp_chunk){ .lane = 2, .tid = 502, .pid = 42, .nr = 2 };
	LANE(3, 0, 5, 3); /* the first of a lane: the thread that opened it */
	chunk = &reg.chunks[3];
	chunk->tid = 503;
	chunk->pid = 42;
	chunk->nr = 1;
	copy_newest(0);
	CHECK_EQ(lanes_lane(&im.lanes, 0)->tid, 500);
	CHECK_EQ(lanes_lane(&im.lanes, 1)->tid, 101);
	CHECK_EQ(lanes_lane(&im.lanes, 2)->tid, 102);
	CHECK_EQ(lanes_lane(&im.lanes, 3)->tid, 103);
	region_copy_close(&im);
}

/* ---- changes while the region is read ------------------------------------------------ */

static unsigned nr_heads, nr_chunks, give_at_head, give_at_chunk, nr_given;

/* As the collector does: the oldest chunk of lane 0. */
static void give_one_back(void)
{
	struct ctp_lane *lane = &reg.lanes[0];
	const struct ctp_chunk *chunk = &reg.chunks[(uint32_t)lane->oldest - 1];

	lane->oldest = chunk->link;
	lane->returned++;
	nr_given++;
}

static void count_reads(size_t size, uint64_t at)
{
	(void)at;
	if (size == 8 && at >= reg.lanes_ext->chunks.offset && ++nr_heads == give_at_head)
		give_one_back();
	if (size == sizeof(struct ctp_chunk) && ++nr_chunks == give_at_chunk)
		give_one_back();
}

static void watch_reads(unsigned at_head, unsigned at_chunk)
{
	is_live = true;
	nr_heads = nr_chunks = nr_given = 0;
	give_at_head = at_head;
	give_at_chunk = at_chunk;
	before_read = count_reads;
}

static void a_chain_that_changes_is_walked_again(void)
{
	region_new();
	LANE(0, 0, 3 * PER_CHUNK, 0, 1, 2);
	watch_reads(0, 0);
	copy_newest(0);
	check_lane(0, 0, 3 * PER_CHUNK);
	CHECK_EQ(nr_heads, 3);
	CHECK(im.live);
	region_copy_close(&im);
	watch_reads(2, 0);
	copy_newest(0);
	CHECK_EQ(nr_given, 1);
	CHECK_EQ(nr_heads, 3 + 2);
	check_lane(0, PER_CHUNK, 3 * PER_CHUNK);
	region_copy_close(&im);
}

/* What was read of it meanwhile may belong to another lane. */
static void a_chunk_that_is_given_back_meanwhile_is_not_used(void)
{
	region_new();
	LANE(0, 0, 3 * PER_CHUNK, 0, 1, 2);
	watch_reads(0, 2);
	copy_newest(0);
	CHECK_EQ(nr_given, 1);
	/* One more than is counted, as it may be given back and not counted yet. */
	check_lane(0, 2 * PER_CHUNK, 3 * PER_CHUNK);
	region_copy_close(&im);
	region_new();
	LANE(0, 0, 2 * PER_CHUNK, 0, 1);
	watch_reads(0, 2);
	copy_newest(0);
	check_broken(0); /* nothing is left */
	region_copy_close(&im);
}

static void change_owner(size_t size, uint64_t at)
{
	(void)at;
	if (size == sizeof(struct ctp_chunk))
		reg.lanes[0].tid = 9;
}

static void change_pid(size_t size, uint64_t at)
{
	(void)at;
	if (size == sizeof(struct ctp_chunk))
		reg.lanes[0].pid = 9;
}

static void open_again(size_t size, uint64_t at)
{
	(void)at;
	if (size == sizeof(struct ctp_chunk))
		reg.lanes[0].first = 9;
}

static void start_again(size_t size, uint64_t at)
{
	(void)at;
	if (size == sizeof(struct ctp_chunk))
		reg.lanes[0].head = 0;
}

static void a_lane_with_another_owner_is_not_used(void)
{
	static void (*const changes[])(size_t, uint64_t) = { change_owner, change_pid, open_again,
							     start_again };
	size_t i;

	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		region_new();
		LANE(0, 0, 3 * PER_CHUNK, 0, 1, 2);
		is_live = true;
		before_read = changes[i];
		copy_newest(0);
		check_broken(0);
		region_copy_close(&im);
	}
}

static void change_always(size_t size, uint64_t at)
{
	if (size == 8 && at >= reg.lanes_ext->chunks.offset) {
		nr_heads++;
		reg.lanes[0].returned++;
	}
}

static void a_chain_that_always_changes_is_left_out(void)
{
	region_new();
	LANE(0, 0, 5, 0);
	is_live = true;
	before_read = change_always;
	nr_heads = 0;
	copy_newest(0);
	check_broken(0);
	CHECK_EQ(nr_heads, 32);
	region_copy_close(&im);
	nr_heads = 0;
	copy_newest(1); /* the caller looks again soon */
	check_broken(0);
	CHECK_EQ(nr_heads, 2);
	region_copy_close(&im);
	is_live = false; /* nothing changes: one walk is enough */
	nr_heads = 0;
	copy_newest(0);
	CHECK_EQ(nr_heads, 1);
	region_copy_close(&im);
}

/* ---- files ------------------------------------------------------------------------------ */

static void check_refused(const char *path, int code, const char *text)
{
	struct err err = { 0 };
	unsigned open_before = count_open();

	CHECK_EQ(region_copy_open(&im, path, 0, &err), code);
	CHECK_EQ(err.code, code);
	CHECK(strstr(err.text, text) != NULL);
	CHECK(err.hint[0] != '\0' || strstr(text, "not a file"));
	CHECK(!im.map && !im.at);
	CHECK_EQ(count_open(), open_before);
}

static void what_is_not_a_region_is_refused(void)
{
	char path[300];
	int fd;

	region_new();
	snprintf(path, sizeof(path), "%s/none", reg.dir);
	check_refused(path, -ENOENT, "cannot open the region");
	CHECK_EQ(mkfifo(path, 0600), 0);
	check_refused(path, -EINVAL, "not a file");
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && ftruncate(fd, (off_t)sizeof(struct ctp_header) - 1) == 0);
	check_refused(path, -EINVAL, "is too short to be a region");
	CHECK_EQ(ftruncate(fd, 100), 0);
	check_refused(path, -EINVAL, "is too short to be a region");
	CHECK_EQ(ftruncate(fd, (off_t)sizeof(struct ctp_header)), 0);
	check_refused(path, -EINVAL, "is not a region");
	close(fd);
	unlink(path);
	reg.header->version = CTP_VERSION + 1;
	check_refused(reg.path, -EINVAL, "is a region of version 2, we know 1");
}

static void the_header_says_whose_region_it_is(void)
{
	struct ctp_ext_header *ext;

	region_new();
	ext = reg.ext;
	ext->collector_pid = 4711;
	copy_newest(0);
	CHECK_EQ(im.collector_pid, 4711);
	CHECK_EQ(im.size, reg.size);
	CHECK(!im.cut && !im.live);
	CHECK(im.made > 0 && im.made <= time(NULL));
	region_copy_close(&im);
	ext->magic = 0; /* without extensions */
	is_live = true;
	copy_newest(0);
	CHECK_EQ(im.collector_pid, 0);
	CHECK(im.live);
	region_copy_close(&im);
}

static void a_file_that_is_cut_has_what_is_left(void)
{
	struct ctp_station *st;

	region_new();
	LANE(0, 0, 3, 0);
	LANE(1, 0, 3, 15);
	reg.header->allocated_count = 3;
	st = reg.stations;
	st[0].probe_id = 10;
	st[2].flexible[447] = 33;
	st[3].probe_id = 40; /* not claimed */
	CHECK_EQ(truncate(reg.path, (off_t)(reg.size - 1)), 0);
	copy_newest(0);
	CHECK(im.cut);
	CHECK_EQ(im.nr_stations, 3);
	CHECK_EQ(ctp_stations(im.header)[0].probe_id, 10);
	CHECK_EQ(ctp_stations(im.header)[2].flexible[447], 33);
	CHECK_EQ(ctp_stations(im.header)[3].probe_id, 0);
	check_lane(0, 0, 3);
	check_lane(1, 0, 3); /* of its chunk a byte is missing */
	region_copy_close(&im);
	/* More claims than stations. */
	reg.header->allocated_count = 9;
	copy_newest(0);
	CHECK_EQ(im.nr_stations, 4);
	CHECK_EQ(ctp_stations(im.header)[3].probe_id, 40);
	region_copy_close(&im);
	CHECK_EQ(truncate(reg.path, (off_t)ctp_region_size(4)), 0);
	copy_newest(0);
	CHECK(im.cut);
	CHECK_EQ(im.size, reg.size);
	CHECK(!im.at[0].used); /* a hole */
	region_copy_close(&im);
}

static void sizes_that_cannot_be_are_limited(void)
{
	region_new();
	LANE(0, 0, 3, 0);
	reg.lanes_ext->map_size = UINT64_C(1) << 60;
	copy_newest(0);
	CHECK_EQ(im.size, ctp_region_size(4)); /* the stations only */
	CHECK(!im.lanes.ext);
	CHECK(im.no_lanes.code < 0);
	CHECK_EQ(im.nr_lanes, 0);
	region_copy_close(&im);
	reg.lanes_ext->map_size = reg.size;
	reg.lanes_ext->magic = 0;
	copy_newest(0);
	CHECK_EQ(im.size, ctp_region_size(4));
	CHECK(!im.lanes.ext);
	CHECK_EQ(im.no_lanes.code, 0); /* there are none */
	region_copy_close(&im);
	reg.lanes_ext->magic = CTP_LANES_MAGIC;
	reg.lanes_ext->lives.unit ^= 8;
	copy_newest(0);
	CHECK(im.no_lanes.code < 0);
	CHECK(!im.lanes.ext && !im.lanes.map);
	CHECK_EQ(im.lanes.size, 0);
	region_copy_close(&im);
	reg.lanes_ext->lives.unit ^= 8;
	reg.lanes_ext->lanes.used = reg.lanes_ext->sites.used = 70000;
	copy_newest(0);
	CHECK_EQ(im.nr_lanes, 8);
	CHECK_EQ(im.lanes.ext->sites.used, 64);
	region_copy_close(&im);
}

/* Larger than one piece of a copy, and with a hole. */
static void everything_in_use_is_copied(void)
{
	uint32_t i;

	region_new();
	region_file_new(20000);
	reg.lanes_ext->lives.used = 19999;
	for (i = 0; i < 20000; i++) {
		if (i < 5000 || i > 12000)
			reg.lives[i].id = i + 1;
	}
	reg.lanes_ext->sites.used = 2;
	reg.sites[1].line = 12;
	copy_newest(0);
	for (i = 0; i < 19999; i++)
		CHECK_EQ(lanes_life(&im.lanes, i)->id, i < 5000 || i > 12000 ? i + 1 : 0);
	CHECK_EQ(lanes_life(&im.lanes, 19999)->id, 0);
	CHECK_EQ(((struct ctp_site *)ctp_unit(&im.lanes.sites, 1))->line, 12);
	region_copy_close(&im);
}

static void a_directory_contains_a_region(void)
{
	char *path = region_copy_path("/tmp");

	CHECK_STR(path, "/tmp/" REGION_FILE);
	free(path);
	path = region_copy_path("/nonexistent/file");
	CHECK_STR(path, "/nonexistent/file");
	free(path);
	region_new();
	path = region_copy_path(reg.path);
	CHECK_STR(path, reg.path);
	free(path);
}

/* ---- the clock ------------------------------------------------------------------------- */

#define THEN_TICKS UINT64_C(5000000000)
#define THEN_NS    UINT64_C(2000000000)

/* The collector's last reading; two ticks are a nanosecond. */
static struct ctp_ext_header *clock_new(void)
{
	struct ctp_ext_header *ext;

	region_new();
	ext = reg.ext;
	ext->clock_seq = 4;
	ext->clock_ticks = THEN_TICKS;
	ext->clock_ns = THEN_NS;
	ext->clock_mult = UINT64_C(1) << 31;
	return ext;
}

static uint64_t ns_of(uint64_t ticks)
{
	return tickclock_ns(&im.clock, ticks);
}

static void times_are_those_of_the_last_reading_and_of_now(void)
{
	clock_new();
	/* 0.9 s later, 0.1 % faster: the published rate is better. */
	readings[0] = (struct tick_mark){ THEN_TICKS + 1801800000, THEN_NS + 900000000, 0 };
	copy_newest(0);
	CHECK_EQ(im.clock_from, IMAGE_CLOCK_PUBLISHED);
	CHECK_EQ(im.last_look_ns, THEN_NS);
	CHECK(im.clock.frozen);
	CHECK_EQ(ns_of(THEN_TICKS), THEN_NS);
	CHECK_EQ(ns_of(THEN_TICKS + 1000), THEN_NS + 500);
	CHECK_EQ(ns_of(THEN_TICKS - 1000), THEN_NS - 500);
	CHECK_EQ(tickclock_last(&im.clock)->ticks, THEN_TICKS + 1801800000);
	region_copy_close(&im);
	/* 1 s later the measured one is. */
	readings[0] = (struct tick_mark){ THEN_TICKS + 2002000000, THEN_NS + 1000000000, 0 };
	copy_newest(0);
	CHECK_EQ(im.clock_from, IMAGE_CLOCK_PUBLISHED);
	CHECK(ns_of(THEN_TICKS + 2002000000) - (THEN_NS + 999999999) <= 1);
	region_copy_close(&im);
}

static void a_counter_of_another_machine_is_not_used(void)
{
	clock_new();
	readings[0] = (struct tick_mark){ THEN_TICKS - 1, THEN_NS + 900000000, 0 }; /* set back */
	copy_newest(0);
	CHECK_EQ(im.clock_from, IMAGE_CLOCK_ELSEWHERE);
	CHECK_EQ(im.last_look_ns, THEN_NS);
	CHECK_EQ(ns_of(THEN_TICKS + 1000), THEN_NS + 500);
	CHECK_EQ(tickclock_last(&im.clock)->ticks, THEN_TICKS + (UINT64_C(1) << 44));
	region_copy_close(&im);
	readings[0] = (struct tick_mark){ THEN_TICKS + 1000, THEN_NS, 0 }; /* of another boot */
	copy_newest(0);
	CHECK_EQ(im.clock_from, IMAGE_CLOCK_ELSEWHERE);
	region_copy_close(&im);
	/* Another rate, by 1 %; but 49 ms are too short to tell. */
	readings[0] = (struct tick_mark){ THEN_TICKS + 101000000, THEN_NS + 50000000, 0 };
	copy_newest(0);
	CHECK_EQ(im.clock_from, IMAGE_CLOCK_ELSEWHERE);
	region_copy_close(&im);
	readings[0] = (struct tick_mark){ THEN_TICKS + 100900000, THEN_NS + 49999999, 0 };
	copy_newest(0);
	CHECK_EQ(im.clock_from, IMAGE_CLOCK_PUBLISHED);
	region_copy_close(&im);
	/* By 0.1 % less: slewed. */
	readings[0] = (struct tick_mark){ THEN_TICKS + 199800000, THEN_NS + 100000000, 0 };
	copy_newest(0);
	CHECK_EQ(im.clock_from, IMAGE_CLOCK_PUBLISHED);
	region_copy_close(&im);
	readings[0] = (struct tick_mark){ THEN_TICKS + 198000000, THEN_NS + 100000000, 0 };
	copy_newest(0);
	CHECK_EQ(im.clock_from, IMAGE_CLOCK_ELSEWHERE);
	region_copy_close(&im);
	has_counter = false;
	readings[0] = (struct tick_mark){ THEN_TICKS + 1801800000, THEN_NS + 900000000, 0 };
	copy_newest(0);
	CHECK_EQ(im.clock_from, IMAGE_CLOCK_ELSEWHERE);
	region_copy_close(&im);
}

/* Counter and clock are read twice, 20 ms apart. */
static void check_measured(void)
{
	readings[0] = (struct tick_mark){ 1000000, 500000, 0 };
	readings[1] = (struct tick_mark){ 1000000 + 40000000, 500000 + 20000000, 0 };
	copy_newest(0);
	CHECK_EQ(im.clock_from, IMAGE_CLOCK_MEASURED);
	CHECK_EQ(im.last_look_ns, 0);
	CHECK_EQ(nr_readings, 2);
	CHECK_EQ(ns_of(1000000), 500000);
	CHECK_EQ(ns_of(1000000 + 1000), 500000 + 500);
	CHECK_EQ(tickclock_last(&im.clock)->ticks, 1000000 + 40000000);
	region_copy_close(&im);
}

static void without_a_reading_the_clock_is_measured(void)
{
	struct ctp_ext_header *ext = clock_new();

	ext->clock_seq = 0; /* never */
	check_measured();
	ext->clock_seq = 5; /* the collector was killed in the middle of a store */
	check_measured();
	ext->clock_seq = 4;
	ext->clock_mult = 0;
	check_measured();
	ext->clock_mult = UINT64_C(1) << 42;
	check_measured();
	ext->clock_mult = UINT64_C(1) << 31;
	ext->clock_ns = UINT64_C(1) << 62;
	check_measured();
	ext->clock_ns = THEN_NS;
	ext->clock_ticks = UINT64_C(1) << 62;
	check_measured();
	ext->clock_ticks = THEN_TICKS;
	ext->magic = 0;
	check_measured();
}

static unsigned nr_clock_reads;

static void store_clock_meanwhile(size_t size, uint64_t at)
{
	struct ctp_ext_header *ext = reg.ext;

	/* Once, after the first reading of the number. */
	if (size == sizeof(struct ctp_header) && at == 0 && nr_clock_reads++ == 0) {
		ext->clock_seq += 2;
		ext->clock_ns = THEN_NS + 5;
	}
}

static void a_clock_that_changes_is_read_again(void)
{
	clock_new();
	readings[0] = (struct tick_mark){ THEN_TICKS + 180000, THEN_NS + 90000, 0 };
	before_read = store_clock_meanwhile;
	nr_clock_reads = 0;
	copy_newest(0);
	CHECK_EQ(nr_clock_reads, 2);
	CHECK_EQ(im.clock_from, IMAGE_CLOCK_PUBLISHED);
	CHECK_EQ(im.last_look_ns, THEN_NS + 5);
	region_copy_close(&im);
}

static void a_time_is_as_good_as_the_next_reading_is_near(void)
{
	clock_new();
	readings[0] = (struct tick_mark){ THEN_TICKS + 2000000000, THEN_NS + 1000000000, 0 };
	copy_newest(0);
	CHECK_EQ(region_copy_clock_error_ns(&im, THEN_NS), 1000);
	CHECK_EQ(region_copy_clock_error_ns(&im, THEN_NS + 100000000), 51000); /* 500 ppm */
	CHECK_EQ(region_copy_clock_error_ns(&im, THEN_NS - 100000000), 51000);
	/* The reading of now is nearer. */
	CHECK_EQ(region_copy_clock_error_ns(&im, THEN_NS + 900000000), 51000);
	region_copy_close(&im);
	readings[0].ticks = 1; /* another counter: the last reading alone */
	copy_newest(0);
	CHECK_EQ(im.clock_from, IMAGE_CLOCK_ELSEWHERE);
	CHECK_EQ(region_copy_clock_error_ns(&im, THEN_NS + 900000000), 451000);
	region_copy_close(&im);
}

int main(void)
{
	region_file_begin();
	RUN(chains_are_copied_in_order);
	RUN(a_chunk_may_be_given_back_and_not_counted);
	RUN(chunks_that_are_newer_than_the_head_are_left_out);
	RUN(chains_that_cannot_be_are_refused);
	RUN(only_the_newest_chunks_are_copied);
	RUN(a_chunk_names_its_thread);
	RUN(a_chain_that_changes_is_walked_again);
	RUN(a_chunk_that_is_given_back_meanwhile_is_not_used);
	RUN(a_lane_with_another_owner_is_not_used);
	RUN(a_chain_that_always_changes_is_left_out);
	RUN(what_is_not_a_region_is_refused);
	RUN(the_header_says_whose_region_it_is);
	RUN(a_file_that_is_cut_has_what_is_left);
	RUN(sizes_that_cannot_be_are_limited);
	RUN(everything_in_use_is_copied);
	RUN(a_directory_contains_a_region);
	RUN(times_are_those_of_the_last_reading_and_of_now);
	RUN(a_counter_of_another_machine_is_not_used);
	RUN(without_a_reading_the_clock_is_measured);
	RUN(a_clock_that_changes_is_read_again);
	RUN(a_time_is_as_good_as_the_next_reading_is_near);
	return 0;
}
