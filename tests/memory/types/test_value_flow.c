/* SPDX-License-Identifier: MIT */
/* test_value_flow.c - pointers followed through steps of code, to the calls that get them. */
#include <elf.h>
#include <errno.h>
#include <stddef.h>

#include "memory/types/own_types.h"
#include "memory/types/value_flow.h"

#define FLOW_ENTRY 0x1000
#define RAX        0
#define RBX        3
#define RSI        4
#define RDI        5
#define RBP        6
#define RSP        7
#define CALLEE     0x9000

struct leaf {
	long number;
	double value;
};

struct tree {
	struct tree *left, *right;
	struct leaf *leaf;
	struct leaf leaves[4];
};

struct tree *tree_pointer;
struct leaf *leaf_pointer;

static struct types *types;
static struct pointees table;
static uint32_t tree, leaf;

/* One function: its steps, its variables, and what its calls got. */
struct function {
	struct code_step steps[64];
	struct variable_range ranges[8];
	struct code_steps list;
	struct variable_ranges variables;
	struct flow_target got[16][2];
	uint64_t returns[16], called[16];
	size_t nr_got;
	uint64_t frame_at; /* the frame ends 16 bytes above rbp here */
	uint32_t result;   /* of calls */
	bool has_handlers;
};

static struct function fn;

/* ---- the function ------------------------------------------------------------ */

/* Instructions are 4 bytes. */
static struct code_step *add_step(uint8_t kind)
{
	struct code_step *s = &fn.steps[fn.list.nr];

	CHECK(fn.list.nr < 64);
	*s = (struct code_step){ .addr = FLOW_ENTRY + 4 * fn.list.nr,
				 .next = FLOW_ENTRY + 4 * fn.list.nr + 4,
				 .kind = kind,
				 .dst = -1,
				 .src = -1,
				 .base = -1,
				 .index = -1,
				 .scale = 1,
				 .width = 8 };
	fn.list.nr++;
	return s;
}

static uint64_t here(void)
{
	return FLOW_ENTRY + 4 * fn.list.nr;
}

static void begin_function(void)
{
	fn = (struct function){ 0 };
	fn.list.list = fn.steps;
	fn.variables.list = fn.ranges;
}

static void emit_set(int dst, int base, int64_t disp)
{
	struct code_step *s = add_step(STEP_SET);

	s->dst = (int8_t)dst;
	s->base = (int8_t)base;
	s->disp = disp;
}

static void emit_add(int dst, int index, int64_t scale)
{
	struct code_step *s = add_step(STEP_SET);

	s->dst = s->base = (int8_t)dst;
	s->index = (int8_t)index;
	s->scale = scale;
}

static void emit_load(int dst, int base, int64_t disp)
{
	struct code_step *s = add_step(STEP_LOAD);

	s->dst = (int8_t)dst;
	s->base = (int8_t)base;
	s->disp = disp;
}

static void emit_store(int src, int base, int64_t disp)
{
	struct code_step *s = add_step(STEP_STORE);

	s->src = (int8_t)src;
	s->base = (int8_t)base;
	s->disp = disp;
}

static void emit_call(void)
{
	add_step(STEP_CALL)->target = CALLEE;
}

static void emit_forget(int reg)
{
	add_step(STEP_OTHER)->written = 1u << reg;
}

/* @reg has a pointer to @pointee, in the code from @start to @end. */
static void add_variable(int reg, uint32_t pointee, uint64_t start, uint64_t end)
{
	struct variable_range *r = &fn.ranges[fn.variables.nr_registers++];

	*r = (struct variable_range){ .start = start, .end = end, .reg = reg, .pointee = pointee };
	fn.variables.nr = fn.variables.nr_registers;
}

/* Two paths: the second one from what this returns. */
static struct code_step *emit_branch(void)
{
	return add_step(STEP_BRANCH);
}

/* A branch over @nr instructions. */
static void emit_skip(unsigned nr)
{
	struct code_step *s = emit_branch();

	s->target = s->next + 4 * nr;
}

/* ---- the questions of the flow ------------------------------------------------------ */

static uint32_t result_of_call(void *arg, uint64_t target)
{
	(void)arg;
	CHECK_EQ(target, CALLEE);
	return fn.result;
}

static bool global_at(void *arg, uint64_t addr, Dwarf_Die *type, uint64_t *offset)
{
	(void)arg;
	return types_variable_type(types, addr, type, offset);
}

static bool known_frame(void *arg, uint64_t addr, int *reg, int64_t *offset)
{
	(void)arg;
	*reg = RBP;
	*offset = 16;
	return addr == fn.frame_at;
}

static void note_call(void *arg, uint64_t addr, uint64_t target,
		      const struct flow_target targets[2])
{
	(void)arg;
	CHECK(fn.nr_got < 16);
	memcpy(fn.got[fn.nr_got], targets, sizeof(fn.got[0]));
	fn.called[fn.nr_got] = target;
	fn.returns[fn.nr_got++] = addr;
}

static int run_function(void)
{
	const struct flow_input in = { .steps = &fn.list,
				       .machine = code_machine(EM_X86_64),
				       .ranges = &fn.variables,
				       .pointees = &table,
				       .entry = FLOW_ENTRY,
				       .has_handlers = fn.has_handlers,
				       .result_of = result_of_call,
				       .variable_at = global_at,
				       .frame_at = known_frame,
				       .each_call = note_call };

	return value_flow_run(&in);
}

/* Run the function; its last call got @pointee and @offset as its first argument. */
static void expect_argument(uint32_t pointee, uint64_t offset)
{
	add_step(STEP_END);
	CHECK_EQ(run_function(), 0);
	CHECK(fn.nr_got > 0);
	CHECK_EQ(fn.got[fn.nr_got - 1][0].pointee, pointee);
	if (pointee)
		CHECK_EQ(fn.got[fn.nr_got - 1][0].offset, offset);
}

/* ---- one path ------------------------------------------------------------------------ */

static void a_variable_in_a_register_reaches_a_call(void)
{
	begin_function();
	add_variable(RDI, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	add_variable(RSI, leaf, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_call();
	expect_argument(tree, 0);
	CHECK_EQ(fn.nr_got, 1);
	CHECK_EQ(fn.got[0][1].pointee, leaf);
	CHECK_EQ(fn.returns[0], FLOW_ENTRY + 4);
	CHECK_EQ(fn.called[0], CALLEE);
	CHECK(!fn.got[0][0].is_indexed);
}

static void a_variable_is_known_only_in_its_range(void)
{
	begin_function();
	add_variable(RSI, tree, FLOW_ENTRY + 4, FLOW_ENTRY + 8);
	add_variable(RSI, leaf, FLOW_ENTRY + 8, FLOW_ENTRY + 8);
	emit_forget(RAX);
	emit_set(RDI, RSI, 0); /* the range begins here, in a block */
	emit_forget(RSI);
	emit_call();
	expect_argument(tree, 0);
	CHECK_EQ(fn.got[0][1].pointee, 0);
}

static void a_pointer_may_point_inside(void)
{
	begin_function();
	add_variable(RDI, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_set(RDI, RDI, offsetof(struct tree, leaves));
	emit_call();
	expect_argument(tree, offsetof(struct tree, leaves));
	begin_function();
	add_variable(RDI, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_set(RDI, RDI, sizeof(struct tree)); /* after the object: perhaps other data */
	emit_call();
	expect_argument(0, 0);
	begin_function();
	add_variable(RDI, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_set(RDI, RDI, -8);
	emit_call();
	expect_argument(0, 0);
}

static void an_unknown_index_stays_in_its_array(void)
{
	begin_function();
	add_variable(RDI, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_set(RDI, RDI, offsetof(struct tree, leaves));
	emit_add(RDI, RSI, sizeof(struct leaf));
	emit_call();
	expect_argument(tree, offsetof(struct tree, leaves));
	CHECK(fn.got[0][0].is_indexed);
	begin_function();
	add_variable(RDI, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_add(RDI, RSI, sizeof(struct leaf)); /* no array begins at 0 */
	emit_call();
	expect_argument(0, 0);
	begin_function();
	add_variable(RDI, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_add(RDI, RSI, sizeof(struct tree)); /* an array of trees */
	emit_call();
	expect_argument(tree, 0);
	CHECK(!fn.got[0][0].is_indexed);
}

static void pointers_are_loaded_from_objects_and_variables(void)
{
	begin_function();
	add_variable(RBX, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_load(RBX, RBX, offsetof(struct tree, right));
	emit_load(RDI, RBX, offsetof(struct tree, leaf));
	emit_call();
	expect_argument(leaf, 0);
	begin_function();
	emit_load(RDI, -1, (int64_t)(uintptr_t)&leaf_pointer);
	emit_call();
	expect_argument(leaf, 0);
	begin_function();
	add_variable(RBX, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_load(RDI, RBX, offsetof(struct tree, leaf));
	fn.steps[0].width = 4; /* half a pointer */
	emit_call();
	expect_argument(0, 0);
}

static void a_call_changes_registers_but_not_the_frame(void)
{
	begin_function();
	add_variable(RDI, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_set(RBX, RDI, 0);
	emit_store(RDI, RSP, -16);
	emit_call();
	emit_call(); /* rdi is unknown, rbx is not */
	emit_set(RDI, RBX, 0);
	emit_call();
	emit_load(RDI, RSP, -16);
	emit_call();
	expect_argument(tree, 0);
	CHECK_EQ(fn.nr_got, 4);
	CHECK_EQ(fn.got[1][0].pointee, 0);
	CHECK_EQ(fn.got[2][0].pointee, tree);
}

static void a_store_replaces_what_a_slot_had(void)
{
	begin_function();
	add_variable(RDI, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	add_variable(RBX, leaf, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_store(RDI, RSP, -16);
	emit_store(RBX, RSP, -24);
	emit_store(-1, RSP, -20); /* overlaps both */
	fn.steps[2].width = 8;
	emit_load(RDI, RSP, -16);
	emit_load(RSI, RSP, -24);
	emit_call();
	expect_argument(0, 0);
	CHECK_EQ(fn.got[0][1].pointee, 0);
	begin_function();
	add_variable(RDI, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_store(RDI, RSP, -16);
	emit_store(-1, RSP, -8); /* beside it */
	emit_store(-1, RSP, -24);
	emit_load(RDI, RSP, -16);
	emit_call();
	expect_argument(tree, 0);
}

/* A number is added to what a slot has. */
static void emit_bump(int base, int64_t disp, int64_t amount)
{
	struct code_step *s = add_step(STEP_BUMP);

	s->base = (int8_t)base;
	s->disp = disp;
	s->amount = amount;
}

static void slots_are_moved_by_additions(void)
{
	begin_function();
	add_variable(RDI, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_store(RDI, RSP, -16);
	emit_bump(RSP, -16, 24);
	emit_bump(RSP, -24, 8); /* nothing is known of that slot */
	emit_bump(-1, -24, 8);  /* -24 from the end of the frame, but a number */
	emit_load(RDI, RSP, -16);
	emit_call();
	expect_argument(tree, 24);
}

/* A call may write where its argument points to. */
static void a_slot_whose_address_is_passed_is_forgotten(void)
{
	begin_function();
	add_variable(RBX, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_store(RBX, RSP, -16);
	emit_store(RBX, RSP, -40);
	emit_set(RDI, RSP, -16);
	emit_call();
	emit_load(RDI, RSP, -16);
	emit_load(RSI, RSP, -40); /* below what was passed */
	emit_call();
	expect_argument(0, 0);
	CHECK_EQ(fn.got[1][1].pointee, tree);
}

static void many_variables_are_found_in_their_order(void)
{
	unsigned i;

	begin_function();
	for (i = 0; i < 8; i++)
		add_variable(RDI, i % 2 ? leaf : tree, FLOW_ENTRY + 4 * i, FLOW_ENTRY + 4 * i + 4);
	for (i = 0; i < 4; i++)
		emit_call();
	emit_skip(0);
	for (i = 0; i < 3; i++)
		emit_call();
	expect_argument(leaf, 0);
	CHECK_EQ(fn.nr_got, 7);
	for (i = 0; i < 7; i++)
		CHECK_EQ(fn.got[i][0].pointee, (i + (i > 3)) % 2 ? leaf : tree);
}

static void the_result_of_a_call_has_its_type(void)
{
	begin_function();
	fn.result = leaf;
	emit_call();
	emit_set(RDI, RAX, 0);
	emit_call();
	expect_argument(leaf, 0);
}

/* The frame of the entry ends 8 bytes above the stack pointer, that of a part where rbp says. */
static void variables_in_the_frame_are_found(void)
{
	struct variable_range *r = &fn.ranges[0];

	begin_function();
	*r = (struct variable_range){ .start = FLOW_ENTRY,
				      .end = FLOW_ENTRY + 64,
				      .place = VARIABLE_AT_FRAME,
				      .offset = -24,
				      .size = 8 };
	r->type = own_type_of(types, &tree_pointer);
	fn.variables.nr = 1;
	fn.variables.frame = FRAME_BASE_CFA;
	emit_load(RDI, RSP, -16); /* -24 from the end of the frame */
	emit_load(RSI, RSP, -24);
	emit_call();
	expect_argument(tree, 0);
	CHECK_EQ(fn.got[0][1].pointee, 0);

	fn.nr_got = 0;
	fn.list.nr = 0;
	fn.frame_at = FLOW_ENTRY;
	emit_load(RDI, RBP, -8); /* 16 above rbp */
	emit_call();
	expect_argument(tree, 0);
}

/* ---- several paths ------------------------------------------------------------------- */

/* if (...) first; else second: emits what both paths do, up to where they meet. */
static void emit_two_paths(void (*first)(void), void (*second)(void))
{
	struct code_step *branch = emit_branch(), *jump;

	first();
	jump = add_step(STEP_JUMP);
	branch->target = here();
	second();
	jump->target = here();
}

static void take_tree(void)
{
	emit_load(RDI, RBX, offsetof(struct tree, left));
}

static void take_other_tree(void)
{
	emit_load(RDI, RBX, offsetof(struct tree, right));
}

static void take_leaf(void)
{
	emit_load(RDI, RBX, offsetof(struct tree, leaf));
}

static void take_null(void)
{
	emit_set(RDI, -1, 0);
}

static void take_part(void)
{
	emit_set(RDI, RBX, offsetof(struct tree, right));
}

static void paths_meet(void (*first)(void), void (*second)(void), uint32_t pointee)
{
	begin_function();
	add_variable(RBX, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_two_paths(first, second);
	emit_call();
	expect_argument(pointee, 0);
	CHECK_EQ(fn.nr_got, 1);
}

static void where_paths_meet_they_have_to_agree(void)
{
	paths_meet(take_tree, take_other_tree, tree);
	paths_meet(take_tree, take_leaf, 0);
	paths_meet(take_leaf, take_tree, 0);
	paths_meet(take_tree, take_null, tree);
	paths_meet(take_null, take_tree, tree);
	paths_meet(take_tree, take_part, 0);
}

static void slots_have_to_agree_too(void)
{
	begin_function();
	add_variable(RBX, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_store(RBX, RSP, -16);
	emit_store(RBX, RSP, -24);
	emit_two_paths(take_tree, take_leaf);
	emit_load(RDI, RSP, -16);
	emit_call();
	expect_argument(tree, 0);
	begin_function();
	add_variable(RBX, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_store(RBX, RSP, -16);
	emit_skip(1);
	emit_store(-1, RSP, -16);
	emit_load(RDI, RSP, -16);
	emit_call();
	expect_argument(0, 0);
}

static void a_list_is_followed_in_a_loop(void)
{
	uint64_t top;

	begin_function();
	add_variable(RBX, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_forget(RAX);
	top = here();
	emit_set(RDI, RBX, 0);
	emit_call();
	emit_load(RBX, RBX, offsetof(struct tree, left));
	emit_branch()->target = top;
	expect_argument(tree, 0);
	CHECK_EQ(fn.nr_got, 1);
}

static void an_array_is_followed_in_a_loop(void)
{
	uint64_t top;

	begin_function();
	add_variable(RBX, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_forget(RAX);
	top = here();
	emit_set(RDI, RBX, offsetof(struct tree, leaf));
	emit_call();
	emit_set(RBX, RBX, sizeof(struct tree));
	emit_branch()->target = top;
	expect_argument(tree, offsetof(struct tree, leaf));
	CHECK_EQ(fn.nr_got, 1);
}

/* What a later round of the loop finds also reaches the blocks behind it. */
static void a_change_in_a_loop_reaches_what_follows(void)
{
	uint64_t top;

	begin_function();
	add_variable(RBX, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_set(RDI, RBX, 0);
	top = here();
	emit_forget(RAX);
	emit_skip(2); /* go on with the loop */
	emit_call();
	add_step(STEP_END);
	emit_load(RDI, RBX, offsetof(struct tree, leaf));
	add_step(STEP_JUMP)->target = top;
	CHECK_EQ(run_function(), 0);
	CHECK_EQ(fn.nr_got, 1);
	CHECK_EQ(fn.got[0][0].pointee, 0);
}

/* ---- parts that no known jump reaches ---------------------------------------------------- */

/* Two jumps through tables with @first and @second in rdi, and a case that calls. */
static void jump_to_cases(void (*first)(void), void (*second)(void))
{
	struct code_step *branch;

	begin_function();
	add_variable(RBX, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	branch = emit_branch();
	first();
	add_step(STEP_JUMP);
	branch->target = here();
	second();
	add_step(STEP_JUMP);
	emit_call();
}

static void cases_begin_with_what_all_jumps_agree_on(void)
{
	jump_to_cases(take_tree, take_other_tree);
	expect_argument(tree, 0);
	jump_to_cases(take_tree, take_leaf);
	expect_argument(0, 0);
	jump_to_cases(take_leaf, take_tree);
	expect_argument(0, 0);
	CHECK_EQ(fn.nr_got, 1);
}

/* The handler of an exception is no case: only its frame is known. */
static void handlers_know_only_their_frame(void)
{
	jump_to_cases(take_tree, take_tree);
	fn.has_handlers = true;
	expect_argument(0, 0);
	CHECK_EQ(fn.nr_got, 1);
}

static void code_after_a_return_is_visited(void)
{
	begin_function();
	add_variable(RDI, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	add_step(STEP_END);
	emit_call();
	add_step(STEP_END);
	add_step(STEP_OTHER); /* padding */
	add_step(STEP_OTHER);
	add_variable(RDI, leaf, here(), here() + 4);
	emit_call();
	expect_argument(leaf, 0);
	CHECK_EQ(fn.nr_got, 2);
	CHECK_EQ(fn.got[0][0].pointee, 0);
}

static void parts_of_a_function_may_be_apart(void)
{
	begin_function();
	add_variable(RDI, tree, FLOW_ENTRY, FLOW_ENTRY + 4);
	emit_forget(RAX);
	emit_call();
	fn.steps[1].addr += 0x100;
	fn.steps[1].next += 0x100;
	CHECK_EQ(run_function(), 0);
	CHECK_EQ(fn.nr_got, 1);
	CHECK_EQ(fn.got[0][0].pointee, 0); /* the first part does not continue there */
	CHECK_EQ(fn.returns[0], FLOW_ENTRY + 0x108);
}

static void an_empty_function_has_no_calls(void)
{
	begin_function();
	CHECK_EQ(run_function(), 0);
	CHECK_EQ(fn.nr_got, 0);
}

/* 20000 blocks are analyzed, one more is not. */
static void a_huge_function_is_refused(void)
{
	static struct code_step many[20001];
	size_t i;

	begin_function();
	for (i = 0; i < 20001; i++)
		many[i] = (struct code_step){ .addr = FLOW_ENTRY + i,
					      .next = FLOW_ENTRY + i + 1,
					      .kind = STEP_END };
	fn.list.list = many;
	fn.list.nr = 20000;
	CHECK_EQ(run_function(), 0);
	fn.list.nr = 20001;
	CHECK_EQ(run_function(), -E2BIG);
}

int main(void)
{
	Dwarf_Die type;

	if (!code_machine(EM_X86_64))
		SKIP("no disassembler");
	types = own_types_open();
	table.types = types;
	type = own_type_of(types, &tree_pointer);
	tree = pointee_of_value(&table, &type);
	type = own_type_of(types, &leaf_pointer);
	leaf = pointee_of_value(&table, &type);
	CHECK(tree && leaf && tree != leaf);
	RUN(a_variable_in_a_register_reaches_a_call);
	RUN(a_variable_is_known_only_in_its_range);
	RUN(a_pointer_may_point_inside);
	RUN(an_unknown_index_stays_in_its_array);
	RUN(pointers_are_loaded_from_objects_and_variables);
	RUN(a_call_changes_registers_but_not_the_frame);
	RUN(a_store_replaces_what_a_slot_had);
	RUN(slots_are_moved_by_additions);
	RUN(a_slot_whose_address_is_passed_is_forgotten);
	RUN(many_variables_are_found_in_their_order);
	RUN(the_result_of_a_call_has_its_type);
	RUN(variables_in_the_frame_are_found);
	RUN(where_paths_meet_they_have_to_agree);
	RUN(slots_have_to_agree_too);
	RUN(a_list_is_followed_in_a_loop);
	RUN(an_array_is_followed_in_a_loop);
	RUN(a_change_in_a_loop_reaches_what_follows);
	RUN(cases_begin_with_what_all_jumps_agree_on);
	RUN(handlers_know_only_their_frame);
	RUN(code_after_a_return_is_visited);
	RUN(parts_of_a_function_may_be_apart);
	RUN(an_empty_function_has_no_calls);
	RUN(a_huge_function_is_refused);
	pointees_release(&table);
	types_free(types);
	return 0;
}
