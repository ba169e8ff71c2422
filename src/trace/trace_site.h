/* SPDX-License-Identifier: MIT */
/*
 * trace_site.h - a source location of the program, registered once and then referred to by number.
 *
 * A program may register one location several times: a function in a header is in several
 * translation units, two threads reach a location at the same time, a child process registers
 * it again.  A site_table finds the id under which the location was registered first; events
 * carry that id.
 */
#ifndef TRACE_TRACE_SITE_H
#define TRACE_TRACE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/u64map.h"

struct trace_site {
	uint32_t id; /* from 1; unique in the trace, not per process */
	uint32_t line;
	uint32_t pid;
	const char *file;     /* as passed to the compiler; "" if not reported */
	const char *function; /* the same */
};

#define SITE_NAME_SIZE 512

/* The normalized names of a source location. */
struct site_names {
	char file[SITE_NAME_SIZE], function[SITE_NAME_SIZE];
};

/* Either may be NULL: treated as "". */
void site_names_of(struct site_names *names, const char *file, const char *function);

/* "src/io.c:42 wait"; "src/io.c:42" without a function.  @file and @function may be NULL. */
void site_text(char *buf, size_t size, const char *file, uint32_t line, const char *function);

/* True if one path is the end of the other, in whole components: "net/io.c" of "/src/net/io.c". */
bool site_same_path(const char *a, const char *b);

struct site_place {
	uint32_t id, line;
	uint32_t next; /* 1 + the next place with the same last path component; 0: none */
	uint32_t file, function;
};

/* All zero is an empty table. */
struct site_table {
	struct strtab texts;
	struct site_place *places;
	size_t nr, room;
	struct u64map by_key; /* file name, line and function to 1 + number in places */
	uint32_t *first;      /* by id: the first id of its source location; 0: its own */
	size_t nr_first;
	bool has_doubles;
};

/*
 * Adds @site.  Its names are normalized (valid until the release); its id is unchanged.
 * Returns the id of its source location: @site->id, or an earlier one.  Returns 0 if memory ran
 * out; @site is then unchanged.
 */
uint32_t site_table_add(struct site_table *t, struct trace_site *site);

/* Finds the site of a source location by any end of its path.  False: there is none. */
bool site_table_find(const struct site_table *t, const char *file, uint32_t line,
		     const char *function, struct trace_site *out);

/* Returns the id under which the source location of @id was registered first. */
static inline uint32_t site_table_id(const struct site_table *t, uint32_t id)
{
	return t->has_doubles && id < t->nr_first && t->first[id] ? t->first[id] : id;
}

void site_table_release(struct site_table *t);

#endif
