/* SPDX-License-Identifier: MIT */
/* recover_print.h - the output of `corotracer recover`: as text, or as one JSON object. */
#ifndef TOOL_RECOVER_PRINT_H
#define TOOL_RECOVER_PRINT_H

#include <stdbool.h>

#include "collect/region_inspect.h"

/* Default limits of the text output. */
#define RECOVER_COROUTINES 20u
#define RECOVER_THREADS    16u
#define RECOVER_EVENTS     8u
#define RECOVER_ALL_EVENTS 64u

struct json_writer;

void recover_print_text(const struct recover *r, const char *path, bool all);

/* 0, or a negative errno. */
int recover_print_json(const struct recover *r, const char *path);

/* The largest error of the printed times, if the clock was slewed. */
uint64_t recover_clock_error_ns(const struct recover *r);

/* Write the members of an open object: the state of one coroutine at @moment. */
void recover_json_coroutine(struct json_writer *j, const struct recover *r,
			    const struct recover_coroutine *c, uint64_t moment);

/* Write the member "processes": the known processes, and whether they still run. */
void recover_json_processes(struct json_writer *j, const struct recover *r);

#endif
