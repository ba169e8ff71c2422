/* SPDX-License-Identifier: MIT */
/* attach_session.c - attach to a buffer, poll its ring, detach. */
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
#include "frames/live/attach_resize.h"
#include "frames/file/ticks.h"

/* Default size of a ring, in bytes. */
#define RING_BYTES        (4u << 20)
#define SLOTS_DEFAULT_MIN 1024u

/* Interval between two polls: short while frames arrive fast, longer while there are none. */
#define DELAY_MIN  (20 * NS_PER_US)
#define DELAY_BUSY (2 * NS_PER_MS)
#define DELAY_IDLE (20 * NS_PER_MS)

/* How often to check whether another collector took the buffer over. */
#define CHECK_EVERY (500 * NS_PER_MS)
/* The program detaches at its next save(); wait at most this long for it. */
#define LET_GO_WAIT (250 * NS_PER_MS)

/* Tickets of the existing ppt tool's rings start here (ring_find_start()). */
#define OLD_TICKETS UINT64_C(0x100000000)

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

/* ---- frames -------------------------------------------------------------- */

static bool is_enough(const struct attach *a)
{
	return a->config.count && a->stats.recorded >= a->config.count;
}

/* The type of the frame in @image; NULL if the type number is invalid. */
static const struct desc_frame *attach_frame_of(const struct desc *d, const uint8_t *image)
{
	uint32_t type = 1;

	if (d->nr_frames > 1)
		memcpy(&type, image + 4, sizeof(type));
	return type >= 1 && type <= d->nr_frames ? &d->frames[type - 1] : NULL;
}

/* Replace values of counters that the program does not measure: they are not readings. */
static void erase_unmeasured(const struct attach *a, uint8_t *image)
{
	const struct desc_frame *f = attach_frame_of(&a->live.desc, image);
	const uint64_t none = PPT_COUNTER_NONE;
	size_t i;

	for (i = 0; f && i < f->nr_fields; i++) {
		const struct desc_field *field = &f->fields[i];

		if (field->type == DESC_COUNTER && (a->unmeasured >> field->counter & 1))
			memcpy(image + field->offset, &none, sizeof(none));
	}
}

static void take_frame(void *arg, uint64_t ticket, const uint8_t *image)
{
	struct attach *a = arg;

	if (is_enough(a))
		return;
	if (!a->live.desc.extended)
		ticket -= OLD_TICKETS;
	if (a->unmeasured)
		erase_unmeasured(a, a->ring.copy);
	a->stats.recorded++;
	a->config.sink.frame(a->config.sink.arg, ticket, image);
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
	uint64_t slots = RING_BYTES / d->stride, most = RING_BYTES_MAX / d->stride;

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

static size_t segment_size(const struct attach *a)
{
	const struct desc *d = &a->live.desc;
	size_t control = control_size(d), data = (size_t)a->stats.slots * d->stride;

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
		rc = segment_create(&a->data_segment, (size_t)a->stats.slots * a->live.desc.stride,
				    pid, err);
	if (rc < 0)
		return rc;
	control_fill(&a->control, a->control_segment.map, &a->live.desc, &a->config.counters,
		     a->data_segment.id);
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

	if (id <= 0 || shmctl(id, IPC_STAT, &ds) < 0 || ds.shm_segsz < control_size(&a->live.desc))
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
	int rc = take_signals(a, err);

	if (!rc)
		rc = segment_join_namespace(a->live.target.pid, err);
	if (!rc)
		rc = live_claim(&a->live, a->config.force, err);
	if (rc < 0)
		return rc;
	if (a->live.notice[0])
		attach_say(a, 0, "%s", a->live.notice);
	if (ring_init(&a->ring, a->live.desc.stride, a->live.desc.frame_size, take_frame, a) < 0)
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

/* ---- the program has mapped the ring ------------------------------------- */

static int attach_set_corrupt(struct attach *a, const char *what, struct err *err)
{
	err_set(err, -EBADMSG, "the control block of '%s' makes no sense: %s", a->live.place->name,
		what);
	err_hint(err, "something in process %d overwrites it, or its code is of another version",
		 (int)a->live.target.pid);
	return -EBADMSG;
}

/* A program that knows the extension uses exactly the slots that the collector made. */
static int open_ours(struct attach *a, const struct control_answer *answer, struct err *err)
{
	uint32_t stride = a->live.desc.stride;
	uint64_t offset = attach_is_resizable(a) ? 0 : ppt_slot0_offset(PPT_CONTROL_SIZE, stride);
	const struct segment *s = attach_is_resizable(a) ? &a->data_segment : &a->control_segment;

	if (answer->stride != stride)
		return attach_set_corrupt(a, "another distance between slots", err);
	if (answer->data_offset != offset || answer->data_block_sz != a->stats.slots)
		return attach_set_corrupt(a, "slots in another place", err);
	a->ring.now.slots = (const uint8_t *)s->map + offset;
	a->ring.now.nr = a->stats.slots;
	a->ring.now.anchor = 1;
	return 0;
}

/* The stride at which @nr slots fill @room bytes; 0 if both strides are possible. */
static uint32_t stride_by_room(const struct desc *d, uint64_t room, uint64_t nr)
{
	bool wide = room / d->stride == nr, narrow = room / d->frame_size == nr;

	if (wide != narrow)
		return wide ? d->stride : d->frame_size;
	if (d->stride == d->frame_size || nr * d->stride > room)
		return d->frame_size;
	return 0;
}

/*
 * The existing generator's stride is the size of its C++ class, which may exceed the frame in
 * the layout; other programs use the layout.  If a program uses all of the room, its stride
 * follows from that; otherwise from the first two frames.  Returns 0 if it is too early to
 * decide.
 */
static uint32_t choose_stride(const struct attach *a, const uint8_t *slots, uint64_t room,
			      uint32_t nr)
{
	const struct desc *d = &a->live.desc;
	uint32_t stride = stride_by_room(d, room, nr), wide, narrow;

	if (stride)
		return stride;
	wide = ring_count_run(slots, nr, d->stride, d->frame_size);
	narrow = ring_count_run(slots, nr, d->frame_size, d->frame_size);
	if (wide == narrow)
		return a->settling ? d->stride : 0;
	return wide > narrow ? d->stride : d->frame_size;
}

static int attach_set_mismatch(struct attach *a, const struct control_answer *answer,
			       uint64_t offset, struct err *err)
{
	err_set(err, -EBADMSG,
		"cannot read the ring of '%s': %llu slots of %u bytes at offset %llu are not "
		"inside its %zu bytes",
		a->live.place->name, (unsigned long long)answer->data_block_sz,
		a->live.desc.frame_size, (unsigned long long)offset, a->control_segment.size);
	err_hint(err,
		 "data_block and data_block_sz of the control block are written by process %d; "
		 "its code follows another protocol, or something overwrites them",
		 (int)a->live.target.pid);
	return -EBADMSG;
}

/* A program of another implementation: the offset of slot 0 is its address modulo the page size. */
static int open_theirs(struct attach *a, const struct control_answer *answer, struct err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), offset = answer->data_block % page;
	uint64_t room = a->control_segment.size > offset ? a->control_segment.size - offset : 0;
	const uint8_t *slots = (const uint8_t *)a->control_segment.map + offset;

	a->ring.now.nr = 0;
	if (offset < 40 || offset % 4 || answer->data_block_sz > UINT32_MAX ||
	    answer->data_block_sz * a->live.desc.frame_size > room)
		return attach_set_mismatch(a, answer, offset, err);
	a->ring.stride = choose_stride(a, slots, room, (uint32_t)answer->data_block_sz);
	if (!a->ring.stride)
		return 0;
	a->ring.now.slots = slots;
	a->ring.now.nr = (uint32_t)answer->data_block_sz;
	a->stats.slots = a->ring.now.nr;
	return 0;
}

static int open_ring(struct attach *a, const struct control_answer *answer, struct err *err)
{
	int rc = a->live.desc.extended ? open_ours(a, answer, err) : open_theirs(a, answer, err);

	if (rc < 0)
		return rc;
	a->stats.attached = true;
	/* The first sequence number is known only when the first frame is there. */
	if (!a->live.desc.extended && (!a->ring.now.nr || !ring_find_start(&a->ring)))
		return 0;
	if (a->adopted)
		a->ring.next = ring_probe_head(&a->ring); /* skip frames from before this attach */
	a->head = a->ring.next;
	a->ring_open = true;
	attach_say(a, 1, "the program has attached %s%u slots",
		   a->adopted ? "before us, with " : "", a->stats.slots);
	a->begun = true;
	return a->config.sink.begin(a->config.sink.arg, err);
}

/* The program sets the handle to 0 if it cannot use the ring. */
static int check_refusal(struct attach *a, struct err *err)
{
	struct control_answer answer;
	int32_t id = a->handle;
	int rc = live_get_handle(&a->live, &id, err), why;

	if (rc < 0 || id == a->handle)
		return rc;
	/* Or it attached, saved and detached since the last poll. */
	if (control_attached(&a->control, &answer))
		return open_ring(a, &answer, err);
	if (live_owner(&a->live) != getpid()) {
		a->stats.end = ATTACH_TAKEN;
		return 1;
	}
	why = live_client_error(&a->live);
	err_set(err, -ECONNREFUSED, "the program could not attach the ring%s%s", why ? ": " : "",
		why ? strerror(why) : "");
	err_hint(err, "its own standard error may tell more; 'ipcs -m -l' shows the limits");
	a->handle = 0;
	return -ECONNREFUSED;
}

/* Returns 1 if the run is over. */
static int await_program(struct attach *a, struct err *err)
{
	struct control_answer answer;

	if (control_attached(&a->control, &answer))
		return open_ring(a, &answer, err);
	if (!target_alive(&a->live.target))
		return 0; /* attach_run() notices it, too */
	return check_refusal(a, err);
}

/* ---- poll ---------------------------------------------------------------- */

static int attach_find_head(struct attach *a, struct err *err)
{
	uint64_t head;

	if (!a->live.desc.extended) {
		a->head = ring_probe_head(&a->ring);
		return 0;
	}
	head = control_next_ticket(&a->control);
	/* No program saves this many frames between two polls. */
	if (head < a->head || head - a->head > UINT64_C(1) << 40)
		return attach_set_corrupt(a, "its number of frames jumps", err);
	a->head = head;
	return 0;
}

static void attach_tell_losses(struct attach *a)
{
	uint64_t missed = a->ring.missed;

	if (missed == a->missed_told)
		return;
	if (a->config.sink.lost)
		a->config.sink.lost(a->config.sink.arg, missed - a->missed_told);
	a->missed_told = missed;
	resize_on_loss(a);
}

static void choose_delay(struct attach *a, uint64_t waiting)
{
	uint64_t slots = a->ring.now.nr;

	if (waiting * 4 > slots)
		a->delay_ns /= 4;
	else if (waiting * 8 > slots)
		a->delay_ns /= 2;
	else if (waiting)
		a->delay_ns = a->delay_ns * 2 < DELAY_BUSY ? a->delay_ns * 2
			      : a->delay_ns > DELAY_BUSY   ? DELAY_BUSY
							   : a->delay_ns;
	else
		a->delay_ns = a->delay_ns * 5 / 4 < DELAY_IDLE ? a->delay_ns * 5 / 4 : DELAY_IDLE;
	if (a->delay_ns < DELAY_MIN)
		a->delay_ns = DELAY_MIN;
}

static int attach_look(struct attach *a, bool patient, struct err *err)
{
	uint64_t waiting;
	int rc;

	resize_follow(a);
	rc = attach_find_head(a, err);
	if (rc < 0)
		return rc;
	a->unmeasured = control_unmeasured(&a->control, &a->config.counters, a->adopted);
	a->stats.unmeasured |= a->unmeasured;
	waiting = a->head - a->ring.next;
	if (waiting > a->stats.fullest)
		a->stats.fullest = waiting;
	ring_poll(&a->ring, a->head, patient);
	a->stats.polls++;
	attach_tell_losses(a);
	choose_delay(a, waiting);
	if (a->config.sink.say && waiting)
		attach_say(a, 2, "looked: %llu waiting, %llu recorded, %llu lost",
			   (unsigned long long)waiting, (unsigned long long)a->stats.recorded,
			   (unsigned long long)a->ring.missed);
	return a->config.sink.flush(a->config.sink.arg, err);
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
	pid_t owner;

	if (now - a->last_check_ns < CHECK_EVERY)
		return true;
	a->last_check_ns = now;
	if (a->live.target.pidfd < 0 && !target_alive(&a->live.target)) {
		a->stats.end = ATTACH_EXITED;
		return false;
	}
	owner = live_owner(&a->live);
	if (owner == getpid() || !target_alive(&a->live.target))
		return true;
	if (target_replaced(&a->live.target)) {
		a->stats.end = ATTACH_EXEC;
		return false;
	}
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
	int rc = a->ring_open ? attach_look(a, true, err) : await_program(a, err);

	if (rc)
		return rc;
	now = clock_now_ns();
	if (is_enough(a)) {
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
	/* A failed access to a program that has ended is a normal end, not an error. */
	if (!target_alive(&a->live.target)) {
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

	if (a->ring_open && !is_enough(a))
		attach_look(a, patient, &ignored);
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

static void attach_settle(struct attach *a)
{
	struct control_answer answer;
	struct err ignored = { 0 };
	bool enough;

	a->settling = true;
	a->stats.mapped = a->stats.attached || was_mapped(a);
	/* It may have attached and ended between two polls. */
	if (!a->ring_open && a->control.block && control_attached(&a->control, &answer))
		open_ring(a, &answer, &ignored);
	look_once_more(a, false);
	enough = is_enough(a);
	ring_finish(&a->ring);
	attach_tell_losses(a);
	a->stats.lost = a->ring.missed;
	a->stats.issued = a->stats.recorded + a->stats.lost;
	if (a->ring_open && a->live.desc.extended) {
		a->stats.dropped = control_dropped(&a->control);
		a->stats.threads = control_threads(&a->control);
		a->stats.counters_failed = control_flags(&a->control) &
					   PPT_CLIENT_FLAG_COUNTERS_FAILED;
		a->stats.counter_error = control_counter_error(&a->control, &a->stats.counter_slot);
		if (!enough && a->stats.end != ATTACH_FAILED)
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
