/* SPDX-License-Identifier: MIT */
/*
 * test_ring.c - every ticket is read once, whole, or is counted as missed.
 *
 * The writers here follow docs/frames.md exactly, in threads of this process;
 * the payload of ticket n is n in every word, so that a mix of two frames shows.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "frames/live/fence.h"
#include "frames/live/frame_ring.h"

#define SIZE   40u
#define STRIDE 48u
#define WORDS  (SIZE / 4)

static uint32_t memory[1 << 18];
static uint8_t *seen;      /* per ticket ... */
static uint64_t seen_from; /* ... from this one on */
static uint64_t nr_seen, tickets_max;
static bool in_order;
static uint64_t last;

static void check_frame(void *arg, uint64_t ticket, const uint8_t *image)
{
	uint32_t words[WORDS];
	unsigned i;

	(void)arg;
	memcpy(words, image, SIZE);
	for (i = 0; i < WORDS; i++)
		CHECK_EQ(words[i], (uint32_t)ticket);
	CHECK(ticket >= seen_from && ticket - seen_from < tickets_max);
	CHECK(!seen[ticket - seen_from]);
	seen[ticket - seen_from] = 1;
	nr_seen++;
	in_order &= ticket > last;
	last = ticket;
}

static void begin(struct ring *r, uint32_t slots, uint64_t max)
{
	CHECK_EQ(ring_init(r, STRIDE, SIZE, check_frame, NULL), 0);
	memset(memory, 0, sizeof(memory));
	CHECK((size_t)slots * STRIDE <= sizeof(memory));
	r->now = (struct ring_block){ (const uint8_t *)memory, slots, 1, NULL };
	free(seen);
	tickets_max = max;
	seen = calloc(max, 1);
	seen_from = 0;
	nr_seen = last = 0;
	in_order = true;
}

static uint32_t *slot_at(uint32_t *base, uint32_t slots, uint64_t ticket)
{
	return base + ((ticket - 1) & (slots - 1)) * (STRIDE / 4);
}

/* The back number first, the front number last. */
static void write_frame(uint32_t *base, uint32_t slots, uint64_t ticket)
{
	uint32_t *slot = slot_at(base, slots, ticket), n = (uint32_t)ticket;
	unsigned i;

	__atomic_store_n(&slot[WORDS - 1], n, __ATOMIC_RELAXED);
	/* (ppt-A) pairs with the fence in look_at(). */
	fence_store_store();
	for (i = 1; i < WORDS - 1; i++)
		__atomic_store_n(&slot[i], n, __ATOMIC_RELAXED);
	/* (ppt-B) pairs with the load of front in look_at(). */
	__atomic_store_n(&slot[0], n, __ATOMIC_RELEASE);
}

static void takes_each_frame_once_and_in_order(void)
{
	struct ring r;
	uint64_t n;

	begin(&r, 8, 1000);
	for (n = 1; n < 500; n++) {
		write_frame(memory, 8, n);
		ring_poll(&r, n + 1, true);
		ring_poll(&r, n + 1, true);
		CHECK_EQ(nr_seen, n);
	}
	CHECK(in_order);
	CHECK_EQ(r.missed, 0);
	ring_release(&r);
}

static void counts_what_was_overwritten(void)
{
	struct ring r;
	uint64_t n;

	begin(&r, 8, 1000);
	for (n = 1; n <= 100; n++)
		write_frame(memory, 8, n);
	ring_poll(&r, 101, true);
	CHECK_EQ(nr_seen, 8);
	CHECK(seen[93] && seen[100] && !seen[92]);
	CHECK_EQ(r.missed, 92);
	ring_release(&r);
}

static void goes_past_a_writer_that_sleeps_and_comes_back_for_its_frame(void)
{
	struct ring r;
	uint64_t n;
	int i;

	begin(&r, 64, 1000);
	for (n = 1; n <= 20; n++) {
		if (n != 5)
			write_frame(memory, 64, n);
	}
	slot_at(memory, 64, 5)[WORDS - 1] = 5; /* began, and was descheduled */
	for (i = 0; i < 10; i++)
		ring_poll(&r, 21, true);
	CHECK_EQ(nr_seen, 19);
	CHECK(!seen[5]);
	write_frame(memory, 64, 5);
	ring_poll(&r, 21, true);
	CHECK_EQ(nr_seen, 20);
	CHECK_EQ(r.missed, 0);
	ring_finish(&r);
	CHECK_EQ(r.missed, 0);
	ring_release(&r);
}

static void a_frame_that_never_comes_is_missed_in_the_end(void)
{
	struct ring r;

	begin(&r, 8, 1000);
	write_frame(memory, 8, 1);
	write_frame(memory, 8, 3);
	ring_poll(&r, 4, false);
	CHECK_EQ(nr_seen, 2);
	CHECK_EQ(r.missed, 0);
	ring_finish(&r);
	CHECK_EQ(r.missed, 1);
	ring_release(&r);
}

static void refuses_half_frames(void)
{
	struct ring r;
	uint32_t *slot;

	begin(&r, 8, 1000);
	write_frame(memory, 8, 1);
	slot = slot_at(memory, 8, 1);
	slot[WORDS - 1] = 9; /* the next lap's writer has begun */
	ring_poll(&r, 2, false);
	CHECK_EQ(nr_seen, 0);
	slot[0] = 0; /* as the existing tool's code begins a frame */
	ring_poll(&r, 2, false);
	CHECK_EQ(nr_seen, 0);
	ring_finish(&r);
	CHECK_EQ(r.missed, 1);
	ring_release(&r);
}

static void numbers_go_on_behind_32_bits(void)
{
	const uint64_t from = UINT64_C(0xfffffff0);
	struct ring r;
	uint64_t n, issued = 0;

	begin(&r, 8, 64);
	seen_from = from;
	r.next = from;
	for (n = from; n < from + 40; n++) {
		if (!(uint32_t)n)
			continue; /* skipped */
		write_frame(memory, 8, n);
		issued++;
		if (n % 3 == 0)
			ring_poll(&r, n + 1, true);
	}
	ring_poll(&r, n, false);
	ring_finish(&r);
	CHECK_EQ(nr_seen, issued);
	CHECK_EQ(r.missed, 0);
	CHECK(in_order);
	r.next = UINT64_C(0x1fffffff0);
	ring_poll(&r, UINT64_C(0x200000100), false);
	ring_finish(&r);
	CHECK_EQ(r.missed, 0x110 - 1); /* ticket 2^33 is not a frame */
	ring_release(&r);
}

static void a_resize_loses_nothing_that_was_written(void)
{
	static uint32_t second[64 * STRIDE / 4];
	struct ring_block block = { (const uint8_t *)second, 64, 1, NULL };
	struct ring r;
	uint64_t n;

	memset(second, 0, sizeof(second));
	begin(&r, 8, 1000);
	for (n = 1; n <= 6; n++)
		write_frame(memory, 8, n);
	/* A thread that is still in the old block took 7; 8 and 9 go to the new block. */
	write_frame(second, 64, 8);
	write_frame(second, 64, 9);
	ring_resize(&r, &block);
	ring_poll(&r, 10, false);
	CHECK_EQ(nr_seen, 8);
	write_frame(memory, 8, 7);
	ring_resized(&r, 10);
	CHECK_EQ(nr_seen, 9);
	CHECK_EQ(r.old.nr, 0);
	ring_finish(&r);
	CHECK_EQ(r.missed, 0);
	ring_release(&r);
}

/* Both may happen between two polls. */
static void a_resize_that_was_not_seen_coming_loses_nothing_either(void)
{
	static uint32_t second[64 * STRIDE / 4];
	struct ring_block block = { (const uint8_t *)second, 64, 1, NULL };
	struct ring r;
	uint64_t n;

	memset(second, 0, sizeof(second));
	begin(&r, 8, 1000);
	for (n = 1; n <= 8; n++)
		write_frame(memory, 8, n);
	for (; n <= 20; n++)
		write_frame(second, 64, n);
	ring_resize(&r, &block);
	ring_resized(&r, 21);
	CHECK_EQ(nr_seen, 20);
	ring_finish(&r);
	CHECK_EQ(r.missed, 0);
	ring_release(&r);
}

static void finds_its_place_in_a_ring_without_a_counter(void)
{
	struct ring r;
	uint64_t n;

	begin(&r, 10, 1000);
	r.now.anchor = 0;
	CHECK(!ring_find_start(&r));
	/* The existing tool: ten slots, not a power of two; the first number after attach is 35. */
	seen_from = UINT64_C(0x100000000);
	for (n = 35; n < 40; n++) {
		uint32_t *slot = memory + (n - 35) % 10 * (STRIDE / 4);
		unsigned i;

		for (i = 0; i < WORDS; i++)
			slot[i] = (uint32_t)n;
	}
	CHECK(ring_find_start(&r));
	ring_poll(&r, ring_probe_head(&r), true);
	CHECK_EQ(nr_seen, 5);
	for (n = 40; n < 72; n++) {
		uint32_t *slot = memory + (n - 35) % 10 * (STRIDE / 4);
		unsigned i;

		for (i = 0; i < WORDS; i++)
			slot[i] = (uint32_t)n;
	}
	ring_poll(&r, ring_probe_head(&r), true);
	CHECK_EQ(nr_seen, 15);
	CHECK_EQ(r.missed, 22);
	CHECK_EQ(ring_probe_head(&r), UINT64_C(0x100000000) + 72);
	ring_poll(&r, ring_probe_head(&r), true);
	CHECK_EQ(nr_seen, 15);
	ring_release(&r);
}

/* ---- concurrent writers -------------------------------------------------- */

#define STRESS_SLOTS   64u
#define STRESS_TICKETS 3000000u

static _Atomic uint64_t next_ticket = 1;
static atomic_int running;

static void *writer(void *arg)
{
	uint64_t n;

	(void)arg;
	/* One writer: then a slot has one writer at a time, as the protocol requires. */
	while (atomic_load(&next_ticket) < STRESS_TICKETS) {
		n = atomic_fetch_add(&next_ticket, 1);
		write_frame(memory, STRESS_SLOTS, n);
		if (n % 1024 == 0)
			usleep(1);
	}
	atomic_store(&running, 0);
	return NULL;
}

static void never_tears_and_counts_exactly_under_a_running_writer(void)
{
	struct ring r;
	pthread_t thread;

	begin(&r, STRESS_SLOTS, STRESS_TICKETS + 1);
	atomic_store(&running, 1);
	CHECK_EQ(pthread_create(&thread, NULL, writer, NULL), 0);
	while (atomic_load(&running))
		ring_poll(&r, atomic_load(&next_ticket), true);
	pthread_join(thread, NULL);
	ring_poll(&r, STRESS_TICKETS, false);
	ring_finish(&r);
	printf("# %llu taken, %llu missed\n", (unsigned long long)nr_seen,
	       (unsigned long long)r.missed);
	CHECK_EQ(nr_seen + r.missed, STRESS_TICKETS - 1);
	/* A race that was never run proves nothing. */
	CHECK(nr_seen > 1000);
	ring_release(&r);
	free(seen);
}

int main(void)
{
	RUN(takes_each_frame_once_and_in_order);
	RUN(counts_what_was_overwritten);
	RUN(goes_past_a_writer_that_sleeps_and_comes_back_for_its_frame);
	RUN(a_frame_that_never_comes_is_missed_in_the_end);
	RUN(refuses_half_frames);
	RUN(numbers_go_on_behind_32_bits);
	RUN(a_resize_loses_nothing_that_was_written);
	RUN(a_resize_that_was_not_seen_coming_loses_nothing_either);
	RUN(finds_its_place_in_a_ring_without_a_counter);
	RUN(never_tears_and_counts_exactly_under_a_running_writer);
	return 0;
}
