/* SPDX-License-Identifier: MIT */
/*
 * weak_litmus.c - is the machine RC11's?  Small programs whose possible outcomes are known.
 *
 * Each test names the outcomes that RC11 allows: the search must find all of them, and no other.
 */
#include <stdio.h>
#include <string.h>

#include "weak_tests.h"

#define RELAXED            __ATOMIC_RELAXED
#define ACQUIRE            __ATOMIC_ACQUIRE
#define RELEASE            __ATOMIC_RELEASE
#define load(p, order)     __atomic_load_n(p, order)
#define store(p, v, order) __atomic_store_n(p, v, order)

static uint64_t *x, *y;
static uint64_t seen[4];
static const char *expected; /* outcomes, each a word of digits */
static char found[256];

static void set_two(void)
{
	x = weak_alloc(64);
	y = weak_alloc(64);
	weak_restore(seen, sizeof(seen));
	found[0] = '\0';
}

/* The outcome: what the threads have read, and the last values where that matters. */
static void outcome(const char *format, unsigned a, unsigned b, unsigned c, unsigned d)
{
	char word[16];

	snprintf(word, sizeof(word), format, a, b, c, d);
	if (!strstr(expected, word))
		weak_fail("outcome %s is not one of %s", word, expected);
	if (!strstr(found, word)) {
		strcat(found, word);
		strcat(found, " ");
	}
}

static void check_two(void)
{
	outcome("%u%u", (unsigned)seen[0], (unsigned)seen[1], 0, 0);
}

static void check_four(void)
{
	outcome("%u%u%u%u", (unsigned)seen[0], (unsigned)seen[1], (unsigned)seen[2],
		(unsigned)seen[3]);
}

static void check_end(void)
{
	outcome("%u%u", (unsigned)*x, (unsigned)*y, 0, 0);
}

/* Message passing. */
static void pass_relaxed(void)
{
	store(x, 1, RELAXED);
	store(y, 1, RELAXED);
}
static void pass_release(void)
{
	store(x, 1, RELAXED);
	store(y, 1, RELEASE);
}
static void pass_fence(void)
{
	store(x, 1, RELAXED);
	__atomic_thread_fence(RELEASE);
	store(y, 1, RELAXED);
}
static void get_relaxed(void)
{
	seen[0] = load(y, RELAXED);
	seen[1] = load(x, RELAXED);
}
static void get_acquire(void)
{
	seen[0] = load(y, ACQUIRE);
	seen[1] = load(x, RELAXED);
}
static void get_fence(void)
{
	seen[0] = load(y, RELAXED);
	__atomic_thread_fence(ACQUIRE);
	seen[1] = load(x, RELAXED);
}
static void want_all(void)
{
	expected = "00 01 10 11";
	set_two();
}
static void want_ordered(void)
{
	expected = "00 01 11";
	set_two();
}

/* Store buffering. */
static void buffer_x(void)
{
	store(x, 1, RELEASE);
	seen[0] = load(y, ACQUIRE);
}
static void buffer_y(void)
{
	store(y, 1, RELEASE);
	seen[1] = load(x, ACQUIRE);
}
static void fenced_x(void)
{
	store(x, 1, RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	seen[0] = load(y, RELAXED);
}
static void fenced_y(void)
{
	store(y, 1, RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	seen[1] = load(x, RELAXED);
}
static void want_one(void)
{
	expected = "01 10 11";
	set_two();
}

/* Load buffering: RC11 forbids both loads to see the other's store. */
static void borrow_x(void)
{
	seen[0] = load(x, RELAXED);
	store(y, 1, RELAXED);
}
static void borrow_y(void)
{
	seen[1] = load(y, RELAXED);
	store(x, 1, RELAXED);
}
static void want_no_loan(void)
{
	expected = "00 01 10";
	set_two();
}

/* Coherence, and two stores to two locations in opposite orders. */
static void write_twice(void)
{
	store(x, 1, RELAXED);
	store(x, 2, RELAXED);
}
static void read_twice(void)
{
	seen[0] = load(x, RELAXED);
	seen[1] = load(x, RELAXED);
}
static void want_coherent(void)
{
	expected = "00 01 02 11 12 22";
	set_two();
}
static void cross_x(void)
{
	store(x, 1, RELEASE);
	store(y, 2, RELEASE);
}
static void cross_y(void)
{
	store(y, 1, RELEASE);
	store(x, 2, RELEASE);
}
static void want_cross(void)
{
	expected = "11 12 21 22";
	set_two();
}

/* Independent readers of independent writers. */
static void only_x(void)
{
	store(x, 1, RELEASE);
}
static void only_y(void)
{
	store(y, 1, RELEASE);
}
static void read_xy(void)
{
	seen[0] = load(x, ACQUIRE);
	seen[1] = load(y, ACQUIRE);
}
static void read_yx(void)
{
	seen[2] = load(y, ACQUIRE);
	seen[3] = load(x, ACQUIRE);
}
static void want_independent(void)
{
	expected =
		"0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1010 1011 1100 1101 1110 1111";
	set_two();
}

/* A release sequence: the second thread's relaxed increment passes the first one's release. */
static void count_relaxed(void)
{
	__atomic_fetch_add(y, 1, RELAXED);
}
static void get_count(void)
{
	seen[0] = load(y, ACQUIRE) == 2;
	seen[1] = load(x, RELAXED);
}
static void pass_count(void)
{
	store(x, 1, RELAXED);
	__atomic_fetch_add(y, 1, RELEASE);
}

/* Increments are not lost. */
static void want_sum(void)
{
	expected = "02";
	set_two();
}

/* The hand-over passes the view, and to a third thread only with a fence or on some machines. */
static void hand_x(void)
{
	store(x, 1, RELAXED);
	weak_hand_over(0);
}
static void hand_y(void)
{
	weak_take_over(0);
	store(y, 1, RELAXED);
}

/* Plain accesses that are ordered do not race. */
static void plain_pass(void)
{
	*x = 1;
	store(y, 1, RELEASE);
}
static void plain_get(void)
{
	seen[0] = load(y, ACQUIRE);
	seen[1] = seen[0] ? *x : 0;
}
static void want_plain(void)
{
	expected = "00 11";
	set_two();
}

static void check_found(const char *name)
{
	if (name && strlen(found) != strlen(expected) + 1) {
		printf("%s: found %sof %s\n", name, found, expected);
		weak_fail("%s: found %s", name, found);
	}
}

#define TEST(title, nr, start, end, ...)                                            \
	{                                                                           \
		.name = title, .what = "litmus", .nr_threads = nr, .set_up = start, \
		.threads = { __VA_ARGS__ }, .check = end, .finish = check_found     \
	}

const struct weak_test weak_tests[] = {
	TEST("mp-relaxed", 2, want_all, check_two, pass_relaxed, get_relaxed),
	TEST("mp-release-relaxed", 2, want_all, check_two, pass_release, get_relaxed),
	TEST("mp-relaxed-acquire", 2, want_all, check_two, pass_relaxed, get_acquire),
	TEST("mp", 2, want_ordered, check_two, pass_release, get_acquire),
	TEST("mp-fences", 2, want_ordered, check_two, pass_fence, get_fence),
	TEST("mp-fence-acquire", 2, want_ordered, check_two, pass_fence, get_acquire),
	TEST("mp-release-fence", 2, want_ordered, check_two, pass_release, get_fence),
	TEST("sb", 2, want_all, check_two, buffer_x, buffer_y),
	TEST("sb-fences", 2, want_one, check_two, fenced_x, fenced_y),
	TEST("sb-one-fence", 2, want_all, check_two, fenced_x, buffer_y),
	TEST("lb", 2, want_no_loan, check_two, borrow_x, borrow_y),
	TEST("corr", 2, want_coherent, check_two, write_twice, read_twice),
	TEST("2+2w", 2, want_cross, check_end, cross_x, cross_y),
	TEST("iriw", 4, want_independent, check_four, only_x, only_y, read_xy, read_yx),
	TEST("release-sequence", 3, want_ordered, check_two, pass_count, count_relaxed, get_count),
	TEST("increments", 2, want_sum, check_end, count_relaxed, count_relaxed),
	TEST("hand-over", 3, want_all, check_two, hand_x, hand_y, get_fence),
	{ .name = "hand-over-multi-copy",
	  .what = "litmus",
	  .nr_threads = 3,
	  .set_up = want_ordered,
	  .threads = { hand_x, hand_y, get_fence },
	  .check = check_two,
	  .is_multi_copy = true,
	  .finish = check_found },
	TEST("plain", 2, want_plain, check_two, plain_pass, plain_get),
	{ 0 },
};
