/* SPDX-License-Identifier: MIT */
/* propose.c - orders, paddings and splits that the profile of a type suggests. */
#include "base/memory_shortage.h"
#include "memory/layout/propose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COLD_MIN 16u /* bytes that a split must remove at least */

struct proposal {
	const struct profile_type *t;
	const struct pieces *p;
	uint32_t line;
	struct shape *now, **out;
	int nr;
	bool no_memory;
};

/* ---- orders -------------------------------------------------------------- */

/* Sort class: fixed in front, hot, cold, fixed at the end. */
static int class_of(const struct proposal *q, uint32_t n, bool by_heat)
{
	if (q->p->list[n].in_front)
		return 0;
	if (q->p->list[n].at_end)
		return 3;
	return by_heat && pieces_is_cold(q->p, n) ? 2 : 1;
}

struct propose_sorting {
	const struct proposal *q;
	bool by_heat;
};

static int by_align(const void *a, const void *b, void *arg)
{
	const struct propose_sorting *s = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct piece *px = &s->q->p->list[x], *py = &s->q->p->list[y];
	int cx = class_of(s->q, x, s->by_heat), cy = class_of(s->q, y, s->by_heat);

	if (cx != cy)
		return cx - cy;
	if (cx == 0 || cx == 3)
		return x < y ? -1 : x > y;
	if (px->align != py->align)
		return px->align < py->align ? 1 : -1;
	if (px->visits != py->visits)
		return px->visits < py->visits ? 1 : -1;
	return x < y ? -1 : x > y;
}

/*
 * Largest alignment first, which leaves no holes.  With @by_heat, cold pieces follow the hot
 * ones.
 */
static void order_packed(const struct proposal *q, struct shape *s, bool by_heat)
{
	struct propose_sorting sorting = { q, by_heat };

	qsort_r(s->order, q->p->nr, sizeof(*s->order), by_align, &sorting);
}

/* How well @n fits the pieces of the line: visits shared with them, and its own visits. */
static double propose_attraction(const struct proposal *q, const uint32_t *in, uint32_t nr,
				 uint32_t n)
{
	double together = 0;
	uint32_t i;

	for (i = 0; i < nr; i++)
		together += profile_affinity(q->t, in[i], n) * (double)q->p->list[in[i]].visits;
	return together + (double)q->p->list[n].visits * 1e-3;
}

/* The unplaced piece of at most @room bytes that fits the line best; NO_PIECE if there is none. */
static uint32_t next_for_line(const struct proposal *q, const uint32_t *in, uint32_t nr,
			      uint64_t room, const bool *placed)
{
	uint32_t i, best = NO_PIECE;
	double most = -1;

	for (i = 0; i < q->p->nr; i++) {
		double here;

		if (placed[i] || q->p->list[i].in_front || q->p->list[i].at_end ||
		    q->p->list[i].size > room)
			continue;
		here = nr ? propose_attraction(q, in, nr, i) : (double)q->p->list[i].visits;
		if (here > most) {
			most = here;
			best = i;
		}
	}
	return best;
}

static int line_by_align(const void *a, const void *b, void *arg)
{
	const struct proposal *q = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct piece *px = &q->p->list[x], *py = &q->p->list[y];

	if (px->align != py->align)
		return px->align < py->align ? 1 : -1;
	if (px->visits != py->visits)
		return px->visits < py->visits ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* Fill line after line with pieces that are used together, the hottest first. */
static bool order_lines(const struct proposal *q, struct shape *s)
{
	bool *placed = calloc(q->p->nr + 1, sizeof(*placed));
	uint32_t nr = 0, start, i, n;
	uint64_t room = q->line;

	if (!placed) {
		memory_shortage_note();
		return false;
	}
	for (i = 0; i < q->p->nr; i++) {
		if (!q->p->list[i].in_front)
			continue;
		placed[i] = true;
		s->order[nr++] = i;
		room -= q->p->list[i].size % q->line < room ? q->p->list[i].size % q->line : room;
	}
	start = nr;
	while (nr < q->p->nr) {
		n = next_for_line(q, s->order + start, nr - start, room, placed);
		if (n == NO_PIECE && room < q->line) { /* the line is full */
			qsort_r(s->order + start, nr - start, sizeof(*s->order), line_by_align,
				(void *)q);
			start = nr;
			room = q->line;
			continue;
		}
		if (n == NO_PIECE) /* longer than a line, the hottest first */
			n = next_for_line(q, NULL, 0, UINT64_MAX, placed);
		if (n == NO_PIECE)
			break;
		placed[n] = true;
		s->order[nr++] = n;
		room -= q->p->list[n].size < room ? q->p->list[n].size : room;
	}
	if (nr > start)
		qsort_r(s->order + start, nr - start, sizeof(*s->order), line_by_align, (void *)q);
	for (i = 0; i < q->p->nr; i++) {
		if (q->p->list[i].at_end && !placed[i])
			s->order[nr++] = i;
	}
	free(placed);
	return nr == q->p->nr;
}

/* Pieces that stay in front may leave a hole before an aligned one: fill it with those that fit. */
static void propose_fill_front(const struct proposal *q, struct shape *s)
{
	uint32_t front = 0, i, align = q->p->of->align ? q->p->of->align : 1;
	uint64_t at = 0;

	while (front < q->p->nr && q->p->list[s->order[front]].in_front) {
		at = q->p->list[s->order[front]].offset + q->p->list[s->order[front]].size;
		front++;
	}
	for (i = front; i < q->p->nr && at % align; i++) {
		uint32_t n = s->order[i];
		const struct piece *f = &q->p->list[n];

		if (f->at_end || f->size > align - at % align || at % f->align)
			continue;
		memmove(s->order + front + 1, s->order + front, (i - front) * sizeof(n));
		s->order[front++] = n;
		at += f->size;
		i = front - 1;
	}
}

/* ---- proposals ----------------------------------------------------------- */

static struct shape *propose_start(struct proposal *q, const char *name)
{
	struct shape *s = shape_copy(q->now, name);

	if (!s)
		q->no_memory = true;
	return s;
}

/* Takes ownership of @s: kept if it is new, else freed. */
static void propose_offer(struct proposal *q, struct shape *s)
{
	int i;
	bool known = shape_same(s, q->now);

	for (i = 0; i < q->nr && !known; i++)
		known = shape_same(s, q->out[i]);
	if (known || q->nr == PROPOSE_MAX)
		shape_free(s);
	else
		q->out[q->nr++] = s;
}

static void propose_orders(struct proposal *q)
{
	struct shape *s = propose_start(q, "what is used together, together");

	if (s && order_lines(q, s)) {
		propose_fill_front(q, s);
		shape_settle(s, 0, q->line);
		if (s->bytes <= q->p->of->size) {
			propose_offer(q, s);
			s = NULL;
		}
	}
	shape_free(s);
	s = propose_start(q, "hot fields first");
	if (s) {
		order_packed(q, s, true);
		propose_fill_front(q, s);
		shape_settle(s, 0, q->line);
		propose_offer(q, s);
	}
	s = propose_start(q, "no holes");
	if (s) {
		order_packed(q, s, false);
		propose_fill_front(q, s);
		shape_settle(s, 0, q->line);
		propose_offer(q, s);
	}
}

/* The alignment at which an element of @bytes spans no more lines than necessary. */
static uint32_t propose_fitting(uint64_t bytes, uint32_t line)
{
	uint32_t align = 1;

	while (align < bytes && align < line)
		align *= 2;
	return align;
}

static void propose_fit(struct proposal *q)
{
	struct shape *s = propose_start(q, "elements that fit lines");

	if (!s)
		return;
	order_packed(q, s, true);
	propose_fill_front(q, s);
	shape_settle(s, 0, q->line);
	shape_settle(s, propose_fitting(s->bytes, q->line), q->line);
	propose_offer(q, s);
}

static int by_writer(const void *a, const void *b, void *arg)
{
	const struct proposal *q = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct piece *px = &q->p->list[x], *py = &q->p->list[y];
	int cx = class_of(q, x, false), cy = class_of(q, y, false);

	if (cx != cy)
		return cx - cy;
	if (cx == 1 && px->writers != py->writers)
		return px->writers < py->writers ? -1 : 1;
	if (cx == 1 && px->align != py->align)
		return px->align < py->align ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* Pieces with the same writers get lines of their own; pieces without a writer come first. */
static void propose_apart(struct proposal *q)
{
	struct shape *s = propose_start(q, "threads in lines of their own");
	uint64_t before;
	uint32_t i, groups = 1;

	if (!s)
		return;
	qsort_r(s->order, q->p->nr, sizeof(*s->order), by_writer, q);
	before = q->p->list[s->order[0]].writers;
	for (i = 1; i < q->p->nr; i++) {
		uint32_t n = s->order[i];

		if (q->p->list[n].writers == before || q->p->list[n].at_end)
			continue;
		before = q->p->list[n].writers;
		s->line_start[n] = true;
		groups++;
	}
	shape_settle(s, q->line, q->line);
	if (groups > 1 && s->bytes <= q->p->of->size + (uint64_t)groups * q->line)
		propose_offer(q, s);
	else
		shape_free(s);
}

static void propose_alone(struct proposal *q)
{
	struct shape *s = propose_start(q, "each element in lines of its own");

	if (!s)
		return;
	shape_settle(s, q->line, q->line);
	propose_offer(q, s);
}

static void propose_split(struct proposal *q, bool by_pointer)
{
	struct shape *s = propose_start(q, by_pointer ? "cold fields behind a pointer"
						      : "cold fields in an array of their own");
	uint64_t bytes = 0;
	uint32_t i;

	if (!s)
		return;
	order_packed(q, s, true);
	s->by_pointer = by_pointer;
	for (i = 0; i < q->p->nr; i++) {
		if (class_of(q, i, true) != 2)
			continue;
		s->nr_cold++;
		bytes += s->size[i];
	}
	shape_settle(s, 0, q->line);
	if (bytes >= COLD_MIN && s->nr_cold < q->p->nr && s->bytes < q->p->of->size &&
	    !q->p->list[s->order[q->p->nr - 1]].at_end)
		propose_offer(q, s);
	else
		shape_free(s);
}

int layout_propose(const struct profile_type *t, uint32_t line, struct shape *out[PROPOSE_MAX])
{
	struct proposal q = { .t = t, .p = &t->pieces, .line = line, .out = out };
	bool shared = t->counts.by_class[SIM_COHERENCE] > 0;
	int n;

	q.now = shape_new(q.p, "as it is");
	if (!q.now)
		return -ENOMEM;
	propose_orders(&q);
	propose_fit(&q);
	if (shared) {
		propose_alone(&q);
		propose_apart(&q);
	}
	if (!t->pieces.of->is_packed)
		propose_split(&q, t->in_arrays * 2 < t->accesses);
	shape_free(q.now);
	if (!q.no_memory)
		return q.nr;
	for (n = 0; n < q.nr; n++)
		shape_free(out[n]);
	return -ENOMEM;
}
