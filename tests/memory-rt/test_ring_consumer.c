/* SPDX-License-Identifier: MIT */
/*
 * test_ring_consumer.c - the consumer of all rings and its packers, step by step: which rings are
 * taken and when, in which order blocks are stored, and what is counted.
 *
 * The test is the program, the clock, the thread that compresses and those that pack.
 */
#include <stdlib.h>

#include "check.h"
#include "sys.h"

static uint64_t test_now = UINT64_C(1000000000000);

#define crt_now(...)        test_now
#define crt_futex_wait(...) test_wait(__VA_ARGS__)

static void test_wait(uint32_t *word, uint32_t value, uint32_t ms);

#include "../../runtime/memory/pack_thread.c"
#include "../../runtime/memory/ring_consumer.c"

#undef crt_now
#undef crt_futex_wait

#define CHUNK  4096u
#define CHUNKS 64u
#define SLOTS  70u
#define UNITS  CRW_UNITS(CHUNK)

static uint8_t *memory;
static struct crw_region region;
static struct crw_consumer c;
static struct cray_writer *file;
static bool has_file, is_gone, is_busy;
static unsigned nr_asked, nr_gone_asked;
static char text[4000];

/* ---- what the consumer calls ---------------------------------------------------------- */

static struct {
	uint32_t *word;
	uint32_t value, ms;
	unsigned nr;
} waits;

static void (*while_waiting)(void);

static void test_wait(uint32_t *word, uint32_t value, uint32_t ms)
{
	waits.word = word;
	waits.value = value;
	waits.ms = ms;
	CHECK(++waits.nr < 100);
	if (while_waiting)
		while_waiting();
}

static bool starts_threads, press_is_slow;
static uint32_t nr_given, nr_pressed;
static bool press_starts[100];

/* Blocks are compressed when the test says so. */
uint32_t crt_press_give(struct cray_maker *m, bool start)
{
	(void)m;
	CHECK(nr_given - nr_pressed < CRT_PRESS_MAX);
	press_starts[nr_given % 100] = start;
	nr_given++;
	if (!press_is_slow)
		nr_pressed = nr_given;
	return nr_given;
}

bool crt_press_done(uint32_t ticket, bool wait)
{
	if (wait && ticket > nr_pressed)
		nr_pressed = ticket;
	return ticket <= nr_pressed;
}

void crt_press_forget(void)
{
}

bool crt_start_thread(void *(*run)(void *), void *argument)
{
	(void)argument;
	CHECK(run == packer_run);
	return starts_threads;
}

static struct cray_writer *file_of(void *context, const struct crw_slot_view *view)
{
	CHECK(context == &c && view != NULL);
	nr_asked++;
	return has_file ? file : NULL;
}

/* "THREAD.SEQ:ACCESSES", and "!" if it was finished in a hurry. */
static void store(void *context, struct cray_writer *to, struct cray_maker *m)
{
	size_t used = strlen(text);

	CHECK(context == &c && to == file);
	snprintf(text + used, sizeof(text) - used, "%s%u.%u:%u%s", used ? " " : "", m->head.thread,
		 (unsigned)m->head.thread_seq, m->head.nr_accesses, m->hurry ? "!" : "");
}

static const char *stored(void)
{
	static char last[sizeof(text)];

	memcpy(last, text, sizeof(text));
	text[0] = '\0';
	return last;
}

static bool look_if_gone(void *context, const struct crw_slot_view *view)
{
	CHECK(context == &c && view != NULL);
	nr_gone_asked++;
	return is_gone;
}

static bool look_if_busy(void *context)
{
	CHECK(context == &c);
	return is_busy;
}

static int nr_makers, makers_left = 1000;

static struct cray_maker *maker_new(int level)
{
	static const struct cray_zstd none;

	if (!makers_left--)
		return NULL;
	nr_makers++;
	CHECK_EQ(level, 5);
	return cray_maker_new(0, &none);
}

static void maker_free(struct cray_maker *m)
{
	if (m)
		nr_makers--;
	cray_maker_free(m);
}

/* ---- the program ------------------------------------------------------------------------- */

static void consumer_set(void)
{
	memset(&c, 0, sizeof(c));
	c = (struct crw_consumer){ .region = &region,
				   .context = &c,
				   .file_of = file_of,
				   .store = store,
				   .is_gone = look_if_gone,
				   .maker_new = maker_new,
				   .maker_free = maker_free,
				   .level = 5,
				   .late_ns = 50000000 };
}

static void region_make(uint32_t chunks)
{
	const struct crw_geometry geometry = {
		.nr_processes = 1, .nr_slots = SLOTS, .nr_chunks = chunks, .chunk_size = CHUNK
	};
	uint64_t size = crw_region_size(&geometry);

	free(memory);
	CHECK(size > 0);
	memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	CHECK(memory != NULL);
	memset(memory, 0, size);
	crw_region_init(memory, &geometry);
	CHECK(crw_region_open(memory, size, &region) == NULL);
	file = realloc(file, sizeof(*file));
	memset(file, 0, sizeof(*file));
	has_file = true;
	is_gone = is_busy = press_is_slow = starts_threads = false;
	nr_asked = nr_gone_asked = nr_given = nr_pressed = 0;
	memset(&waits, 0, sizeof(waits));
	while_waiting = NULL;
	text[0] = '\0';
	consumer_set();
}

static void begin(uint32_t chunks)
{
	region_make(chunks);
	CHECK(crw_consumer_open(&c));
}

static void finish(void)
{
	crw_consumer_close(&c);
	CHECK_EQ(nr_makers, 0);
}

static struct crw_slot *thread_begin(uint32_t index)
{
	struct crw_slot *s = &region.slots[index];

	memset(s, 0, sizeof(*s));
	s->serial = 7;
	s->thread = index + 1;
	s->tid = 100 + index;
	s->start_ns = 55;
	memcpy(s->name, "worker", 6);
	s->state = CRW_LIVE;
	return s;
}

/* The thread @index fills @nr units of its next chunk. */
static void fill(uint32_t index, uint32_t nr)
{
	struct crw_slot *s = &region.slots[index];
	uint8_t *chunk = region.rings +
			 ((uint64_t)index * region.nr_chunks + s->sealed % region.nr_chunks) *
				 CHUNK;
	struct crw_unit *u = (struct crw_unit *)(chunk + sizeof(struct crw_chunk_head));
	uint32_t i;

	memset(chunk, 0, CHUNK);
	*(struct crw_chunk_head *)chunk = (struct crw_chunk_head){
		.number = s->sealed, .serial = s->serial, .thread = s->thread, .time_ns = 1000
	};
	for (i = 0; i < nr; i++)
		u[i] = (struct crw_unit){ 0x1000 + i * 8, CRW_W1(0, 0x401000) };
}

static void fill_chunks(uint32_t index, uint32_t nr)
{
	while (nr--) {
		fill(index, UNITS);
		region.slots[index].sealed++;
		fill(index, 0);
	}
}

/* ---- tests --------------------------------------------------------------------------------- */

static void held_chunks_are_at_most_half_a_ring(void)
{
	static const struct {
		uint32_t chunks, pending;
		bool hold;
	} cases[] = { { 16, 1, true },  { 32, 1, true },  { 64, 2, true },
		      { 128, 4, true }, { 256, 4, true }, { 16, 4, false } };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		region_make(cases[i].chunks);
		c.hold = cases[i].hold;
		CHECK(crw_consumer_open(&c));
		CHECK_EQ(c.most_pending, cases[i].pending);
		CHECK_EQ(nr_makers, (int)cases[i].pending);
		finish();
	}
	region_make(CHUNKS);
	makers_left = 3;
	CHECK(!crw_consumer_open(&c));
	makers_left = 1000;
	finish();
	region_make(CHUNKS);
	c.nr_packers = 2;
	makers_left = 4 + 5;
	CHECK(!crw_consumer_open(&c));
	makers_left = 1000;
	finish();
}

static void a_ring_is_taken_when_it_is_worth_it(void)
{
	begin(CHUNKS);
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	thread_begin(0);
	fill(0, 0);
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_EQ(nr_asked, 1);
	CHECK_EQ(c.nr_threads, 1);
	CHECK_EQ(c.high, 1);
	fill_chunks(0, 15);
	test_now += 50000000; /* not long enough */
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_STR(stored(), "");
	fill_chunks(0, 1);
	CHECK(crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_EQ(region.slots[0].taken, 16);
	CHECK(strlen(stored()) > 0);
	fill_chunks(0, 1);
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	test_now += 50000001; /* it has waited for long */
	CHECK(crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_EQ(region.slots[0].taken, 17);
	CHECK(strlen(stored()) > 0);
	test_now += 200000000; /* since then nothing was there */
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	fill_chunks(0, 1);
	test_now += 50000000;
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_EQ(region.slots[0].taken, 17);
	CHECK(crw_consumer_poll(&c, CRW_TAKE_OPEN));
	CHECK_EQ(region.slots[0].taken, 18);
	finish();
	begin(16); /* half of a small ring */
	thread_begin(0);
	fill(0, 0);
	crw_consumer_poll(&c, CRW_TAKE_READY);
	fill_chunks(0, 7);
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	fill_chunks(0, 1);
	CHECK(crw_consumer_poll(&c, CRW_TAKE_READY));
	finish();
}

static void blocks_of_a_thread_are_numbered(void)
{
	begin(CHUNKS);
	thread_begin(0);
	thread_begin(1);
	fill(0, 0);
	fill(1, 0);
	region.slots[1].waiting = 1;
	c.hurry = true;
	fill_chunks(0, 1);
	CHECK(crw_consumer_poll(&c, CRW_TAKE_OPEN));
	fill_chunks(0, 1);
	fill_chunks(1, 1);
	CHECK(crw_consumer_poll(&c, CRW_TAKE_OPEN));
	CHECK_STR(stored(), "0.0:124 0.1:124 1.0:124!");
	c.hurry = false;
	fill_chunks(1, 1);
	CHECK(crw_consumer_poll(&c, CRW_TAKE_OPEN));
	CHECK_STR(stored(), "1.1:124");
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_OPEN));
	CHECK_EQ(file->nr_threads, 2);
	finish();
}

static const struct cray_thread *thread_entry(unsigned number)
{
	static struct cray_thread t;
	uint32_t at = 0;

	for (;; number--) {
		CHECK(at + sizeof(t) <= file->threads.used);
		memcpy(&t, file->threads.bytes + at, sizeof(t));
		if (!number)
			return &t;
		at += (uint32_t)sizeof(t) + t.name_size;
	}
}

static void a_thread_that_ends_frees_its_slot(void)
{
	struct crw_slot *s;

	begin(CHUNKS);
	s = thread_begin(3);
	fill(3, 9); /* the open chunk */
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_EQ(c.high, 4);
	CHECK(crw_consumer_has(&c, 7) && !crw_consumer_has(&c, 8));
	CHECK(thread_entry(0)->id == 103 && thread_entry(0)->start_ns == 55);
	CHECK(thread_entry(0)->end_ns == 0 && thread_entry(0)->name_size == 6);
	s->lost_full = 4;
	s->left_sampled = 5;
	s->left_filtered = 6;
	s->end_ns = 77;
	s->state = CRW_ENDED;
	CHECK(crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_STR(stored(), "0.0:9");
	CHECK_EQ(s->state, CRW_FREE);
	CHECK_EQ(thread_entry(1)->end_ns, 77);
	CHECK_EQ(c.nr_recovered, 0);
	CHECK_EQ(c.broken, 0);
	CHECK_EQ(file->nr_lost, 3);
	CHECK(file->lost[0].cause == CRAY_GAP_FULL && file->lost[0].count == 4);
	CHECK(file->lost[1].cause == CRAY_GAP_SAMPLED && file->lost[1].count == 5);
	CHECK(file->lost[2].cause == CRAY_GAP_FILTERED && file->lost[2].count == 6);
	CHECK(!crw_consumer_has(&c, 7));
	/* The next thread in this slot is another one. */
	thread_begin(3);
	fill(3, 0);
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_EQ(c.nr_threads, 2);
	CHECK_EQ(thread_entry(2)->number, 1);
	finish();
}

static void a_thread_that_is_gone_is_looked_for(void)
{
	struct crw_slot *s;

	begin(CHUNKS);
	s = thread_begin(0);
	fill(0, 5);
	is_gone = true;
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	test_now += 199999999;
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_OPEN) || nr_gone_asked == 0);
	CHECK_EQ(nr_gone_asked, 0);
	CHECK_EQ(s->state, CRW_LIVE);
	stored();
	test_now++;
	is_gone = false;
	crw_consumer_poll(&c, CRW_TAKE_READY);
	CHECK_EQ(nr_gone_asked, 1);
	crw_consumer_poll(&c, CRW_TAKE_READY); /* not at every poll */
	CHECK_EQ(nr_gone_asked, 1);
	is_gone = true;
	test_now += 200000000;
	CHECK(crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_EQ(s->state, CRW_FREE);
	CHECK_EQ(c.nr_recovered, 1);
	CHECK_EQ(thread_entry(1)->end_ns, test_now); /* it did not say when */
	/* At the end all threads have ended. */
	is_gone = false;
	thread_begin(1);
	fill(1, 8);
	CHECK(crw_consumer_poll(&c, CRW_TAKE_REST));
	CHECK_EQ(region.slots[1].state, CRW_FREE);
	CHECK_STR(stored(), "1.0:8");
	CHECK_EQ(c.nr_recovered, 2);
	finish();
}

static void threads_without_a_file_are_left(void)
{
	struct crw_slot *s;

	begin(CHUNKS);
	s = thread_begin(0);
	fill(0, 5);
	has_file = false;
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_OPEN));
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_OPEN));
	CHECK_EQ(nr_asked, 1);
	has_file = true; /* until another thread has the slot */
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_OPEN));
	CHECK_EQ(nr_asked, 1);
	s->state = CRW_FREE;
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_OPEN));
	s->state = CRW_LIVE;
	CHECK(crw_consumer_poll(&c, CRW_TAKE_OPEN));
	CHECK_EQ(nr_asked, 2);
	finish();
}

/* Only the consumer frees slots. */
static void a_slot_that_was_overwritten_is_corrupt(void)
{
	struct crw_slot *s;
	unsigned i;

	for (i = 0; i < 3; i++) {
		begin(CHUNKS);
		s = thread_begin(0);
		fill(0, 0);
		CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
		if (i == 0)
			s->serial++;
		if (i == 1)
			s->thread++;
		if (i == 2)
			s->state = CRW_FREE;
		CHECK(crw_consumer_poll(&c, CRW_TAKE_READY));
		CHECK_EQ(c.broken, 1);
		CHECK_EQ(c.nr_recovered, 0);
		CHECK_EQ(s->state, CRW_FREE);
		CHECK_EQ(file->nr_lost, 1);
		CHECK(file->lost[0].cause == CRAY_GAP_BROKEN && file->lost[0].count == 1);
		finish();
	}
}

static void only_slots_that_may_be_in_use_are_looked_at(void)
{
	begin(CHUNKS);
	thread_begin(64);
	fill(64, 0);
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_EQ(nr_asked, 0);
	thread_begin(63);
	fill(63, 0);
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_EQ(nr_asked, 1);
	CHECK_EQ(c.high, 64);
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_EQ(nr_asked, 2);
	thread_begin(SLOTS - 1);
	fill(SLOTS - 1, 0);
	crw_consumer_poll(&c, CRW_TAKE_OPEN);
	CHECK_EQ(nr_asked, 3);
	CHECK_EQ(c.high, SLOTS);
	region.slots[63].lost_full = 3;
	crw_consumer_count_lost(&c); /* of threads that run */
	CHECK(file->nr_lost == 1 && file->lost[0].count == 3);
	finish();
}

static void blocks_are_stored_in_order_when_they_are_compressed(void)
{
	unsigned i;

	begin(CHUNKS);
	press_is_slow = true;
	for (i = 0; i < 5; i++) {
		thread_begin(i);
		fill(i, 0);
		fill_chunks(i, 16);
	}
	CHECK(crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_EQ(c.nr_pending, 4); /* the first had to make room */
	CHECK_STR(stored(), "0.0:1984");
	CHECK(press_starts[0]);
	nr_pressed = 3;
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_STR(stored(), "1.0:1984 2.0:1984");
	CHECK_EQ(c.nr_pending, 2);
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_OPEN)); /* waits for all */
	CHECK_STR(stored(), "3.0:1984 4.0:1984");
	CHECK_EQ(c.nr_pending, 0);
	finish();
}

/* `mem recover` finds in the ring what is not in the file. */
static void held_chunks_are_returned_when_they_are_stored(void)
{
	struct crw_slot *s;

	region_make(CHUNKS);
	c.hold = true;
	CHECK(crw_consumer_open(&c));
	CHECK_EQ(c.most_pending, 2);
	press_is_slow = true;
	s = thread_begin(0);
	fill(0, 0);
	fill_chunks(0, 16);
	CHECK(crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_EQ(s->taken, 0);
	CHECK_STR(stored(), "");
	CHECK(!press_starts[0]); /* it is not fast */
	nr_pressed = 1;
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_STR(stored(), "0.0:1984");
	CHECK_EQ(s->taken, 16);
	fill_chunks(0, 32);
	CHECK(crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK(press_starts[1]);
	CHECK_EQ(s->taken, 16);
	CHECK(crw_consumer_poll(&c, CRW_TAKE_READY)); /* the rest */
	CHECK_EQ(s->taken, 16);
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY)); /* a thread may wait for held chunks */
	CHECK_EQ(s->taken, 48);
	CHECK_STR(stored(), "0.1:1984 0.2:1984");
	finish();
}

/* ---- packers ----------------------------------------------------------------------------------
 */

/* The thread of a packer. */
static void packers_work(void)
{
	uint32_t i;

	for (i = 0; i < c.nr_packers; i++) {
		if (c.packers[i].state == PACKER_GIVEN) {
			packer_work(&c.packers[i]);
			packer_set(&c.packers[i], PACKER_IDLE);
		}
	}
}

static void packers_end(void)
{
	uint32_t i;

	packers_work();
	for (i = 0; i < c.nr_packers; i++) {
		if (c.packers[i].state == PACKER_ENDING)
			c.packers[i].state = PACKER_ENDED;
	}
}

static void packers_share_the_rings(void)
{
	unsigned i;

	region_make(CHUNKS);
	c.nr_packers = 2;
	CHECK(crw_consumer_open(&c));
	CHECK_EQ(nr_makers, 4 + 2 * 4);
	starts_threads = true;
	for (i = 0; i < 4; i++) {
		thread_begin(i);
		fill(i, 0);
		fill_chunks(i, 16);
	}
	CHECK(crw_consumer_poll(&c,
				CRW_TAKE_READY)); /* the first poll sees that there are several */
	CHECK_STR(stored(), "0.0:1984 1.0:1984 2.0:1984 3.0:1984");
	CHECK_EQ(c.nr_ready, 4);
	for (i = 0; i < 3; i++)
		fill_chunks(i, 16);
	CHECK(crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_STR(stored(), "2.1:1984"); /* two are being packed */
	CHECK(c.packed[0] == &c.sources[0] && c.packed[1] == &c.sources[1]);
	CHECK(c.sources[0].packer == &c.packers[0] && c.sources[1].packer == &c.packers[1]);
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY)); /* not done yet */
	CHECK_EQ(c.nr_ready, 2);
	CHECK_STR(stored(), "");
	packers_work();
	CHECK(crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_STR(stored(), "0.1:1984 1.1:1984");
	CHECK(!c.packed[0] && !c.packed[1] && !c.sources[0].packer);
	CHECK(!crw_consumer_poll(&c, CRW_TAKE_READY));
	/* At the end they are waited for. */
	for (i = 0; i < 3; i++)
		fill_chunks(i, 16);
	c.nr_ready = 2;
	CHECK(crw_consumer_poll(&c, CRW_TAKE_READY));
	stored();
	CHECK(c.packed[0] && c.packed[1]);
	while_waiting = packers_work;
	crw_consumer_poll(&c, CRW_TAKE_OPEN);
	CHECK_STR(stored(), "0.2:1984 1.2:1984");
	CHECK(waits.nr >= 1 && waits.value == PACKER_GIVEN && waits.ms == 1000);
	while_waiting = packers_end;
	finish();
}

static void without_threads_the_consumer_packs_itself(void)
{
	region_make(CHUNKS);
	c.nr_packers = 1;
	CHECK(crw_consumer_open(&c));
	thread_begin(0);
	fill(0, 0);
	fill_chunks(0, 16);
	c.nr_ready = 2;
	CHECK(crw_consumer_poll(&c, CRW_TAKE_READY));
	CHECK_STR(stored(), "0.0:1984");
	CHECK(!c.packed[0] && !c.packers[0].runs);
	finish();
}

static void notes_are_kept_in_order(void)
{
	struct crw_packer *k = &c.packers[0];
	const struct crw_packer_note *note;
	uint64_t at = 0, size;

	region_make(CHUNKS);
	c.nr_packers = 1;
	CHECK(crw_consumer_open(&c));
	CHECK_EQ(k->notes_size, CHUNK / 2 * 16);
	CHECK(k->bell == &region.header->bell);
	size = packer_note_size(5);
	CHECK_EQ(size, sizeof(*note) + 8);
	CHECK_EQ(packer_note_size(8), sizeof(*note) + 8);
	CHECK_EQ(packer_note_size(9), sizeof(*note) + 16);
	CHECK(!crw_packer_next_note(k, &at));
	packer_note(k, 3, 44, (const uint8_t *)"abcde", 5);
	packer_note(k, 4, 45, (const uint8_t *)"", 0);
	CHECK_EQ(k->notes_used, size + sizeof(*note));
	note = crw_packer_next_note(k, &at);
	CHECK(note && note->code == 3 && note->w0 == 44 && note->size == 5);
	CHECK_EQ(memcmp(note + 1, "abcde", 5), 0);
	note = crw_packer_next_note(k, &at);
	CHECK(note && note->code == 4 && note->w0 == 45 && note->size == 0);
	CHECK(!crw_packer_next_note(k, &at));
	k->notes_used = k->notes_size - size;
	packer_note(k, 5, 1, (const uint8_t *)"123456789", 9); /* has no room */
	CHECK_EQ(k->notes_used, k->notes_size - size);
	packer_note(k, 5, 1, (const uint8_t *)"12345678", 8);
	CHECK_EQ(k->notes_used, k->notes_size);
	finish();
}

/* Facts, modules and stacks go to the file, whichever thread finds them. */
static void what_is_beside_the_blocks_is_in_the_file(void)
{
	struct cray_module module = { .path_size = 0 };
	uint64_t frames[2] = { 1, 2 };

	begin(CHUNKS);
	consumer_aside(file, CRW_FACT, CRAY_FACT_PID, (const uint8_t *)"12345678", 8);
	CHECK_EQ(file->facts.used, sizeof(struct cray_fact) + 8);
	consumer_aside(file, CRW_STACK, 9, (const uint8_t *)frames, 16);
	CHECK_EQ(file->stacks.used, sizeof(struct cray_stack) + 16);
	consumer_aside(file, CRW_MODULE, 0, (const uint8_t *)&module, sizeof(module));
	CHECK_EQ(file->modules.used, sizeof(module));
	finish();
}

static void a_packer_that_works_replaces_nothing(void)
{
	struct crw_packer *k = &c.packers[0];

	region_make(CHUNKS);
	c.nr_packers = 1;
	CHECK(crw_consumer_open(&c));
	starts_threads = true;
	thread_begin(0);
	fill(0, 0);
	fill_chunks(0, 16);
	crw_consumer_poll(&c, CRW_TAKE_READY);
	stored();
	fill_chunks(0, 16);
	region.slots[0].waiting = 1;
	c.hurry = true;
	c.sources[0].job.end = c.sources[0].job.cursor.taken + 16;
	CHECK(crw_packer_give(k, &c.sources[0].job, true));
	CHECK(k->runs && k->state == PACKER_GIVEN);
	CHECK(!crw_packer_done(k, false));
	k->nr = 3;
	k->notes_used = 9;
	packers_work();
	CHECK(crw_packer_done(k, false) && crw_packer_done(k, true));
	CHECK_EQ(k->nr, 1);
	CHECK_EQ(k->notes_used, 0);
	CHECK(!k->more);
	CHECK_EQ(k->makers[0]->head.nr_accesses, 16 * UNITS);
	CHECK(k->makers[0]->hurry);
	CHECK(c.sources[0].job.feed.aside == consumer_aside);
	CHECK(c.sources[0].job.feed.context == file);
	while_waiting = packers_end;
	finish();
	CHECK(!k->runs && !k->notes && !k->pack);
}

/* ---- sleep
 * --------------------------------------------------------------------------------------- */

static uint32_t asleep_while_waiting;

static void look_at_header(void)
{
	asleep_while_waiting = region.header->asleep;
}

static void the_consumer_sleeps_only_if_there_is_nothing(void)
{
	begin(CHUNKS);
	region.header->bell = 41;
	while_waiting = look_at_header;
	crw_consumer_sleep(&c, 123);
	CHECK_EQ(waits.nr, 1);
	CHECK(waits.word == &region.header->bell && waits.value == 41 && waits.ms == 123);
	CHECK_EQ(asleep_while_waiting, 1);
	CHECK_EQ(region.header->asleep, 0);
	c.is_busy = look_if_busy;
	crw_consumer_sleep(&c, 123);
	CHECK_EQ(waits.nr, 2);
	is_busy = true;
	crw_consumer_sleep(&c, 123);
	CHECK_EQ(waits.nr, 2);
	is_busy = false;
	thread_begin(0);
	fill(0, 0);
	fill_chunks(0, 16);
	crw_consumer_sleep(&c, 123);
	CHECK_EQ(waits.nr, 2);
	CHECK_EQ(region.header->asleep, 0);
	CHECK_STR(stored(), "0.0:1984");
	finish();
}

int main(void)
{
	RUN(held_chunks_are_at_most_half_a_ring);
	RUN(a_ring_is_taken_when_it_is_worth_it);
	RUN(blocks_of_a_thread_are_numbered);
	RUN(a_thread_that_ends_frees_its_slot);
	RUN(a_thread_that_is_gone_is_looked_for);
	RUN(threads_without_a_file_are_left);
	RUN(a_slot_that_was_overwritten_is_corrupt);
	RUN(only_slots_that_may_be_in_use_are_looked_at);
	RUN(blocks_are_stored_in_order_when_they_are_compressed);
	RUN(held_chunks_are_returned_when_they_are_stored);
	RUN(packers_share_the_rings);
	RUN(without_threads_the_consumer_packs_itself);
	RUN(notes_are_kept_in_order);
	RUN(what_is_beside_the_blocks_is_in_the_file);
	RUN(a_packer_that_works_replaces_nothing);
	RUN(the_consumer_sleeps_only_if_there_is_nothing);
	free(memory);
	free(file);
	return 0;
}
