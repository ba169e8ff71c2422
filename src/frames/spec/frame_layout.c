/* SPDX-License-Identifier: MIT */
/*
 * frame_layout.c - compute the offsets of a frame's members.
 *
 * The rules are those of the existing ppt tool, so that a spec gives the same bytes: largest
 * first, then rotated while that packs no worse, each member at a multiple of its size, the
 * sequence numbers around them, and all frames of a buffer of the same length.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames/spec/frame_layout.h"

#define SEQNO_SIZE 4u
#define TYPE_SIZE  4u

struct layout {
	struct desc *d;
	uint32_t front; /* bytes before the members */
	int code;
};

/* ---- order ---------------------------------------------------------------- */

static uint32_t align_of(const struct desc_member *m)
{
	return desc_type_size(m->type);
}

/* The number of bins of @room bytes that front, members and back need, filled in order. */
static unsigned layout_bins(const struct layout *l, const struct desc_member *members,
			    const size_t *order, size_t nr, uint32_t room)
{
	unsigned count = 1;
	uint32_t sum = l->front;
	size_t i;

	for (i = 0; i <= nr; i++) {
		uint32_t size = i < nr ? align_of(&members[order[i]]) : SEQNO_SIZE;

		if (sum + size > room) {
			count++;
			sum = size;
		} else {
			sum += size;
		}
	}
	return count;
}

/* Stable: members of equal size keep the order of their declaration. */
static void sort_by_size(const struct desc_member *members, size_t *order, size_t nr)
{
	size_t i, j;

	for (i = 1; i < nr; i++) {
		size_t m = order[i];

		for (j = i; j > 0; j--) {
			if (align_of(&members[order[j - 1]]) >= align_of(&members[m]))
				break;
			order[j] = order[j - 1];
		}
		order[j] = m;
	}
}

static void last_to_front(size_t *order, size_t nr)
{
	size_t last = order[nr - 1], i;

	for (i = nr - 1; i > 0; i--)
		order[i] = order[i - 1];
	order[0] = last;
}

static void front_to_last(size_t *order, size_t nr)
{
	size_t first = order[0], i;

	for (i = 0; i + 1 < nr; i++)
		order[i] = order[i + 1];
	order[nr - 1] = first;
}

static void layout_put_in_order(const struct layout *l, const struct desc_member *members,
				size_t *order, size_t nr)
{
	uint32_t room = SEQNO_SIZE;
	unsigned cost;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (align_of(&members[i]) > room)
			room = align_of(&members[i]);
	}
	sort_by_size(members, order, nr);
	cost = layout_bins(l, members, order, nr, room);
	for (i = 0; i < nr; i++) {
		unsigned turned;

		last_to_front(order, nr);
		turned = layout_bins(l, members, order, nr, room);
		if (turned > cost) {
			front_to_last(order, nr);
			break;
		}
		cost = turned;
	}
}

/* ---- fields --------------------------------------------------------------- */

static struct desc_field *layout_add_field(struct layout *l, struct desc_frame *f, const char *name,
					   enum desc_role role, enum desc_type type, uint32_t size)
{
	struct desc_field *grown, *field;

	if (f->nr_fields % 16 == 0) {
		grown = reallocarray(f->fields, f->nr_fields + 16, sizeof(*f->fields));
		if (!grown) {
			l->code = -ENOMEM;
			return NULL;
		}
		f->fields = grown;
	}
	field = &f->fields[f->nr_fields];
	memset(field, 0, sizeof(*field));
	field->name = strdup(name);
	if (!field->name) {
		l->code = -ENOMEM;
		return NULL;
	}
	f->nr_fields++;
	field->role = role;
	field->type = type;
	field->size = size;
	field->align = role == DESC_PADDING ? 1 : desc_type_size(type);
	field->count = size / desc_type_size(type);
	return field;
}

static uint32_t end_of(const struct desc_frame *f)
{
	const struct desc_field *last;

	if (!f->nr_fields)
		return 0;
	last = &f->fields[f->nr_fields - 1];
	return last->offset + last->size;
}

static void add_padding(struct layout *l, struct desc_frame *f, const char *name, uint32_t size)
{
	uint32_t at = end_of(f);
	struct desc_field *pad = layout_add_field(l, f, name, DESC_PADDING, DESC_BYTES, size);

	if (pad)
		pad->offset = at;
}

static bool copy_values(struct desc_field *to, const struct desc_member *m)
{
	size_t i;

	if (m->type_name && !(to->type_name = strdup(m->type_name)))
		return false;
	if (!m->nr_values)
		return true;
	to->values = calloc(m->nr_values, sizeof(*to->values));
	for (i = 0; to->values && i < m->nr_values; i++) {
		to->values[i].name = strdup(m->values[i].name);
		if (!to->values[i].name)
			return false;
		to->values[i].value = m->values[i].value;
		to->nr_values = i + 1;
	}
	return to->values != NULL;
}

/* Append one field of member @m. */
static void layout_place(struct layout *l, struct desc_frame *f, const struct desc_member *m,
			 const char *name, enum desc_role role, uint32_t counter)
{
	uint32_t align = align_of(m), at = end_of(f), gap = (align - at % align) % align;
	struct desc_field *field;
	char pad[32];

	if (gap) {
		snprintf(pad, sizeof(pad), "__pad_%u", at);
		add_padding(l, f, pad, gap);
	}
	field = layout_add_field(l, f, name, role, m->type, align * m->count);
	if (!field)
		return;
	field->offset = at + gap;
	field->counter = counter;
	field->is_array = m->is_array;
	field->member = strdup(m->name);
	if (!field->member || !copy_values(field, m))
		l->code = -ENOMEM;
}

static void expand_counter(struct layout *l, struct desc_frame *f, const struct desc_member *m)
{
	char name[DESC_NAME_MAX + 16];
	uint32_t i;

	for (i = 0; i < 3; i++) {
		if (!m->interval) {
			snprintf(name, sizeof(name), "%s_%u", m->name, i);
			layout_place(l, f, m, name, DESC_PLAIN, i);
			continue;
		}
		snprintf(name, sizeof(name), "%s_%u_start", m->name, i);
		layout_place(l, f, m, name, DESC_START, i);
		snprintf(name, sizeof(name), "%s_%u_end", m->name, i);
		layout_place(l, f, m, name, DESC_END, i);
	}
}

static void layout_expand(struct layout *l, struct desc_frame *f, const struct desc_member *m)
{
	char name[DESC_NAME_MAX + 16];

	if (m->type == DESC_COUNTER) {
		expand_counter(l, f, m);
	} else if (m->interval) {
		snprintf(name, sizeof(name), "%s_start", m->name);
		layout_place(l, f, m, name, DESC_START, 0);
		snprintf(name, sizeof(name), "%s_end", m->name);
		layout_place(l, f, m, name, DESC_END, 0);
	} else {
		layout_place(l, f, m, m->name, DESC_PLAIN, 0);
	}
}

static void add_hidden(struct layout *l, struct desc_frame *f, const char *name,
		       enum desc_role role)
{
	uint32_t at = end_of(f);
	struct desc_field *field = layout_add_field(l, f, name, role, DESC_UINT32, 4);

	if (field)
		field->offset = at;
}

static void layout_frame(struct layout *l, struct desc_frame *f)
{
	size_t *order = calloc(f->nr_members + 1, sizeof(*order));
	size_t i;

	if (!order) {
		l->code = -ENOMEM;
		return;
	}
	for (i = 0; i < f->nr_members; i++)
		order[i] = i;
	if (f->nr_members)
		layout_put_in_order(l, f->members, order, f->nr_members);
	add_hidden(l, f, "__ppt_seqno", DESC_FRONT_SEQ);
	if (l->d->nr_frames > 1)
		add_hidden(l, f, "__ppt_type", DESC_FRAME_TYPE);
	for (i = 0; i < f->nr_members && !l->code; i++)
		layout_expand(l, f, &f->members[order[i]]);
	free(order);
}

/* Make all frames the same length. */
static void close_frames(struct layout *l)
{
	struct desc *d = l->d;
	uint32_t end = 0, gap;
	char pad[32];
	size_t i;

	for (i = 0; i < d->nr_frames; i++) {
		if (end_of(&d->frames[i]) > end)
			end = end_of(&d->frames[i]);
	}
	/* The types of the existing ppt tool always end at a multiple of four. */
	end = (end + 3) & ~UINT32_C(3);
	for (i = 0; i < d->nr_frames && !l->code; i++) {
		gap = end - end_of(&d->frames[i]);
		if (gap) {
			snprintf(pad, sizeof(pad), "__ppt_endpad_%u", gap);
			add_padding(l, &d->frames[i], pad, gap);
		}
		add_hidden(l, &d->frames[i], "__ppt_seqno_back", DESC_BACK_SEQ);
	}
	d->frame_size = end + SEQNO_SIZE;
	/*
	 * Aligned words in the base dialect; no padding where the existing collector counts
	 * slots.
	 */
	d->stride = d->dialect == DESC_SEED ? (d->frame_size + 7) & ~UINT32_C(7) : d->frame_size;
}

/* Checked first, so that nothing can overflow. */
static bool too_big(const struct desc *d)
{
	size_t i, j;

	for (i = 0; i < d->nr_frames; i++) {
		uint64_t sum = 64;

		for (j = 0; j < d->frames[i].nr_members; j++) {
			const struct desc_member *m = &d->frames[i].members[j];

			sum += (uint64_t)align_of(m) * m->count *
				       (m->type == DESC_COUNTER ? 6
					: m->interval           ? 2
								: 1) +
			       align_of(m);
			if (sum > DESC_FRAME_MAX)
				return true;
		}
	}
	return false;
}

int layout_make(struct desc *d, struct err *err)
{
	struct layout l = { .d = d,
			    .front = d->nr_frames > 1 ? SEQNO_SIZE + TYPE_SIZE : SEQNO_SIZE };
	size_t i;

	if (too_big(d))
		return err_set(err, -E2BIG, "a frame is longer than %u bytes", DESC_FRAME_MAX);
	for (i = 0; i < d->nr_frames && !l.code; i++)
		layout_frame(&l, &d->frames[i]);
	if (!l.code)
		close_frames(&l);
	if (l.code)
		return err_set(err, l.code, "no memory for the layout of '%s'", d->name);
	return 0;
}
