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

void recover_print_text(const struct recover *r, const char *path, bool all);

/* 0, or a negative errno. */
int recover_print_json(const struct recover *r, const char *path);

#endif
