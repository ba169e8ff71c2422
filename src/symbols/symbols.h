/* SPDX-License-Identifier: MIT */
/*
 * symbols.h - resolve addresses of a traced process to functions, files and lines.
 *
 * The modules and their mapped addresses come from the trace; ELF and DWARF come from the files, if
 * those are still the same (build-id).  Nothing is guessed: symbols_problem() reports a file that
 * is missing or has been rebuilt.
 */
#ifndef SYMBOLS_SYMBOLS_H
#define SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/module.h"

struct symbol {
	const char *function; /* plain name (corotracer/function.h); NULL: unknown */
	const char *file;     /* NULL: no line information */
	const char *module;   /* path */
	uint32_t line;
	uint64_t offset; /* from the start of the function, or of the module */
};

struct symbols;

/* NULL: no memory. */
struct symbols *symbols_new(void);

/* 0 or -ENOMEM. */
int symbols_add(struct symbols *s, const struct symbol_module *module);

/* False: @addr is in no module of the trace.  Strings are valid until symbols_free(). */
bool symbols_find(struct symbols *s, uint32_t pid, uint64_t addr, struct symbol *out);

/*
 * As symbols_find(), for an address where a coroutine continues: usually a return address, so the
 * call before it is what the coroutine waits in.  The first address of a function is looked up as
 * it is.
 */
bool symbols_find_resume(struct symbols *s, uint32_t pid, uint64_t addr, struct symbol *out);

/* The path of the module at @addr, without a look at its file; NULL: there is none. */
const char *symbols_module_path(const struct symbols *s, uint32_t pid, uint64_t addr);

/* True if @addr is in a module of the trace. */
bool symbols_has(const struct symbols *s, uint32_t pid, uint64_t addr);

/*
 * Does the trace list modules of process @pid (0: of any process)?  A process that ends before the
 * collector reads its maps has none.
 */
bool symbols_has_process(const struct symbols *s, uint32_t pid);

/* A sentence on what could not be resolved so far; NULL: no problem. */
const char *symbols_problem(const struct symbols *s);

/* Accepts NULL. */
void symbols_free(struct symbols *s);

#endif
