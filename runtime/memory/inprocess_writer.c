/* SPDX-License-Identifier: MIT */
/*
 * inprocess_writer.c - the consumer of a program that runs without a collector: a background
 * thread.
 *
 * The thread sleeps until a ring holds enough chunks for a block, then takes, packs and writes
 * them (ring_consumer.h).  It does not call the allocator and blocks all signals, so the only
 * effect on the program is one more thread.
 *
 * The region is a file on tmpfs whose name derives from the trace file, so that `corotracer mem
 * recover TRACE` finds what a killed program had not yet written.  The file is removed when the
 * trace is complete.
 */
#include "inprocess_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "corotracer/version.h"
#include "compress_worker.h"
#include "container_writer.h"
#include "inprocess_file.h"
#include "newest_blocks.h"
#include "ring_consumer.h"
#include "shadow_stack.h"
#include "trace_session.h"
#include "sys.h"
#include "zstd_loader.h"

#define LOOK_MS 100u                /* sleep at most this long without a wakeup */
#define LATE_NS UINT64_C(500000000) /* take a ring after this time, even if little is in it */

/* On x86-64 stores become visible in the order in which a thread makes them. */
#ifdef __x86_64__
#define STORES_IN_ORDER true
#else
#define STORES_IN_ORDER false
#endif

enum { NOTHING, CHECKPOINT, FINISH, FINISHED };

/*
 * The word of requests: what is asked for in the low bits, the number of requests served above.
 * FINISHED: the thread has ended, and serves none.
 */
#define WHAT(word)   ((word)&3u)
#define SERVED(word) ((word) >> 2)

static struct {
	struct crw_consumer consumer;
	struct cray_writer *file;
	struct cray_newest newest; /* in use if only the newest blocks are kept */
	uint32_t request;          /* [threads] futex: WHAT() a thread waits for; SERVED() before */
	bool dead;                 /* writing failed, nothing more is written */
} the;

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
	the.dead = true;
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

static void inprocess_writer_store(void *unused, struct cray_writer *file, struct cray_maker *m)
{
	(void)unused;
	if (the.dead)
		return;
	if (the.newest.kept)
		cray_newest_keep(&the.newest, file, m);
	else if (!cray_writer_block(file, m))
		inprocess_writer_give_up();
}

static struct cray_writer *inprocess_writer_file_of(void *unused, const struct crw_slot_view *v)
{
	(void)unused;
	(void)v;
	return the.file;
}

static bool inprocess_writer_is_gone(void *unused, const struct crw_slot_view *v)
{
	(void)unused;
	return !crt_thread_lives(v->tid);
}

static bool inprocess_writer_is_busy(void *unused)
{
	(void)unused;
	return WHAT(__atomic_load_n(&the.request, __ATOMIC_RELAXED)) != NOTHING;
}

/*
 * Make the stores of running threads into their open chunks visible here.  membarrier(2) fails
 * in old kernels, and in programs whose seccomp filter does not allow it.
 */
static bool inprocess_writer_settle(void)
{
	/* (mem-M) pairs with the compiler barrier in crt_fill(). */
	long failed = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);

	/* (mem-M) pairs with the compiler barrier in crt_fill(). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return !failed || STORES_IN_ORDER;
}

/* @word is not changed by other threads before it is answered. */
static void inprocess_writer_answer(uint32_t word)
{
	uint32_t next = WHAT(word) == FINISH ? FINISHED : NOTHING;
	uint64_t refused;

	crw_consumer_poll(&the.consumer, CRW_TAKE_OPEN);
	if (WHAT(word) == FINISH)
		crw_consumer_count_lost(&the.consumer);
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
	__atomic_store_n(&the.request, (SERVED(word) + 1) << 2 | next, __ATOMIC_RELEASE);
	crt_futex_wake(&the.request);
}

static void *inprocess_writer_consume(void *unused)
{
	uint32_t word;

	crt_calls_end(); /* allocations of this thread are not the program's */
	prctl(PR_SET_NAME, "cacheray", 0, 0, 0);
	for (;;) {
		/* (mem-J) pairs with the release in inprocess_writer_ask(): what that thread
		 * recorded is visible. */
		word = __atomic_load_n(&the.request, __ATOMIC_ACQUIRE);
		if (WHAT(word))
			inprocess_writer_answer(word);
		if (WHAT(word) == FINISH)
			return unused;
		if (!crw_consumer_poll(&the.consumer, CRW_TAKE_READY))
			crw_consumer_sleep(&the.consumer, LOOK_MS);
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
		if (WHAT(word) == FINISHED)
			return;
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
	crt_press_forget();
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
	g.nr_slots = crw_slots_for(g.nr_chunks, g.chunk_size);
	size = crw_region_size(&g);
	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		memory = crt_map_region(fd, size);
	if (fd >= 0)
		close(fd);
	if (!memory || !crt_fault_in(memory, CRW_CHUNK_MIN))
		return false;
	crw_region_init(memory, &g);
	if (crw_region_open(memory, size, &s->region) ||
	    !crt_fault_in(memory, (uint64_t)(s->region.rings - s->region.base)))
		return false;
	s->region.fault_in = crt_fault_in;
	return true;
}

static bool inprocess_writer_open_consumer(void)
{
	the.consumer = (struct crw_consumer){
		.region = &crt_session.region,
		.file_of = inprocess_writer_file_of,
		.store = inprocess_writer_store,
		.is_gone = inprocess_writer_is_gone,
		.is_busy = inprocess_writer_is_busy,
		.settle = inprocess_writer_settle,
		.maker_new = crt_maker_new,
		.level = crt_session.options.level,
		.hurry = true,
		.hold = true,
		.late_ns = LATE_NS,
	};
	return crw_consumer_open(&the.consumer);
}

static void inprocess_writer_begin_file(void)
{
	static const char writer[] = "libcacheray " COROTRACER_VERSION;
	const struct crt_options *o = &crt_session.options;
	const char *options = getenv("CACHERAY_OPTIONS");
	bool compresses = the.consumer.pending[0].maker->zstd.context != NULL;
	uint64_t pid = crt_pid();

	the.file->rewrites = o->ring_size && cray_newest_open(&the.newest, o->ring_size);
	the.file->max = the.file->rewrites ? 0 : o->max_size;
	cray_writer_begin(the.file, the.file->fd, compresses ? CRAY_CODEC_ZSTD : CRAY_CODEC_NONE, 0,
			  crt_now(), crt_wall());
	cray_writer_fact(the.file, CRAY_FACT_PID, &pid, sizeof(pid)); /* first: inprocess_file.c */
	cray_writer_fact(the.file, CRAY_FACT_WRITER, writer, sizeof(writer) - 1);
	if (options)
		cray_writer_fact(the.file, CRAY_FACT_OPTIONS, options, crt_length(options));
	/* At once: a program that is killed soon has no block that would write them. */
	(void)cray_writer_flush(the.file);
}

static bool inprocess_writer_start(int fd)
{
	the.file = crt_memory(sizeof(*the.file));
	if (!the.file)
		return false;
	the.file->fd = fd;
	/* (mem-M) pairs with inprocess_writer_settle(), whose membarrier fails without it. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	if (!make_region() || !inprocess_writer_open_consumer())
		return false;
	inprocess_writer_begin_file();
	return crt_start_thread(inprocess_writer_consume, NULL);
}

bool crt_alone_begin(bool child)
{
	int fd = crt_open_trace(child);

	if (fd < 0)
		return false;
	crt_session.drop = crt_session.options.drop;
	if (inprocess_writer_start(fd))
		return true;
	crt_say("no memory or no thread for tracing; not tracing", NULL);
	crt_session.region.base = NULL;
	close(fd);
	the.file = NULL;
	return false;
}
