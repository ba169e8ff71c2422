/* SPDX-License-Identifier: MIT */
/* recover.h - what `corotracer recover` prints: for people, or as one JSON object. */
#ifndef TOOL_RECOVER_H
#define TOOL_RECOVER_H

#include <stdbool.h>

#include "ctp/recover.h"

/* More is printed only on request. */
#define RECOVER_COROUTINES 20u
#define RECOVER_THREADS    16u
#define RECOVER_EVENTS     8u
#define RECOVER_ALL_EVENTS 64u

struct json_writer;

void recover_print_text(const struct recover *r, const char *path, bool all);

/* 0, or a negative errno. */
int recover_print_json(const struct recover *r, const char *path);

/* The largest error of the times that are shown, if the clock was slewed. */
uint64_t recover_clock_error_ns(const struct recover *r);

/* Members of an object that is open: all that is told of one coroutine at @moment. */
void recover_json_coroutine(struct json_writer *j, const struct recover *r,
			    const struct recover_coroutine *c, uint64_t moment);

/* Member "processes": those that were met, and whether they are there. */
void recover_json_processes(struct json_writer *j, const struct recover *r);

#endif
