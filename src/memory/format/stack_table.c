/* SPDX-License-Identifier: MIT */
/* stack_table.c - the call stacks of a memory trace (CRAY_STACKS chunks), by number. */
#include "memory/format/stack_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "container.h"

#define STACKS_MAX (1u << 22) /* no runtime writes as many */

/* Make room for one more stack of CRAY_FRAMES_MAX frames. */
static int stack_table_reserve(struct stack_table *t)
{
	if (t->nr == t->size) {
		size_t more = t->size ? t->size * 2 : 64;
		struct stack_entry *entry = realloc(t->entry, more * sizeof(*entry));

		if (!entry)
			return -ENOMEM;
		t->entry = entry;
		t->size = more;
	}
	if (t->nr_frames + CRAY_FRAMES_MAX > t->frames_size) {
		size_t more = t->frames_size ? t->frames_size * 2 : 1024;
		uint64_t *frames = realloc(t->frames, more * sizeof(*frames));

		if (!frames)
			return -ENOMEM;
		t->frames = frames;
		t->frames_size = more;
	}
	return 0;
}

/* A stack that the table has already is the same one: threads may write it twice. */
static int stack_table_add(struct stack_table *t, const struct cray_stack *s, const uint8_t *frames)
{
	uint64_t *place = u64map_at(&t->by_number, s->number);

	if (!place)
		return -ENOMEM;
	if (*place || t->nr == STACKS_MAX)
		return 0;
	if (stack_table_reserve(t) < 0)
		return -ENOMEM;
	t->entry[t->nr] = (struct stack_entry){ s->number, s->nr_frames, t->nr_frames };
	memcpy(t->frames + t->nr_frames, frames, s->nr_frames * sizeof(*t->frames));
	t->nr_frames += s->nr_frames;
	*place = ++t->nr;
	return 0;
}

int stack_table_chunk(struct stack_table *t, const uint8_t *data, size_t size, uint64_t offset,
		      struct mem_faults *faults)
{
	struct cray_stack s;

	while (size > 0) {
		size_t bytes;

		if (size >= sizeof(s))
			memcpy(&s, data, sizeof(s));
		if (size < sizeof(s) || s.nr_frames > CRAY_FRAMES_MAX || !s.nr_frames ||
		    s.nr_frames * sizeof(uint64_t) > size - sizeof(s)) {
			mem_fault_add(faults, MEM_FAULT_DAMAGE, offset,
				      "a call stack longer than its chunk");
			return 0;
		}
		if (stack_table_add(t, &s, data + sizeof(s)) < 0)
			return -ENOMEM;
		bytes = sizeof(s) + s.nr_frames * sizeof(uint64_t);
		data += bytes;
		size -= bytes;
	}
	return 0;
}

size_t stack_table_get(const struct stack_table *t, uint32_t number, const uint64_t **frames)
{
	uint64_t index;

	if (!number || !u64map_get(&t->by_number, number, &index) || !index)
		return 0;
	*frames = t->frames + t->entry[index - 1].first;
	return t->entry[index - 1].nr_frames;
}

size_t stack_table_entry(const struct stack_table *t, size_t index, uint32_t *number,
			 const uint64_t **frames)
{
	if (index >= t->nr)
		return 0;
	*number = t->entry[index].number;
	*frames = t->frames + t->entry[index].first;
	return t->entry[index].nr_frames;
}

void stack_table_release(struct stack_table *t)
{
	free(t->entry);
	free(t->frames);
	u64map_release(&t->by_number);
	memset(t, 0, sizeof(*t));
}
