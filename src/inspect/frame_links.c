/* SPDX-License-Identifier: MIT */
/* frame_links.c - read the frames: resume index, and the frame that awaits each. */
#include "inspect/frame_links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_SIZE    ((size_t)1 << 18) /* frames that are near each other are read at once */
#define POINTER_BITS   0x0000ffffffffffffull
#define CANDIDATES_MAX 4

/* ---- read all frames ------------------------------------------------------------ */

/* The frames from *@at on that fit into one window; *@at moves behind them. */
static uint64_t window_next(const struct frame_table *t, size_t *at)
{
	uint64_t start = t->frames[*at].addr, end = start;

	do {
		const struct coro_frame *f = &t->frames[*at];

		if (f->addr + f->size - start > WINDOW_SIZE && end > start)
			break;
		/* Not across pages without frames: they may not be mapped. */
		if (end > start && f->addr - end > 4096)
			break;
		end = f->addr + f->size;
		++*at;
	} while (*at < t->nr);
	return end;
}

static void window_visit(const struct process_image *image, const struct frame_table *t,
			 size_t first, size_t last, uint8_t *buf, size_t got, frame_visitor visit,
			 void *arg)
{
	uint64_t start = t->frames[first].addr;
	size_t i;

	for (i = first; i < last; i++) {
		const struct coro_frame *f = &t->frames[i];
		size_t offset = (size_t)(f->addr - start);

		if (f->state == FRAME_INVALID)
			continue;
		if (offset + f->size <= got) {
			visit(arg, (uint32_t)i, buf + offset, f->size);
		} else {
			uint8_t *own = malloc(f->size);
			ssize_t size = own ? image_read(image, f->addr, own, f->size) : 0;

			if (own)
				visit(arg, (uint32_t)i, own, size > 0 ? (size_t)size : 0);
			free(own);
		}
	}
}

int frame_table_visit(const struct process_image *image, const struct frame_table *table,
		      frame_visitor visit, void *arg)
{
	uint8_t *buf = malloc(WINDOW_SIZE);
	size_t at = 0, first;

	if (!buf)
		return -ENOMEM;
	while (at < table->nr) {
		uint64_t end, size;
		ssize_t got;

		first = at;
		end = window_next(table, &at);
		size = end - table->frames[first].addr;
		got = size <= WINDOW_SIZE
			      ? image_read(image, table->frames[first].addr, buf, (size_t)size)
			      : 0;
		window_visit(image, table, first, at, buf, got > 0 ? (size_t)got : 0, visit, arg);
	}
	free(buf);
	return 0;
}

/* ---- one frame ------------------------------------------------------------------- */

struct frame_reader {
	const struct process_image *image;
	struct coro_types *types;
	struct frame_table *table;
	int64_t changed;
};

static uint64_t frame_word(const uint8_t *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static bool frame_index(const struct coro_type *type, const uint8_t *bytes, size_t size,
			uint32_t *index)
{
	uint64_t value = 0;

	if (!type->has_index || type->index_offset + type->index_size > size ||
	    type->index_size > sizeof(value))
		return false;
	memcpy(&value, bytes + type->index_offset, type->index_size);
	*index = (uint32_t)value;
	return value <= UINT32_MAX;
}

/* The frame that @word is the handle of: the address of a frame, or of its promise. */
static uint32_t frame_of_handle(const struct frame_reader *r, uint64_t word)
{
	uint32_t found = frame_table_find(r->table, word & POINTER_BITS);
	const struct coro_frame *f;
	const struct coro_type *type;

	if (found == FRAME_NONE)
		return FRAME_NONE;
	f = &r->table->frames[found];
	if (f->state != FRAME_SUSPENDED)
		return FRAME_NONE;
	type = coro_types_get(r->types, f->type);
	if ((word & POINTER_BITS) == f->addr ||
	    (type->has_promise && (word & POINTER_BITS) == f->addr + type->promise_offset))
		return found;
	return FRAME_NONE;
}

struct parent_search {
	uint32_t found[CANDIDATES_MAX];
	unsigned nr;
	bool needs_proof; /* a pointer back from the parent */
};

static void parent_add(struct parent_search *s, uint32_t frame)
{
	unsigned i;

	for (i = 0; i < s->nr; i++) {
		if (s->found[i] == frame)
			return;
	}
	if (s->nr < CANDIDATES_MAX)
		s->found[s->nr++] = frame;
}

static void parent_search_kind(const struct frame_reader *r, const struct coro_type *type,
			       uint32_t number, const uint8_t *bytes, size_t size,
			       enum coro_field_kind kind, struct parent_search *s)
{
	size_t i;

	for (i = 0; i < type->nr_fields; i++) {
		const struct coro_field *field = &type->fields[i];
		uint32_t frame;

		if (!field->in_promise || field->kind != kind || field->size != 8 ||
		    field->offset + 8 > size)
			continue;
		frame = frame_of_handle(r, frame_word(bytes, field->offset));
		if (frame != FRAME_NONE && frame != number)
			parent_add(s, frame);
	}
}

/*
 * A counter of when_all(): an object in the frame of the parent, which holds the parent's handle.
 */
static void parent_search_counters(const struct frame_reader *r, const struct coro_type *type,
				   const uint8_t *bytes, size_t size, struct parent_search *s)
{
	size_t i, k;

	for (i = 0; i < type->nr_fields; i++) {
		const struct coro_field *field = &type->fields[i];
		uint64_t at, word;
		uint32_t owner;

		if (!field->in_promise || !field->nr_handles || field->size != 8 ||
		    field->offset + 8 > size)
			continue;
		at = frame_word(bytes, field->offset);
		owner = frame_table_find(r->table, at);
		/* The promise of another frame holds its own handle. */
		if (owner != FRAME_NONE && frame_of_handle(r, at) == owner)
			continue;
		for (k = 0; owner != FRAME_NONE && k < field->nr_handles; k++) {
			if (image_read(r->image, at + field->handles[k], &word, 8) == 8 &&
			    frame_of_handle(r, word) == owner)
				parent_add(s, owner);
		}
	}
}

static void frame_find_parent(const struct frame_reader *r, const struct coro_type *type,
			      uint32_t number, const uint8_t *bytes, size_t size)
{
	struct coro_frame *f = &r->table->frames[number];
	struct parent_search s = { 0 };

	parent_search_kind(r, type, number, bytes, size, CORO_FIELD_HANDLE, &s);
	if (!s.nr)
		parent_search_counters(r, type, bytes, size, &s);
	if (!s.nr) {
		s.needs_proof = true;
		parent_search_kind(r, type, number, bytes, size, CORO_FIELD_POINTER, &s);
	}
	/* Of several, none is known to be the right one: see frame_links_prove(). */
	f->nr_candidates = (uint8_t)s.nr;
	f->needs_proof = s.needs_proof || s.nr > 1;
	f->parent = s.nr ? s.found[0] : FRAME_NONE;
	f->other = s.nr > 1 ? s.found[1] : FRAME_NONE;
}

static void frame_read_first(void *arg, uint32_t number, const uint8_t *bytes, size_t size)
{
	const struct frame_reader *r = arg;
	struct coro_frame *f = &r->table->frames[number];
	const struct coro_type *type = coro_types_get(r->types, f->type);
	uint64_t resume = size >= 16 ? frame_word(bytes, 0) : 1;

	if (f->state != FRAME_RUNNING &&
	    resume != (f->state == FRAME_FINISHED ? 0 : type->resume)) {
		f->state = FRAME_INVALID;
		return;
	}
	if (f->state != FRAME_SUSPENDED)
		return;
	f->is_read = frame_index(type, bytes, size, &f->index);
	/* On the stack of a thread that runs, where it is not known to be one, registers are saved.
	 */
	if (f->is_read && (!coro_type_has_index(type, f->index) ||
			   (!f->is_allocated && !coro_type_point(type, f->index)))) {
		f->state = FRAME_INVALID;
		return;
	}
	frame_find_parent(r, type, number, bytes, size);
}

/* ---- a pointer back ---------------------------------------------------------------- */

/* Mark the children that this frame, outside its promise, holds a pointer to. */
static void frame_prove_children(void *arg, uint32_t number, const uint8_t *bytes, size_t size)
{
	const struct frame_reader *r = arg;
	struct frame_table *t = r->table;
	const struct coro_type *type = coro_types_get(r->types, t->frames[number].type);
	size_t from = type->has_promise ? type->promise_offset : 0;
	size_t to = from + (type->has_promise ? type->promise_size : 0);
	size_t offset;

	for (offset = 16; offset + 8 <= size; offset += 8) {
		uint32_t child;

		if (offset >= from && offset < to)
			continue;
		child = frame_table_find(t, frame_word(bytes, offset) & POINTER_BITS);
		if (child == FRAME_NONE || child == number)
			continue;
		if (t->frames[child].parent == number)
			t->frames[child].is_proven = true;
		else if (t->frames[child].other == number)
			t->frames[child].is_other_proven = true;
	}
}

/* Keep only parents that are certain. */
static void frame_settle_parents(struct frame_table *t)
{
	size_t i;

	for (i = 0; i < t->nr; i++) {
		struct coro_frame *f = &t->frames[i];

		if (!f->needs_proof)
			continue;
		if (f->is_proven == f->is_other_proven)
			f->parent = FRAME_NONE;
		else if (f->is_other_proven)
			f->parent = f->other;
	}
	for (i = 0; i < t->nr; i++) {
		if (t->frames[i].parent != FRAME_NONE && t->frames[i].state == FRAME_SUSPENDED)
			t->frames[t->frames[i].parent].has_child = true;
	}
}

static bool frames_need_proof(const struct frame_table *t)
{
	size_t i;

	for (i = 0; i < t->nr; i++) {
		if (t->frames[i].needs_proof && t->frames[i].nr_candidates)
			return true;
	}
	return false;
}

int frame_links_read(const struct process_image *image, struct coro_types *types,
		     struct frame_table *table)
{
	struct frame_reader r = { .image = image, .types = types, .table = table };
	int rc = frame_table_visit(image, table, frame_read_first, &r);

	if (!rc && frames_need_proof(table))
		rc = frame_table_visit(image, table, frame_prove_children, &r);
	if (!rc)
		frame_settle_parents(table);
	return rc;
}

/* ---- the second look ---------------------------------------------------------------- */

static void frame_read_again(void *arg, uint32_t number, const uint8_t *bytes, size_t size)
{
	struct frame_reader *r = arg;
	struct coro_frame *f = &r->table->frames[number];
	const struct coro_type *type = coro_types_get(r->types, f->type);
	uint64_t resume = size >= 16 ? frame_word(bytes, 0) : 1;
	uint32_t index = f->index;

	if (f->state == FRAME_RUNNING)
		return;
	if (resume == (f->state == FRAME_FINISHED ? 0 : type->resume) &&
	    (!f->is_read || (frame_index(type, bytes, size, &index) && index == f->index)))
		return;
	f->state = FRAME_INVALID;
	r->changed++;
}

int64_t frame_links_check(const struct process_image *image, struct coro_types *types,
			  struct frame_table *table)
{
	struct frame_reader r = { .image = image, .types = types, .table = table };
	int rc = frame_table_visit(image, table, frame_read_again, &r);

	return rc < 0 ? rc : r.changed;
}
