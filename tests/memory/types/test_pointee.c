/* SPDX-License-Identifier: MIT */
/* test_pointee.c - what pointers point to, and the pointers, arrays and records inside. */
#include <stddef.h>

#include "memory/types/own_types.h"
#include "memory/types/pointee.h"

enum color { RED, GREEN };
struct hidden;

struct inner {
	int number;
	double *sum;
};

struct node {
	struct node *next;
	char *name;
	void *any;
	struct hidden *hidden;
	void (*call)(void);
	enum color *color;
	struct inner in;
	struct inner list[3];
	union {
		struct node *node;
		struct inner *inner;
	} either;
	union {
		struct node *first;
		struct node *second;
	} both;
	unsigned low : 3, high : 5;
	short grid[2][3];
	struct node *refs[4];
	struct {
		const struct inner *volatile unnamed;
	};
};

struct packet {
	int length;
	struct inner parts[];
};

struct handle {
	struct node *node;
};

struct pair {
	struct node *first, *second;
};

struct cell {
	char bytes[16];
};

struct node *node_pointer;
struct packet *packet_pointer;
struct handle handle_value;
struct pair pair_value;
struct node *node_array[5];
struct cell *cell_pointer;
char *char_pointer;
short *short_pointer;
int number_value;
typedef const struct node *node_name;
node_name named_pointer;

static struct types *types;
static struct pointees table;

static uint32_t pointee_at(const void *variable)
{
	Dwarf_Die type = own_type_of(types, variable);

	return pointee_of_value(&table, &type);
}

static uint32_t loaded(size_t offset)
{
	return pointee_load(&table, pointee_at(&node_pointer), offset);
}

static void a_pointer_has_the_type_that_it_points_to(void)
{
	uint32_t node = pointee_at(&node_pointer), small = pointee_at(&short_pointer);
	const struct pointee *p = pointee_get(&table, node);

	CHECK(node);
	CHECK_EQ(p->size, sizeof(struct node));
	CHECK(p->is_record && !p->is_open);
	CHECK_STR(types_get(types, pointee_type(&table, node))->name, "struct node");
	CHECK_EQ(pointee_at(&node_pointer), node);
	CHECK_EQ(pointee_at(&named_pointer), node);
	CHECK_EQ(pointee_get(&table, small)->size, 2);
	CHECK(!pointee_get(&table, small)->is_record);
	CHECK_EQ(pointee_get(&table, pointee_at(&cell_pointer))->size, 16);
	CHECK(!pointee_get(&table, 0));
	CHECK(!pointee_get(&table, table.nr + 1));
	CHECK(pointee_get(&table, table.nr));
	CHECK_EQ(pointee_type(&table, 0), 0);
	CHECK_EQ(pointee_type(&table, table.nr + 1), 0);
}

static void bytes_and_numbers_point_nowhere(void)
{
	CHECK_EQ(pointee_at(&char_pointer), 0);
	CHECK_EQ(pointee_at(&number_value), 0);
}

static void a_record_that_wraps_a_pointer_is_that_pointer(void)
{
	Dwarf_Die pair = own_type_of(types, &pair_value);

	CHECK_EQ(pointee_at(&handle_value), pointee_at(&node_pointer));
	CHECK_EQ(pointee_at(&pair_value), 0); /* two pointers are no value of a register */
	CHECK_EQ(pointee_inside(&table, &pair, 8), pointee_at(&node_pointer));
	CHECK_EQ(pointee_inside(&table, &pair, 4), 0);
	CHECK_EQ(pointee_inside(&table, &pair, 16), 0);
}

static void pointers_inside_a_record_are_found(void)
{
	uint32_t node = pointee_at(&node_pointer);
	uint32_t sum = loaded(offsetof(struct node, in.sum));
	uint32_t inner = loaded(offsetof(struct node, unnamed));
	Dwarf_Die array = own_type_of(types, node_array);

	CHECK_EQ(loaded(offsetof(struct node, next)), node);
	CHECK_EQ(loaded(offsetof(struct node, next) + 4), 0);
	CHECK_EQ(loaded(offsetof(struct node, name)), 0);
	CHECK_EQ(loaded(offsetof(struct node, any)), 0);
	CHECK_EQ(loaded(offsetof(struct node, hidden)), 0);
	CHECK_EQ(loaded(offsetof(struct node, call)), 0);
	CHECK_EQ(pointee_get(&table, loaded(offsetof(struct node, color)))->size, 4);
	CHECK_EQ(loaded(offsetof(struct node, in)), 0);
	CHECK_EQ(pointee_get(&table, sum)->size, 8);
	CHECK(!pointee_get(&table, sum)->is_record);
	CHECK_EQ(loaded(offsetof(struct node, list[2].sum)), sum);
	CHECK_EQ(loaded(offsetof(struct node, list[1])), 0);
	CHECK_EQ(pointee_get(&table, inner)->size, sizeof(struct inner));
	CHECK_EQ(loaded(offsetof(struct node, refs[3])), node);
	CHECK_EQ(loaded(offsetof(struct node, grid)), 0);
	CHECK_EQ(loaded(sizeof(struct node)), 0);
	CHECK_EQ(pointee_load(&table, 0, 0), 0);
	CHECK_EQ(pointee_load(&table, node, UINT32_MAX), 0);
	CHECK_EQ(pointee_inside(&table, &array, 32), node);
	/* The object of an array of pointers is a pointer. */
	CHECK_EQ(pointee_get(&table, pointee_of_object(&table, &array))->size, 8);
}

static void members_of_a_union_have_to_agree(void)
{
	CHECK_EQ(loaded(offsetof(struct node, either)), 0);
	CHECK_EQ(loaded(offsetof(struct node, both)), pointee_at(&node_pointer));
}

/* The second look gives what the first one found. */
static void answers_are_remembered(void)
{
	uint32_t node = pointee_at(&node_pointer);

	CHECK_EQ(pointee_load(&table, node, offsetof(struct node, refs[1])), node);
	CHECK_EQ(pointee_load(&table, node, offsetof(struct node, refs[1])), node);
	CHECK_EQ(pointee_load(&table, node, offsetof(struct node, any)), 0);
	CHECK_EQ(pointee_load(&table, node, offsetof(struct node, any)), 0);
}

static bool node_has_array(size_t offset, uint64_t step)
{
	return pointee_has_array(&table, pointee_at(&node_pointer), offset, step);
}

static void arrays_inside_are_found_by_their_elements(void)
{
	CHECK(node_has_array(offsetof(struct node, list), sizeof(struct inner)));
	CHECK(node_has_array(offsetof(struct node, list[2].sum), sizeof(struct inner) * 2));
	CHECK(!node_has_array(offsetof(struct node, list), 8));
	CHECK(!node_has_array(offsetof(struct node, next), 8));
	CHECK(!node_has_array(offsetof(struct node, in), sizeof(struct inner)));
	CHECK(node_has_array(offsetof(struct node, grid), 2));
	CHECK(!node_has_array(offsetof(struct node, grid), 3));
	CHECK(node_has_array(offsetof(struct node, refs[3]), 8));
	CHECK(!node_has_array(sizeof(struct node), 8));
	CHECK(!pointee_has_array(&table, 0, 0, 8));
}

static void records_inside_are_found(void)
{
	uint32_t node = pointee_at(&node_pointer);
	uint32_t inner = loaded(offsetof(struct node, unnamed));

	CHECK(pointee_contains(&table, node, 0, node));
	CHECK(!pointee_contains(&table, node, 8, node));
	CHECK(pointee_contains(&table, node, offsetof(struct node, in), inner));
	CHECK(!pointee_contains(&table, node, offsetof(struct node, in.sum), inner));
	CHECK(pointee_contains(&table, node, offsetof(struct node, list[1]), inner));
	CHECK(!pointee_contains(&table, node, offsetof(struct node, list[1].sum), inner));
	CHECK(!pointee_contains(&table, inner, 0, node));
	CHECK(!pointee_contains(&table, node, 0, 0));
	CHECK(!pointee_contains(&table, 0, 0, node));
}

static void an_array_without_a_size_may_go_on(void)
{
	uint32_t packet = pointee_at(&packet_pointer);
	uint32_t sum = loaded(offsetof(struct node, in.sum));

	CHECK(pointee_get(&table, packet)->is_open);
	CHECK(!pointee_get(&table, pointee_at(&cell_pointer))->is_open);
	CHECK_EQ(pointee_load(&table, packet, offsetof(struct packet, parts) + 8), sum);
	CHECK_EQ(pointee_load(&table, packet, offsetof(struct packet, parts) + 10 * 16 + 8), sum);
	CHECK_EQ(pointee_load(&table, packet, offsetof(struct packet, parts) + 10 * 16), 0);
	CHECK(pointee_has_array(&table, packet, 200, 16));
	CHECK(!pointee_has_array(&table, packet, 0, 16));
}

int main(void)
{
	types = own_types_open();
	table.types = types;
	RUN(a_pointer_has_the_type_that_it_points_to);
	RUN(bytes_and_numbers_point_nowhere);
	RUN(a_record_that_wraps_a_pointer_is_that_pointer);
	RUN(pointers_inside_a_record_are_found);
	RUN(members_of_a_union_have_to_agree);
	RUN(answers_are_remembered);
	RUN(arrays_inside_are_found_by_their_elements);
	RUN(records_inside_are_found);
	RUN(an_array_without_a_size_may_go_on);
	CHECK(!table.no_memory);
	pointees_release(&table);
	types_free(types);
	return 0;
}
