/* SPDX-License-Identifier: MIT */
/* frame_marks.c - mark the frames that pointers lead to. */
#include "inspect/frame_marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/lower_bound.h"

#define POINTER_BITS 0x0000ffffffffffffull
#define WORD_SIZE    sizeof(uint64_t)
/* More than any program has; the words of hostile frames may all be pointers. */
#define MARK_EDGES_MAX (UINT64_C(1) << 26)

struct mark_edge {
	uint32_t from, to;
};

struct marker {
	struct frame_table *table;
	struct mark_edge *edges;
	size_t nr, room;
	uint32_t *queue; /* frames that are marked and not yet followed */
	size_t nr_queue;
	/* The end of the last piece: a pointer may cross pieces. */
	uint8_t tail[WORD_SIZE];
	uint64_t tail_end;
};

static void mark_frame(struct marker *m, uint32_t frame)
{
	if (m->table->frames[frame].is_reached)
		return;
	m->table->frames[frame].is_reached = true;
	m->queue[m->nr_queue++] = frame;
}

static void mark_doubtful(struct marker *m, uint32_t frame)
{
	struct coro_frame *f = &m->table->frames[frame];

	if (f->is_reached || f->is_doubtful)
		return;
	f->is_doubtful = true;
	m->queue[m->nr_queue++] = frame;
}

static int mark_add_edge(struct marker *m, uint32_t from, uint32_t to)
{
	struct mark_edge *more;

	if (m->nr == MARK_EDGES_MAX) {
		mark_frame(m, to); /* a miss, not a false alarm */
		return 0;
	}
	if (m->nr == m->room) {
		size_t room = m->room ? m->room * 2 : 1024;

		more = reallocarray(m->edges, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		m->edges = more;
		m->room = room;
	}
	m->edges[m->nr++] = (struct mark_edge){ from, to };
	return 0;
}

static void mark_root(struct marker *m, uint64_t word)
{
	uint32_t to = frame_table_find(m->table, word & POINTER_BITS);

	if (to != FRAME_NONE)
		mark_frame(m, to);
}

/* @word, without tag bits, is at @addr. */
static int mark_word(struct marker *m, uint64_t addr, uint64_t word)
{
	const struct frame_table *t = m->table;
	uint32_t to = frame_table_find(t, word), from;

	if (to == FRAME_NONE)
		return 0;
	from = frame_table_find(t, addr);
	if (from == FRAME_NONE || t->frames[from].state == FRAME_INVALID)
		mark_frame(m, to);
	else if (from != to)
		return mark_add_edge(m, from, to);
	return 0;
}

static int mark_words(void *arg, const struct image_range *range, uint64_t addr, const void *data,
		      size_t size)
{
	struct marker *m = arg;
	const uint64_t *words = data, low = m->table->low, span = m->table->high - low;
	size_t nr = size / WORD_SIZE, i;
	int rc = 0;

	(void)range;
	for (i = 0; i < nr && !rc; i++) {
		uint64_t word = words[i] & POINTER_BITS;

		if (word - low < span)
			rc = mark_word(m, addr + i * WORD_SIZE, word);
	}
	return rc;
}

static int mark_bytes_of(struct marker *m, uint64_t addr, const uint8_t *data, size_t size)
{
	uint64_t low = m->table->low, span = m->table->high - low, word;
	size_t i;
	int rc = 0;

	for (i = 0; i + WORD_SIZE <= size && !rc; i++) {
		memcpy(&word, data + i, sizeof(word));
		word &= POINTER_BITS;
		if (word - low < span)
			rc = mark_word(m, addr + i, word);
	}
	return rc;
}

static int mark_bytes(void *arg, const struct image_range *range, uint64_t addr, const void *data,
		      size_t size)
{
	struct marker *m = arg;
	uint8_t across[2 * WORD_SIZE];
	int rc = 0;

	(void)range;
	if (size < WORD_SIZE)
		return 0;
	if (m->tail_end == addr) {
		memcpy(across, m->tail, WORD_SIZE);
		memcpy(across + WORD_SIZE, data, WORD_SIZE);
		rc = mark_bytes_of(m, addr - WORD_SIZE, across, sizeof(across));
	}
	m->tail_end = addr + size;
	memcpy(m->tail, (const uint8_t *)data + size - WORD_SIZE, WORD_SIZE);
	return rc ? rc : mark_bytes_of(m, addr, data, size);
}

static int mark_by_source(const void *a, const void *b)
{
	const struct mark_edge *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static bool mark_edge_is_less(const void *edges, size_t at, uint64_t from)
{
	return ((const struct mark_edge *)edges)[at].from < from;
}

static void mark_follow(struct marker *m, void (*mark)(struct marker *m, uint32_t frame))
{
	while (m->nr_queue) {
		uint32_t from = m->queue[--m->nr_queue];
		size_t i = list_lower_bound(m->edges, m->nr, from, mark_edge_is_less);

		for (; i < m->nr && m->edges[i].from == from; i++)
			mark(m, m->edges[i].to);
	}
}

/*
 * What looks like a frame and is not a block of its own may be memory that is used for something
 * else by now: the pointers in it count as a doubt.
 */
static void mark_doubts(struct marker *m)
{
	size_t i;

	for (i = 0; i < m->nr; i++) {
		if (!m->table->frames[m->edges[i].from].is_block)
			mark_doubtful(m, m->edges[i].to);
	}
	mark_follow(m, mark_doubtful);
}

static void mark_registers(struct marker *m, const struct process_image *image)
{
	size_t i, k;

	for (i = 0; i < image->nr_threads; i++) {
		const struct image_thread *thread = &image->threads[i];

		for (k = 0; thread->has_registers && k < thread->nr_registers; k++)
			mark_root(m, thread->registers[k]);
		for (k = 0; thread->has_syscall && k < 6; k++)
			mark_root(m, thread->args[k]);
	}
	for (i = 0; i < image->nr_vectors; i++)
		mark_root(m, image->vectors[i]);
}

int frame_marks_set(struct process_image *image, struct frame_table *table, enum mark_depth depth,
		    const uint64_t *roots, size_t nr_roots)
{
	image_visitor visit = depth == MARK_BYTES ? mark_bytes : mark_words;
	struct marker m = { .table = table };
	size_t i;
	int rc;

	if (!table->nr)
		return 0;
	m.queue = calloc(table->nr, sizeof(*m.queue));
	if (!m.queue)
		return -ENOMEM;
	for (i = 0; i < table->nr; i++)
		table->frames[i].is_reached = table->frames[i].is_doubtful = false;
	rc = image_visit(image, visit, &m);
	if (!rc)
		rc = image_visit_protected(image, visit, &m);
	for (i = 0; !rc && i < nr_roots; i++)
		mark_root(&m, roots[i]);
	if (!rc) {
		mark_registers(&m, image);
		if (m.nr)
			qsort(m.edges, m.nr, sizeof(*m.edges), mark_by_source);
		mark_follow(&m, mark_frame);
		mark_doubts(&m);
	}
	free(m.edges);
	free(m.queue);
	return rc;
}
