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
		if (end > start && f->addr > end && f->addr - end > 4096)
			break;
		if (f->addr + f->size > end)
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

/* The pointers in the promise, which say what awaits this frame. */
static uint32_t frame_hash_links(const struct coro_type *type, const uint8_t *bytes, size_t size)
{
	uint64_t hash = 0;
	size_t i;

	for (i = 0; i < type->nr_fields; i++) {
		const struct coro_field *field = &type->fields[i];

		if (field->in_promise && field->size == 8 && field->offset + 8 <= size &&
		    (field->kind == CORO_FIELD_HANDLE || field->kind == CORO_FIELD_POINTER))
			hash = (hash ^ frame_word(bytes, field->offset)) * 0x9e3779b97f4a7c15ull;
	}
	return (uint32_t)(hash >> 32);
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

/*
 * clang places the frame of a callee in that of its caller.  A caller that has not started or has
 * ended has none: what looks like one is of an earlier coroutine in the same memory.
 */
static bool frame_is_leftover(const struct frame_reader *r, const struct coro_frame *f)
{
	const struct coro_frame *outer;
	const struct coro_point *point;

	if (f->outer == FRAME_NONE)
		return false;
	/* Frames are read in the order of their addresses: the outer one is known. */
	outer = &r->table->frames[f->outer];
	if (outer->state == FRAME_INVALID || outer->state == FRAME_FINISHED)
		return true;
	if (outer->state != FRAME_SUSPENDED || !outer->is_read)
		return false;
	point = coro_type_point(coro_types_get(r->types, outer->type), outer->index);
	return point && point->is_initial;
}

static void frame_read_first(void *arg, uint32_t number, const uint8_t *bytes, size_t size)
{
	const struct frame_reader *r = arg;
	struct coro_frame *f = &r->table->frames[number];
	const struct coro_type *type = coro_types_get(r->types, f->type);
	uint64_t resume = size >= 16 ? frame_word(bytes, 0) : 1;

	if (f->state != FRAME_RUNNING &&
	    (resume != (f->state == FRAME_FINISHED ? 0 : type->resume) ||
	     frame_is_leftover(r, f))) {
		f->state = FRAME_INVALID;
		return;
	}
	if (f->state != FRAME_SUSPENDED)
		return;
	f->is_read = frame_index(type, bytes, size, &f->index);
	f->links = frame_hash_links(type, bytes, size);
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

/*
 * Coroutines that await each other in a ring would have no innermost one: the one with the lowest
 * address is taken for it.
 */
static int frame_cut_rings(struct frame_table *t)
{
	uint32_t *seen = calloc(t->nr + 1, sizeof(*seen)); /* 1 + the frame it was reached from */
	size_t i;

	if (!seen)
		return -ENOMEM;
	for (i = 0; i < t->nr; i++) {
		uint32_t at = (uint32_t)i, last = FRAME_NONE;

		while (at != FRAME_NONE && !seen[at]) {
			seen[at] = (uint32_t)i + 1;
			last = at;
			at = t->frames[at].parent;
		}
		if (at != FRAME_NONE && last != FRAME_NONE && seen[at] == i + 1)
			t->frames[last].parent = FRAME_NONE;
	}
	free(seen);
	return 0;
}

/* Keep only parents that are certain. */
static int frame_settle_parents(struct frame_table *t)
{
	size_t i;
	int rc;

	for (i = 0; i < t->nr; i++) {
		struct coro_frame *f = &t->frames[i];

		if (!f->needs_proof)
			continue;
		if (f->is_proven == f->is_other_proven)
			f->parent = FRAME_NONE;
		else if (f->is_other_proven)
			f->parent = f->other;
	}
	rc = frame_cut_rings(t);
	for (i = 0; i < t->nr && !rc; i++) {
		if (t->frames[i].parent != FRAME_NONE && t->frames[i].state == FRAME_SUSPENDED)
			t->frames[t->frames[i].parent].has_child = true;
	}
	return rc;
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
	return rc ? rc : frame_settle_parents(table);
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
	    (!f->is_read || (frame_index(type, bytes, size, &index) && index == f->index)) &&
	    (f->state != FRAME_SUSPENDED || f->links == frame_hash_links(type, bytes, size)))
		return;
	f->state = FRAME_INVALID;
	f->has_changed = true;
	r->changed++;
}

/*
 * A coroutine that awaits another one does not change: if it has, the other one is not the one that
 * was read.  A stack that ends at it would be wrong.
 */
static void frame_drop_stacks(struct frame_reader *r)
{
	struct frame_table *t = r->table;
	size_t i;

	for (i = 0; i < t->nr; i++) {
		uint32_t at = (uint32_t)i, last = FRAME_NONE;
		bool is_wrong;

		while (at != FRAME_NONE && !t->frames[at].is_checked &&
		       !t->frames[at].has_changed && !t->frames[at].is_on_path) {
			t->frames[at].is_on_path = true;
			last = at;
			at = t->frames[at].parent;
		}
		is_wrong = last != FRAME_NONE && at != FRAME_NONE && t->frames[at].has_changed;
		for (at = (uint32_t)i; at != FRAME_NONE && t->frames[at].is_on_path;
		     at = t->frames[at].parent) {
			struct coro_frame *f = &t->frames[at];

			f->is_on_path = false;
			f->is_checked = true;
			if (!is_wrong)
				continue;
			r->changed += f->state == FRAME_SUSPENDED;
			f->state = f->state == FRAME_SUSPENDED ? FRAME_INVALID : f->state;
			f->has_changed = true;
		}
	}
}

int64_t frame_links_check(const struct process_image *image, struct coro_types *types,
			  struct frame_table *table)
{
	struct frame_reader r = { .image = image, .types = types, .table = table };
	int rc = frame_table_visit(image, table, frame_read_again, &r);

	if (!rc && r.changed)
		frame_drop_stacks(&r);
	return rc < 0 ? rc : r.changed;
}
