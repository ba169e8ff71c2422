/* SPDX-License-Identifier: MIT */
/*
 * line_index.h - map an address to its line and function with the DWARF of one module.
 *
 * libdwfl finds the compilation unit of an address in .debug_aranges, which clang does not write:
 * if libdwfl finds none, the ranges in the units themselves are searched.
 */
#ifndef SYMBOLS_LINE_INDEX_H
#define SYMBOLS_LINE_INDEX_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/function_index.h"

struct line_span {
	uint64_t start, end; /* addresses as in the file */
	Dwarf_Off unit;      /* the DIE of its compilation unit */
};

/* All zero: not read yet. */
struct line_index {
	bool made;
	struct line_span *spans; /* sorted by start; spans of one module do not overlap */
	size_t nr, room;
	struct function_index functions;
};

struct line_found {
	const char *file; /* owned by libdw, valid until the module is closed */
	uint32_t line;
	/*
	 * As DWARF has it, mangled or not; the innermost function, inlined or not.  NULL: unknown.
	 */
	const char *function;
	bool is_whole; /* mangled, or inlined (an inlined function has no symbol here) */
};

/* @addr is an address in the process.  False: its line is unknown. */
bool line_index_find(struct line_index *x, Dwfl_Module *module, uint64_t addr,
		     struct line_found *out);

/*
 * The function at @addr that is not inlined, and its address in the file minus that in the process.
 * False: unknown.
 */
bool line_index_function(struct line_index *x, Dwfl_Module *module, uint64_t addr,
			 Dwarf_Die *function, Dwarf_Addr *bias);

/*
 * As line_index_find(), with the place in the function that is not inlined: for code of an inlined
 * function, the line of the call.
 */
bool line_index_find_outer(struct line_index *x, Dwfl_Module *module, uint64_t addr,
			   struct line_found *out);

void line_index_release(struct line_index *x);

#endif
