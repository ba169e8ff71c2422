/* SPDX-License-Identifier: MIT */
/* libpfm_loader.c - load libpfm4 on first use. */
#include "frames/live/libpfm_loader.h"

struct libpfm libpfm;

#define LIBPFM_SYMBOL(name) { #name, &libpfm.name, DYNLIB_LINKED(name) },

static const struct dynlib_symbol libpfm_symbols[] = { LIBPFM_FUNCTIONS(LIBPFM_SYMBOL) };

static struct dynlib libpfm_file = {
	.file = LIBPFM_SONAME,
	.package = "libpfm4",
	.symbols = libpfm_symbols,
	.nr_symbols = sizeof(libpfm_symbols) / sizeof(libpfm_symbols[0]),
};

int libpfm_load(struct err *err)
{
	return dynlib_load(&libpfm_file, err);
}
