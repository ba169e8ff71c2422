/* SPDX-License-Identifier: MIT */
/*
 * fault.h - what is wrong with a trace, where, and what that means for the rest.
 *
 * A fault is no error: the reader goes on as well as it can, and says so.  The first few are
 * kept with their words, of all others the number.
 */
#ifndef MEMORY_FAULT_H
#define MEMORY_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum mem_fault_kind {
	MEM_FAULT_DAMAGE = 0,    /* bytes that are not what they should be */
	MEM_FAULT_TRUNCATED = 1, /* the file ends too early */
	MEM_FAULT_MISSING = 2,   /* a block that must have been there is not */
	MEM_FAULT_ORDER = 3,     /* stamps go backwards */
	MEM_FAULT_COUNT = 4,     /* counts do not agree */
	MEM_FAULT_PAIRING = 5,   /* annotations: removed without being there, overlapping */
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
