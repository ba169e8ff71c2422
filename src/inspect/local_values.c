/* SPDX-License-Identifier: MIT */
/* local_values.c - read the variables of suspended coroutines. */
#include "inspect/local_values.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "base/u64map.h"
#include "inspect/frame_stillness.h"
#include "process/page_residency.h"
#include "symbols/local_value.h"
#include "symbols/member_path.h"
#include "symbols/type_name.h"
#include "symbols/variable_list.h"

#define LOCALS_FRAME_MAX  (1u << 20)
#define LOCALS_LEVELS_MAX 256
#define LOCALS_DIES_MAX   (1u << 16) /* visited for one coroutine */
#define LOCALS_RUNS       4
#define LOCALS_NO_INDEX   UINT32_MAX
#define LOCALS_TASK_BUSY  3u /* bits of a task's state: running, complete */
#define LOCALS_HEAD       64 /* bytes that are compared if the frame's size is unknown */
#define LOCALS_ATTEMPTS   3

struct locals_level {
	struct local_tree tree;
	const char *problem;
};

struct local_values {
	struct inspection *in;
	bool show_values;
	struct page_residency residency;
	struct frame_stillness stillness;
	struct u64map lists; /* type and index to 1 + number of the list */
	struct variable_list **all;
	size_t nr_lists;
	struct locals_level *levels;
	size_t nr_levels, room_levels;
	/* The coroutine that is being read. */
	uint64_t addr;
	uint8_t *copy, *again;
	uint32_t size;
};

static const char locals_ran[] = "its memory changed while it was read: it ran";
static const char locals_memory[] = "its memory cannot be read";

static struct local_values *local_values_open(struct inspection *in, bool show_values)
{
	struct local_values *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->in = in;
	v->show_values = show_values;
	v->residency.fd = -1;
	v->copy = malloc(LOCALS_FRAME_MAX);
	v->again = malloc(LOCALS_FRAME_MAX);
	if (!v->copy || !v->again ||
	    frame_stillness_begin(&v->stillness, in->image, &in->table) < 0 ||
	    (in->image->kind == IMAGE_RUNNING &&
	     residency_open(&v->residency, in->image->pid) < 0)) {
		local_values_free(v);
		return NULL;
	}
	return v;
}

struct local_values *local_values_new(struct inspection *in, bool show_values)
{
	int before = memory_shortage_watch();
	struct local_values *v = local_values_open(in, show_values);

	memory_shortage_check(before);
	return v;
}

void local_values_free(struct local_values *values)
{
	size_t i;

	if (!values)
		return;
	for (i = 0; i < values->nr_lists; i++)
		variable_list_free(values->all[i]);
	for (i = 0; i < values->room_levels; i++)
		local_tree_release(&values->levels[i].tree);
	residency_close(&values->residency);
	frame_stillness_release(&values->stillness);
	u64map_release(&values->lists);
	free(values->all);
	free(values->levels);
	free(values->copy);
	free(values->again);
	free(values);
}

/* ---- memory ----------------------------------------------------------------------------- */

/* All pages are in memory: reading them loads nothing, and waits for nothing. */
static bool locals_resident(struct local_values *v, uint64_t addr, size_t size)
{
	struct page_run runs[LOCALS_RUNS];
	uint64_t page = v->residency.page, at, end, after;
	ssize_t nr, i;

	if (v->residency.fd < 0)
		return true;
	if (addr + size < addr || !size)
		return false;
	at = addr / page * page;
	end = (addr + size - 1) / page * page + page;
	if (end < addr)
		return false;
	nr = residency_find(&v->residency, at, end, runs, LOCALS_RUNS, &after);
	for (i = 0; i < nr; i++) {
		if (!runs[i].is_swapped && runs[i].start <= at && runs[i].end > at)
			at = runs[i].end;
	}
	return at >= end;
}

/* From the copy of the coroutine, or else from the process. */
static bool locals_memory_read(void *arg, uint64_t addr, void *buf, size_t size)
{
	struct local_values *v = arg;

	if (addr >= v->addr && addr - v->addr < v->size && v->size - (addr - v->addr) >= size) {
		memcpy(buf, v->copy + (addr - v->addr), size);
		return true;
	}
	return locals_resident(v, addr, size) &&
	       image_read(v->in->image, addr, buf, size) == (ssize_t)size;
}

static bool locals_copy(struct local_values *v, uint64_t addr, uint32_t size, uint8_t *to)
{
	return image_read(v->in->image, addr, to, size) == (ssize_t)size;
}

/* ---- levels ------------------------------------------------------------------------------ */

static struct locals_level *locals_more(struct local_values *v)
{
	if (v->nr_levels == LOCALS_LEVELS_MAX)
		return NULL;
	if (v->nr_levels == v->room_levels) {
		size_t room = v->room_levels ? v->room_levels * 2 : 8, i;
		struct locals_level *more = reallocarray(v->levels, room, sizeof(*more));

		if (!more) {
			memory_shortage_note();
			return NULL;
		}
		for (i = v->room_levels; i < room; i++)
			more[i] = (struct locals_level){ 0 };
		v->levels = more;
		v->room_levels = room;
	}
	local_tree_clear(&v->levels[v->nr_levels].tree);
	v->levels[v->nr_levels].problem = NULL;
	return &v->levels[v->nr_levels++];
}

static void locals_fail(struct locals_level *level, const char *problem)
{
	local_tree_clear(&level->tree);
	level->problem = problem;
}

/* ---- frames of C++ -------------------------------------------------------------------------- */

static const struct variable_list *locals_list(struct local_values *v, uint32_t type,
					       uint32_t index)
{
	uint64_t *slot = u64map_at(&v->lists, (uint64_t)type << 32 | index);
	struct variable_list **more, *list;
	struct coro_source source;

	if (!slot)
		return NULL;
	if (*slot)
		return v->all[*slot - 1];
	if (!coro_types_source(v->in->types, type, &source))
		return NULL;
	more = reallocarray(v->all, v->nr_lists + 1, sizeof(struct variable_list *));
	if (!more) {
		memory_shortage_note();
		return NULL;
	}
	v->all = more;
	list = variable_list_read(coro_types_get(v->in->types, type), &source, index);
	if (!list)
		return NULL;
	v->all[v->nr_lists++] = list;
	*slot = v->nr_lists;
	return list;
}

/* The variable where an expression says it is. */
static void locals_add_located(struct local_values *v, struct local_reader *r,
			       const struct frame_variable *var, Dwarf_Die *type)
{
	uint32_t size = type_size(type);
	uint8_t *data = size && size <= LOCAL_OBJECT_MAX ? calloc(2, size) : NULL;
	struct frame_value value = { data, data ? data + size : NULL, size };
	struct local_bytes bytes = { data, value.valid, size };

	if (!data || !frame_location_read(var->base, var->ops, var->nr_ops, v->addr,
					  locals_memory_read, v, &value)) {
		local_value_add_state(r, var->name, type,
				      data   ? "not in memory"
				      : size ? "too large"
					     : "its size is unknown");
	} else {
		if (!memchr(bytes.valid, 0, size))
			bytes.valid = NULL;
		local_value_add(r, var->name, type, &bytes);
	}
	free(data);
}

static void locals_add_variable(struct local_values *v, struct local_reader *r,
				const struct variable_list *list, const struct frame_variable *var)
{
	struct local_bytes bytes = { .data = v->copy, .size = v->size };
	size_t number = r->tree->nr;
	Dwarf_Die type = var->type;

	/* What the memory held before may be of anything. */
	if (var->may_be_unset && !v->show_values) {
		local_value_add_state(r, var->name, &type,
				      list->is_without_scope ? "its suspend point is unknown"
							     : "not set yet, or being set");
	} else if (var->place == VARIABLE_MEMBER) {
		bytes = local_bytes_from(&bytes, var->offset);
		local_value_add(r, var->name, &type, &bytes);
	} else if (var->place == VARIABLE_LOCATED) {
		locals_add_located(v, r, var, &type);
	} else {
		local_value_add_state(r, var->name, &type, "optimized out");
	}
	if (r->tree->nr > number) {
		r->tree->nodes[number].is_parameter = var->is_parameter;
		r->tree->nodes[number].may_be_unset = var->may_be_unset;
	}
}

static bool locals_frame_same(const struct local_values *v, const struct coro_type *type,
			      const struct coro_frame *f, const uint8_t *bytes)
{
	uint64_t resume, index = 0;

	memcpy(&resume, bytes, 8);
	if (resume != type->resume)
		return false;
	if (!f->is_read)
		return true;
	if (type->index_size > 8 || type->index_offset + type->index_size > v->size)
		return false;
	memcpy(&index, bytes + type->index_offset, type->index_size);
	return (uint32_t)index == f->index;
}

/* Read it; why that failed, or NULL. */
static const char *locals_try_frame(struct local_values *v, uint32_t number,
				    const struct variable_list *list, struct local_tree *tree)
{
	const struct coro_frame *f = &v->in->table.frames[number];
	const struct coro_type *type = coro_types_get(v->in->types, f->type);
	struct local_reader r = {
		.tree = tree,
		.read = locals_memory_read,
		.arg = v,
		.show_values = v->show_values,
		.left = LOCALS_DIES_MAX,
	};
	uint32_t compared = f->has_guessed_size && v->size > LOCALS_HEAD ? LOCALS_HEAD : v->size;
	size_t i;

	if (!locals_copy(v, v->addr, v->size, v->copy))
		return locals_memory;
	if (!locals_frame_same(v, type, f, v->copy))
		return locals_ran;
	for (i = 0; i < list->nr; i++)
		locals_add_variable(v, &r, list, &list->variables[i]);
	if (v->in->image->kind != IMAGE_RUNNING)
		return NULL;
	if (v->stillness.is_unsettled)
		return "a thread that may run it got no processor";
	if (!locals_copy(v, v->addr, v->size, v->again) || memcmp(v->copy, v->again, compared) != 0)
		return locals_ran;
	return f->has_guessed_size || v->size != f->size ||
			       frame_stillness_holds(&v->stillness, number, v->copy, v->size)
		       ? NULL
		       : locals_ran;
}

static void locals_read_frame(struct local_values *v, uint32_t number)
{
	const struct coro_frame *f = &v->in->table.frames[number];
	const struct variable_list *list = locals_list(v, f->type,
						       f->is_read ? f->index : LOCALS_NO_INDEX);
	struct locals_level *level = locals_more(v);
	const char *problem;

	if (!level)
		return;
	v->addr = f->addr;
	v->size = f->size < LOCALS_FRAME_MAX ? f->size : LOCALS_FRAME_MAX;
	if (!list || list->is_without_types || v->size < 16) {
		level->problem = "the debug information does not describe it";
		return;
	}
	problem = locals_try_frame(v, number, list, &level->tree);
	if (problem)
		locals_fail(level, problem);
}

static void locals_read_frames(struct local_values *v, uint32_t leaf)
{
	uint32_t at = leaf;

	while (at != FRAME_NONE && v->in->table.frames[at].state == FRAME_SUSPENDED &&
	       v->nr_levels < LOCALS_LEVELS_MAX) {
		locals_read_frame(v, at);
		at = v->in->table.frames[at].parent;
	}
}

/* ---- tasks of Tokio ---------------------------------------------------------------------------
 */

static bool locals_has_name(const struct local_tree *tree, const char *name)
{
	size_t i;

	for (i = 0; i < tree->nr; i = tree->nodes[i].end) {
		if (tree->nodes[i].name && !strcmp(tree->nodes[i].name, name))
			return true;
	}
	return false;
}

/* The members of a variant: what is awaited, variables, and captured variables. */
static void locals_add_level(void *arg, Dwarf_Die *variant, uint64_t addr)
{
	struct local_values *v = arg;
	struct locals_level *level = locals_more(v);
	struct local_reader r;
	uint32_t size = type_size(variant);
	uint8_t *data = size && size <= LOCALS_FRAME_MAX ? malloc(size) : NULL;
	struct local_bytes all = { .data = data, .size = size };
	Dwarf_Die die, type;

	if (size && size <= LOCALS_FRAME_MAX && !data)
		memory_shortage_note();
	if (!level || !data || !locals_memory_read(v, addr, data, size)) {
		if (level && size)
			level->problem = locals_memory;
		free(data);
		return;
	}
	r = (struct local_reader){
		.tree = &level->tree,
		.read = locals_memory_read,
		.arg = v,
		.show_values = v->show_values,
		.left = LOCALS_DIES_MAX,
	};
	if (dwarf_child(variant, &die) == 0) {
		do {
			const char *name = dwarf_diename(&die);
			struct local_bytes bytes;
			uint32_t offset;

			/* A captured variable that was moved to a variable of the same name. */
			if (!name || !strncmp(name, "__", 2) || !type_of_die(&die, &type) ||
			    !member_start(&die, &offset) || locals_has_name(&level->tree, name))
				continue;
			bytes = local_bytes_from(&all, offset);
			local_value_add(&r, name, &type, &bytes);
		} while (--r.left && dwarf_siblingof(&die, &die) == 0);
	}
	free(data);
}

/* The walk gives the outermost first. */
static void locals_reverse(struct local_values *v)
{
	size_t i;

	for (i = 0; i < v->nr_levels / 2; i++) {
		struct locals_level level = v->levels[i];

		v->levels[i] = v->levels[v->nr_levels - 1 - i];
		v->levels[v->nr_levels - 1 - i] = level;
	}
}

/* Neither running nor completed, by its own state. */
static bool locals_task_rests(const struct local_values *v, const struct tokio_task *task,
			      const uint8_t *bytes)
{
	uint32_t at = rust_futures_type(v->in->tokio.futures, task->type)->state_offset;
	uint64_t state = 0;

	if (v->size < 8 || at > v->size - 8)
		return false;
	memcpy(&state, bytes + at, sizeof(state));
	return !(state & LOCALS_TASK_BUSY);
}

/*
 * Read it once.  False: its memory has changed meanwhile, which other tasks may have done: links of
 * a queue.
 */
static bool locals_try_task(struct local_values *v, const struct tokio_task *task)
{
	v->nr_levels = 0;
	return locals_copy(v, v->addr, v->size, v->copy) && locals_task_rests(v, task, v->copy) &&
	       rust_futures_visit(v->in->tokio.futures, task->type, task->addr, locals_memory_read,
				  v, locals_add_level, v) &&
	       v->nr_levels == task->places->nr &&
	       (v->in->image->kind != IMAGE_RUNNING ||
		(locals_copy(v, v->addr, v->size, v->again) &&
		 !memcmp(v->copy, v->again, v->size)));
}

static void locals_read_task(struct local_values *v, const struct tokio_task *task)
{
	uint32_t size = rust_futures_type(v->in->tokio.futures, task->type)->size;
	size_t i;
	int attempt;

	v->addr = task->addr;
	v->size = size < LOCALS_FRAME_MAX ? size : LOCALS_FRAME_MAX;
	for (attempt = 0; attempt < LOCALS_ATTEMPTS; attempt++) {
		if (locals_try_task(v, task)) {
			locals_reverse(v);
			return;
		}
	}
	v->nr_levels = 0;
	for (i = 0; i < task->places->nr; i++) {
		struct locals_level *level = locals_more(v);

		if (level)
			level->problem = locals_ran;
	}
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

size_t local_values_read(struct local_values *values, const struct inspect_group *group,
			 size_t number)
{
	const struct inspection *in = values->in;

	values->nr_levels = 0;
	if (group->is_tokio)
		locals_read_task(values, &in->tokio.tasks[group->first + number]);
	else
		locals_read_frames(values, in->members[group->first + number]);
	return values->nr_levels;
}

const struct local_tree *local_values_tree(const struct local_values *values, size_t level,
					   const char **problem)
{
	static const struct local_tree none;

	*problem = NULL;
	if (level >= values->nr_levels)
		return &none;
	*problem = values->levels[level].problem;
	return &values->levels[level].tree;
}
