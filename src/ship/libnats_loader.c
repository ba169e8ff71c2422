/* SPDX-License-Identifier: MIT */
/* libnats_loader.c - load libnats on first use. */
#include "ship/libnats_loader.h"

struct libnats libnats;

#define LIBNATS_SYMBOL(name) { #name, &libnats.name, DYNLIB_LINKED(name) },

static const struct dynlib_symbol libnats_symbols[] = { LIBNATS_FUNCTIONS(LIBNATS_SYMBOL) };

static struct dynlib libnats_file = {
	.file = LIBNATS_SONAME,
	.package = "libnats3.4",
	.symbols = libnats_symbols,
	.nr_symbols = sizeof(libnats_symbols) / sizeof(libnats_symbols[0]),
};

int libnats_load(struct err *err)
{
	return dynlib_load(&libnats_file, err);
}
