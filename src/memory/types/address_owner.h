/* SPDX-License-Identifier: MIT */
/*
 * address_owner.h - the data at an address, at the current point of the trace.
 *
 *	mem_places_record(p, rec);                   every record of the trace, in order
 *	mem_places_find(p, rec->address, rec->pc, &place);
 *	owner = mem_places_owner(p, place.owner);
 *
 * Annotations have priority, then variables, then blocks of the heap, then the kind of memory.
 *Accesses are counted per *owner*: a record type (all its objects together), a variable that is not
 *a record, an annotated type without known fields, or a kind of memory.  If records are elements of
 *an array inside another record, the owner is the element type, not the record around it.
 */
#ifndef MEMORY_TYPES_ADDRESS_OWNER_H
#define MEMORY_TYPES_ADDRESS_OWNER_H

#include "memory/format/mem_record.h"
#include "memory/types/heap_blocks.h"
#include "memory/types/typed_memory.h"
#include "memory/types/types.h"

enum owner_kind {
	OWNER_UNKNOWN, /* the trace does not say what was mapped there */
	OWNER_STACK,   /* stack of the main thread */
	OWNER_HEAP,    /* the break: malloc, without an annotation */
	OWNER_MAPPING, /* large blocks, stacks of other threads */
	OWNER_MODULE,  /* data of a program or library, without a known variable */
	OWNER_VARIABLE,
	OWNER_RECORD, /* a type with fields */
	OWNER_NAMED,  /* annotated, but without fields or debug information */
	OWNER_SITE,   /* blocks of the heap that one place of the program allocated */
};

struct owner {
	enum owner_kind kind;
	const char *name; /* "struct node", "table", "(stack)" */
	uint32_t type;    /* 0: unknown */
	uint64_t size;    /* of an element; 0: unknown */
	uint32_t nr_leaves;
};

struct address_owner {
	uint32_t owner;
	uint64_t start, end;                  /* of the block or array; UINT64_MAX if unknown */
	uint64_t stride;                      /* from element to element; 0: unknown */
	uint64_t index;                       /* the element that contains the address */
	uint64_t offset;                      /* from the start of the element */
	bool annotated;                       /* in an annotated block */
	enum typed_source typed;              /* without annotation: where the type is from */
	const struct type_variable *variable; /* NULL: none */
};

struct mem_places;

/* The caller owns @types and must free it later than this.  NULL without memory. */
struct mem_places *mem_places_new(struct types *types);

/*
 * Name the places that allocate blocks of the heap: @name returns the same text for sites of one
 * place; the text stays valid.  Without it their blocks have the kind OWNER_HEAP.
 */
void mem_places_name_sites(struct mem_places *p,
			   const char *(*name)(void *context, const struct heap_site *site),
			   void *context);

/* The blocks of the heap at this point of the trace. */
struct heap_blocks *mem_places_blocks(struct mem_places *p);

/* Processes annotations, allocations and their ends; ignores other records.  Returns 0 or -ENOMEM.
 */
int mem_places_record(struct mem_places *p, const struct mem_record *r);

/* The same, but allocations are not counted for their sites. */
int mem_places_follow(struct mem_places *p, const struct mem_record *r);

/* True if no annotations are in force: all of a block of the heap has the same owner. */
bool mem_places_is_plain(const struct mem_places *p);

/*
 * The owner of the first byte of an access; there is always one, its kind says how much is known.
 * Then that of another byte of the same access.  Return 0 or -ENOMEM.
 */
int mem_places_find(struct mem_places *p, uint64_t address, uint64_t pc, struct address_owner *out);
int mem_places_find_rest(struct mem_places *p, uint64_t address, uint64_t pc,
			 struct address_owner *out);

/* True if the types of blocks like this one are known by vote. */
bool mem_places_has_vote(const struct mem_places *p, const struct heap_block *block);

/*
 * For heap blocks without annotations: instructions that access them vote on their types.  Give all
 * records of the trace to typed_memory_vote() before the first one to mem_places_record().
 */
struct typed_memory *mem_places_typed(struct mem_places *p);

/* Use the types that were found for @from, which must be freed later. */
void mem_places_share_types(struct mem_places *p, struct mem_places *from);

const struct owner *mem_places_owner(const struct mem_places *p, uint32_t number);
uint32_t mem_places_count(const struct mem_places *p);

/*
 * The place in the syntax of the program: "table[3].hits", "struct node[17].next".  Returns
 * @buf.
 */
const char *mem_places_text(const struct mem_places *p, const struct address_owner *place,
			    char *buf, size_t size);

/* Accepts NULL. */
void mem_places_free(struct mem_places *p);

#endif
