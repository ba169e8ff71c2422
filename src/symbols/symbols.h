/* SPDX-License-Identifier: MIT */
/*
 * symbols.h - addresses of a traced process to functions, files and lines.
 *
 * Modules and where they were mapped come from the trace; their ELF and DWARF from the
 * files, if those are still the same (build-id).  Nothing is guessed: what is missing, or
 * another build by now, is said.
 */
#ifndef SYMBOLS_SYMBOLS_H
#define SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/module.h"

struct symbol {
	const char *function; /* its plain name (corotracer/function.h); NULL: not known */
	const char *file;     /* NULL: no line information */
	const char *module;   /* path */
	uint32_t line;
	uint64_t offset; /* from the function's start, or from the module's */
};

struct symbols;

/* NULL without memory. */
struct symbols *symbols_new(void);

/* 0 or -ENOMEM. */
int symbols_add(struct symbols *s, const struct symbol_module *module);

/* False: in no module that the trace tells of.  Strings are valid until the free. */
bool symbols_find(struct symbols *s, uint32_t pid, uint64_t addr, struct symbol *out);

/*
 * The same of an address at which a coroutine goes on: mostly the one behind a call, so that the
 * call is what it waits in.  Only the first of a function is taken as it is.
 */
bool symbols_find_resume(struct symbols *s, uint32_t pid, uint64_t addr, struct symbol *out);

/* It lies in a module that the trace tells of. */
bool symbols_has(const struct symbols *s, uint32_t pid, uint64_t addr);

/*
 * Does the trace list modules of process @pid (0: of any process)?  A process that ends before the
 * collector reads its maps has none.
 */
bool symbols_has_process(const struct symbols *s, uint32_t pid);

/* What could not be had for the addresses asked so far, a sentence; NULL: nothing to say. */
const char *symbols_problem(const struct symbols *s);

/* Accepts NULL. */
void symbols_free(struct symbols *s);

#endif
