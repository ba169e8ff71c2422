/* SPDX-License-Identifier: MIT */
/* attach_resize.c - change the number of slots while attached, automatically or on request. */
#include "frames/live/attach_resize.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/shm.h>

#include "base/monotonic.h"
#include "frames/spec/frames_abi.h"

/* ---- resize -------------------------------------------------------------- */

void resize_start(struct attach *a, uint64_t slots)
{
	struct err err = { 0 };
	struct segment made;

	if (!attach_is_resizable(a)) {
		attach_say(
			a, 0,
			"this buffer cannot be resized: its spec lacks 'option buffer resize on'");
		return;
	}
	slots = attach_power_of_two(slots);
	if (!a->ring_open || a->wanted_slots || a->ring.old.nr) {
		a->queued_slots = (uint32_t)slots;
		return;
	}
	a->queued_slots = 0;
	if (slots == a->ring.now.nr)
		return;
	if (attach_check_slots(a, slots, &err) < 0 ||
	    segment_create(&made, attach_data_size(a, (uint32_t)slots), a->live.target.pid, &err) <
		    0) {
		attach_say(a, 0, "the ring stays as it is: %s", err.text);
		return;
	}
	a->old_segment = a->data_segment;
	a->data_segment = made;
	a->wanted_slots = (uint32_t)slots;
	control_set_data(&a->control, made.id);
	attach_say(a, 1, "asked the program for %u slots instead of %u", a->wanted_slots,
		   a->ring.now.nr);
}

/* The program could not map the new slots: restore the old ones. */
static void undo_resize(struct attach *a)
{
	int why = live_client_error(&a->live);

	attach_say(a, 0, "the program stays with %u slots: %s", a->ring.now.nr,
		   why ? strerror(why) : "it could not attach more");
	segment_release(&a->data_segment);
	a->data_segment = a->old_segment;
	memset(&a->old_segment, 0, sizeof(a->old_segment));
	a->wanted_slots = 0;
	a->config.auto_resize = false;
}

void resize_follow(struct attach *a)
{
	struct ring_block block = { .slots = a->data_segment.map, .anchor = 1 };

	if (a->wanted_slots) {
		if (control_attached_data(&a->control) == a->data_segment.id) {
			uint32_t from = a->ring.now.nr;

			block.nr = a->wanted_slots;
			attach_find_stamps(a, &block);
			ring_resize(&a->ring, &block);
			a->stats.slots = block.nr;
			a->stats.resizes++;
			a->wanted_slots = 0;
			if (a->config.sink.resized)
				a->config.sink.resized(a->config.sink.arg, from, block.nr);
			attach_say(a, 1, "the program uses %u slots now", block.nr);
		} else if (control_wanted_data(&a->control) != a->data_segment.id) {
			undo_resize(a);
		}
	}
	if (a->ring.old.nr && control_left_data(&a->control) == a->old_segment.id) {
		/*
		 * Loaded after the id of the block that was left: all frames in that block are
		 * below it.
		 */
		ring_resized(&a->ring, control_next_ticket(&a->control));
		segment_release(&a->old_segment);
		attach_say(a, 1, "the old slots are no longer in use");
	}
	if (a->queued_slots && !a->wanted_slots && !a->ring.old.nr)
		resize_start(a, a->queued_slots);
}

void resize_on_loss(struct attach *a)
{
	uint64_t slots = (uint64_t)a->ring.now.nr * 2;

	/* A loss in the last ring is often noticed only when this one is full. */
	if (a->ring.overrun == a->overrun_seen)
		return;
	a->overrun_seen = a->ring.overrun;
	if (a->config.auto_resize && attach_is_resizable(a) && !a->wanted_slots &&
	    !a->ring.old.nr && slots * a->live.desc.stride <= RING_BYTES_MAX)
		resize_start(a, slots);
}

/* ---- from another process ------------------------------------------------ */

/* A process that does not expect the signal would be killed by it. */
static bool waits_for_usr1(pid_t pid)
{
	char path[64], line[256];
	unsigned long long blocked = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "SigBlk: %llx", &blocked) == 1)
			break;
	}
	if (file)
		fclose(file);
	return blocked >> (SIGUSR1 - 1) & 1;
}

static int await_slots(struct live_buffer *live, uint32_t slots, struct err *err)
{
	uint64_t until = clock_now_ns() + 2 * NS_PER_SEC;
	const struct ppt_control *c;
	struct shmid_ds ds;
	int32_t id;
	int rc = live_get_handle(live, &id, err);

	if (rc < 0)
		return rc;
	if (id <= 0)
		return err_set(err, -ESRCH, "the collector of '%s' has no ring yet, or no longer",
			       live->place->name);
	c = shmat(id, NULL, SHM_RDONLY);
	if ((intptr_t)c == -1) // NOLINT(performance-no-int-to-ptr)
		return err_errno(err, "cannot read the control block");
	rc = -ETIMEDOUT;
	while (shmctl(id, IPC_STAT, &ds) == 0 && ds.shm_segsz >= sizeof(*c) && rc < 0 &&
	       clock_now_ns() < until) {
		struct timespec wait = { .tv_nsec = (long)NS_PER_MS };

		if (__atomic_load_n(&c->data_block_sz, __ATOMIC_RELAXED) == slots)
			rc = 0;
		else
			nanosleep(&wait, NULL);
	}
	shmdt(c);
	if (rc < 0) {
		err_set(err, rc, "the collector was asked, and the program did not follow yet");
		err_hint(err, "it does so when it next saves a frame; the collector says why not");
	}
	return rc;
}

int attach_ask_resize(pid_t pid, const char *buffer, uint32_t slots, struct err *err)
{
	union sigval value = { .sival_int = (int)attach_power_of_two(slots) };
	struct live_buffer live;
	pid_t owner;
	int rc = live_open(&live, pid, buffer, err);

	if (rc < 0)
		return rc;
	owner = live_owner(&live);
	if (!live.desc.resize) {
		rc = err_set(err, -ENOTSUP, "buffer '%s' cannot be resized", live.place->name);
		err_hint(err, "its spec lacks 'option buffer resize on'");
	} else if (!owner || !live_owner_works(&live, owner) || !waits_for_usr1(owner)) {
		rc = err_set(err, -ESRCH, "no collector is attached to '%s'", live.place->name);
		err_hint(err, "'corotracer attach --size N' starts one with a ring of that size");
	} else if (sigqueue(owner, SIGUSR1, value) < 0) {
		rc = err_errno(err, "cannot signal process %d", (int)owner);
	} else {
		rc = await_slots(&live, (uint32_t)value.sival_int, err);
	}
	live_release(&live);
	return rc;
}
