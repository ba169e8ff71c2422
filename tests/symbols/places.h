/* SPDX-License-Identifier: MIT */
/* places.h - a site in a header: each file that includes it registers it once more. */
#ifndef TESTS_SYMBOLS_PLACES_H
#define TESTS_SYMBOLS_PLACES_H

#include <corotracer/corotracer.h>
#include <stdio.h>

/* Print the site where a coroutine waits: "place NAME FILE LINE FUNCTION". */
#define SAY(name, line) printf("place %s %s %d %s\n", (name), __FILE__, (line), __func__)

/* A coroutine that waits at the return address of a call, without a site. */
__attribute__((noinline, unused)) static void wait_by_address(struct corotracer_coro *co)
{
	corotracer_suspend(co, __builtin_return_address(0));
}

static inline void wait_in_header(struct corotracer_coro *co, const char *name)
{
	corotracer_suspend_at(co, NULL, COROTRACER_HERE, CTP_REASON_UNKNOWN);
	SAY(name, __LINE__ - 1);
}

void start(struct corotracer_coro *co, const char *name);
void other_file(void);

#endif
