/* SPDX-License-Identifier: MIT */
/* test_guard_life.c - whether a variable of a coroutine exists at a co_await: by lines, by gcc's
 * numbers of blocks, and by the code of a block. */
#include "check.h"
#include "symbols/described_frames.h"

static struct coro_point point = {
	.index = 6, .addr = 0x1500, .file = (char *)"a.cpp", .line = 20
};
static struct frame_block blocks[4];
static struct described_frame frame = { .blocks = blocks };

/* The variable is declared in @line, in block @serial at @depth. */
static enum guard_life life(uint32_t line, unsigned depth, unsigned serial)
{
	struct described_member member = {
		.scope = { .is_known = true, .line = line, .depth = depth, .serial = serial }
	};

	return described_member_life(&frame, &member, &point, true);
}

static void a_co_await_has_a_number(void)
{
	struct coro_point at = { .index = 4 };

	CHECK_EQ(described_point_awaiter(&at, true), 0);
	CHECK_EQ(described_point_awaiter(&at, false), -1);
	CHECK_EQ(described_point_awaiter(NULL, true), -1);
	at.index = 3; /* the initial suspension */
	CHECK_EQ(described_point_awaiter(&at, true), -1);
	at.index = 5;
	CHECK_EQ(described_point_awaiter(&at, true), 0);
	at.index = 6;
	CHECK_EQ(described_point_awaiter(&at, true), 1);
}

static void a_variable_exists_behind_its_line(void)
{
	struct described_member member = { .scope = { .is_known = true,
						      .line = 19,
						      .nr_ranges = 2,
						      .ranges = { { 0x1000, 0x1010 },
								  { 0x1500, 0x1501 } } } };

	frame.nr_blocks = 0;
	CHECK_EQ(described_member_life(&frame, &member, &point, true), GUARD_ALIVE);
	member.scope.line = 20;
	CHECK_EQ(described_member_life(&frame, &member, &point, true), GUARD_DEAD);
	member.scope.line = 19;
	member.scope.is_known = false;
	CHECK_EQ(described_member_life(&frame, &member, &point, true), GUARD_UNSURE);
	member.scope.is_known = true;
	CHECK_EQ(described_member_life(&frame, &member, NULL, true), GUARD_UNSURE);
	point.is_initial = true;
	CHECK_EQ(described_member_life(&frame, &member, &point, true), GUARD_UNSURE);
	point.is_initial = false;
	point.file = NULL;
	CHECK_EQ(described_member_life(&frame, &member, &point, true), GUARD_UNSURE);
	point.file = (char *)"a.cpp";
	/* Its block: from the first byte up to the end. */
	point.addr = 0x1501;
	CHECK_EQ(described_member_life(&frame, &member, &point, true), GUARD_DEAD);
	point.addr = 0x14ff;
	CHECK_EQ(described_member_life(&frame, &member, &point, true), GUARD_DEAD);
	point.addr = 0x1000;
	CHECK_EQ(described_member_life(&frame, &member, &point, true), GUARD_ALIVE);
	point.addr = 0;
	CHECK_EQ(described_member_life(&frame, &member, &point, true), GUARD_UNSURE);
	point.addr = 0x1500;
	member.scope.nr_ranges = 0;
	CHECK_EQ(described_member_life(&frame, &member, &point, true), GUARD_UNSURE);
}

static void blocks_of_gcc_have_numbers(void)
{
	/* The co_await is in block 5 at depth 3; block 2 is around it. */
	blocks[0] = (struct frame_block){ .depth = 1, .serial = 1, .awaiter = -1 };
	blocks[1] = (struct frame_block){ .depth = 2, .serial = 2, .awaiter = 0 };
	blocks[2] = (struct frame_block){ .depth = 3, .serial = 3, .awaiter = -1 };
	blocks[3] = (struct frame_block){ .depth = 3, .serial = 5, .awaiter = 1 };
	frame.nr_blocks = 4;
	CHECK_EQ(life(10, 3, 5), GUARD_ALIVE); /* the same block */
	CHECK_EQ(life(10, 1, 1), GUARD_ALIVE); /* the body of the function */
	CHECK_EQ(life(10, 3, 6), GUARD_DEAD);  /* a later one */
	CHECK_EQ(life(10, 3, 3), GUARD_DEAD);  /* a neighbour */
	CHECK_EQ(life(10, 4, 4), GUARD_DEAD);
	/* Block 4 has no variables: it may have ended block 2. */
	CHECK_EQ(life(10, 2, 2), GUARD_UNSURE);
	blocks[0] = (struct frame_block){ .depth = 3, .serial = 4, .awaiter = -1 };
	CHECK_EQ(life(10, 2, 2), GUARD_ALIVE);
	CHECK_EQ(life(19, 2, 2), GUARD_ALIVE);
	CHECK_EQ(life(20, 2, 2), GUARD_DEAD);
	blocks[0].depth = 2; /* begins after block 2 has ended */
	CHECK_EQ(life(10, 2, 2), GUARD_DEAD);
	/* Without a number, or where the co_await is in no known block. */
	CHECK_EQ(life(10, 2, 0), GUARD_UNSURE);
	blocks[3].awaiter = 2;
	CHECK_EQ(life(10, 3, 5), GUARD_UNSURE);
	CHECK_EQ(life(10, 1, 1), GUARD_UNSURE);
}

static void numbers_are_better_than_code(void)
{
	struct described_member member = { .scope = { .is_known = true,
						      .line = 10,
						      .depth = 1,
						      .serial = 1,
						      .nr_ranges = 1,
						      .ranges = { { 0x1000, 0x1010 } } } };

	blocks[0] = (struct frame_block){ .depth = 2, .serial = 2, .awaiter = 1 };
	frame.nr_blocks = 1;
	CHECK_EQ(described_member_life(&frame, &member, &point, true), GUARD_ALIVE);
	CHECK_EQ(described_member_life(&frame, &member, &point, false), GUARD_DEAD);
}

int main(void)
{
	RUN(a_co_await_has_a_number);
	RUN(a_variable_exists_behind_its_line);
	RUN(blocks_of_gcc_have_numbers);
	RUN(numbers_are_better_than_code);
	return 0;
}
