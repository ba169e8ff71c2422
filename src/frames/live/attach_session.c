/* SPDX-License-Identifier: MIT */
/* attach_session.c - attach to a buffer, run until something ends it, detach. */
#include "frames/live/attach_session.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "frames/spec/frames_abi.h"
#include "frames/live/attach_poll.h"
#include "frames/live/attach_resize.h"
#include "frames/file/ticks.h"

/* Default size of a ring, in bytes. */
#define RING_BYTES        (4u << 20)
#define SLOTS_DEFAULT_MIN 1024u

/* How often to check whether another collector took the buffer over. */
#define CHECK_EVERY (500 * NS_PER_MS)
/* The program detaches at its next save(); wait at most this long for it. */
#define LET_GO_WAIT (250 * NS_PER_MS)
/* With is_hosted: the longest time between two looks for the first frame. */
#define HOSTED_DELAY (5 * NS_PER_MS)

void attach_say(struct attach *a, int level, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (!a->config.sink.say)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	a->config.sink.say(a->config.sink.arg, level, text);
}

/* ---- sizes --------------------------------------------------------------- */

uint32_t attach_power_of_two(uint64_t at_least)
{
	uint32_t slots = PPT_SLOTS_MIN;

	while (slots < at_least && slots < PPT_SLOTS_MAX)
		slots *= 2;
	return slots;
}

static uint32_t default_slots(struct attach *a)
{
	const struct desc *d = &a->live.desc;
	uint64_t bytes = a->config.ring_bytes ? a->config.ring_bytes : RING_BYTES;
	uint64_t slots = bytes / d->stride, most = RING_BYTES_MAX / d->stride;

	slots = attach_power_of_two(slots / 2 + 1); /* rounded down */
	if (slots < SLOTS_DEFAULT_MIN)
		slots = SLOTS_DEFAULT_MIN;
	if (d->has_min_slots && d->min_slots > slots) {
		slots = d->min_slots <= most ? d->min_slots : most / 2;
		if (d->min_slots > most)
			attach_say(a, 0, "the spec's %llu slots are too many; making fewer",
				   (unsigned long long)d->min_slots);
	}
	return attach_power_of_two(slots);
}

int attach_check_slots(struct attach *a, uint64_t slots, struct err *err)
{
	if (slots >= PPT_SLOTS_MIN && slots <= PPT_SLOTS_MAX &&
	    slots * a->live.desc.stride < UINT64_C(1) << 40)
		return 0;
	return err_set(err, -EINVAL, "a ring of %llu slots of %u bytes cannot be made",
		       (unsigned long long)slots, a->live.desc.stride);
}

/* ---- open ---------------------------------------------------------------- */

int attach_open(struct attach *a, const struct attach_config *config, struct err *err)
{
	int rc;

	memset(a, 0, sizeof(*a));
	a->config = *config;
	a->signal_fd = -1;
	rc = live_open(&a->live, config->pid, config->buffer, err);
	if (rc < 0)
		return rc;
	if (config->auto_resize && !a->live.desc.resize)
		attach_say(
			a, 0,
			"this buffer cannot be resized: its spec lacks 'option buffer resize on'");
	a->stats.slots = a->config.slots ? attach_power_of_two(a->config.slots) : default_slots(a);
	rc = attach_check_slots(a, a->stats.slots, err);
	if (rc < 0)
		live_release(&a->live);
	a->stats.first_slots = a->stats.slots;
	return rc;
}

void attach_release(struct attach *a)
{
	ring_release(&a->ring);
	live_release(&a->live);
}

/* ---- start --------------------------------------------------------------- */

bool attach_is_resizable(const struct attach *a)
{
	return a->live.desc.resize && a->live.desc.extended;
}

bool attach_has_blocks(const struct attach *a)
{
	return control_has_blocks(&a->live.desc, a->config.stamp_kind) && a->control.block &&
	       control_counts(&a->control);
}

size_t attach_data_size(const struct attach *a, uint32_t slots)
{
	const struct desc *d = &a->live.desc;
	bool stamps = d->stamps && a->config.stamp_kind;

	return (size_t)slots * (d->stride + (stamps ? sizeof(struct ppt_stamp) : 0));
}

void attach_find_stamps(const struct attach *a, struct ring_block *block)
{
	const struct desc *d = &a->live.desc;

	block->stamps = d->stamps && a->config.stamp_kind
				? block->slots + (size_t)block->nr * d->stride
				: NULL;
}

static size_t segment_size(const struct attach *a)
{
	const struct desc *d = &a->live.desc;
	size_t control = control_size(d, a->config.stamp_kind),
	       data = attach_data_size(a, a->stats.slots);

	if (attach_is_resizable(a))
		return control;
	if (d->extended)
		return ppt_slot0_offset(control, d->stride) + data;
	/* The program chooses the offset of slot 0: at most one slot further on. */
	return control + d->stride + data;
}

static int make_segments(struct attach *a, struct err *err)
{
	pid_t pid = a->live.target.pid;
	int rc = segment_create(&a->control_segment, segment_size(a), pid, err);

	if (!rc && attach_is_resizable(a))
		rc = segment_create(&a->data_segment, attach_data_size(a, a->stats.slots), pid,
				    err);
	if (rc < 0)
		return rc;
	control_fill(&a->control, a->control_segment.map, &a->live.desc, &a->config.counters,
		     a->data_segment.id, a->config.stamp_kind);
	return 0;
}

/*
 * A program of the existing ppt tool does not notice a new handle while it has a ring: the
 * collector must read the ring that the program holds.  Returns true if there is one; it is
 * adopted.
 */
static bool adopt_ring(struct attach *a, int32_t id)
{
	struct control_answer answer;
	struct shmid_ds ds;
	void *map;

	if (id <= 0 || shmctl(id, IPC_STAT, &ds) < 0 ||
	    ds.shm_segsz < control_size(&a->live.desc, PPT_STAMP_NONE))
		return false;
	map = shmat(id, NULL, 0);
	if ((intptr_t)map == -1) // NOLINT(performance-no-int-to-ptr)
		return false;
	a->control.block = map;
	a->control.old_order = a->live.desc.dialect == DESC_PPT;
	a->control.extended = false;
	if (!control_attached(&a->control, &answer)) {
		shmdt(map);
		return false;
	}
	a->control_segment.id = id;
	a->control_segment.map = map;
	a->control_segment.size = ds.shm_segsz;
	shmctl(id, IPC_RMID, NULL); /* removed when the last process detaches */
	a->adopted = true;
	attach_say(a, 1,
		   "the program still holds the ring of an earlier collector; reading on there");
	return true;
}

static int set_up(struct attach *a, struct err *err)
{
	int32_t before = 0;
	int rc = live_get_handle(&a->live, &before, err);

	if (rc < 0)
		return rc;
	if (!a->live.desc.extended && adopt_ring(a, before)) {
		a->handle = before;
		return 0;
	}
	rc = make_segments(a, err);
	if (rc < 0)
		return rc;
	rc = live_set_handle(&a->live, a->control_segment.id, err);
	if (!rc)
		a->handle = a->control_segment.id;
	return rc;
}

static bool has_one_thread(pid_t pid)
{
	char path[64];
	unsigned nr = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && readdir(dir)) // NOLINT(concurrency-mt-unsafe)
		nr++;
	if (dir)
		closedir(dir);
	return nr == 3; /* with "." and ".." */
}

static int take_signals(struct attach *a, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_errno(err, "cannot block signals");
	a->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return a->signal_fd < 0 ? err_errno(err, "cannot wait for signals") : 0;
}

/* Code of other generators opens the counters once, in the thread that maps the ring. */
static void say_whose_counters(struct attach *a)
{
	if (!a->live.desc.extended && a->config.counters.nr && !has_one_thread(a->live.target.pid))
		attach_say(a, 0,
			   "process %d has several threads, and its code counts for one of them "
			   "only: readings in other threads are of that one",
			   (int)a->live.target.pid);
}

int attach_start(struct attach *a, struct err *err)
{
	int rc = a->config.is_hosted ? 0 : take_signals(a, err);

	if (!rc)
		rc = segment_join_namespace(a->live.target.pid, err);
	if (!rc)
		rc = live_claim(&a->live, a->config.force, err);
	if (rc < 0)
		return rc;
	if (a->live.notice[0])
		attach_say(a, 0, "%s", a->live.notice);
	if (ring_init(&a->ring, a->live.desc.stride, a->live.desc.frame_size, attach_take_frame,
		      a) < 0)
		return err_set(err, -ENOMEM, "no memory for a frame");
	a->start_ns = clock_now_ns();
	a->last_check_ns = a->start_ns;
	ticks_now(&a->rate_ticks, &a->rate_ns);
	a->delay_ns = NS_PER_MS / 2;
	say_whose_counters(a);
	rc = set_up(a, err);
	if (!rc)
		attach_say(a, 1, "set the handle of '%s' to %d; a ring of %u slots",
			   a->live.place->name, a->handle, a->stats.slots);
	return rc;
}

const struct recording_clock *attach_clock(struct attach *a)
{
	struct recording_clock *clock = &a->clock;
	uint64_t ticks, ns;

	if (a->live.desc.time != DESC_COUNTER_CLOCK || !a->stats.attached || !a->control.block)
		return clock;
	clock->known = true;
	control_calibration(&a->control, &clock->ticks, &clock->ns);
	ticks_now(&ticks, &ns);
	clock->ns_per_tick = 1;
	if (!(control_flags(&a->control) & PPT_CLIENT_FLAG_TICKS_ARE_NS) && ticks > a->rate_ticks)
		clock->ns_per_tick = (double)(ns - a->rate_ns) / (double)(ticks - a->rate_ticks);
	return clock;
}

/* ---- wait ---------------------------------------------------------------- */

/* Returns true if a signal asks to stop. */
static bool serve_signals(struct attach *a)
{
	struct signalfd_siginfo info;
	bool stop = false;

	while (read(a->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGUSR1)
			stop = true;
		else if (info.ssi_code == SI_QUEUE && info.ssi_int > 0)
			resize_start(a, (uint64_t)info.ssi_int);
		else
			resize_start(a, 2 * (uint64_t)(a->wanted_slots ? a->wanted_slots
								       : a->stats.slots));
	}
	return stop;
}

/* Returns true if a signal asks to stop, or if the program ended. */
static bool wait_a_little(struct attach *a, uint64_t ns)
{
	struct pollfd fds[2] = { { .fd = a->signal_fd, .events = POLLIN },
				 { .fd = a->live.target.pidfd, .events = POLLIN } };
	struct timespec wait = { .tv_sec = (time_t)(ns / NS_PER_SEC),
				 .tv_nsec = (long)(ns % NS_PER_SEC) };

	if (ppoll(fds, 2, &wait, NULL) <= 0)
		return false;
	if (fds[0].revents && serve_signals(a)) {
		a->stats.end = ATTACH_ASKED;
		return true;
	}
	if (fds[1].revents) {
		a->stats.end = ATTACH_EXITED;
		return true;
	}
	return false;
}

/*
 * Returns false if the program ended or was replaced, or if another collector took the buffer
 * over.
 */
static bool is_still_ours(struct attach *a, uint64_t now)
{
	pid_t owner = 0;
	bool has_other;

	if (now - a->last_check_ns < CHECK_EVERY)
		return true;
	a->last_check_ns = now;
	if (a->live.target.pidfd < 0 && !target_alive(&a->live.target)) {
		a->stats.end = ATTACH_EXITED;
		return false;
	}
	has_other = live_has_other_owner(&a->live, &owner);
	if (!target_alive(&a->live.target))
		return true;
	if (target_replaced(&a->live.target)) {
		a->stats.end = ATTACH_EXEC;
		return false;
	}
	if (!has_other)
		return true;
	a->stats.end = ATTACH_TAKEN;
	attach_say(a, 0, "process %d took the buffer over", (int)owner);
	return false;
}

static bool is_time_over(const struct attach *a, uint64_t now)
{
	return a->config.duration_ns && now - a->start_ns >= a->config.duration_ns;
}

static uint64_t next_delay(const struct attach *a, uint64_t now)
{
	uint64_t delay = a->delay_ns, left;

	if (a->config.duration_ns) {
		left = a->start_ns + a->config.duration_ns - now;
		if (left < delay)
			delay = left;
	}
	return delay;
}

/* Returns 0 to continue, 1 to stop, or a negative errno. */
static int attach_step(struct attach *a, struct err *err)
{
	uint64_t now;
	int rc = a->ring_open ? attach_poll(a, true, err) : attach_await_program(a, err);

	if (rc)
		return rc;
	now = clock_now_ns();
	if (attach_is_enough(a)) {
		a->stats.end = ATTACH_COUNT;
		return 1;
	}
	if (is_time_over(a, now)) {
		a->stats.end = ATTACH_DURATION;
		return 1;
	}
	if (!is_still_ours(a, now))
		return 1;
	return wait_a_little(a, next_delay(a, now));
}

/* A failed access to a program that has ended is a normal end, not an error. */
static int attach_end_of(struct attach *a, int rc)
{
	if (!target_alive(&a->live.target) || rc == -ESRCH) {
		a->stats.end = ATTACH_EXITED;
		return 0;
	}
	if (target_replaced(&a->live.target)) {
		a->stats.end = ATTACH_EXEC;
		return 0;
	}
	a->stats.end = ATTACH_FAILED;
	return rc;
}

int attach_step_hosted(struct attach *a, uint64_t now_ns, struct err *err)
{
	int rc;

	if (a->ring_open) {
		rc = attach_poll(a, true, err);
	} else {
		rc = attach_await_program(a, err);
		a->delay_ns = a->delay_ns * 5 / 4 < HOSTED_DELAY ? a->delay_ns * 5 / 4
								 : HOSTED_DELAY;
	}
	if (rc < 0)
		return attach_end_of(a, rc) < 0 ? rc : 1;
	return rc || !is_still_ours(a, now_ns);
}

/*
 * True if the program ever mapped the segment: the kernel keeps the pid of the last shmat or
 * shmdt.
 */
static bool was_mapped(const struct attach *a)
{
	struct shmid_ds ds;

	return a->control_segment.map && shmctl(a->control_segment.id, IPC_STAT, &ds) == 0 &&
	       ds.shm_lpid == a->live.target.pid;
}

/* A program of another implementation may use the ring without saying where its slots are. */
static int check_readable(const struct attach *a, struct err *err)
{
	struct control_answer answer;

	if (a->live.desc.extended || a->stats.attached || control_attached(&a->control, &answer) ||
	    !was_mapped(a))
		return 0;
	err_set(err, -ENOTSUP,
		"cannot read the frames of '%s': process %d mapped the ring and left data_block or "
		"data_block_sz of the control block 0",
		a->live.place->name, (int)a->live.target.pid);
	err_hint(err, "code of 'corotracer generate' and of ppt writes there where its slots are");
	return -ENOTSUP;
}

int attach_run(struct attach *a, struct err *err)
{
	int rc;

	do {
		rc = attach_step(a, err);
	} while (!rc);
	if (rc > 0)
		return check_readable(a, err);
	return attach_end_of(a, rc);
}

/* ---- stop ---------------------------------------------------------------- */

static bool has_counters(const struct desc *d)
{
	size_t f, i;

	for (f = 0; f < d->nr_frames; f++) {
		for (i = 0; i < d->frames[f].nr_fields; i++) {
			if (d->frames[f].fields[i].type == DESC_COUNTER)
				return true;
		}
	}
	return false;
}

/*
 * Code of the existing generator crashes when it is detached while several threads save, and
 * closes descriptor 0 if it has counters.  Such a program keeps the ring: that is safe, and the
 * next collector continues there.
 */
static bool must_park(const struct attach *a)
{
	return !a->live.desc.extended &&
	       (has_counters(&a->live.desc) || !has_one_thread(a->live.target.pid));
}

static void look_once_more(struct attach *a, bool patient)
{
	struct err ignored = { 0 };

	if (a->ring_open && !attach_is_enough(a))
		attach_poll(a, patient, &ignored);
}

/*
 * Wait until the program has detached, for a limited time: a program that saves nothing cannot
 * detach.
 */
static void await_let_go(struct attach *a)
{
	uint64_t until = clock_now_ns() + LET_GO_WAIT;
	struct err ignored = { 0 };
	int32_t id = PPT_HMEM_DETACH;

	while (target_alive(&a->live.target) && clock_now_ns() < until &&
	       live_get_handle(&a->live, &id, &ignored) == 0 && id == PPT_HMEM_DETACH) {
		struct timespec wait = { .tv_nsec = 200 * (long)NS_PER_US };

		look_once_more(a, true);
		nanosleep(&wait, NULL);
	}
}

static void take_handle_back(struct attach *a)
{
	struct err ignored = { 0 };
	int32_t id = 0;

	if (!a->handle || a->stats.end == ATTACH_TAKEN || !target_alive(&a->live.target) ||
	    target_replaced(&a->live.target) || live_get_handle(&a->live, &id, &ignored) < 0 ||
	    id != a->handle)
		return;
	if (must_park(a) && a->stats.attached) {
		a->stats.parked = true;
		return;
	}
	live_set_handle(&a->live, a->live.desc.extended ? PPT_HMEM_DETACH : PPT_HMEM_NONE,
			&ignored);
	if (a->live.desc.extended && a->stats.attached)
		await_let_go(a);
}

/* Tickets of a block may stay unused: what is lost follows from the threads' own counts. */
static void settle_blocks(struct attach *a)
{
	uint64_t saved;

	if (!attach_has_blocks(a))
		return;
	saved = control_saved(&a->control);
	a->ring.missed = saved > a->stats.recorded ? saved - a->stats.recorded : 0;
	a->missed_told = 0;
}

static void attach_settle(struct attach *a)
{
	struct control_answer answer;
	struct err ignored = { 0 };
	bool enough;

	a->settling = true;
	a->stats.mapped = a->stats.attached || was_mapped(a);
	/* It may have attached and ended between two polls. */
	if (!a->ring_open && a->control.block && control_attached(&a->control, &answer))
		attach_open_ring(a, &answer, &ignored);
	look_once_more(a, false);
	enough = attach_is_enough(a);
	ring_finish(&a->ring);
	settle_blocks(a);
	attach_tell_losses(a);
	a->stats.lost = a->ring.missed;
	a->stats.issued = a->stats.recorded + a->stats.lost;
	if (a->ring_open && a->live.desc.extended) {
		a->stats.dropped = control_dropped(&a->control);
		a->stats.threads = control_threads(&a->control);
		a->stats.counters_failed = control_flags(&a->control) &
					   PPT_CLIENT_FLAG_COUNTERS_FAILED;
		a->stats.counter_error = control_counter_error(&a->control, &a->stats.counter_slot);
		if (!enough && a->stats.end != ATTACH_FAILED && !attach_has_blocks(a))
			a->stats.issued = ppt_frames_issued(a->head);
	}
	if (a->stats.dropped > a->stats.lost)
		a->stats.dropped = a->stats.lost;
	attach_clock(a);
}

void attach_stop(struct attach *a)
{
	take_handle_back(a);
	attach_settle(a);
	if (!target_replaced(&a->live.target))
		live_unclaim(&a->live);
	a->stats.ran_ns = a->start_ns ? clock_now_ns() - a->start_ns : 0;
	a->stats.stopped_ns = a->live.target.stopped_ns;
	a->stats.stops = a->live.target.stops;
	segment_release(&a->old_segment);
	segment_release(&a->data_segment);
	segment_release(&a->control_segment);
	a->control.block = NULL;
	if (a->signal_fd >= 0)
		close(a->signal_fd);
	a->signal_fd = -1;
}
