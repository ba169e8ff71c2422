/* SPDX-License-Identifier: MIT */
/*
 * module_identity.h - which files the symbols and the DWARF of a module come from.
 *
 * A build-id alone does not say it: `strip` keeps it, and a debug file or the .dwo files of split
 * DWARF may be there or not.  What is derived from a module may be kept for another time only with
 * the identity of all of these files.
 */
#ifndef SYMBOLS_MODULE_IDENTITY_H
#define SYMBOLS_MODULE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/index_cache.h"
#include "symbols/module.h"

#define MODULE_COMPANIONS_MAX 8192u

/* A file that belongs to a module, as it was; it may be missing. */
struct module_companion {
	const char *path; /* in a list: a copy */
	uint64_t size;    /* UINT64_MAX: missing */
	int64_t mtime_s;
	uint32_t mtime_ns;
};

struct module_companions {
	struct module_companion *at;
	size_t nr, room;
};

/*
 * The name of the cache entry of @f, which is ready: from its build-id, the file and its debug
 * file.  False: it has no identity (no build-id, or DWARF that refers to a third file).
 */
bool module_entry_name(struct module_file *f, char name[INDEX_CACHE_NAME_MAX]);

/*
 * All .dwo and .dwp files that the DWARF of @f could be in, whether they are there or not.  False:
 * they cannot be listed.
 */
bool module_companions_find(struct module_file *f, struct module_companions *out);

/* Add a companion that is described elsewhere.  False: no memory, or too many. */
bool module_companion_add(struct module_companions *list, const struct module_companion *one);

/* True if all of them are still as they were. */
bool module_companions_unchanged(const struct module_companions *list);

void module_companions_release(struct module_companions *list);

#endif
