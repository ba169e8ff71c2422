/* SPDX-License-Identifier: MIT */
/* inspection.c - look at the coroutines of a process and group them by their stacks. */
#include "inspect/inspection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/u64map.h"
#include "inspect/frame_links.h"
#include "inspect/frame_marks.h"
#include "inspect/frame_scan.h"

#define DEPTH_MAX     100000
#define SECOND_LOOK_MS 200

/* ---- begin and end ------------------------------------------------------------- */

static int inspection_add_modules(struct inspection *in)
{
	size_t i;

	for (i = 0; i < in->image->nr_modules; i++) {
		const struct image_module *m = &in->image->modules[i];
		struct symbol_module module = {
			.pid = (uint64_t)in->image->pid,
			.start = m->start,
			.end = m->end,
			.has_bias = true,
			.bias = m->bias,
			.path = m->path,
			.build_id = m->build_id,
		};

		if (m->open_path && *m->open_path &&
		    coro_types_add(in->types, &module, m->open_path) < 0)
			return -ENOMEM;
	}
	return 0;
}

struct inspection *inspection_new(struct process_image *image, struct err *err)
{
	struct inspection *in = calloc(1, sizeof(*in));

	if (in) {
		in->image = image;
		in->types = coro_types_new();
		in->stacks = calloc(1, sizeof(*in->stacks));
	}
	if (!in || !in->types || !in->stacks || inspection_add_modules(in) < 0) {
		err_set(err, -ENOMEM, "no memory to inspect process %d", (int)image->pid);
		inspection_free(in);
		return NULL;
	}
	return in;
}

void inspection_free(struct inspection *in)
{
	if (!in)
		return;
	frame_table_release(&in->table);
	coro_types_free(in->types);
	if (in->stacks)
		u64map_release(in->stacks);
	free(in->stacks);
	free(in->levels);
	free(in->groups);
	free(in->members);
	free(in);
}

/* ---- stacks ---------------------------------------------------------------------- */

static uint32_t level_intern(struct inspection *in, const struct coro_frame *f, uint32_t parent)
{
	uint64_t key = ((uint64_t)f->type * 0x9e3779b97f4a7c15ull) ^
		       ((uint64_t)(f->index + 1) * 0xc2b2ae3d27d4eb4full) ^
		       ((uint64_t)parent * 0x165667b19e3779f9ull);
	struct inspect_level level = {
		.parent = parent,
		.type = f->type,
		.index = f->index,
		.is_read = f->is_read,
		.depth = parent ? in->levels[parent - 1].depth + 1 : 1,
	};
	uint64_t *slot;

	/* Another stack with the same key has its own slot further on. */
	for (;; key++) {
		const struct inspect_level *known;

		slot = u64map_at(in->stacks, key);
		if (!slot)
			return 0;
		if (!*slot)
			break;
		known = &in->levels[*slot - 1];
		if (known->parent == parent && known->type == f->type &&
		    known->index == f->index && known->is_read == f->is_read)
			return (uint32_t)*slot;
	}
	if (in->nr_levels == in->room_levels) {
		size_t room = in->room_levels ? in->room_levels * 2 : 64;
		struct inspect_level *more = reallocarray(in->levels, room, sizeof(*more));

		if (!more)
			return 0;
		in->levels = more;
		in->room_levels = room;
	}
	in->levels[in->nr_levels++] = level;
	*slot = in->nr_levels;
	return (uint32_t)in->nr_levels;
}

static bool frame_is_shown(const struct coro_frame *f)
{
	return f->state == FRAME_SUSPENDED;
}

/* The stack of a frame: its parents first, without recursion.  A ring of parents is cut. */
static int stack_resolve(struct inspection *in, uint32_t number, uint32_t *path)
{
	struct coro_frame *frames = in->table.frames;
	size_t depth = 0;
	uint32_t at = number, stack = 0;

	while (at != FRAME_NONE && frame_is_shown(&frames[at]) && depth < DEPTH_MAX) {
		if (frames[at].stack) {
			stack = frames[at].stack;
			break;
		}
		if (frames[at].is_on_path)
			break;
		frames[at].is_on_path = true;
		path[depth++] = at;
		at = frames[at].parent;
	}
	while (depth) {
		struct coro_frame *f = &frames[path[--depth]];

		stack = level_intern(in, f, stack);
		if (!stack)
			return -ENOMEM;
		f->stack = stack;
		f->is_on_path = false;
	}
	return 0;
}

static int stacks_resolve(struct inspection *in)
{
	uint32_t *path = calloc(DEPTH_MAX, sizeof(*path));
	size_t i;
	int rc = path ? 0 : -ENOMEM;

	for (i = 0; !rc && i < in->table.nr; i++) {
		if (frame_is_shown(&in->table.frames[i]))
			rc = stack_resolve(in, (uint32_t)i, path);
	}
	free(path);
	return rc;
}

/* ---- groups ---------------------------------------------------------------------- */

static enum inspect_verdict frame_verdict(const struct coro_frame *f)
{
	return f->is_reached ? VERDICT_WAITING : VERDICT_UNREACHABLE;
}

struct group_key {
	uint32_t frame, stack;
	enum inspect_verdict verdict;
};

static int group_by_key(const void *a, const void *b)
{
	const struct group_key *x = a, *y = b;

	if (x->verdict != y->verdict)
		return x->verdict < y->verdict ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* Faults first, then the largest. */
static int group_by_weight(const void *a, const void *b)
{
	const struct inspect_group *x = a, *y = b;
	bool x_wrong = x->verdict != VERDICT_WAITING, y_wrong = y->verdict != VERDICT_WAITING;

	if (x_wrong != y_wrong)
		return x_wrong ? -1 : 1;
	if (x->confidence != y->confidence)
		return x->confidence > y->confidence ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Bytes of the frames of a group's stacks; a parent that several share counts once. */
static uint64_t group_bytes(struct inspection *in, const struct inspect_group *g, uint32_t mark)
{
	struct coro_frame *frames = in->table.frames;
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < g->count; i++) {
		uint32_t at = in->members[g->first + i];

		while (at != FRAME_NONE && frame_is_shown(&frames[at]) && frames[at].other != mark) {
			frames[at].other = mark;
			bytes += frames[at].size;
			at = frames[at].parent;
		}
	}
	return bytes;
}

static struct group_key *group_keys(const struct inspection *in, size_t *nr)
{
	struct group_key *keys = calloc(in->table.nr + 1, sizeof(*keys));
	size_t i;

	*nr = 0;
	for (i = 0; keys && i < in->table.nr; i++) {
		const struct coro_frame *f = &in->table.frames[i];

		if (frame_is_shown(f) && !f->has_child)
			keys[(*nr)++] = (struct group_key){ (uint32_t)i, f->stack, frame_verdict(f) };
	}
	if (keys && *nr)
		qsort(keys, *nr, sizeof(*keys), group_by_key);
	return keys;
}

static bool group_is_same(const struct group_key *a, const struct group_key *b)
{
	return a->stack == b->stack && a->verdict == b->verdict;
}

static int groups_make(struct inspection *in)
{
	size_t nr, i;
	struct group_key *keys = group_keys(in, &nr);

	in->groups = calloc(nr + 1, sizeof(*in->groups));
	in->members = calloc(nr + 1, sizeof(*in->members));
	if (!keys || !in->groups || !in->members) {
		free(keys);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++) {
		if (!i || !group_is_same(&keys[i], &keys[i - 1]))
			in->groups[in->nr_groups++] = (struct inspect_group){
				.stack = keys[i].stack - 1,
				.verdict = keys[i].verdict,
				.first = i,
			};
		in->groups[in->nr_groups - 1].count++;
		in->members[i] = keys[i].frame;
	}
	free(keys);
	for (i = 0; i < in->table.nr; i++)
		in->table.frames[i].other = FRAME_NONE;
	for (i = 0; i < in->nr_groups; i++)
		in->groups[i].bytes = group_bytes(in, &in->groups[i], (uint32_t)i);
	return 0;
}

/* ---- verdicts --------------------------------------------------------------------- */

static void groups_judge(struct inspection *in)
{
	size_t i;

	for (i = 0; i < in->nr_groups; i++) {
		struct inspect_group *g = &in->groups[i];

		if (g->verdict != VERDICT_UNREACHABLE)
			continue;
		g->reason = "no pointer to it exists: it can never be resumed";
		g->confidence = in->doubt[0] ? INSPECT_SUSPECT : INSPECT_PROVEN;
		g->doubt = in->doubt[0] ? in->doubt : NULL;
	}
	if (in->nr_groups)
		qsort(in->groups, in->nr_groups, sizeof(*in->groups), group_by_weight);
}

static size_t inspection_count_unreached(const struct inspection *in)
{
	size_t i, nr = 0;

	for (i = 0; i < in->table.nr; i++)
		nr += in->table.frames[i].state == FRAME_SUSPENDED &&
		      !in->table.frames[i].is_reached;
	return nr;
}

static void inspection_doubt(struct inspection *in, const char *why)
{
	if (!in->doubt[0])
		snprintf(in->doubt, sizeof(in->doubt), "%s", why);
}

static void inspection_doubt_registers(struct inspection *in)
{
	size_t i, unknown = 0;

	for (i = 0; i < in->image->nr_threads; i++)
		unknown += !in->image->threads[i].has_registers;
	if (unknown) {
		char text[128];

		snprintf(text, sizeof(text), "the registers of %zu threads were not read", unknown);
		inspection_doubt(in, text);
	}
}

/* Keep as unreached only what both looks found so. */
static int inspection_mark_twice(struct inspection *in, struct err *err)
{
	struct image_thread *before;
	size_t nr_before = in->image->nr_threads, i;
	uint8_t *reached;
	int rc;

	reached = calloc(in->table.nr + 1, 1);
	before = calloc(nr_before + 1, sizeof(*before));
	if (!reached || !before) {
		free(reached);
		free(before);
		return -ENOMEM;
	}
	for (i = 0; i < in->table.nr; i++)
		reached[i] = in->table.frames[i].is_reached;
	memcpy(before, in->image->threads, nr_before * sizeof(*before));
	nanosleep(&(struct timespec){ .tv_nsec = SECOND_LOOK_MS * 1000000L }, NULL);
	rc = frame_marks_set(in->image, &in->table, NULL, 0);
	if (!rc)
		rc = image_read_threads(in->image, err);
	if (!rc && !image_threads_idle(before, nr_before, in->image->threads,
				       in->image->nr_threads))
		inspection_doubt(in, "threads ran between the two looks");
	for (i = 0; !rc && i < in->table.nr; i++)
		in->table.frames[i].is_reached = in->table.frames[i].is_reached || reached[i];
	free(reached);
	free(before);
	return rc;
}

static int inspection_mark(struct inspection *in, struct err *err)
{
	int rc = frame_marks_set(in->image, &in->table, NULL, 0);

	if (!rc && in->image->kind == IMAGE_RUNNING && inspection_count_unreached(in))
		rc = inspection_mark_twice(in, err);
	inspection_doubt_registers(in);
	if (in->image->has_io_uring)
		inspection_doubt(in, "the program uses io_uring: pointers may be in the kernel");
	if (in->image->bytes_swapped)
		inspection_doubt(in, "some memory is swapped out and was not read");
	if (in->image->bytes_failed)
		inspection_doubt(in, "some memory could not be read");
	return rc;
}

/* ---- the look --------------------------------------------------------------------- */

static void inspection_count(struct inspection *in)
{
	size_t i;

	for (i = 0; i < in->table.nr; i++) {
		switch (in->table.frames[i].state) {
		case FRAME_SUSPENDED:
			in->nr_suspended++;
			break;
		case FRAME_FINISHED:
			in->nr_finished++;
			break;
		case FRAME_RUNNING:
			in->nr_running++;
			break;
		default:
			break;
		}
	}
}

int inspection_look(struct inspection *in, struct err *err)
{
	int rc = frame_scan(in->image, in->types, &in->table, err);
	int64_t changed;

	if (rc < 0)
		return rc;
	rc = frame_links_read(in->image, in->types, &in->table);
	if (!rc)
		rc = inspection_mark(in, err);
	changed = rc ? 0 : frame_links_check(in->image, in->types, &in->table);
	if (changed < 0)
		rc = (int)changed;
	else
		in->nr_changed = (size_t)changed;
	if (!rc)
		rc = stacks_resolve(in);
	if (!rc)
		rc = groups_make(in);
	if (rc < 0)
		return err->code ? err->code
				 : err_set(err, rc, "no memory to inspect process %d",
					   (int)in->image->pid);
	inspection_count(in);
	groups_judge(in);
	return 0;
}

/* ---- names ------------------------------------------------------------------------ */

const char *inspect_verdict_name(enum inspect_verdict verdict)
{
	static const char *const names[VERDICT_COUNT] = {
		[VERDICT_WAITING] = "waiting",
		[VERDICT_UNREACHABLE] = "unreachable",
		[VERDICT_READY_NOT_TAKEN] = "ready-not-taken",
		[VERDICT_CLOSED] = "closed-under-waiter",
		[VERDICT_DEADLINE_PASSED] = "deadline-passed",
		[VERDICT_DEADLOCK] = "deadlock",
	};

	return names[verdict];
}

const char *inspect_confidence_name(enum inspect_confidence confidence)
{
	static const char *const names[] = {
		[INSPECT_NONE] = "none",
		[INSPECT_SUSPECT] = "suspect",
		[INSPECT_STRONG] = "strong",
		[INSPECT_PROVEN] = "proven",
	};

	return names[confidence];
}

struct inspect_place inspection_place(struct inspection *in, uint32_t level)
{
	const struct inspect_level *l = &in->levels[level];
	const struct coro_type *type = coro_types_get(in->types, l->type);
	const struct coro_point *point = l->is_read ? coro_type_point(type, l->index) : NULL;
	struct inspect_place place = {
		.function = type->function,
		.file = type->file,
		.line = type->line,
	};

	if (point && point->file) {
		place.file = point->file;
		place.line = point->line;
		place.is_exact = true;
		place.is_initial = point->is_initial;
		place.awaits = point->awaits;
	}
	return place;
}
