/* SPDX-License-Identifier: MIT */
/*
 * fuzz_recover.c - a region with any content can be inspected.
 *
 * The input is a list of writes into a region as a collector leaves it: stations, lanes
 * with their chunks, lives, sites.  The first byte says where the file is cut.  Checked:
 * that it ends, that no impossible event is handed on, that the counts add up.
 *
 * With clang: -DFUZZ_LIBFUZZER -fsanitize=fuzzer.  Otherwise main() makes its own
 * inputs: fuzz_recover [ROUNDS [SEED]].
 */
#include <corotracer/lanes.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "collect/region_inspect.h"

#define STATIONS  4u
#define LANES     4u
#define LIVES     16u
#define SITES     4u
#define CHUNKS    6u

#define LANES_AT  UINT64_C(65536)
#define SITES_AT  (LANES_AT + LANES * sizeof(struct ctp_lane))
#define LIVES_AT  (SITES_AT + SITES * sizeof(struct ctp_site))
#define CHUNKS_AT (LANES_AT + 65536)
#define SIZE      (CHUNKS_AT + CHUNKS * sizeof(struct ctp_chunk))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char base[SIZE] __attribute__((aligned(4096))), region[SIZE];
static int fd = -1;
static uint64_t events, coroutines;

static void fail(const char *what)
{
	fprintf(stderr, "fuzz_recover: %s\n", what);
	abort();
}

/* ---- a valid region -------------------------------------------------------------- */

static void fill_pool(struct ctp_pool *pool, uint64_t offset, uint32_t unit, uint32_t limit)
{
	*pool = (struct ctp_pool){
		.used = limit, .committed = limit, .limit = limit, .unit = unit, .offset = offset
	};
}

static void fill_header(uint64_t ticks, uint64_t ns)
{
	struct ctp_header *h = (struct ctp_header *)(void *)base;
	struct ctp_ext_header *ext = ctp_header_ext(h);
	struct ctp_ext_lanes *lanes = ctp_header_lanes(h);

	h->magic_number = CTP_MAGIC;
	h->version = CTP_VERSION;
	h->max_stations = h->allocated_count = STATIONS;
	ext->magic = CTP_EXT_MAGIC;
	ext->version = CTP_EXT_VERSION;
	ext->features = CTP_EXT_CLOCK | CTP_EXT_LANES;
	ext->collector_pid = 1;
	ext->clock_seq = 2;
	ext->clock_ticks = ticks;
	ext->clock_ns = ns;
	ext->clock_mult = UINT64_C(1) << 32;
	lanes->magic = CTP_LANES_MAGIC;
	lanes->version = CTP_LANES_VERSION;
	lanes->map_size = SIZE;
	lanes->last_id = LIVES;
	fill_pool(&lanes->lanes, LANES_AT, sizeof(struct ctp_lane), LANES);
	fill_pool(&lanes->sites, SITES_AT, sizeof(struct ctp_site), SITES);
	fill_pool(&lanes->lives, LIVES_AT, sizeof(struct ctp_life), LIVES);
	fill_pool(&lanes->chunks, CHUNKS_AT, sizeof(struct ctp_chunk), CHUNKS);
}

static void fill_stations(uint64_t ns)
{
	struct ctp_station *st = ctp_stations((struct ctp_header *)(void *)base);
	uint32_t i, k;

	for (i = 0; i < STATIONS; i++) {
		st[i].probe_id = 100 + i;
		st[i].birth_ts = ns;
		for (k = 0; k < CTP_SLOTS; k++) {
			st[i].slots[k].timestamp = ns + 10 * k;
			st[i].slots[k].tid = 7;
			st[i].slots[k].seq = 4;
			st[i].slots[k].is_active = k % 2;
		}
	}
}

static void fill_chunk(uint32_t number, uint32_t lane, uint32_t link, uint64_t ticks)
{
	struct ctp_chunk *chunk = (struct ctp_chunk *)(void *)(base + CHUNKS_AT) + number;
	uint32_t i;

	chunk->lane = lane;
	chunk->link = link;
	for (i = 0; i < CTP_CHUNK_RECORDS; i++)
		chunk->records[i] = (struct ctp_record){
			.ticks = ticks + i,
			.id = 1 + i % LIVES,
			.value = 0x1000 + i,
			.seq = i / LIVES,
			.site = (uint16_t)(i % (SITES + 1)),
			.kind = (uint8_t)(i % 5 == 4 ? CTP_REC_WAKE : 1 + i % 2),
			.reason = (uint8_t)(i % CTP_REASONS),
		};
}

/* Two lanes: one of three chunks of which the first was given back, one of a single chunk. */
static void fill_lanes(uint64_t ticks)
{
	struct ctp_lane *lane = (struct ctp_lane *)(void *)(base + LANES_AT);

	fill_chunk(1, 0, 3, ticks);
	fill_chunk(2, 0, 0, ticks + 5000);
	fill_chunk(4, 1, 0, ticks + 100);
	lane[0] = (struct ctp_lane){
		.state = CTP_LANE_OPEN,
		.head = 32 * (2 * CTP_CHUNK_RECORDS + 700),
		.tail = 32 * (2 * CTP_CHUNK_RECORDS + 600),
		.taken = 3,
		.returned = 1,
		.first = 1,
		.oldest = 2,
		.tid = 7,
		.pid = 7,
		.ticks = CTP_TICKS_COUNTER,
		.dropped = 3,
	};
	lane[1] = (struct ctp_lane){
		.state = CTP_LANE_CLOSED,
		.head = 32 * 50,
		.taken = 1,
		.first = 5,
		.oldest = 5,
		.tid = 8,
		.pid = 7,
		.ticks = CTP_TICKS_COUNTER,
	};
}

static void fill_lives(uint64_t ticks)
{
	struct ctp_life *life = (struct ctp_life *)(void *)(base + LIVES_AT);
	struct ctp_site *site = (struct ctp_site *)(void *)(base + SITES_AT);
	uint32_t i;

	for (i = 0; i < LIVES; i++) {
		life[i].id = i + 1;
		life[i].state = CTP_LIFE_STATE(1 + i % 3, i % CTP_REASONS, 0);
		life[i].events = i * 10;
		life[i].last_ticks = life[i].birth_ticks = ticks;
		life[i].site = 1 + i % SITES;
		life[i].ticks = CTP_TICKS_COUNTER;
		life[i].pid = 7;
		life[i].name_size = 5;
		memcpy(life[i].name, "coro\xff", 5);
	}
	for (i = 0; i < SITES; i++) {
		site[i].ready = 1;
		site[i].line = i;
		memset(site[i].file, 'f', sizeof(site[i].file)); /* not terminated */
		memcpy(site[i].function, "main", 5);
	}
}

static void make_base(void)
{
	uint64_t ns = clock_now_ns(), ticks = ns;

	fill_header(ticks, ns);
	fill_stations(ns);
	fill_lanes(ticks);
	fill_lives(ticks);
	fd = memfd_create("region", MFD_CLOEXEC);
	if (fd < 0)
		fail("no memory file");
}

/* ---- the result --------------------------------------------------------------------- */

static void check_events(const struct recover *r)
{
	uint64_t found = 0;
	size_t i;
	uint32_t k;

	for (i = 0; i < r->nr_threads; i++) {
		const struct recover_thread *t = &r->threads[i];

		if (t->nr_last > r->options.last || t->nr_last > t->events)
			fail("more events than there are");
		if (t->lane != TRACE_LANE_STATIONS && !t->broken && t->read > t->written)
			fail("more was read than written");
		for (k = 0; k < t->nr_last; k++) {
			if (t->last[k].ev.kind >= NR_TRACE_KINDS ||
			    t->last[k].ev.reason >= NR_TRACE_REASONS)
				fail("an event that cannot be");
			if (k && t->last[k].ev.ts < t->last[k - 1].ev.ts)
				fail("events are not in order");
			recover_site(r, t->last[k].ev.site);
		}
		found += t->events;
	}
	if (found != r->lanes.transitions + r->lanes.marks + r->stations.collected)
		fail("events do not add up");
	events += found;
}

static void check_coroutines(const struct recover *r)
{
	size_t i, sum = 0;

	for (i = 0; i < NR_TRACE_STATES; i++)
		sum += r->by_state[i];
	if (sum != r->nr_coroutines)
		fail("coroutines do not add up");
	for (i = 0; i < r->nr_coroutines; i++) {
		recover_site(r, r->coroutines[i].co.site);
		if (strlen(r->coroutines[i].name) > CTP_LIFE_NAME_SIZE)
			fail("a name that is too long");
	}
	coroutines += r->nr_coroutines;
}

/* At the decisive offsets: the header's pools, lanes, chunk headers and records. */
static size_t place(const uint8_t *data)
{
	size_t at = (size_t)data[0] | (size_t)data[1] << 8;

	switch (data[2] >> 5) {
	case 0:
		return at % 1024;
	case 1:
		return CTP_EXT_LANES_OFFSET + at % sizeof(struct ctp_ext_lanes);
	case 2:
		return (size_t)LANES_AT + at % (LANES * sizeof(struct ctp_lane));
	case 3:
		return (size_t)CHUNKS_AT + at % CHUNKS * sizeof(struct ctp_chunk) + at / 256 % 96;
	case 4:
		return (size_t)LIVES_AT + at % (LIVES * sizeof(struct ctp_life));
	case 5:
		return (size_t)CHUNKS_AT + (size_t)at * 7 % (CHUNKS * sizeof(struct ctp_chunk));
	case 6:
		return (size_t)SITES_AT + at % (SITES * sizeof(struct ctp_site));
	default:
		return 1024 + at % (STATIONS * sizeof(struct ctp_station));
	}
}

static void scribble(const uint8_t *data, size_t size)
{
	memcpy(region, base, sizeof(region));
	while (size >= 4) {
		size_t at = place(data), len = data[2] % 8u + 1;

		if (size < 3 + len)
			return;
		if (at + len <= SIZE)
			memcpy(region + at, data + 3, len);
		data += 3 + len;
		size -= 3 + len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recover_options options = { .last = 16 };
	struct err err = { 0 };
	static struct recover r;
	size_t length = SIZE;

	if (fd < 0)
		make_base();
	if (!size)
		return 0;
	if (data[0] & 0x80)
		length = SIZE / 128 * (data[0] & 0x7f) + size;
	scribble(data + 1, size - 1);
	if (ftruncate(fd, 0) < 0 || ftruncate(fd, (off_t)length) < 0 ||
	    pwrite(fd, region, length < SIZE ? length : SIZE, 0) < 0)
		fail("cannot write a memory file");
	if (recover_read(&r, fd, "region", &options, &err) == 0) {
		check_events(&r);
		check_coroutines(&r);
		recover_close(&r);
	} else if (!err.text[0]) {
		fail("a failure without words");
	}
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#include "own_input.h"

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Mostly complete files with few changes; small numbers pass more checks. */
static size_t make_input(uint8_t *data, size_t most, uint64_t *state)
{
	size_t size = next_random(state) % (next_random(state) % 4 ? 40 : most) + 1, i;

	for (i = 0; i < size; i++) {
		uint64_t r = next_random(state);

		data[i] = r & 0x300 ? (uint8_t)(r >> 16) : (uint8_t)(r % 6);
	}
	if (next_random(state) % 8)
		data[0] &= 0x7f;
	return size;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;
	uint64_t state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15u;
	static uint8_t data[2048];

	for (i = 0; i < rounds; i++)
		own_input(data, make_input(data, sizeof(data), &state));
	printf("%lu inputs, %llu events and %llu coroutines believed\n", rounds,
	       (unsigned long long)events, (unsigned long long)coroutines);
	/* Inputs that are always rejected would test little. */
	return events > rounds * 100 && coroutines > rounds ? 0 : 1;
}
#endif
