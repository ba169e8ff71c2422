/* SPDX-License-Identifier: MIT */
/*
 * weak_rings.c - all executions of the memory runtime's ring: a thread that records accesses, and
 * the consumer.  Chunks of four units, two chunks per ring, one slot.
 */
#include <string.h>

#include "coroutine_stamp.h"
#include "shadow_stack.h"
#include "sys.h"
#include "trace_session.h"
#include "weak_packer.h"
#include "weak_tests.h"

#define CHUNKS 2u
#define CODE   (UINT64_C(1) << 56)

struct crt_session crt_session;
struct crt_state crt_state;
static struct crw_cursor reader;
static struct crw_consumer *consumer;
static uint64_t nr_written, last_address, nr_units, nr_gaps;

/* ---- what recorder.c calls ------------------------------------------------------------ */

uint64_t crt_now(void)
{
	return 1;
}

uint32_t crt_tid(void)
{
	return 1;
}

void crt_futex_wait(uint32_t *word, uint32_t value, uint32_t ms)
{
	(void)ms;
	if (__atomic_fetch_add(word, 0, __ATOMIC_RELAXED) == value)
		weak_sleep();
}

void crt_futex_wake(uint32_t *word)
{
	(void)word;
	weak_wake();
}

struct crt_mask crt_signals_off(void)
{
	return (struct crt_mask){ 0 };
}

void crt_signals_back(struct crt_mask mask)
{
	(void)mask;
}

void crt_end(const char *why)
{
	(void)why;
	weak_fail("the session ends");
}

bool crt_fault_in(void *at, uint64_t size)
{
	(void)at;
	(void)size;
	return true;
}

void crt_say(const char *first, ...)
{
	(void)first;
	weak_fail("the runtime has a message");
}

void crt_calls_end(void)
{
}

uint32_t crt_stamp_text(const struct crt_thread *t, uint32_t cause, uint8_t out[CRT_STAMP_MAX])
{
	(void)t;
	(void)cause;
	(void)out;
	return 0;
}

void crt_text_init(struct crt_text *t, char *buffer, size_t size)
{
	(void)t;
	(void)buffer;
	(void)size;
}

void crt_text_add(struct crt_text *t, const char *text)
{
	(void)t;
	(void)text;
}

void crt_text_number(struct crt_text *t, uint64_t n)
{
	(void)t;
	(void)n;
}

/* ---- set up -------------------------------------------------------------------------------- */

static void make_region(struct crw_region *r)
{
	uint8_t *ring = weak_alloc((CHUNKS + 1) * CRW_CHUNK_SIZE);

	memset(r, 0, sizeof(*r));
	r->header = weak_alloc(sizeof(*r->header));
	r->base = (uint8_t *)r->header;
	r->processes = weak_alloc(sizeof(*r->processes));
	r->slots = weak_alloc(sizeof(*r->slots));
	/* crw_slot_look() reads them in every state; they count if the state says so. */
	weak_seqlock(r->slots, sizeof(*r->slots));
	weak_ignore(&r->slots->process, sizeof(r->slots->process));
	weak_ignore(&r->slots->pid, 4 + 2 * sizeof(r->slots->start_ns));
	weak_ignore(&r->slots->reserved3,
		    offsetof(struct crw_slot, reserved) - offsetof(struct crw_slot, reserved3));
	r->rings = ring + (CRW_CHUNK_SIZE - (uintptr_t)ring % CRW_CHUNK_SIZE) % CRW_CHUNK_SIZE;
	r->nr_processes = r->nr_slots = 1;
	r->nr_chunks = CHUNKS;
	r->chunk_size = CRW_CHUNK_SIZE;
}

static void make_ring(void)
{
	memset(&crt_session, 0, sizeof(crt_session));
	memset(&crt_self, 0, sizeof(crt_self));
	make_region(&crt_session.region);
	crt_session.generation = crt_session.drop = crt_session.rounds = 1;
	crt_session.serial = 5;
	crt_state.word = CRT_ON;
	crt_state.session = 1;
	crt_self.cur = CRT_OVER;
	crt_self.seen = CRT_UNSEEN;
	memset(&reader, 0, sizeof(reader));
	nr_written = last_address = nr_units = nr_gaps = 0;
	weak_restore(&crt_self, sizeof(crt_self));
	weak_restore(&crt_session, sizeof(crt_session));
	weak_restore(&reader, sizeof(reader));
	weak_restore(&nr_written, sizeof(nr_written));
	weak_restore(&last_address, sizeof(last_address));
	weak_restore(&nr_units, sizeof(nr_units));
	weak_restore(&nr_gaps, sizeof(nr_gaps));
}

static void make_waiting(void)
{
	make_ring();
	crt_session.drop = 0;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void record_some(unsigned nr)
{
	while (nr--)
		crt_slow(++nr_written, CODE | 7);
}

static void record_and_end(void)
{
	record_some(9);
	crt_thread_end();
}

static void record_and_wait(void)
{
	record_some(9);
}

static void end_and_record(void)
{
	record_some(2);
	crt_thread_end();
	crt_self.tries = crt_self.refused = 0;
	record_some(1);
	crt_thread_end();
}

/* ---- the consumer ------------------------------------------------------------------------------
 */

/* Addresses grow, except where a gap says that some are missing. */
static void unit_take(const struct crw_unit *u)
{
	uint64_t code = u->w1 >> 56;

	if (u->w1 == CRW_W1(CRW_PAD, 1) || code == CRW_PAD)
		return;
	if (code == CRW_GAP) {
		nr_gaps += u->w0;
		return;
	}
	if (code != 1 || u->w0 <= last_address || u->w0 > nr_written)
		weak_fail("unit %#llx, %llu after address %llu", (unsigned long long)u->w1,
			  (unsigned long long)u->w0, (unsigned long long)last_address);
	last_address = u->w0;
	nr_units++;
}

static void ring_drain(const struct crw_slot_view *view, bool gone)
{
	struct crw_taken run;
	uint32_t i;

	while (crw_take(&crt_session.region, view, &reader, 8, gone, &run)) {
		for (i = 0; i < run.nr; i++)
			unit_take(&run.units[i]);
		crw_give_back(&crt_session.region, view, &reader, run.nr);
	}
	if (reader.broken || reader.holes)
		weak_fail("%llu corrupt chunks, %llu holes", (unsigned long long)reader.broken,
			  (unsigned long long)reader.holes);
}

static void ring_look(void)
{
	struct crw_slot_view view;

	crw_slot_look(&crt_session.region, 0, &view);
	if (view.state != CRW_LIVE && view.state != CRW_ENDED)
		return;
	if (view.serial != 5 || view.tid != 1)
		weak_fail("a slot of process %llu", (unsigned long long)view.serial);
	ring_drain(&view, view.state == CRW_ENDED);
	if (view.state != CRW_ENDED)
		return;
	memset(&reader, 0, sizeof(reader));
	crw_slot_free(&crt_session.region, 0);
}

static void look_at_ring(void)
{
	ring_look();
	ring_look();
}

/* ---- the consumer of ring_consumer.c ---- */

#define SLEEPS 3u /* of the consumer: then it has read all, or comes no more */

static void unit_take(const struct crw_unit *u);

static void make_consumer(void)
{
	make_ring();
	/* What the thread stores there is not checked here. */
	weak_ignore(crt_session.region.slots->name, sizeof(crt_session.region.slots->name));
	consumer = packer_make(&crt_session.region, unit_take);
}

static void make_waiting_consumer(void)
{
	make_consumer();
	crt_session.drop = 0;
}

static void record_one(void)
{
	record_some(1);
	crt_thread_end();
}

/* The first access after a full chunk seals it. */
static void record_a_chunk(void)
{
	record_some(5);
}

static void record_more_than_fits(void)
{
	record_some(9);
	crt_thread_end();
}

/* The program's thread has been followed to its end. */
static bool has_followed(void)
{
	return consumer->nr_threads && !consumer->sources[0].file;
}

static void sleep_until_followed(void)
{
	unsigned i;

	for (i = 0; i < SLEEPS && !has_followed(); i++)
		crw_consumer_sleep(consumer, 1000);
}

static void sleep_until_read(void)
{
	unsigned i;

	for (i = 0; i < SLEEPS && !nr_units; i++)
		crw_consumer_sleep(consumer, 1000);
}

/* A thread that still sleeps has no room. */
static void check_waiting(void)
{
	const struct crw_slot *s = &crt_session.region.slots[0];

	if (!weak_has_ended(0) && crt_self.number - s->taken < CHUNKS)
		weak_fail("the thread sleeps, and there is room");
}

/* Whatever the thread has left undone, the consumer is awake, or has been woken. */
static void check_followed(void)
{
	if (!weak_has_ended(1))
		weak_fail("the consumer sleeps, and the thread %s",
			  weak_has_ended(0) ? "has ended" : "waits for room");
	check_waiting();
	if (has_followed() && nr_units != nr_written)
		weak_fail("%llu accesses, %llu read", (unsigned long long)nr_written,
			  (unsigned long long)nr_units);
}

static void check_read(void)
{
	if (!weak_has_ended(1))
		weak_fail("the consumer sleeps, and has read %llu accesses of a full chunk",
			  (unsigned long long)nr_units);
}

static void check_ring(void)
{
	uint64_t slotless = crt_session.region.processes[0].lost;

	ring_look();
	if (nr_units + crt_session.region.slots[0].lost_full + slotless != nr_written)
		weak_fail("%llu accesses: %llu read, %llu lost, %llu without a slot",
			  (unsigned long long)nr_written, (unsigned long long)nr_units,
			  (unsigned long long)crt_session.region.slots[0].lost_full,
			  (unsigned long long)slotless);
	if (crt_session.region.slots[0].state != CRW_FREE)
		weak_fail("the slot is not free");
}

const struct weak_test weak_tests[] = {
	{ .name = "ring",
	  .what = "9 accesses, room for 8; 2 looks",
	  .nr_threads = 2,
	  .set_up = make_ring,
	  .threads = { record_and_end, look_at_ring },
	  .check = check_ring },
	{ .name = "ring-wait",
	  .what = "the thread waits for room; 1 look",
	  .nr_threads = 2,
	  .set_up = make_waiting,
	  .threads = { record_and_wait, ring_look },
	  .check = check_waiting },
	{ .name = "ring-slot",
	  .what = "the thread ends and takes the slot again; 2 looks",
	  .nr_threads = 2,
	  .set_up = make_ring,
	  .threads = { end_and_record, look_at_ring },
	  .check = check_ring },
	{ .name = "ring-sleep",
	  .what = "the consumer sleeps; a thread begins and ends",
	  .nr_threads = 2,
	  .set_up = make_consumer,
	  .threads = { record_one, sleep_until_followed },
	  .check = check_followed },
	{ .name = "ring-sleep-chunk",
	  .what = "the consumer sleeps; a chunk is full",
	  .nr_threads = 2,
	  .set_up = make_consumer,
	  .threads = { record_a_chunk, sleep_until_read },
	  .check = check_read },
	{ .name = "ring-sleep-both",
	  .what = "the thread waits for the consumer, which sleeps; two preemptions",
	  .nr_threads = 2,
	  .set_up = make_waiting_consumer,
	  .threads = { record_more_than_fits, sleep_until_followed },
	  .check = check_followed,
	  .most_switches = 2,
	  .most_stale = 1 },
	{ .name = "ring-sleep-more",
	  .what = "at most three preemptions and two loads of old values",
	  .nr_threads = 2,
	  .set_up = make_waiting_consumer,
	  .threads = { record_more_than_fits, sleep_until_followed },
	  .check = check_followed,
	  .most_switches = 3,
	  .most_stale = 2,
	  .full_only = true },
	{ 0 },
};
