/* SPDX-License-Identifier: MIT */
/* frame_marks.c - mark the frames that pointers lead to. */
#include "inspect/frame_marks.h"

#include <errno.h>
#include <stdlib.h>

#define POINTER_BITS 0x0000ffffffffffffull

struct mark_edge {
	uint32_t from, to;
};

struct marker {
	struct frame_table *table;
	struct mark_edge *edges;
	size_t nr, room;
	uint32_t *queue; /* frames that are marked and not yet followed */
	size_t nr_queue;
};

static void mark_frame(struct marker *m, uint32_t frame)
{
	if (m->table->frames[frame].is_reached)
		return;
	m->table->frames[frame].is_reached = true;
	m->queue[m->nr_queue++] = frame;
}

static int mark_add_edge(struct marker *m, uint32_t from, uint32_t to)
{
	struct mark_edge *more;

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

static int mark_piece(void *arg, const struct image_range *range, uint64_t addr, const void *data,
		      size_t size)
{
	struct marker *m = arg;
	const struct frame_table *t = m->table;
	const uint64_t *words = data;
	size_t nr = size / sizeof(*words), i;
	uint64_t span = t->high - t->low;

	(void)range;
	for (i = 0; i < nr; i++) {
		uint64_t word = words[i] & POINTER_BITS;
		uint32_t to, from;

		if (word - t->low >= span)
			continue;
		to = frame_table_find(t, word);
		if (to == FRAME_NONE)
			continue;
		from = frame_table_find(t, addr + i * 8);
		if (from == FRAME_NONE || t->frames[from].state == FRAME_INVALID)
			mark_frame(m, to);
		else if (from != to && mark_add_edge(m, from, to) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int mark_by_source(const void *a, const void *b)
{
	const struct mark_edge *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static size_t mark_edges_of(const struct marker *m, uint32_t from)
{
	size_t low = 0, high = m->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->edges[middle].from < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void mark_follow(struct marker *m)
{
	if (m->nr)
		qsort(m->edges, m->nr, sizeof(*m->edges), mark_by_source);
	while (m->nr_queue) {
		uint32_t from = m->queue[--m->nr_queue];
		size_t i;

		for (i = mark_edges_of(m, from); i < m->nr && m->edges[i].from == from; i++)
			mark_frame(m, m->edges[i].to);
	}
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
}

int frame_marks_set(struct process_image *image, struct frame_table *table, const uint64_t *roots,
		    size_t nr_roots)
{
	struct marker m = { .table = table };
	size_t i;
	int rc;

	if (!table->nr)
		return 0;
	m.queue = calloc(table->nr, sizeof(*m.queue));
	if (!m.queue)
		return -ENOMEM;
	for (i = 0; i < table->nr; i++)
		table->frames[i].is_reached = false;
	rc = image_visit(image, mark_piece, &m);
	for (i = 0; !rc && i < nr_roots; i++)
		mark_root(&m, roots[i]);
	if (!rc) {
		mark_registers(&m, image);
		mark_follow(&m);
	}
	free(m.edges);
	free(m.queue);
	return rc;
}
