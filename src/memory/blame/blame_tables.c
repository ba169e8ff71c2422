/* SPDX-License-Identifier: MIT */
/* blame_tables.c - shared lines; owners and source lines sorted by cost. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "memory/blame/blame_state.h"

/* ---- costs --------------------------------------------------------------- */

uint32_t blame_level_cost(uint32_t level, uint32_t nr_levels)
{
	static const uint32_t inner[] = { 10, 30, 40, 50, 60 };

	if (level + 1 >= nr_levels)
		return 200;
	return inner[level < 4 ? level : 4];
}

uint64_t blame_cost(const struct blame *b, const struct blame_counts *c)
{
	uint64_t cost = c->from_peer * BLAME_PEER_COST;
	uint32_t i;

	for (i = 0; i < b->config.nr_levels; i++)
		cost += c->misses[i] * blame_level_cost(i, b->config.nr_levels);
	return cost;
}

/* ---- shared lines -------------------------------------------------------- */

static struct blame_shared *shared_of(struct blame *b, uint64_t line)
{
	uint64_t index;
	struct blame_shared *s;

	if (u64map_get(&b->shared_by_line, line, &index))
		return b->shared[index - 1];
	if (b->nr_shared == BLAME_SHARED_MAX) {
		b->shared_dropped++;
		return NULL;
	}
	if (!b->shared)
		b->shared = calloc(BLAME_SHARED_MAX, sizeof(struct blame_shared *));
	s = b->shared ? calloc(1, sizeof(*s)) : NULL;
	if (!s || u64map_put(&b->shared_by_line, line, b->nr_shared + 1) < 0) {
		free(s);
		return NULL;
	}
	s->address = line * b->config.level[0].line;
	b->shared[b->nr_shared++] = s;
	return s;
}

static void count_shared(struct blame_shared_field *f, bool write)
{
	if (write)
		f->writes++;
	else
		f->reads++;
}

int blame_note_shared(struct blame *b, const struct mem_record *r,
		      const struct address_owner *place, const struct sim_outcome *out)
{
	uint32_t line_size = b->config.level[0].line, i;
	struct blame_shared *s = shared_of(b, r->address / line_size);
	uint32_t offset = (uint32_t)(r->address % line_size);
	struct blame_shared_field *f;
	int64_t number;
	char text[300];

	if (!s)
		return b->shared ? 0 : -ENOMEM;
	if (out->level[0].by_class[SIM_COHERENCE])
		*(out->truly_shared ? &s->true_sharing : &s->false_sharing) += 1;
	for (i = 0; i < s->nr_fields; i++) {
		f = &s->fields[i];
		if (f->thread == r->thread && f->owner == place->owner && f->offset == offset) {
			count_shared(f, r->kind == MEM_WRITE);
			return 0;
		}
	}
	if (s->nr_fields == BLAME_FIELDS_MAX) {
		s->others++;
		return 0;
	}
	number = strtab_intern(&b->texts, mem_places_text(b->places, place, text, sizeof(text)));
	if (number < 0)
		return -ENOMEM;
	f = &s->fields[s->nr_fields++];
	f->text = strtab_text(&b->texts, (size_t)number);
	f->owner = place->owner;
	f->thread = r->thread;
	f->offset = offset;
	count_shared(f, r->kind == MEM_WRITE);
	return 0;
}

static int by_sharing(const void *a, const void *b)
{
	const struct blame_shared *x = *(struct blame_shared *const *)a;
	const struct blame_shared *y = *(struct blame_shared *const *)b;

	if (x->false_sharing != y->false_sharing)
		return x->false_sharing < y->false_sharing ? 1 : -1;
	if (x->true_sharing != y->true_sharing)
		return x->true_sharing < y->true_sharing ? 1 : -1;
	return x->address < y->address ? -1 : x->address > y->address;
}

size_t blame_shared(struct blame *b, const struct blame_shared **out, size_t nr)
{
	uint32_t line = b->config.level[0].line, i;

	if (b->nr_shared)
		qsort(b->shared, b->nr_shared, sizeof(struct blame_shared *), by_sharing);
	for (i = 0; i < b->nr_shared; i++) /* the key exists: needs no memory */
		u64map_put(&b->shared_by_line, b->shared[i]->address / line, i + 1);
	for (i = 0; i < b->nr_shared && i < nr; i++)
		out[i] = b->shared[i];
	return b->nr_shared;
}

const struct blame_shared *blame_shared_at(const struct blame *b, uint64_t address)
{
	uint64_t index;

	if (!u64map_get(&b->shared_by_line, address / b->config.level[0].line, &index))
		return NULL;
	return b->shared[index - 1];
}

uint64_t blame_shared_dropped(const struct blame *b)
{
	return b->shared_dropped;
}

/* ---- sorting ------------------------------------------------------------- */

int blame_by_cost(const struct blame *b, const struct blame_counts *x, const struct blame_counts *y)
{
	uint64_t cx = blame_cost(b, x), cy = blame_cost(b, y);

	if (cx != cy)
		return cx < cy ? 1 : -1;
	if (x->reads + x->writes != y->reads + y->writes)
		return x->reads + x->writes < y->reads + y->writes ? 1 : -1;
	return 0;
}

static int owners_by_cost(const void *x, const void *y, void *b)
{
	const struct blame_owner *a = *(struct blame_owner *const *)x;
	const struct blame_owner *c = *(struct blame_owner *const *)y;
	int order = blame_by_cost(b, &a->counts, &c->counts);

	return order ? order : (a->owner > c->owner) - (a->owner < c->owner);
}

size_t blame_owners(struct blame *b, const struct blame_owner **out, size_t nr)
{
	size_t i;

	blame_memos_settle(b);
	free(b->sorted_owners);
	b->nr_sorted_owners = 0;
	b->sorted_owners = calloc(b->owners_size + 1, sizeof(struct blame_owner *));
	if (!b->sorted_owners) {
		memory_shortage_note();
		return 0;
	}
	for (i = 0; i < b->owners_size; i++) {
		if (b->owners[i])
			b->sorted_owners[b->nr_sorted_owners++] = b->owners[i];
	}
	qsort_r(b->sorted_owners, b->nr_sorted_owners, sizeof(struct blame_owner *), owners_by_cost,
		b);
	for (i = 0; i < b->nr_sorted_owners && i < nr; i++)
		out[i] = b->sorted_owners[i];
	return b->nr_sorted_owners;
}

/* ---- source lines -------------------------------------------------------- */

static int lines_by_cost(const void *x, const void *y, void *b)
{
	const struct blame_site *a = *(struct blame_site *const *)x;
	const struct blame_site *c = *(struct blame_site *const *)y;
	int order = blame_by_cost(b, &a->counts, &c->counts);

	return order ? order : (a->pc > c->pc) - (a->pc < c->pc);
}

void blame_add_counts(struct blame_counts *to, const struct blame_counts *from)
{
	uint32_t i;

	to->reads += from->reads;
	to->writes += from->writes;
	for (i = 0; i < SIM_LEVELS_MAX; i++)
		to->misses[i] += from->misses[i];
	for (i = 0; i < SIM_CLASSES; i++)
		to->by_class[i] += from->by_class[i];
	to->false_sharing += from->false_sharing;
	to->from_peer += from->from_peer;
}

static void blame_resolve(struct blame *b, struct blame_site *site)
{
	struct symbol symbol;

	/* The recorded address is that after the call. */
	if (!site->pc || !symbols_find(b->symbols, 0, site->pc - 1, &symbol))
		return;
	site->function = symbol.function;
	site->file = symbol.file;
	site->line = symbol.line;
	site->module = symbol.module;
}

/* Add the counts of @site to its source line, which is created if it is new. */
static void add_line(struct blame *b, struct u64map *known, struct strtab *keys,
		     const struct blame_site *site)
{
	struct blame_site found = *site;
	uint64_t *at = NULL;
	char key[1200];
	int64_t text;

	blame_resolve(b, &found);
	if (found.file)
		snprintf(key, sizeof(key), "%.500s:%u %.500s", found.file, found.line,
			 found.function ? found.function : "");
	else
		snprintf(key, sizeof(key), "%llx", (unsigned long long)found.pc);
	text = strtab_intern(keys, key);
	if (text >= 0)
		at = u64map_at(known, (uint64_t)text);
	if (at && *at) {
		blame_add_counts(&b->lines[*at - 1].counts, &site->counts);
		if (b->lines[*at - 1].owner == UINT32_MAX)
			b->lines[*at - 1].owner = site->owner;
		return;
	}
	b->lines[b->nr_lines++] = found;
	if (at)
		*at = b->nr_lines;
}

static int sites_by_pc(const void *x, const void *y)
{
	const struct blame_site *a = *(struct blame_site *const *)x;
	const struct blame_site *c = *(struct blame_site *const *)y;

	return (a->pc > c->pc) - (a->pc < c->pc);
}

/*
 * A line has the address and the owner of its first address that has one: the map's own order
 * differs from run to run.
 */
static void make_lines(struct blame *b)
{
	size_t nr = u64map_count(&b->by_pc), pos = 0, i = 0;
	struct u64map known = { 0 };
	struct strtab keys = { 0 };
	uint64_t pc, value;

	b->lines = calloc(nr + 1, sizeof(*b->lines));
	b->sorted_lines = calloc(nr + 1, sizeof(struct blame_site *));
	if (!b->lines || !b->sorted_lines) {
		memory_shortage_note();
		return;
	}
	while (i < nr && u64map_next(&b->by_pc, &pos, &pc, &value)) /* NOLINTNEXTLINE */
		b->sorted_lines[i++] = (struct blame_site *)(uintptr_t)value;
	qsort(b->sorted_lines, i, sizeof(struct blame_site *), sites_by_pc);
	for (nr = i, i = 0; i < nr; i++)
		add_line(b, &known, &keys, b->sorted_lines[i]);
	for (i = 0; i < b->nr_lines; i++)
		b->sorted_lines[i] = &b->lines[i];
	qsort_r(b->sorted_lines, b->nr_lines, sizeof(struct blame_site *), lines_by_cost, b);
	u64map_release(&known);
	strtab_release(&keys);
}

size_t blame_sites(struct blame *b, const struct blame_site **out, size_t nr)
{
	size_t i;

	blame_memos_settle(b);
	if (!b->lines)
		make_lines(b);
	for (i = 0; i < b->nr_lines && i < nr; i++)
		out[i] = b->sorted_lines[i];
	return b->nr_lines;
}

/* ---- accessors ------------------------------------------------------------ */

const struct blame_counts *blame_total(struct blame *b)
{
	blame_memos_settle(b);
	return &b->total;
}

const struct mem_places *blame_places(const struct blame *b)
{
	return b->places;
}

struct types *blame_types(const struct blame *b)
{
	return b->types;
}

uint32_t blame_levels(const struct blame *b)
{
	return b->config.nr_levels;
}

uint32_t blame_line_size(const struct blame *b)
{
	return b->config.level[0].line;
}

const char *blame_problem(const struct blame *b, unsigned index)
{
	const char *types = types_problem(b->types), *symbols = symbols_problem(b->symbols);

	if (index == 0)
		return types ? types : symbols;
	return index == 1 && types ? symbols : NULL;
}

const char *blame_field_name(const struct blame *b, const struct blame_owner *owner, uint32_t field)
{
	const struct owner *known = mem_places_owner(b->places, owner->owner);

	if (field + 2 == owner->nr_fields)
		return "(padding)";
	if (field + 1 == owner->nr_fields)
		return "(behind the type)";
	return types_get(b->types, known->type)->leaves[field].path;
}

void blame_tables_release(struct blame *b)
{
	uint32_t i;

	for (i = 0; i < b->nr_shared; i++)
		free(b->shared[i]);
	free(b->shared);
	u64map_release(&b->shared_by_line);
	strtab_release(&b->texts);
	free(b->sorted_owners);
	free(b->lines);
	free(b->sorted_lines);
}
