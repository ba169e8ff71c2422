/* SPDX-License-Identifier: MIT */
/*
 * mem_record.h - one record of a memory trace of any format.
 *
 * Kinds 0 to 3 have the numbers of the raw Cacheray format.
 */
#ifndef MEMORY_FORMAT_MEM_RECORD_H
#define MEMORY_FORMAT_MEM_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container.h"

enum mem_kind {
	MEM_READ = 0,
	MEM_WRITE = 1,
	MEM_ADD = 2,    /* type annotation added */
	MEM_REMOVE = 3, /* type annotation removed */
	MEM_MARK = 4,   /* a mark of the program; not in raw traces */
	MEM_GAP = 5,    /* accesses are missing here; not in raw traces */
	MEM_CORO = 6,   /* the thread runs another coroutine from here on; not in raw traces */
	MEM_ALLOC = 7,  /* the program allocated a block; not in raw traces */
	MEM_FREE = 8,   /* the program freed a block; not in raw traces */
	MEM_STACK = 9,  /* not used: stacks are in a table, mem_reader_stack() */
	MEM_ENTER = 10, /* the thread enters a function; not in raw traces */
	MEM_EXIT = 11,  /* the thread leaves functions; not in raw traces */
};
#define MEM_KINDS 12

struct mem_record {
	uint8_t kind;    /* enum mem_kind */
	uint8_t tag;     /* raw tag with its flags; for MEM_READ to MEM_REMOVE */
	uint8_t size;    /* bytes accessed */
	uint8_t attr;    /* CRAY_ATTR_* */
	uint32_t thread; /* number in the table of threads */
	uint64_t address;
	uint64_t pc;      /* 0: not known */
	uint64_t order;   /* number of annotations, docs/memory-format.md; 0 in raw traces */
	uint64_t time_ns; /* 0: not known */
	uint64_t value;   /* gap: number of missing records; mark: its value; coroutine: its id;
			   * allocation: bytes; enter: return address into the caller;
			   * exit: number of functions, 0: all of which the trace knows */
	uint32_t elem_size, elem_count; /* MEM_ADD */
	uint32_t cause;                 /* gap: CRAY_GAP_*; coroutine: CRAY_CORO_*;
					 * enter: 1 if repeated */
	uint32_t weight_256;            /* accesses that an access stands for, in 1/256 */
	const char *name;               /* MEM_ADD: the type; mark, coroutine: the text.  No NUL */
	uint32_t name_size;
	uint32_t stack;  /* MEM_ALLOC: for mem_reader_stack(); 0: unknown */
	bool has_ticket; /* annotations, allocations: @order is a unique ticket */
};

/* An access without the fields that a run has in common: see mem_reader_run(). */
struct mem_access {
	uint64_t address;
	uint64_t pc;
	uint8_t size;
	uint8_t is_write;
	uint8_t tag, attr;
};

/*
 * Accesses reduced to the lines that they touch: a word for each, its number + 1 from bit 4 on, and
 * MEM_KEY_WRITE.
 */
#define MEM_KEY_OF(line) (((line) + 1) << 4)
#define MEM_KEY_WRITE    UINT64_C(1)
#define MEM_KEYS_MAX     9u /* of an access: 255 bytes in lines of 32 */

struct mem_lines {
	uint64_t *key;
	uint32_t nr, room;
	uint32_t shift; /* log2 of the line size, at least 5 */

	/* Counts of the accesses; index of [2]: is_write. */
	uint64_t accesses[2], lines[2], bytes;
	uint64_t straddles, empty; /* of several lines; of no byte */
};

static inline bool mem_is_access(const struct mem_record *r)
{
	return r->kind <= MEM_WRITE;
}

/*
 * True if it only repeats, at the start of a block, which coroutine runs or which functions the
 * thread is in: a MEM_EXIT of all, then MEM_ENTER, outermost first.
 */
static inline bool mem_is_repeated(const struct mem_record *r)
{
	if (r->kind == MEM_CORO)
		return (r->cause & CRAY_CORO_CAUSE) == CRAY_CORO_CONTINUED;
	return (r->kind == MEM_ENTER && r->cause) || (r->kind == MEM_EXIT && !r->value);
}

/* True if it has an address: an access, an annotation, an allocation or its end. */
static inline bool mem_has_address(const struct mem_record *r)
{
	return r->kind <= MEM_REMOVE || r->kind == MEM_ALLOC || r->kind == MEM_FREE;
}

/* True if the raw format has a record for it. */
static inline bool mem_is_raw(const struct mem_record *r)
{
	return r->kind <= MEM_REMOVE;
}

#endif
