/* SPDX-License-Identifier: MIT */
/* weak_region.c - a small region for the tests of lanes: the SDK's threads and the collector. */
#define CTP_SLOW_LINKAGE     static __attribute__((unused))
#define CTP_ATTACHER_LINKAGE static
#include <corotracer/attach.h>

#include "weak_region.h"

#define UNITS 16u
#define PID   ((uint32_t)getpid())

static struct ctp_session session;
static struct ctp_thread sdk[REGION_THREADS];
static struct ctp_probe probes[REGION_THREADS];
static uint64_t written[REGION_THREADS]; /* numbers of a coroutine's events */
static uint64_t taken[REGION_THREADS];   /* the last number that the collector has read */
static uint32_t asleep, *kernel_lock;
static struct lanes lanes;
static char *pieces[REGION_PIECES]; /* of the file */
static unsigned nr_pieces;
static struct drain drain;
static struct drain_lane cursors[UNITS];
static uint32_t heap[UNITS], dirty[UNITS], owner[UNITS], after[UNITS];
static struct tickclock clock_of;
static uint64_t nr_read, nr_read_lost;
static uint64_t lane_times[UNITS]; /* time of the last event; the search does not see it */
static uint64_t nr_floored;        /* events with a later time than their thread has read */

/* ---- the clock: every event is in the past ------------------------------------- */

bool tickclock_mark(struct tickclock *tc)
{
	(void)tc;
	return true;
}

struct tick_mark tickclock_stretch(const struct tickclock *tc, uint64_t ticks, uint64_t *length)
{
	(void)tc;
	(void)ticks;
	*length = UINT64_MAX;
	return (struct tick_mark){ 0, 0, UINT64_C(1) << 32 };
}

uint64_t tickclock_ticks(const struct tickclock *tc, uint64_t ns)
{
	(void)tc;
	return ns;
}

uint64_t tickclock_ns(const struct tickclock *tc, uint64_t ticks)
{
	(void)tc;
	return ticks;
}

/* ---- system calls of ctp_session_grow() --------------------------------------------- */

int weak_open(const char *path, int flags, ...)
{
	(void)path;
	(void)flags;
	return dup(0);
}

int weak_fstat(int fd, struct stat *st)
{
	(void)fd;
	*st = (struct stat){ .st_mode = S_IFREG, .st_size = (off_t)REGION_PIECES * REGION_PIECE };
	return 0;
}

/* The kernel fills the memory once, under a lock; a call that finds it locked fails here. */
int weak_fallocate(int fd, int mode, off_t offset, off_t size)
{
	(void)fd;
	(void)mode;
	if (ctp_cas_acquire(kernel_lock, 0u, 1u)) {
		memset((char *)session.header + offset, 0, (size_t)size);
		ctp_store_release(kernel_lock, 2u);
		return 0;
	}
	return ctp_load_acquire(kernel_lock) == 2 ? 0 : -1;
}

/* ---- what the collector reads ----------------------------------------------------- */

static void sink_lane(void *ctx, const struct trace_lane *lane)
{
	(void)ctx;
	if (lane->pid != PID || !lane->tid || lane->tid > REGION_THREADS)
		weak_fail("a lane of process %u, thread %llu", lane->pid,
			  (unsigned long long)lane->tid);
}

/* The numbers of a coroutine's events grow by one, except where some are lost. */
static void sink_event(void *ctx, uint32_t lane, const struct trace_event *ev)
{
	unsigned i = (unsigned)ev->probe_id - 1;

	(void)ctx;
	(void)lane;
	if (ev->kind != TRACE_SUSPEND)
		return;
	if (i >= REGION_THREADS || ev->addr <= taken[i] || ev->addr > written[i])
		weak_fail("event %llu of coroutine %u after event %llu",
			  (unsigned long long)ev->addr, i + 1,
			  (unsigned long long)(i < REGION_THREADS ? taken[i] : 0));
	if ((ev->flags & TRACE_HAS_RESOURCE) && ev->resource != ev->addr + 100)
		weak_fail("event %llu waits for %llu", (unsigned long long)ev->addr,
			  (unsigned long long)ev->resource);
	taken[i] = ev->addr;
	nr_read++;
}

static void sink_gap(void *ctx, uint32_t lane, uint64_t from_ts, uint64_t to_ts,
		     uint64_t transitions, uint64_t others)
{
	(void)ctx;
	(void)lane;
	(void)from_ts;
	(void)to_ts;
	(void)others;
	nr_read_lost += transitions;
}

static void sink_site(void *ctx, const struct trace_site *site)
{
	(void)ctx;
	if (strcmp(site->file, "a.c") != 0 || site->line != 5 || site->pid != PID)
		weak_fail("site %s:%u", site->file, site->line);
}

static const struct drain_sink sink = {
	.lane = sink_lane, .event = sink_event, .gap = sink_gap, .site = sink_site
};

/* ---- set up -------------------------------------------------------------------------- */

/* In the region's file the header and each pool have a piece; here they are where they fit. */
static void make_pool(struct ctp_arena *arena, struct ctp_pool *pool, uint32_t nr, uint32_t size)
{
	unsigned piece = nr_pieces++;

	arena->pool = pool;
	arena->units = weak_alloc((size_t)(nr ? nr : 1) * size);
	arena->unit = size;
	arena->limit = nr;
	pool->limit = pool->committed = nr;
	pool->unit = size;
	pool->offset = (uint64_t)piece * REGION_PIECE;
	pieces[piece] = arena->units;
}

static void make_pools(const struct region_shape *shape, struct ctp_ext_lanes *ext)
{
	make_pool(&lanes.lanes, &ext->lanes, shape->lanes, sizeof(struct ctp_lane));
	make_pool(&lanes.chunks, &ext->chunks, shape->chunks, sizeof(struct ctp_chunk));
	make_pool(&lanes.lives, &ext->lives, REGION_THREADS + shape->lives,
		  sizeof(struct ctp_life));
	make_pool(&lanes.sites, &ext->sites, 1, sizeof(struct ctp_site));
	session.lane_pool = lanes.lanes;
	session.chunk_pool = lanes.chunks;
	session.life_pool = lanes.lives;
	session.site_pool = lanes.sites;
	/* Those that exist are read while they change; the others are units for the pool's tests.
	 */
	weak_seqlock(lanes.lives.units, REGION_THREADS * sizeof(struct ctp_life));
	if (shape->grows)
		ext->lives.committed = REGION_THREADS;
}

static void make_coroutines(struct ctp_ext_lanes *ext)
{
	unsigned i;

	for (i = 0; i < REGION_THREADS; i++) {
		struct ctp_life *life = ctp_unit(&lanes.lives, i);

		memset(&sdk[i], 0, sizeof(sdk[i]));
		sdk[i].ticket = ~session.generation;
		sdk[i].tid = i + 1;
		life->id = i + 1;
		life->state = CTP_LIFE_STATE(CTP_REC_BIRTH, 0, 0);
		life->pid = PID;
		probes[i] = (struct ctp_probe){ .life = life };
		ext->last_id = i + 1;
		ext->lives.used = i + 1;
	}
}

static void make_drain(void)
{
	memset(&drain, 0, sizeof(drain));
	memset(cursors, 0, sizeof(cursors));
	memset(owner, 0, sizeof(owner));
	clock_of.usable = true;
	clock_of.fine.nr = 1;
	clock_of.fine.marks[0] = (struct tick_mark){ UINT64_C(1) << 40, UINT64_C(1) << 40,
						     UINT64_C(1) << 32 };
	drain = (struct drain){ .lanes = &lanes,
				.clock = &clock_of,
				.sink = &sink,
				.room = UNITS,
				.cursors = cursors,
				.heap = heap,
				.dirty = dirty,
				.owner = owner,
				.after = after };
}

static void region_restore(void)
{
	memset(written, 0, sizeof(written));
	memset(taken, 0, sizeof(taken));
	memset(lane_times, 0, sizeof(lane_times));
	nr_read = nr_read_lost = nr_floored = 0;
	weak_restore(lane_times, sizeof(lane_times));
	weak_restore(sdk, sizeof(sdk));
	weak_restore(probes, sizeof(probes));
	weak_restore(written, sizeof(written));
	weak_restore(taken, sizeof(taken));
	weak_restore(&drain, sizeof(drain));
	weak_restore(cursors, sizeof(cursors));
	weak_restore(owner, sizeof(owner));
	weak_restore(after, sizeof(after));
	weak_restore(&nr_read, sizeof(nr_read));
	weak_restore(&nr_read_lost, sizeof(nr_read_lost));
}

void region_make(const struct region_shape *shape)
{
	struct ctp_header *header = weak_alloc(sizeof(*header));
	struct ctp_ext_lanes *ext = ctp_header_lanes(header);

	pieces[0] = (char *)header;
	nr_pieces = 1;
	memset(&session, 0, sizeof(session));
	memset(&lanes, 0, sizeof(lanes));
	session.generation = 1;
	session.header = header;
	kernel_lock = weak_alloc(sizeof(*kernel_lock));
	session.shm_path[0] = '/';
	session.refused_ns = UINT64_MAX / 2; /* long ago */
	session.sleeping = &asleep;
	session.lanes = lanes.ext = ext;
	session.lane_chunks = shape->lane_chunks;
	session.nr_spares = shape->spares;
	session.spares = weak_alloc((shape->spares + 1) * sizeof(struct ctp_spare));
	make_pools(shape, ext);
	make_coroutines(ext);
	make_drain();
	region_restore();
}

void region_open(unsigned thread)
{
	if (!ctp_lane_open(&sdk[thread], &session))
		weak_fail("there is no lane for thread %u", thread);
}

void region_write(unsigned thread, unsigned nr)
{
	while (nr--) {
		ctp_suspend(&probes[thread], &sdk[thread], &session, ++written[thread], 0,
			    CTP_REASON_USER);
		/* The counter is far ahead outside of the threads: these events are old. */
		sdk[thread].at[-1].ticks = 1;
		sdk[thread].lane->last_ticks = probes[thread].life->last_ticks = 1;
	}
}

void *region_at(uint64_t offset)
{
	return pieces[offset / REGION_PIECE] + offset % REGION_PIECE;
}

uint64_t region_written(unsigned coroutine)
{
	return written[coroutine];
}

struct lanes *region_lanes(void)
{
	return &lanes;
}

struct drain *region_drain(void)
{
	return &drain;
}

/* ---- threads of the program ------------------------------------------------------------ */

/* Units that were never used, or are in the pool. */
static uint32_t pool_room(const struct ctp_arena *a)
{
	uint32_t nr = a->limit - a->pool->used, at = (uint32_t)a->pool->free, steps = 0;

	for (; at && steps <= a->limit; at = *ctp_unit_link(a, at - 1), steps++)
		nr++;
	if (steps > a->limit)
		weak_fail("the free units of a pool are a circle");
	return nr;
}

static struct ctp_thread *own_thread(void)
{
	return &sdk[weak_self()];
}

static uint64_t *own_lane_time(void)
{
	const struct ctp_lane *lane = own_thread()->lane;

	return lane ? &lane_times[lane - (struct ctp_lane *)(void *)lanes.lanes.units] : NULL;
}

/*
 * The times of a lane do not decrease, whichever threads write it.  The collector would hide it: it
 * never hands on a time that is earlier than the last one.  The counter of thread i has multiples
 * of 16 and i; another time is that of an earlier record, or one more.
 */
static void event_has_time(void)
{
	const struct ctp_thread *t = own_thread();
	uint64_t *last = own_lane_time(), ticks;

	if (!last || t->at == t->chunk->records)
		return;
	ticks = t->at[-1].ticks;
	if (ticks < *last)
		weak_fail("an event at %llu in a lane with one at %llu", (unsigned long long)ticks,
			  (unsigned long long)*last);
	*last = ticks;
	nr_floored += ticks % 16 != weak_self();
}

void region_event(unsigned coroutine)
{
	uint64_t number = ++written[coroutine];

	ctp_suspend(&probes[coroutine], own_thread(), &session, number, 0, CTP_REASON_USER);
	event_has_time();
}

void region_run_ahead(unsigned ticks)
{
	while (ticks--)
		weak_ticks();
}

uint64_t region_floored(void)
{
	return nr_floored;
}

void region_event_on(unsigned coroutine)
{
	uint64_t number = ++written[coroutine];

	ctp_suspend_on(&probes[coroutine], own_thread(), &session, number, 0, CTP_REASON_USER,
		       number + 100);
}

void region_resume(unsigned coroutine)
{
	written[coroutine]++;
	ctp_resume(&probes[coroutine], own_thread(), &session);
}

void region_done(unsigned coroutine)
{
	ctp_life_done(probes[coroutine].life, own_thread(), &session, 0);
}

void region_leave(void)
{
	uint64_t *last = own_lane_time();

	if (last && !session.nr_spares)
		*last = 0; /* the lane is closed, and begins again with no time */
	ctp_thread_leave(own_thread(), &session);
}

bool region_begin(unsigned coroutine, uint64_t parent, const char *name)
{
	return ctp_life_begin(&probes[coroutine], own_thread(), &session, name, parent, 0, 0);
}

void region_end(unsigned coroutine)
{
	ctp_life_end(probes[coroutine].life, own_thread(), &session, 0);
}

uint64_t region_life_id(unsigned coroutine)
{
	return probes[coroutine].life ? ctp_load_relaxed(&probes[coroutine].life->id) : 0;
}

void region_use_life(uint32_t number)
{
	((struct ctp_life *)ctp_unit(&lanes.lives, number))->birth = weak_self();
}

uint32_t region_life_room(void)
{
	return pool_room(&lanes.lives);
}

uint32_t region_take_life(void)
{
	return ctp_pool_take(&session.life_pool, ctp_session_grow, &session);
}

void region_give_life(uint32_t number)
{
	ctp_pool_give(&session.life_pool, number);
}

uint32_t region_site(const char *file)
{
	return ctp_site_enter(&session, file, 5, "f");
}

/* ---- the collector ------------------------------------------------------------------------ */

static void region_is_sound(void)
{
	if (drain.totals.garbage || drain.totals.broken)
		weak_fail("%llu corrupt records, %u broken lanes",
			  (unsigned long long)drain.totals.garbage, drain.totals.broken);
}

void region_look(void)
{
	struct drain_look out;

	drain_look(&drain, &out);
	region_is_sound();
}

static bool any_killed(void)
{
	unsigned i, killed = 0;

	for (i = 0; i < REGION_THREADS; i++)
		killed += weak_was_killed(i);
	return killed;
}

static void check_pools(void)
{
	uint32_t may_miss = any_killed() ? 1 : 0;

	if (pool_room(&lanes.chunks) + may_miss < lanes.chunks.limit ||
	    pool_room(&lanes.chunks) > lanes.chunks.limit)
		weak_fail("%u of %u chunks are free", pool_room(&lanes.chunks), lanes.chunks.limit);
	if (pool_room(&lanes.lanes) + may_miss < lanes.lanes.limit ||
	    pool_room(&lanes.lanes) > lanes.lanes.limit)
		weak_fail("%u of %u lanes are free", pool_room(&lanes.lanes), lanes.lanes.limit);
}

/* Of killed threads, an event may have been counted by the test and not have been written. */
static void check_counts(void)
{
	uint64_t all = 0, seen = nr_read + drain.left_lost + lanes.ext->homeless;
	unsigned i;

	for (i = 0; i < REGION_THREADS; i++)
		all += written[i];
	if (seen > all || seen + (any_killed() ? 1 : 0) < all)
		weak_fail("%llu events: %llu read, %llu lost, %llu without a lane",
			  (unsigned long long)all, (unsigned long long)nr_read,
			  (unsigned long long)drain.left_lost,
			  (unsigned long long)lanes.ext->homeless);
	/* A lane that may take a chunk finds one, if no other lane can have it. */
	if (lanes.lanes.limit == 1 && lanes.chunks.limit == session.lane_chunks &&
	    lanes.ext->chunks.refused)
		weak_fail("a chunk was given back, and was not found");
	if (nr_read_lost != drain.left_lost)
		weak_fail("%llu events lost, gaps of %llu", (unsigned long long)drain.left_lost,
			  (unsigned long long)nr_read_lost);
}

void region_check(void)
{
	region_look();
	drain_orphans(&drain, PID);
	drain.last = true;
	region_look();
	region_look();
	check_counts();
	check_pools();
}
