/* SPDX-License-Identifier: MIT */
/*
 * test_container.c - the writer of containers: a file that goes on after its tail, the newest
 * blocks, and losses of many threads.
 */
#include <unistd.h>

#include "check.h"
#include "newest_blocks.h"
#include "traces.h"

static char path[] = "/tmp/corotracer-test-XXXXXX";
static struct cray_pack pack;

/* A block of @nr accesses, the first of address @from. */
static void put_block(struct cray_maker *m, uint32_t thread, uint64_t seq, uint64_t from,
		      uint32_t nr)
{
	uint32_t i;

	cray_pack_init(&pack);
	cray_pack_begin(&pack, thread, 0, 1000 + from);
	for (i = 0; i < nr; i++)
		cray_pack_access(&pack, 0x401000, from + i, CRAY_HOW(CRAY_READ, 1, 0));
	cray_maker_finish(m, &pack, false);
	cray_maker_press(m);
	m->head.thread_seq = seq;
}

/* The records of the file are the addresses from @from on; the reader finds no fault. */
static void holds_addresses(uint64_t from, uint64_t nr, uint64_t lost)
{
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);
	const struct mem_record *rec;
	uint64_t n = 0, sum = 0;
	uint32_t i;

	CHECK(r != NULL);
	while ((rec = mem_reader_next(r)))
		CHECK_EQ(rec->address, from + n++);
	CHECK_EQ(n, nr);
	CHECK_EQ(mem_reader_faults(r)->nr, 0);
	CHECK(mem_reader_facts(r)->has_end);
	for (i = 0; i < MEM_CAUSES; i++)
		sum += mem_reader_facts(r)->lost[i];
	CHECK_EQ(sum, lost);
	CHECK_EQ(mem_reader_facts(r)->end.lost, lost);
	mem_reader_close(r);
}

static void a_file_goes_on_after_its_tail(void)
{
	struct cfile f;
	uint64_t i;

	traces_begin(&f, path, 1, 0);
	for (i = 0; i < 3; i++) {
		put_block(f.maker, 0, i, i * 100, 100);
		CHECK(cray_writer_block(f.writer, f.maker));
		CHECK(cray_writer_tail(f.writer));
		holds_addresses(0, (i + 1) * 100, 0);
	}
	traces_end(&f);
	holds_addresses(0, 300, 0);
}

static void more_blocks_than_one_index_holds_are_found(void)
{
	struct cfile f;
	uint64_t i;

	traces_begin(&f, path, 0, 0);
	for (i = 0; i < 2 * CRAY_WRITER_INDEX + 1; i++) {
		put_block(f.maker, 0, i, i, 1);
		CHECK(cray_writer_block(f.writer, f.maker));
	}
	CHECK_EQ(f.writer->index.nr, 1);
	traces_end(&f);
	holds_addresses(0, 2 * CRAY_WRITER_INDEX + 1, 0);
}

static void the_newest_blocks_are_kept_and_the_others_counted(void)
{
	struct cray_newest n = { 0 };
	struct cfile f;
	uint64_t i;

	traces_begin(&f, path, 0, 0);
	f.writer->rewrites = true;
	CHECK(cray_newest_open(&n, 10000));
	for (i = 0; i < 100; i++) {
		put_block(f.maker, 0, i, i * 1000, 1000);
		cray_newest_keep(&n, f.writer, f.maker);
	}
	for (i = 0; i < 2; i++) { /* twice: the file is the same */
		CHECK(cray_newest_complete(&n, f.writer));
		CHECK(f.writer->end.nr_blocks > 2 && f.writer->end.nr_blocks < 10);
		holds_addresses(100000 - f.writer->end.nr_accesses, f.writer->end.nr_accesses,
				100000 - f.writer->end.nr_accesses);
	}
	cray_newest_close(&n);
	cfile_abandon(&f);
}

static void losses_of_many_threads_keep_their_cause(void)
{
	struct err err = { 0 };
	struct mem_reader *r;
	struct cfile f;
	uint32_t i;

	traces_begin(&f, path, 1, 0);
	for (i = 0; i < 1000; i++) {
		cray_writer_lost(f.writer, i, CRAY_GAP_FULL, 2);
		cray_writer_lost(f.writer, i, CRAY_GAP_FILTERED, 3);
	}
	cray_writer_lost(f.writer, 5, CRAY_GAP_FULL, 1);
	cray_writer_lost(f.writer, 2000, CRAY_GAP_BROKEN, 0);
	CHECK(cray_writer_lost_unknown(f.writer));
	traces_end(&f);
	r = mem_reader_open(path, &err);
	CHECK(r != NULL);
	while (mem_reader_next(r))
		;
	CHECK_EQ(mem_reader_facts(r)->lost[CRAY_GAP_FULL], 2001);
	CHECK_EQ(mem_reader_facts(r)->lost[CRAY_GAP_FILTERED], 3000);
	CHECK(mem_reader_facts(r)->lost_unknown);
	CHECK_EQ(mem_reader_facts(r)->end.left_out, 3000);
	mem_reader_close(r);
}

#define JUMPS 60000u

/* The address of access @i: two sites alternate at random, and so do their addresses. */
static uint64_t jump_to(uint32_t i)
{
	uint64_t h = (i + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15);

	h = (h ^ h >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
	return 0x100000 + (h >> 44);
}

static void put_jumps(struct cray_maker *m, uint64_t seq, bool hurry)
{
	uint32_t i;

	cray_pack_init(&pack);
	cray_pack_begin(&pack, 0, 0, 1000 + seq);
	for (i = 0; i < JUMPS; i++)
		cray_pack_access(&pack, 0x401000 + (jump_to(i) & 1), jump_to(i),
				 CRAY_HOW(CRAY_READ, 1, 0));
	cray_maker_finish(m, &pack, hurry);
	cray_maker_press(m);
	m->head.thread_seq = seq;
}

/*
 * Random accesses have their addresses coded by frequency in a frame of their own; a program that
 * waits has the symbols coded so, too.  That costs at most a third in size, and nothing is lost.
 */
static void random_accesses_are_compressed_in_parts(void)
{
	struct err err = { 0 };
	const struct mem_record *rec;
	struct mem_reader *r;
	struct cfile f;
	size_t calm = 0;
	uint32_t n;

	traces_begin(&f, path, 1, 0);
	for (n = 0; n < 6; n++) {
		put_jumps(f.maker, n, n >= 3);
		CHECK(cray_writer_block(f.writer, f.maker));
		if (n == 1)
			calm = f.maker->stored_size;
	}
	CHECK(f.maker->stored_size < f.maker->plain_size);
	CHECK(f.maker->stored_size < calm + calm / 3);
	traces_end(&f);
	r = mem_reader_open(path, &err);
	CHECK(r != NULL);
	for (n = 0; (rec = mem_reader_next(r)); n++)
		CHECK_EQ(rec->address, jump_to(n % JUMPS));
	CHECK_EQ(n, 6 * JUMPS);
	CHECK_EQ(mem_reader_faults(r)->nr, 0);
	mem_reader_close(r);
}

int main(void)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	RUN(a_file_goes_on_after_its_tail);
	RUN(more_blocks_than_one_index_holds_are_found);
	RUN(the_newest_blocks_are_kept_and_the_others_counted);
	RUN(losses_of_many_threads_keep_their_cause);
	RUN(random_accesses_are_compressed_in_parts);
	unlink(path);
	return 0;
}
