/* SPDX-License-Identifier: MIT */
/* recover_print.h - the output of `corotracer recover`: as text, or as one JSON object. */
#ifndef TOOL_RECOVER_PRINT_H
#define TOOL_RECOVER_PRINT_H

#include <stdbool.h>

#include "base/printer.h"
#include "collect/region_inspect.h"

/* Default limits of the text output. */
#define RECOVER_COROUTINES 20u
#define RECOVER_THREADS    16u
#define RECOVER_EVENTS     8u
#define RECOVER_ALL_EVENTS 64u

/* Print on stdout; @all: without the limits above.  Returns 0, or a negative errno. */
int recover_print(const struct recover *r, const char *path, bool all, bool json);

/* ---- parts ------------------------------------------------------------------------ */

/* What is known about the run as a whole: recover_head.c. */
void recover_print_head(struct printer *p, const struct recover *r, const char *path, bool all);

/* A time of an event, in text. */
void recover_print_time(struct printer *p, const struct recover *r, uint64_t ts);

/* The known processes, and whether they still run; text: at most @most. */
void recover_print_processes(struct printer *p, const struct recover *r, size_t most);

/* JSON only: the members of an open object, the state of one coroutine at @moment. */
void recover_json_coroutine(struct printer *p, const struct recover *r,
			    const struct recover_coroutine *c, uint64_t moment);

#endif
