/* SPDX-License-Identifier: MIT */
/*
 * test_call_frames.c - the functions that a thread is in: frames by number, stacks that were left,
 * and the table of call stacks of allocations; the allocator's functions of static programs.  Each
 * function with the values at its limits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

static int64_t mapped; /* bytes that are not given back */
static int refuses_memory;

static void *kernel_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (refuses_memory) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	mapped += (int64_t)size;
	return mmap(at, size, prot, flags, fd, offset);
}

static int kernel_munmap(void *at, size_t size)
{
	mapped -= (int64_t)size;
	return munmap(at, size);
}

#define mmap(...)   kernel_mmap(__VA_ARGS__)
#define munmap(...) kernel_munmap(__VA_ARGS__)

#include "../../runtime/memory/sys.c"
#include "../../runtime/memory/shadow_stack.c"
#include "../../runtime/memory/shadow_switch.c"
#include "../../runtime/memory/alloc_stacks.c"
#include "../../runtime/memory/heap_wrap.c"

#undef mmap
#undef munmap

/* ---- the rest of the runtime -------------------------------------------------------------- */

struct crt_state crt_state;
struct crt_session crt_session;
__thread struct crt_thread crt_self;

static unsigned nr_watched, nr_recorded;
static uint64_t recorded[2];

void crt_thread_watch(void)
{
	nr_watched++;
}

void crt_calls_record(uint64_t w0, uint64_t w1)
{
	nr_recorded++;
	recorded[0] = w0;
	recorded[1] = w1;
}

static struct {
	unsigned nr;
	bool is_full;
	uint64_t number, frames[CRAY_FRAMES_MAX];
	uint32_t size;
} payload;

bool crt_put_payload(unsigned code, uint64_t w0, uint64_t low, const uint8_t *bytes, uint32_t size)
{
	CHECK_EQ(code, CRW_STACK);
	CHECK_EQ(low, 1);
	CHECK(size <= sizeof(payload.frames));
	payload.nr++;
	payload.number = w0;
	payload.size = size;
	memcpy(payload.frames, bytes, size);
	return !payload.is_full;
}

/* The thread begins, in a session. */
static void fresh(void)
{
	crt_calls_end();
	crt_calls.is_closed = 0;
	crt_calls.since = 0;
	crt_session.calls = 0;
	crt_state.session = 1;
	nr_recorded = 0;
}

#define TOP UINT64_C(0x7f0000100000)

/* Function @number, of 64 KiB of code, is called by the one before. */
static uint64_t code_of(uint64_t number)
{
	return 0x400000 + number * 0x10000;
}

static void call(uint64_t number, uint64_t at)
{
	crt_calls_push(number ? code_of(number - 1) + 16 : 0x300000, code_of(number), at);
}

/* ---- frames ------------------------------------------------------------------------------------
 */

static void frames_begin_with_the_session(void)
{
	int64_t before;

	fresh();
	nr_watched = 0;
	crt_state.session = 0;
	call(0, TOP);
	CHECK(!crt_calls.frames && crt_calls_depth() == 0);
	crt_state.session = 1;
	before = mapped;
	call(0, TOP);
	CHECK_EQ(mapped, before + (int64_t)sizeof(struct crt_frames));
	CHECK_EQ(crt_calls_depth(), 1);
	CHECK_EQ(nr_watched, 1);
	CHECK_EQ(crt_calls.frames->outer[0].at, UINT64_MAX);
	CHECK(crt_calls_frame(0)->caller == 0x300000 && crt_calls_frame(0)->function == code_of(0));
	CHECK_EQ(crt_calls_frame(0)->at, TOP);
	crt_calls_end();
	CHECK(crt_calls.is_closed && crt_calls.top == &crt_no_frame && !crt_calls.last);
	call(0, TOP); /* the thread ends */
	CHECK(!crt_calls.frames);
	crt_calls.is_closed = 0;
	call(0, TOP); /* the memory is used again */
	CHECK_EQ(mapped, before + (int64_t)sizeof(struct crt_frames));
	CHECK_EQ(crt_calls_depth(), 1);
	shadow_take_spare();
	fresh();
	CHECK(shadow_take_spare() != NULL);
	CHECK(!shadow_take_spare());
	refuses_memory = 1;
	call(0, TOP);
	refuses_memory = 0;
	CHECK(!crt_calls.frames && crt_calls.is_closed); /* it is not tried again */
}

static void frames_of_64_ended_threads_are_kept(void)
{
	int64_t before = mapped;
	unsigned i;

	for (i = 0; i < SPARES; i++)
		spare_frames[i] = (struct crt_frames *)crt_memory(sizeof(struct crt_frames));
	fresh();
	crt_calls.frames = crt_memory(sizeof(struct crt_frames));
	crt_calls.left = crt_memory(sizeof(struct crt_left));
	crt_calls_end();
	CHECK(!crt_calls.left);
	CHECK_EQ(mapped, before + 64 * (int64_t)sizeof(struct crt_frames));
	for (i = 0; i < SPARES; i++)
		crt_memory_free(shadow_take_spare(), sizeof(struct crt_frames));
	CHECK_EQ(mapped, before);
}

static void frames_in_the_middle_are_unknown(void)
{
	uint64_t i, all = CRT_OUTER + CRT_INNER + 5;

	fresh();
	crt_session.calls = 1;
	for (i = 0; i < all; i++)
		call(i, TOP - 16 * i);
	CHECK_EQ(crt_calls_depth(), all);
	CHECK_EQ(nr_recorded, all);
	CHECK(recorded[1] == CRW_W1(CRW_ENTER, code_of(all - 1)));
	CHECK_EQ(crt_calls_frame(CRT_OUTER - 1)->function, code_of(CRT_OUTER - 1));
	CHECK(!crt_calls_frame(CRT_OUTER) && !crt_calls_frame(CRT_OUTER + 4));
	CHECK_EQ(crt_calls_frame(CRT_OUTER + 5)->function, code_of(CRT_OUTER + 5));
	CHECK_EQ(crt_calls_frame(all - 1)->function, code_of(all - 1));
	/* Back to the last known inner one, then the unknown ones at once. */
	nr_recorded = 0;
	for (i = all; i > CRT_OUTER + 5; i--) {
		crt_calls_pop(code_of(i - 2) + 16, TOP - 16 * (i - 1));
		CHECK_EQ(crt_calls_depth(), i - 1);
	}
	CHECK_EQ(nr_recorded, CRT_INNER);
	CHECK(recorded[0] == 1 && recorded[1] == CRW_W1(CRW_LEAVE, 1));
	crt_calls_push(0x300000, code_of(9), TOP - 16 * (CRT_OUTER - 1) + 1); /* after a longjmp */
	CHECK_EQ(crt_calls_depth(), CRT_OUTER);
	CHECK_EQ(crt_calls_frame(CRT_OUTER - 1)->function, code_of(9));
	CHECK_EQ(crt_calls.floor, CRT_OUTER);
	crt_session.calls = 0;
}

static void frames_that_are_gone_are_removed(void)
{
	fresh();
	call(0, TOP);
	call(1, TOP - 100);
	call(2, TOP - 200);
	call(3, TOP - 300);
	crt_calls_push(0x300000, code_of(7), TOP - 200); /* of the same address: it was left */
	CHECK_EQ(crt_calls_depth(), 3);
	CHECK_EQ(crt_calls_frame(2)->function, code_of(7));
	CHECK_EQ(crt_calls_frame(1)->function, code_of(1));
	crt_calls_pop(0x999, TOP - 100); /* two at once: one was left without a hook */
	CHECK_EQ(crt_calls_depth(), 1);
	call(1, TOP - 100);
	crt_calls_pop(0x999, TOP - 150); /* of another function, deeper: nothing */
	CHECK_EQ(crt_calls_depth(), 2);
	crt_calls_pop(code_of(1) + 32767, TOP - 150); /* inside of the innermost function */
	CHECK_EQ(crt_calls_depth(), 1);
	call(1, TOP - 100);
	crt_calls_pop(code_of(1) + 32768, TOP - 150);
	CHECK_EQ(crt_calls_depth(), 2);
	crt_calls.is_switching = 1; /* in a signal handler at that moment */
	call(2, TOP - 5000);
	crt_calls_pop(0x999, TOP);
	crt_calls.is_switching = 0;
	CHECK_EQ(crt_calls_depth(), 2);
}

static void callers_are_copied_from_the_innermost_on(void)
{
	uint64_t out[8];

	fresh();
	CHECK_EQ(crt_calls_copy(TOP, out, 8), 0);
	call(0, TOP);
	call(1, TOP - 100);
	CHECK_EQ(crt_calls_copy(TOP - 200, out, 8), 3);
	CHECK(out[0] == code_of(1) && out[1] == code_of(0) + 16 && out[2] == 0x300000);
	CHECK_EQ(crt_calls_copy(TOP - 200, out, 2), 2);
	CHECK_EQ(crt_calls_copy(TOP - 200, out, 1), 1);
	CHECK_EQ(crt_calls_copy(TOP - 200, out, 0), 0);
	CHECK_EQ(crt_calls_copy(TOP - 100, out, 8), 3);
	CHECK_EQ(crt_calls_copy(TOP - 99, out, 8), 2); /* the inner one was left by longjmp */
	CHECK_EQ(out[0], code_of(0));
	/* Called through code without hooks: the function is in the list itself. */
	crt_calls_push(0x900000, code_of(5), TOP - 200);
	CHECK_EQ(crt_calls_copy(TOP - 300, out, 8), 5);
	CHECK(out[0] == code_of(5) && out[1] == 0x900000 && out[2] == code_of(1));
	CHECK_EQ(crt_calls_copy(TOP - 300, out, 3), 3);
}

static void selected_frames_replace_all(void)
{
	static struct crt_frame frames[CRT_OUTER + 1];

	fresh();
	call(0, TOP);
	frames[0].function = 8;
	frames[1].function = 9;
	crt_calls_select(frames, 2);
	CHECK(crt_calls_depth() == 2 && crt_calls_frame(1)->function == 9);
	crt_calls_select(frames, CRT_OUTER + 1);
	CHECK_EQ(crt_calls_depth(), CRT_OUTER);
	CHECK_EQ(crt_calls.floor, CRT_OUTER);
	crt_calls_select(NULL, 0);
	CHECK_EQ(crt_calls_depth(), 0);
}

/* ---- stacks that were left ----------------------------------------------------------------------
 */

static struct crt_left *left;

static void left_put(uint32_t i, uint64_t inner, uint64_t outer, uint64_t time)
{
	left->inner[i] = left->frames[i][1].at = inner;
	left->outer[i] = left->frames[i][0].at = outer;
	left->nr[i] = 2;
	left->time[i] = time;
}

static void left_make(void)
{
	free(left);
	left = calloc(1, sizeof(*left));
}

static void the_nearest_stack_is_found(void)
{
	left_make();
	CHECK_EQ(switch_find(left, 100000), CRT_LEFT_STACKS);
	left_put(3, 200000, 201000, 5);
	left_put(127, 190000, 191000, 5);
	CHECK_EQ(switch_find(left, 200500), 3);
	CHECK_EQ(switch_find(left, 201000), 3);
	CHECK_EQ(switch_find(left, 201001), CRT_LEFT_STACKS); /* above it */
	CHECK_EQ(switch_find(left, 199999), 3);
	CHECK_EQ(switch_find(left, 190500), 127);
	CHECK_EQ(switch_find(left, 200000 - 16383), 127);
	left->time[127] = 0;
	CHECK_EQ(switch_find(left, 200000 - 16383), 3);
	CHECK_EQ(switch_find(left, 200000 - 16384), CRT_LEFT_STACKS);
}

static void the_oldest_stack_is_replaced(void)
{
	uint32_t i;

	left_make();
	CHECK_EQ(switch_oldest(left), 0);
	for (i = 0; i < CRT_LEFT_STACKS; i++)
		left_put(i, i * 1000 + 10, i * 1000 + 20, 100 + i);
	CHECK_EQ(switch_oldest(left), 0);
	left->time[0] = 500;
	CHECK_EQ(switch_oldest(left), 1);
	left->time[127] = 3;
	CHECK_EQ(switch_oldest(left), 127);
	switch_forget(left, 5020, 6010);
	CHECK(!left->time[5] && !left->time[6] && left->time[4] && left->time[7]);
	switch_forget(left, 7021, 8009); /* between two */
	CHECK(left->time[7] && left->time[8]);
}

static void a_stack_pointer_is_on_the_stack_or_not(void)
{
	fresh();
	call(0, TOP);
	call(1, TOP - 5000); /* a large frame */
	CHECK_EQ(crt_calls_depth(), 2);
	CHECK(switch_is_here(2, TOP - 4999, 0));
	CHECK(switch_is_here(2, TOP + 1024, 0));
	CHECK(!switch_is_here(2, TOP + 1025, 0));
	CHECK(switch_is_here(2, TOP - 5000 - 4095, 0));
	CHECK(!switch_is_here(2, TOP - 5000 - 4096, 0));
	CHECK(switch_is_here(2, TOP - 50000, code_of(1) + 5)); /* called by it */
	CHECK(!switch_is_here(2, TOP - 50000, code_of(0) + 5));
}

static void frames_are_put_aside_and_selected_again(void)
{
	struct crt_calls *c = &crt_calls;
	uint64_t i, before;

	fresh();
	call(0, TOP);
	call(1, TOP - 100);
	CHECK(switch_has_memory(c) && switch_has_memory(c));
	c->since = 44;
	crt_self.calls_known = 1;
	before = switch_clock;
	switch_put_aside(c, 2);
	CHECK_EQ(crt_calls_depth(), 0);
	CHECK(c->left->nr[0] == 2 && c->left->since[0] == 44 && c->left->time[0] == before + 1);
	CHECK(c->left->inner[0] == TOP - 100 && c->left->outer[0] == TOP);
	CHECK_EQ(c->left->frames[0][1].function, code_of(1));
	CHECK_EQ(c->since, before + 2);
	CHECK_EQ(crt_self.calls_known, 0);
	switch_put_aside(c, 0); /* nothing */
	CHECK_EQ(c->left->time[1], 0);
	switch_to(c, 0, 0, true);
	CHECK(crt_calls_depth() == 2 && crt_calls_frame(1)->at == TOP - 100);
	CHECK_EQ(c->left->time[0], 0);
	/* Of many frames the innermost stay. */
	for (i = 2; i < 70; i++)
		call(i, TOP - 100 * i);
	switch_put_aside(c, 70);
	CHECK_EQ(c->left->nr[0], CRT_LEFT_FRAMES);
	CHECK_EQ(c->left->frames[0][0].function, code_of(70 - 62));
	CHECK_EQ(c->left->outer[0], TOP - 100 * 8);
	switch_to(c, 0, 0, false); /* another coroutine */
	CHECK_EQ(crt_calls_depth(), 0);
	CHECK_EQ(c->left->time[0], 0);
}

static void a_stack_that_others_left_is_not_valid(void)
{
	const uint64_t page = UINT64_C(4096);

	left_make();
	memset(left_elsewhere, 0, sizeof(left_elsewhere));
	left_put(0, 10 * page + 5, 12 * page, 1);
	left->since[0] = 100;
	CHECK(switch_is_valid(left, 0));
	*switch_page(12 * page) = 100;
	CHECK(switch_is_valid(left, 0));
	*switch_page(12 * page) = 101;
	CHECK(!switch_is_valid(left, 0));
	left->outer[0] = 12 * page - 1;
	CHECK(switch_is_valid(left, 0));
	*switch_page(10 * page + 4095) = 101;
	CHECK(!switch_is_valid(left, 0));
	CHECK(switch_page(10 * page) == switch_page(10 * page + 4095));
	CHECK(switch_page(10 * page) != switch_page(11 * page));
	CHECK(switch_page(0) == &left_elsewhere[0]);
	CHECK(switch_page(UINT64_C(4097) << 12) == &left_elsewhere[0]); /* 1 ^ 1 */
}

static void a_function_continues_or_begins_a_stack(void)
{
	left_make();
	left_put(0, 1000, 2000, 1);
	left->frames[0][0].caller = 0x300;
	left->frames[0][1].function = 0x500000;
	CHECK(switch_continues(left, 0, 900, 0));      /* an allocation */
	CHECK(!switch_continues(left, 0, 900, 0x300)); /* called as its first one */
	CHECK(switch_continues(left, 0, 1001, 0x999));
	CHECK(!switch_continues(left, 0, 1000, 0x999));
	CHECK(switch_continues(left, 0, 900, 0x500010));
}

static void an_exit_names_its_stack(void)
{
	left_make();
	CHECK_EQ(switch_find_exit(left, 0x500010, 100000), CRT_LEFT_STACKS);
	left_put(9, 100000, 110000, 1);
	left->frames[9][1].function = 0x500000;
	left->frames[9][1].caller = 0x600;
	CHECK_EQ(switch_find_exit(left, 0, 100000), 9);
	CHECK_EQ(switch_find_exit(left, 0, 100001), CRT_LEFT_STACKS);
	CHECK_EQ(switch_find_exit(left, 0x600, 100001), 9); /* its caller goes on */
	CHECK_EQ(switch_find_exit(left, 0x600, 100000 + 16383), 9);
	CHECK_EQ(switch_find_exit(left, 0x600, 100000 + 16384), CRT_LEFT_STACKS);
	CHECK_EQ(switch_find_exit(left, 0x500010, 99999), 9); /* inside of it */
	CHECK_EQ(switch_find_exit(left, 0x500010, 100000 - 16383), 9);
	CHECK_EQ(switch_find_exit(left, 0x500010, 100000 - 16384), CRT_LEFT_STACKS);
	CHECK_EQ(switch_find_exit(left, 0x600, 99999), CRT_LEFT_STACKS);
	left->time[9] = 0;
	CHECK_EQ(switch_find_exit(left, 0, 100000), CRT_LEFT_STACKS);
}

static void exits_are_here_there_or_elsewhere(void)
{
	struct crt_calls *c = &crt_calls;
	const uint64_t other = TOP - 0x800000;

	fresh();
	memset(left_elsewhere, 0, sizeof(left_elsewhere));
	call(0, TOP);
	call(1, TOP - 100);
	CHECK_EQ(crt_switch_leave(c, 0x999, TOP - 50), CRT_EXIT_HERE);
	CHECK_EQ(crt_switch_leave(c, 0x999, other), CRT_EXIT_ELSEWHERE);
	CHECK_EQ(*switch_page(other), switch_clock);
	/* A coroutine on another stack is entered, and the first one is left. */
	crt_calls_push(0x300000, code_of(40), other);
	CHECK_EQ(crt_calls_depth(), 1);
	CHECK_EQ(crt_calls_frame(0)->function, code_of(40));
	CHECK_EQ(crt_switch_leave(c, code_of(0) + 16, TOP - 100), CRT_EXIT_INNERMOST);
	CHECK_EQ(crt_calls_depth(), 2);
	CHECK_EQ(c->is_switching, 0);
	/* Back on the other one, of which another thread left a function. */
	*switch_page(other) = UINT64_MAX;
	CHECK_EQ(crt_switch_leave(c, 0x999, other), CRT_EXIT_ELSEWHERE);
	CHECK_EQ(crt_calls_depth(), 0);
	fresh();
	call(0, TOP);
	refuses_memory = 1;
	crt_calls_push(0x300000, code_of(40), other);
	refuses_memory = 0;
	CHECK(!c->left); /* without memory the frames stay */
	CHECK_EQ(crt_calls_depth(), 2);
}

/* ---- call stacks of allocations
 * --------------------------------------------------------------------- */

static void equal_stacks_have_one_number(void)
{
	struct crt_stack s = { .nr = 2, .frames = { 5, 6, 7 } };
	uint64_t frames[] = { 5, 6, 7 }, other[] = { 5, 8 }, third[] = { 4, 6 };
	uint32_t first;

	CHECK(alloc_stacks_equal(&s, frames, 2));
	CHECK(!alloc_stacks_equal(&s, frames, 3) && !alloc_stacks_equal(&s, frames, 1));
	CHECK(!alloc_stacks_equal(&s, other, 2) && !alloc_stacks_equal(&s, third, 2));
	CHECK(alloc_stacks_hash(frames, 2) != alloc_stacks_hash(frames, 3));
	CHECK(alloc_stacks_hash(frames, 2) != alloc_stacks_hash(other, 2));
	CHECK(alloc_stacks_hash(frames, 2) != alloc_stacks_hash(third, 2));
	fresh();
	crt_session.generation = 1;
	CHECK_EQ(crt_stack_number(TOP), 0); /* no frames */
	CHECK(!stacks_made);
	call(0, TOP);
	refuses_memory = 1;
	CHECK_EQ(crt_stack_number(TOP - 50), 0);
	refuses_memory = 0;
	payload.is_full = true; /* the ring is */
	first = crt_stack_number(TOP - 50);
	CHECK_EQ(first, 1);
	CHECK(payload.nr == 1 && payload.number == 1 && payload.size == 16);
	CHECK(payload.frames[0] == code_of(0) && payload.frames[1] == 0x300000);
	payload.is_full = false;
	CHECK_EQ(crt_stack_number(TOP - 50), 1); /* so the next one writes it */
	CHECK_EQ(payload.nr, 2);
	CHECK_EQ(crt_stack_number(TOP - 50), 1);
	CHECK_EQ(payload.nr, 2);
	crt_session.generation = 2; /* in a child */
	CHECK_EQ(crt_stack_number(TOP - 50), 1);
	CHECK_EQ(payload.nr, 3);
	call(1, TOP - 100);
	CHECK_EQ(crt_stack_number(TOP - 150), 2);
	CHECK(payload.nr == 4 && payload.number == 2 && payload.size == 24);
}

static void a_table_that_is_full_has_no_more_numbers(void)
{
	struct crt_stacks *t = alloc_stacks_table();
	uint64_t frames[] = { 77, 78 }, hash = alloc_stacks_hash(frames, 2), i;

	t->used = STACKS - 2;
	CHECK_EQ(alloc_stacks_new(t, frames, 2), STACKS - 1);
	CHECK(t->stacks[STACKS - 1].nr == 2 && t->stacks[STACKS - 1].frames[1] == 78);
	CHECK_EQ(alloc_stacks_new(t, frames, 2), 0);
	CHECK_EQ(alloc_stacks_find(t, frames, 2), 0);
	t->used = 10;
	/* Other stacks are in its cells; 64 are looked at. */
	for (i = 0; i < PROBES; i++)
		t->cells[(hash + i) & (CELLS - 1)] = (hash & ~(uint64_t)UINT32_MAX) ^ (1ull << 40);
	CHECK_EQ(alloc_stacks_find(t, frames, 2), 0);
	CHECK_EQ(t->used, 10);
	t->cells[(hash + PROBES - 1) & (CELLS - 1)] = 0;
	CHECK_EQ(alloc_stacks_find(t, frames, 2), 11);
	CHECK_EQ(t->cells[(hash + PROBES - 1) & (CELLS - 1)], (hash & ~(uint64_t)UINT32_MAX) | 11);
	CHECK_EQ(alloc_stacks_find(t, frames, 2), 11);
	CHECK_EQ(t->used, 11);
}

/* ---- the allocator's functions, wrapped by the linker ------------------------------------------
 */

uint64_t crt_annotated;

/* What was called, in order: "real free 10". */
static char calls[512];

static void note(const char *what, const void *p, uint64_t size)
{
	size_t used = strlen(calls);

	snprintf(calls + used, sizeof(calls) - used, "%s %lx %lu;", what,
		 (unsigned long)(uintptr_t)p, (unsigned long)size);
}

static void *block(uintptr_t number)
{
	return (void *)number; // NOLINT(performance-no-int-to-ptr)
}

void crt_unannotate(uint64_t address, uint64_t pc)
{
	CHECK(pc);
	note("unannotate", block(address), 0);
}

void crt_heap_allocated(uint64_t address, uint64_t size, uint64_t pc, uint64_t frame)
{
	CHECK(pc && frame);
	note("allocated", block(address), size);
}

void crt_heap_freed(uint64_t address, uint64_t pc, uint64_t frame)
{
	CHECK(pc && frame);
	note("freed", block(address), 0);
}

static void *next_block; /* NULL: the allocator has no memory */

void *__real_malloc(size_t size)
{
	note("malloc", NULL, size);
	return next_block;
}

void *__real_calloc(size_t nmemb, size_t size)
{
	note("calloc", block(nmemb), size);
	return next_block;
}

void __real_free(void *p)
{
	note("free", p, 0);
}

void *__real_realloc(void *p, size_t size)
{
	note("realloc", p, size);
	return next_block;
}

void *__real_memalign(size_t alignment, size_t size)
{
	note("memalign", block(alignment), size);
	return next_block;
}

void *__real_aligned_alloc(size_t alignment, size_t size)
{
	note("aligned_alloc", block(alignment), size);
	return next_block;
}

int __real_posix_memalign(void **out, size_t alignment, size_t size)
{
	note("posix_memalign", block(alignment), size);
	*out = next_block;
	return next_block ? 0 : ENOMEM;
}

static void calls_were(const char *expected)
{
	CHECK_STR(calls, expected);
	calls[0] = '\0';
}

static void blocks_are_recorded_after_they_are_allocated(void)
{
	void *out = NULL;

	next_block = block(0x10);
	CHECK(__wrap_malloc(5) == next_block);
	calls_were("malloc 0 5;allocated 10 5;");
	CHECK(__wrap_calloc(3, 4) == next_block);
	calls_were("calloc 3 4;allocated 10 12;");
	CHECK(__wrap_memalign(64, 7) == next_block && __wrap_aligned_alloc(32, 8) == next_block);
	calls_were("memalign 40 7;allocated 10 7;aligned_alloc 20 8;allocated 10 8;");
	CHECK(__wrap_posix_memalign(&out, 16, 9) == 0 && out == next_block);
	calls_were("posix_memalign 10 9;allocated 10 9;");
	next_block = NULL;
	CHECK(!__wrap_malloc(5) && !__wrap_calloc(1, 2) && !__wrap_memalign(8, 8));
	CHECK_EQ(__wrap_posix_memalign(&out, 16, 9), ENOMEM);
	CHECK(!strstr(calls, "allocated"));
	calls[0] = '\0';
}

/* Before the allocator has it: then another thread may get it. */
static void blocks_are_recorded_before_they_are_freed(void)
{
	__wrap_free(block(0x10));
	calls_were("freed 10 0;free 10 0;");
	__wrap_free(NULL);
	calls_were("free 0 0;");
	crt_annotated = 1;
	__wrap_free(block(0x20));
	calls_were("unannotate 20 0;freed 20 0;free 20 0;");
	crt_annotated = 0;
	next_block = block(0x30);
	CHECK(__wrap_realloc(block(0x10), 6) == next_block);
	calls_were("freed 10 0;realloc 10 6;allocated 30 6;");
	CHECK(__wrap_realloc(NULL, 6) == next_block);
	calls_were("realloc 0 6;allocated 30 6;");
	CHECK(__wrap_reallocarray(block(0x10), 3, 5) == next_block);
	calls_were("freed 10 0;realloc 10 15;allocated 30 15;");
	errno = 0;
	CHECK(!__wrap_reallocarray(block(0x10), SIZE_MAX / 2, 3) && errno == ENOMEM);
	calls_were("");
}

int main(void)
{
	RUN(frames_begin_with_the_session);
	RUN(frames_of_64_ended_threads_are_kept);
	RUN(frames_in_the_middle_are_unknown);
	RUN(frames_that_are_gone_are_removed);
	RUN(callers_are_copied_from_the_innermost_on);
	RUN(selected_frames_replace_all);
	RUN(the_nearest_stack_is_found);
	RUN(the_oldest_stack_is_replaced);
	RUN(a_stack_pointer_is_on_the_stack_or_not);
	RUN(frames_are_put_aside_and_selected_again);
	RUN(a_stack_that_others_left_is_not_valid);
	RUN(a_function_continues_or_begins_a_stack);
	RUN(an_exit_names_its_stack);
	RUN(exits_are_here_there_or_elsewhere);
	RUN(equal_stacks_have_one_number);
	RUN(a_table_that_is_full_has_no_more_numbers);
	free(left);
	RUN(blocks_are_recorded_after_they_are_allocated);
	RUN(blocks_are_recorded_before_they_are_freed);
	return 0;
}
