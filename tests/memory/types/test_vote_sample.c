/* SPDX-License-Identifier: MIT */
/* test_vote_sample.c - which blocks of a trace take part in the vote on types. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "memory/traces.h"
#include "memory/types/vote_sample.h"

#define BLOCKS 200u
#define CODE   0x401000u

static char path[] = "/tmp/corotracer-test-XXXXXX";

/* What a test puts into block @n, besides an access of the same code as in all blocks. */
typedef void (*fill_fn)(struct cray_pack *p, uint32_t n);

static void write_blocks(fill_fn fill)
{
	static struct cray_pack pack;
	struct cray_thread t = { .number = 0, .id = 4000 };
	struct cfile f;
	uint32_t n;

	traces_begin(&f, path, 1, 0);
	cfile_thread(&f, &t, NULL);
	cray_pack_init(&pack);
	for (n = 0; n < BLOCKS; n++) {
		cray_pack_begin(&pack, 0, 0, 5000 + n);
		cray_pack_access(&pack, CODE, 0x10000 + n, CRAY_HOW(0, 1, 0));
		if (fill)
			fill(&pack, n);
		cfile_block(&f, &pack);
	}
	traces_end(&f);
}

/* The blocks whose accesses were read, by the address of the first one; and all other records. */
struct read_blocks {
	uint32_t taken[BLOCKS]; /* what they stand for */
	uint32_t nr, allocations;
};

static void read_blocks(struct read_blocks *out)
{
	struct vote_sample *sample = vote_sample_new();
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);
	struct mem_run run;
	uint32_t i;

	CHECK(sample && r);
	*out = (struct read_blocks){ 0 };
	mem_reader_choose_blocks(r, vote_sample_wants, sample);
	while (mem_reader_run(r, &run)) {
		out->allocations += run.record && run.record->kind == MEM_ALLOC;
		for (i = 0; !run.record && i < run.nr; i++) {
			if (run.access[i].pc != CODE)
				continue;
			out->taken[run.access[i].address - 0x10000] = run.stands_for;
			out->nr++;
		}
	}
	CHECK_EQ(mem_reader_faults(r)->nr, 0);
	mem_reader_close(r);
	vote_sample_free(sample);
}

static void one_of_several_blocks_takes_part_after_the_first(void)
{
	struct read_blocks got;
	uint32_t n;

	write_blocks(NULL);
	read_blocks(&got);
	for (n = 0; n < BLOCKS; n++)
		CHECK_EQ(got.taken[n], n < VOTE_BLOCKS_ALL         ? 1
				       : n % VOTE_BLOCKS_STEP == 0 ? VOTE_BLOCKS_STEP
								   : 0);
}

/* Blocks from 101 on have another instruction. */
static void other_code(struct cray_pack *p, uint32_t n)
{
	if (n > 100)
		cray_pack_access(p, CODE + 16, 0x20000, CRAY_HOW(1, 8, 0));
}

static void code_takes_part_with_its_first_blocks(void)
{
	struct read_blocks got;
	uint32_t n;

	write_blocks(other_code);
	read_blocks(&got);
	CHECK(!got.taken[100]);
	for (n = 101; n < 101 + VOTE_BLOCKS_FIRST; n++)
		CHECK_EQ(got.taken[n], 1);
	CHECK_EQ(got.taken[n], 1); /* after one with something new */
	CHECK(!got.taken[n + 1]);
}

/* All blocks allocate and free; those from 117 on another size, and from 150 on other stacks. */
static void allocates(struct cray_pack *p, uint32_t n)
{
	CHECK(cray_pack_alloc(p, 0, CODE, 0x30000, n < 117 ? 24 : 32, n < 150 ? 1 : 2));
	CHECK(cray_pack_free(p, 0, CODE + 64, 0x30000));
	CHECK(cray_pack_alloc(p, 0, CODE + 128, 0x40000, 8, 3));
}

static void allocations_take_part_and_are_read_in_all_blocks(void)
{
	struct read_blocks got;

	write_blocks(allocates);
	read_blocks(&got);
	CHECK_EQ(got.allocations, 2 * BLOCKS);
	CHECK(!got.taken[116] && got.taken[117] && got.taken[117 + VOTE_BLOCKS_FIRST]);
	CHECK(!got.taken[118 + VOTE_BLOCKS_FIRST] && !got.taken[149]);
	CHECK(got.taken[150] && got.taken[150 + VOTE_BLOCKS_FIRST]);
	CHECK(!got.taken[151 + VOTE_BLOCKS_FIRST]);
}

/* What a block shows before it is decoded. */
static uint32_t looks_at_block(void *nr, const struct unpack *block)
{
	uint32_t n = (*(uint32_t *)nr)++;
	struct unpack_peek peek;
	struct mem_record r;
	uint64_t pc;

	unpack_peek_begin(block, &peek);
	CHECK(unpack_peek_site(&peek, &pc) && pc == CODE && !unpack_peek_site(&peek, &pc));
	CHECK(unpack_peek_allocation(&peek, &r));
	CHECK(r.pc == CODE && r.value == (n < 117 ? 24 : 32) && r.stack == (n < 150 ? 1 : 2));
	CHECK(unpack_peek_allocation(&peek, &r));
	CHECK(r.pc == CODE + 128 && r.value == 8 && r.stack == 3);
	CHECK(!unpack_peek_allocation(&peek, &r));
	return n % 2;
}

static void a_block_shows_code_and_allocations(void)
{
	struct err err = { 0 };
	struct mem_reader *r;
	struct mem_run run;
	uint32_t nr = 0, accesses = 0;

	write_blocks(allocates);
	r = mem_reader_open(path, &err);
	CHECK(r);
	mem_reader_choose_blocks(r, looks_at_block, &nr);
	while (mem_reader_run(r, &run))
		accesses += run.nr;
	CHECK_EQ(nr, BLOCKS);
	CHECK_EQ(accesses, BLOCKS / 2);
	mem_reader_close(r);
}

int main(void)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	RUN(one_of_several_blocks_takes_part_after_the_first);
	RUN(code_takes_part_with_its_first_blocks);
	RUN(allocations_take_part_and_are_read_in_all_blocks);
	RUN(a_block_shows_code_and_allocations);
	unlink(path);
	return 0;
}
