/* SPDX-License-Identifier: MIT */
/* test_time_diff.c - the stacks of two versions as one tree: places are paired though lines move.
 */
#include "export/time_diff.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

/* One stack: a kind, and an await in @function at @line. */
static void add_stack(struct time_tree *t, const char *kind, const char *function, const char *file,
		      uint32_t line, uint64_t ns)
{
	int64_t below = time_tree_place(t, kind, "src/main.c", 1);
	int64_t place = time_tree_place(t, function, file, line);
	int64_t level = time_tree_child(t, 0, (uint32_t)below);

	level = time_tree_child(t, (uint32_t)level, (uint32_t)place);
	time_tree_add(t, (uint32_t)level, ns);
}

static const struct time_diff_node *node_at(const struct time_diff *d, const char *name,
					    uint32_t line)
{
	size_t i;

	for (i = 1; i < d->nr; i++) {
		if (!strcmp(d->nodes[i].place->name, name) && d->nodes[i].place->line == line)
			return &d->nodes[i];
	}
	return NULL;
}

static void places_are_the_same_though_lines_moved(void)
{
	struct time_diff d = { .nr = 0 };
	struct time_tree run = { .nr_levels = 0 };

	add_stack(&d.sides[TIME_BASE], "worker", "serve", "/old/server.c", 10, 5);
	add_stack(&d.sides[TIME_BASE], "worker", "serve", "/old/server.c", 20, 7);
	add_stack(&d.sides[TIME_HEAD], "worker", "serve", "/new/dir/server.c", 110, 50);
	/* Runs of a side are added. */
	add_stack(&run, "worker", "serve", "/new/dir/server.c", 120, 70);
	add_stack(&run, "worker", "serve", "/new/dir/server.c", 110, 1);
	CHECK_EQ(time_tree_join(&d.sides[TIME_HEAD], &run), 0);
	CHECK_EQ(time_diff_make(&d), 0);
	CHECK_EQ(d.nr, 4);
	CHECK_EQ(d.nodes[0].ns[TIME_BASE], 12);
	CHECK_EQ(d.nodes[0].ns[TIME_HEAD], 121);
	CHECK_EQ(node_at(&d, "worker", 1)->ns[TIME_HEAD], 121);
	CHECK_EQ(node_at(&d, "serve", 110)->ns[TIME_BASE], 5);
	CHECK_EQ(node_at(&d, "serve", 110)->ns[TIME_HEAD], 51);
	CHECK_EQ(node_at(&d, "serve", 120)->ns[TIME_BASE], 7);
	time_tree_release(&run);
	time_diff_release(&d);
}

/* Another number of lines in the function: only equal lines are the same. */
static void with_another_number_of_lines_only_equal_ones_are_the_same(void)
{
	struct time_diff d = { .nr = 0 };

	add_stack(&d.sides[TIME_BASE], "worker", "serve", "server.c", 10, 5);
	add_stack(&d.sides[TIME_HEAD], "worker", "serve", "server.c", 8, 6);
	add_stack(&d.sides[TIME_HEAD], "worker", "serve", "server.c", 10, 7);
	add_stack(&d.sides[TIME_HEAD], "other", "serve", "server.c", 10, 9);
	CHECK_EQ(time_diff_make(&d), 0);
	CHECK_EQ(node_at(&d, "serve", 8)->ns[TIME_BASE], 0);
	CHECK_EQ(node_at(&d, "serve", 10)->ns[TIME_BASE], 5);
	CHECK_EQ(node_at(&d, "serve", 10)->ns[TIME_HEAD], 7);
	CHECK_EQ(node_at(&d, "other", 1)->ns[TIME_HEAD], 9);
	CHECK_EQ(d.nodes[0].ns[TIME_HEAD], 22);
	time_diff_release(&d);
}

static void the_largest_nodes_are_chosen(void)
{
	struct time_diff d = { .nr = 0 };
	uint32_t *numbers, nr, i, last = 0;
	char name[16];

	for (i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		add_stack(&d.sides[i % 2], "worker", name, "server.c", 1, 1 + i);
	}
	CHECK_EQ(time_diff_make(&d), 0);
	numbers = calloc(d.nr, sizeof(*numbers));
	CHECK(numbers);
	nr = time_diff_choose(&d, 100, 1u << 30, numbers);
	CHECK(nr <= 100 && nr >= 2);
	for (i = 0; i < d.nr; i++) {
		if (numbers[i] == UINT32_MAX)
			continue;
		CHECK(i == 0 || numbers[d.nodes[i].parent] < numbers[i]);
		CHECK_EQ(numbers[i], last++);
	}
	CHECK_EQ(last, nr);
	nr = time_diff_choose(&d, 100000, 1u << 30, numbers);
	CHECK_EQ(nr, d.nr);
	free(numbers);
	time_diff_release(&d);
}

static void two_empty_sides_have_one_node(void)
{
	struct time_diff d = { .nr = 0 };
	uint32_t numbers[1];

	CHECK_EQ(time_diff_make(&d), 0);
	CHECK_EQ(time_diff_choose(&d, 10, 100, numbers), 1);
	time_diff_release(&d);
}

int main(void)
{
	RUN(places_are_the_same_though_lines_moved);
	RUN(with_another_number_of_lines_only_equal_ones_are_the_same);
	RUN(the_largest_nodes_are_chosen);
	RUN(two_empty_sides_have_one_node);
	return 0;
}
