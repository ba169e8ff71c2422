/* SPDX-License-Identifier: MIT */
/* libcurl_loader.h - the functions of libcurl in use, loaded on first use. */
#ifndef FLEET_LIBCURL_LOADER_H
#define FLEET_LIBCURL_LOADER_H

/* The check of types wraps curl_easy_setopt() in a macro, which a struct member cannot be. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/dynlib.h"

#define LIBCURL_FUNCTIONS(X)  \
	X(curl_easy_cleanup)  \
	X(curl_easy_escape)   \
	X(curl_easy_getinfo)  \
	X(curl_easy_init)     \
	X(curl_easy_perform)  \
	X(curl_easy_reset)    \
	X(curl_easy_setopt)   \
	X(curl_easy_strerror) \
	X(curl_free)          \
	X(curl_global_init)   \
	X(curl_slist_append)  \
	X(curl_slist_free_all)

struct libcurl {
	DYNLIB_POINTERS(LIBCURL_FUNCTIONS)
};

extern struct libcurl libcurl;

/* Set the pointers of `libcurl`; see dynlib_load(). */
int libcurl_load(struct err *err);

#endif
