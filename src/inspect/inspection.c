/* SPDX-License-Identifier: MIT */
/* inspection.c - look at the coroutines of a process and group them by their stacks. */
#include "inspect/inspection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory_shortage.h"
#include "base/u64map.h"
#include "inspect/frame_links.h"
#include "inspect/frame_scan.h"
#include "inspect/reachability.h"
#include "inspect/tokio_groups.h"
#include "inspect/tokio_verdicts.h"
#include "inspect/verdicts.h"

#define DEPTH_MAX      100000
#define SECOND_LOOK_MS 200
#define LOOKS_MAX      3

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
	}
	if (!in || !in->types || inspection_add_modules(in) < 0) {
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
	tokio_tasks_release(&in->tokio);
	described_waits_release(&in->described);
	deadlocks_release(&in->deadlocks);
	if (in->types)
		coro_types_store(in->types);
	coro_types_free(in->types);
	kernel_state_close(&in->kernel);
	native_stacks_release(&in->native);
	u64map_release(&in->stacks);
	free(in->waits);
	free(in->stopped);
	free(in->levels);
	free(in->groups);
	free(in->members);
	free(in);
}

/* ---- stacks ---------------------------------------------------------------------- */

uint32_t inspection_add_level(struct inspection *in, const struct inspect_level *level)
{
	if (in->nr_levels == in->room_levels) {
		size_t room = in->room_levels ? in->room_levels * 2 : 64;
		struct inspect_level *more = reallocarray(in->levels, room, sizeof(*more));

		if (!more) {
			memory_shortage_note();
			return 0;
		}
		in->levels = more;
		in->room_levels = room;
	}
	in->levels[in->nr_levels] = *level;
	in->levels[in->nr_levels].depth = level->parent ? in->levels[level->parent - 1].depth + 1
							: 1;
	return (uint32_t)++in->nr_levels;
}

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
	};
	uint64_t *slot;

	/* Another stack with the same key has its own slot further on. */
	for (;; key++) {
		const struct inspect_level *known;

		slot = u64map_at(&in->stacks, key);
		if (!slot)
			return 0;
		if (!*slot)
			break;
		known = &in->levels[*slot - 1];
		if (!known->rust && known->parent == parent && known->type == f->type &&
		    known->index == f->index && known->is_read == f->is_read)
			return (uint32_t)*slot;
	}
	*slot = inspection_add_level(in, &level);
	return (uint32_t)*slot;
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

struct group_key {
	uint32_t frame, stack;
	const struct frame_wait *wait;
};

static int group_by_key(const void *a, const void *b)
{
	const struct group_key *x = a, *y = b;

	if (x->wait->verdict != y->wait->verdict)
		return x->wait->verdict < y->wait->verdict ? -1 : 1;
	if (x->wait->confidence != y->wait->confidence)
		return x->wait->confidence < y->wait->confidence ? -1 : 1;
	if (x->wait->reason != y->wait->reason)
		return x->wait->reason < y->wait->reason ? -1 : 1;
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

		while (at != FRAME_NONE && frame_is_shown(&frames[at]) &&
		       frames[at].other != mark) {
			frames[at].other = mark;
			/* The memory of an inner frame is counted with the outer one. */
			bytes += frames[at].outer == FRAME_NONE ? frames[at].size : 0;
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
			keys[(*nr)++] = (struct group_key){ (uint32_t)i, f->stack, &in->waits[i] };
	}
	if (keys && *nr)
		qsort(keys, *nr, sizeof(*keys), group_by_key);
	return keys;
}

static bool group_is_same(const struct group_key *a, const struct group_key *b)
{
	return a->stack == b->stack && a->wait->verdict == b->wait->verdict &&
	       a->wait->confidence == b->wait->confidence && a->wait->reason == b->wait->reason;
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
				.verdict = keys[i].wait->verdict,
				.confidence = keys[i].wait->confidence,
				.reason = keys[i].wait->reason,
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

static bool frame_is_leaf(const struct coro_frame *f)
{
	return frame_is_shown(f) && !f->has_child;
}

/* Judge every innermost frame by what the kernel says; returns the number of faults. */
static size_t waits_judge(struct inspection *in)
{
	struct judge_context context = {
		.has_io_uring = in->image->has_io_uring,
		.has_epoll = in->kernel.nr_watches > 0,
	};
	size_t i, faults = 0;

	for (i = 0; i < in->table.nr; i++) {
		const struct kernel_descriptor *d;

		if (!frame_is_leaf(&in->table.frames[i]))
			continue;
		d = in->waits[i].fd >= 0 ? kernel_state_ask(&in->kernel, in->waits[i].fd) : NULL;
		wait_judge(&in->waits[i], d, &context);
		faults += in->waits[i].verdict != VERDICT_WAITING;
	}
	return faults;
}

static void waits_withdraw(struct inspection *in)
{
	size_t i;

	for (i = 0; i < in->table.nr; i++)
		wait_judge(&in->waits[i], NULL, NULL);
}

/* A frame without pointers to it; the kernel's verdict stays if it is the stronger one. */
static void waits_judge_unreached(struct inspection *in)
{
	static const char reason[] = "no pointer to it exists: it can never be resumed";
	size_t i;

	for (i = 0; i < in->table.nr; i++) {
		const struct coro_frame *f = &in->table.frames[i];
		struct frame_wait *wait = &in->waits[i];
		/* Memory of another allocator may be free, and still look like a frame. */
		bool is_sure = !in->doubt[0] && f->is_block && !f->is_doubtful;
		enum inspect_confidence confidence = is_sure ? INSPECT_PROVEN : INSPECT_SUSPECT;

		if (!frame_is_leaf(f) || f->is_reached || wait->confidence > confidence)
			continue;
		wait->verdict = VERDICT_UNREACHABLE;
		wait->confidence = (uint8_t)confidence;
		wait->reason = reason;
	}
}

static size_t inspection_count_unreached(const struct inspection *in)
{
	size_t i, nr = 0;

	for (i = 0; i < in->table.nr; i++)
		nr += frame_is_leaf(&in->table.frames[i]) && !in->table.frames[i].is_reached;
	return nr;
}

/* Copy of the threads, for image_threads_idle(). */
static struct image_thread *threads_copy(const struct process_image *image, size_t *nr)
{
	struct image_thread *copy = calloc(image->nr_threads + 1, sizeof(*copy));

	*nr = image->nr_threads;
	if (copy)
		memcpy(copy, image->threads, *nr * sizeof(*copy));
	return copy;
}

/*
 * The second look.  1: nothing has changed and no thread has run; 0: something has; a negative
 * errno.
 */
static int inspection_look_again(struct inspection *in, struct err *err)
{
	size_t nr_before;
	struct image_thread *before = threads_copy(in->image, &nr_before);
	bool is_same;
	int rc;

	if (!before)
		return -ENOMEM;
	nanosleep(&(struct timespec){ .tv_nsec = SECOND_LOOK_MS * 1000000L }, NULL);
	is_same = kernel_state_confirm(&in->kernel);
	rc = inspection_mark_again(in, err);
	tokio_tasks_confirm(in);
	if (!rc)
		rc = inspection_read_threads(in, err);
	if (!rc)
		rc = is_same && image_threads_idle(before, nr_before, in->image->threads,
						   in->image->nr_threads);
	free(before);
	return rc;
}

static int inspection_judge(struct inspection *in, struct err *err)
{
	int rc = inspection_stop_threads(in), look;
	size_t faults;

	if (!rc)
		rc = inspection_read_threads(in, err);
	if (!rc && !in->native.stacks)
		rc = native_stacks_copy(&in->native, in->image);
	if (!rc)
		rc = native_stacks_unwind(&in->native, in->image, in->types, &in->table);
	if (rc < 0)
		return rc;
	faults = waits_judge(in) + tokio_tasks_judge(in);
	rc = inspection_mark(in, MARK_WORDS, err);
	if (!rc && in->image->kind == IMAGE_CORE && inspection_count_unreached(in))
		rc = inspection_mark_again(in, err);
	if (rc < 0)
		return rc;
	if (in->image->kind == IMAGE_RUNNING && (faults || inspection_count_unreached(in))) {
		for (look = 0, rc = 0; !rc && look < LOOKS_MAX; look++) {
			rc = inspection_stop_again(in);
			if (!rc)
				rc = inspection_look_again(in, err);
			waits_judge(in);
			tokio_tasks_judge(in);
		}
		if (rc < 0)
			return rc;
		if (!rc) {
			in->is_busy = true;
			waits_withdraw(in);
			tokio_tasks_withdraw(in);
			inspection_doubt(in, "threads ran between the looks");
		}
	}
	if (in->kernel.is_saved && (!in->kernel.is_quiet || in->image->has_run)) {
		in->is_busy = true;
		waits_withdraw(in);
		tokio_tasks_withdraw(in);
		inspection_doubt(in, "threads ran while the process was saved");
	}
	if (inspection_count_unreached(in))
		inspection_doubt_all(in);
	waits_judge_unreached(in);
	return 0;
}

static void groups_sort(struct inspection *in)
{
	size_t i;

	for (i = 0; i < in->nr_groups; i++) {
		struct inspect_group *g = &in->groups[i];

		if (g->verdict == VERDICT_UNREACHABLE && g->confidence != INSPECT_PROVEN)
			g->doubt = in->doubt[0] && (!g->is_tokio || in->is_busy)
					   ? in->doubt
					   : "its memory is not known to be allocated, or a "
					     "pointer is in what may not be a frame";
	}
	if (in->nr_groups)
		qsort(in->groups, in->nr_groups, sizeof(*in->groups), group_by_weight);
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

static int inspection_failed(const struct inspection *in, int rc, struct err *err)
{
	int pid = (int)in->image->pid;

	if (err->code)
		return err->code;
	if (rc == -ESRCH)
		return err_set(err, rc, "cannot read process %d: it has ended", pid);
	if (rc == -ESTALE)
		return err_set(err, rc, "cannot read process %d: it has executed another program",
			       pid);
	return err_set(err, rc, "no memory to inspect process %d", pid);
}

int inspection_look(struct inspection *in, struct err *err)
{
	/* The symbols were read since the process was opened: its memory has changed. */
	int rc = image_refresh_ranges(in->image, err);
	int64_t changed;

	if (!rc)
		rc = frame_scan(in->image, in->types, &in->table, err);
	if (rc < 0)
		return rc;
	rc = frame_links_read(in->image, in->types, &in->table);
	in->waits = rc ? NULL : frame_waits_read(in->image, in->types, &in->table);
	if (!rc && !in->waits)
		rc = -ENOMEM;
	if (!rc)
		rc = described_waits_read(&in->described, in->rules, in->image, in->types,
					  &in->table, in->waits);
	if (in->image->kind == IMAGE_RUNNING)
		kernel_state_open(&in->kernel, in->image->pid);
	else if (in->image->kernel_state)
		kernel_state_load(&in->kernel, in->image->kernel_state);
	in->tokio.rules = in->rules;
	if (!rc)
		rc = tokio_tasks_read(&in->tokio, in->image, in->types);
	if (!rc)
		rc = inspection_judge(in, err);
	changed = rc ? 0 : frame_links_check(in->image, in->types, &in->table);
	if (changed < 0)
		rc = (int)changed;
	else
		in->nr_changed = (size_t)changed;
	if (!rc)
		rc = stacks_resolve(in);
	if (!rc)
		rc = groups_make(in);
	if (!rc)
		rc = tokio_groups_make(in);
	if (!rc)
		rc = deadlocks_judge(in, err);
	if (rc < 0)
		return inspection_failed(in, rc, err);
	inspection_count(in);
	tokio_tasks_count(in);
	groups_sort(in);
	return 0;
}

/* ---- save ---------------------------------------------------------------------------- */

int inspection_save(struct process_image *image, const char *path, struct err *err)
{
	struct inspection in = { .image = image };
	size_t nr_before;
	struct image_thread *before = NULL;
	bool is_settled = false;
	int rc = inspection_read_threads(&in, err);

	if (!rc)
		before = threads_copy(image, &nr_before);
	if (!before)
		return rc ? rc
			  : err_set(err, -ENOMEM, "no memory to save process %d", (int)image->pid);
	kernel_state_open(&in.kernel, image->pid);
	kernel_state_ask_all(&in.kernel);
	nanosleep(&(struct timespec){ .tv_nsec = SECOND_LOOK_MS * 1000000L }, NULL);
	is_settled = kernel_state_confirm(&in.kernel);
	rc = inspection_read_threads(&in, err);
	is_settled = is_settled && !rc &&
		     image_threads_idle(before, nr_before, image->threads, image->nr_threads);
	free(before);
	free(image->kernel_state);
	image->kernel_state = kernel_state_save(&in.kernel, is_settled);
	kernel_state_close(&in.kernel);
	return rc ? rc : image_save(image, path, err);
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

struct inspect_place inspection_coroutine_place(struct inspection *in, uint32_t number,
						bool is_read, uint32_t index)
{
	const struct coro_type *type = coro_types_get(in->types, number);
	const struct coro_point *point = is_read ? coro_type_point(type, index) : NULL;
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

struct inspect_place inspection_place(struct inspection *in, uint32_t level)
{
	const struct inspect_level *l = &in->levels[level];

	if (l->rust)
		return tokio_place(l->rust);
	return inspection_coroutine_place(in, l->type, l->is_read, l->index);
}
