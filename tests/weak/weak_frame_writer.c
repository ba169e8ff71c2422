/* SPDX-License-Identifier: MIT */
/*
 * weak_frame_writer.c - the generated code of weak_frames.spec, with its ring in the arena.
 *
 * The code is what `corotracer generate` wrote, except that each thread of the search has a `self`
 * of its own (tests/weak/CMakeLists.txt).
 */
#include "weak_machine.h"

/* Its fences are real ones here: the search replaces ThreadSanitizer. */
#undef __SANITIZE_THREAD__
#include "ppt-Weak-threads.c"

#include "weak_frame_writer.h"

#define HANDLE 7

static struct home the_home;

static void make_threads(void)
{
	struct thread *all = weak_alloc((WEAK_THREADS + 1) * sizeof(*all));
	unsigned i;

	all += 1;
	all = (struct thread *)((uintptr_t)all & ~(uintptr_t)127);
	for (i = 0; i < WEAK_THREADS; i++) {
		all[i].next = i + 1 < WEAK_THREADS ? &all[i + 1] : NULL;
		all[i].state = THREAD_TAKEN;
		selves[i] = &all[i];
	}
	threads = all;
}

void frame_writer_make(const struct frame_shape *shape)
{
	struct ring *r = &the_home.rings[0];

	memset(&the_home, 0, sizeof(the_home));
	home_begin(&the_home);
	home = &the_home;
	r->control = weak_alloc(CONTROL_SIZE_COUNTS);
	r->slots = weak_alloc((size_t)shape->nr_slots * SLOT_SIZE);
	r->mask = shape->nr_slots - 1;
	r->block = shape->block;
	r->serial = r->first = 1;
	r->in_use = r->extended = r->owns_control = 1;
	r->id = HANDLE;
	r->gate = gate_of(HANDLE);
	r->tickets = &r->control->next_ticket;
	*r->tickets = 1;
	/* A thread's own counts, which the collector adds up in the end. */
	weak_ignore(counts_of(r), NR_COUNTS * sizeof(struct count));
	weak_ignore(&r->control->dropped, sizeof(r->control->dropped));
	current = r;
	ppt_Weak_handle_.id = HANDLE;
	make_threads();
	weak_restore(&the_home, sizeof(the_home));
}

const uint8_t *frame_writer_slots(void)
{
	return the_home.rings[0].slots;
}

void *frame_writer_control(void)
{
	return the_home.rings[0].control;
}

void frame_writer_save(uint32_t value)
{
	struct ppt_Weak_f frame = { .first = value, .second = ~value };

	ppt_Weak_f_save_(&frame);
}
