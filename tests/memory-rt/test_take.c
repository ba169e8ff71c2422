/* SPDX-License-Identifier: MIT */
/*
 * test_take.c - reading a region: units in order, holes, dead threads, and corrupt data.
 *
 * A small region in plain memory; the test acts as the program.  The last test is a fuzzer: it
 * writes random data anywhere while the consumer runs, under AddressSanitizer in that
 * suite.
 */
#include "check.h"
#include "ring_pack.h"

#define CHUNK  4096u
#define CHUNKS 4u
static const struct crw_geometry geometry = {
	.nr_processes = 2, .nr_slots = 2, .nr_chunks = CHUNKS, .chunk_size = CHUNK
};
static uint8_t *memory;
static uint64_t size;
static struct crw_region region;
static struct crw_slot *slot;
static struct crw_slot_view view;
static struct crw_cursor cursor;

static void fresh(void)
{
	free(memory);
	size = crw_region_size(&geometry);
	CHECK(size > 0);
	memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	CHECK(memory != NULL);
	memset(memory, 0, size);
	crw_region_init(memory, &geometry);
	CHECK(crw_region_open(memory, size, &region) == NULL);
	slot = &region.slots[0];
	slot->state = CRW_LIVE;
	slot->serial = 7;
	slot->thread = 1;
	memset(&cursor, 0, sizeof(cursor));
	crw_slot_look(&region, 0, &view);
}

static struct crw_unit *begin_chunk(uint64_t number)
{
	uint8_t *chunk = region.rings + number % CHUNKS * CHUNK;
	struct crw_chunk_head *head = (struct crw_chunk_head *)chunk;

	memset(chunk, 0, CHUNK / 2);
	*head = (struct crw_chunk_head){
		.number = number, .serial = 7, .thread = 1, .order = number
	};
	return (struct crw_unit *)(chunk + sizeof(*head));
}

static void fill_chunk(uint64_t number)
{
	struct crw_unit *u = begin_chunk(number);
	uint32_t i;

	for (i = 0; i < CRW_UNITS(CHUNK); i++)
		u[i] = (struct crw_unit){ number * 1000 + i, CRW_W1(0, 1) };
}

/* Takes everything available; checks that it continues at *@next. */
static uint32_t take_all(uint64_t *next, bool gone)
{
	struct crw_taken run;
	uint32_t nr = 0, i, rounds = 0;

	while (crw_take(&region, &view, &cursor, 50, gone, &run)) {
		CHECK(run.nr >= 1 && run.nr <= 50);
		CHECK(++rounds < 100000);
		for (i = 0; i < run.nr; i++, nr++) {
			if (next)
				CHECK_EQ(run.units[i].w0, (*next)++);
		}
		crw_give_back(&region, &view, &cursor, run.nr);
	}
	return nr;
}

/* ---- the header ------------------------------------------------------------ */

static void a_region_is_opened_with_all_its_parts(void)
{
	struct crw_header *h;

	fresh();
	h = region.header;
	CHECK(region.base == memory && (void *)h == (void *)memory);
	CHECK((uint8_t *)region.processes == memory + h->processes_at);
	CHECK((uint8_t *)region.slots == memory + h->slots_at);
	CHECK(region.rings == memory + h->rings_at);
	CHECK_EQ(region.size, size);
	CHECK_EQ(region.nr_processes, 2);
	CHECK_EQ(region.nr_slots, 2);
	CHECK_EQ(region.nr_chunks, CHUNKS);
	CHECK_EQ(region.chunk_size, CHUNK);
	/* The parts do not overlap, and the rings are the last one. */
	CHECK(h->processes_at >= sizeof(*h));
	CHECK(h->slots_at >= h->processes_at + 2 * sizeof(struct crw_process));
	CHECK(h->rings_at >= h->slots_at + 2 * sizeof(struct crw_slot));
	CHECK_EQ(h->rings_at + (uint64_t)2 * CHUNKS * CHUNK, size);
}

static void check_refused(const char *why)
{
	struct crw_region other;
	const char *wrong = crw_region_open(memory, size, &other);

	CHECK(wrong != NULL);
	CHECK_STR(wrong, why);
	fresh();
}

static void a_header_that_makes_no_sense_is_refused(void)
{
	static const char impossible[] = "its sizes are impossible";
	static const char misfit[] = "its parts do not fit together";
	struct crw_region other;

	fresh();
	CHECK_STR(crw_region_open(memory, sizeof(struct crw_header) - 1, &other),
		  "it is too short for a header");
	CHECK_STR(crw_region_open(memory, size - 1, &other), misfit);
	region.header->nr_slots = 0;
	check_refused(impossible);
	region.header->nr_chunks = 3;
	check_refused(impossible);
	region.header->nr_chunks = 2;
	check_refused(impossible);
	region.header->nr_processes = 0;
	check_refused(impossible);
	region.header->chunk_size = CHUNK + 8;
	check_refused(impossible);
	region.header->nr_chunks *= 2;
	check_refused(misfit);
	region.header->nr_slots = 3;
	check_refused(misfit);
	region.header->processes_at += 64;
	check_refused(misfit);
	region.header->slots_at += 64;
	check_refused(misfit);
	region.header->rings_at += 4096;
	check_refused(misfit);
	region.header->size += 4096;
	check_refused(misfit);
}

static void sealed_chunks_come_in_order(void)
{
	uint64_t k, next;

	fresh();
	CHECK_EQ(take_all(NULL, false), 0);
	for (k = 0; k < 10; k++) {
		fill_chunk(k);
		CHECK_EQ(take_all(NULL, false), 0); /* not sealed yet */
		slot->sealed = k + 1;
		next = k * 1000;
		CHECK_EQ(take_all(&next, false), CRW_UNITS(CHUNK));
		CHECK_EQ(slot->taken, k + 1);
	}
	CHECK_EQ(cursor.broken + cursor.holes, 0);
}

static void a_hole_is_waited_for_and_then_skipped(void)
{
	struct crw_unit *u;

	fresh();
	fill_chunk(0);
	u = (struct crw_unit *)(region.rings + sizeof(struct crw_chunk_head));
	u[10].w1 = 0;
	slot->sealed = 1;
	CHECK_EQ(take_all(NULL, false), 10);
	CHECK_EQ(take_all(NULL, false), 0);
	u[10].w1 = CRW_W1(0, 1); /* the handler has returned */
	CHECK_EQ(take_all(NULL, false), CRW_UNITS(CHUNK) - 10);
	CHECK_EQ(cursor.holes, 0);

	fill_chunk(1);
	u = (struct crw_unit *)(region.rings + CHUNK + sizeof(struct crw_chunk_head));
	u[5].w1 = 0; /* a handler that left by longjmp */
	fill_chunk(2);
	fill_chunk(3);
	slot->sealed = 4;
	CHECK_EQ(take_all(NULL, false), 3 * CRW_UNITS(CHUNK) - 1);
	CHECK_EQ(cursor.holes, 1);
}

static void the_dead_leave_what_they_filled(void)
{
	struct crw_unit *u;
	uint32_t i;

	fresh();
	fill_chunk(0);
	slot->sealed = 1;
	u = begin_chunk(1);
	for (i = 0; i < 20; i++)
		u[i] = (struct crw_unit){ i, CRW_W1(0, 1) };
	u[7].w1 = 0;  /* interrupted there */
	u[20].w0 = 1; /* and killed in the middle of this one */
	CHECK_EQ(take_all(NULL, false), CRW_UNITS(CHUNK));
	CHECK_EQ(take_all(NULL, true), 19);
	CHECK_EQ(take_all(NULL, true), 0);
	CHECK_EQ(cursor.holes, 1);
	/*
	 * It was not dead after all (a checkpoint): the following units continue at this position.
	 */
	u[20] = (struct crw_unit){ 20, CRW_W1(0, 1) };
	CHECK_EQ(take_all(NULL, true), 1);
}

/* As fill_chunk(), with the mark of the round, over the units of the round before. */
static struct crw_unit *fill_marked(uint64_t number, uint32_t nr)
{
	uint8_t *chunk = region.rings + number % CHUNKS * CHUNK;
	struct crw_chunk_head *head = (struct crw_chunk_head *)chunk;
	struct crw_unit *u = (struct crw_unit *)(chunk + sizeof(*head));
	uint64_t round = CRW_ROUND_OF(number / CHUNKS);
	uint32_t i;

	*head = (struct crw_chunk_head){
		.number = number, .serial = 7, .thread = 1, .order = number, .round = round
	};
	for (i = 0; i < nr; i++)
		u[i] = (struct crw_unit){ number * 1000 + i, CRW_W1(0, 1) | round };
	return u;
}

static void units_of_an_earlier_round_are_not_filled(void)
{
	struct crw_unit *u;
	uint64_t k, next;

	fresh();
	for (k = 0; k < 20 * CHUNKS; k++) {
		fill_marked(k, CRW_UNITS(CHUNK));
		slot->sealed = k + 1;
		next = k * 1000;
		CHECK_EQ(take_all(&next, false), CRW_UNITS(CHUNK));
	}
	/* A hole has the unit of the round before. */
	u = fill_marked(k, CRW_UNITS(CHUNK));
	u[10].w1 = CRW_W1(0, 1) | CRW_ROUND_OF(k / CHUNKS - 1);
	slot->sealed = k + 1;
	CHECK_EQ(take_all(NULL, false), 10);
	u[10].w1 = CRW_W1(0, 1) | CRW_ROUND_OF(k / CHUNKS);
	CHECK_EQ(take_all(NULL, false), CRW_UNITS(CHUNK) - 10);
	/* Killed in its open chunk, behind which the units of the round before are. */
	fill_marked(k + 1, 20);
	CHECK_EQ(take_all(NULL, true), 20);
	CHECK_EQ(take_all(NULL, true), 0);
	CHECK_EQ(cursor.broken + cursor.holes, 0);
}

/* ---- a thread that runs ---------------------------------------------------- */

static bool settles;
static uint32_t settled;

/* The thread fills two more units while its first ones are made visible. */
static bool settle(void)
{
	struct crw_unit *u = (struct crw_unit *)(region.rings + sizeof(struct crw_chunk_head));

	u[10] = (struct crw_unit){ 10, CRW_W1(0, 1) };
	u[11] = (struct crw_unit){ 11, CRW_W1(0, 1) };
	settled++;
	return settles;
}

static void the_open_chunk_of_a_running_thread_is_read_only_if_settled(void)
{
	struct cray_pack *p = malloc(sizeof(*p));
	struct crw_job job;
	struct crw_unit *u;
	uint32_t i;

	CHECK(p != NULL);
	fresh();
	u = begin_chunk(0);
	for (i = 0; i < 10; i++)
		u[i] = (struct crw_unit){ i, CRW_W1(0, 1) };
	crw_job_init(&job, &region, &view, 3);
	job.end = 1;
	job.gone = true;
	job.settle = settle;
	settles = false;
	CHECK(!crw_job_pack(&job, p));
	CHECK(job.unsettled);
	CHECK_EQ(p->nr_accesses, 0);
	CHECK_EQ(job.cursor.offset, 0);
	/* Units that were not counted before are read after they are settled themselves. */
	u[10] = u[11] = (struct crw_unit){ 0 };
	settled = 0;
	settles = true;
	CHECK(!crw_job_pack(&job, p));
	CHECK(!job.unsettled);
	CHECK_EQ(settled, 2);
	CHECK_EQ(p->nr_accesses, 12);
	CHECK_EQ(job.cursor.offset, 12);
	free(p);
}

static void impossible_regions_are_refused(void)
{
	struct crw_region r;
	struct crw_header *h;

	fresh();
	h = region.header;
	CHECK(crw_region_open(memory, 100, &r) != NULL);
	CHECK(crw_region_open(memory, size - 1, &r) != NULL);
	h->nr_slots = 3;
	CHECK(crw_region_open(memory, size, &r) != NULL);
	h->nr_slots = 0xffffffff;
	CHECK(crw_region_open(memory, size, &r) != NULL);
	h->nr_slots = 2;
	h->rings_at += CHUNK;
	CHECK(crw_region_open(memory, size, &r) != NULL);
	h->rings_at -= CHUNK;
	h->chunk_size = 12345;
	CHECK(crw_region_open(memory, size, &r) != NULL);
	h->chunk_size = CHUNK;
	h->version++;
	CHECK(crw_region_open(memory, size, &r) != NULL);
	h->version--;
	CHECK(crw_region_open(memory, size, &r) == NULL);
	h->magic = 0;
	CHECK(crw_region_open(memory, size, &r) != NULL);
}

/* Each limit of the geometry: the limit itself is possible, one step beyond is not. */
static void a_geometry_may_be_as_large_as_its_limits(void)
{
	static const struct {
		struct crw_geometry g;
		bool is_possible;
	} cases[] = {
		{ { 1, 1, CRW_CHUNKS_MIN, CRW_CHUNK_MIN, 0, 0, 0, 0 }, true },
		{ { 0, 1, 4, 4096, 0, 0, 0, 0 }, false },
		{ { 1, 0, 4, 4096, 0, 0, 0, 0 }, false },
		{ { 1, 1, CRW_CHUNKS_MIN / 2, 4096, 0, 0, 0, 0 }, false },
		{ { 1, 1, 4, CRW_CHUNK_MIN / 2, 0, 0, 0, 0 }, false },
		{ { CRW_PROCESSES_MAX, CRW_SLOTS_MAX, CRW_CHUNKS_MAX, CRW_CHUNK_MAX, 0, 0, 0, 0 },
		  true },
		{ { CRW_PROCESSES_MAX + 1, 1, 4, 4096, 0, 0, 0, 0 }, false },
		{ { 1, CRW_SLOTS_MAX + 1, 4, 4096, 0, 0, 0, 0 }, false },
		{ { 1, 1, CRW_CHUNKS_MAX * 2, 4096, 0, 0, 0, 0 }, false },
		{ { 1, 1, 4, CRW_CHUNK_MAX * 2, 0, 0, 0, 0 }, false },
		{ { 1, 1, 6, 4096, 0, 0, 0, 0 }, false }, /* not a power of two */
		{ { 1, 1, 4, 6144, 0, 0, 0, 0 }, false },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(crw_region_size(&cases[i].g) > 0, cases[i].is_possible);
	/* The rings of the largest region are in its size. */
	CHECK(crw_region_size(&cases[5].g) > (uint64_t)CRW_SLOTS_MAX << 36);
}

static void large_rings_leave_fewer_slots_but_not_too_few(void)
{
	CHECK_EQ(crw_slots_for(64, 65536), CRW_NR_SLOTS);
	CHECK_EQ(crw_slots_for(128, 65536), CRW_NR_SLOTS); /* 4096 x 8 MiB: exactly the most */
	CHECK_EQ(crw_slots_for(256, 65536), CRW_NR_SLOTS / 2);
	CHECK_EQ(crw_slots_for(65536, 1u << 20), CRW_NR_SLOTS_LEAST);
}

static void a_slot_of_an_unknown_process_or_state_is_looked_at_safely(void)
{
	fresh();
	slot->state = CRW_ENDED;
	slot->process = 1;
	slot->end_ns = 99;
	memset(slot->name, 'n', sizeof(slot->name));
	crw_slot_look(&region, 0, &view);
	CHECK(view.state == CRW_ENDED && view.process == 1 && view.end_ns == 99);
	CHECK_EQ(strlen(view.name), sizeof(slot->name));
	slot->state = CRW_ENDED + 1;
	slot->process = geometry.nr_processes;
	crw_slot_look(&region, 0, &view);
	CHECK(view.state == CRW_FREE && view.process == 0);
}

/* A thread that waits is woken when a quarter of its ring is free, not before. */
static void a_waiting_thread_is_woken_when_there_is_room(void)
{
	fresh();
	slot->waiting = 1;
	slot->sealed = CHUNKS;
	cursor.taken = 0;
	crw_publish(&region, 0, &cursor);
	CHECK(!slot->taken && !slot->room); /* nothing was taken */
	slot->sealed = CHUNKS + 1;
	cursor.taken = 1;
	crw_publish(&region, 0, &cursor);
	CHECK(slot->taken == 1 && !slot->room); /* the ring is full again */
	cursor.taken = 2;
	crw_publish(&region, 0, &cursor);
	CHECK(slot->taken == 2 && slot->room == 1);
	slot->waiting = 0;
	cursor.taken = 3;
	crw_publish(&region, 0, &cursor);
	CHECK(slot->taken == 3 && slot->room == 1);
}

static uint64_t state = 88172645463325252u;

static uint64_t random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* A word that may have a meaning. */
static uint64_t wild(void)
{
	switch (random64() % 6) {
	case 0:
		return random64();
	case 1:
		return random64() % 8;
	case 2:
		return UINT64_MAX - random64() % 8;
	case 3:
		return CRW_W1(random64() % 256, random64() % 4);
	case 4:
		return random64() % 5000;
	default:
		return (uint64_t)1 << (random64() % 64);
	}
}

static uint64_t asides;

static void aside(void *context, unsigned code, uint64_t w0, const uint8_t *payload, uint32_t bytes)
{
	uint64_t sum = w0 + code;
	uint32_t i;

	(void)context;
	for (i = 0; i < bytes; i++) /* all of it must be readable */
		sum += payload[i];
	asides += sum != 1;
}

/* One poll of a consumer. */
static void consume(struct cray_pack *p, struct crw_job *job, bool gone)
{
	static uint8_t plain[CRAY_PACK_PLAIN_MAX];
	struct cray_block head;
	uint32_t rounds = 0;
	bool full;

	crw_slot_look(&region, 0, &job->view);
	job->gone = gone;
	job->end = job->cursor.taken + CHUNKS + 1;
	do {
		full = crw_job_pack(job, p);
		CHECK(p->nr_accesses + p->nr_events <= CRAY_PACK_RECORDS);
		CHECK(cray_pack_finish(p, plain, &head) <= sizeof(plain));
		if (job->feed.piece_left > 1000000)
			job->feed.piece_left = 1000;
		CHECK(rounds++ < 2 * (CHUNKS + 1) * CRW_UNITS(CHUNK));
	} while (full);
}

static void whatever_a_program_writes_the_consumer_goes_on(void)
{
	struct cray_pack *p = malloc(sizeof(*p));
	struct crw_job job;
	uint64_t from = (uint64_t)((uint8_t *)region.slots - memory), i, taken_any = 0;
	int round;

	CHECK(p != NULL);
	for (round = 0; round < 300; round++) {
		fresh();
		crw_job_init(&job, &region, &view, 0);
		job.feed.aside = aside;
		for (i = 0; i < 4; i++)
			fill_chunk(i);
		/* A long record to begin with, which may be corrupted or not. */
		{
			struct crw_unit *u = (struct crw_unit *)(region.rings +
								 sizeof(struct crw_chunk_head));

			u[0] = (struct crw_unit){ 3, CRW_W1(round % 2 ? CRW_FACT : CRW_ADD, 1) };
			u[1] = (struct crw_unit){ 24 + 5, CRW_W1(CRW_DATA, 5) };
			for (i = 2; i < 6; i++)
				u[i] = (struct crw_unit){ i, CRW_W1(CRW_DATA, 6 - i) };
		}
		slot->sealed = random64() % 6;
		for (i = 0; i < 400; i++) {
			/* Mostly units; sometimes the slot; never the geometry, which is read once.
			 */
			uint64_t at = random64() % 8 ? (uint64_t)(region.rings - memory) +
							       random64() % (CHUNKS * CHUNK / 8) * 8
						     : from + random64() % 32 * 8;
			uint64_t word = wild();

			memcpy(memory + at, &word, 8);
			if (i % 20 == 0)
				consume(p, &job, random64() % 4 == 0);
		}
		taken_any += p->nr_accesses + job.cursor.taken;
	}
	CHECK(taken_any > 1000);
	CHECK(asides > 0);
	free(p);
}

int main(void)
{
	RUN(a_region_is_opened_with_all_its_parts);
	RUN(a_header_that_makes_no_sense_is_refused);
	RUN(sealed_chunks_come_in_order);
	RUN(a_hole_is_waited_for_and_then_skipped);
	RUN(the_dead_leave_what_they_filled);
	RUN(units_of_an_earlier_round_are_not_filled);
	RUN(the_open_chunk_of_a_running_thread_is_read_only_if_settled);
	RUN(impossible_regions_are_refused);
	RUN(a_geometry_may_be_as_large_as_its_limits);
	RUN(large_rings_leave_fewer_slots_but_not_too_few);
	RUN(a_slot_of_an_unknown_process_or_state_is_looked_at_safely);
	RUN(a_waiting_thread_is_woken_when_there_is_room);
	RUN(whatever_a_program_writes_the_consumer_goes_on);
	free(memory);
	return 0;
}
