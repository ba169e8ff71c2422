/* SPDX-License-Identifier: MIT */
/* test_block_decide.c - the type of heap blocks by the accesses to them. */
#include <stddef.h>

#include "memory/types/block_votes.h"
#include "memory/types/own_types.h"

struct point {
	int x, y;
};

struct shape {
	long kind;
	struct point at;
	struct point corners[2];
};

struct message {
	long length;
	char text[];
};

struct record_head {
	int kind;
	int length;
};

struct record_full {
	int kind;
	int length;
	double value;
};

struct record_other {
	int kind;
	int width;
	double value;
};

struct point point_value;
struct shape shape_value;
struct message message_value;
struct record_head head_value;
struct record_full full_value;
struct record_other other_value;

static struct types *types;
static struct block_vote votes[16];
static struct vote_list list;
static struct block_group group;

static uint32_t type_number(const char *name)
{
	uint32_t number = types_by_name(types, name);

	CHECK(number);
	return number;
}

static void begin_group(uint64_t size)
{
	memset(votes, 0, sizeof(votes));
	list = (struct vote_list){ .votes = votes };
	group = (struct block_group){ .size = size };
}

/* @count accesses of @size bytes, @offset inside an object of a type, at @first to @last of the
 * block. */
static struct block_vote *add_vote(const char *type, uint64_t offset, uint32_t size, uint64_t first,
				   uint64_t last, uint64_t count)
{
	struct block_vote *v = &votes[list.nr++];

	CHECK(list.nr <= 16);
	*v = (struct block_vote){ .type = type_number(type),
				  .offset = offset,
				  .size = size,
				  .first = first,
				  .last = last,
				  .count = count };
	v->is_record = type_is_record(types_get(types, v->type));
	return v;
}

static void expect_type(const char *type, uint64_t header, uint64_t stride)
{
	block_decide(types, &group, &list);
	CHECK_EQ(group.type, type ? type_number(type) : 0);
	if (!type)
		return;
	CHECK_EQ(group.header, header);
	CHECK_EQ(group.stride, stride);
}

static void accesses_to_members_name_the_record(void)
{
	begin_group(sizeof(struct point));
	add_vote("struct point", 0, 4, 0, 0, 10);
	add_vote("struct point", 4, 4, 4, 4, 5);
	expect_type("struct point", 0, 8);
	CHECK_EQ(group.votes, 15);
	CHECK_EQ(group.agreeing, 15);
}

static void an_array_has_the_stride_of_its_elements(void)
{
	begin_group(80);
	add_vote("struct point", 4, 4, 4, 76, 10);
	expect_type("struct point", 0, 8);
	begin_group(84); /* not a whole number of points, but more than one was accessed */
	add_vote("struct point", 4, 4, 4, 12, 10);
	expect_type("struct point", 0, 8);
	begin_group(84); /* one point, and something else */
	add_vote("struct point", 4, 4, 4, 4, 10);
	expect_type("struct point", 0, 84);
}

static void accesses_that_do_not_fit_are_doubts(void)
{
	begin_group(16);
	add_vote("struct point", 0, 4, 0, 8, 90);
	add_vote("struct point", 4, 4, 8, 8, 10); /* y is not where x is */
	expect_type("struct point", 0, 8);
	CHECK_EQ(group.votes, 100);
	CHECK_EQ(group.agreeing, 90);
	begin_group(16);
	add_vote("struct point", 0, 4, 0, 8, 89);
	add_vote("struct point", 4, 4, 8, 8, 11);
	expect_type(NULL, 0, 0);
	begin_group(16);
	add_vote("struct point", 0, 4, 0, 8, 89);
	list.others = 11;
	expect_type(NULL, 0, 0);
	CHECK_EQ(group.votes, 100);
	begin_group(16);
	expect_type(NULL, 0, 0);
}

static void a_record_that_contains_the_others_wins(void)
{
	begin_group(sizeof(struct shape));
	add_vote("struct point", 4, 4, offsetof(struct shape, at.y), offsetof(struct shape, at.y),
		 10);
	add_vote("struct point", 0, 4, offsetof(struct shape, corners),
		 offsetof(struct shape, corners[1]), 10);
	add_vote("struct shape", 0, 8, 0, 0, 1);
	expect_type("struct shape", 0, sizeof(struct shape));
	CHECK_EQ(group.agreeing, 21);
	begin_group(sizeof(struct shape));
	add_vote("struct shape", 0, 8, 0, 0, 1);
	add_vote("struct point", 0, 4, offsetof(struct shape, at.y), offsetof(struct shape, at.y),
		 10);
	expect_type(NULL, 0, 0);
}

static void numbers_are_certain_in_an_array_only(void)
{
	begin_group(80);
	add_vote("int", 0, 4, 0, 76, 10);
	expect_type("int", 0, 4);
	begin_group(80);
	add_vote("int", 0, 4, 8, 8, 10);
	expect_type(NULL, 0, 0);
	begin_group(4); /* the block is one number */
	add_vote("int", 0, 4, 0, 0, 10);
	expect_type("int", 0, 4);
	begin_group(80);
	add_vote("int", 0, 4, 0, 76, 10);
	list.silent = 2; /* accesses of unknown type */
	expect_type(NULL, 0, 0);
	begin_group(80);
	add_vote("struct point", 0, 4, 0, 72, 10);
	list.silent = 100; /* do not matter for a record */
	expect_type("struct point", 0, 8);
}

static void an_allocator_may_have_a_header(void)
{
	begin_group(16 + sizeof(struct shape));
	add_vote("struct shape", 0, 8, 16, 16, 10)->distance = 16;
	expect_type("struct shape", 16, sizeof(struct shape));
	begin_group(16 + 3 * sizeof(struct point)); /* the allocator's number is seen */
	add_vote("struct point", 0, 4, 16, 32, 10)->distance = 16;
	add_vote(LONG_INT, 0, 8, 8, 8, 5);
	expect_type("struct point", 16, 8);
	CHECK_EQ(group.votes, 10);
	begin_group(8 + sizeof(struct shape));
	add_vote("struct shape", 0, 8, 8, 8, 10)->distance = 8;
	add_vote("struct point", 4, 4, 8 + offsetof(struct shape, at.y),
		 8 + offsetof(struct shape, at.y), 10);
	expect_type("struct shape", 8, sizeof(struct shape));
	CHECK_EQ(group.agreeing, 20);
	begin_group(100); /* a number that is not only in the header */
	add_vote("struct shape", 0, 8, 8, 8, 10)->distance = 8;
	add_vote(LONG_INT, 0, 8, 4, 4, 1);
	block_decide(types, &group, &list);
	CHECK_EQ(group.header, 0);
	begin_group(72 + sizeof(struct shape)); /* too long for a header */
	add_vote("struct shape", 0, 8, 72, 72, 10)->distance = 72;
	expect_type(NULL, 0, 0);
	begin_group(16 + sizeof(struct shape)); /* a record is no header */
	add_vote("struct shape", 0, 8, 16, 16, 10)->distance = 16;
	add_vote("struct point", 4, 4, 4, 4, 100);
	block_decide(types, &group, &list);
	CHECK_EQ(group.header, 0);
}

/* One object far inside the block is a part of something else. */
static void a_part_elsewhere_does_not_name_the_block(void)
{
	begin_group(4096);
	add_vote("struct point", 0, 4, 64, 64, 100);
	expect_type(NULL, 0, 0);
	begin_group(4096);
	add_vote("struct point", 0, 4, 64, 72, 100);
	expect_type("struct point", 0, 8);
}

static void a_tail_takes_the_rest_of_the_block(void)
{
	begin_group(100);
	add_vote("struct message", 0, 8, 0, 0, 10);
	add_vote("char", 0, 1, 8, 99, 100);
	expect_type("struct message", 0, 100);
}

static void the_allocating_call_may_name_the_type(void)
{
	begin_group(24);
	group.given = type_number("struct point");
	add_vote("struct shape", 0, 8, 0, 0, 10);
	expect_type("struct point", 0, 8);
	CHECK_EQ(group.votes, 10);
	CHECK_EQ(group.agreeing, 0);
	begin_group(12);
	group.given = type_number("struct point");
	expect_type("struct point", 0, 12);
	begin_group(7); /* too small for it */
	group.given = type_number("struct point");
	expect_type(NULL, 0, 0);
}

/* Records of C that begin with the same members are used as each other. */
static void the_same_first_members_are_one_type(void)
{
	begin_group(sizeof(struct record_full));
	add_vote("struct record_head", 4, 4, 4, 4, 100);
	add_vote("struct record_full", 8, 8, 8, 8, 1);
	expect_type("struct record_full", 0, sizeof(struct record_full));
	CHECK_EQ(group.agreeing, 101);
	begin_group(sizeof(struct record_other));
	add_vote("struct record_head", 4, 4, 4, 4, 5); /* no "length" there */
	add_vote("struct record_other", 8, 8, 8, 8, 5);
	expect_type(NULL, 0, 0);
	begin_group(sizeof(struct record_full));
	add_vote("struct record_head", 8, 8, 8, 8, 5); /* after its end */
	add_vote("struct record_full", 8, 8, 8, 8, 5);
	expect_type(NULL, 0, 0);
}

static void a_prefix_has_the_same_fields(void)
{
	uint32_t head = type_number("struct record_head"), full = type_number("struct record_full");
	uint32_t other = type_number("struct record_other"), number = type_number("int");

	CHECK(block_is_prefix(types, head, full));
	CHECK(!block_is_prefix(types, full, head));
	CHECK(block_is_prefix(types, head, head));
	CHECK(block_is_prefix(types, number, number));
	CHECK(!block_is_prefix(types, head, other));
	CHECK(!block_is_prefix(types, number, full));
	CHECK(!block_is_prefix(types, head, number));
	CHECK(!block_is_prefix(types, type_number("struct point"), full));
}

static void decide_as(const char *type, const char *expected, uint64_t stride)
{
	block_decide_as(types, &group, &list, type_number(type));
	CHECK_EQ(group.type, expected ? type_number(expected) : 0);
	CHECK_EQ(group.stride, stride);
}

static void other_blocks_of_a_call_may_name_the_type(void)
{
	begin_group(32);
	add_vote("struct record_head", 0, 4, 0, 0, 10);
	decide_as("struct record_full", "struct record_full", 16);
	CHECK_EQ(group.votes, 10);
	CHECK_EQ(group.agreeing, 10);
	begin_group(32); /* instead of one that only names the first members */
	group.type = type_number("struct record_head");
	decide_as("struct record_full", "struct record_full", 16);
	begin_group(32);
	group.type = type_number("struct point");
	decide_as("struct record_full", "struct point", 0);
	begin_group(33); /* no whole number of them */
	decide_as("struct record_full", NULL, 0);
	begin_group(32);
	group.given = type_number("struct point");
	decide_as("struct record_full", NULL, 0);
	begin_group(32);
	decide_as("int", NULL, 0);
	begin_group(32); /* the votes contradict */
	add_vote("struct record_other", 4, 4, 4, 4, 10);
	decide_as("struct record_full", NULL, 0);
	begin_group(33); /* a tail fits any size */
	decide_as("struct message", "struct message", 33);
}

int main(void)
{
	types = own_types_open();
	RUN(accesses_to_members_name_the_record);
	RUN(an_array_has_the_stride_of_its_elements);
	RUN(accesses_that_do_not_fit_are_doubts);
	RUN(a_record_that_contains_the_others_wins);
	RUN(numbers_are_certain_in_an_array_only);
	RUN(an_allocator_may_have_a_header);
	RUN(a_part_elsewhere_does_not_name_the_block);
	RUN(a_tail_takes_the_rest_of_the_block);
	RUN(the_allocating_call_may_name_the_type);
	RUN(the_same_first_members_are_one_type);
	RUN(a_prefix_has_the_same_fields);
	RUN(other_blocks_of_a_call_may_name_the_type);
	types_free(types);
	return 0;
}
