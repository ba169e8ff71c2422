/* SPDX-License-Identifier: MIT */
/* libpq_loader.c - load libpq on first use. */
#include "export/libpq_loader.h"

struct libpq libpq;

#define LIBPQ_SYMBOL(name) { #name, &libpq.name, DYNLIB_LINKED(name) },

static const struct dynlib_symbol libpq_symbols[] = { LIBPQ_FUNCTIONS(LIBPQ_SYMBOL) };

static struct dynlib libpq_file = {
	.file = LIBPQ_SONAME,
	.package = "libpq5",
	.symbols = libpq_symbols,
	.nr_symbols = sizeof(libpq_symbols) / sizeof(libpq_symbols[0]),
};

int libpq_load(struct err *err)
{
	return dynlib_load(&libpq_file, err);
}
