/* SPDX-License-Identifier: MIT */
/*
 * record_filter.h - filter records by kind, thread, address range and type.
 *
 * Types depend on the annotations in force, so every record must be passed to the filter.
 */
#ifndef MEMORY_FORMAT_RECORD_FILTER_H
#define MEMORY_FORMAT_RECORD_FILTER_H

#include "base/strtab.h"
#include "memory/format/mem_facts.h"
#include "memory/format/mem_record.h"
#include "memory/format/annotation_map.h"

struct mem_select {
	unsigned kinds; /* bit per enum mem_kind; 0: all */
	bool atomic;    /* only atomic accesses */
	bool by_thread; /* only the thread with this id */
	uint64_t thread_id;
	bool by_range; /* only records that touch [from, to] */
	uint64_t from, to;
	const char *type; /* only accesses to and annotations of this type; NULL: all */
	bool want_types;  /* look up types even without a type filter */

	struct strtab names;
	struct annotation_map regions;
	bool no_memory;
};

/* Parse "read,write", "add" ...  False: invalid. */
bool mem_select_kinds(struct mem_select *s, const char *list);

/* Parse "0x1000-0x2000", "0x1000+64" or one address.  False: invalid. */
bool mem_select_range(struct mem_select *s, const char *text);

/*
 * True if the record passes the filter.  *@type: the type at its address (NULL: unknown), valid
 * until the next call.
 */
bool mem_select_wants(struct mem_select *s, const struct mem_record *r,
		      const struct mem_facts *facts, const char **type, uint64_t *offset);

void mem_select_release(struct mem_select *s);

/* "read", "write", "add", "remove", "mark", "gap", "coro" */
const char *mem_kind_name(unsigned kind);

#endif
