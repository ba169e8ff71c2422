/* SPDX-License-Identifier: MIT */
/* blame.c - attribute every access and its misses to an owner and a site. */
#include "memory/blame/blame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory/blame/blame_state.h"

#define TYPE_LINES_MAX 256u
#define TOUCHED_MAX    256u /* fields of one access, which has at most 255 bytes */

struct blame *blame_new(const struct sim_config *config, struct err *err)
{
	struct blame *b = calloc(1, sizeof(*b));

	if (b) {
		b->config = *config;
		b->types = types_new();
		b->symbols = symbols_new();
		b->memos = blame_memos_new();
		b->places = b->types ? mem_places_new(b->types) : NULL;
	}
	if (!b || !b->types || !b->symbols || !b->places || !b->memos) {
		err_set(err, -ENOMEM, "no memory to attribute misses");
		blame_free(b);
		return NULL;
	}
	mem_places_name_sites(b->places, blame_allocation_name, b);
	return b;
}

int blame_add_files(struct blame *b, const struct type_files *files, struct err *err)
{
	return types_add_files(b->types, files, err);
}

int blame_add_symbols(struct symbols *symbols, const struct mem_module *m)
{
	char build_id[65] = "";
	const struct symbol_module module = {
		.start = m->m.start,
		.end = m->m.end,
		.has_bias = true,
		.bias = m->m.bias,
		.path = m->path,
		.build_id = mem_module_build_id(m, build_id),
	};

	return m->m.gone ? 0 : symbols_add(symbols, &module);
}

int blame_modules(struct blame *b, const struct mem_facts *facts)
{
	b->facts = facts;
	if (b->nr_modules == facts->nr_modules)
		return 0;
	blame_memos_settle(b);
	for (; b->nr_modules < facts->nr_modules; b->nr_modules++) {
		if (blame_add_symbols(b->symbols, &facts->modules[b->nr_modules]) < 0)
			return -ENOMEM;
	}
	return types_add_modules(b->types, facts);
}

int blame_record(struct blame *b, const struct mem_record *r)
{
	blame_memos_record(b, r);
	if ((r->kind == MEM_CORO || r->kind == MEM_ADD) && blame_coroutine_record(b, r) < 0)
		return -ENOMEM;
	return mem_places_record(b->places, r);
}

int blame_follow(struct blame *b, const struct mem_record *r)
{
	blame_memos_record(b, r);
	return mem_places_follow(b->places, r);
}

/* ---- owners -------------------------------------------------------------- */

static int make_fields(struct blame *b, struct blame_owner *o)
{
	const struct owner *known = mem_places_owner(b->places, o->owner);

	if (known->kind != OWNER_RECORD)
		return 0;
	o->nr_fields = known->nr_leaves + 2;
	o->nr_lines = (uint32_t)(known->size / b->config.level[0].line) + 1;
	if (o->nr_lines > TYPE_LINES_MAX)
		o->nr_lines = TYPE_LINES_MAX;
	o->fields = calloc(o->nr_fields, sizeof(*o->fields));
	o->lines = calloc(o->nr_lines, sizeof(*o->lines));
	return o->fields && o->lines ? 0 : -ENOMEM;
}

static struct blame_owner *blame_owner_of(struct blame *b, uint32_t number)
{
	struct blame_owner **more, *o;
	uint32_t size = b->owners_size ? b->owners_size : 64;

	if (number < b->owners_size && b->owners[number])
		return b->owners[number];
	while (size <= number)
		size *= 2;
	if (size > b->owners_size) {
		more = realloc(b->owners, size * sizeof(struct blame_owner *));
		if (!more)
			return NULL;
		memset(more + b->owners_size, 0,
		       (size - b->owners_size) * sizeof(struct blame_owner *));
		b->owners = more;
		b->owners_size = size;
	}
	o = calloc(1, sizeof(*o));
	b->owners[number] = o;
	if (!o)
		return NULL;
	o->owner = number;
	return make_fields(b, o) < 0 ? NULL : o;
}

static struct blame_site *blame_site_of(struct blame *b, uint64_t pc)
{
	uint64_t *at;

	if (b->last_site && b->last_site->pc == pc)
		return b->last_site;
	if (u64map_count(&b->by_pc) >= BLAME_SITES_MAX &&
	    !u64map_get(&b->by_pc, pc, &(uint64_t){ 0 }))
		pc = 0;
	at = u64map_at(&b->by_pc, pc);
	if (!at)
		return NULL;
	if (!*at) {
		struct blame_site *site = calloc(1, sizeof(*site));

		if (!site)
			return NULL;
		site->pc = pc;
		site->owner = UINT32_MAX;
		*at = (uint64_t)(uintptr_t)site;
	}
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): stored above */
	b->last_site = (struct blame_site *)(uintptr_t)*at;
	return b->last_site;
}

/* ---- counts -------------------------------------------------------------- */

static void count_access(struct blame_counts *c, bool write, uint64_t weight)
{
	if (write)
		c->writes += weight;
	else
		c->reads += weight;
}

/* Part @index of @parts of the misses of an access; the first parts take the remainder. */
static uint64_t blame_part(uint64_t whole, uint32_t index, uint32_t parts)
{
	if (parts == 1)
		return whole;
	return whole / parts + (index < whole % parts);
}

static void count_misses(const struct blame *b, struct blame_counts *c,
			 const struct sim_outcome *out, uint64_t weight, uint32_t index,
			 uint32_t parts)
{
	const uint16_t *classes = out->level[0].by_class;
	uint32_t i;

	for (i = 0; i < b->config.nr_levels; i++)
		c->misses[i] += blame_part(out->level[i].misses * weight, index, parts);
	for (i = 0; i < SIM_CLASSES; i++)
		c->by_class[i] += blame_part(classes[i] * weight, index, parts);
	if (!out->truly_shared)
		c->false_sharing += blame_part(classes[SIM_COHERENCE] * weight, index, parts);
	c->from_peer += blame_part(out->from_peer * weight, index, parts);
}

/* ---- one access ---------------------------------------------------------- */

/* The part of an access that is in one field. */
struct touched {
	struct blame_owner *owner;
	struct address_owner place;
	uint64_t address, end;
	uint32_t field; /* UINT32_MAX: the owner has no fields */
	bool missed;
};

static uint32_t field_of(const struct blame *b, const struct blame_owner *o,
			 const struct address_owner *place, uint64_t size, uint64_t *end)
{
	const struct owner *known = mem_places_owner(b->places, o->owner);
	uint32_t leaf;

	if (!o->fields) {
		*end = UINT64_MAX;
		return UINT32_MAX;
	}
	leaf = types_leaf_at(b->types, known->type, place->offset, size, end);
	if (leaf == LEAF_PADDING)
		return o->nr_fields - 2;
	return leaf == LEAF_BEYOND ? o->nr_fields - 1 : leaf;
}

/* Split the access into the fields that it touches.  Returns how many; -ENOMEM. */
static int blame_take_apart(struct blame *b, const struct mem_record *r, struct touched *list)
{
	uint64_t address = r->address, left = r->size;
	int nr = 0;

	while (left && nr < (int)TOUCHED_MAX) {
		struct touched *t = &list[nr++];
		uint64_t end, take = left, rest;

		if ((nr == 1 ? mem_places_find(b->places, address, r->pc, &t->place)
			     : mem_places_find_rest(b->places, address, r->pc, &t->place)) < 0)
			return -ENOMEM;
		t->owner = blame_owner_of(b, t->place.owner);
		if (!t->owner)
			return -ENOMEM;
		t->field = field_of(b, t->owner, &t->place, left, &end);
		t->address = address;
		if (end != UINT64_MAX && end - t->place.offset < take)
			take = end - t->place.offset;
		/* The end of the element and of the block are bounds as well. */
		if (t->place.stride && t->owner->fields) {
			rest = t->place.stride - t->place.offset;
			take = rest < take ? rest : take;
		}
		rest = t->place.end - address;
		take = rest && rest < take ? rest : take;
		t->end = address + take;
		address += take;
		left -= take;
	}
	return nr;
}

/* Mark the fields in lines that missed; all fields if no line is known.  Returns how many. */
static uint32_t mark_missed(const struct blame *b, struct touched *list, int nr,
			    const struct sim_outcome *out)
{
	uint32_t line = b->config.level[0].line, missed = 0;
	int i;

	for (i = 0; i < nr; i++) {
		uint64_t first = list[i].address / line - out->first_line;
		uint64_t last = (list[i].end - 1) / line - out->first_line, n;

		for (n = first; n <= last && n < 64; n++)
			list[i].missed |= out->missed_first >> n & 1;
		missed += list[i].missed;
	}
	for (i = 0; i < nr && !missed; i++)
		list[i].missed = true;
	return missed ? missed : (uint32_t)nr;
}

/* The counts of the line of an element; NULL: the owner has none. */
static struct blame_counts *blame_line_counts(const struct blame *b, const struct touched *t)
{
	uint64_t line = t->place.offset / b->config.level[0].line;

	if (t->field == UINT32_MAX || !t->owner->nr_lines)
		return NULL;
	return &t->owner->lines[line < t->owner->nr_lines ? line : t->owner->nr_lines - 1];
}

static void count_line(struct blame *b, const struct touched *t, bool write, uint64_t weight,
		       const struct sim_outcome *out, uint32_t index, uint32_t parts)
{
	struct blame_counts *c = blame_line_counts(b, t);

	if (!c)
		return;
	count_access(c, write, weight);
	if (t->missed)
		count_misses(b, c, out, weight, index, parts);
}

static void count_field(struct blame *b, const struct mem_record *r, const struct touched *t,
			uint64_t weight, const struct sim_outcome *out, uint32_t index,
			uint32_t parts)
{
	bool write = r->kind == MEM_WRITE;
	struct blame_counts *heap;
	struct blame_field *f;

	t->owner->by_vote |= t->place.typed == TYPED_BY_VOTE;
	if (t->missed) {
		count_misses(b, &t->owner->counts, out, weight, index, parts);
		heap = blame_heap_counts(b, &t->place);
		if (heap)
			count_misses(b, heap, out, weight, index, parts);
	}
	if (t->field == UINT32_MAX)
		return;
	f = &t->owner->fields[t->field];
	count_access(&f->counts, write, weight);
	*(write ? &f->writers : &f->readers) |= UINT64_C(1) << (r->thread & 63);
	if (t->missed)
		count_misses(b, &f->counts, out, weight, index, parts);
	count_line(b, t, write, weight, out, index, parts);
}

static int count_site(struct blame *b, const struct mem_record *r, const struct touched *first,
		      uint64_t weight, const struct sim_outcome *out)
{
	struct blame_site *site = blame_site_of(b, r->pc);

	if (!site)
		return -ENOMEM;
	count_access(&site->counts, r->kind == MEM_WRITE, weight);
	if (out->level[0].misses) {
		count_misses(b, &site->counts, out, weight, 0, 1);
		if (site->owner == UINT32_MAX && first)
			site->owner = first->owner->owner;
	}
	return 0;
}

static int count_coroutine(struct blame *b, const struct mem_record *r, uint64_t weight,
			   const struct sim_outcome *out)
{
	struct blame_counts *c = blame_coroutine_counts(b, r->thread);

	if (!c)
		return -ENOMEM;
	count_access(c, r->kind == MEM_WRITE, weight);
	if (out->level[0].misses)
		count_misses(b, c, out, weight, 0, 1);
	return 0;
}

static int count_allocation(struct blame *b, const struct mem_record *r, uint64_t weight,
			    const struct sim_outcome *out)
{
	struct heap_block block;
	struct blame_counts *c;

	if (!heap_blocks_find(mem_places_blocks(b->places), r->address, r->pc, &block))
		return 0;
	c = blame_allocation_counts(b, block.site);
	if (!c)
		return -ENOMEM;
	count_access(c, r->kind == MEM_WRITE, weight);
	if (out->level[0].misses)
		count_misses(b, c, out, weight, 0, 1);
	return 0;
}

/* Further accesses like this one, which is to a single field, are found faster. */
static void blame_keep(struct blame *b, const struct mem_record *r, const struct touched *t)
{
	const struct blame_found found = {
		.place = &t->place,
		.owner = t->owner,
		.field = t->field == UINT32_MAX ? NULL : &t->owner->fields[t->field],
		.line = blame_line_counts(b, t),
		.heap = blame_heap_counts(b, &t->place),
		.site = blame_site_of(b, r->pc), /* exists */
	};

	blame_memos_keep(b, r, &found);
}

static int blame_search(struct blame *b, const struct mem_record *r, const struct sim_outcome *out)
{
	struct touched list[TOUCHED_MAX];
	uint64_t weight = r->weight_256 ? r->weight_256 : BLAME_ONE;
	bool write = r->kind == MEM_WRITE;
	uint32_t parts = 1, index = 0;
	int nr, i;

	nr = blame_take_apart(b, r, list);
	if (nr < 0)
		return -ENOMEM;
	b->alike_start = b->alike_end = 0;
	b->last_tally = NULL;
	for (i = 0; i < nr; i++)
		list[i].missed = false;
	if (out->level[0].misses && nr)
		parts = mark_missed(b, list, nr, out);
	for (i = 0; i < nr; i++) {
		/* Count one access per owner, however many of its fields the access touches. */
		if (i == 0 || list[i].owner != list[i - 1].owner)
			count_access(&list[i].owner->counts, write, weight);
		count_field(b, r, &list[i], weight, out, index, parts);
		index += list[i].missed;
	}
	count_access(&b->total, write, weight);
	if (out->level[0].misses)
		count_misses(b, &b->total, out, weight, 0, 1);
	if (count_coroutine(b, r, weight, out) < 0 || count_allocation(b, r, weight, out) < 0)
		return -ENOMEM;
	if (count_site(b, r, nr ? &list[0] : NULL, weight, out) < 0)
		return -ENOMEM;
	if (nr == 1)
		blame_keep(b, r, &list[0]);
	if (nr && (out->invalidated || out->level[0].by_class[SIM_COHERENCE]))
		return blame_note_shared(b, r, &list[0].place, out);
	return 0;
}

int blame_access(struct blame *b, const struct mem_record *r, const struct sim_outcome *out)
{
	return blame_memos_count(b, r, out) ? 0 : blame_search(b, r, out);
}

void blame_fetch(const struct blame *b, uint64_t address, int step)
{
	const struct heap_blocks *blocks = mem_places_blocks(b->places);

	if (step == 0)
		heap_blocks_fetch_place(blocks, address);
	else
		heap_blocks_fetch_block(blocks, address);
}

struct replay_tally *blame_alike(const struct blame *b, const struct mem_record *r, uint64_t *start,
				 uint64_t *end)
{
	if (r->address < b->alike_start || r->address >= b->alike_end ||
	    r->size > b->alike_end - r->address)
		return b->last_tally;
	*start = b->alike_start;
	*end = b->alike_end - r->size + 1;
	return b->last_tally;
}

/* Without annotations, a record of the heap concerns its block and those that it overlaps. */
bool blame_changes_range(struct blame *b, const struct mem_record *r, uint64_t *start,
			 uint64_t *end)
{
	if ((r->kind != MEM_ALLOC && r->kind != MEM_FREE) || !mem_places_is_plain(b->places))
		return false;
	heap_blocks_changes(mem_places_blocks(b->places), r, start, end);
	return true;
}

void blame_free(struct blame *b)
{
	uint64_t key, value;
	size_t pos = 0;
	uint32_t i;

	if (!b)
		return;
	for (i = 0; i < b->owners_size; i++) {
		if (!b->owners[i])
			continue;
		free(b->owners[i]->fields);
		free(b->owners[i]->lines);
		free(b->owners[i]);
	}
	free(b->owners);
	while (u64map_next(&b->by_pc, &pos, &key, &value))
		free((void *)(uintptr_t)value); /* NOLINT(performance-no-int-to-ptr) */
	u64map_release(&b->by_pc);
	blame_tables_release(b);
	blame_memos_free(b->memos);
	blame_coroutines_release(b);
	blame_allocations_release(b);
	blame_functions_release(b);
	mem_places_free(b->places);
	types_free(b->types);
	symbols_free(b->symbols);
	free(b);
}
