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
#include <stdint.h>

#include "symbols/module.h"

struct symbol {
	const char *function; /* demangled; NULL: not known */
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

/* What could not be had for the addresses asked so far, a sentence; NULL: nothing to say. */
const char *symbols_problem(const struct symbols *s);

/* Accepts NULL. */
void symbols_free(struct symbols *s);

#endif
