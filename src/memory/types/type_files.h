/* SPDX-License-Identifier: MIT */
/*
 * type_files.h - types from files that the trace does not name.
 *
 *	struct type_files files = { .program = "a.out", .json = "a.dwarf.json" };
 *
 *	ret = types_add_files(t, &files, &err);
 *
 * A raw trace of another writer has annotations by name, but not the program that they belong to.
 * The modules of the trace are searched first, then the program, then the JSON file.
 */
#ifndef MEMORY_TYPES_TYPE_FILES_H
#define MEMORY_TYPES_TYPE_FILES_H

#include "base/err.h"
#include "memory/types/types.h"

struct type_files {
	const char *program; /* ELF[@ADDRESS] with debug information; NULL: none */
	const char *json; /* version 4, as the Cacheray suite's dwarf2json writes it; NULL: none */
};

/* Read the files of @files.  Fails if a file cannot be read, or has no types. */
int types_add_files(struct types *t, const struct type_files *files, struct err *err);

/* Parse the text of a JSON file; @path is for messages. */
int types_parse_json(struct types *t, const char *text, size_t size, const char *path,
		     struct err *err);

#endif
