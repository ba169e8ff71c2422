/* SPDX-License-Identifier: MIT */
/* libcurl_loader.c - load libcurl on first use. */
#include "fleet/libcurl_loader.h"

#include <errno.h>
#include <stdbool.h>

struct libcurl libcurl;

#define LIBCURL_SYMBOL(name) { #name, &libcurl.name, DYNLIB_LINKED(name) },

static const struct dynlib_symbol libcurl_symbols[] = { LIBCURL_FUNCTIONS(LIBCURL_SYMBOL) };

static struct dynlib libcurl_file = {
	.file = LIBCURL_SONAME,
	.package = "libcurl4",
	.symbols = libcurl_symbols,
	.nr_symbols = sizeof(libcurl_symbols) / sizeof(libcurl_symbols[0]),
};

int libcurl_load(struct err *err)
{
	static bool is_ready;
	int rc = dynlib_load(&libcurl_file, err);

	if (rc < 0 || is_ready)
		return rc;
	if (libcurl.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(err, -EIO, "cannot initialize libcurl");
	is_ready = true;
	return 0;
}
