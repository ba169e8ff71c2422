/* SPDX-License-Identifier: MIT */
/* profile.c - visits, affinities and used bytes of each type, computed while the trace is read. */
#include "memory/layout/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"

struct resident {
	uint64_t mask; /* of the line's bytes, in 64ths */
	uint32_t type; /* index */
	uint32_t free;
};

/* An access to data without a type, since the last record other than an access. */
#define PROFILE_UNTYPED 4096u /* a power of two */
struct profile_untyped {
	uint64_t address, pc;
	uint64_t time; /* of the profile, plus 1 */
};

#define PROFILE_NEAR 4096u /* a power of two */

struct profile {
	struct profile_untyped untyped[PROFILE_UNTYPED];
	uint64_t time; /* number of records other than accesses */
	struct blame *b;
	struct profile_type **types;
	uint32_t nr_types;
	uint32_t *by_owner; /* 1 + index; 0: not seen yet; UINT32_MAX: not profiled */
	uint32_t by_owner_size;
	uint64_t now;
	struct u64map lines; /* line to 1 + index */
	struct profile_near {
		uint64_t line;
		uint32_t resident;       /* 1 + index */
	} near[PROFILE_NEAR];            /* by line modulo PROFILE_NEAR: found without the map */
	uint32_t line_shift, unit_shift; /* log2 of the bytes of a line, and of a bit of its mask */
	struct resident *residents;
	uint32_t nr_residents;
	unsigned sample; /* lines whose hash ends in this number of zero bits are followed */
};

struct profile *profile_new(struct blame *b, struct err *err)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (p)
		p->residents = calloc(PROFILE_LINES_MAX, sizeof(*p->residents));
	if (p)
		p->types = calloc(PROFILE_TYPES_MAX, sizeof(struct profile_type *));
	if (!p || !p->residents || !p->types) {
		err_set(err, -ENOMEM, "no memory for a profile of types");
		profile_free(p);
		return NULL;
	}
	p->b = b;
	p->line_shift = (uint32_t)__builtin_ctz(blame_line_size(b));
	p->unit_shift = p->line_shift > 6 ? p->line_shift - 6 : 0;
	return p;
}

/* ---- types --------------------------------------------------------------- */

static int new_type(struct profile *p, uint32_t owner, uint32_t *out)
{
	const struct owner *known = mem_places_owner(blame_places(p->b), owner);
	struct profile_type *t;

	*out = UINT32_MAX;
	if (known->kind != OWNER_RECORD || p->nr_types == PROFILE_TYPES_MAX)
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->owner = owner;
	if (pieces_init(&t->pieces, blame_types(p->b), known->type) < 0) {
		pieces_release(&t->pieces);
		free(t);
		return -ENOMEM;
	}
	p->types[p->nr_types++] = t;
	*out = p->nr_types;
	return 0;
}

/* NULL with *@failed false: the owner is not a type with fields. */
static struct profile_type *profile_type_of(struct profile *p, uint32_t owner, bool *failed)
{
	uint32_t size = p->by_owner_size ? p->by_owner_size : 64, *more;

	while (size <= owner)
		size *= 2;
	if (size > p->by_owner_size) {
		more = realloc(p->by_owner, size * sizeof(*more));
		if (!more) {
			*failed = true;
			return NULL;
		}
		memset(more + p->by_owner_size, 0, (size - p->by_owner_size) * sizeof(*more));
		p->by_owner = more;
		p->by_owner_size = size;
	}
	if (!p->by_owner[owner] && new_type(p, owner, &p->by_owner[owner]) < 0) {
		*failed = true;
		return NULL;
	}
	return p->by_owner[owner] == UINT32_MAX ? NULL : p->types[p->by_owner[owner] - 1];
}

/* ---- visits -------------------------------------------------------------- */

static void close_visit(struct profile_type *t, struct profile_visit *v)
{
	uint64_t a, b, mask = v->mask;

	if (!v->element)
		return;
	t->visits++;
	for (a = mask; a; a &= a - 1) {
		unsigned i = (unsigned)__builtin_ctzll(a);

		t->visits_of[i]++;
		for (b = mask; b; b &= b - 1)
			t->both[i][__builtin_ctzll(b)]++;
	}
	v->element = 0;
}

static void profile_visit(struct profile *p, struct profile_type *t, uint64_t element,
			  uint32_t thread, uint32_t piece)
{
	uint64_t hash = (element ^ (uint64_t)thread << 48) * UINT64_C(0x9e3779b97f4a7c15);
	struct profile_visit *v = &t->open[hash >> 56 & (PROFILE_OPEN - 1)];

	if (v->element != element || v->thread != thread || p->now - v->last > PROFILE_WINDOW) {
		close_visit(t, v);
		v->element = element;
		v->thread = thread;
		v->mask = 0;
	}
	v->last = p->now;
	v->mask |= UINT64_C(1) << (piece < PROFILE_PIECES ? piece : PROFILE_PIECES - 1);
}

/* ---- lines --------------------------------------------------------------- */

static bool profile_followed(const struct profile *p, uint64_t line)
{
	uint64_t hash = line * UINT64_C(0x9e3779b97f4a7c15);

	return (hash >> 20 & ((UINT64_C(1) << p->sample) - 1)) == 0;
}

static void end_residence(struct profile *p, const struct resident *r)
{
	struct profile_type *t = p->types[r->type];

	t->fetched++;
	t->used += (uint64_t)__builtin_popcountll(r->mask) << p->unit_shift;
}

/* The table is full: stop following half of the lines. */
static int profile_thin_out(struct profile *p)
{
	struct u64map kept = { 0 };
	struct resident *list = calloc(PROFILE_LINES_MAX, sizeof(*list));
	uint64_t line, index;
	uint32_t nr = 0;
	size_t pos = 0;

	if (!list)
		return -ENOMEM;
	p->sample++;
	while (u64map_next(&p->lines, &pos, &line, &index)) {
		if (!profile_followed(p, line)) {
			end_residence(p, &p->residents[index - 1]);
			continue;
		}
		list[nr++] = p->residents[index - 1];
		if (u64map_put(&kept, line, nr) < 0) {
			u64map_release(&kept);
			free(list);
			return -ENOMEM;
		}
	}
	u64map_release(&p->lines);
	free(p->residents);
	p->lines = kept;
	p->residents = list;
	p->nr_residents = nr;
	memset(p->near, 0, sizeof(p->near));
	return 0;
}

/* The bytes @first to @last of a line. */
static uint64_t bytes_mask(const struct profile *p, uint64_t first, uint64_t last)
{
	return UINT64_MAX >> (63 - (last >> p->unit_shift)) & UINT64_MAX
								      << (first >> p->unit_shift);
}

/* NULL: the line was not fetched while the profile followed it. */
static struct resident *profile_resident(struct profile *p, uint64_t line)
{
	struct profile_near *near = &p->near[line % PROFILE_NEAR];
	uint64_t index;

	if (near->line != line || !near->resident) {
		if (!u64map_get(&p->lines, line, &index))
			return NULL;
		*near = (struct profile_near){ line, (uint32_t)index };
	}
	return &p->residents[near->resident - 1];
}

static int profile_use_line(struct profile *p, uint64_t line, uint64_t mask, bool missed,
			    uint32_t type)
{
	struct resident *r;

	if (!profile_followed(p, line))
		return 0;
	r = profile_resident(p, line);
	if (r) {
		if (missed) {
			end_residence(p, r);
			r->mask = 0;
			r->type = type;
		}
		r->mask |= mask;
		return 0;
	}
	if (!missed)
		return 0; /* fetched before the profile followed it */
	if (p->nr_residents == PROFILE_LINES_MAX) {
		if (profile_thin_out(p) < 0)
			return -ENOMEM;
		return profile_use_line(p, line, mask, missed, type);
	}
	p->residents[p->nr_residents++] = (struct resident){ .mask = mask, .type = type };
	return u64map_put(&p->lines, line, p->nr_residents);
}

/* Bit i of @missed: line i of the access missed the first level. */
static int profile_use_lines(struct profile *p, const struct mem_access *a, uint64_t missed,
			     uint32_t type)
{
	uint64_t end = a->address + a->size - 1, line = a->address >> p->line_shift, last;
	uint64_t in_line = (UINT64_C(1) << p->line_shift) - 1, from = a->address & in_line;

	if (end < a->address) /* a trace may claim an access beyond the last address */
		end = UINT64_MAX;
	last = end >> p->line_shift;
	for (; line <= last; line++, from = 0, missed >>= 1) {
		uint64_t mask = bytes_mask(p, from, line < last ? in_line : end & in_line);

		if (profile_use_line(p, line, mask, missed & 1, type) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- accesses ------------------------------------------------------------ */

static void use_pieces(struct profile *p, struct profile_type *t, uint32_t thread,
		       const struct mem_access *a, const struct address_owner *place)
{
	uint64_t at = place->offset, end = place->offset + a->size;
	uint64_t element = a->address - place->offset;

	while (at < end) {
		uint32_t piece = pieces_at(&t->pieces, at);

		if (piece == NO_PIECE && at >= t->pieces.of->size)
			return;
		if (piece == NO_PIECE) {
			at++;
			continue;
		}
		profile_visit(p, t, element, thread, piece);
		if (piece == t->pieces.tail)
			return;
		at = t->pieces.list[piece].offset + t->pieces.list[piece].size;
	}
}

void profile_forget(struct profile *p)
{
	p->time++;
}

static int profile_use(struct profile *p, uint32_t thread, const struct mem_access *a,
		       uint64_t missed)
{
	uint64_t hash = (a->address ^ a->pc << 20) * UINT64_C(0x9e3779b97f4a7c15);
	struct profile_untyped *untyped = &p->untyped[hash >> 52];
	struct profile_type *t;
	struct address_owner place;
	bool failed = false;

	p->now++;
	if (!a->size || (untyped->address == a->address && untyped->pc == a->pc &&
			 untyped->time == p->time + 1))
		return 0;
	if (mem_places_find((struct mem_places *)blame_places(p->b), a->address, a->pc, &place) < 0)
		return -ENOMEM;
	t = profile_type_of(p, place.owner, &failed);
	if (!t) {
		*untyped = (struct profile_untyped){ a->address, a->pc, p->time + 1 };
		return failed ? -ENOMEM : 0;
	}
	t->accesses++;
	t->in_arrays += place.end - place.start > place.stride;
	t->in_variables += place.variable != NULL;
	t->in_blocks += place.annotated || place.typed == TYPED_BY_VOTE;
	if (place.typed != TYPED_IN_ARRAY)
		use_pieces(p, t, thread, a, &place);
	return profile_use_lines(p, a, missed, p->by_owner[place.owner] - 1);
}

int profile_access(struct profile *p, const struct mem_record *r, const struct sim_outcome *out)
{
	const struct mem_access a = { .address = r->address,
				      .pc = r->pc,
				      .size = r->size,
				      .is_write = r->kind == MEM_WRITE };

	return profile_use(p, r->thread, &a, out->missed_first);
}

int profile_hit(struct profile *p, uint32_t thread, const struct mem_access *a)
{
	return profile_use(p, thread, a, 0);
}

/* ---- the end ------------------------------------------------------------- */

static void take_counts(struct profile *p, const struct blame_owner *o)
{
	struct profile_type *t;
	uint32_t i;

	if (o->owner >= p->by_owner_size || !p->by_owner[o->owner] ||
	    p->by_owner[o->owner] == UINT32_MAX)
		return;
	t = p->types[p->by_owner[o->owner] - 1];
	t->counts = o->counts;
	t->cost = blame_cost(p->b, &o->counts);
	if (o->nr_fields)
		t->behind = o->fields[o->nr_fields - 1].counts.reads +
			    o->fields[o->nr_fields - 1].counts.writes;
	for (i = 0; i + 2 < o->nr_fields; i++) {
		const struct blame_field *f = &o->fields[i];
		struct piece *piece = &t->pieces.list[t->pieces.of_leaf[i]];

		piece->reads += f->counts.reads;
		piece->writes += f->counts.writes;
		piece->misses += f->counts.misses[0];
		piece->cost += blame_cost(p->b, &f->counts);
		piece->readers |= f->readers;
		piece->writers |= f->writers;
	}
	for (i = 0; i < t->pieces.nr; i++)
		t->pieces.list[i].visits =
			t->visits_of[i < PROFILE_PIECES ? i : PROFILE_PIECES - 1];
}

int profile_finish(struct profile *p)
{
	const struct blame_owner **owners;
	size_t nr, i, j;
	uint64_t line, index;
	size_t pos = 0;

	for (i = 0; i < p->nr_types; i++) {
		for (j = 0; j < PROFILE_OPEN; j++)
			close_visit(p->types[i], &p->types[i]->open[j]);
	}
	while (u64map_next(&p->lines, &pos, &line, &index))
		end_residence(p, &p->residents[index - 1]);
	nr = blame_owners(p->b, NULL, 0);
	owners = calloc(nr + 1, sizeof(const struct blame_owner *));
	if (!owners)
		return -ENOMEM;
	blame_owners(p->b, owners, nr);
	for (i = 0; i < nr; i++)
		take_counts(p, owners[i]);
	free(owners);
	return 0;
}

static int profile_by_cost(const void *a, const void *b)
{
	const struct profile_type *x = *(struct profile_type *const *)a;
	const struct profile_type *y = *(struct profile_type *const *)b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? 1 : -1;
	if (x->accesses != y->accesses)
		return x->accesses < y->accesses ? 1 : -1;
	return (x->owner > y->owner) - (x->owner < y->owner);
}

size_t profile_types(struct profile *p, struct profile_type **out, size_t nr)
{
	size_t i;

	/* This invalidates by_owner: no access may follow. */
	if (p->nr_types)
		qsort(p->types, p->nr_types, sizeof(struct profile_type *), profile_by_cost);
	for (i = 0; i < p->nr_types && i < nr; i++)
		out[i] = p->types[i];
	return p->nr_types;
}

double profile_affinity(const struct profile_type *t, uint32_t a, uint32_t b)
{
	uint64_t both, either;

	a = a < PROFILE_PIECES ? a : PROFILE_PIECES - 1;
	b = b < PROFILE_PIECES ? b : PROFILE_PIECES - 1;
	both = t->both[a][b];
	either = t->visits_of[a] + t->visits_of[b] - both;
	return either ? (double)both / (double)either : 0;
}

void profile_free(struct profile *p)
{
	uint32_t i;

	if (!p)
		return;
	for (i = 0; i < p->nr_types; i++) {
		pieces_release(&p->types[i]->pieces);
		free(p->types[i]);
	}
	free(p->types);
	free(p->by_owner);
	free(p->residents);
	u64map_release(&p->lines);
	free(p);
}
