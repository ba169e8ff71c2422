/* SPDX-License-Identifier: MIT */
/*
 * alloc_stacks.c - numbers for the call stacks of allocations.
 *
 * A program has few different stacks and many allocations, so an allocation has only the number of
 * its stack.  All threads share one table.  Its cells are claimed by compare-and-swap and never
 * change; stacks are never removed.  The thread that meets a stack first records it in its own
 * stream; if that fails (a full ring), or in the trace of a child of fork, the next thread that
 * meets it does.
 */
#include "alloc_stacks.h"

#include "container.h"
#include "shadow_stack.h"
#include "sys.h"
#include "trace_session.h"

#define STACKS (UINT64_C(1) << 17) /* pages in use take memory */
#define CELLS  (STACKS * 2)
#define PROBES 64u

struct crt_stack {
	uint32_t nr;
	uint32_t told; /* [threads] generation of the session that has it in its trace */
	uint64_t frames[CRAY_FRAMES_MAX];
};

/* One mapping, made on first use. */
struct crt_stacks {
	uint64_t used;         /* [threads] stacks; number 0 is not used */
	uint64_t cells[CELLS]; /* [threads] upper half of the hash, number; 0: free */
	struct crt_stack stacks[STACKS];
};

static void *stacks_made; /* [threads] */
static uint32_t stacks_full_said;

static struct crt_stacks *alloc_stacks_table(void)
{
	return crt_memory_once(&stacks_made, sizeof(struct crt_stacks));
}

static uint64_t alloc_stacks_hash(const uint64_t *frames, uint32_t nr)
{
	uint64_t h = nr;
	uint32_t i;

	for (i = 0; i < nr; i++)
		h = ((h << 7 | h >> 57) ^ frames[i]) * UINT64_C(0x9E3779B97F4A7C15);
	return h ^ h >> 29;
}

static bool alloc_stacks_equal(const struct crt_stack *s, const uint64_t *frames, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr && s->frames[i] == frames[i]; i++)
		;
	return s->nr == nr && i == nr;
}

/* A new stack that no cell has yet; 0: no room. */
static uint64_t alloc_stacks_new(struct crt_stacks *t, const uint64_t *frames, uint32_t nr)
{
	uint64_t number;

	if (__atomic_load_n(&t->used, __ATOMIC_RELAXED) >= STACKS - 1)
		return 0;
	number = 1 + __atomic_fetch_add(&t->used, 1, __ATOMIC_RELAXED);
	if (number >= STACKS)
		return 0;
	t->stacks[number].nr = nr;
	__builtin_memcpy(t->stacks[number].frames, frames, nr * sizeof(*frames));
	return number;
}

/* The number of a stack, added if it is new.  0: no room. */
static uint64_t alloc_stacks_find(struct crt_stacks *t, const uint64_t *frames, uint32_t nr)
{
	uint64_t hash = alloc_stacks_hash(frames, nr), made = 0, i;
	uint64_t high = hash & ~(uint64_t)UINT32_MAX;

	for (i = 0; i < PROBES; i++) {
		uint64_t *cell = &t->cells[(hash + i) & (CELLS - 1)];
		/* (mem-I) pairs with the release below: the stack is complete. */
		uint64_t have = __atomic_load_n(cell, __ATOMIC_ACQUIRE);

		if (!have) {
			if (!made)
				made = alloc_stacks_new(t, frames, nr);
			if (!made)
				return 0;
			/* (mem-I) pairs with the acquire above. */
			if (__atomic_compare_exchange_n(cell, &have, high | made, false,
							__ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
				return made;
		}
		if ((have & ~(uint64_t)UINT32_MAX) == high &&
		    alloc_stacks_equal(&t->stacks[have & UINT32_MAX], frames, nr))
			return have & UINT32_MAX;
	}
	return 0;
}

uint32_t crt_stack_number(uint64_t at)
{
	uint64_t frames[CRAY_FRAMES_MAX], number;
	uint32_t nr = crt_calls_copy(at, frames, CRAY_FRAMES_MAX);
	struct crt_stacks *t = nr ? alloc_stacks_table() : NULL;
	struct crt_stack *s;

	if (!t)
		return 0;
	number = alloc_stacks_find(t, frames, nr);
	if (!number) {
		if (!__atomic_exchange_n(&stacks_full_said, 1, __ATOMIC_RELAXED))
			crt_say("too many call stacks: some allocations are recorded without",
				NULL);
		return 0;
	}
	s = &t->stacks[number];
	if (__atomic_load_n(&s->told, __ATOMIC_RELAXED) != crt_session.generation &&
	    crt_put_payload(CRW_STACK, number, 1, (const uint8_t *)s->frames,
			    s->nr * (uint32_t)sizeof(uint64_t)))
		__atomic_store_n(&s->told, crt_session.generation, __ATOMIC_RELAXED);
	return (uint32_t)number;
}
