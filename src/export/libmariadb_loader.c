/* SPDX-License-Identifier: MIT */
/* libmariadb_loader.c - load libmariadb on first use. */
#include "export/libmariadb_loader.h"

struct libmariadb libmariadb;

#define LIBMARIADB_SYMBOL(name) { #name, &libmariadb.name, DYNLIB_LINKED(name) },

static const struct dynlib_symbol libmariadb_symbols[] = { LIBMARIADB_FUNCTIONS(
	LIBMARIADB_SYMBOL) };

static struct dynlib libmariadb_file = {
	.file = LIBMARIADB_SONAME,
	.package = "libmariadb3",
	.symbols = libmariadb_symbols,
	.nr_symbols = sizeof(libmariadb_symbols) / sizeof(libmariadb_symbols[0]),
};

int libmariadb_load(struct err *err)
{
	return dynlib_load(&libmariadb_file, err);
}
