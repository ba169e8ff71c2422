/* SPDX-License-Identifier: MIT */
/*
 * mem_facts.h - metadata of a memory trace: process, modules, threads, losses.
 *
 * Filled by the readers from the chunks of a container or the sidecar of a raw trace, and passed
 * to the writers.  Bounded for any input.
 */
#ifndef MEMORY_FORMAT_MEM_FACTS_H
#define MEMORY_FORMAT_MEM_FACTS_H

#include "base/u64map.h"
#include "memory/format/mem_faults.h"
#include "memory/format/stack_table.h"
#include "memory/format/mem_record.h"

#define MEM_THREADS_MAX (1u << 20)
#define MEM_MODULES_MAX (1u << 16)
#define MEM_NOTES_MAX   64
#define MEM_CAUSES      32

struct mem_thread {
	uint32_t number;
	uint64_t id; /* thread id as in the raw format */
	uint64_t start_ns, end_ns;
	char *name; /* NULL: unknown */
};

struct mem_module {
	struct cray_module m;
	char *path;
};

struct mem_facts {
	uint64_t start_ns, start_wall_ns;
	bool ordered;
	uint64_t pid, parent, line_size, page_size; /* 0: unknown */
	char *exe, *cwd, *machine, *writer, *options;
	char *command; /* arguments, each terminated by a NUL */
	size_t command_size;
	char *notes[MEM_NOTES_MAX];
	size_t nr_notes;

	struct mem_thread *threads;
	size_t nr_threads, threads_size;
	struct u64map by_number; /* number to 1 + index */
	struct u64map by_id;     /* id to 1 + number, for traces that have only ids */
	uint32_t next_number;    /* all smaller numbers are in use */

	struct mem_module *modules;
	size_t nr_modules, modules_size;

	struct stack_table stacks; /* of allocations */

	uint64_t lost[MEM_CAUSES]; /* from CRAY_LOST chunks, not in gaps */
	bool lost_unknown;         /* some losses have an unknown count */
	bool has_end;
	struct cray_end end;
};

/* Take the payload of a chunk of @type; unknown types are ignored.  0 or -ENOMEM. */
int mem_facts_chunk(struct mem_facts *f, uint16_t type, const uint8_t *data, size_t size,
		    uint64_t offset, struct mem_faults *faults);

/* NULL: not in the trace. */
const struct mem_thread *mem_facts_thread(const struct mem_facts *f, uint32_t number);

/* The id of a thread; its number if the thread is not in the table. */
uint64_t mem_facts_id(const struct mem_facts *f, uint32_t number);

/* The number of the thread with @id, added if it is new.  -E2BIG, -ENOMEM. */
int64_t mem_facts_number(struct mem_facts *f, uint64_t id);

/* Make the threads in the table known to mem_facts_number(). */
int mem_facts_know_ids(struct mem_facts *f);

/* Add or replace a thread.  @name may be NULL. */
int mem_facts_set_thread(struct mem_facts *f, const struct cray_thread *t, const char *name);
int mem_facts_add_module(struct mem_facts *f, const struct cray_module *m, const char *path);
/* The build-id in hexadecimal, in @buf; NULL: none. */
const char *mem_module_build_id(const struct mem_module *m, char buf[65]);
int mem_facts_add_note(struct mem_facts *f, const char *text, size_t size);

/* "buffer full", "overwritten by newer ones" ... */
const char *mem_cause_name(uint32_t cause);

void mem_facts_release(struct mem_facts *f);

#endif
