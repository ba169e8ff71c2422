/* SPDX-License-Identifier: MIT */
/* libmariadb_loader.h - the functions of libmariadb in use, loaded on first use. */
#ifndef EXPORT_LIBMARIADB_LOADER_H
#define EXPORT_LIBMARIADB_LOADER_H

#include <mysql.h>

#include "base/dynlib.h"

#define LIBMARIADB_FUNCTIONS(X)           \
	X(mysql_close)                    \
	X(mysql_data_seek)                \
	X(mysql_errno)                    \
	X(mysql_error)                    \
	X(mysql_fetch_row)                \
	X(mysql_free_result)              \
	X(mysql_init)                     \
	X(mysql_num_rows)                 \
	X(mysql_options)                  \
	X(mysql_query)                    \
	X(mysql_real_connect)             \
	X(mysql_real_escape_string)       \
	X(mysql_real_query)               \
	X(mysql_select_db)                \
	X(mysql_set_local_infile_handler) \
	X(mysql_store_result)             \
	X(mysql_thread_end)               \
	X(mysql_warning_count)

struct libmariadb {
	DYNLIB_POINTERS(LIBMARIADB_FUNCTIONS)
};

extern struct libmariadb libmariadb;

/* Set the pointers of `libmariadb`; see dynlib_load(). */
int libmariadb_load(struct err *err);

#endif
