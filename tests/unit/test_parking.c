/* SPDX-License-Identifier: MIT */
/*
 * test_parking.c - chunks of a burst lose their memory when they were free for long, and have it
 * when a program takes them.  Lives keep theirs.
 *
 * The region is a file in memory; the time is the test's.
 */
#include <corotracer/pool.h>

#include <pthread.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "collect/chunk_parking.h"
#include "collect/lane_memory.h"

#define CHUNKS 1024u
#define KEPT   PARKING_KEEP(CHUNKS)

static struct ctp_ext_lanes ext;
static struct ctp_lane lane;
static struct lanes lanes;
static uint64_t now_ns;
static uint32_t taken[CHUNKS];

/* All memory was given beforehand. */
static int no_growth(void *ctx, struct ctp_arena *a)
{
	(void)ctx;
	(void)a;
	return 0;
}

static void open_region(void)
{
	int fd = memfd_create("parking", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, (off_t)CHUNKS * CTP_CHUNK_SIZE), 0);
	memset(&ext, 0, sizeof(ext));
	memset(&lane, 0, sizeof(lane));
	memset(&lanes, 0, sizeof(lanes));
	lanes.ext = &ext;
	lanes.fd = fd;
	lanes.size = (uint64_t)CHUNKS * CTP_CHUNK_SIZE;
	lanes.map = mmap(NULL, lanes.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(lanes.map != MAP_FAILED);
	ext.chunks.limit = ext.chunks.committed = CHUNKS;
	ext.lanes.limit = ext.lanes.used = 1;
	lanes.chunks = (struct ctp_arena){ &ext.chunks, lanes.map, CTP_CHUNK_SIZE, CHUNKS };
	lanes.lanes = (struct ctp_arena){ &ext.lanes, (char *)&lane, sizeof(lane), 1 };
	now_ns = 1;
}

static void close_region(void)
{
	munmap(lanes.map, lanes.size);
	close(lanes.fd);
	parking_release(&lanes.parking);
}

static uint64_t memory_of_region(void)
{
	struct stat st;

	CHECK_EQ(fstat(lanes.fd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

/* As a program does; 0: none is free. */
static uint32_t take_one(void)
{
	uint32_t number = ctp_pool_take(&lanes.chunks, no_growth, NULL);

	if (number)
		lane.taken++;
	return number;
}

static void give_one(uint32_t number)
{
	lane.returned++;
	ctp_pool_give(&lanes.chunks, number - 1);
}

static uint32_t take_all(void)
{
	uint32_t nr = 0;

	while (nr < CHUNKS && (taken[nr] = take_one()) != 0) {
		memset(ctp_unit(&lanes.chunks, taken[nr] - 1), 0x5a, CTP_CHUNK_SIZE);
		nr++;
	}
	return nr;
}

static void give_all(uint32_t nr)
{
	while (nr)
		give_one(taken[--nr]);
}

/* Poll every 50 ms for @ns. */
static void let_time_pass(uint64_t ns)
{
	uint64_t end = now_ns + ns;

	for (; now_ns < end; now_ns += 50 * NS_PER_MS)
		parking_look(&lanes, now_ns);
}

static void wait_until_parked(uint32_t nr)
{
	unsigned tries;

	for (tries = 0; tries < 10000 && lanes.parking.nr < nr; tries++)
		let_time_pass(NS_PER_SEC);
	CHECK_EQ(lanes.parking.nr, nr);
}

static void memory_of_a_burst_is_returned(void)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	open_region();
	CHECK_EQ(take_all(), CHUNKS);
	CHECK_EQ(memory_of_region(), (uint64_t)CHUNKS * CTP_CHUNK_SIZE);
	give_all(CHUNKS);
	let_time_pass(PARKING_IDLE_NS - NS_PER_SEC);
	CHECK_EQ(lanes.parking.nr, 0); /* not yet: a next burst may come */
	wait_until_parked(CHUNKS - KEPT);
	CHECK_EQ(memory_of_region(), KEPT * CTP_CHUNK_SIZE + (CHUNKS - KEPT) * page);
	CHECK_EQ(parking_saved(&lanes), (CHUNKS - KEPT) * (CTP_CHUNK_SIZE - page));
	close_region();
}

static void chunks_in_use_are_not_parked(void)
{
	uint32_t i, half = CHUNKS / 2;

	open_region();
	CHECK_EQ(take_all(), CHUNKS);
	for (i = half; i < CHUNKS; i++)
		give_one(taken[i]);
	let_time_pass(100 * NS_PER_SEC);
	CHECK_EQ(lanes.parking.nr, half - KEPT);
	for (i = 0; i < half; i++) {
		const char *chunk = ctp_unit(&lanes.chunks, taken[i] - 1);

		CHECK(chunk[4] == 0x5a && chunk[CTP_CHUNK_SIZE - 1] == 0x5a);
	}
	close_region();
}

/* The collector gives memory ahead of its use. */
static void memory_that_was_never_used_is_returned(void)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	open_region();
	CHECK_EQ(fallocate(lanes.fd, 0, 0, (off_t)CHUNKS * CTP_CHUNK_SIZE), 0);
	give_one(take_one());
	wait_until_parked(CHUNKS - KEPT);
	CHECK_EQ(memory_of_region(), KEPT * CTP_CHUNK_SIZE + (CHUNKS - KEPT) * page);
	CHECK(parking_has_enough(&lanes));
	close_region();
}

static void a_pool_that_is_in_use_keeps_its_memory(void)
{
	unsigned i;

	open_region();
	for (i = 0; i < 20; i++) {
		give_all(take_all());
		let_time_pass(PARKING_IDLE_NS / 2);
		/* Seen by the poll while all chunks are taken. */
		CHECK_EQ(take_all(), CHUNKS);
		let_time_pass(50 * NS_PER_MS);
		give_all(CHUNKS);
	}
	CHECK_EQ(lanes.parking.nr, 0);
	close_region();
}

static void the_next_burst_finds_every_chunk_with_its_memory(void)
{
	uint32_t nr = 0, more;
	unsigned tries;

	open_region();
	give_all(take_all());
	wait_until_parked(CHUNKS - KEPT);
	for (tries = 0; tries < 1000 && nr < CHUNKS; tries++) {
		for (more = 0; nr < CHUNKS && (taken[nr] = take_one()) != 0; more++)
			nr++;
		parking_look(&lanes, now_ns += NS_PER_MS);
	}
	CHECK_EQ(nr, CHUNKS);
	CHECK_EQ(lanes.parking.nr, 0);
	CHECK_EQ(memory_of_region(), (uint64_t)CHUNKS * CTP_CHUNK_SIZE);
	close_region();
}

/* ---- a program at the same time ------------------------------------------------------ */

static bool is_over;
static uint32_t nr_wrong, nr_rounds;

/* Takes chunks, fills them, and finds what it wrote. */
static void *use_chunks(void *arg)
{
	uint32_t round = 0, mine = 1 + (uint32_t)(uintptr_t)arg;

	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		uint32_t number = ctp_pool_take(&lanes.chunks, no_growth, NULL), i;
		uint32_t *words = number ? ctp_unit(&lanes.chunks, number - 1) : NULL;

		if (!words)
			continue;
		for (i = 1; i < CTP_CHUNK_SIZE / 4; i++)
			words[i] = mine << 24 ^ round;
		for (i = 1; i < CTP_CHUNK_SIZE / 4; i++) {
			if (words[i] != (mine << 24 ^ round))
				__atomic_add_fetch(&nr_wrong, 1, __ATOMIC_RELAXED);
		}
		ctp_pool_give(&lanes.chunks, number - 1);
		__atomic_add_fetch(&nr_rounds, 1, __ATOMIC_RELAXED);
		round++;
	}
	return NULL;
}

/* The pool alternates between parked and low, while threads take and give its chunks. */
static void a_chunk_is_not_emptied_under_its_writer(void)
{
	pthread_t threads[3];
	uint32_t i, round;

	open_region();
	CHECK_EQ(take_all(), CHUNKS);
	give_all(CHUNKS);
	is_over = false;
	for (i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, use_chunks, (void *)(uintptr_t)i), 0);
	for (round = 0; round < 4; round++) {
		lane.taken = lane.returned = 0;
		wait_until_parked(CHUNKS - KEPT);
		lane.taken = CHUNKS; /* as if a burst had begun */
		while (lanes.parking.nr)
			parking_look(&lanes, now_ns += NS_PER_MS);
	}
	while (__atomic_load_n(&nr_rounds, __ATOMIC_RELAXED) < 100)
		parking_look(&lanes, now_ns += NS_PER_MS);
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(nr_wrong, 0);
	lane.taken = lane.returned = 0;
	CHECK_EQ(take_all(), CHUNKS);
	close_region();
}

/* ---- lives: their memory does not return, so little is allocated before it is used ------ */

#define LIVES 4000000u

/* The units that lanes_keep_ahead() allocates if @used are in use and no more have memory. */
static uint32_t lives_ahead_of(uint32_t used)
{
	ext.lives.used = ext.lives.committed = used;
	lanes_keep_ahead(&lanes);
	CHECK_EQ(lanes.starved, 0);
	return ext.lives.committed - used;
}

static void little_memory_is_allocated_ahead_of_lives(void)
{
	uint64_t before;

	open_region();
	lanes.size = (uint64_t)LIVES * sizeof(struct ctp_life);
	CHECK_EQ(ftruncate(lanes.fd, (off_t)lanes.size), 0);
	ext.lives.limit = LIVES;
	ext.chunks.limit = lanes.chunks.limit = lanes.lanes.limit = 0;
	lanes.lives = (struct ctp_arena){ &ext.lives, lanes.map, sizeof(struct ctp_life), LIVES };
	lanes.sites = (struct ctp_arena){ &ext.sites, lanes.map, sizeof(struct ctp_site), 0 };
	CHECK_EQ(lives_ahead_of(0), 1024);
	CHECK_EQ(lives_ahead_of(100000), 25000);
	before = memory_of_region();
	CHECK_EQ(lives_ahead_of(2000000), 65536);
	CHECK_EQ(memory_of_region() - before, 65536 * sizeof(struct ctp_life));
	ext.lives.used += 30000; /* there is still enough */
	lanes_keep_ahead(&lanes);
	CHECK_EQ(ext.lives.committed, 2065536);
	ext.lives.used += 5000;
	lanes_keep_ahead(&lanes);
	CHECK_EQ(ext.lives.committed, ext.lives.used + 65536);
	CHECK_EQ(lives_ahead_of(LIVES - 10), 10);
	lanes.size = (uint64_t)CHUNKS * CTP_CHUNK_SIZE; /* of the mapping */
	close_region();
}

int main(void)
{
	if ((unsigned long)sysconf(_SC_PAGESIZE) >= CTP_CHUNK_SIZE) {
		puts("skipped: a page is as large as a chunk");
		return 77;
	}
	RUN(memory_of_a_burst_is_returned);
	RUN(chunks_in_use_are_not_parked);
	RUN(memory_that_was_never_used_is_returned);
	RUN(a_pool_that_is_in_use_keeps_its_memory);
	RUN(the_next_burst_finds_every_chunk_with_its_memory);
	RUN(a_chunk_is_not_emptied_under_its_writer);
	RUN(little_memory_is_allocated_ahead_of_lives);
	return 0;
}
