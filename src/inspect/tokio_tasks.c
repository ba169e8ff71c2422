/* SPDX-License-Identifier: MIT */
/* tokio_tasks.c - find Tokio's tasks in the memory of a process. */
#include "inspect/tokio_tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/heap_walk.h"

/* Bits of a task's state; the rest counts references.  The same since Tokio 1.0. */
#define TASK_RUNNING  1u
#define TASK_COMPLETE 2u
#define TASK_REF_ONE  64u
#define TASK_REFS_MAX ((uint64_t)1 << 24) /* more: memory that was freed */

#define PIECE_SIZE    ((size_t)1 << 20)
#define HEADER_MAX    64    /* bytes to the end of state and table */
#define TASK_COPY_MAX 16384 /* a larger task is read piece by piece */
#define READ_ONLY_MAX ((uint64_t)256 << 20)

struct task_scanner {
	struct process_image *image;
	struct tokio_tasks *tasks;
	struct u64map polls; /* address of a poll function to 1 + number of its type */
};

/* Memory of the process, of which a part was copied before. */
struct task_memory {
	const struct process_image *image;
	uint64_t addr; /* of the copy */
	const uint8_t *copy;
	size_t size;
};

static bool task_memory_read(void *arg, uint64_t addr, void *buf, size_t size)
{
	const struct task_memory *m = arg;

	if (addr >= m->addr && size <= m->size && addr - m->addr <= m->size - size) {
		memcpy(buf, m->copy + (addr - m->addr), size);
		return true;
	}
	return image_read(m->image, addr, buf, size) == (ssize_t)size;
}

/* ---- tables of functions ----------------------------------------------------------- */

static int task_tables_scan_in(struct task_scanner *s, const uint64_t *words, size_t nr,
			       uint64_t addr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		uint64_t type, table;

		if (!words[i] || !u64map_get(&s->polls, words[i], &type))
			continue;
		table = addr + i * 8 - rust_futures_type(s->tasks->futures, type - 1)->poll_offset;
		if (u64map_put(&s->tasks->tables, table, type) < 0)
			return -ENOMEM;
		if (table < s->tasks->low || !s->tasks->low)
			s->tasks->low = table;
		s->tasks->high = table > s->tasks->high ? table : s->tasks->high;
	}
	return 0;
}

static int task_tables_scan(struct task_scanner *s)
{
	uint64_t *words = malloc(PIECE_SIZE), left = READ_ONLY_MAX;
	size_t i;
	int rc = words ? 0 : -ENOMEM;

	for (i = 0; !rc && i < s->image->nr_ranges; i++) {
		const struct image_range *range = &s->image->ranges[i];
		uint64_t at;

		if (!range->can_read || range->can_write || range->can_execute || !range->path ||
		    range->path[0] != '/')
			continue;
		for (at = range->start; !rc && at < range->end && left >= PIECE_SIZE;
		     at += PIECE_SIZE, left -= PIECE_SIZE) {
			uint64_t size = range->end - at < PIECE_SIZE ? range->end - at : PIECE_SIZE;
			ssize_t got = image_read(s->image, at, words, (size_t)size);

			if (got > 0)
				rc = task_tables_scan_in(s, words, (size_t)got / 8, at);
		}
	}
	free(words);
	return rc;
}

/* ---- tasks -------------------------------------------------------------------------- */

static bool task_state_is_sane(uint64_t state)
{
	return state >= TASK_REF_ONE && state / TASK_REF_ONE < TASK_REFS_MAX;
}

static int task_add(struct task_scanner *s, struct task_memory *memory, uint64_t addr,
		    uint32_t type)
{
	struct tokio_tasks *t = s->tasks;
	const struct rust_task_type *layout = rust_futures_type(t->futures, type);
	struct tokio_task task = { .addr = addr, .type = type, .size = layout->size };

	if (!layout->alignment || addr % layout->alignment ||
	    !rust_futures_state(layout, addr, task_memory_read, memory, &task.state) ||
	    !task_state_is_sane(task.state) || (task.state & TASK_COMPLETE))
		return 0;
	if (task.state & TASK_RUNNING) {
		uint64_t *running = u64map_at(&t->running, type);

		if (!running)
			return -ENOMEM;
		++*running;
		t->nr_running++;
		return 0;
	}
	if (t->nr == t->room) {
		size_t room = t->room ? t->room * 2 : 64;
		struct tokio_task *more = reallocarray(t->tasks, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		t->tasks = more;
		t->room = room;
	}
	t->tasks[t->nr++] = task;
	return 0;
}

static bool task_range_is_stack(const struct process_image *image, const struct image_range *range)
{
	size_t i;

	if (range->path && !strncmp(range->path, "[stack", 6))
		return true;
	for (i = 0; i < image->nr_threads; i++) {
		if (image->threads[i].sp >= range->start && image->threads[i].sp < range->end)
			return true;
	}
	return false;
}

/*
 * Without types: the table is the third word of a task, or the fifth in old versions, where the
 * third is a pointer or 0.
 */
static void task_assume_layout(struct task_scanner *s, struct task_memory *memory, uint32_t type,
			       uint64_t at)
{
	const struct rust_task_type *layout = rust_futures_type(s->tasks->futures, type);
	uint64_t state;

	if (!layout->is_untyped || layout->alignment)
		return;
	if (task_memory_read(memory, at - 16, &state, 8) && task_state_is_sane(state))
		rust_futures_assume(s->tasks->futures, 16);
	else if (task_memory_read(memory, at - 32, &state, 8) && task_state_is_sane(state))
		rust_futures_assume(s->tasks->futures, 32);
}

static int task_scan_piece(void *arg, const struct image_range *range, uint64_t addr,
			   const void *data, size_t size)
{
	struct task_scanner *s = arg;
	struct task_memory memory = { s->image, addr, data, size };
	const uint64_t *words = data;
	size_t i;
	int rc = 0;

	if (task_range_is_stack(s->image, range))
		return 0;
	for (i = 0; !rc && i < size / 8; i++) {
		uint64_t type;

		if (words[i] < s->tasks->low || words[i] > s->tasks->high ||
		    !u64map_get(&s->tasks->tables, words[i], &type))
			continue;
		type--;
		task_assume_layout(s, &memory, (uint32_t)type, addr + i * 8);
		rc = task_add(s, &memory,
			      addr + i * 8 -
				      rust_futures_type(s->tasks->futures, type)->vtable_offset,
			      (uint32_t)type);
	}
	return rc;
}

static void task_places_free(struct rust_stack *places)
{
	if (places)
		rust_stack_release(places);
	free(places);
}

/* Table and state are those of a suspended task.  Both are near each other: one read. */
static bool task_is_suspended(const struct tokio_tasks *t, const struct tokio_task *task,
			      struct process_image *image, uint64_t *state)
{
	const struct rust_task_type *layout = rust_futures_type(t->futures, task->type);
	uint8_t header[HEADER_MAX];
	struct task_memory memory = { .image = image, .addr = task->addr, .copy = header };
	size_t last = layout->vtable_offset > layout->state_offset ? layout->vtable_offset
								   : layout->state_offset;
	uint64_t table = 0, type = 0;

	if (last + 8 <= sizeof(header) &&
	    image_read(image, task->addr, header, last + 8) == (ssize_t)last + 8)
		memory.size = last + 8;
	return rust_futures_state(layout, task->addr, task_memory_read, &memory, state) &&
	       task_memory_read(&memory, task->addr + layout->vtable_offset, &table, 8) &&
	       u64map_get(&t->tables, table, &type) && type - 1 == task->type &&
	       task_state_is_sane(*state) && !(*state & (TASK_RUNNING | TASK_COMPLETE));
}

/*
 * Read the future from a copy of the task, and the header after it: a task that has changed was
 * running.
 */
static struct rust_stack *task_read_future(struct tokio_tasks *t, struct tokio_task *task,
					   struct process_image *image)
{
	const struct rust_task_type *layout = rust_futures_type(t->futures, task->type);
	uint8_t copy[TASK_COPY_MAX];
	struct task_memory memory = { .image = image, .addr = task->addr, .copy = copy };
	struct rust_stack *places = malloc(sizeof(*places));
	uint64_t state;

	if (!places)
		return NULL;
	if (layout->size && layout->size <= sizeof(copy) &&
	    image_read(image, task->addr, copy, layout->size) == (ssize_t)layout->size)
		memory.size = layout->size;
	if (rust_futures_read(t->futures, task->type, task->addr, task_memory_read, &memory,
			      places) &&
	    !places->is_finished && task_is_suspended(t, task, image, &state)) {
		task->state = state;
		task->owner = 0;
		if (layout->owner_offset)
			task_memory_read(&memory, task->addr + layout->owner_offset, &task->owner,
					 8);
		return places;
	}
	task_places_free(places);
	return NULL;
}

bool tokio_task_read_again(struct tokio_tasks *t, struct tokio_task *task,
			   struct process_image *image)
{
	struct rust_stack *places = task_read_future(t, task, image);

	if (!places)
		return false;
	task_places_free(task->places);
	task->places = places;
	return true;
}

static void tasks_read_futures(struct task_scanner *s)
{
	struct tokio_tasks *t = s->tasks;
	size_t i, kept = 0;

	for (i = 0; i < t->nr; i++) {
		struct tokio_task task = t->tasks[i];

		task.places = task_read_future(t, &task, s->image);
		if (task.places)
			t->tasks[kept++] = task;
		else
			t->nr_changed++;
	}
	t->nr = kept;
}

/* ---- freed memory ------------------------------------------------------------------- */

static int task_by_address(const void *a, const void *b)
{
	const struct tokio_task *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Drop the tasks in memory that was freed, as far as the allocator is known. */
static int tasks_check_memory(struct task_scanner *s)
{
	struct tokio_tasks *t = s->tasks;
	struct frame_table table = { 0 };
	size_t i, kept = 0;
	int64_t rc = 0;

	if (!t->nr)
		return 0;
	qsort(t->tasks, t->nr, sizeof(*t->tasks), task_by_address);
	for (i = 0; !rc && i < t->nr; i++) {
		struct coro_frame frame = {
			.addr = t->tasks[i].addr,
			.size = t->tasks[i].size,
			.has_guessed_size = !t->tasks[i].size,
		};

		rc = frame_table_add(&table, &frame);
	}
	if (!rc) {
		frame_table_sort(&table);
		rc = heap_walk_frames(s->image, &table);
	}
	for (i = 0; rc >= 0 && i < t->nr; i++) {
		if (table.frames[i].state == FRAME_INVALID)
			continue;
		t->tasks[kept] = t->tasks[i];
		t->tasks[kept].size = table.frames[i].size;
		t->tasks[kept++].is_allocated = table.frames[i].is_allocated;
	}
	t->nr = rc >= 0 ? kept : t->nr;
	frame_table_release(&table);
	return rc < 0 ? (int)rc : 0;
}

/* ---- all of it ----------------------------------------------------------------------- */

static int tasks_find_tables(struct task_scanner *s)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < rust_futures_count(s->tasks->futures); i++)
		rc = u64map_put(&s->polls, rust_futures_type(s->tasks->futures, i)->poll, i + 1);
	if (!rc && i)
		rc = task_tables_scan(s);
	u64map_release(&s->polls);
	return rc;
}

/* Types and tables of the program. */
static int tasks_learn(struct task_scanner *s, struct coro_types *types)
{
	struct tokio_tasks *t = s->tasks;
	size_t i;
	int rc = 0;

	t->futures = rust_futures_new();
	if (!t->futures || rust_futures_describe(t->futures, t->rules) < 0)
		return -ENOMEM;
	for (i = 0; !rc && i < s->image->nr_modules; i++) {
		struct Dwfl_Module *module = NULL;
		size_t before = rust_futures_count(t->futures);

		if (coro_types_may_have_tokio(types, i))
			module = coro_types_module(types, i);
		if (module)
			rc = rust_futures_add(t->futures, module);
		if (module && !rc && rust_futures_count(t->futures) == before)
			coro_types_set_no_tokio(types, i);
	}
	return rc ? rc : tasks_find_tables(s);
}

int tokio_tasks_read(struct tokio_tasks *t, struct process_image *image, struct coro_types *types)
{
	struct task_scanner s = { .image = image, .tasks = t };
	int rc = t->futures ? 0 : tasks_learn(&s, types);

	if (!rc && t->high)
		rc = image_visit(image, task_scan_piece, &s);
	if (!rc)
		rc = tasks_check_memory(&s);
	if (!rc)
		tasks_read_futures(&s);
	return rc;
}

void tokio_tasks_forget(struct tokio_tasks *t)
{
	size_t i;

	for (i = 0; i < t->nr; i++)
		task_places_free(t->tasks[i].places);
	t->nr = t->nr_running = t->nr_changed = 0;
	u64map_release(&t->running);
}

void tokio_tasks_release(struct tokio_tasks *t)
{
	tokio_tasks_forget(t);
	free(t->tasks);
	rust_futures_free(t->futures);
	u64map_release(&t->tables);
	*t = (struct tokio_tasks){ 0 };
}
