/* SPDX-License-Identifier: MIT */
/*
 * test_units.c - units of a ring, as records: those that programs write, and corrupt ones, which
 * are counted and lose nothing of what follows.
 *
 * Each case fills the chunks of one thread by hand; the blocks that the consumer packs are decoded
 * again and compared as text, with the numbers of corrupt units, ranges and chunks behind them.
 */
#include <inttypes.h>
#include <stdarg.h>

#include "check.h"
#include "memory/format/block_unpack.h"
#include "ring_pack.h"

#define CHUNK  4096u
#define CHUNKS 4u
#define UNITS  CRW_UNITS(CHUNK)

static const struct crw_geometry geometry = {
	.nr_processes = 1, .nr_slots = 1, .nr_chunks = CHUNKS, .chunk_size = CHUNK
};
static uint8_t *memory;
static struct crw_region region;
static uint64_t filled; /* chunks */
static uint32_t used;   /* units of the last chunk */

/* ---- the thread ------------------------------------------------------------------ */

static struct crw_chunk_head *head_of(uint64_t number)
{
	return (struct crw_chunk_head *)(region.rings + number % CHUNKS * CHUNK);
}

static void fresh(void)
{
	uint64_t size = crw_region_size(&geometry);

	free(memory);
	memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	CHECK(memory != NULL);
	memset(memory, 0, size);
	crw_region_init(memory, &geometry);
	CHECK(crw_region_open(memory, size, &region) == NULL);
	region.slots[0].state = CRW_LIVE;
	region.slots[0].serial = 7;
	region.slots[0].thread = 1;
	filled = used = 0;
	*head_of(0) = (struct crw_chunk_head){ .serial = 7, .thread = 1, .time_ns = 1000 };
}

static void put(unsigned code, uint64_t w0, uint64_t low)
{
	struct crw_unit *u = (struct crw_unit *)(head_of(filled) + 1);

	CHECK(used < UNITS);
	u[used++] = (struct crw_unit){ w0, CRW_W1(code, low) };
}

/* A payload, with @nr units of data. */
static void put_data(uint64_t size, const void *bytes, uint32_t nr)
{
	uint32_t i;

	put(CRW_DATA, size, nr + 1);
	for (i = 0; i < nr; i++) {
		uint64_t word;

		memcpy(&word, (const uint8_t *)bytes + 8 * (size_t)i, 8);
		put(CRW_DATA, word, nr - i);
	}
}

static void seal_chunk(void)
{
	filled++;
	region.slots[0].sealed = filled;
	used = 0;
	memset(head_of(filled), 0, CHUNK / 2);
	*head_of(filled) = (struct crw_chunk_head){
		.number = filled, .serial = 7, .thread = 1, .order = filled, .time_ns = 2000
	};
}

/* Up to @left units before the end of the chunk. */
static void fill_up(uint32_t left)
{
	while (used < UNITS - left)
		put(CRW_PAD, 0, 1);
}

/* ---- the consumer ------------------------------------------------------------------ */

static char text[16384];
static size_t text_size;

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text_size += (size_t)vsnprintf(text + text_size, sizeof(text) - text_size, fmt, args);
	va_end(args);
	CHECK(text_size < sizeof(text));
}

static uint64_t last_ns; /* of the record before */

static void say_record(const struct mem_record *r)
{
	static const char *const kinds[] = { "read", "write", "add",  "remove", "mark",  "gap",
					     "coro", "alloc", "free", "stack",  "enter", "exit" };

	if (r->time_ns != last_ns)
		say("%" PRIu64 " ns: ", r->time_ns);
	last_ns = r->time_ns;
	say("%s", kinds[r->kind]);
	if (mem_is_access(r))
		say("%u", r->size);
	if (r->kind <= MEM_REMOVE || r->kind == MEM_ALLOC || r->kind == MEM_FREE)
		say(" at %" PRIx64 " pc %" PRIx64, r->address, r->pc);
	if (mem_is_access(r) && (r->attr || r->tag & 0xfe))
		say(" attr %x tag %x", r->attr, r->tag);
	if (r->kind == MEM_ADD)
		say(" %ux%u", r->elem_count, r->elem_size);
	if (r->kind >= MEM_MARK && r->kind != MEM_FREE)
		say(" %" PRIx64, r->value);
	if (r->kind == MEM_GAP || r->kind == MEM_CORO || r->kind == MEM_ENTER)
		say(" cause %x", r->cause);
	if (r->kind == MEM_ALLOC)
		say(" stack %u", r->stack);
	if (r->kind == MEM_ENTER)
		say(" pc %" PRIx64, r->pc);
	if (r->name_size)
		say(" '%.*s'", (int)r->name_size, r->name);
	if (r->has_ticket)
		say(" ticket %" PRIu64, r->order);
	if (r->weight_256 != 256)
		say(" weight %u", r->weight_256);
	say("; ");
}

static void say_block(struct cray_pack *p)
{
	static uint8_t plain[CRAY_PACK_PLAIN_MAX];
	struct unpack unpack = { 0 };
	struct mem_record r;
	struct cray_block head;
	size_t size;

	if (cray_pack_empty(p))
		return;
	size = cray_pack_finish(p, plain, &head);
	CHECK(unpack_begin(&unpack, &head, false, plain, size));
	while (unpack_next(&unpack, &r))
		say_record(&r);
	say("order %" PRIu64 "\n", head.order_first);
	unpack_release(&unpack);
}

static void note_aside(void *context, unsigned code, uint64_t w0, const uint8_t *bytes,
		       uint32_t size)
{
	(void)context;
	say("aside %u key %" PRIu64 " '%.*s'; ", code >> 3, w0, (int)size, (const char *)bytes);
}

/* All that the thread has written; it has ended. */
static void decode(const char *expected)
{
	struct cray_pack *p = malloc(sizeof(*p));
	struct crw_slot_view view;
	struct crw_job job;
	unsigned rounds = 0;
	bool full;

	CHECK(p != NULL);
	text_size = 0;
	last_ns = 1000; /* of the first chunk */
	text[0] = '\0';
	crw_slot_look(&region, 0, &view);
	crw_job_init(&job, &region, &view, 0);
	job.feed.aside = note_aside;
	job.gone = true;
	job.end = UINT64_MAX;
	do {
		full = crw_job_pack(&job, p);
		say_block(p);
		CHECK(++rounds < 100);
	} while (full);
	say("corrupt %" PRIu64 " %" PRIu64 " %" PRIu64, job.feed.broken, job.feed.ranges,
	    job.cursor.broken);
	CHECK_STR(text, expected);
	free(p);
}

/* ---- tests ---------------------------------------------------------------------------- */

static void units_of_programs_become_records(void)
{
	uint64_t add[4] = { 3, 16, 4, 0 }, calls[4] = { 0x11, 0x2200, 0x12, 0x3300 };

	fresh();
	memcpy(&add[3], "struct a", 8);
	put(CRW_IS_COMPOUND | 2, 0x100, 0x40);
	put(CRW_VPTR | CRW_IS_WRITE, 0x110, 0x41);
	put(CRW_IS_ATOMIC | CRW_IS_UNALIGNED | CRW_IS_VOLATILE | 3, 0x121, 0x42);
	put(CRW_RANGE | CRW_IS_WRITE, 0x1f0, 0x43);
	put(CRW_EXTENT, 300, 1 | 2);
	put(CRW_RANGE, 0x300, 0x44);
	put(CRW_EXTENT, 255, 1);
	put(CRW_ADD, 0x1000, 0x45);
	put_data(32, add, 4);
	put(CRW_REMOVE, 0x1000, 0x46);
	put_data(8, &(uint64_t){ 4 }, 1);
	put(CRW_MARK, 77, 0x47);
	put_data(5, "words\0\0", 1);
	put(CRW_GAP, 9, CRAY_GAP_FULL);
	decode("read4 at 100 pc 40 attr 10 tag 0; write4 at 100 pc 40 attr 10 tag 1; "
	       "write8 at 110 pc 41 attr 2 tag 1; read8 at 121 pc 42 attr 1 tag c0; "
	       "write16 at 1f0 pc 43 attr c tag 1; write64 at 200 pc 43 attr c tag 1; "
	       "write64 at 240 pc 43 attr c tag 1; write64 at 280 pc 43 attr c tag 1; "
	       "write64 at 2c0 pc 43 attr c tag 1; write28 at 300 pc 43 attr c tag 1; "
	       "read255 at 300 pc 44; add at 1000 pc 45 4x16 'struct a' ticket 3; "
	       "remove at 1000 pc 46 ticket 4; mark 4d 'words'; gap 9 cause 1; order 0\n"
	       "corrupt 0 0 0");
	fresh();
	put(CRW_ALLOC, 0x5000, 0x48);
	put(CRW_AMOUNT, 100, 6);
	put(CRW_ALLOC, 0x6000, 0x48);
	put(CRW_AMOUNT, 50, 0);
	put(CRW_TICKET, 9, 1);
	put(CRW_RELEASE, 0x5000, 0x49);
	put(CRW_RELEASE, 0x6000, 0x49);
	put(CRW_TICKET, 10, 1);
	put(CRW_ENTER, 0x11, 0x2200);
	put(CRW_LEAVE, 0, 1);
	put(CRW_CALLS, 0, 1);
	put_data(32, calls, 4);
	put(CRW_FACT, 5, 1);
	put_data(4, "fact\0\0\0", 1);
	put(CRW_STACK, 6, 1);
	put_data(8, "12345678", 1);
	put(CRW_STAMP, 20, 5000);
	put(0, 0x100, 0x40);
	decode("aside 8 key 5 'fact'; aside 16 key 6 '12345678'; "
	       "alloc at 5000 pc 48 64 stack 6; alloc at 6000 pc 48 32 stack 0 ticket 9; "
	       "free at 5000 pc 49; free at 6000 pc 49 ticket 10; enter 11 cause 0 pc 2200; "
	       "exit 1; exit 0; enter 11 cause 1 pc 2200; enter 12 cause 1 pc 3300; "
	       "5000 ns: read1 at 100 pc 40; order 0\ncorrupt 0 0 0");
}

/* A weight is of a whole block; 0 is that of every access. */
static void a_weight_begins_a_block(void)
{
	fresh();
	put(CRW_WEIGHT, 512, 1); /* before it only the time of the chunk */
	put(0, 0x100, 0x40);
	put(CRW_WEIGHT, 512, 1); /* the same */
	put(0, 0x101, 0x40);
	put(CRW_WEIGHT, 0, 1);
	put(0, 0x102, 0x40);
	put(CRW_WEIGHT, UINT64_C(1) << 40, 1);
	put(0, 0x103, 0x40);
	decode("order 0\n"
	       "read1 at 100 pc 40 weight 512; read1 at 101 pc 40 weight 512; order 0\n"
	       "read1 at 102 pc 40; order 0\n"
	       "read1 at 103 pc 40 weight 4294967295; order 0\ncorrupt 0 0 0");
	fresh();
	put(0, 0x100, 0x40);
	fill_up(0);
	seal_chunk();
	head_of(1)->weight_256 = 300;
	put(0, 0x101, 0x40);
	decode("read1 at 100 pc 40; order 0\n"
	       "2000 ns: read1 at 101 pc 40 weight 300; order 1\ncorrupt 0 0 0");
}

/* What a block needs of the one before it is repeated. */
static void a_block_repeats_the_coroutine_and_its_functions(void)
{
	uint64_t coro[2] = { 1, 0 };

	memcpy(&coro[1], "reader", 7);
	fresh();
	put(CRW_CORO, 7, 3000);
	put_data(14, coro, 2);
	put(CRW_ENTER, 0x11, 0x2200);
	put(0, 0x100, 0x40);
	put(CRW_WEIGHT, 512, 1);
	put(0, 0x101, 0x40);
	decode("3000 ns: coro 7 cause 1 'reader'; enter 11 cause 0 pc 2200; read1 at 100 pc 40; "
	       "order 0\n"
	       "coro 7 cause 3 'reader' weight 512; exit 0 weight 512; "
	       "enter 11 cause 1 pc 2200 weight 512; read1 at 101 pc 40 weight 512; "
	       "order 0\ncorrupt 0 0 0");
}

/* Times have 53 bits; one that is earlier than the last one is not used. */
static void times_do_not_decrease(void)
{
	fresh();
	head_of(0)->time_ns = (UINT64_C(3) << 53) + 100;
	put(CRW_STAMP, 1, 50); /* after 2^53 more ns less 50: too far */
	put(0, 0x100, 0x40);
	put(CRW_WEIGHT, 512, 1);
	put(CRW_STAMP, 2, 300);
	put(0, 0x101, 0x40);
	put(CRW_WEIGHT, 256, 1);
	put(0, 0x102, 0x40);
	decode("27021597764223076 ns: read1 at 100 pc 40; order 0\n"
	       "27021597764223276 ns: read1 at 101 pc 40 weight 512; order 1\n"
	       "read1 at 102 pc 40; order 2\ncorrupt 0 0 0");
}

/* Each is followed by an access, which is not lost. */
static void corrupt_units_are_skipped(void)
{
	static const unsigned alone[] = { CRW_DATA,   CRW_EXTENT,  CRW_TICKET,
					  CRW_AMOUNT, CRW_CTL(20), CRW_CTL(31) };
	uint64_t words[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	size_t i;

	for (i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
		fresh();
		put(alone[i], 5, 1);
		put(0, 0x100, 0x40);
		decode("read1 at 100 pc 40; order 0\ncorrupt 1 0 0");
	}
	fresh();
	put(CRW_ALLOC, 0x5000, 0x48); /* without its size */
	put(0, 0x100, 0x40);
	put(CRW_RANGE, 0x300, 0x44); /* without its extent */
	put(0, 0x101, 0x40);
	put(CRW_MARK, 1, 0x47); /* without a text */
	put(0, 0x102, 0x40);
	decode("read1 at 100 pc 40; read1 at 101 pc 40; read1 at 102 pc 40; order 0\n"
	       "corrupt 3 0 0");
	fresh();
	put(CRW_ADD, 0x1000, 0x45);
	put_data(23, words, 3); /* too short: header and four units of data */
	put(0, 0x100, 0x40);
	put(CRW_REMOVE, 0x1000, 0x46);
	put_data(7, words, 1);
	put(0, 0x101, 0x40);
	put(CRW_CORO, 7, 3000);
	put_data(7, words, 1);
	put(0, 0x102, 0x40);
	decode("read1 at 100 pc 40; read1 at 101 pc 40; read1 at 102 pc 40; order 0\n"
	       "corrupt 11 0 0");
	fresh();
	put(CRW_MARK, 1, 0x47);
	put_data(CRW_PAYLOAD_MAX + 1, words, 2);
	put(0, 0x100, 0x40);
	put(CRW_MARK, 2, 0x47);
	put_data(17, words, 2); /* one unit is missing */
	put(0, 0x101, 0x40);
	decode("read1 at 100 pc 40; read1 at 101 pc 40; order 0\ncorrupt 8 0 0");
	fresh();
	put(CRW_RANGE, 0x1000, 0x44);
	put(CRW_EXTENT, (UINT64_C(1) << 36) + 1, 1);
	put(0, 0x100, 0x40);
	decode("read1 at 100 pc 40; order 0\ncorrupt 0 1 0");
}

/* The units of a record are in one chunk. */
static void records_cut_by_the_end_of_a_chunk_are_corrupt(void)
{
	static const unsigned last[] = { CRW_ALLOC, CRW_RANGE, CRW_MARK };
	size_t i;

	for (i = 0; i < 3; i++) {
		fresh();
		fill_up(1);
		put(last[i], 0x5000, 0x48);
		seal_chunk();
		put(0, 0x100, 0x40);
		decode("2000 ns: read1 at 100 pc 40; order 0\ncorrupt 1 0 0");
	}
	fresh();
	fill_up(1);
	put(CRW_RELEASE, 0x5000, 0x48); /* it is complete */
	seal_chunk();
	put(CRW_TICKET, 9, 1); /* of no record */
	decode("free at 5000 pc 48; order 0\ncorrupt 1 0 0");
	fresh();
	fill_up(3);
	put(CRW_MARK, 1, 0x47);
	put_data(8, "12345678", 1); /* exactly */
	seal_chunk();
	decode("mark 1 '12345678'; order 0\ncorrupt 0 0 0");
}

/* A chunk whose head is not that of the thread is left out; the next one is read. */
static void corrupt_chunks_are_skipped(void)
{
	unsigned i;

	for (i = 0; i < 4; i++) {
		fresh();
		put(0, 0x100, 0x40);
		fill_up(0);
		seal_chunk();
		put(0, 0x101, 0x40);
		fill_up(0);
		seal_chunk();
		put(0, 0x102, 0x40);
		if (i == 0)
			head_of(1)->number = 5;
		else if (i == 1)
			head_of(1)->serial = 8;
		else if (i == 2)
			head_of(1)->thread = 2;
		else
			region.slots[0].sealed += CHUNKS * UINT64_C(1000);
		if (i < 3)
			decode("read1 at 100 pc 40; 2000 ns: read1 at 102 pc 40; order 0\n"
			       "corrupt 0 0 1");
	}
	/* A counter that is impossible: each chunk once, as far as the heads fit.  Each look
	 * counts. */
	decode("read1 at 100 pc 40; 2000 ns: read1 at 101 pc 40; read1 at 102 pc 40; order 0\n"
	       "corrupt 0 0 12");
}

int main(void)
{
	RUN(units_of_programs_become_records);
	RUN(a_weight_begins_a_block);
	RUN(a_block_repeats_the_coroutine_and_its_functions);
	RUN(times_do_not_decrease);
	RUN(corrupt_units_are_skipped);
	RUN(records_cut_by_the_end_of_a_chunk_are_corrupt);
	RUN(corrupt_chunks_are_skipped);
	free(memory);
	return 0;
}
