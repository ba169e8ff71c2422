/* SPDX-License-Identifier: MIT */
/* deadlocks.c - find rings of coroutines that wait for each other. */
#include "inspect/deadlocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/u64map.h"
#include "inspect/inspection.h"
#include "inspect/tokio_described.h"

#define POINTER_BITS   0x0000ffffffffffffull
#define CHAIN_MAX      10000
#define SECOND_LOOK_MS 200
#define LOOKS_MAX      3

/* A coroutine that waits, and one that holds what it waits for. */
struct wait_edge {
	uint32_t from, to;
	struct deadlock_member member;
};

/* A wait of a coroutine that is awaited, directly or not, by a holder. */
struct holder_wait {
	uint32_t wait;
	uint32_t next; /* 1 + number of the next one of this holder; 0: none */
	bool is_alone; /* no coroutine on the way awaits several */
	bool is_kept;  /* ... nor one that awaits the holder: it could give it up */
};

struct deadlock_search {
	struct inspection *in;
	struct u64map holders; /* address of a frame or task: 1 + its first holder_wait */
	struct holder_wait *pairs;
	size_t nr_pairs, room_pairs;
	uint32_t *children; /* of each frame */
	struct wait_edge *edges;
	size_t nr_edges, room_edges;
	size_t nr_edges_of_wait;
};

/* ---- holders --------------------------------------------------------------------------- */

static bool wait_is_lock(const struct described_wait *wait)
{
	return wait->kind && (!strcmp(wait->kind, "lock") || !strcmp(wait->kind, "semaphore"));
}

/* False: it goes on by itself, or nothing is known. */
static bool wait_can_block(const struct described_wait *wait)
{
	return !wait->value.is_over && !wait->has_limit && !wait->value.has_deadline &&
	       !(wait->resource.has_queue && !wait->resource.is_queued) &&
	       !(wait->resource.has_state && !wait->resource.is_held) &&
	       (wait->value.task || (wait_is_lock(wait) && wait->value.object));
}

/* The frame that a handle or a pointer into a frame names; else the handle, of a task or unknown.
 */
static uint64_t coroutine_of_handle(const struct inspection *in, uint64_t handle)
{
	uint32_t frame = handle ? frame_table_find(&in->table, handle & POINTER_BITS) : FRAME_NONE;

	if (frame != FRAME_NONE && in->table.frames[frame].state == FRAME_SUSPENDED)
		return in->table.frames[frame].addr;
	return handle;
}

uint64_t deadlock_holder(const struct inspection *in, const struct described_wait *wait)
{
	size_t i;

	if (wait->resource.has_state && !wait->resource.is_held)
		return 0;
	if (wait->resource.has_holder)
		return coroutine_of_handle(in, wait->resource.holder);
	i = wait->value.object ? described_guards_of(&in->described, wait->value.object)
			       : in->described.nr_guards;
	return i < in->described.nr_guards ? in->described.guards[i].coroutine : 0;
}

/* ---- from holders to what they wait for ---------------------------------------------------- */

static int holder_note(struct deadlock_search *s, uint64_t coroutine)
{
	return !coroutine || u64map_at(&s->holders, coroutine) ? 0 : -ENOMEM;
}

static int holders_collect(struct deadlock_search *s)
{
	const struct described_waits *d = &s->in->described;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < d->nr_guards; i++)
		rc = holder_note(s, d->guards[i].coroutine);
	for (i = 0; !rc && i < d->nr_waits; i++) {
		rc = holder_note(s, coroutine_of_handle(s->in, d->waits[i].value.task));
		if (!rc && d->waits[i].resource.has_holder)
			rc = holder_note(s,
					 coroutine_of_handle(s->in, d->waits[i].resource.holder));
	}
	return rc;
}

static int holder_add_wait(struct deadlock_search *s, uint64_t coroutine, uint32_t wait,
			   bool is_alone)
{
	uint64_t first, *slot;

	if (!u64map_get(&s->holders, coroutine, &first))
		return 0;
	if (s->nr_pairs == s->room_pairs) {
		size_t room = s->room_pairs ? s->room_pairs * 2 : 64;
		struct holder_wait *more = reallocarray(s->pairs, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->pairs = more;
		s->room_pairs = room;
	}
	slot = u64map_at(&s->holders, coroutine);
	if (!slot)
		return -ENOMEM;
	s->pairs[s->nr_pairs++] = (struct holder_wait){ wait, (uint32_t)*slot, is_alone, true };
	*slot = s->nr_pairs;
	return 0;
}

static void children_count(struct deadlock_search *s)
{
	const struct frame_table *t = &s->in->table;
	size_t i;

	for (i = 0; i < t->nr; i++) {
		if (t->frames[i].state == FRAME_SUSPENDED && t->frames[i].parent != FRAME_NONE)
			s->children[t->frames[i].parent]++;
	}
}

/* Note for every holder the waits of the coroutines that it awaits. */
static int holders_link(struct deadlock_search *s)
{
	const struct described_waits *d = &s->in->described;
	const struct coro_frame *frames = s->in->table.frames;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < d->nr_waits; i++) {
		uint32_t at = d->waits[i].frame;
		size_t first = s->nr_pairs;
		bool is_alone = true;
		unsigned step;

		if (!wait_can_block(&d->waits[i]))
			continue;
		if (at == FRAME_NONE)
			rc = holder_add_wait(s, d->waits[i].coroutine, (uint32_t)i, true);
		for (step = 0; !rc && at != FRAME_NONE && step < CHAIN_MAX; step++) {
			is_alone = is_alone && s->children[at] <= 1;
			rc = holder_add_wait(s, frames[at].addr, (uint32_t)i, is_alone);
			at = frames[at].parent;
		}
		for (; first < s->nr_pairs; first++)
			s->pairs[first].is_kept = is_alone;
	}
	return rc;
}

/* ---- edges ------------------------------------------------------------------------------- */

static void edge_doubt(struct wait_edge *edge, enum inspect_confidence confidence,
		       const char *doubt)
{
	if (edge->member.confidence <= confidence)
		return;
	edge->member.confidence = (uint8_t)confidence;
	edge->member.doubt = doubt;
}

/* False, and counted once for each wait: it has DEADLOCK_EDGES already. */
static bool edge_has_room(struct deadlock_search *s)
{
	if (s->nr_edges_of_wait < DEADLOCK_EDGES) {
		s->nr_edges_of_wait++;
		return true;
	}
	if (s->nr_edges_of_wait == DEADLOCK_EDGES) {
		s->nr_edges_of_wait++;
		s->in->deadlocks.nr_cut++;
	}
	return false;
}

/* @edge->member.holder is set: an edge to every wait that keeps the holder from going on. */
static int edges_add(struct deadlock_search *s, struct wait_edge edge)
{
	uint64_t at = 0;

	u64map_get(&s->holders, edge.member.holder, &at);
	for (; at; at = s->pairs[at - 1].next) {
		struct wait_edge *more;

		if (!edge_has_room(s))
			return 0;
		if (s->nr_edges == s->room_edges) {
			size_t room = s->room_edges ? s->room_edges * 2 : 64;

			more = reallocarray(s->edges, room, sizeof(*more));
			if (!more)
				return -ENOMEM;
			s->edges = more;
			s->room_edges = room;
		}
		more = &s->edges[s->nr_edges++];
		*more = edge;
		more->to = s->pairs[at - 1].wait;
		if (!s->pairs[at - 1].is_alone)
			edge_doubt(more, INSPECT_SUSPECT,
				   "a coroutine awaits several others, and may need one of them");
		else if (!s->pairs[at - 1].is_kept)
			edge_doubt(more, INSPECT_STRONG,
				   "a coroutine that awaits several may give this one up");
	}
	return 0;
}

static int edges_add_guards(struct deadlock_search *s, const struct described_wait *wait,
			    struct wait_edge edge)
{
	const struct described_waits *d = &s->in->described;
	size_t i, first = described_guards_of(d, wait->value.object);
	bool is_shared = false;
	int rc = 0;

	for (i = first; i < d->nr_guards && d->guards[i].value.object == wait->value.object; i++)
		is_shared = is_shared || d->guards[i].coroutine != d->guards[first].coroutine;
	for (i = first; !rc && i < d->nr_guards && d->guards[i].value.object == wait->value.object;
	     i++) {
		struct wait_edge one = edge;

		one.member.holder = d->guards[i].coroutine;
		one.member.guard = (int64_t)i;
		if (is_shared)
			edge_doubt(&one, INSPECT_SUSPECT, "several coroutines hold the lock");
		if (!d->guards[i].is_certain && !wait->resource.has_state)
			edge_doubt(&one, INSPECT_SUSPECT, "the lock may have been released");
		else if (!d->guards[i].is_certain)
			edge_doubt(&one, INSPECT_STRONG,
				   "the guard may have been released early, and the lock be held "
				   "elsewhere");
		if (i == first || d->guards[i].coroutine != d->guards[i - 1].coroutine)
			rc = edges_add(s, one);
	}
	return rc;
}

static int edges_of_wait(struct deadlock_search *s, uint32_t number)
{
	const struct described_wait *wait = &s->in->described.waits[number];
	struct wait_edge edge = {
		.from = number,
		.member = { .wait = number, .guard = -1, .confidence = INSPECT_PROVEN },
	};

	s->nr_edges_of_wait = 0;
	if (!wait_can_block(wait))
		return 0;
	if (!wait->is_certain)
		edge_doubt(&edge, INSPECT_SUSPECT,
			   "the compiler does not say which co_await an object belongs to");
	if (wait->value.task) {
		edge.member.holder = coroutine_of_handle(s->in, wait->value.task);
		return edges_add(s, edge);
	}
	if (!strcmp(wait->kind, "semaphore"))
		edge_doubt(&edge, INSPECT_STRONG, "a semaphore may get permits from elsewhere");
	if (!wait->resource.has_holder)
		return edges_add_guards(s, wait, edge);
	edge.member.holder = coroutine_of_handle(s->in, wait->resource.holder);
	/* A lock that was handed over names its new holder before that one is resumed. */
	if (edge.member.holder == wait->coroutine && !wait->resource.is_queued)
		return 0;
	return edges_add(s, edge);
}

static int edge_order(const void *a, const void *b)
{
	const struct wait_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	/* The most certain one first. */
	return x->member.confidence > y->member.confidence   ? -1
	       : x->member.confidence < y->member.confidence ? 1
							     : 0;
}

/* ---- rings ------------------------------------------------------------------------------- */

struct ring_walk {
	const struct deadlock_search *s;
	uint8_t *colors;   /* of waits: 0 new, 1 on the path, 2 done */
	size_t *cursors;   /* next edge of a wait on the path */
	uint32_t *path;    /* waits */
	size_t *path_edge; /* the edge that leads on from there */
	size_t depth;
};

static size_t ring_first_edge(const struct deadlock_search *s, uint32_t from)
{
	size_t low = 0, high = s->nr_edges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->edges[middle].from < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The path from the wait @to on is a ring. */
static int ring_add(const struct ring_walk *w, uint32_t to)
{
	struct deadlocks *d = &w->s->in->deadlocks;
	size_t from = w->depth, i;
	struct deadlock_member *members;
	struct deadlock *rings;
	struct deadlock ring = { .first = d->nr_members, .confidence = INSPECT_PROVEN };

	while (from && w->path[from - 1] != to)
		from--;
	from--;
	ring.count = w->depth - from;
	members = reallocarray(d->members, d->nr_members + ring.count, sizeof(*members));
	if (members)
		d->members = members;
	rings = reallocarray(d->rings, d->nr + 1, sizeof(*rings));
	if (rings)
		d->rings = rings;
	if (!members || !rings)
		return -ENOMEM;
	for (i = from; i < w->depth; i++) {
		const struct deadlock_member *m = &w->s->edges[w->path_edge[i]].member;

		d->members[d->nr_members++] = *m;
		if (m->confidence < ring.confidence) {
			ring.confidence = m->confidence;
			ring.doubt = m->doubt;
		}
	}
	d->rings[d->nr++] = ring;
	return 0;
}

static void ring_enter(struct ring_walk *w, uint32_t wait)
{
	w->colors[wait] = 1;
	w->cursors[w->depth] = ring_first_edge(w->s, wait);
	w->path[w->depth++] = wait;
}

/* Depth first, without recursion; one ring at most through a wait. */
static int ring_walk_from(struct ring_walk *w, uint32_t start)
{
	int rc = 0;

	ring_enter(w, start);
	while (!rc && w->depth) {
		uint32_t at = w->path[w->depth - 1];
		size_t edge = w->cursors[w->depth - 1]++;
		uint32_t to;

		if (edge >= w->s->nr_edges || w->s->edges[edge].from != at) {
			w->colors[at] = 2;
			w->depth--;
			continue;
		}
		to = w->s->edges[edge].to;
		w->path_edge[w->depth - 1] = edge;
		if (w->colors[to] == 0) {
			ring_enter(w, to);
		} else if (w->colors[to] == 1) {
			rc = ring_add(w, to);
			while (w->depth)
				w->colors[w->path[--w->depth]] = 2;
		}
	}
	return rc;
}

static int rings_find(const struct deadlock_search *s)
{
	size_t nr = s->in->described.nr_waits, i;
	struct ring_walk w = {
		.s = s,
		.colors = calloc(nr + 1, 1),
		.cursors = calloc(nr + 1, sizeof(*w.cursors)),
		.path = calloc(nr + 1, sizeof(*w.path)),
		.path_edge = calloc(nr + 1, sizeof(*w.path_edge)),
	};
	int rc = w.colors && w.cursors && w.path && w.path_edge ? 0 : -ENOMEM;

	for (i = 0; !rc && i < s->nr_edges; i++) {
		if (!w.colors[s->edges[i].from])
			rc = ring_walk_from(&w, s->edges[i].from);
	}
	free(w.colors);
	free(w.cursors);
	free(w.path);
	free(w.path_edge);
	return rc;
}

static int deadlocks_find(struct inspection *in)
{
	struct deadlock_search s = { .in = in };
	size_t i;
	int rc = holders_collect(&s);

	s.children = calloc(in->table.nr + 1, sizeof(*s.children));
	if (!s.children)
		rc = -ENOMEM;
	if (!rc && u64map_count(&s.holders)) {
		children_count(&s);
		rc = holders_link(&s);
	}
	for (i = 0; !rc && s.nr_pairs && i < in->described.nr_waits; i++)
		rc = edges_of_wait(&s, (uint32_t)i);
	if (!rc && s.nr_edges) {
		qsort(s.edges, s.nr_edges, sizeof(*s.edges), edge_order);
		rc = rings_find(&s);
	}
	u64map_release(&s.holders);
	free(s.pairs);
	free(s.children);
	free(s.edges);
	return rc;
}

/* ---- the second look ------------------------------------------------------------------------ */

static bool frame_is_same(struct inspection *in, uint32_t number)
{
	const struct coro_frame *f = &in->table.frames[number];
	const struct coro_type *type = coro_types_get(in->types, f->type);
	uint64_t resume = 0, index = 0;

	if (image_read(in->image, f->addr, &resume, 8) != 8 || resume != type->resume)
		return false;
	return !f->is_read || (image_read(in->image, f->addr + type->index_offset, &index,
					  type->index_size) == (ssize_t)type->index_size &&
			       index == f->index);
}

static bool value_is_same(struct inspection *in, const struct described_value *before)
{
	struct described_value now;

	return described_value_read(before->type, before->addr, described_memory_read, in->image,
				    &now) &&
	       now.object == before->object && now.task == before->task &&
	       now.is_over == before->is_over;
}

static bool member_is_same(struct inspection *in, const struct deadlock_member *m)
{
	const struct described_wait *wait = &in->described.waits[m->wait];
	const struct described_guard *guard = m->guard >= 0 ? &in->described.guards[m->guard]
							    : NULL;
	struct described_queues queues = { 0 };
	struct described_resource now;
	int rc;

	if ((wait->frame != FRAME_NONE && !frame_is_same(in, wait->frame)) ||
	    (guard && guard->frame != FRAME_NONE && !frame_is_same(in, guard->frame)) ||
	    !value_is_same(in, &wait->value) || (guard && !value_is_same(in, &guard->value)))
		return false;
	rc = described_resource_read(&wait->value, &queues, described_memory_read, in->image, &now);
	described_queues_release(&queues);
	return !rc && now.is_held == wait->resource.is_held &&
	       now.holder == wait->resource.holder && now.is_queued == wait->resource.is_queued;
}

/* Drop the rings that are not as they were. */
static void rings_check(struct inspection *in)
{
	struct deadlocks *d = &in->deadlocks;
	size_t i, k, kept = 0;

	for (i = 0; i < d->nr; i++) {
		bool is_same = true;

		for (k = 0; is_same && k < d->rings[i].count; k++)
			is_same = member_is_same(in, &d->members[d->rings[i].first + k]);
		if (is_same)
			d->rings[kept++] = d->rings[i];
	}
	d->nr = kept;
}

/* 1: no thread has run between two looks; 0: some have; a negative errno. */
static int rings_look_again(struct inspection *in, struct err *err)
{
	size_t nr = in->image->nr_threads;
	struct image_thread *before = NULL;
	int rc = image_read_threads(in->image, err);

	if (!rc) {
		nr = in->image->nr_threads;
		before = calloc(nr + 1, sizeof(*before));
		if (!before)
			return -ENOMEM;
		memcpy(before, in->image->threads, nr * sizeof(*before));
		rings_check(in);
		nanosleep(&(struct timespec){ .tv_nsec = SECOND_LOOK_MS * 1000000L }, NULL);
		rings_check(in);
		rc = image_read_threads(in->image, err);
	}
	if (!rc)
		rc = image_threads_idle(before, nr, in->image->threads, in->image->nr_threads);
	free(before);
	return rc;
}

static void rings_doubt(struct deadlocks *d, const char *doubt)
{
	size_t i;

	for (i = 0; i < d->nr; i++) {
		d->rings[i].confidence = INSPECT_SUSPECT;
		d->rings[i].doubt = doubt;
	}
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Of each coroutine that waits in a ring: 1 + the number of the ring. */
static int rings_by_coroutine(const struct inspection *in, struct u64map *rings)
{
	const struct deadlocks *d = &in->deadlocks;
	size_t i, k;
	int rc = 0;

	for (i = 0; !rc && i < d->nr; i++) {
		for (k = 0; !rc && k < d->rings[i].count; k++) {
			const struct deadlock_member *m = &d->members[d->rings[i].first + k];

			rc = u64map_put(rings, in->described.waits[m->wait].coroutine, i + 1);
		}
	}
	return rc;
}

static uint64_t group_coroutine(const struct inspection *in, const struct inspect_group *g,
				size_t i)
{
	return g->is_tokio ? in->tokio.tasks[g->first + i].addr
			   : in->table.frames[in->members[g->first + i]].addr;
}

static void group_swap(struct inspection *in, const struct inspect_group *g, size_t a, size_t b)
{
	if (g->is_tokio) {
		struct tokio_task task = in->tokio.tasks[g->first + a];

		in->tokio.tasks[g->first + a] = in->tokio.tasks[g->first + b];
		in->tokio.tasks[g->first + b] = task;
	} else {
		uint32_t frame = in->members[g->first + a];

		in->members[g->first + a] = in->members[g->first + b];
		in->members[g->first + b] = frame;
	}
}

/* Move the members of rings with that confidence to a group of their own.  0 or -ENOMEM. */
static int group_split(struct inspection *in, const struct u64map *rings, size_t number,
		       enum inspect_confidence confidence)
{
	struct inspect_group *g = &in->groups[number], *more, split;
	const struct deadlock *last = NULL;
	size_t i, nr = 0;
	uint64_t ring;

	if (g->verdict != VERDICT_WAITING && g->confidence > confidence)
		return 0;
	for (i = 0; i < g->count; i++) {
		if (!u64map_get(rings, group_coroutine(in, g, i), &ring) ||
		    in->deadlocks.rings[ring - 1].confidence != confidence)
			continue;
		last = &in->deadlocks.rings[ring - 1];
		group_swap(in, g, i, nr++);
	}
	if (!last)
		return 0;
	split = *g;
	split.count = nr;
	split.bytes = g->bytes / g->count * nr;
	split.verdict = VERDICT_DEADLOCK;
	split.confidence = confidence;
	split.reason = last->count > 1
			       ? "it waits in a ring: each waits for what the next one holds"
			       : "it waits for a lock that it, or one that awaits it, holds";
	split.doubt = last->doubt;
	if (nr == g->count) {
		split.bytes = g->bytes;
		*g = split;
		return 0;
	}
	g->first += nr;
	g->count -= nr;
	g->bytes -= split.bytes;
	more = reallocarray(in->groups, in->nr_groups + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	in->groups = more;
	in->groups[in->nr_groups++] = split;
	return 0;
}

static int deadlocks_apply(struct inspection *in)
{
	static const enum inspect_confidence grades[] = { INSPECT_PROVEN, INSPECT_STRONG,
							  INSPECT_SUSPECT };
	struct u64map rings = { 0 };
	size_t i, k, nr = in->nr_groups;
	int rc = rings_by_coroutine(in, &rings);

	for (i = 0; !rc && i < nr; i++) {
		for (k = 0; !rc && k < sizeof(grades) / sizeof(grades[0]); k++) {
			if (in->groups[i].verdict != VERDICT_DEADLOCK)
				rc = group_split(in, &rings, i, grades[k]);
		}
	}
	u64map_release(&rings);
	return rc;
}

int deadlocks_judge(struct inspection *in, struct err *err)
{
	int rc = tokio_described_add(in), look;

	if (!rc)
		rc = deadlocks_find(in);
	if (rc < 0 || !in->deadlocks.nr)
		return rc;
	if (in->image->kind == IMAGE_RUNNING) {
		for (look = 0, rc = 0; !rc && in->deadlocks.nr && look < LOOKS_MAX; look++)
			rc = rings_look_again(in, err);
		if (rc < 0)
			return rc;
		if (!rc)
			rings_doubt(&in->deadlocks, "threads ran between the looks");
	} else if (in->kernel.is_saved && !in->kernel.is_quiet) {
		rings_doubt(&in->deadlocks, "threads ran while the process was saved");
	}
	return deadlocks_apply(in);
}

void deadlocks_release(struct deadlocks *d)
{
	free(d->members);
	free(d->rings);
	*d = (struct deadlocks){ 0 };
}
