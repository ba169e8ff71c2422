/* SPDX-License-Identifier: MIT */
/*
 * corotracer/lane_slow.h - the slow path of lanes: open, next chunk, full, close; lives; sites.
 *
 * A thread's lane
 *   The thread's first event opens it.  When the thread ends, the next new thread of the
 *   process takes the lane over and continues in the same chunk, so that short-lived
 *   threads cost one record each, and not one chunk.  If the process has no place to keep
 *   the lane, the lane is closed.  The memory of a lane is a chain of chunks: the writer
 *   takes one from the pool when the last one is full, and the collector gives back those
 *   that it has read.  So a thread that writes little holds one chunk, and a thread that
 *   writes in bursts holds as many as the collector is behind, up to lane_chunks.
 *
 * Full
 *   By default events are lost: they are counted in the lane and in the coroutine, and
 *   the next record that finds room is preceded by a gap record with the number of lost
 *   events and the start of the gap.  With CTP_ON_FULL_BLOCK the thread waits for up to
 *   block_ms; after one timeout further events are lost until the collector has read some.
 *
 * Included by attach.h.
 */
#ifndef COROTRACER_LANE_SLOW_H
#define COROTRACER_LANE_SLOW_H

#include <corotracer/clock.h>
#include <corotracer/inherit_slow.h>
#include <corotracer/later.h>
#include <corotracer/pool.h>
#include <corotracer/probe.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <corotracer/header_begin.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* A pool without free units grows by this size. */
#define CTP_GROW_BYTES 262144u

#define CTP_REFUSED_NS 20000000u

/* A lane whose thread has ended, kept for the next thread.  In private memory of the process. */
#define CTP_SPARES      512u
#define CTP_SPARE_EMPTY 0u
#define CTP_SPARE_BUSY  1u /* a thread is storing or taking a lane */
#define CTP_SPARE_FULL  2u

struct ctp_spare {
	uint32_t state;           /* CTP_SPARE_* */
	uint32_t lane, chunk, at; /* unit numbers, and the index of the next record in the chunk */
};

/* Interval between two attempts while a thread waits for room: the first, and the longest. */
#define CTP_BLOCK_STEP_NS 50000
#define CTP_BLOCK_MOST_NS 3200000

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory ---------------------------------------------------------------- */

/*
 * Open the region's file again: by the inherited descriptor, or by its path.  Returns -1 if the
 * path no longer leads to the same file.
 */
CTP_SLOW int ctp_region_reopen(const struct ctp_session *s)
{
	struct stat st;
	int fd = ctp_inherited_open(&s->region_fd);

	if (fd < 0 && s->shm_path[0])
		fd = open(s->shm_path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && (uint64_t)st.st_dev == s->shm_dev &&
	    (uint64_t)st.st_ino == s->shm_ino)
		return fd;
	close(fd);
	return -1;
}

/* The collector has not allocated far enough ahead: allocate here. */
CTP_SLOW int ctp_session_grow(void *ctx, struct ctp_arena *a)
{
	struct ctp_session *s = (struct ctp_session *)ctx;
	/* Relaxed: ctp_pool_committed() continues the release sequence of the last growth. */
	uint32_t before = ctp_load_relaxed(&a->pool->committed);
	uint32_t step = a->unit < CTP_GROW_BYTES ? CTP_GROW_BYTES / a->unit : 1;
	uint64_t now = ctp_clock_ns();
	int fd, cancel, grown;

	/* After a failed allocation, do not retry at every event. */
	if (before >= a->limit || now - ctp_load_relaxed(&s->refused_ns) < CTP_REFUSED_NS)
		return 0;
	if (step > a->limit - before)
		step = a->limit - before;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	fd = ctp_region_reopen(s);
	grown = fd >= 0 && fallocate(fd, FALLOC_FL_KEEP_SIZE,
				     (off_t)((uint64_t)(a->units - (char *)s->header) +
					     (uint64_t)before * a->unit),
				     (off_t)((uint64_t)step * a->unit)) == 0;
	if (fd >= 0)
		close(fd);
	pthread_setcancelstate(cancel, NULL);
	if (grown)
		ctp_pool_committed(a->pool, before, before + step);
	else
		ctp_store_relaxed(&s->refused_ns, now);
	return grown;
}

/*
 * The first access to a page costs a page fault, as much as 50 events: populate all pages of a
 * chunk at once, when this process takes the chunk for the first time.
 */
CTP_SLOW void ctp_chunk_touch(struct ctp_session *s, uint32_t number)
{
	char *chunk = (char *)ctp_unit(&s->chunk_pool, number);
	uint32_t at;

	if (!s->seen_chunks || ctp_load_relaxed(&s->seen_chunks[number]))
		return;
	ctp_store_relaxed(&s->seen_chunks[number], (uint8_t)1);
	if (madvise(chunk, CTP_CHUNK_SIZE, MADV_POPULATE_WRITE) == 0)
		return;
	for (at = 0; at < CTP_CHUNK_SIZE; at += 4096)
		ctp_store_relaxed((uint32_t *)(void *)(chunk + at), 0u);
}

/* 1 + the number of a chunk for @t; 0 if the pool is empty. */
CTP_SLOW uint32_t ctp_chunk_take(struct ctp_thread *t, struct ctp_session *s)
{
	uint32_t number = ctp_pool_take(&s->chunk_pool, ctp_session_grow, s);
	struct ctp_chunk *chunk;

	if (!number)
		return 0;
	ctp_chunk_touch(s, number - 1);
	chunk = (struct ctp_chunk *)ctp_unit(&s->chunk_pool, number - 1);
	ctp_store_relaxed(&chunk->link, 0u);
	chunk->lane = (uint32_t)(t->lane - (struct ctp_lane *)(void *)s->lane_pool.units);
	ctp_store_relaxed(&t->lane->taken, ctp_load_relaxed(&t->lane->taken) + 1);
	chunk->tid = t->tid;
	chunk->pid = t->lane->pid;
	chunk->nr = ctp_load_relaxed(&t->lane->taken);
	return number;
}

/* Continue in chunk @number; the lane's head is @head. */
CTP_SLOW void ctp_chunk_use(struct ctp_thread *t, struct ctp_session *s, uint32_t number,
			    uint64_t head)
{
	t->chunk = (struct ctp_chunk *)ctp_unit(&s->chunk_pool, number - 1);
	t->at = t->chunk->records;
	t->end = t->chunk->records + CTP_CHUNK_RECORDS;
	/* A thread that must not write inline gets a limit that never leaves room. */
	t->limit = t->always_slow ? NULL : t->end;
	t->head_bias = head - (uint64_t)(uintptr_t)t->at;
}

static inline uint64_t ctp_lane_head(const struct ctp_thread *t)
{
	return (uint64_t)(uintptr_t)t->at + t->head_bias;
}

static inline uint64_t ctp_lane_ticks(const struct ctp_thread *t)
{
	return t->counts_ns ? ctp_clock_ns() : ctp_ticks();
}

/* The time of a record that is written now, of a thread with a lane.  Not for transitions. */
static inline uint64_t ctp_lane_stamp(const struct ctp_thread *t)
{
	return ctp_lane_tick(t->lane, ctp_lane_ticks(t));
}

/* ---- a lane's life ------------------------------------------------------------ */

CTP_SLOW void ctp_lane_forget(struct ctp_thread *t)
{
	t->at = t->limit = t->end = NULL;
	t->lane = NULL;
	t->chunk = NULL;
	t->head_bias = 0;
	t->gap_ticks = t->gap_transitions = t->gap_marks = 0;
	t->gave_up = 0;
}

/* Keep the lane of a thread that ends, for another thread.  Returns 0 if no place is free. */
CTP_SLOW int ctp_lane_keep(const struct ctp_thread *t, struct ctp_session *s)
{
	uint32_t i;

	/* A full chunk, or losses that have no gap record yet: close the lane instead. */
	if (t->at == t->end || t->gap_ticks)
		return 0;
	for (i = 0; i < s->nr_spares; i++) {
		struct ctp_spare *spare = &s->spares[i];

		/* (ctp-P) pairs with the release store in ctp_lane_take_over() that emptied it. */
		if (ctp_load_relaxed(&spare->state) != CTP_SPARE_EMPTY ||
		    !ctp_cas_acquire(&spare->state, CTP_SPARE_EMPTY, CTP_SPARE_BUSY))
			continue;
		spare->lane = (uint32_t)(t->lane - (struct ctp_lane *)(void *)s->lane_pool.units);
		spare->chunk = (uint32_t)(t->chunk -
					  (struct ctp_chunk *)(void *)s->chunk_pool.units);
		spare->at = (uint32_t)(t->at - t->chunk->records);
		/* (ctp-P) pairs with the acquire in ctp_lane_take_over(). */
		ctp_store_release(&spare->state, CTP_SPARE_FULL);
		return 1;
	}
	return 0;
}

/* Continue in the lane of a thread that has ended.  Returns 0 if none is kept. */
CTP_SLOW int ctp_lane_take_over(struct ctp_thread *t, struct ctp_session *s)
{
	uint32_t i;

	for (i = 0; i < s->nr_spares; i++) {
		struct ctp_spare *spare = &s->spares[i];

		/* (ctp-P) pairs with the release store in ctp_lane_keep(). */
		if (ctp_load_relaxed(&spare->state) != CTP_SPARE_FULL ||
		    !ctp_cas_acquire(&spare->state, CTP_SPARE_FULL, CTP_SPARE_BUSY))
			continue;
		t->lane = (struct ctp_lane *)ctp_unit(&s->lane_pool, spare->lane);
		ctp_chunk_use(t, s, spare->chunk + 1, ctp_load_relaxed(&t->lane->head));
		t->at += spare->at;
		t->head_bias -= spare->at * sizeof(struct ctp_record);
		/* (ctp-P) pairs with the acquire in ctp_lane_keep() that fills it next. */
		ctp_store_release(&spare->state, CTP_SPARE_EMPTY);
		ctp_record_put(t->at, ctp_lane_stamp(t), 0, t->tid, 0, CTP_REC_THREAD);
		ctp_lane_publish(t, s, 1);
		return 1;
	}
	return 0;
}

CTP_SLOW int ctp_lane_open(struct ctp_thread *t, struct ctp_session *s)
{
	uint32_t number = ctp_pool_take(&s->lane_pool, ctp_session_grow, s), first;
	struct ctp_lane *lane;

	if (!number)
		return 0;
	lane = t->lane = (struct ctp_lane *)ctp_unit(&s->lane_pool, number - 1);
	ctp_store_relaxed(&lane->taken, 0u);
	first = ctp_chunk_take(t, s);
	if (!first) {
		t->lane = NULL;
		ctp_pool_give(&s->lane_pool, number - 1);
		return 0;
	}
	ctp_store_relaxed(&lane->head, UINT64_C(0));
	ctp_store_relaxed(&lane->dropped, UINT64_C(0));
	ctp_store_relaxed(&lane->dropped_at, UINT64_C(0));
	ctp_store_relaxed(&lane->dropped_marks, UINT64_C(0));
	ctp_store_relaxed(&lane->blocked_ns, UINT64_C(0));
	ctp_store_relaxed(&lane->blocked, 0u);
	ctp_store_relaxed(&lane->last_ticks, UINT64_C(0));
	ctp_store_relaxed(&lane->returned, 0u);
	ctp_store_relaxed(&lane->tail, UINT64_C(0));
	ctp_store_relaxed(&lane->oldest, (uint64_t)first);
	lane->tid = t->tid;
	lane->pid = (uint32_t)getpid();
	lane->first = first;
	lane->ticks = t->counts_ns ? CTP_TICKS_NS : CTP_TICKS_COUNTER;
	ctp_chunk_use(t, s, first, 0);
	/* (ctp-I) pairs with the acquire load in the collector's lane_look(). */
	ctp_store_release(&lane->state, CTP_LANE_OPEN);
	return 1;
}

/* ---- full --------------------------------------------------------------------- */

/* Chunks of this lane that the collector has not given back. */
static inline uint32_t ctp_lane_held(const struct ctp_lane *lane)
{
	/* (ctp-J) pairs with the release store in the collector's lane_return(). */
	return ctp_load_relaxed(&lane->taken) - ctp_load_acquire(&lane->returned);
}

/* 1 + the number of the next chunk; 0 if the lane is at its limit or the pool is empty. */
CTP_SLOW uint32_t ctp_lane_extend(struct ctp_thread *t, struct ctp_session *s)
{
	return ctp_lane_held(t->lane) < s->lane_chunks ? ctp_chunk_take(t, s) : 0;
}

/* Wait only with CTP_ON_FULL_BLOCK, and after a timeout only once a chunk was given back. */
CTP_SLOW int ctp_lane_may_block(struct ctp_thread *t, const struct ctp_session *s)
{
	if (s->on_full != CTP_ON_FULL_BLOCK)
		return 0;
	if (t->gave_up && t->gave_up_at == ctp_load_relaxed(&t->lane->returned))
		return 0;
	t->gave_up = 0;
	return 1;
}

/* Each pause is longer: hundreds of threads that wait leave the processor to the collector. */
CTP_SLOW void ctp_block_pause(struct timespec *step)
{
	syscall(SYS_nanosleep, step, NULL);
	if (step->tv_nsec < CTP_BLOCK_MOST_NS)
		step->tv_nsec *= 2;
}

/* Wait for a chunk, for block_ms at most. */
CTP_SLOW uint32_t ctp_lane_block(struct ctp_thread *t, struct ctp_session *s)
{
	struct timespec step = { 0, CTP_BLOCK_STEP_NS };
	uint64_t start = ctp_clock_ns(), waited = 0;
	uint32_t number = 0;

	while (!number && waited < (uint64_t)s->block_ms * 1000000u) {
		ctp_wake_if_asleep(s);
		ctp_block_pause(&step);
		number = ctp_lane_extend(t, s);
		waited = ctp_clock_ns() - start;
	}
	ctp_store_relaxed(&t->lane->blocked, ctp_load_relaxed(&t->lane->blocked) + 1);
	ctp_store_relaxed(&t->lane->blocked_ns, ctp_load_relaxed(&t->lane->blocked_ns) + waited);
	if (!number) {
		t->gave_up = 1;
		t->gave_up_at = ctp_load_relaxed(&t->lane->returned);
	}
	return number;
}

/* There is room again after a gap: write the gap record. */
CTP_SLOW void ctp_lane_tell_gap(struct ctp_thread *t, struct ctp_session *s)
{
	ctp_record_put(t->at, t->gap_ticks, t->gap_marks, t->gap_transitions, 0, CTP_REC_GAP);
	t->gap_ticks = t->gap_transitions = t->gap_marks = 0;
	ctp_store_relaxed(&t->lane->dropped_at, UINT64_C(0));
	ctp_lane_publish(t, s, 1);
}

/* Pad the rest of the chunk: it is too short for the next event. */
CTP_SLOW void ctp_lane_pad(struct ctp_thread *t, struct ctp_session *s)
{
	if (t->at == t->end)
		return;
	ctp_record_put(t->at, 0, 0, 0, 0, CTP_REC_PAD);
	ctp_lane_publish(t, s, (uint32_t)(t->end - t->at));
}

/* The chunk is full: take and link the next one. */
CTP_SLOW int ctp_lane_advance(struct ctp_thread *t, struct ctp_session *s)
{
	int saved = errno;
	uint32_t number;

	/* Also if this event is lost: a shorter one must not get ahead of the gap record. */
	ctp_lane_pad(t, s);
	number = ctp_lane_extend(t, s);
	if (!number && ctp_lane_may_block(t, s))
		number = ctp_lane_block(t, s);
	errno = saved;
	if (!number)
		return 0;
	/* The collector reads the link after a head past it: (ctp-H). */
	ctp_store_relaxed(&t->chunk->link, number);
	ctp_chunk_use(t, s, number, ctp_lane_head(t));
	if (t->gap_ticks)
		ctp_lane_tell_gap(t, s);
	return 1;
}

/* Changes when a chunk is given back to the pool: then another attempt is worthwhile. */
static inline uint32_t ctp_chunk_tag(const struct ctp_session *s)
{
	return (uint32_t)(ctp_load_relaxed(&s->chunk_pool.pool->free) >> 32);
}

/* As ctp_lane_block(), for a thread that has no lane because other threads hold all units. */
CTP_SLOW int ctp_lane_await(struct ctp_thread *t, struct ctp_session *s)
{
	struct timespec step = { 0, CTP_BLOCK_STEP_NS };
	uint64_t start = ctp_clock_ns(), waited = 0;
	int opened = 0;

	if (s->on_full != CTP_ON_FULL_BLOCK || (t->gave_up && t->gave_up_at == ctp_chunk_tag(s)))
		return 0;
	while (!opened && waited < (uint64_t)s->block_ms * 1000000u) {
		ctp_wake_if_asleep(s);
		ctp_block_pause(&step);
		opened = ctp_lane_open(t, s);
		waited = ctp_clock_ns() - start;
	}
	t->gave_up = !opened;
	t->gave_up_at = ctp_chunk_tag(s);
	if (opened) {
		ctp_store_relaxed(&t->lane->blocked, 1u);
		ctp_store_relaxed(&t->lane->blocked_ns, waited);
	}
	return opened;
}

/* 1 if this thread has a lane under this session, or gets one now. */
CTP_SLOW int ctp_lane_ready(struct ctp_thread *t, struct ctp_session *s)
{
	int saved = errno, ready;

	if (!ctp_thread_ready(t, s) || !s->lanes)
		return 0;
	if (t->lane)
		return 1;
	ready = ctp_lane_take_over(t, s) || ctp_lane_open(t, s) || ctp_lane_await(t, s);
	errno = saved;
	return ready;
}

/* Make room for @nr contiguous records.  Returns NULL if there is none. */
CTP_SLOW struct ctp_record *ctp_lane_room(struct ctp_thread *t, struct ctp_session *s, uint32_t nr)
{
	if (!ctp_lane_ready(t, s))
		return NULL;
	if ((uint64_t)(t->end - t->at) >= nr || ctp_lane_advance(t, s))
		return t->at;
	return NULL;
}

/* As ctp_lane_publish(), also if the collector does not call membarrier() for this process. */
CTP_SLOW void ctp_lane_publish_slow(struct ctp_thread *t, struct ctp_session *s, uint32_t nr)
{
	ctp_lane_publish(t, s, nr);
	if (ctp_load_relaxed(&s->needs_fence)) {
		ctp_wake_if_asleep(s);
	} else if (t->always_slow && !t->counts_ns) {
		/* The process registered for membarrier() after this thread had joined. */
		t->always_slow = 0;
		t->limit = t->end;
	}
}

/* ---- lost events ---------------------------------------------------------------- */

/* Count events that this thread could not write. */
CTP_SLOW void ctp_lane_count(struct ctp_thread *t, struct ctp_session *s, uint32_t transitions,
			     uint32_t marks)
{
	struct ctp_lane *lane = t->lane;

	if (!lane) {
		ctp_fetch_add_relaxed(&s->lanes->homeless, (uint64_t)transitions);
		ctp_fetch_add_relaxed(&s->lanes->homeless_marks, (uint64_t)marks);
		return;
	}
	if (!t->gap_ticks) {
		t->gap_ticks = ctp_lane_stamp(t);
		ctp_store_relaxed(&lane->dropped_at, t->gap_ticks);
	}
	t->gap_transitions += transitions;
	t->gap_marks += marks;
	ctp_store_relaxed(&lane->dropped, ctp_load_relaxed(&lane->dropped) + transitions);
	ctp_store_relaxed(&lane->dropped_marks, ctp_load_relaxed(&lane->dropped_marks) + marks);
	ctp_wake_if_asleep(s);
}

/* A transition of @l is lost.  The ctp_life is updated all the same. */
CTP_SLOW void ctp_lane_drop(struct ctp_thread *t, struct ctp_session *s, struct ctp_life *l,
			    uint64_t addr, uint32_t what)
{
	struct ctp_record nowhere;
	struct ctp_lane no_lane; /* the event is in none, and the thread may have none */

	no_lane.last_ticks = 0;
	if ((what & 0xff) == CTP_REC_RESUME)
		ctp_life_resume(l, &no_lane, &nowhere, 0, ctp_lane_ticks(t));
	else
		ctp_life_suspend(l, &no_lane, &nowhere, 0, ctp_lane_ticks(t), addr, what);
	ctp_store_relaxed(&l->dropped, ctp_load_relaxed(&l->dropped) + 1);
	ctp_lane_count(t, s, 1, 0);
}

/* Write one transition on the slow path; count it as lost if the lane is full. */
CTP_SLOW void ctp_life_write(struct ctp_life *l, struct ctp_thread *t, struct ctp_session *s,
			     uint64_t addr, uint32_t what, uint64_t resource)
{
	uint32_t nr = what & CTP_REC_HAS_MORE ? 2 : 1;
	struct ctp_record *r = ctp_lane_room(t, s, nr);
	uint64_t id;

	/* Without a session, in a forked child, @l must not be read either. */
	if (!ctp_thread_ready(t, s) || !(id = ctp_load_relaxed(&l->id)))
		return;
	if (!r) {
		ctp_lane_drop(t, s, l, addr, what);
		if (nr == 2)
			ctp_store_relaxed(&l->resource, resource);
		return;
	}
	if ((what & 0xff) == CTP_REC_RESUME) {
		ctp_life_resume(l, t->lane, r, id, ctp_lane_ticks(t));
		r->value = addr; /* the ctp_life keeps the last suspend's address */
	} else {
		ctp_life_suspend(l, t->lane, r, id, ctp_lane_ticks(t), addr, what);
	}
	if (nr == 2) {
		ctp_store_relaxed(&l->resource, resource);
		ctp_record_put_more(r + 1, resource, 0);
	}
	ctp_lane_publish_slow(t, s, nr);
}

/* ---- lives ------------------------------------------------------------------------ */

/* 1 + the number of a ctp_life for a new coroutine; prefers one that this thread has freed. */
CTP_SLOW uint32_t ctp_life_take(struct ctp_thread *t, struct ctp_session *s)
{
	if (t->nr_stash)
		return t->stash[--t->nr_stash] + 1;
	return ctp_pool_take(&s->life_pool, ctp_session_grow, s);
}

CTP_SLOW void ctp_life_give(struct ctp_thread *t, struct ctp_session *s, struct ctp_life *l)
{
	uint32_t number = (uint32_t)(l - (struct ctp_life *)(void *)s->life_pool.units);

	if (t->nr_stash < CTP_STASH)
		t->stash[t->nr_stash++] = number;
	else
		ctp_pool_give(&s->life_pool, number);
}

CTP_SLOW void ctp_life_name(struct ctp_life *l, const char *name, size_t len)
{
	l->name_size = len > UINT32_MAX ? UINT32_MAX : (uint32_t)len;
	memset(l->name, 0, sizeof(l->name));
	if (len)
		memcpy(l->name, name, len < sizeof(l->name) ? len : sizeof(l->name));
}

/* Write the creation of @l: one record, followed by as many text records as the name needs. */
CTP_SLOW void ctp_life_tell_birth(struct ctp_life *l, struct ctp_thread *t, struct ctp_session *s,
				  const char *name, size_t len)
{
	uint32_t told = len < CTP_EXT_NAME_SIZE ? (uint32_t)len : CTP_EXT_NAME_SIZE, at;
	uint32_t nr = 1 + (told + CTP_TEXT_SIZE - 1) / CTP_TEXT_SIZE;
	struct ctp_record *r = ctp_lane_room(t, s, nr);
	uint64_t now;

	if (!r) {
		ctp_lane_count(t, s, 0, 1);
		return;
	}
	now = ctp_lane_tick(t->lane, l->birth_ticks);
	if (now != l->birth_ticks)
		ctp_store_relaxed(&l->last_ticks, now); /* the next event is later than this one */
	ctp_record_put(r, now, l->id, l->parent, told,
		       CTP_WHAT(CTP_REC_BIRTH, l->birth | (len > told ? CTP_BIRTH_NAME_CUT : 0),
				l->birth_site));
	for (at = 0; at < told; at += CTP_TEXT_SIZE) {
		struct ctp_record_text *text = (struct ctp_record_text *)(void *)++r;
		uint32_t part = told - at < CTP_TEXT_SIZE ? told - at : CTP_TEXT_SIZE;

		memcpy(text->text, name + at, part);
		text->kind = CTP_REC_TEXT;
	}
	ctp_lane_publish_slow(t, s, nr);
}

/*
 * A coroutine is created, or adopted if @birth is CTP_BIRTH_ADOPTED.  Returns 1 if it is traced.
 */
CTP_SLOW int ctp_life_begin(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s,
			    const char *name, uint64_t parent, uint32_t site, uint32_t birth)
{
	size_t len = name ? strlen(name) : 0;
	int saved = errno;
	uint32_t number = ctp_life_take(t, s);
	struct ctp_life *l;

	errno = saved;
	if (!number)
		return 0;
	l = p->life = (struct ctp_life *)ctp_unit(&s->life_pool, number - 1);
	/*
	 * (ctp-M) pairs with the load-load fence in the collector's life_read().  The fence is here
	 * and not in ctp_life_end(): the unit may have been freed by another thread, whose fence
	 * does not order the stores of this thread.
	 */
	ctp_fence_store_store();
	ctp_store_relaxed(&l->events, UINT64_C(0));
	ctp_store_relaxed(&l->addr, UINT64_C(0));
	ctp_store_relaxed(&l->resource, UINT64_C(0));
	ctp_store_relaxed(&l->dropped, UINT64_C(0));
	ctp_store_relaxed(&l->site, 0u);
	l->birth_site = site;
	l->birth = birth;
	l->birth_ticks = ctp_lane_ticks(t);
	l->parent = parent;
	l->pid = (uint32_t)getpid();
	l->ticks = t->counts_ns ? CTP_TICKS_NS : CTP_TICKS_COUNTER;
	ctp_life_name(l, name, len);
	ctp_store_relaxed(&l->last_ticks, l->birth_ticks);
	ctp_store_relaxed(&l->state, CTP_LIFE_STATE(CTP_REC_BIRTH, 0, 0));
	/* (ctp-M) pairs with the acquire load in the collector's life_read(). */
	ctp_store_release(&l->id, ctp_fetch_add_relaxed(&s->lanes->last_id, UINT64_C(1)) + 1);
	p->last_ns = s->owner;
	/*
	 * (ctp-R) pairs with the membarrier in ctp_order_attach(), or with the fence there if this
	 * process is not registered: either that thread's zeros replace the id, or this thread sees
	 * that the session has ended, and the coroutine is adopted by the next one.
	 */
	__asm__ volatile("" ::: "memory");
	if (ctp_unlikely(ctp_load_relaxed(&s->needs_fence)))
		ctp_fence_full();
	if (ctp_unlikely(t->ticket != ~ctp_load_relaxed(&s->generation))) {
		p->life = NULL;
		return 0;
	}
	ctp_life_tell_birth(l, t, s, name, len);
	return 1;
}

/* Write the end record of @l, CTP_REC_END or CTP_REC_DESTROY.  Returns 0 if the lane is full. */
CTP_SLOW int ctp_life_tell_end(struct ctp_life *l, struct ctp_thread *t, struct ctp_session *s,
			       uint32_t kind, uint32_t flags)
{
	uint64_t dropped = ctp_load_relaxed(&l->dropped);
	uint32_t nr = dropped ? 2 : 1;
	struct ctp_record *r = ctp_lane_room(t, s, nr);
	uint64_t now;

	if (!r)
		return 0;
	now = ctp_life_tick(l, t->lane, ctp_lane_ticks(t));
	ctp_record_put(r, now, l->id, l->events, (uint32_t)l->events,
		       CTP_WHAT(kind | (dropped ? CTP_REC_HAS_MORE : 0), flags, 0));
	if (dropped)
		ctp_record_put_more(r + 1, 0, dropped);
	ctp_lane_publish_slow(t, s, nr);
	return 1;
}

static inline uint32_t ctp_life_kind(const struct ctp_life *l)
{
	return ctp_load_relaxed(&l->state) & 0xff & ~CTP_REC_HAS_MORE;
}

static inline uint32_t ctp_life_was_suspended(const struct ctp_life *l)
{
	return ctp_life_kind(l) == CTP_REC_SUSPEND ? CTP_END_SUSPENDED : 0;
}

/* The coroutine has returned or was cancelled; its frame still exists. */
CTP_SLOW void ctp_life_done(struct ctp_life *l, struct ctp_thread *t, struct ctp_session *s,
			    uint32_t flags)
{
	if (!ctp_thread_ready(t, s) || !ctp_load_relaxed(&l->id) || ctp_life_kind(l) == CTP_REC_END)
		return;
	flags |= ctp_life_was_suspended(l);
	/* (ctp-M) pairs with the load-load fence in the collector's life_read(). */
	ctp_fence_handover();
	ctp_store_relaxed(&l->state, CTP_LIFE_STATE(CTP_REC_END, 0, 0));
	if (!ctp_life_tell_end(l, t, s, CTP_REC_END, flags))
		ctp_lane_count(t, s, 0, 1);
}

/*
 * The coroutine is destroyed.  If the end record finds no room, the ctp_life stays in use, marked
 * CTP_LIFE_UNREPORTED for the collector.
 */
CTP_SLOW void ctp_life_end(struct ctp_life *l, struct ctp_thread *t, struct ctp_session *s,
			   uint32_t flags)
{
	uint32_t kind = CTP_REC_END;
	struct ctp_lane no_lane;

	if (!ctp_thread_ready(t, s) || !ctp_load_relaxed(&l->id))
		return;
	flags |= ctp_life_was_suspended(l);
	/* (ctp-M) pairs with the load-load fence in the collector's life_read(). */
	ctp_fence_handover();
	if (ctp_life_kind(l) == CTP_REC_END)
		kind = CTP_REC_DESTROY;
	else
		flags |= CTP_END_DESTROYED;
	if (!ctp_life_tell_end(l, t, s, kind, flags)) {
		no_lane.last_ticks = 0;
		ctp_life_tick(l, &no_lane, ctp_lane_ticks(t));
		ctp_lane_count(t, s, 0, 1);
		ctp_store_relaxed(&l->state, CTP_LIFE_STATE(kind, flags, CTP_LIFE_UNREPORTED));
		return;
	}
	/* The order does not matter: a reader treats a ctp_life without a state as unused. */
	ctp_store_relaxed(&l->id, UINT64_C(0));
	ctp_store_relaxed(&l->state, 0u);
	ctp_life_give(t, s, l);
}

/* @target was made ready to run, by the coroutine @waker (0: by no coroutine). */
CTP_SLOW void ctp_life_wake(struct ctp_life *target, struct ctp_thread *t, struct ctp_session *s,
			    uint64_t waker, uint32_t site, uint32_t reason,
			    const uint64_t *resource)
{
	uint64_t id = ctp_load_relaxed(&target->id);
	uint32_t nr = resource ? 2 : 1;
	struct ctp_record *r = ctp_lane_room(t, s, nr);

	if (!id || !ctp_thread_ready(t, s))
		return;
	if (!r) {
		ctp_lane_count(t, s, 0, 1);
		return;
	}
	ctp_record_put(r, ctp_lane_stamp(t), id, waker, (uint32_t)ctp_load_relaxed(&target->events),
		       CTP_WHAT(CTP_REC_WAKE | (resource ? CTP_REC_HAS_MORE : 0), reason, site));
	if (resource)
		ctp_record_put_more(r + 1, *resource, 0);
	ctp_lane_publish_slow(t, s, nr);
}

/* Write CTP_REC_CLOSE, _ACQUIRE or _RELEASE of @resource by coroutine @id (0: by no coroutine). */
CTP_SLOW void ctp_resource(struct ctp_thread *t, struct ctp_session *s, uint32_t kind, uint64_t id,
			   uint64_t resource, uint32_t site)
{
	struct ctp_record *r;

	if (!ctp_thread_ready(t, s)) {
		ctp_later_mark(s);
		return;
	}
	if (!s->lanes)
		return;
	r = ctp_lane_room(t, s, 1);
	if (!r) {
		ctp_lane_count(t, s, 0, 1);
		return;
	}
	ctp_record_put(r, ctp_lane_stamp(t), id, resource, 0, CTP_WHAT(kind, 0, site));
	ctp_lane_publish_slow(t, s, 1);
}

/* ---- sites -------------------------------------------------------------------------- */

/*
 * The number of bytes to omit at the front of @text so that the rest fits into @size bytes.  Whole
 * directories or scopes are omitted if possible; a UTF-8 character is never split.
 */
CTP_SLOW size_t ctp_site_skip(const char *text, size_t len, size_t size)
{
	size_t skip = len > size ? len - size : 0, at;

	if (!skip)
		return 0;
	for (at = skip; at < len; at++) {
		if (text[at - 1] == '/' || (at > 1 && text[at - 1] == ':' && text[at - 2] == ':'))
			return at;
	}
	while (skip < len && ((unsigned char)text[skip] & 0xC0) == 0x80)
		skip++;
	return skip;
}

/* Copy @text, or its end if it does not fit into @size bytes. */
CTP_SLOW void ctp_site_text(uint8_t *to, size_t size, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	size_t skip = ctp_site_skip(text, len, size);

	len -= skip;
	if (text && len)
		memcpy(to, text + skip, len);
	if (len < size)
		to[len] = 0;
}

/* Register a site.  Returns its number, from 1, or 0 if the table is full. */
CTP_SLOW uint32_t ctp_site_enter(struct ctp_session *s, const char *file, uint32_t line,
				 const char *function)
{
	int saved = errno;
	uint32_t number = ctp_pool_take(&s->site_pool, ctp_session_grow, s);
	struct ctp_site *site;

	errno = saved;
	if (!number)
		return 0;
	site = (struct ctp_site *)ctp_unit(&s->site_pool, number - 1);
	site->line = line;
	site->pid = (uint32_t)getpid();
	ctp_site_text(site->file, sizeof(site->file), file);
	ctp_site_text(site->function, sizeof(site->function), function);
	/* (ctp-L) pairs with the acquire load in the collector's site_read(). */
	ctp_store_release(&site->ready, 1u);
	return number;
}

/* ---- the end of a thread -------------------------------------------------------------- */

/* Give back the units of a thread that ends.  If it writes again afterwards, it joins again. */
CTP_SLOW void ctp_thread_leave(struct ctp_thread *t, struct ctp_session *s)
{
	if (!s || t->ticket != ~ctp_load_relaxed(&s->generation))
		return;
	while (t->nr_stash)
		ctp_pool_give(&s->life_pool, t->stash[--t->nr_stash]);
	if (t->lane && !ctp_lane_keep(t, s))
		/* (ctp-I) pairs with the acquire load in the collector's lane_look(). */
		ctp_store_release(&t->lane->state, CTP_LANE_CLOSED);
	ctp_lane_forget(t);
	t->ticket = 0;
}

#ifdef __cplusplus
}
#endif

#include <corotracer/header_end.h>

#endif
