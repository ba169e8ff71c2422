/* SPDX-License-Identifier: MIT */
/*
 * test_shadow.c - the functions that a thread is in: entries and exits, functions that were left
 * without an exit, deep recursion, and threads that change their stack.
 *
 * Frames are numbers here: the test calls what the hooks call, with addresses of its choice.
 */
#include <stdarg.h>

#include "check.h"
#include "shadow_stack.h"
#include "shadow_switch.h"

static char text[65536];

/* The call stack of code at @at, at most @max addresses. */
static const char *stack_at(uint64_t at, uint32_t max)
{
	static uint64_t out[8192];
	uint32_t nr = crt_calls_copy(at, out, max), i;
	size_t used = 0;

	text[0] = '\0';
	for (i = 0; i < nr && i < 1000; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%llx", i ? " " : "",
					 (unsigned long long)out[i]);
	return text;
}

static void begin(void)
{
	crt_calls_end();
	memset(&crt_calls, 0, sizeof(crt_calls));
	crt_calls.top = &crt_no_frame;
	crt_state.session = 1;
}

/* Three functions: each is called by the one before. */
static void enter_three(uint64_t at)
{
	crt_calls_push(0x100, 0x100000, at);
	crt_calls_push(0x100010, 0x200000, at - 0x100);
	crt_calls_push(0x200010, 0x300000, at - 0x200);
}

static void without_a_session_there_are_no_frames(void)
{
	begin();
	crt_state.session = 0;
	enter_three(0x9000);
	CHECK_EQ(crt_calls_depth(), 0);
	crt_calls_pop(0x200020, 0x8e00);
	CHECK_STR(stack_at(0x8000, 64), "");
	crt_state.session = 1;
	crt_calls_end(); /* the thread ends: it gets none */
	enter_three(0x9000);
	CHECK_EQ(crt_calls_depth(), 0);
}

static void callers_are_listed_from_the_innermost(void)
{
	begin();
	enter_three(0x9000);
	CHECK_EQ(crt_calls_depth(), 3);
	CHECK_STR(stack_at(0x8d00, 64), "300000 200010 100010 100");
	CHECK_STR(stack_at(0x8e00, 64), "300000 200010 100010 100");
	CHECK_STR(stack_at(0x8e01, 64), "200000 100010 100"); /* the last one was left */
	CHECK_STR(stack_at(0x8d00, 4), "300000 200010 100010 100");
	CHECK_STR(stack_at(0x8d00, 3), "300000 200010 100010");
	CHECK_STR(stack_at(0x8d00, 1), "300000");
	CHECK_STR(stack_at(0x8d00, 0), "");
	CHECK_STR(stack_at(0x9001, 64), "");
	/* Called by code without hooks, which is not in the function below. */
	crt_calls_push(0x900010, 0x400000, 0x8d00);
	CHECK_STR(stack_at(0x8c00, 64), "400000 900010 300000 200010 100010 100");
	/* 32 KiB from its start, an address is still in a function. */
	crt_calls_pop(0x400020, 0x8d00);
	crt_calls_push(0x307fff, 0x400000, 0x8d00);
	CHECK_STR(stack_at(0x8c00, 64), "400000 307fff 200010 100010 100");
	crt_calls_pop(0x400020, 0x8d00);
	crt_calls_push(0x308000, 0x400000, 0x8d00);
	CHECK_STR(stack_at(0x8c00, 64), "400000 308000 300000 200010 100010 100");
}

static void exits_are_recognized_in_all_their_forms(void)
{
	begin();
	enter_three(0x9000);
	crt_calls_pop(0x300020, 0x8e00); /* where it was entered */
	CHECK_STR(stack_at(0x8000, 64), "200000 100010 100");
	crt_calls_pop(0x100010, 0x8f10); /* a jump to the hook: the frame is gone */
	CHECK_STR(stack_at(0x8000, 64), "100000 100");
	enter_three(0x9000); /* in place of what is there */
	CHECK_EQ(crt_calls_depth(), 3);
	crt_calls_pop(0x300020, 0x8d00); /* an array of variable size below it */
	CHECK_STR(stack_at(0x8000, 64), "200000 100010 100");
	crt_calls_pop(0x900000, 0x8d00); /* not of this function */
	CHECK_STR(stack_at(0x8000, 64), "200000 100010 100");
	/* longjmp: the next exit or entry is above frames that had no exit. */
	enter_three(0x9000);
	crt_calls_pop(0x100020, 0x9000);
	CHECK_EQ(crt_calls_depth(), 0);
	crt_calls_pop(0x100020, 0x9000);
	CHECK_EQ(crt_calls_depth(), 0);
	enter_three(0x9000);
	crt_calls_push(0x100030, 0x500000, 0x8f80);
	CHECK_STR(stack_at(0x8000, 64), "500000 100030 100");
	enter_three(0x9000);
	crt_calls_pop(0x100010, 0x8f80); /* the exit of the second one, as a jump */
	CHECK_STR(stack_at(0x8000, 64), "100000 100");
}

#define DEEP_AT(i) (UINT64_C(0x900000) - 16 * (uint64_t)(i))

static void recurse(uint64_t from, uint64_t to)
{
	uint64_t i;

	for (i = from; i < to; i++)
		crt_calls_push(0x100000 + i, 0x100000, DEEP_AT(i));
}

static void check_known(uint64_t number, bool is_known)
{
	const struct crt_frame *f = crt_calls_frame(number);

	CHECK_EQ(f != NULL, is_known);
	if (f)
		CHECK_EQ(f->caller, 0x100000 + number);
}

static void deep_recursion_keeps_both_ends(void)
{
	uint64_t i, depth = 6000, out[8192];
	uint32_t nr;

	begin();
	recurse(0, CRT_OUTER + CRT_INNER);
	for (i = 0; i < CRT_OUTER + CRT_INNER; i += 500)
		check_known(i, true);
	check_known(CRT_OUTER, true);
	recurse(CRT_OUTER + CRT_INNER, depth);
	CHECK_EQ(crt_calls_depth(), depth);
	check_known(0, true);
	check_known(CRT_OUTER - 1, true);
	check_known(CRT_OUTER, false);
	check_known(depth - CRT_INNER - 1, false);
	check_known(depth - CRT_INNER, true);
	check_known(depth - 1, true);
	/* The function after the innermost ones is named: what called it is not known. */
	nr = crt_calls_copy(DEEP_AT(depth), out, 8192);
	CHECK_EQ(nr, 1 + CRT_INNER + 1 + CRT_OUTER);
	CHECK_EQ(out[0], 0x100000);
	CHECK_EQ(out[1], 0x100000 + depth - 1);
	CHECK_EQ(out[CRT_INNER], 0x100000 + depth - CRT_INNER);
	CHECK_EQ(out[CRT_INNER + 1], 0x100000);
	CHECK_EQ(out[CRT_INNER + 2], 0x100000 + CRT_OUTER - 1);
	CHECK_EQ(out[nr - 1], 0x100000);
	for (i = depth; i > 0; i--) {
		CHECK_EQ(crt_calls_depth(), i);
		crt_calls_pop(0x100020, DEEP_AT(i - 1));
	}
	CHECK_EQ(crt_calls_depth(), 0);
}

static void longjmp_out_of_deep_recursion(void)
{
	begin();
	recurse(0, 6000);
	crt_calls_push(0x100333, 0x700000, DEEP_AT(100) + 8);
	CHECK_EQ(crt_calls_depth(), 101);
	CHECK_EQ(crt_calls_frame(100)->caller, 0x100333);
	CHECK_STR(stack_at(0, 3), "700000 100333 100063");
	recurse(101, 6000);
	crt_calls_pop(0x100020, DEEP_AT(CRT_OUTER + 5)); /* an unknown one */
	CHECK_EQ(crt_calls_depth(), 6000 - CRT_INNER - 1);
	crt_calls_pop(0x100020, DEEP_AT(CRT_OUTER - 2)); /* all unknown ones are inside of it */
	CHECK_EQ(crt_calls_depth(), CRT_OUTER - 2);
	/* The frames that follow are known again. */
	recurse(CRT_OUTER - 2, CRT_OUTER + 10);
	check_known(CRT_OUTER - 1, true);
	check_known(CRT_OUTER, true);
	CHECK_EQ(crt_calls_depth(), CRT_OUTER + 10);
}

/* ---- stacks --------------------------------------------------------------------------- */

#define STACK(n) (UINT64_C(0x70000000) + (n)*UINT64_C(0x100000))

/* Two functions on stack @n, the first called from @caller. */
static void enter_on(uint64_t n, uint64_t caller)
{
	crt_calls_push(caller, 0x1000000 + n * 0x100000, STACK(n));
	crt_calls_push(0x1000010 + n * 0x100000, 0x1080000 + n * 0x100000, STACK(n) - 0x100);
}

static void a_stack_that_was_left_is_found_again(void)
{
	begin();
	enter_on(0, 0x100);
	enter_on(1, 0x101);
	CHECK_STR(stack_at(STACK(1) - 0x200, 64), "1180000 1100010 101");
	enter_on(2, 0x102);
	CHECK_STR(stack_at(STACK(2) - 0x200, 64), "1280000 1200010 102");
	CHECK_STR(stack_at(STACK(0) - 0x200, 64), "1080000 1000010 100");
	/* A call on the first one, and the exit of the inner function of the second one. */
	crt_calls_push(0x1080020, 0x600000, STACK(0) - 0x200);
	CHECK_STR(stack_at(STACK(0) - 0x300, 64), "600000 1080020 1000010 100");
	crt_calls_pop(0x1180030, STACK(1) - 0x100);
	CHECK_STR(stack_at(STACK(1) - 0x200, 64), "1100000 101");
	crt_calls_pop(0x1100030, STACK(1));
	CHECK_EQ(crt_calls_depth(), 0);
	/* Nothing is on the second one; the others are as they were. */
	CHECK_STR(stack_at(STACK(2) - 0x200, 64), "1280000 1200010 102");
	CHECK_STR(stack_at(STACK(0) - 0x300, 64), "600000 1080020 1000010 100");
	CHECK_STR(stack_at(STACK(0) - 0x100, 64), "1080000 1000010 100");
}

static void a_new_coroutine_may_reuse_a_stack(void)
{
	begin();
	enter_on(0, 0x100);
	enter_on(1, 0x101);
	/* Its first function has the same caller: another coroutine. */
	crt_calls_push(0x100, 0x900000, STACK(0) - 0x10);
	CHECK_STR(stack_at(STACK(0) - 0x200, 64), "900000 100");
	/* A function that is not called from where the stack was left. */
	CHECK_STR(stack_at(STACK(1) - 0x200, 64), "1180000 1100010 101");
	crt_calls_push(0x5555555, 0xa00000, STACK(0) - 0x50);
	CHECK_STR(stack_at(STACK(0) - 0x200, 64), "a00000 5555555");
}

/* Code without hooks may need much stack before it allocates or calls. */
static void a_large_frame_is_not_another_stack(void)
{
	begin();
	enter_on(1, 0x101);
	CHECK_STR(stack_at(STACK(1) - 0x8000, 64), "1180000 1100010 101");
	crt_calls_push(0x9999999, 0x600000, STACK(1) - 0x100 - 0x3fff);
	CHECK_EQ(crt_calls_depth(), 3);
	crt_calls_pop(0x600010, STACK(1) - 0x100 - 0x3fff);
	CHECK_EQ(crt_calls_depth(), 2);
	crt_calls_push(0x9999999, 0x600000, STACK(1) - 0x100 - 0x4000);
	CHECK_EQ(crt_calls_depth(), 1); /* too far */
	begin();
	enter_on(1, 0x101);
	crt_calls_push(0x1180040, 0x600000, STACK(1) - 0x100 - 0x9000); /* from this function */
	CHECK_EQ(crt_calls_depth(), 3);
	/* Above the outermost frame: the same stack up to 1 KiB. */
	begin();
	enter_on(1, 0x101);
	crt_calls_push(0x9999999, 0x600000, STACK(1) + 0x400);
	CHECK_EQ(crt_calls_depth(), 1);
	CHECK(crt_calls.left == NULL);
	crt_calls_push(0x9999999, 0x600000, STACK(1) + 0x801);
	CHECK(crt_calls.left != NULL);
	CHECK_EQ(crt_calls_depth(), 1);
}

static void the_stack_that_was_left_first_is_forgotten(void)
{
	uint64_t i;

	begin();
	for (i = 0; i < CRT_LEFT_STACKS + 2; i++)
		enter_on(i, 0x100 + i);
	/* The last one is selected, the one before it was left last. */
	CHECK_STR(stack_at(STACK(1) - 0x200, 64), "1180000 1100010 101");
	CHECK_EQ(crt_calls_depth(), 2);
	begin();
	for (i = 0; i < CRT_LEFT_STACKS + 2; i++)
		enter_on(i, 0x100 + i);
	crt_calls_pop(0x1080020, STACK(0) - 0x100);
	CHECK_EQ(crt_calls_depth(), 2); /* the exit belongs to no stack that is known */
	CHECK_EQ(crt_calls_frame(0)->caller, 0x100 + CRT_LEFT_STACKS + 1);
}

/* Another thread has run the coroutine: frames of that stack are not valid here any more. */
static void a_stack_that_another_thread_used_is_not_continued(void)
{
	begin();
	crt_calls_push(0x100, 0x100000, STACK(0));
	crt_calls_push(0x100010, 0x200000, STACK(0) - 0xf00);
	crt_calls_push(0x200010, 0x300000, STACK(0) - 0x1e00);
	enter_on(1, 0x101);
	crt_calls_pop(0x7777777, STACK(0) - 0x1000); /* an exit that this thread knows nothing of */
	CHECK_EQ(crt_calls_depth(), 2);
	CHECK_STR(stack_at(STACK(0) - 0x1f00, 64), "");
	CHECK_STR(stack_at(STACK(1) - 0x200, 64), "1180000 1100010 101");
	/* One that was entered after that is valid. */
	enter_on(0, 0x100);
	enter_on(1, 0x105);
	CHECK_STR(stack_at(STACK(0) - 0x200, 64), "1080000 1000010 100");
}

/* Of a stack with many frames, the innermost ones are kept. */
static void a_stack_that_was_left_has_a_limit(void)
{
	uint64_t i;

	begin();
	for (i = 0; i < CRT_LEFT_FRAMES + 3; i++)
		crt_calls_push(0x100000 + i, 0x100000, STACK(5) - 16 * i);
	enter_on(1, 0x101);
	CHECK_EQ(crt_calls_depth(), 2);
	stack_at(STACK(5) - 16 * i, 4);
	CHECK_EQ(crt_calls_depth(), CRT_LEFT_FRAMES);
	CHECK_EQ(crt_calls_frame(0)->caller, 0x100003);
	CHECK_EQ(crt_calls_frame(CRT_LEFT_FRAMES - 1)->caller, 0x100002 + CRT_LEFT_FRAMES);
}

int main(void)
{
	RUN(without_a_session_there_are_no_frames);
	RUN(callers_are_listed_from_the_innermost);
	RUN(exits_are_recognized_in_all_their_forms);
	RUN(deep_recursion_keeps_both_ends);
	RUN(longjmp_out_of_deep_recursion);
	RUN(a_stack_that_was_left_is_found_again);
	RUN(a_new_coroutine_may_reuse_a_stack);
	RUN(a_large_frame_is_not_another_stack);
	RUN(the_stack_that_was_left_first_is_forgotten);
	RUN(a_stack_that_another_thread_used_is_not_continued);
	RUN(a_stack_that_was_left_has_a_limit);
	return 0;
}
