/* SPDX-License-Identifier: MIT */
/* described_waits.c - read described objects in the frames of a process. */
#include "inspect/described_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/frame_links.h"

bool described_memory_read(void *arg, uint64_t addr, void *buf, size_t size)
{
	const struct process_image *image = arg;

	return image_read(image, addr, buf, size) == (ssize_t)size;
}

/* ---- lists ---------------------------------------------------------------------------- */

int described_waits_add(struct described_waits *d, const struct described_wait *wait)
{
	if (d->nr_waits == d->room_waits) {
		size_t room = d->room_waits ? d->room_waits * 2 : 64;
		struct described_wait *more = reallocarray(d->waits, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		d->waits = more;
		d->room_waits = room;
	}
	d->waits[d->nr_waits++] = *wait;
	return 0;
}

int described_guards_add(struct described_waits *d, const struct described_guard *guard)
{
	if (d->nr_guards == d->room_guards) {
		size_t room = d->room_guards ? d->room_guards * 2 : 64;
		struct described_guard *more = reallocarray(d->guards, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		d->guards = more;
		d->room_guards = room;
	}
	d->guards[d->nr_guards++] = *guard;
	return 0;
}

static int described_wait_order(const void *a, const void *b)
{
	const struct described_wait *x = a, *y = b;

	return x->coroutine < y->coroutine ? -1 : x->coroutine > y->coroutine;
}

static int described_guard_order(const void *a, const void *b)
{
	const struct described_guard *x = a, *y = b;

	if (x->value.object != y->value.object)
		return x->value.object < y->value.object ? -1 : 1;
	return x->coroutine < y->coroutine ? -1 : x->coroutine > y->coroutine;
}

void described_waits_sort(struct described_waits *d)
{
	if (d->nr_waits)
		qsort(d->waits, d->nr_waits, sizeof(*d->waits), described_wait_order);
	if (d->nr_guards)
		qsort(d->guards, d->nr_guards, sizeof(*d->guards), described_guard_order);
}

const struct described_wait *described_waits_find(const struct described_waits *d, uint64_t addr)
{
	struct described_wait key = { .coroutine = addr };

	return d->nr_waits ? bsearch(&key, d->waits, d->nr_waits, sizeof(key), described_wait_order)
			   : NULL;
}

size_t described_guards_of(const struct described_waits *d, uint64_t object)
{
	size_t low = 0, high = d->nr_guards;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (d->guards[middle].value.object < object)
			low = middle + 1;
		else
			high = middle;
	}
	return low < d->nr_guards && d->guards[low].value.object == object ? low : d->nr_guards;
}

void described_waits_release(struct described_waits *d)
{
	free(d->waits);
	free(d->guards);
	described_queues_release(&d->queues);
	described_frames_free(d->frames);
	*d = (struct described_waits){ 0 };
}

/* ---- frames --------------------------------------------------------------------------- */

struct described_reader {
	struct described_waits *out;
	const struct process_image *image;
	struct coro_types *types;
	const struct frame_table *table;
	struct frame_wait *waits;
	int error;
};

/* The address of the object in frame @f; 0: unknown. */
static uint64_t described_address(const struct coro_frame *f, const struct described_member *m,
				  const uint8_t *bytes, size_t size)
{
	uint64_t addr;

	if (!m->is_pointer)
		return f->addr + m->offset;
	if (m->pointer + 8 > size)
		return 0;
	memcpy(&addr, bytes + m->pointer, sizeof(addr));
	return addr >= 4096 ? addr + m->offset : 0;
}

/* Is @m certainly of the current co_await?  gcc numbers the awaiters. */
static bool described_is_current(const struct described_member *m, int64_t awaiter)
{
	return m->type->rule->role == RULE_OPERATION || (awaiter >= 0 && m->awaiter == awaiter);
}

/* An object that may belong to another co_await says something only if it names what it is for. */
static bool described_is_candidate(const struct described_wait *wait, int64_t awaiter)
{
	const struct described_value *v = &wait->value;

	return awaiter < 0 && !wait->resource.has_queue &&
	       (v->object || v->task || v->fd >= 0 || v->has_deadline);
}

/*
 * The object that the coroutine waits with.  Of several that are not known to belong to the current
 * co_await, the one that is in the queue of its resource counts.
 */
static bool described_choose(struct described_reader *r, const struct coro_frame *f,
			     const struct described_frame *frame, int64_t awaiter,
			     const uint8_t *bytes, size_t size, struct described_wait *out)
{
	size_t i, candidates = 0;

	for (i = 0; i < frame->nr_waits; i++) {
		const struct described_member *m = &frame->waits[i];
		struct described_wait found = { .frame = FRAME_NONE };
		uint64_t addr = described_address(f, m, bytes, size);

		if (!addr || !described_value_read(m->type, addr, described_memory_read,
						   (void *)r->image, &found.value))
			continue;
		if (described_resource_read(&found.value, &r->out->queues, described_memory_read,
					    (void *)r->image, &found.resource) < 0)
			r->error = -ENOMEM;
		found.is_certain = described_is_current(m, awaiter) || found.resource.is_queued;
		if (!found.is_certain && !described_is_candidate(&found, awaiter))
			continue;
		*out = found;
		if (found.is_certain)
			return true;
		candidates++;
	}
	return candidates == 1;
}

static void described_read_wait(struct described_reader *r, uint32_t number,
				const struct described_frame *frame, const struct coro_point *point,
				bool is_gcc, const uint8_t *bytes, size_t size)
{
	const struct coro_frame *f = &r->table->frames[number];
	struct described_wait wait;

	if (!described_choose(r, f, frame, described_point_awaiter(point, is_gcc), bytes, size,
			      &wait))
		return;
	wait.coroutine = f->addr;
	wait.frame = number;
	wait.kind = wait.value.type->rule->kind;
	if (!wait.kind)
		return;
	if (wait.value.fd >= 0) {
		r->waits[number].fd = (int)wait.value.fd;
		r->waits[number].is_in_awaiter = wait.is_certain;
		if (wait.value.direction != RULE_ANY)
			r->waits[number].direction = wait.value.direction == RULE_READ ? WAIT_READ
										       : WAIT_WRITE;
	}
	if (described_waits_add(r->out, &wait) < 0)
		r->error = -ENOMEM;
}

static void described_read_guards(struct described_reader *r, uint32_t number,
				  const struct described_frame *frame,
				  const struct coro_point *point, bool is_gcc, const uint8_t *bytes,
				  size_t size)
{
	const struct coro_frame *f = &r->table->frames[number];
	size_t i;

	for (i = 0; i < frame->nr_guards; i++) {
		const struct described_member *m = &frame->guards[i];
		struct described_guard guard = { .coroutine = f->addr, .frame = number };
		enum guard_life life = described_member_life(frame, m, point, is_gcc);
		uint64_t addr = described_address(f, m, bytes, size);

		if (life == GUARD_DEAD || !addr ||
		    !described_value_read(m->type, addr, described_memory_read, (void *)r->image,
					  &guard.value) ||
		    !guard.value.object || guard.value.is_over)
			continue;
		guard.is_certain = life == GUARD_ALIVE;
		if (described_guards_add(r->out, &guard) < 0)
			r->error = -ENOMEM;
	}
}

static void described_read_frame(void *arg, uint32_t number, const uint8_t *bytes, size_t size)
{
	struct described_reader *r = arg;
	const struct coro_frame *f = &r->table->frames[number];
	const struct described_frame *frame;
	const struct coro_type *type;
	const struct coro_point *point;

	if (f->state != FRAME_SUSPENDED || r->error)
		return;
	frame = described_frames_get(r->out->frames, f->type);
	if (!frame->nr_waits && !frame->nr_guards)
		return;
	type = coro_types_get(r->types, f->type);
	point = f->is_read ? coro_type_point(type, f->index) : NULL;
	if (point && point->is_initial)
		return;
	if (!f->has_child && frame->nr_waits)
		described_read_wait(r, number, frame, point, type->is_gcc, bytes, size);
	described_read_guards(r, number, frame, point, type->is_gcc, bytes, size);
}

/* True if a frame of the table can contain a described object; without it nothing is read. */
static bool described_any(const struct described_reader *r)
{
	uint8_t *known = calloc(coro_types_count(r->types) + 1, 1);
	bool found = !known;
	size_t i;

	for (i = 0; !found && i < r->table->nr; i++) {
		const struct coro_frame *f = &r->table->frames[i];
		const struct described_frame *frame;

		if (f->state != FRAME_SUSPENDED || known[f->type])
			continue;
		known[f->type] = 1;
		frame = described_frames_get(r->out->frames, f->type);
		found = frame->nr_waits || frame->nr_guards;
	}
	free(known);
	return found;
}

int described_waits_read(struct described_waits *d, const struct type_rules *rules,
			 const struct process_image *image, struct coro_types *types,
			 const struct frame_table *table, struct frame_wait *waits)
{
	struct described_reader r = {
		.out = d,
		.image = image,
		.types = types,
		.table = table,
		.waits = waits,
	};
	int rc;

	if (!rules || !type_rules_count(rules))
		return 0;
	d->frames = described_frames_new(types, rules);
	if (!d->frames)
		return -ENOMEM;
	rc = described_any(&r) ? frame_table_visit(image, table, described_read_frame, &r) : 0;
	if (!rc)
		rc = r.error;
	if (!rc)
		described_waits_sort(d);
	return rc;
}
