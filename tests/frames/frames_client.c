/* SPDX-License-Identifier: MIT */
/*
 * frames_client.c - generated code, used in all ways by a program.
 *
 * Built for a buffer with threads (Many), one that can be resized (Grow), and one for a
 * single thread (One); BUFFER says which.  The content of a frame follows from its thread
 * and serial number, so a mix of two frames shows, and so does padding that is not
 * zero: frames are compared as a whole.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <dirent.h>

#include <linux/seccomp.h>

#include HEADER
#include "check.h"
#include "frames_collector.h"

#define CAT_(a, b, c) a##b##c
#define CAT(a, b, c)  CAT_(a, b, c)
#define N(name)       CAT(CAT(ppt_, BUFFER, _), name, )
#define EVENT         struct N(event)
#define OTHER         struct N(other)
#define COUNTED       struct N(counted)

extern struct ppt_hmem CAT(__ppt_, BUFFER, _hmem);
extern struct ppt_stat CAT(__ppt_, BUFFER, _stat);
static struct ppt_hmem *const hmem = &CAT(__ppt_, BUFFER, _hmem);
static struct ppt_stat *const stat_ = &CAT(__ppt_, BUFFER, _stat);

#define NR_THREADS (THREADED ? 4 : 1)

/* ThreadSanitizer makes everything twenty times slower. */
#if defined(__SANITIZE_THREAD__)
#define ROUNDS  40
#define RESIZES 20
#define FRAMES  30000u
#else
#define ROUNDS  (is_full() ? 200 : 80)
#define RESIZES (is_full() ? 200 : 80)
#define FRAMES  (is_full() ? 200000u : 80000u)
#endif

#define FRAME_SIZE ((uint32_t)offsetof(EVENT, __ppt_seqno_back) + 4)
#define STRIDE     ((FRAME_SIZE + 7) & ~7u)

static inline bool is_full(void)
{
	return getenv("COROTRACER_FULL") != NULL;
}

/* ---- frames ----------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ (x >> 29);
}

static void event_fill(EVENT *e, int thread, uint64_t serial)
{
	uint64_t m = mix(serial * 64 + (uint64_t)thread);

	e->thread = thread;
	e->serial = serial;
	e->check = m;
	e->took_start.tv_sec = (time_t)(m & 0xffff);
	e->took_start.tv_nsec = (long)(serial & 0xffff);
	e->took_end.tv_sec = (time_t)(m >> 48);
	e->took_end.tv_nsec = (long)(m >> 40 & 0xff);
	e->small = (uint8_t)m;
	e->odd[0] = (uint16_t)m;
	e->odd[1] = (uint16_t)(m >> 8);
	e->odd[2] = (uint16_t)(m >> 16);
	snprintf(e->text, sizeof(e->text), "%llu", (unsigned long long)(serial % 1000000));
	e->hue = serial % 2 ? CAT(ppt_, BUFFER, _colour_green) : CAT(ppt_, BUFFER, _colour_blue);
	e->even = serial % 2 == 0;
}

static void other_fill(OTHER *o, int thread, uint64_t serial)
{
	o->a = (int8_t)serial;
	o->thread = thread;
	o->serial = serial;
	o->check = mix(serial * 64 + (uint64_t)thread);
}

/* From memory with other content before. */
static void save_one(int thread, uint64_t serial)
{
	EVENT e;
	OTHER o;

	if (serial % 3) {
		memset(&e, 0xa5, sizeof(e));
		event_fill(&e, thread, serial);
		N(event_save)(&e);
	} else {
		memset(&o, 0x5a, sizeof(o));
		other_fill(&o, thread, serial);
		N(other_save)(&o);
	}
}

/* What was received, by thread. */
struct received {
	uint64_t frames, last[64];
};

/* Compares the frame with its expected bytes. */
static void check_frame(const unsigned char *frame, void *arg)
{
	struct received *got = arg;
	unsigned char want[sizeof(EVENT) > sizeof(OTHER) ? sizeof(EVENT) : sizeof(OTHER)];
	uint32_t type, seqno;
	uint64_t serial;
	int thread;

	memset(want, 0, sizeof(want));
	memcpy(&seqno, frame, 4);
	memcpy(&type, frame + 4, 4);
	if (type == 1) {
		EVENT *e = (EVENT *)(void *)want;

		memcpy(&serial, frame + offsetof(EVENT, serial), 8);
		memcpy(&thread, frame + offsetof(EVENT, thread), 4);
		event_fill(e, thread, serial);
	} else {
		OTHER *o = (OTHER *)(void *)want;

		CHECK_EQ(type, 2);
		memcpy(&serial, frame + offsetof(OTHER, serial), 8);
		memcpy(&thread, frame + offsetof(OTHER, thread), 4);
		other_fill(o, thread, serial);
	}
	memcpy(want, &seqno, 4);
	memcpy(want + 4, &type, 4);
	memcpy(want + FRAME_SIZE - 4, &seqno, 4);
	if (memcmp(want, frame, FRAME_SIZE) != 0) {
		size_t i;

		for (i = 0; i < FRAME_SIZE && want[i] == frame[i]; i++)
			;
		fprintf(stderr, "frame %u of thread %d, serial %llu, is not whole at byte %zu\n",
			seqno, thread, (unsigned long long)serial, i);
		exit(1);
	}
	got->frames++;
	if (thread >= 0 && thread < 64 && serial > got->last[thread])
		got->last[thread] = serial;
}

/* ---- threads that save --------------------------------------------------------- */

struct worker {
	pthread_t thread;
	int number;
	atomic_ullong saved;
	uint64_t limit; /* 0: until asked to stop */
};

static struct worker workers[8];
static atomic_int stop;

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t serial = 0;

	while (w->limit ? serial < w->limit : !atomic_load_explicit(&stop, memory_order_relaxed)) {
		save_one(w->number, ++serial);
		atomic_store_explicit(&w->saved, serial, memory_order_relaxed);
	}
	return NULL;
}

static void start_workers(uint64_t limit)
{
	int i;

	atomic_store(&stop, 0);
	for (i = 0; i < NR_THREADS; i++) {
		workers[i].number = i + 1;
		workers[i].limit = limit;
		atomic_store(&workers[i].saved, 0);
		CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
	}
}

static void stop_workers(void)
{
	int i;

	atomic_store(&stop, 1);
	for (i = 0; i < NR_THREADS; i++)
		CHECK(pthread_join(workers[i].thread, NULL) == 0);
}

/* ---- attaching ------------------------------------------------------------------ */

static void open_collector(struct collector *c, uint32_t slots)
{
	memset(c, 0, sizeof(*c));
	c->hmem = hmem;
	c->frame_size = FRAME_SIZE;
	c->stride = STRIDE;
	collector_create(c, slots, RESIZABLE);
}

static void wait_attached(struct collector *c)
{
	time_t until = time(NULL) + 300;

	while (!collector_attached(c)) {
		sched_yield();
		if (time(NULL) >= until)
			fprintf(stderr, "segment %d, offered %d, refused: %s\n", c->id,
				__atomic_load_n(&hmem->id, __ATOMIC_RELAXED),
				strerror(__atomic_load_n(&stat_->client_error, __ATOMIC_RELAXED)));
		CHECK(time(NULL) < until);
	}
}

/* Attach while no other thread saves; takes no ticket. */
static void attach_quietly(struct collector *c, uint32_t slots)
{
	EVENT e;

	open_collector(c, slots);
	collector_offer(c);
	memset(&e, 0, sizeof(e));
	/* The first save() attaches and is written. */
	event_fill(&e, 0, 1);
	N(event_save)(&e);
	CHECK(collector_attached(c));
	CHECK_EQ(ppt_frames_issued(c->control->next_ticket), 1);
}

static void detach_quietly(struct collector *c)
{
	__atomic_store_n(&hmem->id, PPT_HMEM_DETACH, __ATOMIC_RELEASE);
	save_one(0, 1);
	CHECK_EQ(__atomic_load_n(&hmem->id, __ATOMIC_ACQUIRE), 0);
	CHECK(!(c->control->client_flags & PPT_CLIENT_FLAG_ATTACHED));
	CHECK(collector_close(c));
}

/* ---- tests ----------------------------------------------------------------------- */

static void saves_nothing_and_calls_nobody_until_attached(void)
{
	int status;
	pid_t pid;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	return; /* sanitizers make threads and system calls of their own */
#endif
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		EVENT e = { 0 };
		COUNTED c = { 0 };
		int i;

		/* From here on any system call except read, write and exit kills the process. */
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			_exit(77);
		for (i = 0; i < 100; i++) {
			N(event_snapshot_took_start)(&e);
			N(event_snapshot_took_end)(&e);
			N(counted_snapshot_work_start)(&c);
			N(event_save)(&e);
			N(counted_save)(&c);
		}
		syscall(SYS_exit, e.took_start.tv_sec || c.work_0_start != PPT_COUNTER_NONE);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return; /* no seccomp here */
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void every_frame_is_there(void)
{
	struct received got = { 0 };
	struct collector c;
	uint64_t i;

	attach_quietly(&c, 1024);
	for (i = 2; i <= 1000; i++)
		save_one(0, i);
	collector_drain(&c, check_frame, &got);
	CHECK_EQ(got.frames, 1000);
	CHECK_EQ(collector_lost(&c), 0);
	detach_quietly(&c);
}

static void lost_frames_are_counted_exactly(void)
{
	struct received got = { 0 };
	struct collector c;
	uint64_t i;

	attach_quietly(&c, 64);
	for (i = 2; i <= 1000; i++)
		save_one(0, i);
	collector_drain(&c, check_frame, &got);
	CHECK_EQ(got.frames, 64);
	CHECK_EQ(collector_lost(&c), 1000 - 64);
	CHECK_EQ(got.last[0], 1000);
	detach_quietly(&c);
}

static void threads_lose_nothing_uncounted(void)
{
	struct received got = { 0 };
	struct collector c;
	uint64_t saved = 0;
	int i;

	attach_quietly(&c, 256);
	start_workers(FRAMES);
	for (i = 0; i < NR_THREADS; i++) {
		while (atomic_load_explicit(&workers[i].saved, memory_order_relaxed) < FRAMES)
			collector_drain(&c, check_frame, &got);
	}
	stop_workers();
	collector_drain(&c, check_frame, &got);
	for (i = 0; i < NR_THREADS; i++)
		saved += workers[i].saved;
	CHECK_EQ(ppt_frames_issued(c.control->next_ticket), saved + 1);
	CHECK_EQ(got.frames + collector_lost(&c), saved + 1);
	CHECK(got.frames >= 256);
	printf("   %llu of %llu frames, %llu slots met in use, %llu reads met a writer\n",
	       (unsigned long long)got.frames, (unsigned long long)saved + 1,
	       (unsigned long long)c.control->dropped, (unsigned long long)c.torn);
	detach_quietly(&c);
}

/* Two slots only, so that all threads compete for them. */
static void a_slot_has_one_writer(void)
{
	struct received got = { 0 };
	struct collector c;
	uint64_t saved = 0;
	int i;

	attach_quietly(&c, 2);
	start_workers(FRAMES);
	for (i = 0; i < NR_THREADS; i++) {
		while (atomic_load_explicit(&workers[i].saved, memory_order_relaxed) < FRAMES)
			collector_drain(&c, check_frame, &got);
	}
	stop_workers();
	collector_drain(&c, check_frame, &got);
	for (i = 0; i < NR_THREADS; i++)
		saved += workers[i].saved;
	CHECK_EQ(got.frames + collector_lost(&c), saved + 1);
	/* There was contention, or the test has shown nothing. */
	if (THREADED)
		CHECK(c.control->dropped > 0);
	printf("   %llu slots met in use, %llu frames taken\n",
	       (unsigned long long)c.control->dropped, (unsigned long long)got.frames);
	detach_quietly(&c);
}

static void numbers_pass_32_bits(void)
{
	struct received got = { 0 };
	struct collector c;
	uint64_t i;

	open_collector(&c, 64);
	c.control->next_ticket = (UINT64_C(1) << 32) - 100;
	collector_offer(&c);
	for (i = 1; i <= 250; i++) {
		save_one(0, i);
		CHECK(collector_attached(&c));
		collector_drain(&c, check_frame, &got);
	}
	CHECK_EQ(got.frames, 250);
	/* One ticket, the one with 32 zero bits, is not used for a frame. */
	CHECK_EQ(c.control->next_ticket, (UINT64_C(1) << 32) + 151);
	CHECK_EQ(ppt_frames_issued(c.control->next_ticket) -
			 ppt_frames_issued((UINT64_C(1) << 32) - 100),
		 250);
	detach_quietly(&c);
}

static bool segment_exists(int id)
{
	struct shmid_ds info;

	return shmctl(id, IPC_STAT, &info) == 0;
}

/* Rounds of attaching and detaching, in all ways, while threads save all the time. */
static void may_be_detached_at_any_moment(void)
{
	struct collector c, next;
	uint64_t frames = 0;
	int round, waits = 0;

	start_workers(0);
	open_collector(&c, 256);
	collector_offer(&c);
	for (round = 0; round < ROUNDS; round++) {
		struct received got = { 0 };
		time_t until = time(NULL) + 300;
		int way = round % 3;

		wait_attached(&c);
		collector_drain(&c, check_frame, &got);
		open_collector(&next, round % 2 ? 64 : 512);
		if (way == 0) {
			/* Another handle, at once. */
			collector_offer(&next);
			wait_attached(&next);
		} else if (way == 1) {
			__atomic_store_n(&hmem->id, PPT_HMEM_DETACH, __ATOMIC_RELEASE);
			while (__atomic_load_n(&hmem->id, __ATOMIC_ACQUIRE)) {
				sched_yield();
				CHECK(time(NULL) < until);
			}
			CHECK(!(c.control->client_flags & PPT_CLIENT_FLAG_ATTACHED));
			collector_offer(&next);
		} else {
			__atomic_store_n(&hmem->id, 0, __ATOMIC_RELEASE);
			collector_offer(&next);
			wait_attached(&next);
		}
		/* The client unmaps the old ring when no thread is in it. */
		while (__atomic_load_n(&c.control->client_flags, __ATOMIC_ACQUIRE) &
		       PPT_CLIENT_FLAG_ATTACHED) {
			sched_yield();
			waits++;
			CHECK(time(NULL) < until);
		}
		collector_drain(&c, check_frame, &got);
		CHECK(collector_lost(&c) < UINT64_C(1) << 40);
		frames += got.frames;
		/* The client has unmapped it, or is about to. */
		collector_close(&c);
		while (segment_exists(c.id)) {
			sched_yield();
			CHECK(time(NULL) < until);
		}
		c = next;
	}
	wait_attached(&c); /* a thread has to save for that */
	stop_workers();
	detach_quietly(&c);
	CHECK(frames > 0);
	printf("   %d rounds, %llu frames\n", ROUNDS, (unsigned long long)frames);
}

#if RESIZABLE
static void resizes_while_threads_save(void)
{
	struct received got = { 0 };
	struct collector c;
	uint64_t saved = 0;
	int i, round;

	attach_quietly(&c, 64);
	start_workers(0);
	for (round = 0; round < RESIZES; round++) {
		time_t until = time(NULL) + 300;
		unsigned char *old = c.data;
		int old_id = c.data_id;
		struct collector now = c;

		now.data_size = (size_t)(round % 2 ? 64u : 1024u) * STRIDE;
		now.data = collector_segment(now.data_size, &now.data_id);
		now.last = NULL;
		now.received = 0;
		__atomic_store_n(&c.control->data_block_hmem, (uint64_t)now.data_id,
				 __ATOMIC_RELEASE);
		while (__atomic_load_n(&c.control->data_block_hmem_attached, __ATOMIC_ACQUIRE) !=
		       (uint64_t)now.data_id) {
			collector_drain(&c, check_frame, &got);
			CHECK(time(NULL) < until);
		}
		while (__atomic_load_n(&c.control->data_block_hmem_left, __ATOMIC_ACQUIRE) !=
		       (uint64_t)old_id) {
			collector_drain(&c, check_frame, &got);
			CHECK(time(NULL) < until);
		}
		collector_drain(&c, check_frame, &got);
		free(c.last);
		shmdt(old);
		collector_found(&now);
		now.received = c.received;
		c = now;
		collector_drain(&c, check_frame, &got);
	}
	stop_workers();
	collector_drain(&c, check_frame, &got);
	for (i = 0; i < NR_THREADS; i++)
		saved += workers[i].saved;
	CHECK_EQ(ppt_frames_issued(c.control->next_ticket), saved + 1);
	CHECK_EQ(got.frames, c.received);
	CHECK_EQ(got.frames + collector_lost(&c), saved + 1);
	printf("   %llu of %llu frames over %d sizes\n", (unsigned long long)got.frames,
	       (unsigned long long)saved + 1, RESIZES);
	detach_quietly(&c);
}

static void keeps_its_slots_if_others_cannot_be_had(void)
{
	struct received got = { 0 };
	struct collector c;
	uint64_t i;

	attach_quietly(&c, 64);
	c.control->data_block_hmem = 0x7ffffff0;
	for (i = 2; i < 20; i++)
		save_one(0, i);
	CHECK_EQ(c.control->data_block_hmem, c.data_id);
	CHECK_EQ(c.control->data_block_hmem_attached, c.data_id);
	CHECK(stat_->client_error != 0);
	collector_drain(&c, check_frame, &got);
	CHECK_EQ(got.frames, 19);
	detach_quietly(&c);
}
#endif

/* ---- signal handlers ---- */

static atomic_ullong handled;

static void on_signal(int number)
{
	(void)number;
	save_one(63, atomic_fetch_add(&handled, 1) + 1);
}

static void a_signal_handler_may_save(void)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, old;
	struct received got = { 0 };
	struct collector c;
	uint64_t saved = 0;
	int i, k;

	sigaction(SIGUSR1, &act, &old);
	atomic_store(&handled, 0);
	attach_quietly(&c, 128);
	start_workers(0);
	for (i = 0; i < NR_THREADS; i++) {
		while (!atomic_load(&workers[i].saved))
			sched_yield();
	}
	for (k = 0; k < 1000; k++) {
		pthread_kill(workers[k % NR_THREADS].thread, SIGUSR1);
		collector_drain(&c, check_frame, &got);
	}
	stop_workers();
	collector_drain(&c, check_frame, &got);
	for (i = 0; i < NR_THREADS; i++)
		saved += workers[i].saved;
	saved += atomic_load(&handled) + 1;
	CHECK(atomic_load(&handled) > 0);
	CHECK_EQ(ppt_frames_issued(c.control->next_ticket), saved);
	CHECK_EQ(got.frames + collector_lost(&c), saved);
	detach_quietly(&c);
	sigaction(SIGUSR1, &old, NULL);
}

/* ---- fork ---- */

static void run_child(int *status, int (*child)(void))
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		_exit(child());
	CHECK(waitpid(pid, status, 0) == pid);
}

/* Saves nothing into its parent's ring, and can be attached to. */
static int child_saves(void)
{
	struct received got = { 0 };
	struct collector c;
	uint64_t i;

	for (i = 1; i <= 10; i++)
		save_one(40, i);
	if (hmem->id || stat_->ppt_agent_pid)
		return 2;
	attach_quietly(&c, 64);
	for (i = 2; i <= 10; i++)
		save_one(0, i);
	collector_drain(&c, check_frame, &got);
	if (got.frames != 10 || got.last[40])
		return 3;
	if (c.control->client_pid != getpid())
		return 4;
	detach_quietly(&c);
	return 0;
}

/* A collector attached to the child before its first save(). */
static int child_is_attached_to(void)
{
	struct received got = { 0 };
	struct collector c;
	uint64_t i;

	open_collector(&c, 64);
	collector_offer(&c);
	for (i = 1; i <= 10; i++)
		save_one(0, i);
	if (!collector_attached(&c))
		return 2;
	collector_drain(&c, check_frame, &got);
	return got.frames == 10 ? 0 : 3;
}

static void a_forked_child_is_not_attached(void)
{
	struct received got = { 0 };
	struct collector c;
	int status;

	attach_quietly(&c, 64);
	stat_->ppt_agent_pid = getpid();
	run_child(&status, child_saves);
	CHECK_EQ(status, 0);
	run_child(&status, child_is_attached_to);
	CHECK_EQ(status, 0);
	CHECK_EQ(c.control->client_pid, getpid());
	CHECK_EQ(ppt_frames_issued(c.control->next_ticket), 1);
	save_one(0, 2);
	collector_drain(&c, check_frame, &got);
	CHECK_EQ(got.frames, 2);
	stat_->ppt_agent_pid = 0;
	detach_quietly(&c);
}

static void may_fork_while_threads_save(void)
{
	struct received got = { 0 };
	struct collector c;
	int i, status;

	attach_quietly(&c, 256);
	start_workers(0);
	for (i = 0; i < 50; i++) {
		run_child(&status, child_saves);
		CHECK_EQ(status, 0);
	}
	stop_workers();
	collector_drain(&c, check_frame, &got);
	CHECK_EQ(got.last[40], 0);
	detach_quietly(&c);
}

/* ---- invalid segments ---- */

static void refuse(int id)
{
	stat_->client_error = 0;
	__atomic_store_n(&hmem->id, id, __ATOMIC_RELEASE);
	save_one(0, 1);
	CHECK_EQ(hmem->id, 0);
	CHECK(stat_->client_error != 0);
}

static void leaves_strangers_segments_alone(void)
{
	unsigned char *map, zeros[4096] = { 0 };
	struct ppt_control *control;
	int id;

	map = collector_segment(4096, &id);
	refuse(id);
	CHECK(memcmp(map, zeros, 4096) == 0);
	/* The magic, but no room for a slot. */
	control = (struct ppt_control *)(void *)map;
	control->control_blk_sz = PPT_CONTROL_SIZE;
	control->magic = PPT_EXT_MAGIC;
	shmdt(map);
	map = collector_segment(PPT_CONTROL_SIZE, &id);
	control = (struct ppt_control *)(void *)map;
	control->control_blk_sz = PPT_CONTROL_SIZE;
	control->magic = PPT_EXT_MAGIC;
	refuse(id);
	/* A block that claims to be huge. */
	control->control_blk_sz = UINT64_MAX;
	refuse(id);
	CHECK_EQ(control->client_flags, 0);
	shmdt(map);
	map = collector_segment(100, &id);
	refuse(id);
	shmdt(map);
	/* The segment no longer exists. */
	refuse(id);
	refuse(0x7ffffff0);
	refuse(-2);
}

#if !RESIZABLE
/* A collector of the existing tool's protocol, without extensions. */
static void works_with_the_protocol_as_written(void)
{
	size_t offset = (PPT_CONTROL_SIZE_SEED + STRIDE - 1) / STRIDE * STRIDE;
	unsigned char *map;
	struct ppt_control *control;
	struct received got = { 0 };
	struct collector c = { .hmem = hmem, .frame_size = FRAME_SIZE, .stride = STRIDE };
	uint64_t i;
	int id;

	map = collector_segment(offset + 100 * STRIDE, &id);
	control = (struct ppt_control *)(void *)map;
	control->control_blk_sz = PPT_CONTROL_SIZE_SEED;
	__atomic_store_n(&hmem->id, id, __ATOMIC_RELEASE);
	for (i = 1; i <= 20; i++)
		save_one(0, i);
	CHECK_EQ(control->client_flags, PPT_CLIENT_FLAG_ATTACHED);
	CHECK_EQ(control->data_block_sz, 64);
	CHECK_EQ(control->data_block & 4095, offset);
	c.control = control;
	c.nr_slots = 64;
	c.slots = map + offset;
	c.last = calloc(64, 4);
	collector_drain(&c, check_frame, &got);
	CHECK_EQ(got.frames, 20);
	free(c.last);
	__atomic_store_n(&hmem->id, 0, __ATOMIC_RELEASE);
	save_one(0, 1);
	shmdt(map);
}
#endif

/* ---- counters ---- */

static int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	CHECK(dir != NULL);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static void want_software_counters(struct collector *c)
{
	static const uint64_t events[] = { PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS };
	unsigned i;

	for (i = 0; i < 2; i++) {
		struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
						.size = PPT_ATTR_SIZE,
						.config = events[i] };

		memcpy(c->control->counterdata[i], &attr, PPT_ATTR_SIZE);
	}
	c->control->nr_perf_ctrs = 2;
}

static void burn(void)
{
	volatile uint64_t x = 0;
	int i;

	for (i = 0; i < 2000000; i++)
		x += (uint64_t)i;
}

static atomic_int counters_seen;

static void *count_in_thread(void *arg)
{
	COUNTED f = { 0 };

	(void)arg;
	N(counted_snapshot_work_start)(&f);
	burn();
	N(counted_snapshot_work_end)(&f);
	/* The thread's own time, and no third counter. */
	if (f.work_0_end > f.work_0_start && f.work_0_end - f.work_0_start > 10000 &&
	    f.work_2_end == PPT_COUNTER_NONE)
		atomic_fetch_add(&counters_seen, 1);
	f.thread = 1;
	N(counted_save)(&f);
	return NULL;
}

static void counts_per_thread_and_closes_what_is_its_own(void)
{
	int before = open_descriptors(), i;
	struct collector c;
	pthread_t threads[3];
	COUNTED f = { 0 };

	open_collector(&c, 64);
	want_software_counters(&c);
	collector_offer(&c);
	N(counted_save)(&f);
	CHECK(collector_attached(&c));
	N(counted_snapshot_work_start)(&f);
	if (c.control->client_flags & PPT_CLIENT_FLAG_COUNTERS_FAILED) {
		printf("   no counters here: %s\n", strerror(c.control->counter_error));
		detach_quietly(&c);
		return;
	}
	CHECK(c.control->client_flags & PPT_CLIENT_FLAG_COUNTERS_SETUP);
	burn();
	N(counted_snapshot_work_end)(&f);
	CHECK(f.work_0_end > f.work_0_start);
	atomic_store(&counters_seen, 0);
	for (i = 0; THREADED && i < 3; i++) {
		CHECK(pthread_create(&threads[i], NULL, count_in_thread, NULL) == 0);
		CHECK(pthread_join(threads[i], NULL) == 0);
	}
	CHECK_EQ(atomic_load(&counters_seen), THREADED ? 3 : 0);
	/* Threads that ended have closed theirs: two are left. */
	CHECK_EQ(open_descriptors(), before + 2);
	detach_quietly(&c);
	CHECK_EQ(open_descriptors(), before);
	CHECK(fcntl(0, F_GETFD) >= 0);
}

/* The program closes all descriptors that it does not know, and reuses their numbers. */
static void never_closes_what_is_not_its_own(void)
{
	int pipes[2], taken = 0, kept = 0, fd;
	struct collector c;
	COUNTED f = { 0 };

	open_collector(&c, 64);
	want_software_counters(&c);
	collector_offer(&c);
	N(counted_save)(&f);
	N(counted_snapshot_work_start)(&f);
	if (c.control->client_flags & PPT_CLIENT_FLAG_COUNTERS_FAILED) {
		detach_quietly(&c);
		return;
	}
	CHECK(pipe(pipes) == 0);
	CHECK(write(pipes[1], "12345678901234567890", 20) == 20);
	for (fd = 100; fd < 1100; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		CHECK(dup2(pipes[0], fd) == fd);
		taken++;
	}
	CHECK(taken >= 2);
	detach_quietly(&c);
	for (fd = 100; fd < 1100; fd++) {
		if (fcntl(fd, F_GETFD) >= 0) {
			kept++;
			close(fd);
		}
	}
	CHECK_EQ(kept, taken);
	close(pipes[0]);
	close(pipes[1]);
}

/* ---- */

static void *save_a_little(void *arg)
{
	save_one(1, 1);
	return arg;
}

static uint64_t mapped_kb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	CHECK(f && fscanf(f, "%lu", &pages) == 1);
	fclose(f);
	return pages * 4;
}

static void threads_that_end_leave_nothing(void)
{
	struct collector c;
	uint64_t before = 0;
	int i;

	attach_quietly(&c, 64);
	for (i = 0; THREADED && i < 2000; i++) {
		pthread_t t;

		CHECK(pthread_create(&t, NULL, save_a_little, NULL) == 0);
		CHECK(pthread_join(t, NULL) == 0);
		if (i == 100)
			before = mapped_kb();
	}
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	if (THREADED)
		CHECK(mapped_kb() <= before + 64);
#else
	(void)before;
#endif
	CHECK_EQ(ppt_frames_issued(c.control->next_ticket), 1 + (THREADED ? 2000 : 0));
	detach_quietly(&c);
}

int main(void)
{
	RUN(saves_nothing_and_calls_nobody_until_attached);
	RUN(every_frame_is_there);
	RUN(lost_frames_are_counted_exactly);
	RUN(numbers_pass_32_bits);
	RUN(threads_lose_nothing_uncounted);
	RUN(a_slot_has_one_writer);
	RUN(may_be_detached_at_any_moment);
#if RESIZABLE
	RUN(resizes_while_threads_save);
	RUN(keeps_its_slots_if_others_cannot_be_had);
#else
	RUN(works_with_the_protocol_as_written);
#endif
	RUN(a_signal_handler_may_save);
	RUN(a_forked_child_is_not_attached);
	RUN(may_fork_while_threads_save);
	RUN(leaves_strangers_segments_alone);
	RUN(counts_per_thread_and_closes_what_is_its_own);
	RUN(never_closes_what_is_not_its_own);
	RUN(threads_that_end_leave_nothing);
	return 0;
}
