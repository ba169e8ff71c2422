/* SPDX-License-Identifier: MIT */
/* native_stacks.c - copy and unwind the stacks of threads, and find the coroutines on them. */
#include "inspect/native_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_MIN    4096 /* smaller or larger values are no addresses */
#define ADDRESS_MAX    ((uint64_t)1 << 47)
#define STACK_COPY_MAX ((size_t)256 << 10)

/* ---- copies --------------------------------------------------------------------- */

static int native_stacks_begin(struct native_stacks *n, const struct process_image *image)
{
	n->stacks = calloc(image->nr_threads + 1, sizeof(*n->stacks));
	n->nr = 0;
	n->pid = (uint32_t)image->pid;
	return n->stacks ? 0 : -ENOMEM;
}

/* Without memory, or if nothing can be read, the stack is not known. */
static void native_stack_copy(struct native_stack *s, const struct process_image *image,
			      const struct image_thread *thread)
{
	const struct image_range *range = image_find_range(image, thread->sp);
	size_t size;
	ssize_t got;

	*s = (struct native_stack){ .thread = *thread, .type = -1, .frame = FRAME_NONE };
	if (!thread->sp || !range)
		return;
	size = range->end - thread->sp < STACK_COPY_MAX ? (size_t)(range->end - thread->sp)
							: STACK_COPY_MAX;
	s->bytes = malloc(size);
	got = s->bytes ? image_read(image, thread->sp, s->bytes, size) : 0;
	s->size = got > 0 ? (size_t)got : 0;
}

static void native_stack_drop(struct native_stack *s)
{
	free(s->bytes);
	s->bytes = NULL;
	s->size = 0;
}

/* The thread has not run since; its registers are the same. */
static void native_stack_confirm(struct native_stack *s, struct process_image *image)
{
	size_t i;

	for (i = 0; i < image->nr_threads; i++) {
		struct image_thread *now = &image->threads[i];

		if (now->tid != s->thread.tid)
			continue;
		if (now->state == 'R' || s->thread.state == 'R' ||
		    now->switches != s->thread.switches)
			break;
		now->has_registers = s->thread.has_registers;
		now->nr_registers = s->thread.nr_registers;
		memcpy(now->registers, s->thread.registers, sizeof(now->registers));
		return;
	}
	native_stack_drop(s);
}

int native_stacks_copy(struct native_stacks *n, struct process_image *image)
{
	struct err ignored = { 0 };
	size_t i;
	int rc = native_stacks_begin(n, image);

	if (rc)
		return rc;
	for (; n->nr < image->nr_threads; n->nr++)
		native_stack_copy(&n->stacks[n->nr], image, &image->threads[n->nr]);
	if (image->kind != IMAGE_RUNNING)
		return 0;
	rc = image_read_threads(image, &ignored);
	for (i = 0; i < n->nr; i++) {
		if (rc)
			native_stack_drop(&n->stacks[i]);
		else
			native_stack_confirm(&n->stacks[i], image);
	}
	return 0;
}

struct native_stop {
	struct native_stacks *stacks;
	const struct process_image *image;
};

static void native_stopped(void *arg, struct image_thread *thread)
{
	struct native_stop *stop = arg;

	if (stop->stacks->nr < stop->image->nr_threads)
		native_stack_copy(&stop->stacks->stacks[stop->stacks->nr++], stop->image, thread);
}

int native_stacks_stop(struct native_stacks *n, struct process_image *image, struct err *err)
{
	struct native_stop stop = { .stacks = n, .image = image };
	int rc = image_read_threads(image, err);

	if (!rc)
		rc = native_stacks_begin(n, image);
	return rc ? rc : image_stop_threads(image, native_stopped, &stop, err);
}

/* ---- unwinding ------------------------------------------------------------------- */

static bool native_stack_word(void *arg, uint64_t addr, uint64_t *word)
{
	const struct native_stack *s = arg;
	uint64_t offset = addr - s->thread.sp;

	if (addr < s->thread.sp || s->size < sizeof(*word) || offset > s->size - sizeof(*word))
		return false;
	memcpy(word, s->bytes + offset, sizeof(*word));
	return true;
}

static int native_stack_resolve(struct native_stack *s, struct native_unwinder *u,
				struct native_frame *room)
{
	const struct image_thread *t = &s->thread;
	struct native_start start = {
		.registers = t->has_registers ? t->registers : NULL,
		.nr_registers = t->nr_registers,
		.sp = t->sp,
		.pc = t->pc,
		.read = native_stack_word,
		.arg = s,
	};
	size_t nr = s->size ? native_stack_unwind(u, &start, room, &s->is_complete) : 0;

	/* With sp and pc alone a stack that ends early proves nothing. */
	if (!nr || (!t->has_registers && !s->is_complete))
		return 0;
	s->frames = calloc(nr, sizeof(*s->frames));
	if (!s->frames)
		return -ENOMEM;
	memcpy(s->frames, room, nr * sizeof(*room));
	s->nr_frames = nr;
	return 0;
}

static int native_add_modules(struct native_stacks *n, const struct process_image *image)
{
	size_t i;

	n->unwinder = native_unwinder_new(image->machine);
	n->symbols = symbols_new();
	if (!n->unwinder || !n->symbols)
		return -ENOMEM;
	for (i = 0; i < image->nr_modules; i++) {
		const struct image_module *m = &image->modules[i];
		struct symbol_module module = {
			.pid = (uint64_t)image->pid,
			.start = m->start,
			.end = m->end,
			.has_bias = true,
			.bias = m->bias,
			.path = m->open_path,
			.build_id = m->build_id,
		};

		if (!m->open_path || !*m->open_path)
			continue;
		native_unwinder_add(n->unwinder, &module, m->open_path);
		if (symbols_add(n->symbols, &module) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- coroutines ------------------------------------------------------------------- */

/* Coroutines of one type whose addresses are in a native frame. */
struct native_candidates {
	const struct process_image *image;
	const struct frame_table *table;
	const struct coro_types *types;
	int64_t type;
	uint64_t resume;       /* address of its resume function */
	uint32_t exact, inner; /* the address of the coroutine; an address in it */
	unsigned nr_exact, nr_inner;
	bool has_unknown; /* a coroutine of the type that was created after the frames were found */
};

static void native_candidate_add(uint32_t number, uint32_t *last, unsigned *nr)
{
	if (*nr && *last == number)
		return;
	*last = number;
	(*nr)++;
}

/*
 * Also one that has ended since its thread was stopped: then only its destroy function is left.  It
 * may be in memory that was mapped after the ranges were read.
 */
static bool native_is_new_frame(const struct native_candidates *c, uint64_t word)
{
	uint64_t head[2];

	return word % sizeof(word) == 0 && word >= ADDRESS_MIN && word < ADDRESS_MAX &&
	       image_read(c->image, word, head, sizeof(head)) == (ssize_t)sizeof(head) &&
	       (head[0] == c->resume ||
		(!head[0] && coro_types_find(c->types, 0, head[1]) == c->type));
}

static void native_candidates_take(struct native_candidates *c, uint64_t word)
{
	uint32_t number = frame_table_find(c->table, word);
	const struct coro_frame *f;

	if (number == FRAME_NONE) {
		c->has_unknown = c->has_unknown || native_is_new_frame(c, word);
		return;
	}
	f = &c->table->frames[number];
	/* One that had ended, whose memory may be that of a new one. */
	if (f->state == FRAME_FINISHED || f->state == FRAME_INVALID)
		c->has_unknown = c->has_unknown ||
				 (f->addr == word && native_is_new_frame(c, word));
	/* One that runs already belongs to a native frame further in, which this one called. */
	if (f->type != (uint64_t)c->type || f->state != FRAME_SUSPENDED)
		return;
	if (f->addr == word)
		native_candidate_add(number, &c->exact, &c->nr_exact);
	else
		native_candidate_add(number, &c->inner, &c->nr_inner);
}

/*
 * The coroutine that native frame @at runs: the only one of its type whose address, or an address
 * in it, is in a preserved register or between the stack pointers of the frame and of its caller.
 * Earlier calls leave addresses of other coroutines there: with several nothing is known.
 */
static uint32_t native_frame_coroutine(struct native_stack *s, size_t at,
				       struct native_candidates *from)
{
	const struct native_frame *f = &s->frames[at];
	struct native_candidates c = *from;
	uint64_t addr, word;
	unsigned i;

	for (i = 0; i < f->nr_saved; i++)
		native_candidates_take(&c, f->saved[i]);
	if (at + 1 < s->nr_frames && f->sp) {
		for (addr = (f->sp + 7) & ~7ull; addr + 8 <= f[1].sp; addr += 8) {
			if (!native_stack_word(s, addr, &word))
				break;
			native_candidates_take(&c, word);
		}
	}
	if (c.has_unknown || c.nr_exact > 1 || c.nr_inner > 1 ||
	    (c.nr_exact && c.nr_inner && c.exact != c.inner))
		return FRAME_NONE;
	return c.nr_exact ? c.exact : c.nr_inner ? c.inner : FRAME_NONE;
}

static size_t native_stack_mark(struct native_stack *s, const struct process_image *image,
				struct coro_types *types, struct frame_table *table)
{
	struct native_candidates c = { .image = image, .table = table, .types = types };
	size_t i, marked = 0;

	for (i = 0; i < s->nr_frames; i++) {
		int64_t type = coro_types_at(types, s->frames[i].pc);
		uint32_t found;

		if (type < 0)
			continue;
		c.type = type;
		c.resume = coro_types_get(types, (size_t)type)->resume;
		found = native_frame_coroutine(s, i, &c);
		if (s->type < 0) {
			s->type = type;
			s->frame = found;
		}
		if (found != FRAME_NONE) {
			table->frames[found].state = FRAME_RUNNING;
			marked++;
		}
	}
	return marked;
}

/* A coroutine that awaits a running one is the innermost of its stack. */
static void frame_children_again(struct frame_table *table)
{
	size_t i;

	for (i = 0; i < table->nr; i++)
		table->frames[i].has_child = false;
	for (i = 0; i < table->nr; i++) {
		const struct coro_frame *f = &table->frames[i];

		if (f->parent != FRAME_NONE && f->state == FRAME_SUSPENDED)
			table->frames[f->parent].has_child = true;
	}
}

int native_stacks_unwind(struct native_stacks *n, const struct process_image *image,
			 struct coro_types *types, struct frame_table *table)
{
	struct native_frame *room = calloc(NATIVE_FRAMES_MAX, sizeof(*room));
	size_t i, marked = 0;
	int rc = room ? 0 : -ENOMEM;

	if (!rc && !n->unwinder)
		rc = native_add_modules(n, image);
	for (i = 0; !rc && i < n->nr; i++) {
		rc = native_stack_resolve(&n->stacks[i], n->unwinder, room);
		marked += native_stack_mark(&n->stacks[i], image, types, table);
		native_stack_drop(&n->stacks[i]);
	}
	if (marked)
		frame_children_again(table);
	free(room);
	return rc;
}

const struct native_stack *native_stacks_find(const struct native_stacks *n, pid_t tid)
{
	size_t i;

	for (i = 0; i < n->nr; i++) {
		if (n->stacks[i].thread.tid == tid)
			return &n->stacks[i];
	}
	return NULL;
}

void native_stacks_forget(struct native_stacks *n)
{
	size_t i;

	for (i = 0; i < n->nr; i++) {
		free(n->stacks[i].bytes);
		free(n->stacks[i].frames);
	}
	free(n->stacks);
	n->stacks = NULL;
	n->nr = 0;
}

void native_stacks_release(struct native_stacks *n)
{
	native_stacks_forget(n);
	symbols_free(n->symbols);
	native_unwinder_free(n->unwinder);
	*n = (struct native_stacks){ 0 };
}
