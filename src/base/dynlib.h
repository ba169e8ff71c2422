/* SPDX-License-Identifier: MIT */
/*
 * dynlib.h - shared libraries that are loaded when a command first needs them.
 *
 * Database clients, the HTTP server and the terminal library bring some thirty other libraries
 * with them.  Commands that do not use them must not pay for mapping them, and the tool must
 * start on a machine that does not have them.
 *
 * A library's header lists the functions in use once, as X(name); DYNLIB_POINTERS() makes a struct
 *of pointers with their exact types, DYNLIB_SYMBOLS() the table that fills it:
 *
 *	#define LIBPQ_FUNCTIONS(X) X(PQexec) X(PQclear)
 *	struct libpq { DYNLIB_POINTERS(LIBPQ_FUNCTIONS) };
 *	...
 *	libpq.PQexec(connection, sql);
 */
#ifndef BASE_DYNLIB_H
#define BASE_DYNLIB_H

#include <stddef.h>

#include "base/err.h"

struct dynlib_symbol {
	const char *name;
	void *pointer; /* the address of the function pointer to set */
};

struct dynlib {
	const char *file;    /* its soname */
	const char *package; /* of Debian and Ubuntu, without the version at its end */
	const struct dynlib_symbol *symbols;
	size_t nr_symbols;
	void *handle; /* NULL: not loaded */
};

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration takes none */
#define DYNLIB_POINTER(name)       __typeof__(name) *name;
#define DYNLIB_POINTERS(functions) functions(DYNLIB_POINTER)

/*
 * Load @lib and set every pointer; does nothing when it is loaded.  The library stays loaded until
 * the process ends.  Called before threads are started.  -ENOENT: the library or one of its
 * functions is missing; the hint names the package.
 */
int dynlib_load(struct dynlib *lib, struct err *err);

#endif
