/* SPDX-License-Identifier: MIT */
/*
 * mem_faults.h - faults of a trace: kind, offset and text.
 *
 * A fault is not an error: the reader continues as far as possible and reports the fault.  The
 * first MEM_FAULTS_KEPT faults are kept with their texts, the others are only counted.
 */
#ifndef MEMORY_FORMAT_MEM_FAULTS_H
#define MEMORY_FORMAT_MEM_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

enum mem_fault_kind {
	MEM_FAULT_DAMAGE = 0,    /* corrupt bytes */
	MEM_FAULT_TRUNCATED = 1, /* the file is incomplete */
	MEM_FAULT_MISSING = 2,   /* a block is missing */
	MEM_FAULT_ORDER = 3,     /* stamps decrease */
	MEM_FAULT_COUNT = 4,     /* counts do not agree */
	MEM_FAULT_PAIRING = 5,   /* annotations that overlap, or removals without an annotation */
};
#define MEM_FAULT_KINDS 6
#define MEM_FAULTS_KEPT 32

struct mem_fault {
	enum mem_fault_kind kind;
	uint64_t offset; /* in the file */
	char text[200];
};

struct mem_faults {
	uint64_t nr;
	uint64_t by_kind[MEM_FAULT_KINDS];
	struct mem_fault first[MEM_FAULTS_KEPT];
};

void mem_fault_add(struct mem_faults *f, enum mem_fault_kind kind, uint64_t offset, const char *fmt,
		   ...) __attribute__((format(printf, 4, 5)));

/* "damage", "truncated" ... */
const char *mem_fault_name(enum mem_fault_kind kind);

#endif
