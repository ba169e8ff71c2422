/* SPDX-License-Identifier: MIT */
/* test_handoff.c - buffers that one thread fills and another one takes, in order and whole. */
#include "export/handoff.h"

#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "count_memory.h"
#include "held_locks.h"

static struct handoff h;

static void give_text(const char *text)
{
	char *data = handoff_buffer(&h);

	CHECK(data != NULL);
	memcpy(data, text, strlen(text));
	handoff_give(&h, strlen(text));
}

static void buffers_are_taken_in_order_and_in_parts(void)
{
	char got[64];

	CHECK_EQ(handoff_init(&h), 0);
	give_text("abcdef");
	give_text("gh");
	CHECK_EQ(handoff_take(&h, got, 4), 4);
	CHECK(!memcmp(got, "abcd", 4));
	CHECK_EQ(handoff_take(&h, got, 4), 2); /* not beyond the buffer */
	CHECK(!memcmp(got, "ef", 2));
	CHECK_EQ(handoff_take(&h, got, 64), 2);
	CHECK(!memcmp(got, "gh", 2));
	give_text("i");
	handoff_end(&h, false);
	CHECK_EQ(handoff_take(&h, got, 64), 1); /* what is left */
	CHECK_EQ(got[0], 'i');
	CHECK_EQ(handoff_take(&h, got, 64), 0);
	CHECK_EQ(handoff_take(&h, got, 64), 0);
	handoff_release(&h);
}

static void a_load_can_be_given_up(void)
{
	char got[64];

	CHECK_EQ(handoff_init(&h), 0);
	give_text("abc");
	handoff_end(&h, true);
	CHECK_EQ(handoff_take(&h, got, 64), -1);
	handoff_release(&h);
}

static void a_consumer_can_refuse(void)
{
	unsigned i;

	CHECK_EQ(handoff_init(&h), 0);
	for (i = 0; i < HANDOFF_BUFFERS; i++)
		give_text("x");
	handoff_refuse(&h);
	CHECK(handoff_buffer(&h) == NULL); /* it does not wait for a buffer */
	handoff_release(&h);
}

/* ---- two threads ------------------------------------------------------------------------- */

#define ROUNDS 200u

static void *consume(void *arg)
{
	static char got[1000];
	unsigned long *sum = arg;
	int n, i;

	while ((n = handoff_take(&h, got, sizeof(got))) > 0) {
		for (i = 0; i < n; i++)
			*sum = *sum * 31 + (unsigned char)got[i];
	}
	CHECK_EQ(n, 0);
	return NULL;
}

static void a_thread_waits_for_the_other(void)
{
	unsigned long sum = 0, wanted = 0;
	pthread_t thread;
	unsigned i, k;

	CHECK_EQ(handoff_init(&h), 0);
	CHECK_EQ(pthread_create(&thread, NULL, consume, &sum), 0);
	for (i = 0; i < ROUNDS; i++) {
		char *data = handoff_buffer(&h);
		size_t size = i % 3 ? 7000 : HANDOFF_SIZE / 64;

		CHECK(data != NULL);
		for (k = 0; k < size; k++) {
			data[k] = (char)(i + k % 251);
			wanted = wanted * 31 + (unsigned char)data[k];
		}
		handoff_give(&h, size);
	}
	handoff_end(&h, false);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(sum == wanted);
	handoff_release(&h);
}

static void *refuse_later(void *arg)
{
	(void)arg;
	usleep(2000);
	handoff_refuse(&h);
	return NULL;
}

static void a_refusal_ends_the_wait_for_a_buffer(void)
{
	pthread_t thread;
	unsigned i;

	CHECK_EQ(handoff_init(&h), 0);
	for (i = 0; i < HANDOFF_BUFFERS; i++)
		give_text("x");
	CHECK_EQ(pthread_create(&thread, NULL, refuse_later, NULL), 0);
	CHECK(handoff_buffer(&h) == NULL);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	handoff_release(&h);
}

static void open_and_release(void)
{
	CHECK_EQ(handoff_init(&h), 0);
	give_text("x");
	handoff_release(&h);
}

int main(void)
{
	RUN(buffers_are_taken_in_order_and_in_parts);
	RUN(a_load_can_be_given_up);
	RUN(a_consumer_can_refuse);
	RUN(a_thread_waits_for_the_other);
	RUN(a_refusal_ends_the_wait_for_a_buffer);
	check_keeps_no_memory(open_and_release);
	return 0;
}
