/* SPDX-License-Identifier: MIT */
/* typed_memory.c - types of memory without annotations, by vote or by instruction. */
#include "memory/types/typed_memory.h"

#include <stdlib.h>

#define ACCESS_BYTES_MAX 16u /* of an access by one instruction */

struct typed_memory {
	struct types *types;
	struct access_types *accesses;
	struct block_types *blocks;
	/* The last place by code of this access: its parts belong to the same object. */
	uint64_t last_pc, last_address;
	struct typed_place last;
};

struct typed_memory *typed_memory_new(struct types *types)
{
	struct typed_memory *m = calloc(1, sizeof(*m));

	if (m) {
		m->types = types;
		m->accesses = access_types_new(types);
		m->blocks = m->accesses ? block_types_new(types, m->accesses) : NULL;
	}
	if (!m || !m->blocks) {
		typed_memory_free(m);
		return NULL;
	}
	return m;
}

int typed_memory_vote(struct typed_memory *m, const struct mem_record *r)
{
	return block_types_vote(m->blocks, r);
}

int typed_memory_vote_run(struct typed_memory *m, const struct mem_access *access, size_t nr,
			  uint32_t stands_for)
{
	return block_types_vote_run(m->blocks, access, nr, stands_for);
}

void typed_memory_decide(struct typed_memory *m)
{
	block_types_decide(m->blocks);
}

static bool typed_is_continued(const struct typed_memory *m, uint64_t address, uint64_t pc)
{
	return pc == m->last_pc && address > m->last_address &&
	       address - m->last_address < ACCESS_BYTES_MAX && address >= m->last.start &&
	       address < m->last.end;
}

struct typed_place *typed_memory_found(struct typed_memory *m, uint64_t address, uint64_t pc)
{
	m->last_pc = pc;
	m->last_address = address;
	return &m->last;
}

/* @start: of the block; 0: not known, or another part of it has a type. */
static void typed_by_code(struct typed_memory *m, uint64_t address, uint64_t pc, uint64_t start,
			  struct typed_place *out)
{
	struct access_type *found;
	const struct type *type;

	if (typed_is_continued(m, address, pc)) {
		*out = m->last;
		return;
	}
	found = access_types_find(m->accesses, pc, false);
	out->is_steady = start && (!found || found->offset <= start);
	if (!found || !access_tells_field(m->types, found, 1) || !found->is_record)
		return;
	type = types_get(m->types, found->type);
	if (!type_is_record(type) || !type->nr_leaves || found->offset >= type->size ||
	    address < found->offset)
		return;
	*out = (struct typed_place){ .source = found->is_indexed ? TYPED_IN_ARRAY : TYPED_BY_CODE,
				     .type = found->type,
				     .start = address - found->offset,
				     .end = address - found->offset + type->size,
				     .stride = type->size,
				     .is_steady = out->is_steady };
	*typed_memory_found(m, address, pc) = *out;
}

void typed_memory_find(struct typed_memory *m, uint64_t address, uint64_t pc,
		       const struct heap_block *block, struct heap_site *site,
		       struct typed_place *out)
{
	const struct block_group *group = block ? block_types_find(m->blocks, site,
								   block->end - block->start)
						: NULL;

	*out = (struct typed_place){ .source = TYPED_NOT };
	if (group && group->type && address - block->start >= group->header)
		*out = (struct typed_place){ .source = TYPED_BY_VOTE,
					     .type = group->type,
					     .start = block->start + group->header,
					     .end = block->end,
					     .stride = group->stride };
	else
		typed_by_code(m, address, pc, block && !(group && group->type) ? block->start : 0,
			      out);
}

void typed_memory_begin(struct typed_memory *m)
{
	m->last.end = 0; /* no address is in it */
}

bool typed_memory_has_vote(const struct typed_memory *m, struct heap_site *site, uint64_t size)
{
	const struct block_group *group = block_types_find(m->blocks, site, size);

	return group && group->type;
}

uint64_t typed_memory_votes(const struct typed_memory *m, uint32_t type, uint64_t *agreeing)
{
	uint64_t votes = 0;
	uint32_t i;

	*agreeing = 0;
	for (i = 1; i <= block_types_groups(m->blocks); i++) {
		const struct block_group *g = block_types_group(m->blocks, i);

		if (g->type != type)
			continue;
		votes += g->votes;
		*agreeing += g->agreeing;
	}
	return votes;
}

bool typed_memory_is_bytes(const struct typed_memory *m, const struct heap_site *site)
{
	return block_types_is_bytes(m->blocks, site);
}

void typed_memory_free(struct typed_memory *m)
{
	if (!m)
		return;
	block_types_free(m->blocks);
	access_types_free(m->accesses);
	free(m);
}
