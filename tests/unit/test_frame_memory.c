/* SPDX-License-Identifier: MIT */
/*
 * test_frame_memory.c - coroutine frames in the memory of a process: which one an address is in,
 * whether its block of the heap is in use, and whether a pointer leads to it.
 *
 * The process is made by the test: one range of memory at BASE, and another one that is read-only.
 */
#include <errno.h>

#include "check.h"
#include "inspect/frame_marks.h"
#include "inspect/frame_table.h"
#include "inspect/heap_walk.h"
#include "process/image_backend.h"

/* ---- frames by address ---------------------------------------------------------------- */

static void table_add(struct frame_table *t, uint64_t addr, uint32_t size)
{
	struct coro_frame f = { .addr = addr, .size = size, .parent = FRAME_NONE };

	CHECK_EQ(frame_table_add(t, &f), 0);
}

static void table_seal(struct frame_table *t)
{
	frame_table_sort(t);
	CHECK_EQ(frame_table_seal(t), 0);
}

static void an_address_is_in_the_frame_that_contains_it(void)
{
	struct frame_table t = { 0 };
	uint32_t i;

	/* Not in order; the last one is larger than two pages. */
	table_add(&t, 0x5000, 0x40);
	table_add(&t, 0x1f80, 0x100);
	table_add(&t, 0x1000, 0x20);
	table_add(&t, 0x10010, 0x2800);
	table_seal(&t);
	for (i = 1; i < 4; i++)
		CHECK(t.frames[i - 1].addr < t.frames[i].addr);
	for (i = 0; i < 4; i++) {
		const struct coro_frame *f = &t.frames[i];

		CHECK_EQ(frame_table_find(&t, f->addr - 1), FRAME_NONE);
		CHECK_EQ(frame_table_find(&t, f->addr), i);
		CHECK_EQ(frame_table_find(&t, f->addr + f->size - 1), i);
		CHECK_EQ(frame_table_find(&t, f->addr + f->size), FRAME_NONE);
		CHECK_EQ(frame_table_from(&t, f->addr), i);
		CHECK_EQ(frame_table_from(&t, f->addr + 1), i + 1);
		CHECK_EQ(f->outer, FRAME_NONE);
	}
	CHECK_EQ(t.low, 0x1000);
	CHECK_EQ(t.high, 0x12810);
	CHECK_EQ(frame_table_find(&t, 0x2000), 1);  /* on the second page of a frame */
	CHECK_EQ(frame_table_find(&t, 0x11fff), 3); /* on its last but one */
	CHECK_EQ(frame_table_find(&t, 0x12000), 3);
	CHECK_EQ(frame_table_find(&t, 0), FRAME_NONE);
	CHECK_EQ(frame_table_find(&t, UINT64_MAX), FRAME_NONE);
	frame_table_clear(&t);
	CHECK_EQ(t.nr, 0);
	CHECK_EQ(frame_table_find(&t, 0x1000), FRAME_NONE);
	table_add(&t, 0x7000, 0x10);
	table_seal(&t);
	CHECK_EQ(frame_table_find(&t, 0x7000), 0);
	CHECK_EQ(frame_table_find(&t, 0x1000), FRAME_NONE);
	CHECK_EQ(t.high, 0x7010);
	frame_table_release(&t);
	CHECK(!t.frames && !t.pages && !t.room);
}

static void an_empty_table_contains_nothing(void)
{
	struct frame_table t = { 0 };

	table_seal(&t);
	CHECK_EQ(frame_table_find(&t, 0), FRAME_NONE);
	CHECK_EQ(frame_table_from(&t, 0), 0);
	frame_table_release(&t);
}

static void thousands_of_frames_are_all_found(void)
{
	struct frame_table t = { 0 };
	uint64_t i;

	for (i = 0; i < 5000; i++)
		table_add(&t, 0x100000 + i * 0x130, 0x120);
	table_seal(&t);
	for (i = 0; i < 5000; i++) {
		CHECK_EQ(frame_table_find(&t, 0x100000 + i * 0x130 + 0x11f), i);
		CHECK_EQ(frame_table_find(&t, 0x100000 + i * 0x130 + 0x120), FRAME_NONE);
	}
	frame_table_release(&t);
}

/* A compiler may place the frame of a callee in that of its caller. */
static void the_innermost_frame_counts(void)
{
	struct frame_table t = { 0 };

	table_add(&t, 0x1000, 0x1400);
	table_add(&t, 0x1100, 0x80); /* in the first one */
	table_add(&t, 0x1120, 0x20); /* in the second one */
	table_add(&t, 0x1300, 0x40); /* in the first one, after the second */
	table_seal(&t);
	CHECK_EQ(t.frames[0].outer, FRAME_NONE);
	CHECK_EQ(t.frames[1].outer, 0);
	CHECK_EQ(t.frames[2].outer, 1);
	CHECK_EQ(t.frames[3].outer, 0);
	CHECK_EQ(t.frames[2].depth, 2);
	CHECK_EQ(t.frames[3].depth, 1);
	CHECK_EQ(frame_table_find(&t, 0x10ff), 0);
	CHECK_EQ(frame_table_find(&t, 0x1100), 1);
	CHECK_EQ(frame_table_find(&t, 0x1120), 2);
	CHECK_EQ(frame_table_find(&t, 0x1140), 1);
	CHECK_EQ(frame_table_find(&t, 0x1180), 0);
	CHECK_EQ(frame_table_find(&t, 0x1300), 3);
	CHECK_EQ(frame_table_find(&t, 0x1340), 0);
	CHECK_EQ(frame_table_find(&t, 0x2200), 0); /* on a page that no frame begins in */
	CHECK_EQ(frame_table_find(&t, 0x2400), FRAME_NONE);
	CHECK_EQ(t.high, 0x2400);
	frame_table_release(&t);
}

static void at_most_eight_frames_are_around_one(void)
{
	struct frame_table t = { 0 };
	uint32_t i;

	for (i = 0; i < 10; i++)
		table_add(&t, 0x1000 + i * 16, 0x400 - i * 32);
	table_seal(&t);
	for (i = 0; i < 9; i++) {
		CHECK_EQ(t.frames[i].depth, i);
		CHECK_EQ(t.frames[i].outer, i ? i - 1 : FRAME_NONE);
	}
	/* The tenth is not inside: the one before it ends there. */
	CHECK_EQ(t.frames[9].outer, FRAME_NONE);
	CHECK_EQ(t.frames[8].size, 16);
	frame_table_release(&t);
}

static void a_frame_ends_where_another_begins_that_is_not_inside(void)
{
	static const struct {
		bool is_guessed, is_block;
		uint32_t inner_size; /* the outer one has 0x100 bytes, the inner is at 0x40 */
		bool is_inside;
	} cases[] = {
		{ false, false, 0xc0, true }, /* to the last byte */
		{ false, false, 0xc1, false }, { true, false, 0x10, false },
		{ true, true, 0x10, true },    { true, true, 0xc1, false },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frame_table t = { 0 };

		table_add(&t, 0x1000, 0x100);
		t.frames[0].has_guessed_size = cases[i].is_guessed;
		t.frames[0].is_block = cases[i].is_block;
		table_add(&t, 0x1040, cases[i].inner_size);
		table_seal(&t);
		CHECK_EQ(t.frames[1].outer, cases[i].is_inside ? 0 : FRAME_NONE);
		CHECK_EQ(t.frames[0].size, cases[i].is_inside ? 0x100 : 0x40);
		frame_table_release(&t);
	}
}

/* ---- a process that the test makes ----------------------------------------------------- */

#define BASE      UINT64_C(0x7f0000000000) /* as an arena is aligned */
#define SIZE      0x8000
#define CONSTANTS UINT64_C(0x7f1000000000)

static uint64_t memory[SIZE / 8], constants[512];
static struct image_range ranges[2];
static struct image_thread threads[1];
static struct process_image image;

static ssize_t bed_read(const struct process_image *i, uint64_t addr, void *buf, size_t size)
{
	uint64_t left = BASE + SIZE - addr;

	(void)i;
	if (addr < BASE || addr >= BASE + SIZE)
		return -EFAULT;
	size = size < left ? size : left;
	memcpy(buf, (const char *)memory + (addr - BASE), size);
	return (ssize_t)size;
}

/* In pieces, whose borders a pointer may cross. */
static int bed_visit(struct process_image *i, image_visitor visit, void *arg)
{
	size_t at;
	int rc = 0;

	(void)i;
	for (at = 0; at < SIZE && !rc; at += 0x1000)
		rc = visit(arg, &ranges[0], BASE + at, (const char *)memory + at, 0x1000);
	return rc;
}

static int bed_visit_protected(struct process_image *i, image_visitor visit, void *arg)
{
	(void)i;
	return visit(arg, &ranges[1], CONSTANTS, constants, sizeof(constants));
}

static void bed_open(struct frame_table *t, const char *path)
{
	static const struct image_operations operations = {
		.read = bed_read, .visit = bed_visit, .visit_protected = bed_visit_protected
	};
	static struct image_backend backend = { .operations = &operations };

	memset(memory, 0, sizeof(memory));
	memset(constants, 0, sizeof(constants));
	memset(threads, 0, sizeof(threads));
	ranges[0] = (struct image_range){ .start = BASE, .end = BASE + SIZE, .path = path };
	ranges[1] = (struct image_range){ .start = CONSTANTS,
					  .end = CONSTANTS + sizeof(constants),
					  .path = "/lib" };
	image = (struct process_image){ .ranges = ranges,
					.nr_ranges = 2,
					.threads = threads,
					.nr_threads = 1,
					.backend = &backend };
	*t = (struct frame_table){ 0 };
}

static void put(uint64_t addr, uint64_t word)
{
	memcpy((char *)memory + (addr - BASE), &word, sizeof(word));
}

/* ---- blocks of the heap ------------------------------------------------------------------ */

#define IN_USE 1u

/* Blocks of 0x100 bytes from @first to the end; @used says for each whether it is in use. */
static void heap_make(uint64_t first, const char *used)
{
	uint64_t at = first;
	bool is_used = true;

	for (; *used; used++, at += 0x100) {
		put(at + 8, 0x100 | (is_used ? IN_USE : 0));
		is_used = *used == 'u';
	}
	put(at + 8, (BASE + SIZE - at) | (is_used ? IN_USE : 0)); /* the rest */
}

/* A frame in each block, 16 bytes from its start. */
static void frames_in_blocks(struct frame_table *t, uint64_t first, size_t nr, uint32_t size)
{
	size_t i;

	for (i = 0; i < nr; i++)
		table_add(t, first + i * 0x100 + 16, size);
	frame_table_sort(t);
}

static void check_blocks(const struct frame_table *t, const char *used)
{
	size_t i;

	for (i = 0; used[i]; i++) {
		bool is_used = used[i] == 'u';

		CHECK_EQ(t->frames[i].is_allocated, is_used);
		CHECK_EQ(t->frames[i].state, is_used ? FRAME_SUSPENDED : FRAME_INVALID);
		CHECK_EQ(t->frames[i].is_block, is_used);
	}
}

static void frames_in_free_blocks_are_not_frames(void)
{
	static const char used[] = "uufuffu";
	struct frame_table t;

	bed_open(&t, "[heap]");
	heap_make(BASE, used);
	frames_in_blocks(&t, BASE, 7, 0xc0);
	CHECK_EQ(heap_walk_frames(&image, &t), 3);
	check_blocks(&t, used);
	/* They are not counted again. */
	CHECK_EQ(heap_walk_frames(&image, &t), 0);
	check_blocks(&t, used);
	frame_table_release(&t);
}

static void a_core_does_not_name_its_heap(void)
{
	static const char used[] = "ufu";
	struct frame_table t;

	bed_open(&t, "");
	heap_make(BASE + 0x290, used); /* behind the allocator's own data */
	frames_in_blocks(&t, BASE + 0x290, 3, 0xc0);
	CHECK_EQ(heap_walk_frames(&image, &t), 1);
	check_blocks(&t, used);
	frame_table_release(&t);
}

/* An arena begins with its address, the heap before it, and its size. */
static void an_arena_says_how_large_it_is(void)
{
	static const char used[] = "fuu";
	static const struct {
		uint64_t size;
		bool is_known;
	} cases[] = { { SIZE, true }, { SIZE + 16, false }, { 4095, false }, { 0x5000000, false } };
	size_t i;

	for (i = 0; i < 4; i++) {
		struct frame_table t;

		bed_open(&t, NULL);
		put(BASE + 16, cases[i].size);
		heap_make(BASE + 0x100, used);
		frames_in_blocks(&t, BASE + 0x100, 3, 0xc0);
		CHECK_EQ(heap_walk_frames(&image, &t), cases[i].is_known);
		CHECK_EQ(t.frames[1].is_allocated, cases[i].is_known);
		frame_table_release(&t);
	}
}

static void a_damaged_heap_says_nothing(void)
{
	static const struct {
		uint64_t offset, word; /* of the third block, at 0x200 */
	} damages[] = {
		{ 8, 0 },
		{ 8, 0x10 | IN_USE }, /* less than a block has */
		{ 8, 0x108 | IN_USE },
		{ 8, 0x103 },         /* mapped by itself */
		{ 8, SIZE | IN_USE }, /* ends behind the heap */
		{ 8, UINT64_MAX - 7 },
	};
	size_t i;

	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct frame_table t;

		bed_open(&t, "[heap]");
		heap_make(BASE, "uufu");
		put(BASE + 0x200 + damages[i].offset, damages[i].word);
		/* No later start leads to the end, either. */
		put(BASE + 0x300 + 8, 0);
		put(BASE + 0x400 + 8, 0);
		frames_in_blocks(&t, BASE, 4, 0xc0);
		CHECK_EQ(heap_walk_frames(&image, &t), 0);
		CHECK(!t.frames[0].is_allocated && !t.frames[2].is_allocated);
		CHECK_EQ(t.frames[2].state, FRAME_SUSPENDED);
		frame_table_release(&t);
	}
}

static void a_block_has_little_more_than_its_frame(void)
{
	static const struct {
		uint32_t size, offset;
		bool is_block;
	} cases[] = {
		{ 0xc0, 16, true },
		{ 0xbf, 16, false },
		{ 0xc0, 24, false },
		{ 0xf0, 16, true },
	};
	size_t i;

	for (i = 0; i < 4; i++) {
		struct frame_table t;

		bed_open(&t, "[heap]");
		heap_make(BASE, "uuu");
		table_add(&t, BASE + 0x100 + cases[i].offset, cases[i].size);
		CHECK_EQ(heap_walk_frames(&image, &t), 0);
		CHECK(t.frames[0].is_allocated);
		CHECK_EQ(t.frames[0].is_block, cases[i].is_block);
		CHECK_EQ(t.frames[0].size, cases[i].size);
		frame_table_release(&t);
	}
}

static void a_block_is_the_size_of_a_frame_that_has_none(void)
{
	struct frame_table t;

	bed_open(&t, "[heap]");
	heap_make(BASE, "uuf");
	frames_in_blocks(&t, BASE, 3, 0x10);
	table_add(&t, BASE + 0x140, 0x10);
	t.frames[1].has_guessed_size = t.frames[2].has_guessed_size = true;
	t.frames[3].has_guessed_size = true;
	frame_table_sort(&t); /* the last one is the third now */
	CHECK_EQ(heap_walk_frames(&image, &t), 1);
	CHECK_EQ(t.frames[1].size, 0x100 - 8);
	CHECK(t.frames[1].is_block);
	CHECK_EQ(t.frames[2].size, 0x10); /* not at the start of the block */
	CHECK(!t.frames[2].is_block);
	CHECK_EQ(t.frames[3].size, 0x10); /* in a free block */
	CHECK(!t.frames[3].is_block);
	frame_table_release(&t);
}

static void frames_outside_of_heaps_stay_as_they_are(void)
{
	struct frame_table t;

	bed_open(&t, "[heap]");
	heap_make(BASE, "f");
	table_add(&t, 0x1000, 0x40); /* in no range */
	table_add(&t, BASE + 16, 0x40);
	table_add(&t, CONSTANTS + 64, 0x40);
	table_add(&t, CONSTANTS + 128, 0x40);
	CHECK_EQ(heap_walk_frames(&image, &t), 1);
	CHECK_EQ(t.frames[0].state, FRAME_SUSPENDED);
	CHECK_EQ(t.frames[1].state, FRAME_INVALID);
	CHECK_EQ(t.frames[2].state, FRAME_SUSPENDED);
	CHECK(!t.frames[2].is_allocated && !t.frames[3].is_allocated);
	frame_table_release(&t);
}

/* ---- pointers to frames -------------------------------------------------------------------- */

#define FRAME(n) (BASE + 0x4000 + (uint64_t)(n)*0x100)

/* Five frames of 0x80 bytes; each is a block of its own. */
static void marks_open(struct frame_table *t)
{
	size_t i;

	bed_open(t, "");
	for (i = 0; i < 5; i++) {
		table_add(t, FRAME(i), 0x80);
		t->frames[i].is_block = true;
	}
	table_seal(t);
}

/* @reached: 'r' for a frame that pointers lead to, 'd' for a doubtful one. */
static void check_marks(struct frame_table *t, enum mark_depth depth, const uint64_t *roots,
			size_t nr_roots, const char *reached)
{
	size_t i;

	CHECK_EQ(frame_marks_set(&image, t, depth, roots, nr_roots), 0);
	for (i = 0; i < 5; i++) {
		CHECK_EQ(t->frames[i].is_reached, reached[i] == 'r');
		CHECK_EQ(t->frames[i].is_doubtful, reached[i] == 'd');
	}
}

static void a_frame_is_reached_by_a_pointer_from_outside(void)
{
	struct frame_table t;

	marks_open(&t);
	check_marks(&t, MARK_WORDS, NULL, 0, ".....");
	put(BASE + 0x10, FRAME(1));
	put(BASE + 0x2ff8, FRAME(2) + 0x7f); /* to its last byte */
	put(BASE + 0x20, FRAME(3) + 0x80);   /* behind it */
	put(BASE + 0x28, FRAME(4) | UINT64_C(0xabcd) << 48);
	put(FRAME(0) + 8, FRAME(0)); /* from itself */
	check_marks(&t, MARK_WORDS, NULL, 0, ".rr.r");
	constants[7] = FRAME(3);
	check_marks(&t, MARK_WORDS, NULL, 0, ".rrrr");
	frame_table_release(&t);
}

static void frames_lead_to_others_only_if_they_are_reached(void)
{
	struct frame_table t;

	marks_open(&t);
	put(FRAME(0) + 0x10, FRAME(1)); /* 0 -> 1 -> 2; nothing leads to 0 */
	put(FRAME(1) + 0x10, FRAME(2));
	put(FRAME(3) + 0x18, FRAME(4));
	put(FRAME(4) + 0x18, FRAME(3)); /* a ring */
	check_marks(&t, MARK_WORDS, NULL, 0, ".....");
	put(BASE, FRAME(1) + 8);
	check_marks(&t, MARK_WORDS, NULL, 0, ".rr..");
	put(BASE + 8, FRAME(4));
	check_marks(&t, MARK_WORDS, NULL, 0, ".rrrr");
	frame_table_release(&t);
}

static void memory_that_is_not_a_frame_any_more_is_outside(void)
{
	struct frame_table t;

	marks_open(&t);
	put(FRAME(0) + 0x10, FRAME(1));
	t.frames[0].state = FRAME_INVALID;
	check_marks(&t, MARK_WORDS, NULL, 0, ".r...");
	frame_table_release(&t);
}

static void what_may_not_be_a_frame_makes_a_doubt(void)
{
	struct frame_table t;

	marks_open(&t);
	put(FRAME(0) + 0x10, FRAME(1));
	put(FRAME(1) + 0x10, FRAME(2));
	put(FRAME(3) + 0x10, FRAME(4));
	t.frames[0].is_block = false;
	check_marks(&t, MARK_WORDS, NULL, 0, ".dd..");
	put(BASE, FRAME(2));
	check_marks(&t, MARK_WORDS, NULL, 0, ".dr..");
	frame_table_release(&t);
}

static void registers_and_other_words_are_roots(void)
{
	const uint64_t roots[] = { 5, FRAME(4) | UINT64_C(0x11) << 56 };
	uint64_t vectors[] = { 0, FRAME(3) };
	struct frame_table t;

	marks_open(&t);
	check_marks(&t, MARK_WORDS, roots, 2, "....r");
	check_marks(&t, MARK_WORDS, roots, 1, ".....");
	threads[0].registers[2] = FRAME(1);
	threads[0].nr_registers = 3;
	threads[0].args[5] = FRAME(2);
	check_marks(&t, MARK_WORDS, NULL, 0, "....."); /* neither is known */
	threads[0].has_registers = true;
	check_marks(&t, MARK_WORDS, NULL, 0, ".r...");
	threads[0].nr_registers = 2;
	threads[0].has_syscall = true;
	check_marks(&t, MARK_WORDS, NULL, 0, "..r..");
	image.vectors = vectors;
	image.nr_vectors = 2;
	check_marks(&t, MARK_WORDS, NULL, 0, "..rr.");
	frame_table_release(&t);
}

static void pointers_at_any_byte_are_found_on_request(void)
{
	struct frame_table t;

	marks_open(&t);
	put(BASE + 0x13, FRAME(1));
	put(BASE + 0x1000 - 3, FRAME(2)); /* across two pieces */
	put(BASE + 0x2000 - 1, FRAME(3));
	put(BASE + 0x3000 - 7, FRAME(4));
	put(FRAME(4) + 5, FRAME(0));
	check_marks(&t, MARK_WORDS, NULL, 0, ".....");
	check_marks(&t, MARK_BYTES, NULL, 0, "rrrrr");
	frame_table_release(&t);
}

int main(void)
{
	RUN(an_address_is_in_the_frame_that_contains_it);
	RUN(an_empty_table_contains_nothing);
	RUN(thousands_of_frames_are_all_found);
	RUN(the_innermost_frame_counts);
	RUN(at_most_eight_frames_are_around_one);
	RUN(a_frame_ends_where_another_begins_that_is_not_inside);
	RUN(frames_in_free_blocks_are_not_frames);
	RUN(a_core_does_not_name_its_heap);
	RUN(an_arena_says_how_large_it_is);
	RUN(a_damaged_heap_says_nothing);
	RUN(a_block_has_little_more_than_its_frame);
	RUN(a_block_is_the_size_of_a_frame_that_has_none);
	RUN(frames_outside_of_heaps_stay_as_they_are);
	RUN(a_frame_is_reached_by_a_pointer_from_outside);
	RUN(frames_lead_to_others_only_if_they_are_reached);
	RUN(memory_that_is_not_a_frame_any_more_is_outside);
	RUN(what_may_not_be_a_frame_makes_a_doubt);
	RUN(registers_and_other_words_are_roots);
	RUN(pointers_at_any_byte_are_found_on_request);
	return 0;
}
