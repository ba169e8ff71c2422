/* SPDX-License-Identifier: MIT */
/* address_owner.c - the data at an address: annotation, variable or kind of memory. */
#include "memory/types/address_owner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "memory/format/annotation_map.h"

#define CACHE_SIZE 4096u /* a power of two */

/* Consecutive elements of one type. */
struct span {
	uint64_t start, end, stride;
	uint32_t type; /* of an element; 0: unknown */
	uint32_t owner;
	bool annotated, has_inner;
	enum typed_source typed;
	const struct type_variable *variable;
	/* Addresses for which the code finds the same, each at its place; end 0: not known. */
	uint64_t steady_start, steady_end;
};

/* A type name that annotations use. */
struct named {
	uint32_t type;  /* of an element */
	uint32_t owner; /* 1 + number; 0: not needed yet */
	bool is_known;
};

struct owner_cache {
	uint64_t pc, generation;
	uint64_t blocks; /* of a span in a block: `changes` of the blocks */
	uint64_t offset; /* of a steady span: of the address in it */
	struct span span;
};

struct mem_places {
	struct types *types;
	struct typed_memory *typed;
	bool has_shared; /* another one owns `typed` */
	struct annotation_map regions;
	struct strtab names;
	struct named *named;
	size_t named_size;
	struct owner *owners;
	uint32_t nr_owners, owners_size;
	struct strtab identities; /* of owners: the same numbers */
	uint32_t *by_type;        /* 1 + owner of a record type */
	uint8_t *inner;           /* 0: unknown; 1: no array of records inside; 2: there is one */
	uint32_t by_type_size;
	uint64_t generation;
	struct owner_cache *cache;
	uint32_t by_kind[OWNER_MODULE + 1]; /* 1 + owner, for the kinds before OWNER_MODULE */
	const char *last_module;            /* the module of the last access to module data */
	uint32_t last_module_owner;
	struct heap_blocks blocks;
	uint64_t changes;  /* of `blocks` */
	uint32_t *by_site; /* 1 + owner of an allocation site; 0: not needed yet */
	uint32_t by_site_size;
	const char *(*name_site)(void *context, const struct heap_site *site);
	void *name_context;
};

struct mem_places *mem_places_new(struct types *types)
{
	struct mem_places *p = calloc(1, sizeof(*p));

	if (p) {
		p->cache = calloc(CACHE_SIZE, sizeof(*p->cache));
		p->typed = typed_memory_new(types);
	}
	if (!p || !p->cache || !p->typed) {
		mem_places_free(p);
		return NULL;
	}
	p->types = types;
	p->generation = 1;
	return p;
}

/* ---- owners -------------------------------------------------------------- */

/* The owner number of @identity; a new identity is entered as @owner.  -ENOMEM. */
static int64_t owner_number(struct mem_places *p, const char *identity, const struct owner *owner)
{
	int64_t number = strtab_intern(&p->identities, identity);

	if (number < 0 || number < p->nr_owners)
		return number;
	if (p->nr_owners == p->owners_size) {
		uint32_t size = p->owners_size ? p->owners_size * 2 : 32;
		void *more = realloc(p->owners, size * sizeof(*p->owners));

		if (!more)
			return -ENOMEM;
		p->owners = more;
		p->owners_size = size;
	}
	p->owners[p->nr_owners++] = *owner;
	return number;
}

static int grow_types(struct mem_places *p, uint32_t type)
{
	uint32_t size = p->by_type_size ? p->by_type_size : 64;
	uint32_t *by_type;
	uint8_t *inner;

	if (type < p->by_type_size)
		return 0;
	while (size <= type)
		size *= 2;
	by_type = realloc(p->by_type, size * sizeof(*by_type));
	if (by_type)
		p->by_type = by_type;
	inner = realloc(p->inner, size);
	if (inner)
		p->inner = inner;
	if (!by_type || !inner)
		return -ENOMEM;
	memset(by_type + p->by_type_size, 0, (size - p->by_type_size) * sizeof(*by_type));
	memset(inner + p->by_type_size, 0, size - p->by_type_size);
	p->by_type_size = size;
	return 0;
}

static int64_t owner_of_record(struct mem_places *p, uint32_t type)
{
	const struct type *known = types_get(p->types, type);
	struct owner owner = { .kind = OWNER_RECORD,
			       .name = known->name,
			       .type = type,
			       .size = known->size,
			       .nr_leaves = known->nr_leaves };
	char identity[32];
	int64_t number;

	if (grow_types(p, type) < 0)
		return -ENOMEM;
	if (p->by_type[type])
		return p->by_type[type] - 1;
	snprintf(identity, sizeof(identity), "T%u", type);
	number = owner_number(p, identity, &owner);
	if (number >= 0)
		p->by_type[type] = (uint32_t)number + 1;
	return number;
}

static int64_t owner_of_variable(struct mem_places *p, const struct type_variable *v,
				 uint64_t stride)
{
	const struct owner owner = {
		.kind = OWNER_VARIABLE, .name = v->name, .type = v->type, .size = stride
	};
	char identity[300];

	snprintf(identity, sizeof(identity), "V%llx %.250s", (unsigned long long)v->address,
		 v->name);
	return owner_number(p, identity, &owner);
}

/*
 * Most accesses of a program without annotations end here: cache the result, without text
 * lookups.
 */
static int64_t owner_of_kind(struct mem_places *p, enum owner_kind kind, const char *name)
{
	struct owner owner = { .kind = kind, .name = name };
	char identity[300];
	int64_t number;

	if (kind == OWNER_MODULE && p->last_module == name)
		return p->last_module_owner;
	if (kind < OWNER_MODULE && p->by_kind[kind])
		return p->by_kind[kind] - 1;
	snprintf(identity, sizeof(identity), "K%d %.250s", (int)kind, name);
	number = owner_number(p, identity, &owner);
	if (number < 0)
		return number;
	if (kind == OWNER_MODULE) {
		p->last_module = name;
		p->last_module_owner = (uint32_t)number;
	} else {
		p->by_kind[kind] = (uint32_t)number + 1;
	}
	return number;
}

/* ---- arrays inside records ----------------------------------------------- */

static const struct type *array_of_records(const struct types *t, const struct type_member *m)
{
	const struct type *type = types_get(t, m->type), *element;

	if (type->kind != TYPE_ARRAY || type->count < 2)
		return NULL;
	element = types_get(t, type->element);
	return type_is_record(element) && element->size && element->nr_leaves ? type : NULL;
}

static bool look_inside(const struct types *t, const struct type *type, unsigned depth)
{
	uint32_t i;

	if (type->kind == TYPE_UNION || depth > TYPE_DEPTH_MAX)
		return false;
	for (i = 0; i < type->nr_members; i++) {
		const struct type_member *m = &type->members[i];

		if (array_of_records(t, m) || look_inside(t, types_get(t, m->type), depth + 1))
			return true;
	}
	return false;
}

static int has_inner(struct mem_places *p, uint32_t type)
{
	if (grow_types(p, type) < 0)
		return -ENOMEM;
	if (!p->inner[type])
		p->inner[type] = look_inside(p->types, types_get(p->types, type), 0) ? 2 : 1;
	return p->inner[type] == 2;
}

/* The array of records inside a record of @type that contains @offset; *@at is its start. */
static const struct type *inner_array(const struct types *t, const struct type *type,
				      uint64_t offset, uint64_t *at)
{
	unsigned depth;
	uint32_t i;

	*at = 0;
	for (depth = 0; depth < TYPE_DEPTH_MAX && type_is_record(type); depth++) {
		const struct type_member *m = NULL;
		const struct type *array;

		if (type->kind == TYPE_UNION)
			return NULL;
		for (i = 0; i < type->nr_members; i++) {
			m = &type->members[i];
			if (!(m->flags & MEMBER_BITS) && offset >= m->offset &&
			    offset - m->offset < m->size)
				break;
		}
		if (i == type->nr_members)
			return NULL;
		*at += m->offset;
		offset -= m->offset;
		array = array_of_records(t, m);
		if (array)
			return array;
		type = types_get(t, m->type);
	}
	return NULL;
}

static int mem_places_descend(struct mem_places *p, struct span *s, uint64_t address)
{
	unsigned depth;

	for (depth = 0; s->has_inner && depth < TYPE_DEPTH_MAX; depth++) {
		uint64_t offset = (address - s->start) % s->stride, at;
		const struct type *array = inner_array(p->types, types_get(p->types, s->type),
						       offset, &at);
		int64_t owner;
		int inner;

		if (!array)
			return 0;
		s->start = address - offset + at;
		s->end = s->start + array->size;
		s->type = array->element;
		s->stride = types_get(p->types, s->type)->size;
		owner = owner_of_record(p, s->type);
		inner = has_inner(p, s->type);
		if (owner < 0 || inner < 0)
			return -ENOMEM;
		s->owner = (uint32_t)owner;
		s->has_inner = inner;
	}
	return 0;
}

/* ---- annotations --------------------------------------------------------- */

static struct named *named_of(struct mem_places *p, const struct mem_record *r, uint32_t *number)
{
	char *name = strndup(r->name, r->name_size);
	int64_t got = name ? strtab_intern(&p->names, name) : -ENOMEM;
	size_t size = p->named_size ? p->named_size : 64;
	struct named *n;

	free(name);
	if (got < 0)
		return NULL;
	while (size <= (size_t)got)
		size *= 2;
	if (size > p->named_size) {
		n = realloc(p->named, size * sizeof(*n));
		if (!n)
			return NULL;
		memset(n + p->named_size, 0, (size - p->named_size) * sizeof(*n));
		p->named = n;
		p->named_size = size;
	}
	*number = (uint32_t)got;
	return &p->named[got];
}

int mem_places_record(struct mem_places *p, const struct mem_record *r)
{
	struct annotation met;
	struct named *n;
	uint32_t number;

	if (r->kind == MEM_ALLOC || r->kind == MEM_FREE) {
		p->changes++;
		return heap_blocks_record(&p->blocks, r);
	}
	if (r->kind != MEM_ADD && r->kind != MEM_REMOVE)
		return 0;
	if (r->address == 0)
		return 0;
	p->generation++;
	if (r->kind == MEM_REMOVE) {
		regions_remove(&p->regions, r->address);
		return 0;
	}
	n = named_of(p, r, &number);
	if (!n)
		return -ENOMEM;
	if (!n->is_known) {
		const struct type *type;

		n->is_known = true;
		n->type = types_by_name(p->types, strtab_text(&p->names, number));
		type = types_get(p->types, n->type);
		if (type->kind == TYPE_ARRAY)
			n->type = type->element;
	}
	return regions_add(&p->regions, r->address, (uint64_t)r->elem_size * r->elem_count,
			   r->elem_size, number, &met) < 0
		       ? -ENOMEM
		       : 0;
}

int mem_places_follow(struct mem_places *p, const struct mem_record *r)
{
	if (r->kind != MEM_ALLOC)
		return mem_places_record(p, r);
	p->changes++;
	return heap_blocks_follow(&p->blocks, r);
}

bool mem_places_is_plain(const struct mem_places *p)
{
	return !p->regions.nr;
}

/* malloc(n * sizeof(x)) may be annotated as one element of n times the size. */
static uint64_t stride_of(const struct type *type, uint32_t elem_size)
{
	if (type->size && elem_size > type->size && elem_size % type->size == 0 && !type_tail(type))
		return type->size;
	return elem_size;
}

static int span_of_region(struct mem_places *p, const struct annotation *r, struct span *s)
{
	struct named *n = &p->named[r->type];
	const struct type *type = types_get(p->types, n->type);
	bool fields = type_is_record(type) && type->nr_leaves;
	int inner = 0;

	if (!n->owner) {
		const struct owner named = { .kind = OWNER_NAMED,
					     .name = strtab_text(&p->names, r->type),
					     .type = n->type,
					     .size = type->size ? type->size : r->elem_size };
		char identity[300];
		int64_t owner;

		snprintf(identity, sizeof(identity), "N%u", r->type);
		owner = fields ? owner_of_record(p, n->type) : owner_number(p, identity, &named);
		if (owner < 0)
			return -ENOMEM;
		n->owner = (uint32_t)owner + 1;
	}
	if (fields)
		inner = has_inner(p, n->type);
	if (inner < 0)
		return -ENOMEM;
	*s = (struct span){ .start = r->start,
			    .end = r->end,
			    .stride = stride_of(type, r->elem_size),
			    .type = n->type,
			    .owner = n->owner - 1,
			    .annotated = true,
			    .has_inner = inner };
	return 0;
}

/* ---- variables and the rest ----------------------------------------------- */

static int span_of_variable(struct mem_places *p, const struct type_variable *v, struct span *s)
{
	const struct type *type = types_get(p->types, v->type);
	uint32_t number = type->kind == TYPE_ARRAY ? type->element : v->type;
	const struct type *element = types_get(p->types, number);
	bool fields = type_is_record(element) && element->nr_leaves && element->size;
	uint64_t stride = element->size ? element->size : v->size;
	int64_t owner = fields ? owner_of_record(p, number) : owner_of_variable(p, v, stride);
	int inner = fields ? has_inner(p, number) : 0;

	if (owner < 0 || inner < 0)
		return -ENOMEM;
	*s = (struct span){ .start = v->address,
			    .end = v->address + v->size,
			    .stride = stride,
			    .type = number,
			    .owner = (uint32_t)owner,
			    .has_inner = inner,
			    .variable = v };
	return 0;
}

static int span_of_rest(struct mem_places *p, uint64_t address, struct span *s)
{
	static const struct {
		enum owner_kind kind;
		const char *name;
	} kinds[] = {
		[TYPES_NO_IDEA] = { OWNER_UNKNOWN, "(unknown)" },
		[TYPES_HEAP] = { OWNER_HEAP, "(heap, not annotated)" },
		[TYPES_MAPPING] = { OWNER_MAPPING, "(mapping or thread's stack)" },
		[TYPES_STACK] = { OWNER_STACK, "(stack)" },
	};
	const char *module = types_module_at(p->types, address);
	enum types_memory memory = types_memory_at(p->types, address);
	int64_t owner = module ? owner_of_kind(p, OWNER_MODULE, module)
			       : owner_of_kind(p, kinds[memory].kind, kinds[memory].name);

	if (owner < 0)
		return -ENOMEM;
	*s = (struct span){ .start = address, .end = UINT64_MAX, .owner = (uint32_t)owner };
	return 0;
}

/* ---- types without annotations ------------------------------------------------ */

/* Blocks of numbers or pointers: "double[]". */
static int64_t owner_of_numbers(struct mem_places *p, uint32_t type)
{
	const struct type *known = types_get(p->types, type);
	struct owner owner = { .kind = OWNER_NAMED, .type = type, .size = known->size };
	char name[300], identity[32];
	int64_t kept, number;

	if (grow_types(p, type) < 0)
		return -ENOMEM;
	if (p->by_type[type])
		return p->by_type[type] - 1;
	snprintf(name, sizeof(name), "%.290s[]", known->name);
	kept = strtab_intern(&p->names, name);
	if (kept < 0)
		return -ENOMEM;
	owner.name = strtab_text(&p->names, (size_t)kept);
	snprintf(identity, sizeof(identity), "B%u", type);
	number = owner_number(p, identity, &owner);
	if (number >= 0)
		p->by_type[type] = (uint32_t)number + 1;
	return number;
}

/* 1: a type is known; 0: none; -ENOMEM.  @block: NULL if none is known. */
static int span_of_typed(struct mem_places *p, uint64_t address, uint64_t pc,
			 const struct heap_block *block, struct span *s)
{
	struct typed_place found;
	bool is_record;
	int64_t owner;
	int inner;

	typed_memory_find(p->typed, address, pc, block,
			  block ? heap_blocks_site(&p->blocks, block->site) : NULL, &found);
	*s = (struct span){ 0 };
	if (block && found.is_steady) {
		s->steady_start = block->start;
		s->steady_end = block->end;
	}
	if (found.source == TYPED_NOT)
		return 0;
	is_record = type_is_record(types_get(p->types, found.type));
	owner = is_record ? owner_of_record(p, found.type) : owner_of_numbers(p, found.type);
	inner = is_record ? has_inner(p, found.type) : 0;
	if (owner < 0 || inner < 0)
		return -ENOMEM;
	*s = (struct span){ .start = found.start,
			    .end = found.end,
			    .stride = found.stride,
			    .type = found.type,
			    .owner = (uint32_t)owner,
			    .has_inner = inner,
			    .typed = found.source,
			    .steady_start = s->steady_start,
			    .steady_end = s->steady_end };
	return 1;
}

struct typed_memory *mem_places_typed(struct mem_places *p)
{
	return p->typed;
}

void mem_places_share_types(struct mem_places *p, struct mem_places *from)
{
	if (!p->has_shared)
		typed_memory_free(p->typed);
	p->typed = from->typed;
	p->has_shared = true;
}

/* ---- blocks of the heap ----------------------------------------------------- */

void mem_places_name_sites(struct mem_places *p,
			   const char *(*name)(void *context, const struct heap_site *site),
			   void *context)
{
	p->name_site = name;
	p->name_context = context;
}

struct heap_blocks *mem_places_blocks(struct mem_places *p)
{
	return &p->blocks;
}

static int64_t owner_of_site(struct mem_places *p, uint32_t site)
{
	struct owner owner = { .kind = OWNER_SITE };
	char identity[420];
	int64_t number;

	if (site >= p->by_site_size) {
		uint32_t size = p->blocks.sites_size, *more;

		more = realloc(p->by_site, size * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + p->by_site_size, 0, (size - p->by_site_size) * sizeof(*more));
		p->by_site = more;
		p->by_site_size = size;
	}
	if (p->by_site[site])
		return p->by_site[site] - 1;
	owner.name = p->name_site(p->name_context, heap_blocks_site(&p->blocks, site));
	if (!owner.name)
		return -ENOMEM;
	snprintf(identity, sizeof(identity), "A%.400s", owner.name);
	number = owner_number(p, identity, &owner);
	if (number >= 0)
		p->by_site[site] = (uint32_t)number + 1;
	return number;
}

/* 1: a block is there; 0: none; -ENOMEM. */
static int span_of_block(struct mem_places *p, uint64_t address, uint64_t pc, struct span *s)
{
	struct heap_block block;
	int64_t owner;
	int typed;

	*s = (struct span){ 0 };
	if (!heap_blocks_find(&p->blocks, address, pc, &block))
		return 0;
	typed = span_of_typed(p, address, pc, &block, s);
	if (typed || !p->name_site)
		return typed;
	owner = owner_of_site(p, block.site);
	if (owner < 0)
		return -ENOMEM;
	s->start = block.start;
	s->end = block.end;
	s->owner = (uint32_t)owner;
	return 1;
}

static int mem_places_find_span(struct mem_places *p, uint64_t address, uint64_t pc, struct span *s)
{
	const struct annotation *region = regions_find(&p->regions, address);
	const struct type_variable *v;
	enum types_memory memory;
	struct span block;
	int found;

	if (region && region->elem_size)
		return span_of_region(p, region, s);
	found = span_of_block(p, address, pc, s); /* no variable is in a block */
	if (found)
		return found < 0 ? found : 0;
	block = *s;
	v = types_variable_at(p->types, address);
	if (v && v->size && v->name)
		return span_of_variable(p, v, s);
	memory = types_memory_at(p->types, address);
	if ((memory == TYPES_HEAP || memory == TYPES_MAPPING) &&
	    !types_module_at(p->types, address))
		found = span_of_typed(p, address, pc, NULL, s);
	if (found)
		return found < 0 ? found : 0;
	found = span_of_rest(p, address, s);
	s->steady_start = block.steady_start;
	s->steady_end = block.steady_end;
	return found;
}

/*
 * All of an array or variable is the same for an instruction; so is the part of a block of the
 * heap that a vote gives a type, until blocks come or go, unless annotations may be inside.
 */
static bool mem_places_is_kept(const struct mem_places *p, const struct span *s)
{
	return s->stride && (!s->typed || (s->typed == TYPED_BY_VOTE && mem_places_is_plain(p)));
}

static bool mem_places_is_cached(const struct mem_places *p, const struct owner_cache *c,
				 uint64_t address, uint64_t pc)
{
	return c->generation == p->generation && c->pc == pc && !c->span.steady_end &&
	       address >= c->span.start && address < c->span.end &&
	       (!c->span.typed || c->blocks == p->changes);
}

static struct owner_cache *mem_places_cache(const struct mem_places *p, uint64_t pc)
{
	return &p->cache[(pc ^ pc >> 12) & (CACHE_SIZE - 1)];
}

/*
 * Find @address, which is not in the cache, and keep what is found if it is for more addresses.  A
 * steady span is kept for the first byte of an access only: it is found again from that.
 */
static int mem_places_look(struct mem_places *p, uint64_t address, uint64_t pc, bool is_first,
			   struct span *s)
{
	bool is_steady;

	if (mem_places_find_span(p, address, pc, s) < 0)
		return -ENOMEM;
	is_steady = s->steady_end && mem_places_is_plain(p);
	if (is_steady ? is_first : mem_places_is_kept(p, s))
		*mem_places_cache(p, pc) = (struct owner_cache){ pc, p->generation, p->changes,
								 is_steady ? address - s->start : 0,
								 *s };
	return 0;
}

/* The part of the span at @address, and the element there. */
static int mem_places_finish(struct mem_places *p, struct span *s, uint64_t address,
			     struct address_owner *out)
{
	if (s->has_inner && mem_places_descend(p, s, address) < 0)
		return -ENOMEM;
	*out = (struct address_owner){ .owner = s->owner,
				       .start = s->start,
				       .end = s->end,
				       .stride = s->stride,
				       .annotated = s->annotated,
				       .typed = s->typed,
				       .variable = s->variable };
	if (s->stride)
		out->offset = address - s->start;
	if (out->offset >= s->stride && s->stride) { /* a division takes long */
		out->index = out->offset / s->stride;
		out->offset %= s->stride;
	}
	return 0;
}

static int mem_places_find_byte(struct mem_places *p, uint64_t address, uint64_t pc, bool is_first,
				struct address_owner *out)
{
	const struct owner_cache *c = mem_places_cache(p, pc);
	struct span s;

	if (mem_places_is_cached(p, c, address, pc))
		s = c->span;
	else if (mem_places_look(p, address, pc, is_first, &s) < 0)
		return -ENOMEM;
	return mem_places_finish(p, &s, address, out);
}

int mem_places_find_rest(struct mem_places *p, uint64_t address, uint64_t pc,
			 struct address_owner *out)
{
	return mem_places_find_byte(p, address, pc, false, out);
}

/* A span that the same code has found in the same block, at another address. */
static struct span mem_places_steady(struct mem_places *p, const struct owner_cache *c,
				     uint64_t address)
{
	struct span s = c->span;

	if (!s.typed) /* all of the block */
		return s;
	s.end = address - c->offset + (s.end - s.start);
	s.start = address - c->offset;
	*typed_memory_found(p->typed, address, c->pc) = (struct typed_place){ .source = s.typed,
									      .type = s.type,
									      .start = s.start,
									      .end = s.end,
									      .stride = s.stride };
	return s;
}

int mem_places_find(struct mem_places *p, uint64_t address, uint64_t pc, struct address_owner *out)
{
	const struct owner_cache *c = mem_places_cache(p, pc);
	struct span s;

	typed_memory_begin(p->typed);
	if (c->pc != pc || !c->span.steady_end || c->generation != p->generation ||
	    c->blocks != p->changes || address < c->span.steady_start ||
	    address >= c->span.steady_end)
		return mem_places_find_byte(p, address, pc, true, out);
	s = mem_places_steady(p, c, address);
	return mem_places_finish(p, &s, address, out);
}

bool mem_places_has_vote(const struct mem_places *p, const struct heap_block *block)
{
	return typed_memory_has_vote(p->typed, heap_blocks_site(&p->blocks, block->site),
				     block->end - block->start);
}

const struct owner *mem_places_owner(const struct mem_places *p, uint32_t number)
{
	return &p->owners[number];
}

uint32_t mem_places_count(const struct mem_places *p)
{
	return p->nr_owners;
}

const char *mem_places_text(const struct mem_places *p, const struct address_owner *place,
			    char *buf, size_t size)
{
	const struct owner *owner = &p->owners[place->owner];
	const struct type_variable *v = place->variable;
	bool is_all = v && v->address == place->start;
	bool many = place->stride && place->end - place->start > place->stride;
	uint64_t end;
	uint32_t leaf = owner->kind == OWNER_RECORD
				? types_leaf_at(p->types, owner->type, place->offset, 0, &end)
				: LEAF_BEYOND;
	char index[24] = "";

	if (many)
		snprintf(index, sizeof(index), "[%llu]", (unsigned long long)place->index);
	snprintf(buf, size, "%s%s%s%s%s%s", is_all ? v->name : owner->name, index,
		 leaf < LEAF_BEYOND     ? "."
		 : leaf == LEAF_PADDING ? " "
					: "",
		 leaf < LEAF_BEYOND     ? types_get(p->types, owner->type)->leaves[leaf].path
		 : leaf == LEAF_PADDING ? "(padding)"
					: "",
		 v && !is_all ? " in " : "", v && !is_all ? v->name : "");
	return buf;
}

void mem_places_free(struct mem_places *p)
{
	if (!p)
		return;
	regions_release(&p->regions);
	strtab_release(&p->names);
	strtab_release(&p->identities);
	free(p->named);
	free(p->owners);
	free(p->by_type);
	free(p->inner);
	free(p->cache);
	free(p->by_site);
	heap_blocks_release(&p->blocks);
	if (!p->has_shared)
		typed_memory_free(p->typed);
	free(p);
}
