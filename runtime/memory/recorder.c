/* SPDX-License-Identifier: MIT */
/*
 * recorder.c - a thread and its ring: slot, chunks, order stamps, full rings.
 *
 * All of it runs in callbacks on the program's threads, possibly in a signal handler that
 * interrupted this file.  Steps that must not be interrupted (changing the chunk, claiming a
 * slot) run with signals blocked, which costs two system calls per 4092 units.  Steps that may
 * take long (waiting for room) run with signals enabled and check all state again afterwards.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "container.h"
#include "coroutine_stamp.h"
#include "shadow_stack.h"
#include "trace_session.h"
#include "sys.h"

__thread struct crt_thread crt_self __attribute__((visibility("hidden"))) = {
	.cur = CRT_OVER,
	.seen = CRT_UNSEEN,
};

/* Ready chunks before a sleeping consumer is woken: one block, or half a ring. */
#define BATCH            16u
#define PATIENCE_MS      100u
#define RETRY            4096u /* accesses between searches for a free slot, or memory */
#define SLOT_LOOK_MS     10u
#define SLOT_PATIENCE_MS 3000u
#define END_ROUNDS       2u

/* The result of recorder_advance(). */
enum outcome { GOT_ONE, NO_ROOM, NO_MEMORY, NO_SLOT, OFF };

void crt_ring_bell(void)
{
	struct crw_header *h = crt_session.region.header;

	__atomic_fetch_add(&h->bell, 1, __ATOMIC_RELAXED);
	crt_futex_wake(&h->bell);
}

/* Wake the consumer if it sleeps and enough chunks are ready.  @now: however few. */
static void wake_consumer(const struct crt_thread *t, bool now)
{
	uint32_t batch = crt_session.region.nr_chunks / 2;
	uint64_t ready = t->number - __atomic_load_n(&t->slot->taken, __ATOMIC_RELAXED);

	if (!now && ready < (batch < BATCH ? batch : BATCH))
		return;
	/*
	 * (mem-C) pairs with the fence of the consumer, between the store of `asleep` and the load
	 * of `sealed`.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&crt_session.region.header->asleep, __ATOMIC_RELAXED))
		crt_ring_bell();
}

static void recorder_seal(struct crt_thread *t)
{
	t->open = 0;
	t->cur = CRT_OVER;
	t->number++;
	/* (mem-A) pairs with the acquire of `sealed` in crw_take(). */
	__atomic_store_n(&t->slot->sealed, t->number, __ATOMIC_RELEASE);
	wake_consumer(t, false);
}

static bool recorder_claim(struct crw_slot *s)
{
	uint32_t unused = CRW_FREE;

	if (__atomic_load_n(&s->state, __ATOMIC_RELAXED) != CRW_FREE)
		return false;
	/* (mem-H) pairs with the release in crw_slot_free(): the ring is drained. */
	return __atomic_compare_exchange_n(&s->state, &unused, CRW_MAKING, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void slot_fill(struct crw_slot *s)
{
	s->process = crt_session.process;
	s->serial = crt_session.serial;
	s->thread = 1 + __atomic_fetch_add(&crt_session.next_thread, 1, __ATOMIC_RELAXED);
	s->tid = crt_tid();
	s->pid = crt_session.pid;
	s->start_ns = crt_now();
	s->end_ns = 0;
	s->sealed = 0;
	s->waiting = 0;
	s->lost_full = 0;
	s->left_sampled = 0;
	s->left_filtered = 0;
	__builtin_memset(s->name, 0, sizeof(s->name));
	prctl(PR_GET_NAME, s->name, 0, 0, 0);
	/* (mem-E) pairs with the acquire in crw_slot_look(). */
	__atomic_store_n(&s->state, CRW_LIVE, __ATOMIC_RELEASE);
}

static pthread_key_t end_key;
static bool end_key_made;

/*
 * Destructors of other keys may run after this one, and access memory: the first calls only ask for
 * another round, of which there are PTHREAD_DESTRUCTOR_ITERATIONS.
 */
static void at_thread_end(void *self)
{
	if (crt_self.ending++ < END_ROUNDS && pthread_setspecific(end_key, self) == 0)
		return;
	crt_thread_end();
	crt_calls_end();
}

/* Called once, from a constructor: a key created this early needs no allocation. */
void crt_thread_hook(void)
{
	if (!end_key_made)
		end_key_made = pthread_key_create(&end_key, at_thread_end) == 0;
}

void crt_thread_watch(void)
{
	if (end_key_made)
		pthread_setspecific(end_key, &crt_self);
}

/* Claim a slot for this thread. */
static bool recorder_attach(struct crt_thread *t)
{
	const struct crw_region *r = &crt_session.region;
	uint32_t i;

	if (t->tries) {
		t->tries--;
		return false;
	}
	t->freed = __atomic_load_n(&r->header->freed, __ATOMIC_RELAXED);
	for (i = 0; i < r->nr_slots; i++) {
		if (recorder_claim(&r->slots[i]))
			break;
	}
	if (i == r->nr_slots)
		return false;
	slot_fill(&r->slots[i]);
	t->slot = &r->slots[i];
	t->ring = r->rings + (uint64_t)i * r->nr_chunks * r->chunk_size;
	t->number = 0;
	t->open = 0;
	t->generation = crt_session.generation;
	crt_thread_watch();
	return true;
}

/* Add a unit at the start of a new chunk, where there is always room. */
static void recorder_note(struct crt_thread *t, unsigned code, uint64_t w0, uint64_t low)
{
	crt_fill(t->cur, w0, CRW_W1(code, low));
	t->cur += CRW_UNIT;
}

static void note_gaps(struct crt_thread *t)
{
	if (t->lost)
		recorder_note(t, CRW_GAP, t->lost, CRAY_GAP_FULL);
	if (t->skipped)
		recorder_note(t, CRW_GAP, t->skipped, CRAY_GAP_SAMPLED);
	if (t->filtered)
		recorder_note(t, CRW_GAP, t->filtered, CRAY_GAP_FILTERED);
	t->lost = t->skipped = t->filtered = 0;
}

/*
 * The order that a thread may record now.  While it holds a ticket that it has not recorded, the
 * order stays below the ticket: other threads may have taken later tickets.
 */
static uint64_t order_now(const struct crt_thread *t)
{
	uint64_t order = __atomic_load_n(&crt_state.word, __ATOMIC_RELAXED) >> 1;

	return t->ticket && order >= t->ticket ? t->ticket - 1 : order;
}

/* Fill the units of a header with a payload; the header last: it makes the units a record. */
static void recorder_fill_payload(uint64_t at, unsigned code, uint64_t w0, uint64_t low,
				  const uint8_t *bytes, uint32_t size)
{
	uint32_t words = (size + 7) / 8, i;

	crt_fill(at + CRW_UNIT, size, CRW_W1(CRW_DATA, 1 + words));
	for (i = 0; i < words; i++) {
		uint64_t word = 0;
		uint32_t n = size - 8 * i < 8 ? size - 8 * i : 8;

		__builtin_memcpy(&word, bytes + 8 * (size_t)i, n);
		crt_fill(at + (2 + (uint64_t)i) * CRW_UNIT, word, CRW_W1(CRW_DATA, words - i));
	}
	crt_fill(at, w0, CRW_W1(code, low));
}

/* A stamp was lost, or the thread has another slot: record which coroutine runs. */
static void note_coroutine(struct crt_thread *t)
{
	uint8_t bytes[CRT_STAMP_MAX];
	uint32_t size = crt_stamp_text(t, CRAY_CORO_RETURNED, bytes);

	t->stamp_due = 0;
	recorder_fill_payload(t->cur, CRW_CORO, t->running_id, crt_now(), bytes, size);
	t->cur += (2 + (uint64_t)(size + 7) / 8) * CRW_UNIT;
}

/* For struct crw_chunk_head: how many accesses one stands for. */
static uint64_t weight_now(const struct crt_options *o)
{
	if (o->lines)
		return o->lines * 256;
	if (o->period)
		return o->period * 256 / o->burst;
	return o->on_ms ? o->every_ms * 256 / o->on_ms : 0;
}

static uint8_t *recorder_chunk(const struct crt_thread *t)
{
	const struct crw_region *r = &crt_session.region;

	return t->ring + (t->number & (r->nr_chunks - 1)) * r->chunk_size;
}

/*
 * The region has memory for chunks that were used, and /dev/shm may be full.  A write to a page
 * that it has no room for would end the program.
 */
static bool recorder_has_memory(struct crt_thread *t)
{
	static uint32_t said;
	const struct crw_region *r = &crt_session.region;

	if (t->number >= r->nr_chunks)
		return true;
	if (t->starved) {
		t->starved--;
		return false;
	}
	if (crt_fault_in(recorder_chunk(t), r->chunk_size / 2))
		return true;
	t->starved = RETRY;
	if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		crt_say("no room for a thread's buffer (is /dev/shm full?): accesses are lost",
			NULL);
	return false;
}

static void begin_chunk(struct crt_thread *t)
{
	const struct crw_region *r = &crt_session.region;
	uint8_t *chunk = recorder_chunk(t);
	struct crw_chunk_head *head = (struct crw_chunk_head *)chunk;

	if (t->number < r->nr_chunks || !crt_session.rounds)
		__builtin_memset(chunk, 0, r->chunk_size / 2);
	head->round = crt_session.rounds ? CRW_ROUND_OF(t->number >> __builtin_ctz(r->nr_chunks))
					 : 0;
	/* (mem-M) pairs with the membarrier in inprocess_writer_settle(): the mark, then `number`.
	 */
	__atomic_signal_fence(__ATOMIC_RELEASE);
	head->number = t->number;
	head->order = t->order = order_now(t);
	head->time_ns = crt_now();
	head->serial = crt_session.serial;
	head->thread = t->slot->thread;
	head->weight_256 = weight_now(&crt_session.options);
	t->cur = (uint64_t)(uintptr_t)(chunk + sizeof(*head));
	t->open = 1;
	note_gaps(t);
	if (t->stamp_due && crt_session.coroutines)
		note_coroutine(t);
}

/* Seal a full chunk and begin the next one.  Signals are blocked. */
static enum outcome recorder_advance(struct crt_thread *t)
{
	const struct crw_region *r = &crt_session.region;

	if (t->open && !(t->cur & CRT_OVER))
		return GOT_ONE; /* a signal handler has already begun the chunk */
	if (!r->base)
		return OFF;
	if (t->slot && t->generation != crt_session.generation)
		crt_thread_forget();
	if (!t->slot && !recorder_attach(t))
		return NO_SLOT;
	if (t->open)
		recorder_seal(t);
	if (__atomic_load_n(&r->header->closed, __ATOMIC_RELAXED))
		return OFF;
	/* (mem-B) pairs with the release in ring_read.c: the consumer no longer reads that chunk.
	 */
	if (t->number - __atomic_load_n(&t->slot->taken, __ATOMIC_ACQUIRE) >= r->nr_chunks)
		return NO_ROOM;
	if (!recorder_has_memory(t))
		return NO_MEMORY;
	begin_chunk(t);
	return GOT_ONE;
}

/* True while the consumer exists.  Called after a second without room. */
static bool consumer_lives(uint32_t *heartbeat)
{
	const struct crw_header *h = crt_session.region.header;
	uint32_t beat = __atomic_load_n(&h->heartbeat, __ATOMIC_RELAXED);
	char path[32];
	struct crt_text t;

	if (beat != *heartbeat || crt_session.alone) {
		*heartbeat = beat;
		return true;
	}
	crt_text_init(&t, path, sizeof(path));
	crt_text_add(&t, "/proc/");
	crt_text_number(&t, h->consumer_pid);
	return access(path, F_OK) == 0;
}

/* Sleep until there is room.  False: the region is closed or the consumer has ended. */
static bool wait_for_room(struct crt_thread *t)
{
	const struct crw_region *r = &crt_session.region;
	struct crw_slot *s = t->slot;
	uint32_t heartbeat = __atomic_load_n(&r->header->heartbeat, __ATOMIC_RELAXED);
	uint32_t rounds = 0;

	while (!__atomic_load_n(&r->header->closed, __ATOMIC_RELAXED)) {
		uint32_t room = __atomic_load_n(&s->room, __ATOMIC_RELAXED);

		__atomic_store_n(&s->waiting, 1, __ATOMIC_RELAXED);
		/*
		 * (mem-D) pairs with the fence in ring_read.c, between the store of `taken` and the
		 * load of `waiting`.
		 */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (t->number - __atomic_load_n(&s->taken, __ATOMIC_RELAXED) < r->nr_chunks) {
			__atomic_store_n(&s->waiting, 0, __ATOMIC_RELAXED);
			return true;
		}
		wake_consumer(t, true);
		crt_futex_wait(&s->room, room, PATIENCE_MS);
		if (t->slot != s) /* a signal handler ended the slot */
			return true;
		if (++rounds % 10 == 0 && !consumer_lives(&heartbeat)) {
			crt_end("the collector is gone; the program goes on without tracing");
			return false;
		}
	}
	return false;
}

/*
 * Sleep until a slot may be free: threads that ended leave theirs when the consumer has read their
 * rings.  False: the region is closed, the consumer has ended, or no thread ended for
 * SLOT_PATIENCE_MS; threads that all live may wait for this one.
 */
static bool recorder_wait_for_slot(struct crt_thread *t)
{
	struct crw_header *h = crt_session.region.header;
	uint32_t heartbeat = __atomic_load_n(&h->heartbeat, __ATOMIC_RELAXED), waited = 0;

	if (t->refused)
		return false;
	__atomic_fetch_add(&h->seekers, 1, __ATOMIC_RELAXED);
	while (!t->slot && __atomic_load_n(&h->freed, __ATOMIC_RELAXED) == t->freed &&
	       !__atomic_load_n(&h->closed, __ATOMIC_RELAXED) && waited < SLOT_PATIENCE_MS) {
		crt_ring_bell();
		crt_futex_wait(&h->freed, t->freed, SLOT_LOOK_MS);
		waited += SLOT_LOOK_MS;
	}
	__atomic_fetch_sub(&h->seekers, 1, __ATOMIC_RELAXED);
	if (waited >= SLOT_PATIENCE_MS && !consumer_lives(&heartbeat)) {
		crt_end("the collector is gone; the program goes on without tracing");
		return false;
	}
	return waited < SLOT_PATIENCE_MS && !__atomic_load_n(&h->closed, __ATOMIC_RELAXED);
}

/*
 * Count an access that is lost for lack of a slot.  It is in no gap of the thread's stream: the
 * process has the count.
 */
static void recorder_drop_slotless(struct crt_thread *t)
{
	const struct crw_region *r = &crt_session.region;

	t->cur = CRT_OVER;
	if (!r->base)
		return;
	if (!t->refused) {
		t->refused = 1;
		__atomic_fetch_add(&r->header->refused, 1, __ATOMIC_RELAXED);
	}
	if (!t->tries)
		t->tries = RETRY;
	if (!t->uncounted)
		__atomic_fetch_add(&r->processes[crt_session.process].lost, 1, __ATOMIC_RELAXED);
}

/* Count an access that is lost for lack of room. */
static void recorder_drop(struct crt_thread *t)
{
	t->calls_known = 0;
	t->cur = CRT_OVER;
	if (t->uncounted)
		return;
	t->lost++;
	if (t->slot)
		__atomic_fetch_add(&t->slot->lost_full, 1, __ATOMIC_RELAXED);
}

/* Get a chunk with room.  False: nothing can be recorded now. */
static bool recorder_make_room(struct crt_thread *t)
{
	for (;;) {
		struct crt_mask mask = crt_signals_off();
		enum outcome o = recorder_advance(t);

		crt_signals_back(mask);
		switch (o) {
		case GOT_ONE:
			return true;
		case NO_ROOM:
			/* (mem-B), (mem-D): both wait_for_room() and recorder_advance() check for
			 * room again. */
			if (!crt_session.drop && wait_for_room(t))
				continue;
			recorder_drop(t);
			return false;
		case NO_MEMORY:
			recorder_drop(t);
			return false;
		case NO_SLOT:
			if (!crt_session.drop && recorder_wait_for_slot(t))
				continue;
			recorder_drop_slotless(t);
			return false;
		default:
			t->cur = CRT_OVER;
			crt_end(NULL);
			return false;
		}
	}
}

/* Reserve @nr consecutive units; 0: not possible. */
static uint64_t recorder_reserve(struct crt_thread *t, uint32_t nr)
{
	for (;;) {
		uint64_t at = crt_reserve((uint64_t)nr * CRW_UNIT);

		if (!(at & CRT_OVER)) {
			if (!((at + (uint64_t)nr * CRW_UNIT - 1) & CRT_OVER))
				return at;
			for (; !(at & CRT_OVER); at += CRW_UNIT) /* reserved, but too few: pad */
				crt_fill(at, 0, CRW_W1(CRW_PAD, 1));
		}
		if (!recorder_make_room(t))
			return 0;
	}
}

/* Record the current order if other threads have added annotations since. */
static bool catch_up(struct crt_thread *t)
{
	uint64_t order = order_now(t), at;

	if (t->order >= order)
		return true;
	at = recorder_reserve(t, 1);
	if (!at)
		return false;
	t->order = order;
	crt_fill(at, t->order, CRW_W1(CRW_STAMP, crt_now()));
	return true;
}

static bool wanted_address(uint64_t address)
{
	const struct crt_options *o = &crt_session.options;
	uint32_t i;

	for (i = 0; i < o->nr_regions; i++) {
		if (address >= o->regions[i].from && address < o->regions[i].to)
			return true;
	}
	return o->nr_regions == 0;
}

/*
 * True if the cache line of @address is one of those that are recorded.  A cache puts lines with
 * equal low bits of their number into one set, so the sets that are recorded are whole: what is in
 * them does not depend on the others, and nothing is cold.  The factor spreads the lines.
 */
static bool wanted_line(uint64_t address)
{
	uint64_t class = address / 64 * 37 % CRT_LINE_CLASSES;

	return class * crt_session.options.lines < CRT_LINE_CLASSES;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): it is stored to */
static void recorder_left_out(uint64_t *since, uint64_t *ever)
{
	++*since;
	__atomic_store_n(ever, *ever + 1, __ATOMIC_RELAXED);
}

/* Switch between a burst and the pause after it. */
static void recorder_turn(struct crt_thread *t)
{
	const struct crt_options *o = &crt_session.options;

	/* No pause if the burst fills the period. */
	t->resting = t->period_begun && !t->resting && o->period > o->burst;
	t->period_begun = 1;
	t->left = t->resting ? o->period - o->burst : o->burst;
	if (!t->resting && t->skipped) {
		struct crw_unit gap = { t->skipped, CRW_W1(CRW_GAP, CRAY_GAP_SAMPLED) };

		t->skipped = 0;
		crt_put(&gap, 1);
	}
}

/* Apply bursts and regions.  False: this access is left out and counted. */
static bool recorder_is_wanted(struct crt_thread *t, uint64_t address)
{
	/* The count needs a slot. */
	if ((!t->slot || t->generation != crt_session.generation) && !recorder_make_room(t))
		return false;
	if (!wanted_address(address)) {
		recorder_left_out(&t->filtered, &t->slot->left_filtered);
		return false;
	}
	if (crt_session.options.lines && !wanted_line(address)) {
		recorder_left_out(&t->skipped, &t->slot->left_sampled);
		return false;
	}
	if (!crt_session.options.period)
		return true;
	if (t->left == 0)
		recorder_turn(t);
	t->left--;
	if (t->resting)
		recorder_left_out(&t->skipped, &t->slot->left_sampled);
	return !t->resting;
}

bool crt_put(const struct crw_unit *units, uint32_t nr)
{
	struct crt_thread *t = &crt_self;
	uint64_t word = __atomic_load_n(&crt_state.word, __ATOMIC_RELAXED), at;
	uint32_t i;

	if (!__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED))
		return false;
	if (t->slot && t->generation != crt_session.generation)
		crt_thread_forget();
	at = catch_up(t) ? recorder_reserve(t, nr) : 0;
	if (!at)
		return false;
	for (i = 1; i < nr; i++)
		crt_fill(at + (uint64_t)i * CRW_UNIT, units[i].w0, units[i].w1);
	crt_fill(at, units[0].w0, units[0].w1); /* last: it makes the units a record */
	if (t->ticket) /* later tickets of other threads are noticed at the next access */
		t->order = t->ticket;
	else if (!crt_session.guarded && (word & CRT_ON))
		t->seen = word;
	return true;
}

void crt_slow(uint64_t address, uint64_t w1)
{
	struct crw_unit unit = { address, w1 };

	if (crt_session.guarded && !recorder_is_wanted(&crt_self, address))
		return;
	crt_put(&unit, 1);
}

/* A part of a range that is in one cache line. */
static void recorder_put_part(uint64_t address, uint64_t w1, uint64_t size, uint64_t flags)
{
	struct crw_unit units[2] = { { address, w1 }, { size, CRW_W1(CRW_EXTENT, flags) } };

	if (recorder_is_wanted(&crt_self, address))
		crt_put(units, 2);
}

void crt_range(uint64_t address, uint64_t w1, uint64_t size, uint64_t flags)
{
	struct crw_unit units[2] = { { address, w1 }, { size, CRW_W1(CRW_EXTENT, flags) } };

	if (crt_session.options.lines) {
		while (size) {
			uint64_t part = 64 - address % 64;

			part = part < size ? part : size;
			recorder_put_part(address, w1, part, flags);
			address += part;
			size -= part;
		}
		return;
	}
	if (crt_session.guarded && !recorder_is_wanted(&crt_self, address))
		return;
	crt_put(units, 2);
}

bool crt_put_long(unsigned code, uint64_t w0, uint64_t pc, const void *a, uint32_t a_size,
		  const void *b, uint32_t b_size)
{
	struct crw_unit units[2 + CRW_PAYLOAD_MAX / 8];
	uint8_t bytes[CRW_PAYLOAD_MAX + 8];
	uint32_t size = a_size + b_size, words = (size + 7) / 8, i;

	__builtin_memset(bytes + size, 0, 8);
	__builtin_memcpy(bytes, a, a_size);
	if (b_size)
		__builtin_memcpy(bytes + a_size, b, b_size);
	units[0].w0 = w0;
	units[0].w1 = CRW_W1(code, pc);
	units[1].w0 = size;
	units[1].w1 = CRW_W1(CRW_DATA, 1 + words);
	for (i = 0; i < words; i++) {
		__builtin_memcpy(&units[2 + i].w0, bytes + 8 * (size_t)i, 8);
		units[2 + i].w1 = CRW_W1(CRW_DATA, words - i);
	}
	return crt_put(units, 2 + words);
}

bool crt_put_payload(unsigned code, uint64_t w0, uint64_t low, const uint8_t *bytes, uint32_t size)
{
	struct crt_thread *t = &crt_self;
	uint64_t at;

	if (!__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED))
		return false;
	if (t->slot && t->generation != crt_session.generation)
		crt_thread_forget();
	at = catch_up(t) ? recorder_reserve(t, 2 + (size + 7) / 8) : 0;
	if (at)
		recorder_fill_payload(at, code, w0, low, bytes, size);
	return at != 0;
}

/* The coroutine stays: the thread still runs it, for example in a child of fork. */
void crt_thread_forget(void)
{
	struct crt_thread *t = &crt_self;
	struct crt_coroutine *running = t->running;
	uint64_t id = t->running_id;

	__builtin_memset(t, 0, sizeof(*t));
	t->cur = CRT_OVER;
	t->seen = CRT_UNSEEN;
	t->running = running;
	t->running_id = id;
	t->stamp_due = running != NULL;
}

void crt_thread_end(void)
{
	struct crt_thread *t = &crt_self;
	struct crt_mask mask;

	if (!t->slot || t->generation != crt_session.generation)
		return;
	mask = crt_signals_off();
	t->slot->end_ns = crt_now();
	prctl(PR_GET_NAME, t->slot->name, 0, 0, 0);
	/* (mem-E) pairs with the acquire in crw_slot_look(): the open chunk is final. */
	__atomic_store_n(&t->slot->state, CRW_ENDED, __ATOMIC_RELEASE);
	wake_consumer(t, true);
	crt_thread_forget();
	crt_signals_back(mask);
}
