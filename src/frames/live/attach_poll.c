/* SPDX-License-Identifier: MIT */
/* attach_poll.c - read the ring of an attached buffer, and pass on its frames. */
#include "frames/live/attach_poll.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "frames/spec/frames_abi.h"
#include "frames/live/attach_resize.h"

/* Interval between two polls: short while frames arrive fast, longer while there are none. */
#define DELAY_MIN  (20 * NS_PER_US)
#define DELAY_BUSY (2 * NS_PER_MS)
#define DELAY_IDLE (20 * NS_PER_MS)

/* Tickets of the existing ppt tool's rings start here (ring_find_start()). */
#define OLD_TICKETS UINT64_C(0x100000000)

/* ---- frames -------------------------------------------------------------- */

bool attach_is_enough(const struct attach *a)
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

void attach_take_frame(void *arg, uint64_t ticket, const uint8_t *image)
{
	struct attach *a = arg;

	if (attach_is_enough(a))
		return;
	if (!a->live.desc.extended)
		ticket -= OLD_TICKETS;
	if (a->unmeasured)
		erase_unmeasured(a, a->ring.copy);
	a->stats.recorded++;
	a->config.sink.frame(a->config.sink.arg, ticket, image);
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
	size_t control = control_size(&a->live.desc, a->config.stamp_kind);
	uint64_t offset = attach_is_resizable(a) ? 0 : ppt_slot0_offset(control, stride);
	const struct segment *s = attach_is_resizable(a) ? &a->data_segment : &a->control_segment;

	if (answer->stride != stride)
		return attach_set_corrupt(a, "another distance between slots", err);
	if (answer->data_offset != offset || answer->data_block_sz != a->stats.slots)
		return attach_set_corrupt(a, "slots in another place", err);
	a->ring.now.slots = (const uint8_t *)s->map + offset;
	a->ring.now.nr = a->stats.slots;
	a->ring.now.anchor = 1;
	attach_find_stamps(a, &a->ring.now);
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

int attach_open_ring(struct attach *a, const struct control_answer *answer, struct err *err)
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
	pid_t owner;

	if (rc == -ESRCH)
		return 0; /* its memory is gone: it is about to end, or its main thread has ended */
	if (rc < 0 || id == a->handle)
		return rc;
	/* Or it attached, saved and detached since the last poll. */
	if (control_attached(&a->control, &answer))
		return attach_open_ring(a, &answer, err);
	if (live_has_other_owner(&a->live, &owner)) {
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
int attach_await_program(struct attach *a, struct err *err)
{
	struct control_answer answer;

	if (control_attached(&a->control, &answer))
		return attach_open_ring(a, &answer, err);
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

void attach_tell_losses(struct attach *a)
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

int attach_poll(struct attach *a, bool patient, struct err *err)
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
	/* With blocks a ticket may stay unused for long: the next ones do not wait for it. */
	ring_poll(&a->ring, a->head, patient && !attach_has_blocks(a));
	a->stats.polls++;
	if (!attach_has_blocks(a))
		attach_tell_losses(a);
	choose_delay(a, waiting);
	if (a->config.sink.say && waiting)
		attach_say(a, 2, "looked: %llu waiting, %llu recorded, %llu lost",
			   (unsigned long long)waiting, (unsigned long long)a->stats.recorded,
			   (unsigned long long)a->ring.missed);
	return a->config.sink.flush(a->config.sink.arg, err);
}
