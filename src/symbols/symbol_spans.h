/* SPDX-License-Identifier: MIT */
/*
 * symbol_spans.h - the symbol at an address, as libdwfl finds it, without a search of all symbols.
 *
 * libdwfl compares an address with every symbol of a module.  Its answer only changes where a
 * symbol or a section begins or ends: between two such places it is asked once.
 */
#ifndef SYMBOLS_SYMBOL_SPANS_H
#define SYMBOLS_SYMBOL_SPANS_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_answer {
	const char *name; /* NULL: none */
	uint64_t start;   /* address in the process */
	GElf_Sym sym;
};

/* All zero: not read yet. */
struct symbol_spans {
	bool is_made, is_failed; /* failed: too many symbols, or no memory */
	uint64_t *starts;        /* sorted */
	uint32_t *found;         /* 1 + index in `answers`; 0: not asked yet */
	size_t nr, room;
	struct symbol_answer *answers;
	size_t nr_answers, room_answers;
};

/* As dwfl_module_addrinfo(): NULL if no symbol is there.  @module is the same at each call. */
const char *symbol_spans_find(struct symbol_spans *x, Dwfl_Module *module, uint64_t addr,
			      GElf_Off *offset, GElf_Sym *sym);

void symbol_spans_release(struct symbol_spans *x);

#endif
