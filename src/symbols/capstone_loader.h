/* SPDX-License-Identifier: MIT */
/* capstone_loader.h - the functions used from capstone, the disassembler, loaded on first use. */
#ifndef SYMBOLS_CAPSTONE_LOADER_H
#define SYMBOLS_CAPSTONE_LOADER_H

#include <capstone/capstone.h>

#include "base/dynlib.h"

#define CAPSTONE_FUNCTIONS(X) \
	X(cs_open)            \
	X(cs_option)          \
	X(cs_malloc)          \
	X(cs_free)            \
	X(cs_disasm_iter)     \
	X(cs_regs_access)     \
	X(cs_insn_group)      \
	X(cs_close)

struct capstone {
	DYNLIB_POINTERS(CAPSTONE_FUNCTIONS)
};

extern struct capstone capstone;

/* 0, or -ENOENT with a hint that names the package. */
int capstone_load(struct err *err);

#endif
