/* SPDX-License-Identifier: MIT */
/*
 * select.h - which records somebody wants to see.
 *
 * Types need the annotations that hold at the moment, so every record must pass by, wanted
 * or not.
 */
#ifndef MEMORY_SELECT_H
#define MEMORY_SELECT_H

#include "base/strtab.h"
#include "memory/facts.h"
#include "memory/record.h"
#include "memory/regions.h"

struct mem_select {
	unsigned kinds; /* bit per enum mem_kind; 0: all */
	bool atomic;    /* only those */
	bool by_thread; /* only that of this id */
	uint64_t thread_id;
	bool by_range; /* only what touches [from, to] */
	uint64_t from, to;
	const char *type; /* only accesses to, and annotations of, this type; NULL: all */
	bool want_types;  /* tell types even if none is asked for */

	struct strtab names;
	struct regions regions;
	bool no_memory;
};

/* "read,write", "add" ...  False: not understood. */
bool mem_select_kinds(struct mem_select *s, const char *list);

/* "0x1000-0x2000", "0x1000+64" or one address.  False: not understood. */
bool mem_select_range(struct mem_select *s, const char *text);

/* Is it wanted?  *@type: what lies there (NULL: unknown), valid until the next call. */
bool mem_select_wants(struct mem_select *s, const struct mem_record *r,
		      const struct mem_facts *facts, const char **type, uint64_t *offset);

void mem_select_release(struct mem_select *s);

/* "read", "write", "add", "remove", "mark", "gap" */
const char *mem_kind_name(unsigned kind);

#endif
