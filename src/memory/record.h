/* SPDX-License-Identifier: MIT */
/*
 * record.h - one thing that a memory trace tells, whatever file it came from.
 *
 * The numbers of kinds 0 to 3 are the seed's.
 */
#ifndef MEMORY_RECORD_H
#define MEMORY_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container.h"

enum mem_kind {
	MEM_READ = 0,
	MEM_WRITE = 1,
	MEM_ADD = 2,    /* type annotation */
	MEM_REMOVE = 3, /* its end */
	MEM_MARK = 4,   /* the program says something; not in raw traces */
	MEM_GAP = 5,    /* accesses are missing here; not in raw traces */
};
#define MEM_KINDS 6

struct mem_record {
	uint8_t kind;    /* enum mem_kind */
	uint8_t tag;     /* the seed's, with its flags; reads to removals */
	uint8_t size;    /* bytes accessed */
	uint8_t attr;    /* CRAY_ATTR_* */
	uint32_t thread; /* number in the table of threads */
	uint64_t address;
	uint64_t pc;                    /* 0: not known */
	uint64_t order;                 /* see docs/memory-format.md; 0 in raw traces */
	uint64_t time_ns;               /* 0: not known */
	uint64_t value;                 /* gap: how many are missing; mark: its value */
	uint32_t elem_size, elem_count; /* added */
	uint32_t cause;                 /* gap: CRAY_GAP_* */
	uint32_t weight_256;            /* what an access stands for, in 1/256 */
	const char *name;               /* added: the type; mark: the text.  Without a NUL */
	uint32_t name_size;
	bool has_ticket; /* annotations: @order is theirs alone */
};

/* An access without what it has in common with those around it: see mem_reader_run(). */
struct mem_access {
	uint64_t address;
	uint64_t pc;
	uint8_t size;
	uint8_t is_write;
	uint8_t tag, attr;
};

static inline bool mem_is_access(const struct mem_record *r)
{
	return r->kind <= MEM_WRITE;
}

/* What the seed has a record for. */
static inline bool mem_is_raw(const struct mem_record *r)
{
	return r->kind <= MEM_REMOVE;
}

#endif
