/* SPDX-License-Identifier: MIT */
/* capstone_loader.c - load capstone on first use. */
#include "symbols/capstone_loader.h"

struct capstone capstone;

#define CAPSTONE_SYMBOL(name) { #name, &capstone.name, DYNLIB_LINKED(name) },

static const struct dynlib_symbol capstone_symbols[] = { CAPSTONE_FUNCTIONS(CAPSTONE_SYMBOL) };

static struct dynlib capstone_file = {
	.file = LIBCAPSTONE_SONAME,
	.package = "libcapstone",
	.symbols = capstone_symbols,
	.nr_symbols = sizeof(capstone_symbols) / sizeof(capstone_symbols[0]),
};

int capstone_load(struct err *err)
{
	return dynlib_load(&capstone_file, err);
}
