/* SPDX-License-Identifier: MIT */
/* test_heap_stacks.c - live blocks of the heap, tables of call stacks, functions that a thread is
 * in. */
#include "check.h"
#include "memory/format/block_unpack.h"
#include "memory/format/call_stack.h"
#include "memory/format/stack_table.h"
#include "memory/types/heap_blocks.h"
#include "ring_decode.h"

static void heap_record(struct heap_blocks *h, uint8_t kind, uint64_t address, uint64_t size,
			uint32_t stack)
{
	struct mem_record r = {
		.kind = kind, .address = address, .value = size, .stack = stack, .pc = 0x400000
	};

	CHECK_EQ(heap_blocks_record(h, &r), 0);
}

static uint64_t heap_start(struct heap_blocks *h, uint64_t address)
{
	struct heap_block block;

	return heap_blocks_find(h, address, 0x5000, &block) ? block.start : 0;
}

static void a_block_lives_from_allocation_to_free(void)
{
	struct heap_blocks h = { 0 };

	CHECK_EQ(heap_start(&h, 0x1000), 0);
	heap_record(&h, MEM_ALLOC, 0x1000, 32, 1);
	heap_record(&h, MEM_ALLOC, 0x1020, 32, 2);
	heap_record(&h, MEM_ALLOC, 0x2000, 0, 2);
	CHECK_EQ(heap_start(&h, 0x101f), 0x1000);
	CHECK_EQ(heap_start(&h, 0x1020), 0x1020);
	CHECK_EQ(heap_start(&h, 0x1040), 0);
	CHECK_EQ(heap_start(&h, 0x2000), 0);
	/* The block found last is not found after its end. */
	CHECK_EQ(heap_start(&h, 0x1010), 0x1000);
	heap_record(&h, MEM_FREE, 0x1000, 0, 0);
	CHECK_EQ(heap_start(&h, 0x1010), 0);
	heap_record(&h, MEM_FREE, 0x1000, 0, 0);
	/* Without a record of its end, it ends where another block begins. */
	heap_record(&h, MEM_ALLOC, 0x1000, 64, 1);
	CHECK_EQ(heap_start(&h, 0x1020), 0x1000);
	heap_blocks_release(&h);
}

static void blocks_of_one_call_and_stack_have_one_site(void)
{
	struct heap_blocks h = { 0 };
	struct heap_block a, b;
	uint32_t i;

	for (i = 0; i < 1000; i++)
		heap_record(&h, MEM_ALLOC, 0x10000 + i * 64, 48, 1 + i % 3);
	CHECK_EQ(h.nr_sites, 4);
	CHECK(heap_blocks_find(&h, 0x10000, 1, &a) &&
	      heap_blocks_find(&h, 0x10000 + 3 * 64, 1, &b));
	CHECK_EQ(a.site, b.site);
	CHECK_EQ(heap_blocks_site(&h, a.site)->blocks, 334);
	CHECK_EQ(heap_blocks_site(&h, a.site)->bytes, 334 * 48);
	CHECK_EQ(heap_blocks_site(&h, a.site)->stack, 1);
	heap_blocks_release(&h);
}

static void a_table_of_stacks_takes_what_is_sound(void)
{
	struct {
		struct cray_stack head;
		uint64_t frames[3];
	} one = { { 7, 3 }, { 10, 20, 30 } };
	struct mem_faults faults = { 0 };
	struct stack_table t = { 0 };
	const uint64_t *frames;

	CHECK_EQ(stack_table_chunk(&t, (const uint8_t *)&one, sizeof(one), 0, &faults), 0);
	CHECK_EQ(stack_table_get(&t, 7, &frames), 3);
	CHECK(frames[0] == 10 && frames[2] == 30);
	CHECK_EQ(stack_table_get(&t, 8, &frames), 0);
	CHECK_EQ(stack_table_get(&t, 0, &frames), 0);
	CHECK_EQ(faults.nr, 0);
	one.head.nr_frames = 4;
	CHECK_EQ(stack_table_chunk(&t, (const uint8_t *)&one, sizeof(one), 0, &faults), 0);
	CHECK_EQ(faults.nr, 1);
	one.head.nr_frames = UINT32_MAX;
	CHECK_EQ(stack_table_chunk(&t, (const uint8_t *)&one, sizeof(one), 0, &faults), 0);
	CHECK_EQ(stack_table_chunk(&t, (const uint8_t *)&one, 5, 0, &faults), 0);
	CHECK_EQ(faults.nr, 3);
	CHECK_EQ(t.nr, 1);
	stack_table_release(&t);
}

static void call_record(struct call_stacks *s, uint8_t kind, uint64_t pc, uint64_t value)
{
	struct mem_record r = { .kind = kind, .pc = pc, .value = value, .thread = 3 };

	CHECK_EQ(call_stacks_record(s, &r), 0);
}

static void a_thread_is_in_the_functions_that_it_entered(void)
{
	struct call_stacks s = { 0 };
	uint32_t i;

	CHECK_EQ(call_stacks_of(&s, 3)->nr, 0);
	call_record(&s, MEM_ENTER, 1, 100);
	call_record(&s, MEM_ENTER, 2, 200);
	CHECK_EQ(call_stacks_of(&s, 3)->nr, 2);
	CHECK_EQ(call_stacks_of(&s, 3)->frame[1].site, 200);
	CHECK_EQ(call_stacks_of(&s, 4)->nr, 0);
	call_record(&s, MEM_EXIT, 0, 1);
	CHECK_EQ(call_stacks_of(&s, 3)->nr, 1);
	call_record(&s, MEM_EXIT, 0, 50);
	CHECK_EQ(call_stacks_of(&s, 3)->nr, 0);
	for (i = 0; i < CALL_STACK_MAX + 10; i++)
		call_record(&s, MEM_ENTER, i, 0);
	CHECK_EQ(call_stacks_of(&s, 3)->nr, CALL_STACK_MAX);
	call_record(&s, MEM_EXIT, 0, 11);
	CHECK_EQ(call_stacks_of(&s, 3)->nr, CALL_STACK_MAX - 1);
	call_record(&s, MEM_EXIT, 0, 0);
	CHECK_EQ(call_stacks_of(&s, 3)->nr, 0);
	call_stacks_release(&s);
}

/* Units of entries and exits, a block, and what a reader makes of it. */
static void each_block_begins_with_the_functions_of_the_thread(void)
{
	static struct cray_pack pack;
	static uint8_t plain[CRAY_PACK_PLAIN_MAX];
	static struct crw_feed feed;
	struct crw_unit units[] = { { 100, CRW_W1(CRW_ENTER, 1) },
				    { 200, CRW_W1(CRW_ENTER, 2) },
				    { 300, CRW_W1(CRW_ENTER, 3) },
				    { 1, CRW_W1(CRW_LEAVE, 1) } };
	struct crw_taken run = { .units = units, .nr = 4 };
	struct call_stacks s = { 0 };
	struct unpack u = { 0 };
	struct cray_block head;
	struct mem_record r;
	size_t size;
	int block;

	for (block = 0; block < 2; block++) {
		uint32_t repeated = 0;

		cray_pack_init(&pack);
		cray_pack_begin(&pack, 3, 0, 0);
		crw_feed_repeat(&feed, &pack);
		run.nr = block ? 0 : 4;
		CHECK_EQ(crw_feed(&feed, &pack, &run), run.nr);
		size = cray_pack_finish(&pack, plain, &head);
		CHECK(unpack_begin(&u, &head, false, plain, size));
		call_stacks_release(&s);
		while (unpack_next(&u, &r)) {
			CHECK_EQ(call_stacks_record(&s, &r), 0);
			repeated += mem_is_repeated(&r);
		}
		CHECK(!u.fault);
		CHECK_EQ(repeated, block ? 3 : 0);
		CHECK_EQ(call_stacks_of(&s, 3)->nr, 2);
		CHECK_EQ(call_stacks_of(&s, 3)->frame[0].function, 1);
		CHECK_EQ(call_stacks_of(&s, 3)->frame[1].site, 200);
	}
	unpack_release(&u);
	call_stacks_release(&s);
}

int main(void)
{
	RUN(a_block_lives_from_allocation_to_free);
	RUN(blocks_of_one_call_and_stack_have_one_site);
	RUN(a_table_of_stacks_takes_what_is_sound);
	RUN(a_thread_is_in_the_functions_that_it_entered);
	RUN(each_block_begins_with_the_functions_of_the_thread);
	return 0;
}
