/* SPDX-License-Identifier: MIT */
/*
 * buffer_symbols.h - find the buffers of a process.
 *
 * A buffer is three symbols in the program or in one of its libraries.  In the base protocol
 * they are __ppt_NAME_json, __ppt_NAME_hmem and __ppt_NAME_stat; in programs of the existing
 * generator _ppt_json_NAME, _ppt_hmem_NAME and _ppt_stat_NAME.  Both are found, in .symtab, in
 * .dynsym, and for a stripped file in its separate debug info.
 */
#ifndef FRAMES_LIVE_BUFFER_SYMBOLS_H
#define FRAMES_LIVE_BUFFER_SYMBOLS_H

#include "process/target_memory.h"

struct buffer_symbol {
	char *name;                /* of the buffer */
	char *file;                /* file that defines it, as a path of the process */
	bool existing;             /* names as in the existing generator */
	uint64_t json, hmem, stat; /* addresses in the process; 0: not found */
	uint64_t json_size;        /* of the symbol */
	uint64_t bias;             /* load address minus address in the file */
};

struct buffer_symbols {
	struct buffer_symbol *at;
	size_t nr;
	unsigned unreadable;        /* files that could not be read */
	char unreadable_first[256]; /* the first of them, with the reason */
};

/* List every buffer with all of its symbols, in the order of the process's map. */
int places_find(struct target *t, struct buffer_symbols *list, struct err *err);
void places_release(struct buffer_symbols *list);

/*
 * The buffer called @name, or NAME@FILE if two files have one of that name.  @name NULL: the
 * only buffer of the process.
 */
const struct buffer_symbol *places_pick(const struct buffer_symbols *list, const char *name,
					pid_t pid, struct err *err);

#endif
