/* SPDX-License-Identifier: MIT */
/*
 * test_calls.c - misses by function and call: each access once in every function of its stack,
 * however the functions call each other; sums that add up; limits that hold.
 *
 * The functions are those of this program.
 */
#include <link.h>

#include "check.h"
#include "memory/blame/blame.h"
#include "memory/calls/call_flame.h"
#include "memory/calls/callgrind_file.h"

static struct sim_config config;
static struct symbols *symbols;

/* Code addresses: an address after the first instruction of a function. */
#define IN(function) ((uint64_t)(uintptr_t)(function) + 1)

static volatile int used;

__attribute__((noinline)) static void fn_main(void)
{
	used = 1;
}

__attribute__((noinline)) static void fn_a(void)
{
	used = 2;
}

__attribute__((noinline)) static void fn_b(void)
{
	used = 3;
}

__attribute__((noinline)) static void fn_c(void)
{
	used = 4;
}

static int add_program(struct dl_phdr_info *info, size_t size, void *unused)
{
	struct symbol_module m = { .has_bias = true,
				   .bias = info->dlpi_addr,
				   .path = "/proc/self/exe",
				   .start = UINT64_MAX };
	int i;

	(void)size;
	(void)unused;
	for (i = 0; i < info->dlpi_phnum; i++) {
		uint64_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		m.start = from < m.start ? from : m.start;
		m.end = from + info->dlpi_phdr[i].p_memsz;
	}
	CHECK_EQ(symbols_add(symbols, &m), 0);
	return 1; /* the program is the first */
}

static void touch(struct call_tree *t, void (*at)(void), uint32_t nr, uint32_t weight)
{
	struct mem_record r = { .kind = MEM_READ, .pc = IN(at), .weight_256 = weight };
	struct sim_outcome out = { 0 };

	out.level[0].misses = 1;
	while (nr--)
		CHECK_EQ(call_tree_access(t, &r, &out), 0);
}

static void enter(struct call_tree *t, void (*function)(void), void (*from)(void))
{
	CHECK_EQ(call_tree_enter(t, 0, IN(function), from ? IN(from) : 0), 0);
}

static const struct call_function *named(const struct call_profile *p, const char *name)
{
	uint32_t i, found = 0;

	for (i = 0; i < p->nr_functions; i++) {
		if (!strcmp(p->functions[i].name, name))
			found = found ? UINT32_MAX : i;
	}
	CHECK(found != UINT32_MAX);
	return found ? &p->functions[found] : NULL;
}

static uint64_t self_of(const struct call_profile *p, const char *name)
{
	return named(p, name)->self.n[CALL_READS];
}

static uint64_t whole_of(const struct call_profile *p, const char *name)
{
	return named(p, name)->whole.n[CALL_READS];
}

/* The calls of a function have together what the function has. */
static void calls_add_up(const struct call_profile *p)
{
	uint32_t i, j;

	for (i = 1; i < p->nr_functions; i++) {
		struct call_counts sum = { { 0 } };

		for (j = 0; j < p->nr_arcs; j++) {
			if (p->arcs[j].callee == i)
				call_counts_add(&sum, &p->arcs[j].whole);
		}
		CHECK(!memcmp(&sum, &p->functions[i].whole, sizeof(sum)));
	}
}

static struct call_profile *profile_of(struct call_tree *t)
{
	struct call_profile *p = call_profile_new(t, symbols);

	CHECK(p);
	calls_add_up(p);
	return p;
}

static void an_access_counts_once_in_each_function_of_its_stack(void)
{
	struct call_tree *t = call_tree_new(&config);
	struct call_profile *p;

	enter(t, fn_main, NULL);
	touch(t, fn_main, 1, 256);
	enter(t, fn_a, fn_main);
	touch(t, fn_a, 10, 256);
	enter(t, fn_b, fn_a);
	touch(t, fn_b, 100, 256);
	call_tree_leave(t, 0, 1);
	call_tree_leave(t, 0, 1);
	enter(t, fn_b, fn_main);
	touch(t, fn_b, 1000, 256);
	p = profile_of(t);
	CHECK_EQ(whole_of(p, "fn_main"), 1111);
	CHECK_EQ(self_of(p, "fn_main"), 1);
	CHECK_EQ(whole_of(p, "fn_a"), 110);
	CHECK_EQ(self_of(p, "fn_b"), 1100);
	CHECK_EQ(whole_of(p, "fn_b"), 1100);
	CHECK_EQ(named(p, "fn_b")->calls, 2);
	CHECK_EQ(call_profile_total(p)->n[CALL_READS], 1111);
	CHECK_EQ(call_profile_cost(p, call_profile_total(p)),
		 1111 * blame_level_cost(0, config.nr_levels));
	call_profile_free(p);
	call_tree_free(t);
}

static void recursion_counts_once(void)
{
	struct call_tree *t = call_tree_new(&config);
	struct call_profile *p;
	int i;

	enter(t, fn_main, NULL);
	for (i = 0; i < 5; i++) { /* a calls b, b calls a */
		enter(t, fn_a, i ? fn_b : fn_main);
		touch(t, fn_a, 1, 256);
		enter(t, fn_b, fn_a);
		touch(t, fn_b, 10, 256);
		enter(t, fn_b, fn_b);
		touch(t, fn_b, 100, 256);
	}
	p = profile_of(t);
	CHECK_EQ(self_of(p, "fn_a"), 5);
	CHECK_EQ(self_of(p, "fn_b"), 550);
	CHECK_EQ(whole_of(p, "fn_a"), 555);
	CHECK_EQ(whole_of(p, "fn_b"), 554); /* all but the first access of a */
	CHECK_EQ(whole_of(p, "fn_main"), 555);
	call_profile_free(p);
	call_tree_free(t);
}

static void code_between_two_functions_is_a_function(void)
{
	struct call_tree *t = call_tree_new(&config);
	struct call_flame flame;
	struct call_profile *p;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	enter(t, fn_main, NULL);
	enter(t, fn_c, fn_b); /* main runs b, without a record: it is inlined, or a library */
	touch(t, fn_c, 7, 256);
	touch(t, fn_a, 3, 256); /* a is inlined into c */
	p = profile_of(t);
	CHECK_EQ(whole_of(p, "fn_b"), 10);
	CHECK_EQ(whole_of(p, "fn_c"), 10);
	CHECK_EQ(self_of(p, "fn_c"), 7);
	CHECK_EQ(self_of(p, "fn_a"), 3);
	CHECK_EQ(named(p, "fn_b")->calls, 0);
	CHECK_EQ(named(p, "fn_c")->calls, 1);
	CHECK_EQ(call_flame_make(&flame, p), 0);
	CHECK_EQ(call_flame_write(&flame, CALL_MEASURE_ACCESSES, out), 0);
	fclose(out);
	CHECK_STR(text, "fn_main;fn_b;fn_c 7\nfn_main;fn_b;fn_c;fn_a 3\n");
	free(text);
	call_flame_release(&flame);
	call_profile_free(p);
	call_tree_free(t);
}

static void a_function_that_is_partly_inlined_is_one_frame(void)
{
	struct call_tree *t = call_tree_new(&config);
	struct call_profile *p;

	enter(t, fn_main, NULL);
	enter(t, fn_a, fn_a); /* the first part of a is in main */
	touch(t, fn_a, 5, 256);
	enter(t, fn_a, fn_a); /* recursion */
	touch(t, fn_a, 7, 256);
	p = profile_of(t);
	CHECK_EQ(p->nr_frames, 4); /* the root, main, a, a */
	CHECK_EQ(whole_of(p, "fn_a"), 12);
	CHECK_EQ(named(p, "fn_a")->calls, 2);
	call_profile_free(p);
	call_tree_free(t);
}

static void fractions_of_a_sample_add_up(void)
{
	struct call_tree *t = call_tree_new(&config);
	struct call_profile *p;

	enter(t, fn_main, NULL);
	touch(t, fn_a, 1, 256 + 128);
	touch(t, fn_b, 1, 256 + 64);
	touch(t, fn_c, 1, 256 + 64);
	p = profile_of(t);
	CHECK_EQ(whole_of(p, "fn_main"), 4);
	CHECK_EQ(self_of(p, "fn_a") + self_of(p, "fn_b") + self_of(p, "fn_c"), 4);
	call_profile_free(p);
	call_tree_free(t);
}

static void without_stacks_functions_have_their_own_accesses(void)
{
	struct call_tree *t = call_tree_new(&config);
	struct call_profile *p;

	touch(t, fn_a, 2, 256);
	touch(t, fn_b, 3, 256);
	p = profile_of(t);
	CHECK(!p->has_stacks);
	CHECK_EQ(self_of(p, "fn_a"), 2);
	CHECK_EQ(self_of(p, "fn_b"), 3);
	CHECK_EQ(call_profile_total(p)->n[CALL_READS], 5);
	call_profile_free(p);
	call_tree_free(t);
}

static void depth_and_variety_are_bounded(void)
{
	struct call_tree *t = call_tree_new(&config);
	struct call_profile *p;
	uint32_t i;

	enter(t, fn_main, NULL);
	for (i = 0; i < 100000; i++)
		enter(t, fn_a, fn_a);
	touch(t, fn_a, 5, 256);
	CHECK(t->nr_nodes <= CALL_DEPTH_MAX + 1);
	CHECK_EQ(t->merged_calls, 100001 - CALL_DEPTH_MAX);
	CHECK_EQ(call_tree_leave(t, 0, 50000), 0);
	for (i = 0; i < 50000; i++)
		CHECK_EQ(call_tree_leave(t, 0, 1), 0);
	touch(t, fn_main, 1, 256);
	for (i = 0; i < 2 * CALL_NODES_MAX; i++) {
		CHECK_EQ(call_tree_enter(t, 0, IN(fn_b), i + 1), 0);
		touch(t, fn_b, 1, 256);
		CHECK_EQ(call_tree_leave(t, 0, 1), 0);
	}
	CHECK(t->nr_nodes <= CALL_NODES_MAX);
	p = profile_of(t);
	CHECK_EQ(whole_of(p, "fn_main"), 6 + 2 * CALL_NODES_MAX);
	CHECK_EQ(self_of(p, "fn_main"), 1);
	CHECK_EQ(whole_of(p, "fn_a"), 5);
	CHECK_EQ(whole_of(p, "fn_b"), 2 * CALL_NODES_MAX);
	call_profile_free(p);
	call_tree_free(t);
}

static void several_functions_are_left_at_once(void)
{
	struct call_tree *t = call_tree_new(&config);
	struct call_profile *p;

	enter(t, fn_main, NULL);
	enter(t, fn_a, fn_main);
	enter(t, fn_b, fn_a);
	CHECK_EQ(call_tree_leave(t, 0, 2), 0);
	touch(t, fn_main, 3, 256);
	/* Said again, as at the start of a block: not a call. */
	CHECK_EQ(call_tree_clear(t, 0), 0);
	CHECK_EQ(call_tree_repeat(t, 0, IN(fn_main), 0), 0);
	CHECK_EQ(call_tree_repeat(t, 0, IN(fn_a), IN(fn_main)), 0);
	touch(t, fn_a, 4, 256);
	p = profile_of(t);
	CHECK_EQ(self_of(p, "fn_main"), 3);
	CHECK_EQ(whole_of(p, "fn_main"), 7);
	CHECK_EQ(whole_of(p, "fn_a"), 4);
	CHECK_EQ(whole_of(p, "fn_b"), 0);
	CHECK_EQ(named(p, "fn_main")->calls, 1);
	CHECK_EQ(named(p, "fn_a")->calls, 1);
	call_profile_free(p);
	call_tree_free(t);
}

static void leaving_more_than_was_entered_stays_at_the_root(void)
{
	struct call_tree *t = call_tree_new(&config);

	CHECK_EQ(call_tree_leave(t, 3, 1), 0);
	CHECK_EQ(call_tree_leave(t, UINT32_MAX, UINT64_MAX), 0);
	CHECK_EQ(call_tree_enter(t, UINT32_MAX, IN(fn_a), 0), 0);
	enter(t, fn_a, NULL);
	CHECK_EQ(call_tree_clear(t, 0), 0);
	touch(t, fn_b, 1, 256);
	CHECK_EQ(t->slots[0].node, 0);
	call_tree_free(t);
}

int main(void)
{
	sim_config_default(&config);
	symbols = symbols_new();
	CHECK(symbols);
	dl_iterate_phdr(add_program, NULL);
	RUN(an_access_counts_once_in_each_function_of_its_stack);
	RUN(recursion_counts_once);
	RUN(code_between_two_functions_is_a_function);
	RUN(a_function_that_is_partly_inlined_is_one_frame);
	RUN(fractions_of_a_sample_add_up);
	RUN(without_stacks_functions_have_their_own_accesses);
	RUN(depth_and_variety_are_bounded);
	RUN(several_functions_are_left_at_once);
	RUN(leaving_more_than_was_entered_stays_at_the_root);
	symbols_free(symbols);
	return 0;
}
