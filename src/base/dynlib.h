/* SPDX-License-Identifier: MIT */
/*
 * dynlib.h - load shared libraries when a command first needs them.
 *
 * Database clients, the HTTP server and the terminal library pull in about thirty other libraries.
 * Commands that do not use them must not pay for mapping them, and the tool must start on a machine
 * without them.
 *
 * A library's header lists the functions in use once, as X(name).  DYNLIB_POINTERS() declares the
 * struct members: pointers with the functions' exact types.  DYNLIB_SYMBOLS() makes the table that
 * fills them:
 *
 *	#define LIBPQ_FUNCTIONS(X) X(PQexec) X(PQclear)
 *	struct libpq { DYNLIB_POINTERS(LIBPQ_FUNCTIONS) };
 *	...
 *	libpq.PQexec(connection, sql);
 *
 * A static program cannot load libraries: COROTRACER_STATIC links them, and the table has the
 * functions' addresses.
 */
#ifndef BASE_DYNLIB_H
#define BASE_DYNLIB_H

#include <stddef.h>

#include "base/err.h"

struct dynlib_symbol {
	const char *name;
	void *pointer; /* the address of the function pointer to set */
	void *linked;  /* the function, if the library is part of the program; else NULL */
};

struct dynlib {
	const char *file;    /* soname */
	const char *package; /* Debian and Ubuntu package, without its version suffix */
	const struct dynlib_symbol *symbols;
	size_t nr_symbols;
	void *handle; /* NULL: not loaded */
};

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration takes none */
#define DYNLIB_POINTER(name)       __typeof__(name) *name;
#define DYNLIB_POINTERS(functions) functions(DYNLIB_POINTER)

#ifdef COROTRACER_STATIC
#define DYNLIB_LINKED(name) (void *)&name
#else
#define DYNLIB_LINKED(name) NULL
#endif

/*
 * Load @lib unless it is linked, and set every pointer; does nothing if @lib is loaded already. The
 * library stays loaded until the process ends.  Call before starting threads. -ENOENT: the library
 * or one of its functions is missing; the hint names the package.
 */
int dynlib_load(struct dynlib *lib, struct err *err);

#endif
