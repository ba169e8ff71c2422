/* SPDX-License-Identifier: MIT */
/* libmicrohttpd_loader.c - load libmicrohttpd on first use. */
#include "serve/libmicrohttpd_loader.h"

struct libmicrohttpd libmicrohttpd;

#define LIBMICROHTTPD_SYMBOL(name) { #name, &libmicrohttpd.name, DYNLIB_LINKED(name) },

static const struct dynlib_symbol libmicrohttpd_symbols[] = { LIBMICROHTTPD_FUNCTIONS(
	LIBMICROHTTPD_SYMBOL) };

static struct dynlib libmicrohttpd_file = {
	.file = LIBMICROHTTPD_SONAME,
	.package = "libmicrohttpd12",
	.symbols = libmicrohttpd_symbols,
	.nr_symbols = sizeof(libmicrohttpd_symbols) / sizeof(libmicrohttpd_symbols[0]),
};

int libmicrohttpd_load(struct err *err)
{
	return dynlib_load(&libmicrohttpd_file, err);
}
