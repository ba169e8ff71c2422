/* SPDX-License-Identifier: MIT */
/*
 * suppress.h - suppress known findings, in the manner of sanitizers.
 *
 *	# a comment
 *	lost-wakeup:server.c:12 *        a detector, and a glob for the place
 *	*:kind:worker*                   or for the kind of coroutine
 *
 * A line is DETECTOR:GLOB or DETECTOR:kind:GLOB; DETECTOR may be "*".  Line numbers change, so
 * --gen-suppressions writes the function where one is known.
 */
#ifndef ANALYZE_SUPPRESS_H
#define ANALYZE_SUPPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct suppression {
	char *detector;
	char *glob;
	bool is_kind;
	uint32_t line; /* in the file */
	uint64_t used; /* groups that it matched */
};

/* All zero: no rules. */
struct suppressions {
	struct suppression *rules;
	size_t nr, room;
};

int suppressions_read(struct suppressions *s, const char *path, struct err *err);

/* 1 + the index of the matching rule; 0: none.  @place and @kind may be NULL. */
uint32_t suppressions_match(struct suppressions *s, const char *detector, const char *place,
			    const char *kind);

void suppressions_release(struct suppressions *s);

#endif
