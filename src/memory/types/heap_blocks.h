/* SPDX-License-Identifier: MIT */
/*
 * heap_blocks.h - the blocks of the heap that are allocated at a point of the trace, by address.
 *
 *	heap_blocks_record(&h, rec);                        every record but accesses, in order
 *	block = heap_blocks_find(&h, rec->address, rec->pc);
 *	site = heap_blocks_site(&h, block->site);
 *
 * A *site* is an allocating call with its call stack.  A block ends where the trace says that it is
 * freed; if that record is missing, where another block overlaps it.
 */
#ifndef MEMORY_TYPES_HEAP_BLOCKS_H
#define MEMORY_TYPES_HEAP_BLOCKS_H

#include "base/u64map.h"
#include "memory/format/annotation_map.h"
#include "memory/format/mem_record.h"

#define HEAP_SITES_MAX (1u << 20) /* then blocks have site 0, whose pc and stack are 0 */
#define HEAP_RECENT    1024u      /* a power of two */
#define HEAP_NEAR      (1u << 18) /* a power of two; of many blocks up to HEAP_NEAR_MAX */
#define HEAP_NEAR_MAX  (1u << 22)

struct heap_site {
	uint64_t pc;            /* return address of the allocating call */
	uint32_t stack;         /* for mem_reader_stack() */
	uint32_t next;          /* another site of the same hash; 0: none */
	uint64_t blocks, bytes; /* allocated so far */
	uint64_t noted_size;    /* for block_types.h: */
	uint32_t note;          /* what it found for blocks of that size; 0: nothing yet */
};

struct heap_block {
	uint64_t start, end;
	uint32_t site;
};

/* Initial value: zeros. */
struct heap_blocks {
	struct annotation_map live; /* `type` is the site */
	struct heap_site *sites;
	uint32_t nr_sites, sites_size;
	struct u64map by_hash;                        /* to 1 + number of its first site */
	const struct annotation *recent[HEAP_RECENT]; /* by pc: the block found last */
	const struct annotation **near; /* by address / 16: the same; NULL: no memory yet */
	uint32_t near_size;
	uint64_t lowest, end; /* no block was outside of these addresses */
};

/* Take an allocation or its end; ignores other records.  0 or -ENOMEM. */
int heap_blocks_record(struct heap_blocks *h, const struct mem_record *r);

/* The same for a block that its site does not count. */
int heap_blocks_follow(struct heap_blocks *h, const struct mem_record *r);

/*
 * Fetch into the processor's cache what heap_blocks_find() will read: a while before it where the
 * block is found, then the block.
 */
void heap_blocks_fetch_place(const struct heap_blocks *h, uint64_t address);
void heap_blocks_fetch_block(const struct heap_blocks *h, uint64_t address);

/* The block at @address, accessed by the code at @pc (a hint).  False: none is known. */
bool heap_blocks_find(struct heap_blocks *h, uint64_t address, uint64_t pc, struct heap_block *out);

/*
 * The addresses whose block will be another one, or none, after an allocation or its end: of whole
 * blocks.  *@end is *@start if there are none.
 */
void heap_blocks_changes(const struct heap_blocks *h, const struct mem_record *r, uint64_t *start,
			 uint64_t *end);

/* Sites have numbers from 0; the pointer is valid until the next record. */
static inline struct heap_site *heap_blocks_site(const struct heap_blocks *h, uint32_t site)
{
	return &h->sites[site];
}

void heap_blocks_release(struct heap_blocks *h);

#endif
