/* SPDX-License-Identifier: MIT */
/* _places.h - where a suspended Python coroutine waits, and for what. */
#ifndef COROTRACER_PLACES_H
#define COROTRACER_PLACES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <corotracer/corotracer.h>

/* Where a coroutine waits.  The site is NULL if it is not known. */
struct wait_place {
	struct corotracer_site *site;
	uint32_t reason;
	uint64_t resource;
};

/* A file of asyncio and one of this package: lines beside them are not what a user looks for. */
int places_init(const char *asyncio_file, const char *own_file);

/*
 * The innermost line outside asyncio that @coro waits in, with the reason that the innermost line
 * inside asyncio gives.  No exception is left set.
 */
void place_of_wait(PyObject *coro, struct wait_place *place);

/* The nearest calling line outside asyncio and this package; NULL if there is none. */
struct corotracer_site *place_of_caller(void);

#endif
