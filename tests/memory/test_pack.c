/* SPDX-License-Identifier: MIT */
/* test_pack.c - packed records are unpacked record for record, and nothing else is. */
#include "check.h"
#include "memory/format/site_predictor.h"
#include "memory/format/block_unpack.h"
#include "traces.h"

static struct cray_pack pack;
static uint8_t plain[CRAY_PACK_PLAIN_MAX];
static struct unpack unpack;

/* Records of a block, from @n on; returns the first that did not fit. */
static uint64_t fill(uint64_t seed, uint64_t n, uint64_t end)
{
	struct mem_record r;

	for (; n < end; n++) {
		traces_record(seed, n, &r);
		if (!traces_pack(&pack, &r))
			break;
	}
	return n;
}

static void compare(uint64_t seed, uint64_t from, uint64_t to)
{
	struct mem_record got, wanted;
	uint64_t n;

	for (n = from; n < to; n++) {
		traces_record(seed, n, &wanted);
		if (!unpack_next(&unpack, &got)) {
			fprintf(stderr, "record %llu: %s\n", (unsigned long long)n, unpack.fault);
			exit(1);
		}
		CHECK(traces_same(&got, &wanted));
		CHECK_EQ(got.thread, 7);
	}
	CHECK(!unpack_next(&unpack, &got));
	CHECK(!unpack.fault);
}

static void every_record_comes_back(void)
{
	uint64_t seed, n, next, blocks = 0;
	struct cray_block head;
	size_t size;

	for (seed = 0; seed < 20; seed++) {
		cray_pack_init(&pack);
		for (n = 0; n < 200000; n = next, blocks++) {
			cray_pack_begin(&pack, 7, 0, 0);
			next = fill(seed, n, 200000);
			CHECK(next > n);
			size = cray_pack_finish(&pack, plain, &head);
			CHECK(size <= sizeof(plain));
			CHECK(unpack_begin(&unpack, &head, false, plain, size));
			compare(seed, n, next);
		}
		CHECK_EQ(head.thread_seq + 1, blocks);
		blocks = 0;
	}
}

/* Every symbol, address and site of maximum length. */
static void the_worst_records_fit(void)
{
	struct cray_block head;
	struct mem_record got;
	uint64_t state = 9, first, n, nr = 0;
	size_t size;

	cray_pack_init(&pack);
	cray_pack_begin(&pack, 0, 0, 0);
	first = state;
	while (cray_pack_room(&pack)) {
		uint64_t pc = traces_random(&state) % 4000 * 0x123456789abcu;

		cray_pack_access(&pack, pc, traces_random(&state), CRAY_HOW(0xc1, 255, 255));
		nr++;
	}
	size = cray_pack_finish(&pack, plain, &head);
	CHECK(size <= sizeof(plain));
	CHECK_EQ(head.nr_accesses, nr);
	CHECK(unpack_begin(&unpack, &head, false, plain, size));
	for (n = 0, state = first; n < nr; n++) {
		uint64_t pc = traces_random(&state) % 4000 * 0x123456789abcu;

		CHECK(unpack_next(&unpack, &got));
		CHECK(got.pc == pc && got.address == traces_random(&state));
		CHECK(got.tag == 0xc1 && got.size == 255 && got.attr == 255);
	}
	CHECK(!unpack_next(&unpack, &got) && !unpack.fault);
}

static void a_full_block_says_so(void)
{
	static char name[CRAY_NAME_MAX];
	struct cray_block head;
	struct mem_record got;
	uint32_t n = 0, i;
	size_t size;

	memset(name, 'x', sizeof(name));
	cray_pack_init(&pack);
	cray_pack_begin(&pack, 0, 0, 0);
	/* Different names: a name that was written already takes one byte. */
	for (;; n++) {
		name[0] = (char)('a' + n);
		if (!cray_pack_add(&pack, MEM_ADD, n + 1, 1, 2, 3, 4, name, sizeof(name)))
			break;
	}
	CHECK(n >= 2 && n < 5);
	CHECK(cray_pack_add(&pack, MEM_ADD, n + 1, 1, 2, 3, 4, "a", 1));
	size = cray_pack_finish(&pack, plain, &head);
	CHECK(unpack_begin(&unpack, &head, false, plain, size));
	for (i = 0; i < n; i++) {
		CHECK(unpack_next(&unpack, &got));
		CHECK(got.name_size == sizeof(name) && got.name[0] == 'a' + (char)i);
		CHECK_EQ(got.order, i + 1);
		CHECK(got.has_ticket);
	}
	CHECK(unpack_next(&unpack, &got));
	CHECK_EQ(got.name_size, 1);
}

static void stamps_hold_until_the_next(void)
{
	struct cray_block head;
	struct mem_record got;
	size_t size;

	cray_pack_init(&pack);
	cray_pack_begin(&pack, 3, 10, 1000);
	cray_pack_access(&pack, 1, 100, CRAY_HOW(0, 4, 0));
	CHECK(cray_pack_stamp(&pack, 12, 2000));
	cray_pack_access(&pack, 1, 104, CRAY_HOW(0, 4, 0));
	CHECK(cray_pack_remove(&pack, MEM_REMOVE, 15, 9, 64));
	cray_pack_access(&pack, 1, 108, CRAY_HOW(0, 4, 0));
	CHECK(cray_pack_stamp(&pack, 3, 3)); /* time goes back: ignored */
	cray_pack_access(&pack, 1, 112, CRAY_HOW(0, 4, 0));
	size = cray_pack_finish(&pack, plain, &head);
	CHECK_EQ(head.order_first, 10);
	CHECK_EQ(head.order_last, 15);
	CHECK_EQ(head.time_last_ns, 2000);
	CHECK_EQ(head.nr_records, 5);
	CHECK(unpack_begin(&unpack, &head, false, plain, size));
	CHECK(unpack_next(&unpack, &got) && got.order == 10 && got.time_ns == 1000);
	CHECK(unpack_next(&unpack, &got) && got.order == 12 && got.time_ns == 2000);
	CHECK(unpack_next(&unpack, &got) && got.order == 15 && got.has_ticket && got.pc == 9);
	CHECK(unpack_next(&unpack, &got) && got.order == 15 && got.address == 108);
	CHECK(unpack_next(&unpack, &got) && got.order == 15 && got.time_ns == 2000);
	CHECK(!unpack_next(&unpack, &got) && !unpack.fault);
}

/* The time of the next stamp is known before it is read, if it is the next thing. */
static void the_next_stamp_can_be_seen(void)
{
	struct cray_block head;
	struct mem_record r;
	uint64_t time = 0;
	size_t size;

	cray_pack_init(&pack);
	cray_pack_begin(&pack, 7, 0, 5000);
	cray_pack_access(&pack, 0x400000, 64, CRAY_HOW(0, 8, 0));
	cray_pack_access(&pack, 0x400000, 128, CRAY_HOW(0, 8, 0));
	CHECK(cray_pack_stamp(&pack, 0, 6000));
	cray_pack_access(&pack, 0x400000, 192, CRAY_HOW(0, 8, 0));
	CHECK(cray_pack_mark(&pack, 1, "mark", 4));
	CHECK(cray_pack_stamp(&pack, 3, 7500));
	cray_pack_access(&pack, 0x400000, 256, CRAY_HOW(0, 8, 0));
	size = cray_pack_finish(&pack, plain, &head);
	CHECK(unpack_begin(&unpack, &head, false, plain, size));
	CHECK(!unpack_peek_time(&unpack, &time)); /* an access */
	CHECK(unpack_next(&unpack, &r) && !unpack_peek_time(&unpack, &time));
	CHECK(unpack_next(&unpack, &r) && unpack_peek_time(&unpack, &time));
	CHECK_EQ(time, 6000);
	CHECK(unpack_next(&unpack, &r) && r.time_ns == 6000);
	CHECK(!unpack_peek_time(&unpack, &time)); /* a mark */
	CHECK(unpack_next(&unpack, &r) && r.kind == MEM_MARK);
	CHECK(unpack_peek_time(&unpack, &time));
	CHECK_EQ(time, 7500);
	CHECK(unpack_next(&unpack, &r) && r.time_ns == 7500 && r.order == 3);
	CHECK(!unpack_peek_time(&unpack, &time)); /* the end */
	CHECK(!unpack_next(&unpack, &r) && !unpack.fault);
}

/* A matrix product without code addresses: three walks of one tag and size. */
static void walks_are_told_apart_without_code_addresses(void)
{
	static struct guess guess;
	struct cray_block head;
	struct mem_record got;
	uint64_t i;
	size_t size;

	cray_pack_init(&pack);
	cray_pack_begin(&pack, 0, 0, 0);
	guess_begin(&guess);
	for (i = 0; i < 20000; i++) {
		guess_access(&guess, &pack, 0x10000 + i * 8, CRAY_HOW(0, 8, 0));
		guess_access(&guess, &pack, 0x900000 + i * 1600, CRAY_HOW(0, 8, 0));
		guess_access(&guess, &pack, 0x5000, CRAY_HOW(1, 8, 0));
	}
	size = cray_pack_finish(&pack, plain, &head);
	CHECK(size < 60000 * 11 / 10); /* hardly more than a symbol each */
	CHECK(unpack_begin(&unpack, &head, false, plain, size));
	for (i = 0; i < 20000; i++) {
		CHECK(unpack_next(&unpack, &got) && got.address == 0x10000 + i * 8);
		CHECK(unpack_next(&unpack, &got) && got.address == 0x900000 + i * 1600);
		CHECK(unpack_next(&unpack, &got) && got.address == 0x5000 && got.kind == MEM_WRITE);
	}
}

static void checksums_are_the_known_ones(void)
{
	static struct cray_crc crc;
	uint8_t zeros[32] = { 0 };

	cray_crc_init(&crc);
	/* RFC 3720, B.4, and the usual check value. */
	CHECK_EQ(cray_crc32c(&crc, 0, "123456789", 9), 0xE3069283);
	CHECK_EQ(cray_crc32c(&crc, 0, zeros, 32), 0x8A9136AA);
	CHECK_EQ(cray_crc32c(&crc, cray_crc32c(&crc, 0, "1234", 4), "56789", 5), 0xE3069283);
	crc.has_instruction = false; /* the same by the table */
	CHECK_EQ(cray_crc32c(&crc, 0, "123456789", 9), 0xE3069283);
	CHECK_EQ(cray_crc32c(&crc, 0, zeros, 32), 0x8A9136AA);
	CHECK_EQ(cray_crc32c(&crc, cray_crc32c(&crc, 0, "1234", 4), "56789", 5), 0xE3069283);
}

static void checksums_by_instruction_are_those_by_table(void)
{
	static struct cray_crc quick, table;
	uint8_t bytes[96];
	uint32_t i, from, size;

	cray_crc_init(&quick);
	table = quick;
	table.has_instruction = false;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 151 + 7);
	for (from = 0; from < 9; from++) {
		for (size = 0; size <= sizeof(bytes) - from; size++)
			CHECK_EQ(cray_crc32c(&quick, size, bytes + from, size),
				 cray_crc32c(&table, size, bytes + from, size));
	}
	printf("# by instruction: %s\n", quick.has_instruction ? "yes" : "no");
}

/* The first bytes of a file, as container.h describes them. */
static void the_head_of_a_file_has_what_it_was_given(void)
{
	static struct cray_crc crc;
	struct cray_file file;

	cray_crc_init(&crc);
	memset(&file, 0xff, sizeof(file));
	cray_file_seal(&crc, &file, CRAY_CODEC_ZSTD, 5, 1000, 2000);
	CHECK(!memcmp(file.magic, CRAY_MAGIC, 8));
	CHECK(file.major == CRAY_MAJOR && file.minor == CRAY_MINOR);
	CHECK(file.size == sizeof(file) && file.byte_order == CRAY_BYTE_ORDER);
	CHECK(file.pointer == 8 && file.codec == CRAY_CODEC_ZSTD && file.flags == 5);
	CHECK(file.start_ns == 1000 && file.start_wall_ns == 2000);
	CHECK_EQ(file.crc, cray_crc32c(&crc, 0, &file, offsetof(struct cray_file, crc)));
	cray_file_seal(&crc, &file, CRAY_CODEC_NONE, 0, 1000, 2000);
	CHECK(file.codec == CRAY_CODEC_NONE && file.flags == 0);
}

int main(void)
{
	RUN(every_record_comes_back);
	RUN(the_worst_records_fit);
	RUN(a_full_block_says_so);
	RUN(stamps_hold_until_the_next);
	RUN(the_next_stamp_can_be_seen);
	RUN(walks_are_told_apart_without_code_addresses);
	RUN(checksums_are_the_known_ones);
	RUN(checksums_by_instruction_are_those_by_table);
	RUN(the_head_of_a_file_has_what_it_was_given);
	unpack_release(&unpack);
	return 0;
}
