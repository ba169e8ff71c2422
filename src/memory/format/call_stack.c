/* SPDX-License-Identifier: MIT */
/* call_stack.c - the functions that each thread is in, while a trace is read. */
#include "memory/format/call_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct call_stack *call_stack_at(struct call_stacks *s, uint32_t thread)
{
	uint64_t *place = u64map_at(&s->by_thread, thread);

	if (!place)
		return NULL;
	if (*place)
		return &s->stack[*place - 1];
	if (s->nr == s->size) {
		size_t more = s->size ? s->size * 2 : 16;
		struct call_stack *stack = realloc(s->stack, more * sizeof(*stack));

		if (!stack) {
			u64map_remove(&s->by_thread, thread);
			return NULL;
		}
		s->stack = stack;
		s->size = more;
	}
	s->stack[s->nr] = (struct call_stack){ 0 };
	*place = ++s->nr;
	return &s->stack[s->nr - 1];
}

static int call_stack_push(struct call_stack *stack, const struct mem_record *r)
{
	if (stack->nr == CALL_STACK_MAX || stack->deeper) {
		stack->deeper++;
		return 0;
	}
	if (stack->nr == stack->size) {
		size_t more = stack->size ? stack->size * 2 : 32;
		struct call_frame *frame = realloc(stack->frame, more * sizeof(*frame));

		if (!frame)
			return -ENOMEM;
		stack->frame = frame;
		stack->size = more;
	}
	stack->frame[stack->nr++] = (struct call_frame){ r->pc, r->value };
	return 0;
}

/* @nr 0: all. */
static void call_stack_pop(struct call_stack *stack, uint64_t nr)
{
	uint64_t from_deeper = nr < stack->deeper ? nr : stack->deeper;

	if (!nr) {
		stack->nr = 0;
		stack->deeper = 0;
		return;
	}
	stack->deeper -= from_deeper;
	nr -= from_deeper;
	stack->nr -= nr < stack->nr ? (size_t)nr : stack->nr;
}

int call_stacks_record(struct call_stacks *s, const struct mem_record *r)
{
	struct call_stack *stack;

	if (r->kind != MEM_ENTER && r->kind != MEM_EXIT)
		return 0;
	s->any = true;
	stack = call_stack_at(s, r->thread);
	if (!stack)
		return -ENOMEM;
	if (r->kind == MEM_ENTER)
		return call_stack_push(stack, r);
	call_stack_pop(stack, r->value);
	return 0;
}

const struct call_stack *call_stacks_of(const struct call_stacks *s, uint32_t thread)
{
	static const struct call_stack none;
	uint64_t index;

	if (!u64map_get(&s->by_thread, thread, &index) || !index)
		return &none;
	return &s->stack[index - 1];
}

void call_stacks_release(struct call_stacks *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		free(s->stack[i].frame);
	free(s->stack);
	u64map_release(&s->by_thread);
	memset(s, 0, sizeof(*s));
}
