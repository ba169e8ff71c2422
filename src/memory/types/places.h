/* SPDX-License-Identifier: MIT */
/*
 * places.h - what lies at an address, at this point of the trace.
 *
 *	mem_places_record(p, rec);                   every record of the trace, in order
 *	mem_places_find(p, rec->address, &place);
 *	owner = mem_places_owner(p, place.owner);
 *
 * Annotations come first, then variables, then what kind of memory it must be.  An *owner* is
 * what accesses are counted for: a record type (all its objects together, wherever they
 * are), a variable that is no record, an annotated type that nobody has fields of, or a kind of
 * memory.  Where records are elements of an array inside a record, they are the owner, not the
 * record around them.
 */
#ifndef MEMORY_TYPES_PLACES_H
#define MEMORY_TYPES_PLACES_H

#include "memory/record.h"
#include "memory/types/types.h"

enum owner_kind {
	OWNER_UNKNOWN, /* the trace does not tell what was mapped */
	OWNER_STACK,   /* of the main thread */
	OWNER_HEAP,    /* the break: malloc, without an annotation */
	OWNER_MAPPING, /* large blocks, stacks of threads */
	OWNER_MODULE,  /* a program's or library's data, no variable known */
	OWNER_VARIABLE,
	OWNER_RECORD, /* a type with fields */
	OWNER_NAMED,  /* annotated, a type without fields or without debug information */
};

struct owner {
	enum owner_kind kind;
	const char *name; /* "struct node", "table", "(stack)" */
	uint32_t type;    /* 0: none is known */
	uint64_t size;    /* of an element; 0: not known */
	uint32_t nr_leaves;
};

struct place {
	uint32_t owner;
	uint64_t start, end; /* of the block or array; where nothing is known, all that follows */
	uint64_t stride;     /* from element to element; 0: no elements are known */
	uint64_t index;      /* the element that it is in */
	uint64_t offset;     /* from its start */
	bool annotated;      /* a block that the program told of */
	const struct type_variable *variable; /* NULL: none */
};

struct mem_places;

/* @types stays the caller's, and must live longer.  NULL without memory. */
struct mem_places *mem_places_new(struct types *types);

/* Annotations and their ends; other records are none of its business.  0 or -ENOMEM. */
int mem_places_record(struct mem_places *p, const struct mem_record *r);

/* Always finds something; the owner says how much is known.  0 or -ENOMEM. */
int mem_places_find(struct mem_places *p, uint64_t address, uint64_t pc, struct place *out);

const struct owner *mem_places_owner(const struct mem_places *p, uint32_t number);
uint32_t mem_places_count(const struct mem_places *p);

/* "table[3].hits", "struct node[17].next": where it is, as the program would say.  Returns @buf. */
const char *mem_places_text(const struct mem_places *p, const struct place *place, char *buf,
			    size_t size);

/* Accepts NULL. */
void mem_places_free(struct mem_places *p);

#endif
