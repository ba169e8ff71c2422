/* SPDX-License-Identifier: MIT */
/* traced_join.c - join the coroutines that the SDK told of with frames and tasks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/inspection.h"
#include "inspect/traced_list.h"

#define LIFE_MEMBER "my_station.life" /* in PromiseMixin */

/* ---- C++ -------------------------------------------------------------------------- */

uint32_t traced_member_offset(const struct coro_type *type)
{
	size_t i, len, end = strlen(LIFE_MEMBER);

	for (i = 0; i < type->nr_fields; i++) {
		const struct coro_field *f = &type->fields[i];

		len = f->in_promise && f->path && f->size == 8 ? strlen(f->path) : 0;
		if (len >= end && !strcmp(f->path + len - end, LIFE_MEMBER))
			return f->offset;
	}
	return 0;
}

struct traced_joiner {
	struct traced_list *list;
	struct inspection *in;
	struct u64map by_entry; /* address of an entry to 1 + number in the list */
	struct u64map offsets;  /* by type: 1 + offset; 0: not known yet */
};

static void traced_mark_joined(struct traced_list *list, size_t number)
{
	if (!list->at[number].is_joined)
		list->nr_joined++;
	list->at[number].is_joined = true;
}

static int traced_join_frame(struct traced_joiner *j, uint32_t number)
{
	const struct coro_frame *f = &j->in->table.frames[number];
	uint64_t *offset = u64map_at(&j->offsets, f->type), entry, found;

	if (!offset)
		return -ENOMEM;
	if (!*offset)
		*offset = 1 + (uint64_t)traced_member_offset(coro_types_get(j->in->types, f->type));
	if (*offset == 1 || image_read(j->in->image, f->addr + *offset - 1, &entry, 8) != 8 ||
	    !entry || !u64map_get(&j->by_entry, entry, &found))
		return 0;
	traced_mark_joined(j->list, found - 1);
	return u64map_put(&j->list->by_frame, number, found);
}

static int traced_join_frames(struct traced_joiner *j)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < j->list->nr; i++) {
		if (j->list->at[i].entry)
			rc = u64map_put(&j->by_entry, j->list->at[i].entry, i + 1);
	}
	for (i = 0; !rc && i < j->in->table.nr; i++) {
		if (j->in->table.frames[i].state != FRAME_INVALID)
			rc = traced_join_frame(j, (uint32_t)i);
	}
	return rc;
}

/* ---- Rust -------------------------------------------------------------------------- */

struct traced_task {
	uint64_t start, end;
	size_t number;
};

static int traced_task_by_start(const void *a, const void *b)
{
	const struct traced_task *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static const struct traced_task *traced_task_at(const struct traced_task *tasks, size_t nr,
						uint64_t addr)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tasks[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && addr < tasks[low - 1].end ? &tasks[low - 1] : NULL;
}

static int traced_join_tasks(struct traced_joiner *j)
{
	const struct tokio_tasks *tokio = &j->in->tokio;
	struct traced_list *list = j->list;
	struct traced_task *tasks = calloc(tokio->nr + 1, sizeof(*tasks));
	size_t i;
	int rc = tasks ? 0 : -ENOMEM;

	for (i = 0; !rc && i < tokio->nr; i++) {
		uint64_t start = tokio->tasks[i].addr;

		tasks[i] = (struct traced_task){
			start,
			start + rust_futures_type(tokio->futures, tokio->tasks[i].type)->size, i
		};
	}
	if (!rc && tokio->nr)
		qsort(tasks, tokio->nr, sizeof(*tasks), traced_task_by_start);
	for (i = list->nr; !rc && i-- > 0;) {
		const struct traced_task *task = traced_task_at(tasks, tokio->nr, list->at[i].addr);
		uint64_t *first = task ? u64map_at(&list->by_task, task->number) : NULL;

		if (!task)
			continue;
		if (!first) {
			rc = -ENOMEM;
			break;
		}
		list->next_of_task[i] = *first;
		*first = i + 1;
		traced_mark_joined(list, i);
	}
	free(tasks);
	return rc;
}

int traced_join(struct traced_list *list, struct inspection *in)
{
	struct traced_joiner j = { .list = list, .in = in };
	int rc;

	list->next_of_task = calloc(list->nr + 1, sizeof(*list->next_of_task));
	rc = list->next_of_task ? traced_join_frames(&j) : -ENOMEM;
	if (!rc)
		rc = traced_join_tasks(&j);
	u64map_release(&j.by_entry);
	u64map_release(&j.offsets);
	return rc;
}

void traced_list_release(struct traced_list *list)
{
	u64map_release(&list->by_frame);
	u64map_release(&list->by_task);
	free(list->next_of_task);
	free(list->at);
	*list = (struct traced_list){ 0 };
}
