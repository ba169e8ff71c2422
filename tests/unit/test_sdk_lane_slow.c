/* SPDX-License-Identifier: MIT */
/*
 * test_sdk_lane_slow.c - the slow path of lanes, function by function: memory, the places of lanes
 * whose threads have ended, waiting for room, lost events, and what a coroutine leaves behind.
 */
#include "sdk_kernel.h"

#include <corotracer/lane_slow.h>

#include "lanes_region.h"

static struct lanes_region region;
static struct ctp_session *s;
static struct ctp_thread *t;

/* Attach to a region of @shape; the thread has no lane yet. */
static void attach(struct shape shape)
{
	lanes_region_open(&region, shape);
	CHECK_EQ(corotracer_init(), 0);
	s = corotracer__process.session;
	t = &corotracer__thread;
	CHECK_EQ(ctp_thread_ready(t, s), 1);
	CHECK(s->lanes && !t->lane);
	kernel_reset();
}

/* A lane with one chunk, and no more chunks: full at the end of it. */
static void attach_small(uint32_t on_full)
{
	struct shape shape = SHAPE;

	shape.chunks = 1;
	shape.on_full = on_full;
	shape.block_ms = 7;
	attach(shape);
}

static void fill_lane(void)
{
	CHECK_EQ(ctp_lane_ready(t, s), 1);
	t->at = t->end;
}

/* ---- memory --------------------------------------------------------------------------------- */

static void the_file_is_opened_again_only_if_it_is_the_same(void)
{
	char path[400];
	unsigned before;
	int fd;

	attach((struct shape)SHAPE);
	before = count_open();
	fd = ctp_region_reopen(s);
	CHECK(fd >= 0);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	s->shm_ino++;
	CHECK_EQ(ctp_region_reopen(s), -1);
	s->shm_ino--;
	s->shm_dev++;
	CHECK_EQ(ctp_region_reopen(s), -1);
	s->shm_dev--;
	kernel_fail(CALL_FSTAT, EIO, 1);
	CHECK_EQ(ctp_region_reopen(s), -1);
	kernel_reset();
	memcpy(path, s->shm_path, sizeof(s->shm_path) < 400 ? sizeof(s->shm_path) : 400);
	s->shm_path[0] = '\0';
	CHECK_EQ(ctp_region_reopen(s), -1);
	/* The inherited descriptor needs no path. */
	s->region_fd = (struct ctp_inherited){ open(region.region.shm, O_RDWR | O_CLOEXEC),
					       s->shm_dev, s->shm_ino };
	CHECK_EQ(unlink(region.region.shm), 0);
	fd = ctp_region_reopen(s);
	CHECK(fd >= 0);
	close(fd);
	close(s->region_fd.fd);
	CHECK_EQ(count_open(), before);
}

static void expect_growth(struct ctp_arena *a, uint32_t before, uint32_t after)
{
	unsigned open = count_open();

	CHECK_EQ(a->pool->committed, before);
	CHECK_EQ(ctp_session_grow(s, a), 1);
	CHECK_EQ(a->pool->committed, after);
	CHECK_EQ(kernel.offset, (a->units - (char *)s->header) + before * a->unit);
	CHECK_EQ(kernel.length, (after - before) * a->unit);
	CHECK_EQ(count_open(), open);
}

static void pools_grow_by_a_quarter_of_a_megabyte(void)
{
	struct shape shape = SHAPE;
	struct ctp_arena whole;
	struct ctp_pool pool = { 0 };
	struct stat st;

	shape.chunks = 6;
	shape.lives = 5000;
	attach(shape);
	expect_growth(&s->chunk_pool, 0, 4);
	expect_growth(&s->chunk_pool, 4, 6); /* all that there are */
	CHECK_EQ(ctp_session_grow(s, &s->chunk_pool), 0);
	expect_growth(&s->life_pool, 0, 262144 / sizeof(struct ctp_life));
	/* Units as large as a step, and larger ones, come one by one. */
	whole = s->chunk_pool;
	whole.pool = &pool;
	whole.unit = CTP_GROW_BYTES;
	CHECK_EQ(ctp_session_grow(s, &whole), 1);
	CHECK_EQ(pool.committed, 1);
	CHECK_EQ(kernel.length, CTP_GROW_BYTES);
	CHECK_EQ(stat(region.region.shm, &st), 0);
	CHECK_EQ(st.st_size, region.size); /* the file does not become longer */
}

static void memory_that_was_refused_is_asked_for_later(void)
{
	unsigned open;

	attach((struct shape)SHAPE);
	open = count_open();
	kernel.now = UINT64_C(5000000000);
	kernel_fail(CALL_FALLOCATE, ENOSPC, 1);
	CHECK_EQ(ctp_session_grow(s, &s->chunk_pool), 0);
	CHECK_EQ(s->refused_ns, kernel.now);
	CHECK_EQ(s->chunk_pool.pool->committed, 0);
	CHECK_EQ(count_open(), open);
	kernel.error[CALL_FALLOCATE] = 0;
	kernel.now += 19999999;
	CHECK_EQ(ctp_session_grow(s, &s->chunk_pool), 0);
	CHECK_EQ(kernel.nr[CALL_FALLOCATE], 1);
	kernel.now++;
	CHECK_EQ(ctp_session_grow(s, &s->chunk_pool), 1);
	CHECK_EQ(kernel.nr[CALL_FALLOCATE], 2);
	CHECK_EQ(s->chunk_pool.pool->committed, 4);
	CHECK_EQ(unlink(region.region.shm), 0);
	CHECK_EQ(ctp_session_grow(s, &s->chunk_pool), 0); /* cannot be opened */
	CHECK_EQ(kernel.nr[CALL_FALLOCATE], 2);
}

static void the_pages_of_a_chunk_are_made_at_once_and_once(void)
{
	uint32_t *word;
	char *chunk;

	attach((struct shape)SHAPE);
	CHECK_EQ(ctp_session_grow(s, &s->chunk_pool), 1);
	kernel_reset();
	chunk = ctp_unit(&s->chunk_pool, 1);
	memset(chunk, 0x5a, CTP_CHUNK_SIZE + 4096);
	ctp_chunk_touch(s, 1);
	CHECK_EQ(kernel.nr_advice, 1);
	CHECK_EQ(kernel.advice[0], MADV_POPULATE_WRITE);
	CHECK_EQ(s->seen_chunks[1], 1);
	CHECK_EQ(s->seen_chunks[0] + s->seen_chunks[2], 0);
	ctp_chunk_touch(s, 1);
	CHECK_EQ(kernel.nr_advice, 1);
	/* Kernels before 5.14: a word of each page is written. */
	memset(chunk, 0x5a, CTP_CHUNK_SIZE + 4096);
	s->seen_chunks[1] = 0;
	kernel_fail(CALL_POPULATE, EINVAL, 1);
	ctp_chunk_touch(s, 1);
	CHECK_EQ(s->seen_chunks[1], 1);
	word = (uint32_t *)(void *)chunk;
	for (size_t i = 0; i < (CTP_CHUNK_SIZE + 4096) / 4; i++)
		CHECK_EQ(word[i], i % 1024 == 0 && i < CTP_CHUNK_SIZE / 4 ? 0 : 0x5a5a5a5a);
	s->seen_chunks = NULL; /* there was no memory for it */
	ctp_chunk_touch(s, 1);
	CHECK_EQ(kernel.nr_advice, 2);
}

static void populated_pages_keep_what_they_have(void)
{
	char *chunk, *probe;

	attach((struct shape)SHAPE);
	probe = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (madvise(probe, 4096, MADV_POPULATE_WRITE) < 0)
		return; /* this kernel cannot */
	CHECK_EQ(ctp_session_grow(s, &s->chunk_pool), 1);
	chunk = ctp_unit(&s->chunk_pool, 0);
	memset(chunk, 0x5a, CTP_CHUNK_SIZE);
	ctp_chunk_touch(s, 0);
	CHECK(chunk[0] == 0x5a && chunk[4096] == 0x5a);
}

static void a_chunk_has_a_lane_a_thread_and_a_number(void)
{
	struct shape shape = SHAPE;
	const struct ctp_chunk *chunk;
	uint32_t number;

	shape.chunks = 2;
	attach(shape);
	CHECK_EQ(ctp_lane_open(t, s), 1);
	chunk = ctp_unit(&s->chunk_pool, 1);
	memset(ctp_unit(&s->chunk_pool, 1), 0xff, sizeof(*chunk));
	t->lane++; /* the second lane */
	t->lane->taken = 6;
	t->lane->pid = 321;
	number = ctp_chunk_take(t, s);
	CHECK_EQ(number, 2);
	CHECK_EQ(chunk->link, 0);
	CHECK_EQ(chunk->lane, 1);
	CHECK_EQ(chunk->tid, t->tid);
	CHECK_EQ(chunk->pid, 321);
	CHECK_EQ(chunk->nr, 7);
	CHECK_EQ(t->lane->taken, 7);
	CHECK_EQ(ctp_chunk_take(t, s), 0);
	CHECK_EQ(t->lane->taken, 7);
	CHECK_EQ(s->chunk_pool.pool->refused, 1);
	ctp_chunk_use(t, s, number, 3200);
	CHECK(t->chunk == chunk);
	CHECK(t->at == t->chunk->records && t->end == t->at + CTP_CHUNK_RECORDS);
	CHECK(t->limit == t->end);
	CHECK_EQ(ctp_lane_head(t), 3200);
	t->always_slow = 1;
	ctp_chunk_use(t, s, number, 0);
	CHECK(!t->limit && t->end);
}

/* ---- threads and their lanes -------------------------------------------------------------------
 */

static void a_thread_that_joins_has_nothing_of_another_session(void)
{
	struct ctp_thread other;

	attach((struct shape)SHAPE);
	memset(&other, 0xff, sizeof(other));
	s->counter_usable = 1;
	s->needs_fence = 0;
	CHECK_EQ(ctp_thread_join(&other, s), 1);
	CHECK_EQ(other.ticket, ~s->generation);
	CHECK_EQ(other.tid, syscall(SYS_gettid));
	CHECK(!other.anchor_ticks && !other.window_ticks && !other.anchor_ns && !other.mult);
	CHECK(!other.mark_ns && !other.mark_mult && !other.nr_stash);
	CHECK(!other.counts_ns && !other.always_slow);
	CHECK(!other.at && !other.limit && !other.end && !other.lane && !other.chunk);
	CHECK(!other.head_bias && !other.gap_ticks && !other.gap_transitions);
	CHECK(!other.gap_marks && !other.gave_up);
	CHECK(pthread_getspecific((pthread_key_t)s->thread_key) == &other);
	s->needs_fence = 1;
	CHECK_EQ(ctp_thread_join(&other, s), 1);
	CHECK(!other.counts_ns && other.always_slow);
	s->needs_fence = 0;
	s->counter_usable = 0;
	CHECK_EQ(ctp_thread_join(&other, s), 1);
	CHECK(other.counts_ns && other.always_slow);
	memset(&other, 0, sizeof(other));
	s->has_key = 0;
	CHECK_EQ(pthread_setspecific((pthread_key_t)s->thread_key, NULL), 0);
	CHECK_EQ(ctp_thread_join(&other, s), 1);
	CHECK(!pthread_getspecific((pthread_key_t)s->thread_key));
	memset(&other, 0, sizeof(other));
	s->generation = 0;
	CHECK_EQ(ctp_thread_join(&other, s), 0);
	CHECK(all_zero(&other, sizeof(other)));
}

static void a_lane_that_is_opened_is_empty(void)
{
	struct ctp_lane *lane;

	attach((struct shape)SHAPE);
	lane = lane_nr(&region, 0);
	memset(&lane->head, 0xff, sizeof(*lane) - offsetof(struct ctp_lane, head));
	CHECK_EQ(ctp_lane_open(t, s), 1);
	CHECK(t->lane == (struct ctp_lane *)(void *)s->lane_pool.units);
	CHECK_EQ(lane->state, CTP_LANE_OPEN);
	CHECK(!lane->head && !lane->dropped && !lane->dropped_at && !lane->dropped_marks);
	CHECK(!lane->blocked && !lane->blocked_ns && !lane->last_ticks && !lane->returned);
	CHECK(!lane->tail);
	CHECK_EQ(lane->taken, 1);
	CHECK_EQ(lane->oldest, 1);
	CHECK_EQ(lane->first, 1);
	CHECK_EQ(lane->tid, t->tid);
	CHECK_EQ(lane->pid, getpid());
	CHECK_EQ(lane->ticks, t->counts_ns ? CTP_TICKS_NS : CTP_TICKS_COUNTER);
	ctp_lane_forget(t);
	t->counts_ns = !t->counts_ns;
	CHECK_EQ(ctp_lane_open(t, s), 1);
	CHECK_EQ(t->lane->ticks, t->counts_ns ? CTP_TICKS_NS : CTP_TICKS_COUNTER);
	CHECK_EQ(t->lane->first, 2);
}

static void a_lane_without_a_chunk_is_given_back(void)
{
	attach_small(0);
	CHECK_EQ(ctp_lane_open(t, s), 1);
	ctp_lane_forget(t);
	CHECK_EQ(ctp_lane_open(t, s), 0);
	CHECK(!t->lane);
	CHECK_EQ((uint32_t)s->lane_pool.pool->free, 2); /* 1 + its number */
	CHECK_EQ(lane_nr(&region, 1)->state, CTP_LANE_FREE);
	CHECK_EQ(ctp_pool_take(&s->lane_pool, ctp_session_grow, s), 2);
}

/* A thread that ends leaves its lane to the next one, which goes on behind the last record. */
static void a_lane_is_handed_over(void)
{
	struct shape shape = SHAPE;
	struct ctp_record *at;
	struct ctp_lane *lane;
	uint64_t head;

	shape.chunks = 96; /* three places */
	lanes_region_open(&region, shape);
	ctp_header_ext(region.region.header)->features |= CTP_EXT_HANDOVER;
	CHECK_EQ(corotracer_init(), 0);
	s = corotracer__process.session;
	t = &corotracer__thread;
	CHECK_EQ(s->nr_spares, 3);
	CHECK_EQ(ctp_lane_ready(t, s), 1);
	t->at += 5;
	ctp_lane_publish(t, s, 0);
	lane = t->lane;
	at = t->at;
	head = ctp_lane_head(t);
	CHECK_EQ(head, 5 * sizeof(struct ctp_record));
	s->spares[0].state = CTP_SPARE_BUSY; /* another thread is at it */
	CHECK_EQ(ctp_lane_keep(t, s), 1);
	CHECK_EQ(s->spares[0].state, CTP_SPARE_BUSY);
	CHECK_EQ(s->spares[1].state, CTP_SPARE_FULL);
	CHECK(s->spares[1].lane == 0 && s->spares[1].chunk == 0 && s->spares[1].at == 5);
	ctp_lane_forget(t);
	CHECK_EQ(ctp_lane_take_over(t, s), 1);
	CHECK_EQ(s->spares[1].state, CTP_SPARE_EMPTY);
	CHECK(t->lane == lane && t->at == at + 1);
	CHECK_EQ(ctp_lane_head(t), head + sizeof(struct ctp_record));
	CHECK_EQ(lane->head, head + sizeof(struct ctp_record));
	CHECK_EQ(at->kind, CTP_REC_THREAD);
	CHECK_EQ(at->value, t->tid);
	CHECK_EQ(at->id, 0);
	CHECK(at->ticks && at->ticks == lane->last_ticks);
	/* No lane is kept: there is nothing to take. */
	ctp_lane_forget(t);
	CHECK_EQ(ctp_lane_take_over(t, s), 0);
	CHECK(!t->lane);
	/* A lane of another number, in its second chunk. */
	CHECK_EQ(ctp_lane_ready(t, s), 1);
	CHECK_EQ(ctp_lane_advance(t, s), 1);
	ctp_lane_publish(t, s, 7);
	head = ctp_lane_head(t);
	lane = t->lane;
	at = t->at;
	CHECK_EQ(ctp_lane_keep(t, s), 1);
	CHECK(s->spares[1].lane == 1 && s->spares[1].chunk == 2 && s->spares[1].at == 7);
	ctp_lane_forget(t);
	CHECK_EQ(ctp_lane_ready(t, s), 1);
	CHECK(t->lane == lane && t->at == at + 1 && t->end == t->chunk->records + 2047);
	CHECK_EQ(lane->head, head + sizeof(struct ctp_record));
}

static void a_lane_is_kept_only_if_there_is_room_in_it(void)
{
	struct shape shape = SHAPE;

	lanes_region_open(&region, shape);
	ctp_header_ext(region.region.header)->features |= CTP_EXT_HANDOVER;
	CHECK_EQ(corotracer_init(), 0);
	s = corotracer__process.session;
	t = &corotracer__thread;
	CHECK_EQ(ctp_lane_ready(t, s), 1);
	t->gap_ticks = 1; /* losses that the lane does not say yet */
	CHECK_EQ(ctp_lane_keep(t, s), 0);
	t->gap_ticks = 0;
	t->at = t->end;
	CHECK_EQ(ctp_lane_keep(t, s), 0);
	t->at--;
	CHECK_EQ(ctp_lane_keep(t, s), 1);
	CHECK_EQ(ctp_lane_keep(t, s), 1);
	CHECK_EQ(ctp_lane_keep(t, s), 0); /* two places: 64 chunks / 32 */
}

static void a_thread_that_ends_gives_back_its_units(void)
{
	struct ctp_lane *lane;
	uint64_t ticket;

	attach((struct shape)SHAPE); /* without places for lanes */
	CHECK_EQ(ctp_lane_ready(t, s), 1);
	CHECK_EQ(ctp_session_grow(s, &s->life_pool), 1);
	t->stash[0] = 3;
	t->stash[1] = 4;
	t->nr_stash = 2;
	lane = t->lane;
	ticket = t->ticket;
	ctp_thread_leave(t, NULL);
	t->ticket ^= 8; /* of another session */
	ctp_thread_leave(t, s);
	CHECK(t->nr_stash == 2 && t->lane == lane);
	t->ticket = ticket;
	ctp_thread_leave(t, s);
	CHECK_EQ(t->nr_stash, 0);
	CHECK_EQ((uint32_t)s->life_pool.pool->free, 4); /* given back last, 1 + its number */
	CHECK_EQ(life_nr(&region, 3)->link, 5);
	CHECK_EQ(lane->state, CTP_LANE_CLOSED);
	CHECK(!t->lane && !t->at && !t->ticket);
	ctp_thread_leave(t, s); /* once is enough */
	CHECK_EQ((uint32_t)s->life_pool.pool->free, 4);
}

/* ---- waiting for room
 * ------------------------------------------------------------------------------ */

static uint64_t start_ns;

static void one_ns_too_early(void)
{
	if (kernel.nr[CALL_SLEEP] == 2)
		kernel.now = start_ns + 7 * 1000000 - 1 - kernel.slept[1];
}

static void give_back(void)
{
	if (kernel.nr[CALL_SLEEP] == 3)
		lane_give_back(&region, 0);
}

static void expect_pauses(unsigned nr)
{
	CHECK_EQ(kernel.nr[CALL_SLEEP], nr);
	for (unsigned i = 0; i < nr; i++)
		CHECK_EQ(kernel.slept[i], i < 6 ? 50000 << i : 3200000);
}

static void a_full_lane_waits_for_so_long_and_no_longer(void)
{
	attach_small(CTP_ON_FULL_BLOCK);
	CHECK_EQ(s->block_ms, 7);
	fill_lane();
	kernel.now = start_ns = UINT64_C(9000000000);
	CHECK_EQ(ctp_lane_may_block(t, s), 1);
	CHECK_EQ(ctp_lane_block(t, s), 0);
	expect_pauses(8); /* 6.35 ms and 3.2 ms */
	CHECK_EQ(t->lane->blocked, 1);
	CHECK_EQ(t->lane->blocked_ns, 9550000);
	CHECK(t->gave_up && t->gave_up_at == 0);
	CHECK_EQ(ctp_lane_may_block(t, s), 0); /* one failure is enough */
	t->lane->returned = 1;
	CHECK_EQ(ctp_lane_may_block(t, s), 1);
	CHECK_EQ(t->gave_up, 0);
	t->lane->returned = 0;
	kernel.nr[CALL_SLEEP] = 0;
	start_ns = kernel.now;
	kernel.asleep = one_ns_too_early;
	CHECK_EQ(ctp_lane_block(t, s), 0);
	CHECK_EQ(kernel.nr[CALL_SLEEP], 3);
	CHECK_EQ(t->lane->blocked, 2);
	CHECK_EQ(t->lane->blocked_ns, 9550000 + 7 * 1000000 - 1 + 200000);
	s->on_full = 0;
	t->gave_up = 0;
	CHECK_EQ(ctp_lane_may_block(t, s), 0);
}

static void a_chunk_that_is_given_back_ends_the_wait(void)
{
	attach_small(CTP_ON_FULL_BLOCK);
	fill_lane();
	kernel.now = UINT64_C(9000000000);
	kernel.asleep = give_back;
	t->gave_up = 0;
	CHECK_EQ(ctp_lane_block(t, s), 1);
	expect_pauses(3);
	CHECK_EQ(t->gave_up, 0);
	CHECK_EQ(t->lane->blocked, 1);
	CHECK_EQ(t->lane->blocked_ns, 350000);
	CHECK_EQ(t->lane->taken, 2);
}

static void a_lane_holds_no_more_chunks_than_it_may(void)
{
	attach((struct shape)SHAPE);
	CHECK_EQ(ctp_lane_ready(t, s), 1);
	s->lane_chunks = 3;
	CHECK_EQ(ctp_lane_held(t->lane), 1);
	CHECK(ctp_lane_extend(t, s) && ctp_lane_extend(t, s));
	CHECK_EQ(ctp_lane_held(t->lane), 3);
	CHECK_EQ(ctp_lane_extend(t, s), 0);
	t->lane->returned = 1;
	CHECK(ctp_lane_extend(t, s) != 0);
}

/* A collector that sleeps would give back nothing. */
static void who_waits_wakes_the_collector(void)
{
	uint32_t *sleeping;
	int conn;

	attach_small(CTP_ON_FULL_BLOCK);
	conn = region_accept(&region.region);
	sleeping = &ctp_header_ext(region.region.header)->sleeping;
	fill_lane();
	kernel.now = UINT64_C(9000000000);
	*sleeping = 1;
	CHECK_EQ(ctp_lane_block(t, s), 0);
	CHECK_EQ(*sleeping, 0);
	CHECK_EQ(wakeups_count(conn), 1);
	ctp_lane_forget(t);
	*sleeping = 1;
	CHECK_EQ(ctp_lane_await(t, s), 0);
	CHECK_EQ(*sleeping, 0);
	CHECK_EQ(wakeups_count(conn), 1);
	CHECK_EQ(ctp_lane_open(t, s), 0);
	t->lane = lane_nr(&region, 0);
	*sleeping = 1;
	s->needs_fence = 1;
	ctp_lane_count(t, s, 1, 0); /* so does a loss */
	CHECK_EQ(wakeups_count(conn), 1);
}

static struct ctp_thread holder;

/* Another thread closes its lane, and the collector gives back its chunk. */
static void holder_leaves(void)
{
	if (kernel.nr[CALL_SLEEP] == 4)
		ctp_pool_give(&region.chunks, 0);
}

static void a_thread_waits_for_a_lane(void)
{
	attach_small(CTP_ON_FULL_BLOCK);
	holder.ticket = t->ticket;
	CHECK_EQ(ctp_lane_open(&holder, s), 1); /* has the only chunk */
	kernel.now = start_ns = UINT64_C(9000000000);
	CHECK_EQ(ctp_lane_await(t, s), 0);
	expect_pauses(8);
	CHECK(t->gave_up && t->gave_up_at == ctp_chunk_tag(s));
	kernel.nr[CALL_SLEEP] = 0;
	CHECK_EQ(ctp_lane_await(t, s), 0);
	expect_pauses(0);
	t->gave_up = 0;
	start_ns = kernel.now;
	kernel.asleep = one_ns_too_early;
	CHECK_EQ(ctp_lane_await(t, s), 0);
	CHECK_EQ(kernel.nr[CALL_SLEEP], 3);
	t->gave_up_at--; /* a chunk was given back, and taken again */
	kernel.nr[CALL_SLEEP] = 0;
	kernel.asleep = holder_leaves;
	errno = 12345;
	CHECK_EQ(ctp_lane_ready(t, s), 1);
	CHECK_EQ(errno, 12345);
	expect_pauses(4);
	CHECK_EQ(t->gave_up, 0);
	CHECK_EQ(t->lane->blocked, 1);
	CHECK_EQ(t->lane->blocked_ns, 750000);
	ctp_lane_forget(t);
	s->on_full = 0;
	kernel.nr[CALL_SLEEP] = 0;
	CHECK_EQ(ctp_lane_ready(t, s), 0);
	expect_pauses(0);
}

/* ---- the end of a chunk
 * ------------------------------------------------------------------------------ */

static void the_rest_of_a_chunk_is_padded(void)
{
	struct ctp_record *first;
	struct ctp_chunk *chunk;

	attach((struct shape)SHAPE);
	CHECK_EQ(ctp_lane_ready(t, s), 1);
	chunk = t->chunk;
	t->at = t->end - 1;
	CHECK(ctp_lane_room(t, s, 1) == chunk->records + 2046);
	t->gap_ticks = 55;
	t->gap_transitions = 6;
	t->gap_marks = 7;
	t->lane->dropped_at = 55;
	errno = 12345;
	first = ctp_lane_room(t, s, 2);
	CHECK_EQ(errno, 12345);
	CHECK(first == t->chunk->records + 1); /* after the record of the gap */
	CHECK_EQ(chunk->records[2046].kind, CTP_REC_PAD);
	CHECK_EQ(chunk->records[2046].ticks, 0);
	CHECK_EQ(chunk->link, 2);
	CHECK_EQ(t->lane->head, 2048 * sizeof(struct ctp_record));
	CHECK_EQ(first[-1].kind, CTP_REC_GAP);
	CHECK_EQ(first[-1].ticks, 55);
	CHECK_EQ(first[-1].value, 6);
	CHECK_EQ(first[-1].id, 7);
	CHECK(!t->gap_ticks && !t->gap_transitions && !t->gap_marks && !t->lane->dropped_at);
	t->at = t->end;
	ctp_lane_pad(t, s); /* nothing to pad */
	CHECK_EQ(t->lane->head, 2048 * sizeof(struct ctp_record));
}

static void the_inline_path_is_used_as_soon_as_it_may(void)
{
	attach((struct shape)SHAPE);
	s->needs_fence = 1;
	t->always_slow = 1;
	t->counts_ns = 0;
	CHECK_EQ(ctp_lane_ready(t, s), 1);
	CHECK(!t->limit);
	ctp_lane_publish_slow(t, s, 1);
	CHECK(t->always_slow && !t->limit);
	CHECK_EQ(t->lane->head, sizeof(struct ctp_record));
	s->needs_fence = 0;
	t->counts_ns = 1; /* records need the clock */
	ctp_lane_publish_slow(t, s, 1);
	CHECK(t->always_slow && !t->limit);
	t->counts_ns = 0;
	ctp_lane_publish_slow(t, s, 1);
	CHECK(!t->always_slow && t->limit == t->end);
	CHECK_EQ(t->lane->head, 3 * sizeof(struct ctp_record));
}

/* ---- lost events
 * --------------------------------------------------------------------------------------- */

static void lost_events_are_counted_in_the_lane(void)
{
	struct ctp_lane *lane;
	uint64_t first;

	attach((struct shape)SHAPE);
	ctp_lane_count(t, s, 2, 3); /* no lane yet */
	CHECK_EQ(s->lanes->homeless, 2);
	CHECK_EQ(s->lanes->homeless_marks, 3);
	CHECK(!t->gap_ticks);
	CHECK_EQ(ctp_lane_ready(t, s), 1);
	lane = t->lane;
	lane->last_ticks = UINT64_MAX / 2; /* later than the counter */
	ctp_lane_count(t, s, 1, 0);
	first = t->gap_ticks;
	CHECK(first == UINT64_MAX / 2 && lane->dropped_at == first);
	lane->last_ticks = UINT64_MAX / 2 + 1;
	ctp_lane_count(t, s, 4, 5);
	CHECK(t->gap_ticks == first && lane->dropped_at == first);
	CHECK(t->gap_transitions == 5 && t->gap_marks == 5);
	CHECK(lane->dropped == 5 && lane->dropped_marks == 5);
	CHECK_EQ(s->lanes->homeless, 2);
	CHECK_EQ(s->lanes->homeless_marks, 3);
}

static void a_lost_event_is_in_the_life(void)
{
	struct corotracer_coro co;
	struct ctp_life *l;

	attach_small(0);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	l = co.probe.life;
	fill_lane();
	corotracer_suspend_on(&co, &co, NULL, CTP_REASON_TIMER, 44);
	CHECK_EQ(l->state, CTP_LIFE_STATE(CTP_REC_SUSPEND | CTP_REC_HAS_MORE, CTP_REASON_TIMER, 0));
	CHECK_EQ(l->addr, (uintptr_t)&co);
	CHECK_EQ(l->resource, 44);
	CHECK(l->events == 1 && l->dropped == 1);
	corotracer_resume(&co);
	CHECK_EQ(l->state, CTP_REC_RESUME);
	CHECK(l->events == 2 && l->dropped == 2 && l->resource == 44);
	corotracer_suspend(&co, NULL);
	CHECK_EQ(l->resource, 44);
	corotracer_wake_at(&co, NULL, NULL, 0);
	corotracer_wake_by(&co, NULL, NULL, 0, 1);
	corotracer_closing_at(&co, 3, NULL);
	corotracer_finish(&co, 0);
	CHECK(t->lane->dropped == 3 && t->lane->dropped_marks == 4);
	CHECK_EQ(l->state, CTP_LIFE_STATE(CTP_REC_END, 0, 0));
	corotracer_end(&co);
	CHECK_EQ(t->lane->dropped_marks, 5);
	CHECK_EQ(l->state, CTP_LIFE_STATE(CTP_REC_DESTROY, 0, CTP_LIFE_UNREPORTED));
	CHECK_EQ(l->id, 1); /* stays in use */
	CHECK_EQ(t->nr_stash, 0);
	CHECK_EQ(corotracer_begin(&co, "x"), 0); /* its creation is lost, too */
	CHECK_EQ(t->lane->dropped_marks, 6);
	CHECK(t->lane->head == 0 || t->lane->head == sizeof(struct ctp_record));
}

/* The end says how many transitions of this coroutine are not in the trace. */
static void the_end_tells_the_losses(void)
{
	const struct ctp_record_more *more;
	struct corotracer_coro co;
	struct ctp_record *at;

	attach((struct shape)SHAPE);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	co.probe.life->dropped = 9;
	co.probe.life->events = 12;
	at = t->at;
	corotracer_end(&co);
	CHECK(t->at == at + 2);
	CHECK_EQ(at->kind, CTP_REC_END | CTP_REC_HAS_MORE);
	CHECK(at->value == 12 && at->seq == 12);
	CHECK_EQ(at->reason, CTP_END_DESTROYED);
	more = (const struct ctp_record_more *)(const void *)&at[1];
	CHECK(more->kind == CTP_REC_MORE && more->lost == 9 && more->resource == 0);
}

/* ---- lives
 * ------------------------------------------------------------------------------------------------
 */

static void a_new_life_has_nothing_of_the_last_one(void)
{
	struct ctp_probe p = { 0 };
	struct ctp_life *l;

	attach((struct shape)SHAPE);
	CHECK_EQ(ctp_session_grow(s, &s->life_pool), 1);
	l = (struct ctp_life *)ctp_unit(&s->life_pool, 5);
	memset(l, 0xff, sizeof(*l));
	t->stash[t->nr_stash++] = 5;
	s->lanes->last_id = 41;
	CHECK_EQ(ctp_life_begin(&p, t, s, "n", 8, 9, 0), 1);
	CHECK(p.life == l && p.last_ns == (uint64_t)getpid());
	CHECK(!l->events && !l->addr && !l->resource && !l->dropped && !l->site);
	CHECK(l->birth_site == 9 && l->parent == 8 && l->birth == 0 && l->id == 42);
	CHECK_EQ(l->pid, getpid());
	CHECK(l->name_size == 1 && l->name[0] == 'n' && all_zero(l->name + 1, 31));
	CHECK_EQ(l->ticks, t->counts_ns ? CTP_TICKS_NS : CTP_TICKS_COUNTER);
	CHECK_EQ(l->state, CTP_LIFE_STATE(CTP_REC_BIRTH, 0, 0));
	CHECK(l->last_ticks == l->birth_ticks && l->birth_ticks);
	CHECK_EQ(t->nr_stash, 0);
	CHECK_EQ(s->life_pool.pool->used, 0);
}

static void the_first_time_of_a_life_is_not_before_its_lane(void)
{
	struct corotracer_coro co;
	struct ctp_record *at;

	attach((struct shape)SHAPE);
	CHECK_EQ(ctp_lane_ready(t, s), 1);
	t->lane->last_ticks = UINT64_MAX / 2;
	at = t->at;
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK_EQ(at->ticks, UINT64_MAX / 2);
	CHECK_EQ(co.probe.life->last_ticks, UINT64_MAX / 2);
	CHECK(co.probe.life->birth_ticks < UINT64_MAX / 2);
}

/* Another thread ends the session while this one creates a coroutine. */
static void a_life_of_a_session_that_ended_is_not_begun(void)
{
	struct ctp_probe p = { 0 };
	uint64_t head;

	attach((struct shape)SHAPE);
	CHECK_EQ(ctp_lane_ready(t, s), 1);
	head = t->lane->head;
	s->generation = 0;
	CHECK_EQ(ctp_life_begin(&p, t, s, "n", 0, 0, 0), 0);
	CHECK(!p.life);
	CHECK_EQ(p.last_ns, getpid()); /* the next session adopts it */
	CHECK_EQ(t->lane->head, head);
}

static void a_thread_keeps_32_lives(void)
{
	attach((struct shape)SHAPE);
	CHECK_EQ(ctp_session_grow(s, &s->life_pool), 1);
	for (uint32_t i = 0; i < 33; i++)
		ctp_life_give(t, s, (struct ctp_life *)ctp_unit(&s->life_pool, i + 10));
	CHECK_EQ(t->nr_stash, 32);
	CHECK_EQ((uint32_t)s->life_pool.pool->free, 42 + 1);
	CHECK_EQ(t->stash[0], 10);
	CHECK_EQ(ctp_life_take(t, s), 41 + 1);
	CHECK_EQ(t->nr_stash, 31);
}

static void names_are_cut_in_a_life(void)
{
	static const size_t lengths[] = { 0, 31, 32, 33 };
	char name[40];
	struct ctp_life l;

	memset(name, 'n', sizeof(name));
	for (size_t i = 0; i < 4; i++) {
		size_t told = lengths[i] < 32 ? lengths[i] : 32;

		memset(&l, 0xff, sizeof(l));
		ctp_life_name(&l, name, lengths[i]);
		CHECK_EQ(l.name_size, lengths[i]);
		CHECK_EQ(memcmp(l.name, name, told), 0);
		CHECK(all_zero(l.name + told, 32 - told));
	}
}

static void a_life_that_was_not_traced_here_writes_nothing(void)
{
	struct corotracer_coro co;
	struct ctp_life *l;
	uint64_t head;

	attach((struct shape)SHAPE);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	l = co.probe.life;
	head = t->lane->head;
	l->id = 0; /* replaced by zeros: of an earlier session */
	ctp_life_write(l, t, s, 1, CTP_WHAT(CTP_REC_SUSPEND, 0, 0), 0);
	ctp_life_wake(l, t, s, 0, 0, 0, NULL);
	ctp_life_done(l, t, s, 0);
	ctp_life_end(l, t, s, 0);
	CHECK_EQ(t->lane->head, head);
	CHECK_EQ(t->nr_stash, 0);
	CHECK(l->events == 0 && t->lane->dropped_marks == 0);
}

static void sites_have_a_number_from_one_on(void)
{
	struct shape shape = SHAPE;
	const struct ctp_site *site;
	struct corotracer_site here = { .file = "src/x.c", .line = 12, .function = "f" };

	shape.sites = 1;
	attach(shape);
	CHECK_EQ(corotracer__site(&here), 1);
	site = ctp_unit(&region.sites, 0);
	CHECK_EQ(site->ready, 1);
	CHECK_EQ(site->line, 12);
	CHECK_EQ(site->pid, getpid());
	CHECK_STR((const char *)site->file, "src/x.c");
	CHECK_STR((const char *)site->function, "f");
	CHECK_EQ(here.id, s->site_tag << 16 | 1);
	CHECK_EQ(corotracer__site(&here), 1);
	here.id = s->site_tag << 16 | 0xfffe;
	CHECK_EQ(corotracer__site(&here), 0xfffe);
	here.id = (s->site_tag + 1) << 16 | 7; /* of an earlier region */
	errno = 12345;
	CHECK_EQ(corotracer__site(&here), 0); /* the table is full */
	CHECK_EQ(errno, 12345);
	CHECK_EQ(here.id, (s->site_tag + 1) << 16 | 7);
	s->generation = 0;
	here.id = s->site_tag << 16 | 1;
	CHECK_EQ(corotracer__site(&here), 0);
}

int main(void)
{
	scratch_make();
	RUN_ALONE(the_file_is_opened_again_only_if_it_is_the_same);
	RUN_ALONE(pools_grow_by_a_quarter_of_a_megabyte);
	RUN_ALONE(memory_that_was_refused_is_asked_for_later);
	RUN_ALONE(the_pages_of_a_chunk_are_made_at_once_and_once);
	RUN_ALONE(populated_pages_keep_what_they_have);
	RUN_ALONE(a_chunk_has_a_lane_a_thread_and_a_number);
	RUN_ALONE(a_thread_that_joins_has_nothing_of_another_session);
	RUN_ALONE(a_lane_that_is_opened_is_empty);
	RUN_ALONE(a_lane_without_a_chunk_is_given_back);
	RUN_ALONE(a_lane_is_handed_over);
	RUN_ALONE(a_lane_is_kept_only_if_there_is_room_in_it);
	RUN_ALONE(a_thread_that_ends_gives_back_its_units);
	RUN_ALONE(a_full_lane_waits_for_so_long_and_no_longer);
	RUN_ALONE(a_chunk_that_is_given_back_ends_the_wait);
	RUN_ALONE(a_lane_holds_no_more_chunks_than_it_may);
	RUN_ALONE(who_waits_wakes_the_collector);
	RUN_ALONE(a_thread_waits_for_a_lane);
	RUN_ALONE(the_rest_of_a_chunk_is_padded);
	RUN_ALONE(the_inline_path_is_used_as_soon_as_it_may);
	RUN_ALONE(lost_events_are_counted_in_the_lane);
	RUN_ALONE(a_lost_event_is_in_the_life);
	RUN_ALONE(the_end_tells_the_losses);
	RUN_ALONE(a_new_life_has_nothing_of_the_last_one);
	RUN_ALONE(the_first_time_of_a_life_is_not_before_its_lane);
	RUN_ALONE(a_life_of_a_session_that_ended_is_not_begun);
	RUN_ALONE(a_thread_keeps_32_lives);
	RUN_ALONE(names_are_cut_in_a_life);
	RUN_ALONE(a_life_that_was_not_traced_here_writes_nothing);
	RUN_ALONE(sites_have_a_number_from_one_on);
	return 0;
}
