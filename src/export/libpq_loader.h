/* SPDX-License-Identifier: MIT */
/* libpq_loader.h - the functions of libpq in use, loaded on first use. */
#ifndef EXPORT_LIBPQ_LOADER_H
#define EXPORT_LIBPQ_LOADER_H

#include <libpq-fe.h>

#include "base/dynlib.h"

#define LIBPQ_FUNCTIONS(X)      \
	X(PQclear)              \
	X(PQconnectdbParams)    \
	X(PQdb)                 \
	X(PQerrorMessage)       \
	X(PQexec)               \
	X(PQexecParams)         \
	X(PQfinish)             \
	X(PQgetResult)          \
	X(PQgetvalue)           \
	X(PQntuples)            \
	X(PQputCopyData)        \
	X(PQputCopyEnd)         \
	X(PQresultErrorMessage) \
	X(PQresultStatus)       \
	X(PQsetNoticeProcessor) \
	X(PQstatus)

struct libpq {
	DYNLIB_POINTERS(LIBPQ_FUNCTIONS)
};

extern struct libpq libpq;

/* Set the pointers of `libpq`; see dynlib_load(). */
int libpq_load(struct err *err);

#endif
