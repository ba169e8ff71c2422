/* SPDX-License-Identifier: MIT */
/* test_control.c - the control block of each kind of program: its size, what is filled in and read.
 */
#include "check.h"
#include "frames/live/control_block.h"
#include "frames/spec/frames_abi.h"

static union {
	struct ppt_control control;
	uint8_t bytes[PPT_CONTROL_SIZE_COUNTS];
} block;

static struct counters two_counters(void)
{
	struct counters c = { .nr = 2 };

	c.attrs[0].config = 11;
	c.attrs[1].config = 22;
	return c;
}

static struct frames_control control_of(const struct desc *d, const struct counters *c,
					unsigned stamps)
{
	struct frames_control out;

	memset(&block, 0, sizeof(block));
	control_fill(&out, &block, d, c, 77, stamps);
	return out;
}

/* Threads take tickets in blocks only if there are several, and the program knows stamps. */
static void a_program_with_blocks_has_counts_after_its_block(void)
{
	struct desc d = { .extended = true, .stamps = true, .multithread = true };
	const struct counters none = { 0 };
	struct frames_control c;

	CHECK(control_has_blocks(&d, PPT_STAMP_NS));
	CHECK_EQ(control_size(&d, PPT_STAMP_NS), PPT_CONTROL_SIZE_COUNTS);
	CHECK_EQ(control_size(&d, PPT_STAMP_NONE), PPT_CONTROL_SIZE);
	c = control_of(&d, &none, PPT_STAMP_NS);
	CHECK_EQ(block.control.control_blk_sz, PPT_CONTROL_SIZE_COUNTS);
	CHECK(block.control.block_size > 0);
	CHECK_EQ(block.control.stamp_kind, PPT_STAMP_NS);
	CHECK_EQ(block.control.data_block_hmem, 77);
	CHECK_EQ(control_next_ticket(&c), 1);
	d.multithread = false;
	CHECK_EQ(control_size(&d, PPT_STAMP_NS), PPT_CONTROL_SIZE);
	control_of(&d, &none, PPT_STAMP_NS);
	CHECK_EQ(block.control.control_blk_sz, PPT_CONTROL_SIZE);
	CHECK(!block.control.block_size);
	d.stamps = false;
	d.multithread = true;
	CHECK(!control_has_blocks(&d, PPT_STAMP_NS));
	control_of(&d, &none, PPT_STAMP_NS);
	CHECK_EQ(block.control.stamp_kind, PPT_STAMP_NONE);
}

static void programs_of_others_have_their_own_order(void)
{
	struct desc d = { .dialect = DESC_PPT };
	const struct counters counters = two_counters();
	const struct ppt_old_control *old = (const void *)&block;
	const size_t first = offsetof(struct ppt_old_control, counterdata);
	const size_t entry = 8 + sizeof(struct perf_event_attr);

	CHECK_EQ(control_size(&d, PPT_STAMP_NS), 80 + 3 * 136);
	control_of(&d, &counters, PPT_STAMP_NONE);
	CHECK_EQ(old->nr_perf_ctrs, 2);
	CHECK_EQ(block.bytes[first + entry], 1); /* its number, then its attributes */
	CHECK_EQ(block.bytes[first + 8 + 8], 11);
	CHECK_EQ(block.bytes[first + entry + 8 + 8], 22);
	CHECK(!block.control.magic);
	CHECK_EQ(block.control.control_blk_sz, 56 + 2 * (8 + sizeof(struct perf_event_attr)));
	d.dialect = DESC_SEED;
	control_of(&d, &counters, PPT_STAMP_NONE);
	CHECK_EQ(block.control.nr_perf_ctrs, 2);
	CHECK_EQ(block.control.control_blk_sz, PPT_CONTROL_SIZE_SEED);
}

static void a_program_is_attached_when_its_answer_is_complete(void)
{
	const struct desc d = { .extended = true };
	const struct counters none = { 0 };
	struct frames_control c = control_of(&d, &none, PPT_STAMP_NONE);
	struct control_answer answer;

	block.control.data_block = 0x1000;
	block.control.data_block_sz = 4096;
	CHECK(!control_attached(&c, &answer)); /* no flag, no ticket */
	block.control.next_ticket = 2;
	CHECK(!control_attached(&c, &answer)); /* the rest is not visible yet */
	block.control.stride = 64;
	block.control.data_offset = 128;
	block.control.client_pid = 9;
	CHECK(control_attached(&c, &answer)); /* it has detached since */
	CHECK(answer.data_block == 0x1000 && answer.data_block_sz == 4096);
	CHECK(answer.stride == 64 && answer.data_offset == 128 && answer.client_pid == 9);
	block.control.next_ticket = 1;
	block.control.client_flags = PPT_CLIENT_FLAG_ATTACHED;
	CHECK(control_attached(&c, &answer));
	block.control.data_block_sz = 0;
	CHECK(!control_attached(&c, &answer));
}

static void counters_that_were_not_opened_are_unmeasured(void)
{
	const struct desc d = { .extended = true };
	const struct counters counters = two_counters();
	struct frames_control c = control_of(&d, &counters, PPT_STAMP_NONE);

	CHECK_EQ(block.control.nr_perf_ctrs, 2);
	CHECK_EQ(block.control.counterdata[0][8], 11); /* the config of perf_event_attr */
	CHECK_EQ(block.control.counterdata[1][8], 22);
	CHECK_EQ(block.control.counterdata[2][8], 0);
	CHECK_EQ(control_unmeasured(&c, &counters, false), 0);
	CHECK_EQ(control_unmeasured(&c, &counters, true), 0);
	block.control.counterdata[1][8] ^= 1; /* of an earlier collector */
	CHECK_EQ(control_unmeasured(&c, &counters, false), 0);
	CHECK_EQ(control_unmeasured(&c, &counters, true), 2);
	block.control.nr_perf_ctrs = 1;
	CHECK_EQ(control_unmeasured(&c, &counters, false), 2);
	block.control.client_flags = PPT_CLIENT_FLAG_COUNTERS_FAILED;
	CHECK_EQ(control_unmeasured(&c, &counters, false), 3);
	block.control.client_flags |= PPT_CLIENT_FLAG_COUNTERS_SETUP; /* of another thread */
	CHECK_EQ(control_unmeasured(&c, &counters, false), 2);
}

static void saves_of_all_threads_are_added(void)
{
	const struct desc d = { .extended = true, .stamps = true, .multithread = true };
	const struct counters none = { 0 };
	struct frames_control c = control_of(&d, &none, PPT_STAMP_NS);
	struct ppt_count *counts = (void *)(block.bytes + PPT_CONTROL_SIZE);

	CHECK(!control_counts(&c) && !control_saved(&c));
	counts[0].saved = 5;
	counts[PPT_COUNTS - 1].saved = 7;
	block.control.counts_used = 1;
	block.control.dropped = 3;
	CHECK(control_counts(&c));
	CHECK_EQ(control_saved(&c), 12);
	CHECK_EQ(control_dropped(&c), 3);
}

int main(void)
{
	RUN(a_program_with_blocks_has_counts_after_its_block);
	RUN(programs_of_others_have_their_own_order);
	RUN(a_program_is_attached_when_its_answer_is_complete);
	RUN(counters_that_were_not_opened_are_unmeasured);
	RUN(saves_of_all_threads_are_added);
	return 0;
}
