/* SPDX-License-Identifier: MIT */
/* ncursesw_loader.c - load ncurses on first use. */
#include "top/ncursesw_loader.h"

struct ncursesw ncursesw;

#define NCURSESW_SYMBOL(name) { #name, &ncursesw.name, DYNLIB_LINKED(name) },

static const struct dynlib_symbol ncursesw_symbols[] = { NCURSESW_SYMBOLS(NCURSESW_SYMBOL) };

static struct dynlib ncursesw_file = {
	.file = LIBNCURSESW_SONAME,
	.package = "libncursesw6",
	.symbols = ncursesw_symbols,
	.nr_symbols = sizeof(ncursesw_symbols) / sizeof(ncursesw_symbols[0]),
};

int ncursesw_load(struct err *err)
{
	return dynlib_load(&ncursesw_file, err);
}
