/* SPDX-License-Identifier: MIT */
/*
 * line_index.h - from an address to its line and function, by the DWARF of one module.
 *
 * libdwfl finds the compilation unit of an address in .debug_aranges, which clang does not write:
 * where it finds none, the ranges that units tell of themselves are looked through.
 */
#ifndef SYMBOLS_LINE_INDEX_H
#define SYMBOLS_LINE_INDEX_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line_span {
	uint64_t start, end; /* as in the file */
	Dwarf_Off unit;      /* the DIE of its compilation unit */
};

/* All zero: not looked at yet. */
struct line_index {
	bool made;
	struct line_span *spans; /* by start; those of one module do not overlap */
	size_t nr, room;
};

struct line_found {
	const char *file; /* of libdw, until the module is closed */
	uint32_t line;
	/* As DWARF has it, mangled or not; the innermost, inlined or not.  NULL: not known. */
	const char *function;
	bool is_whole; /* it is mangled, or the function is inlined: there is no symbol of it here
			*/
};

/* False: no line is known for @addr, which is one of the process. */
bool line_index_find(struct line_index *x, Dwfl_Module *module, uint64_t addr,
		     struct line_found *out);

void line_index_release(struct line_index *x);

#endif
