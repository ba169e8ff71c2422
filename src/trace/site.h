/* SPDX-License-Identifier: MIT */
/*
 * site.h - a place in a program's source, told once and then known by its number.
 *
 * A program may tell one place several times: a function in a header is in several translation
 * units, a place is reached by two threads at once, a child process tells it again.  A
 * site_table finds the number under which the place was told first; events carry that one.
 */
#ifndef TRACE_SITE_H
#define TRACE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/u64map.h"

struct trace_site {
	uint32_t id; /* from 1; of the whole trace, not of one process */
	uint32_t line;
	uint32_t pid;
	const char *file;     /* as the compiler was given it; "" if not told */
	const char *function; /* likewise */
};

#define SITE_NAME_SIZE 512

/* A place with its names in their one form: path and function are normalised. */
struct site_names {
	char file[SITE_NAME_SIZE], function[SITE_NAME_SIZE];
};

/* Either may be NULL: "". */
void site_names_of(struct site_names *names, const char *file, const char *function);

/* "src/io.c:42 wait"; "src/io.c:42" without a function.  @file and @function may be NULL. */
void site_text(char *buf, size_t size, const char *file, uint32_t line, const char *function);

/* One path is the end of the other, from a whole directory on: "net/io.c" of "/src/net/io.c". */
bool site_same_path(const char *a, const char *b);

struct site_place {
	uint32_t id, line;
	uint32_t next; /* 1 + the next with the same last part of the path; 0: none */
	uint32_t file, function;
};

/* All zero is an empty table. */
struct site_table {
	struct strtab texts;
	struct site_place *places;
	size_t nr, room;
	struct u64map by_key; /* file name, line and function to 1 + number in places */
	uint32_t *first; /* by id: the number under which its place was told first; 0: its own */
	size_t nr_first;
	bool has_doubles;
};

/*
 * Enter @site.  Its names become their one form (valid until the release); its id stays.  The
 * id of its place: @site->id, or an earlier one.  0 without memory: then @site is as it was.
 */
uint32_t site_table_add(struct site_table *t, struct trace_site *site);

/* The site that was told for this place, by whatever end of its path; false: none. */
bool site_table_find(const struct site_table *t, const char *file, uint32_t line,
		     const char *function, struct trace_site *out);

/* The id under which the place of @id was told first. */
static inline uint32_t site_table_id(const struct site_table *t, uint32_t id)
{
	return t->has_doubles && id < t->nr_first && t->first[id] ? t->first[id] : id;
}

void site_table_release(struct site_table *t);

#endif
