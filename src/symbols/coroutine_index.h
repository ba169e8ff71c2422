/* SPDX-License-Identifier: MIT */
/*
 * coroutine_index.h - the coroutine functions of a module as an entry of the cache.
 *
 * Addresses are those in the file.  What the structs of coroutine_types.h gain later is not in an
 * entry unless it is added here: coro_index_is_whole() says so, and nothing is kept then.
 */
#ifndef SYMBOLS_COROUTINE_INDEX_H
#define SYMBOLS_COROUTINE_INDEX_H

#include "base/bytes.h"
#include "symbols/coroutine_types.h"
#include "symbols/module_identity.h"

/* A function of a coroutine. */
struct coro_index_symbol {
	const char *base; /* the name that the functions of a coroutine share */
	uint64_t addr;    /* in the file */
	uint64_t size;    /* in bytes */
	bool is_resume;   /* otherwise it destroys */
	/* Of a resume function: */
	const char *function;
	bool is_loaded; /* the layout was read: `type` has it */
	struct coro_type *type;
};

enum coro_index_flags {
	CORO_INDEX_STRIPPED = 1, /* no symbols, and no debug file */
	CORO_INDEX_NO_TOKIO = 2, /* it has no tasks of Tokio */
};

struct coro_index {
	uint32_t flags;
	struct coro_index_symbol *symbols;
	size_t nr, room;
	struct module_companions companions;
	struct bytes text; /* an entry that was read: strings are in it */
};

/* False if the structs have members that an entry does not have. */
bool coro_index_is_whole(void);

/* Points of a type from an entry are relative to its function: @type has type->resume now. */
void coro_index_settle(struct coro_type *type);

/* Append @index as the content of an entry.  False: it has something that no entry may have. */
bool coro_index_put(const struct coro_index *index, const char *build_id, struct bytes *out);

/*
 * Read the content of an entry, which @index owns from now on.  Layouts are allocated: the caller
 * takes `type`, or coro_index_release() frees it.  NULL, or why it cannot be used; "" if it is of
 * another version.
 */
const char *coro_index_take(struct coro_index *index, struct bytes *content, const char *build_id);

/* Add a symbol; its strings and its type stay the caller's.  0 or -ENOMEM. */
int coro_index_add(struct coro_index *index, const struct coro_index_symbol *symbol);

void coro_index_release(struct coro_index *index);

#endif
