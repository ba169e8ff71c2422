/* SPDX-License-Identifier: MIT */
/* libmicrohttpd_loader.h - the functions used from libmicrohttpd, loaded on first use. */
#ifndef SERVE_LIBMICROHTTPD_LOADER_H
#define SERVE_LIBMICROHTTPD_LOADER_H

#include <microhttpd.h>

#include "base/dynlib.h"

#define LIBMICROHTTPD_FUNCTIONS(X)           \
	X(MHD_add_response_header)           \
	X(MHD_create_response_from_buffer)   \
	X(MHD_create_response_from_callback) \
	X(MHD_destroy_response)              \
	X(MHD_get_connection_info)           \
	X(MHD_lookup_connection_value)       \
	X(MHD_queue_response)                \
	X(MHD_resume_connection)             \
	X(MHD_start_daemon)                  \
	X(MHD_stop_daemon)                   \
	X(MHD_suspend_connection)

struct libmicrohttpd {
	DYNLIB_POINTERS(LIBMICROHTTPD_FUNCTIONS)
};

extern struct libmicrohttpd libmicrohttpd;

/* Set the pointers of `libmicrohttpd`; see dynlib_load(). */
int libmicrohttpd_load(struct err *err);

#endif
