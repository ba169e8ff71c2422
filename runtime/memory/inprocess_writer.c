/* SPDX-License-Identifier: MIT */
/*
 * inprocess_writer.c - the consumer of a program that runs without a collector: a background
 * thread.
 *
 * The thread sleeps until a ring holds enough chunks for a block, then takes, packs and writes
 * them (ring_read.h, ring_decode.h, container_writer.h).  It does not call the allocator and blocks
 * all signals, so the only effect on the program is one more thread.
 *
 * The region is a file on tmpfs whose name derives from the trace file, so that `corotracer mem
 * recover TRACE` finds what a killed program had not yet written.  The file is removed when the
 * trace is complete.
 */
#include "inprocess_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "corotracer/version.h"
#include "ring_decode.h"
#include "container_writer.h"
#include "inprocess_file.h"
#include "newest_blocks.h"
#include "pack_worker.h"
#include "trace_session.h"
#include "sys.h"
#include "zstd_loader.h"

#define BATCH   16u                 /* chunks per block */
#define LOOK_MS 100u                /* sleep at most this long without a wakeup */
#define STALE   UINT64_C(500000000) /* ns: take a ring after this time, even if little is in it */

/* The consumer's state for one slot. */
struct source {
	struct crw_cursor cursor;
	struct crw_feed feed;
	struct cray_thread thread;
	uint64_t seq;      /* sequence number of the next block */
	uint64_t serial;   /* of the process that owns the slot; 0: no owner seen yet */
	uint64_t id;       /* number of the thread in that process */
	uint64_t taken_ns; /* last take, or last check that the thread exists */
	uint64_t told;     /* corrupt units and ranges already reported as lost */
};

enum { NOTHING, CHECKPOINT, FINISH };

/* The word of requests: what is asked for in the low bits, the number of requests served above. */
#define WHAT(word)   ((word)&3u)
#define SERVED(word) ((word) >> 2)

struct consumer {
	struct cray_writer *file;
	struct cray_newest newest; /* in use if only the newest blocks are kept */
	struct cray_pack *pack;
	struct cray_maker *maker;
	struct source *sources;
	uint32_t nr_sources;
	uint32_t high;        /* one past the highest slot seen in use */
	uint32_t next_thread; /* next thread number in the file */
	uint32_t request;     /* [threads] futex: WHAT() a thread waits for; SERVED() before */
	uint64_t now_ns;      /* start of the current poll */
	uint32_t dead;        /* 1: writing failed, nothing more is written */
};
static struct consumer the;

static bool inprocess_writer_no_memory(void)
{
	crt_say("no memory or no thread for tracing; not tracing", NULL);
	return false;
}

static void inprocess_writer_aside(void *context, unsigned code, uint64_t w0,
				   const uint8_t *payload, uint32_t size)
{
	(void)context;
	if (code == CRW_FACT)
		cray_writer_fact(the.file, (uint16_t)w0, payload, size);
	else
		cray_writer_module(the.file, payload, size);
}

static void inprocess_writer_say_error(const char *what, int error)
{
	crt_say(what, ": ", strerror(error), "; the program goes on without tracing", NULL);
}

static bool inprocess_writer_complete(void)
{
	return the.newest.kept ? cray_newest_complete(&the.newest, the.file)
			       : cray_writer_tail(the.file);
}

/* Stop tracing after a write error: complete the file and switch recording off in the program. */
static void inprocess_writer_give_up(void)
{
	bool capped = the.file->capped;

	if (the.dead)
		return;
	the.dead = 1;
	__atomic_store_n(&crt_session.region.header->closed,
			 capped ? CRW_CLOSED_CAP : CRW_CLOSED_DISK, __ATOMIC_RELAXED);
	crt_switch(false);
	if (capped)
		crt_say("the trace has reached its maxsize; the program goes on without tracing",
			NULL);
	else
		inprocess_writer_say_error("cannot write the trace", the.file->error);
	cray_writer_lost(the.file, ~0u, capped ? CRAY_GAP_CAP : CRAY_GAP_DISK, 0);
	inprocess_writer_complete();
}

/* True while the program's thread sleeps until this ring has room. */
static bool inprocess_writer_wake_up(const struct crw_slot_view *v)
{
	const struct crw_slot *slot = &crt_session.region.slots[v->index];

	return __atomic_load_n(&slot->waiting, __ATOMIC_RELAXED) != 0;
}

/* Write a finished block.  The caller returns its chunks to the ring only after this. */
static void store_block(struct source *s, struct cray_maker *maker)
{
	if (the.dead)
		return;
	maker->head.thread_seq = s->seq;
	if (the.newest.kept)
		cray_newest_keep(&the.newest, the.file, maker);
	else if (!cray_writer_block(the.file, maker))
		inprocess_writer_give_up();
	s->seq++;
}

static void inprocess_writer_write_block(struct source *s, const struct crw_slot_view *v)
{
	if (!cray_pack_empty(the.pack) && !the.dead) {
		cray_maker_make(the.maker, the.pack, inprocess_writer_wake_up(v));
		store_block(s, the.maker);
	}
	crw_publish(&crt_session.region, v->index, &s->cursor);
}

static void inprocess_writer_begin_block(struct source *s)
{
	cray_pack_init(the.pack);
	cray_pack_begin(the.pack, s->thread.number, s->feed.order, s->feed.time_ns);
	cray_pack_weight(the.pack, s->feed.weight_256);
}

/* Start to follow a thread that claimed this slot. */
static void inprocess_writer_find_thread(struct source *s, const struct crw_slot_view *v)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->serial = v->serial;
	s->id = v->thread;
	s->feed.weight_256 = 256;
	s->feed.aside = inprocess_writer_aside;
	s->cursor.hold = 1;
	s->thread.number = the.next_thread++;
	s->thread.id = v->tid;
	s->thread.start_ns = v->start_ns;
	s->taken_ns = the.now_ns;
	cray_writer_thread(the.file, &s->thread, v->name);
}

/* Report corrupt chunks, units and ranges as lost; the number of accesses in them is unknown. */
static void inprocess_writer_account(struct source *s)
{
	uint64_t bad = s->cursor.broken + s->feed.broken + s->feed.ranges;

	if (bad > s->told)
		cray_writer_lost(the.file, s->thread.number, CRAY_GAP_BROKEN, bad - s->told);
	s->told = bad;
}

/*
 * Pack two blocks at a time, on two threads.  False: no progress.  If the first half has a hole,
 * or holds more than a block, the work on the second half is discarded.
 */
static bool drain_two(struct source *s, const struct crw_slot_view *v)
{
	struct crt_job mine = { .view = *v, .cursor = s->cursor, .feed = s->feed };
	struct crt_job theirs = mine;
	struct cray_maker *maker;
	const struct crt_job *done;
	uint64_t start = s->cursor.taken;
	bool whole;

	theirs.hurry = inprocess_writer_wake_up(v);
	theirs.thread = s->thread.number;
	mine.end = s->cursor.taken + CRT_HALF;
	theirs.cursor.taken = mine.end;
	theirs.cursor.offset = theirs.cursor.begun = 0;
	theirs.end = mine.end + CRT_HALF;
	if (s->feed.piece_left || !crt_second_start(the.maker->level, &theirs))
		return false;
	inprocess_writer_begin_block(s);
	whole = !crt_job_pack(&mine, the.pack) && mine.cursor.taken == mine.end;
	s->cursor = mine.cursor;
	s->feed = mine.feed;
	inprocess_writer_write_block(s, v);
	done = crt_second_join(&maker);
	if (whole && !done->empty) {
		uint64_t full = mine.feed.told_full - theirs.feed.told_full;
		uint64_t sampled = mine.feed.told_sampled - theirs.feed.told_sampled;
		uint64_t filtered = mine.feed.told_filtered - theirs.feed.told_filtered;
		uint64_t broken = mine.feed.broken - theirs.feed.broken;
		uint64_t ranges = mine.feed.ranges - theirs.feed.ranges;

		store_block(s, maker);
		s->cursor = done->cursor;
		s->cursor.holes += mine.cursor.holes - theirs.cursor.holes;
		s->cursor.broken += mine.cursor.broken - theirs.cursor.broken;
		s->feed = done->feed;
		s->feed.told_full += full;
		s->feed.told_sampled += sampled;
		s->feed.told_filtered += filtered;
		s->feed.broken += broken;
		s->feed.ranges += ranges;
		crw_publish(&crt_session.region, v->index, &s->cursor);
	}
	return s->cursor.taken != start;
}

static uint64_t inprocess_writer_is_ready(const struct source *s, uint32_t index)
{
	const struct crw_slot *slot = &crt_session.region.slots[index];

	return __atomic_load_n(&slot->sealed, __ATOMIC_RELAXED) - s->cursor.taken;
}

/*
 * Make the stores of running threads into their open chunks visible here, as if the chunks were
 * sealed.
 */
static void inprocess_writer_settle(void)
{
	/* (mem-M) pairs with the compiler barrier in crt_fill(). */
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * As crw_take(), also from the open chunk of a running thread (@gone and @running).  That thread
 * may have filled units since the last membarrier; on some processors word 1 of such a unit is
 * visible before its word 0, and before the unit in front of it.  So the units are counted first,
 * then settled, then read.
 */
static bool inprocess_writer_take(struct source *s, const struct crw_slot_view *v, bool gone,
				  bool running, struct crw_taken *run)
{
	const struct crw_region *r = &crt_session.region;
	bool open = running && inprocess_writer_is_ready(s, v->index) == 0;
	struct crw_cursor before = s->cursor;
	uint32_t end;

	if (!crw_take(r, v, &s->cursor, UINT32_MAX, gone, run))
		return false;
	if (!open)
		return true;
	end = s->cursor.offset + run->nr;
	inprocess_writer_settle();
	if (s->cursor.taken == before.taken)
		s->cursor = before;
	else if (run->new_chunk)
		s->cursor.begun = 0;
	if (!crw_take(r, v, &s->cursor, UINT32_MAX, gone, run))
		return false;
	if (run->nr > end - s->cursor.offset)
		run->nr = end - s->cursor.offset;
	return true;
}

/*
 * Take everything that is in a slot's ring now; true if there was something.  @gone: also from the
 * open chunk; @running: its thread may be writing there.
 */
static bool inprocess_writer_drain(struct source *s, const struct crw_slot_view *v, bool gone,
				   bool running)
{
	const struct crw_region *r = &crt_session.region;
	uint32_t most = CRT_HALF; /* bounded: other rings wait, and drain_two() may be faster */
	/* The chunk that is open now: a running thread may fill chunks as fast as they are read. */
	uint64_t last = running ? s->cursor.taken + inprocess_writer_is_ready(s, v->index)
				: UINT64_MAX;
	struct crw_taken run;
	bool any = false;

	while (r->nr_chunks > 2u * CRT_HALF &&
	       inprocess_writer_is_ready(s, v->index) >= UINT64_C(2) * CRT_HALF && !the.dead &&
	       drain_two(s, v))
		any = true;
	inprocess_writer_begin_block(s);
	while ((most || gone) && s->cursor.taken <= last &&
	       inprocess_writer_take(s, v, gone, running, &run)) {
		uint32_t used;

		if (run.new_chunk && !crt_block_has_room(the.pack)) {
			inprocess_writer_write_block(s, v);
			inprocess_writer_begin_block(s);
		}
		used = crw_feed(&s->feed, the.pack, &run);
		any = true;
		most -= most ? run.new_chunk : 0;
		crw_give_back(r, v, &s->cursor, used);
		if (used < run.nr || s->feed.piece_left) {
			inprocess_writer_write_block(s, v);
			inprocess_writer_begin_block(s);
		}
	}
	while (s->feed.piece_left) { /* a long range may still be incomplete */
		run.nr = 0;
		run.new_chunk = 0;
		crw_feed(&s->feed, the.pack, &run);
		inprocess_writer_write_block(s, v);
		inprocess_writer_begin_block(s);
	}
	inprocess_writer_write_block(s, v);
	inprocess_writer_account(s);
	return any;
}

/* Report accesses that a thread lost or left out and that no gap unit covers. */
static void inprocess_writer_untold(struct source *s, uint32_t index)
{
	static const uint32_t causes[] = { CRAY_GAP_FULL, CRAY_GAP_SAMPLED, CRAY_GAP_FILTERED };
	struct crw_slot_view last;
	uint32_t i;

	crw_slot_look(&crt_session.region, index, &last);
	for (i = 0; i < 3; i++) {
		uint64_t count = crw_untold(&s->feed, &last, causes[i]);

		if (count)
			cray_writer_lost(the.file, s->thread.number, causes[i], count);
	}
}

/* The thread has ended and its ring is empty: write its end and free the slot. */
static void inprocess_writer_part(struct source *s, const struct crw_slot_view *v)
{
	inprocess_writer_untold(s, v->index);
	s->thread.end_ns = v->end_ns;
	cray_writer_thread(the.file, &s->thread, v->name);
	s->serial = 0;
	crw_slot_free(&crt_session.region, v->index);
}

static bool worth_it(struct source *s, const struct crw_slot_view *v)
{
	uint64_t nr = inprocess_writer_is_ready(s, v->index);
	uint32_t batch = crt_session.region.nr_chunks / 2;

	return nr >= (batch < BATCH ? batch : BATCH) || (nr && the.now_ns - s->taken_ns > STALE);
}

/* Poll one slot.  True: something was taken. */
static bool inprocess_writer_serve(uint32_t i, bool all)
{
	struct crw_slot_view v;
	struct source *s = &the.sources[i];
	bool gone, old, any;

	crw_slot_look(&crt_session.region, i, &v);
	if (v.state != CRW_LIVE && v.state != CRW_ENDED)
		return false;
	if (i >= the.high)
		the.high = i + 1;
	if (s->serial != v.serial || s->id != v.thread)
		inprocess_writer_find_thread(s, &v);
	old = the.now_ns - s->taken_ns > STALE;
	gone = v.state == CRW_ENDED || (old && !crt_thread_lives(v.tid));
	if (!gone && !all && !worth_it(s, &v)) {
		s->taken_ns = old ? the.now_ns : s->taken_ns;
		return false;
	}
	s->taken_ns = the.now_ns;
	any = inprocess_writer_drain(s, &v, gone || all, all && !gone);
	if (gone && !all)
		inprocess_writer_part(s, &v);
	else if (all && WHAT(__atomic_load_n(&the.request, __ATOMIC_RELAXED)) == FINISH)
		inprocess_writer_untold(s, i);
	return any;
}

static bool serve_all(bool all)
{
	uint32_t i;
	bool any = false;

	the.now_ns = crt_now();
	for (i = 0; i < crt_session.region.nr_slots && i < the.high + 64; i++)
		any |= inprocess_writer_serve(i, all);
	return any;
}

/* @word is not changed by other threads before it is answered. */
static void inprocess_writer_answer(uint32_t word)
{
	uint64_t refused;

	inprocess_writer_settle();
	serve_all(true);
	refused = __atomic_load_n(&crt_session.region.processes[crt_session.process].lost,
				  __ATOMIC_RELAXED);
	if (WHAT(word) == FINISH && refused)
		cray_writer_lost(the.file, ~0u, CRAY_GAP_FULL, refused);
	if (!the.dead && !inprocess_writer_complete())
		inprocess_writer_say_error("cannot complete the trace", the.file->error);
	/* Everything is in the file: nothing to recover, even if a following exec fails. */
	if (crt_session.live_path[0])
		unlink(crt_session.live_path);
	/* (mem-J) pairs with the acquire in inprocess_writer_ask(): the file is complete. */
	__atomic_store_n(&the.request, (SERVED(word) + 1) << 2 | NOTHING, __ATOMIC_RELEASE);
	crt_futex_wake(&the.request);
}

/* Sleep until a thread rings the bell, at most LOOK_MS. */
static void inprocess_writer_sleep(void)
{
	struct crw_header *h = crt_session.region.header;
	uint32_t bell = __atomic_load_n(&h->bell, __ATOMIC_RELAXED);

	__atomic_store_n(&h->asleep, 1, __ATOMIC_RELAXED);
	/*
	 * (mem-C) pairs with the fence of the threads, between the store of `sealed` and the load
	 * of `asleep`.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!serve_all(false) && !WHAT(__atomic_load_n(&the.request, __ATOMIC_RELAXED)))
		crt_futex_wait(&h->bell, bell, LOOK_MS);
	__atomic_store_n(&h->asleep, 0, __ATOMIC_RELAXED);
}

static void *inprocess_writer_consume(void *unused)
{
	uint32_t word;

	prctl(PR_SET_NAME, "cacheray", 0, 0, 0);
	for (;;) {
		/* (mem-J) pairs with the release in inprocess_writer_ask(): what that thread
		 * recorded is visible. */
		word = __atomic_load_n(&the.request, __ATOMIC_ACQUIRE);
		if (WHAT(word))
			inprocess_writer_answer(word);
		if (WHAT(word) == FINISH)
			return unused;
		if (!serve_all(false))
			inprocess_writer_sleep();
	}
}

/*
 * The request and the number of those served are one word: with two, a thread could ask between
 * the answer to another thread and its count, and take that count for its own answer.
 */
static void inprocess_writer_ask(uint32_t what)
{
	uint32_t word = __atomic_load_n(&the.request, __ATOMIC_RELAXED), now;

	if (!the.file)
		return;
	for (;;) {
		/* Another thread has a request pending.  If it is FINISH, it covers this one. */
		if (WHAT(word) == FINISH)
			break;
		if (WHAT(word) != NOTHING) {
			crt_futex_wait(&the.request, word, LOOK_MS);
			word = __atomic_load_n(&the.request, __ATOMIC_RELAXED);
			continue;
		}
		/* (mem-J) pairs with the acquire in inprocess_writer_consume(). */
		if (__atomic_compare_exchange_n(&the.request, &word, word | what, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			break;
	}
	crt_ring_bell();
	/* (mem-J) pairs with the release in inprocess_writer_answer(). */
	while (SERVED(now = __atomic_load_n(&the.request, __ATOMIC_ACQUIRE)) == SERVED(word))
		crt_futex_wait(&the.request, now, LOOK_MS);
}

void crt_alone_checkpoint(void)
{
	struct crt_mask mask = crt_signals_off();

	inprocess_writer_ask(CHECKPOINT);
	crt_signals_back(mask);
}

void crt_alone_finish(void)
{
	struct crt_mask mask = crt_signals_off();

	crt_thread_end();
	crt_end(NULL);
	inprocess_writer_ask(FINISH);
	crt_signals_back(mask);
}

void crt_alone_forget(void)
{
	/* The state belongs to the parent; close only this process's copy of its descriptor. */
	if (the.file)
		close(the.file->fd);
	__builtin_memset(&the, 0, sizeof(the));
	crt_second_forget();
	munmap(crt_session.region.base, crt_session.region.size);
	crt_session.region.base = NULL;
}

static bool make_region(void)
{
	struct crt_session *s = &crt_session;
	struct crw_geometry g = { .nr_processes = 1,
				  .nr_slots = CRW_NR_SLOTS,
				  .nr_chunks = CRW_CHUNKS_MIN,
				  .chunk_size = CRW_CHUNK_SIZE,
				  .on_full = s->options.drop ? CRW_DROP : CRW_BLOCK,
				  .start_ns = crt_now() };
	uint64_t size;
	void *memory = NULL;
	int fd = crt_open_region(the.file->fd);

	while (g.nr_chunks < CRW_CHUNKS_MAX &&
	       (uint64_t)g.nr_chunks * 2 * (g.chunk_size / 2) <= s->options.buffer)
		g.nr_chunks *= 2;
	size = crw_region_size(&g);
	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		memory = crt_map_region(fd, size);
	if (fd >= 0)
		close(fd);
	if (!memory)
		return false;
	crw_region_init(memory, &g);
	return crw_region_open(memory, size, &s->region) == NULL;
}

/* Open the trace file and begin it. */
static bool inprocess_writer_open_file(bool child)
{
	const struct crt_options *o = &crt_session.options;
	int fd = crt_open_trace(child);

	if (fd < 0)
		return false;
	the.maker = crt_maker_new(o->level);
	the.file = crt_memory(sizeof(*the.file));
	if (!the.maker || !the.file) {
		close(fd);
		return inprocess_writer_no_memory();
	}
	the.file->rewrites = o->ring_size && cray_newest_open(&the.newest, o->ring_size);
	the.file->max = the.file->rewrites ? 0 : o->max_size;
	cray_writer_begin(the.file, fd, the.maker->zstd.context ? CRAY_CODEC_ZSTD : CRAY_CODEC_NONE,
			  0, crt_now(), crt_wall());
	return true;
}

static void inprocess_writer_tell_file(void)
{
	static const char writer[] = "libcacheray " COROTRACER_VERSION;
	const char *options = getenv("CACHERAY_OPTIONS");
	uint64_t pid = crt_pid();

	cray_writer_fact(the.file, CRAY_FACT_PID, &pid,
			 sizeof(pid)); /* first: see inprocess_file.c */
	cray_writer_fact(the.file, CRAY_FACT_WRITER, writer, sizeof(writer) - 1);
	if (options)
		cray_writer_fact(the.file, CRAY_FACT_OPTIONS, options, crt_length(options));
}

bool crt_alone_begin(bool child)
{
	struct crt_session *s = &crt_session;

	if (!inprocess_writer_open_file(child))
		return false;
	inprocess_writer_tell_file();
	s->drop = s->options.drop;
	the.pack = crt_memory(sizeof(*the.pack));
	the.nr_sources = CRW_NR_SLOTS;
	the.sources = crt_memory(the.nr_sources * sizeof(*the.sources));
	/* (mem-M) pairs with inprocess_writer_settle(), whose membarrier fails without it. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	if (!the.pack || !the.sources || !make_region() ||
	    !crt_start_thread(inprocess_writer_consume)) {
		s->region.base = NULL;
		close(the.file->fd);
		the.file = NULL;
		return inprocess_writer_no_memory();
	}
	return true;
}
