/* SPDX-License-Identifier: MIT */
/*
 * weak_collector.c - the collector's session with the process of weak_frame_process.h.
 *
 * The memory of the process is read and written by relaxed accesses of its words, and time passes
 * with each look at the clock.
 */
#include "weak_collector.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "frames/live/attach_resize.h"
#include "frames/live/attach_session.h"
#include "frames/spec/frames_abi.h"
#include "weak_frame_process.h"
#include "weak_machine.h"

#define FRAME_SIZE 16u
#define PENDING    64u
#define CLOCK_STEP (150 * NS_PER_MS) /* less than LET_GO_WAIT: a detach is waited for once */

static struct attach session;
static struct buffer_symbol place;
static uint64_t pending[PENDING], clock_ns;
static uint8_t image[FRAME_SIZE];
static unsigned seen[COLLECTOR_VALUES], nr_segments;
static int32_t last_handle;
static int refused;
static uint64_t final;
static bool process_is_dead;

/* ---- the functions that src/frames/live calls ------------------------------------ */

int collector_target_read(struct target *t, uint64_t addr, void *buf, size_t size, struct err *err);
int collector_target_write(struct target *t, uint64_t addr, const void *buf, size_t size,
			   struct err *err);
bool collector_target_alive(const struct target *t);
bool collector_target_replaced(const struct target *t);
int collector_segment_create(struct segment *s, size_t size, pid_t pid, struct err *err);
void collector_segment_release(struct segment *s);
int collector_join_namespace(pid_t pid, struct err *err);
int collector_claim(struct live_buffer *b, bool force, struct err *err);
void collector_unclaim(struct live_buffer *b);
int collector_clock_gettime(clockid_t id, struct timespec *now);
int collector_nanosleep(const struct timespec *wait, struct timespec *left);
void *collector_calloc(size_t nr, size_t size);
int collector_shmctl(int id, int command, void *info);

int collector_target_read(struct target *t, uint64_t addr, void *buf, size_t size, struct err *err)
{
	const uint32_t *from = (const uint32_t *)(uintptr_t)addr; // NOLINT
	uint32_t *to = buf;
	size_t i;

	(void)t;
	if (process_is_dead)
		return err_set(err, -ESRCH, "no process");
	for (i = 0; i < size / 4; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	if (from == (const uint32_t *)process_handle())
		memcpy(&last_handle, buf, sizeof(last_handle));
	return 0;
}

int collector_target_write(struct target *t, uint64_t addr, const void *buf, size_t size,
			   struct err *err)
{
	uint32_t *to = (uint32_t *)(uintptr_t)addr; // NOLINT
	const uint32_t *from = buf;
	size_t i;

	(void)t;
	(void)err;
	for (i = 0; i < size / 4; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
	return 0;
}

bool collector_target_alive(const struct target *t)
{
	(void)t;
	return !process_is_dead;
}

bool collector_target_replaced(const struct target *t)
{
	(void)t;
	return false;
}

int collector_segment_create(struct segment *s, size_t size, pid_t pid, struct err *err)
{
	(void)pid;
	(void)err;
	s->id = process_segment_make(nr_segments, size);
	s->map = process_segment_map(nr_segments++);
	s->size = size;
	return 0;
}

/* During the session it releases slots that the process has left. */
void collector_segment_release(struct segment *s)
{
	if (s->map && !session.settling && !session.wanted_slots)
		weak_all_have_left(s->map);
	memset(s, 0, sizeof(*s));
}

int collector_join_namespace(pid_t pid, struct err *err)
{
	(void)pid;
	(void)err;
	return 0;
}

int collector_claim(struct live_buffer *b, bool force, struct err *err)
{
	int32_t pid = getpid();

	(void)force;
	b->owned = true;
	return collector_target_write(&b->target, b->place->stat, &pid, sizeof(pid), err);
}

void collector_unclaim(struct live_buffer *b)
{
	b->owned = false;
}

int collector_clock_gettime(clockid_t id, struct timespec *now)
{
	(void)id;
	clock_ns += CLOCK_STEP;
	now->tv_sec = (time_t)(clock_ns / NS_PER_SEC);
	now->tv_nsec = (long)(clock_ns % NS_PER_SEC);
	return 0;
}

int collector_nanosleep(const struct timespec *wait, struct timespec *left)
{
	(void)wait;
	(void)left;
	return 0;
}

void *collector_calloc(size_t nr, size_t size)
{
	return nr * size == FRAME_SIZE ? image : NULL;
}

int collector_shmctl(int id, int command, void *info)
{
	(void)id;
	(void)command;
	(void)info;
	return -1;
}

/* ---- frames ------------------------------------------------------------------------- */

static int session_begin(void *arg, struct err *err)
{
	(void)arg;
	(void)err;
	return 0;
}

static void session_frame(void *arg, uint64_t ticket, const uint8_t *copy)
{
	uint32_t word[4];

	(void)arg;
	memcpy(word, copy, sizeof(word));
	if (word[0] != (uint32_t)ticket || word[3] != word[0] || word[2] != ~word[1] ||
	    word[1] >= COLLECTOR_VALUES)
		weak_fail("frame %llu is %u %u %u %u", (unsigned long long)ticket, word[0], word[1],
			  word[2], word[3]);
	if (seen[word[1]]++)
		weak_fail("frame %u comes twice", word[1]);
}

/* The process says which slots it has before it says that it has them. */
static void session_resized(void *arg, uint32_t from, uint32_t to)
{
	const struct ppt_control *c = session.control.block;

	(void)arg;
	(void)from;
	if (__atomic_load_n(&c->data_block_sz, __ATOMIC_RELAXED) != to)
		weak_fail("the number of new slots is not there yet");
}

/* A refused resize is told by the first message. */
static void session_say(void *arg, int level, const char *text)
{
	(void)arg;
	if (level == 0 && !process_is_dead && strstr(text, "the program stays") != NULL)
		refused = strstr(text, strerror(EINVAL)) ? EINVAL : -1;
}

/* ---- the session ---------------------------------------------------------------------- */

void collector_make(unsigned slots, bool resizes)
{
	memset(&session, 0, sizeof(session));
	memset(seen, 0, sizeof(seen));
	session.config.is_hosted = true;
	session.config.sink.begin = session_begin;
	session.config.sink.frame = session_frame;
	session.config.sink.flush = session_begin;
	session.config.sink.say = session_say;
	session.config.sink.resized = session_resized;
	session.live.desc.dialect = DESC_SEED;
	session.live.desc.extended = session.live.desc.stamps = true;
	session.live.desc.multithread = true;
	session.live.desc.resize = resizes;
	session.live.desc.stride = session.live.desc.frame_size = FRAME_SIZE;
	place.hmem = (uint64_t)(uintptr_t)process_handle();
	place.stat = (uint64_t)(uintptr_t)process_stat();
	session.live.place = &place;
	session.live.target.pidfd = session.signal_fd = -1;
	session.live.target.pid = PROCESS_PID;
	session.stats.slots = slots;
	clock_ns = 0;
	nr_segments = 0;
	last_handle = 0;
	refused = 0;
	final = 0;
	process_is_dead = false;
	weak_restore(&session, sizeof(session));
	weak_restore(seen, sizeof(seen));
	weak_restore(pending, sizeof(pending));
	weak_restore(&clock_ns, sizeof(clock_ns));
	weak_restore(&nr_segments, sizeof(nr_segments));
	weak_restore(&last_handle, sizeof(last_handle));
	weak_restore(&refused, sizeof(refused));
	weak_restore(&final, sizeof(final));
	weak_restore(&process_is_dead, sizeof(process_is_dead));
}

void collector_wants_blocks(void)
{
	session.config.stamp_kind = PPT_STAMP_TICKS;
}

int collector_second(unsigned nr, size_t size)
{
	struct ppt_control *c = process_segment_map(nr);

	c->control_blk_sz = PPT_CONTROL_SIZE;
	c->magic = PPT_EXT_MAGIC;
	c->next_ticket = 1;
	return process_segment_make(nr, size);
}

void collector_start(void)
{
	struct err err = { 0 };

	if (attach_start(&session, &err) < 0)
		weak_fail("start: %s", err.text);
	if (session.config.stamp_kind)
		((struct ppt_control *)process_segment_map(0))->block_size = 2;
	session.ring.pending = pending;
	session.ring.size_pending = PENDING;
}

bool collector_step(void)
{
	struct err err = { 0 };

	if (attach_step_hosted(&session, session.last_check_ns, &err) == 0)
		return true;
	if (err.code != -ECONNREFUSED || !strstr(err.text, strerror(EINVAL)))
		weak_fail("the session ends: %s", err.text);
	return false;
}

void collector_resize(unsigned slots)
{
	resize_start(&session, slots);
}

void collector_watch(void)
{
	uint64_t before = control_flags(&session.control), after = control_flags(&session.control);

	if (before & ~after & PPT_CLIENT_FLAG_ATTACHED)
		final = control_next_ticket(&session.control);
}

void collector_stop(void)
{
	attach_stop(&session);
}

void collector_process_died(void)
{
	process_is_dead = true;
}

void collector_result(struct collector_result *out)
{
	const struct ppt_control *c = process_segment_map(0);

	*out = (struct collector_result){ .issued = session.stats.issued,
					  .recorded = session.stats.recorded,
					  .lost = session.stats.lost,
					  .tickets = c->next_ticket ? c->next_ticket - 1 : 0,
					  .resizes = session.stats.resizes,
					  .handle = last_handle,
					  .was_attached = session.stats.attached,
					  .is_mapped = c->client_flags & PPT_CLIENT_FLAG_ATTACHED,
					  .final = final,
					  .refused = refused };
	if (session.config.stamp_kind)
		out->tickets = control_saved(
			&(struct frames_control){ .block = process_segment_map(0) });
}
