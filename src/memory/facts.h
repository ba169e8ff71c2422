/* SPDX-License-Identifier: MIT */
/*
 * facts.h - what a memory trace tells besides its records: process, modules, threads, losses.
 *
 * Filled by the readers, from chunks of a container or the sidecar of a raw trace; handed to
 * the writers.  Bounded, whatever the file says.
 */
#ifndef MEMORY_FACTS_H
#define MEMORY_FACTS_H

#include "base/u64map.h"
#include "memory/fault.h"
#include "memory/record.h"

#define MEM_THREADS_MAX (1u << 20)
#define MEM_MODULES_MAX (1u << 16)
#define MEM_NOTES_MAX   64
#define MEM_CAUSES      32

struct mem_thread {
	uint32_t number;
	uint64_t id; /* the seed's */
	uint64_t start_ns, end_ns;
	char *name; /* NULL: not known */
};

struct mem_module {
	struct cray_module m;
	char *path;
};

struct mem_facts {
	uint64_t start_ns, start_wall_ns;
	bool ordered;
	uint64_t pid, parent, line_size, page_size; /* 0: not known */
	char *exe, *cwd, *machine, *writer, *options;
	char *command; /* arguments, each ended by a NUL */
	size_t command_size;
	char *notes[MEM_NOTES_MAX];
	size_t nr_notes;

	struct mem_thread *threads;
	size_t nr_threads, threads_size;
	struct u64map by_number; /* number to 1 + index */
	struct u64map by_id;     /* id to 1 + number, for traces that know only ids */
	uint32_t next_number;    /* no smaller one is free */

	struct mem_module *modules;
	size_t nr_modules, modules_size;

	uint64_t lost[MEM_CAUSES]; /* CRAY_LOST chunks: told by no gap */
	bool lost_unknown;         /* and some of unknown number */
	bool has_end;
	struct cray_end end;
};

/* The payload of a chunk of @type; unknown types are none of our business.  -ENOMEM or 0. */
int mem_facts_chunk(struct mem_facts *f, uint16_t type, const uint8_t *data, size_t size,
		    uint64_t offset, struct mem_faults *faults);

/* NULL: not told. */
const struct mem_thread *mem_facts_thread(const struct mem_facts *f, uint32_t number);

/* The id of a thread; its number where the table does not tell. */
uint64_t mem_facts_id(const struct mem_facts *f, uint32_t number);

/* The number of a thread with @id, entered if it is new.  -E2BIG, -ENOMEM. */
int64_t mem_facts_number(struct mem_facts *f, uint64_t id);

/* From now on mem_facts_number() knows the threads that are in the table. */
int mem_facts_know_ids(struct mem_facts *f);

/* Enter or replace.  @name may be NULL. */
int mem_facts_set_thread(struct mem_facts *f, const struct cray_thread *t, const char *name);
int mem_facts_add_module(struct mem_facts *f, const struct cray_module *m, const char *path);
/* Its build-id in hexadecimal, in @buf; NULL: it has none. */
const char *mem_module_build_id(const struct mem_module *m, char buf[65]);
int mem_facts_add_note(struct mem_facts *f, const char *text, size_t size);

/* "full", "ring" ... */
const char *mem_cause_name(uint32_t cause);

void mem_facts_release(struct mem_facts *f);

#endif
