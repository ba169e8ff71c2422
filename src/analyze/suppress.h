/* SPDX-License-Identifier: MIT */
/*
 * suppress.h - suppress known findings, in the manner of sanitizers.
 *
 *	# a comment
 *	lost-wakeup:server.c:12 *        a detector, and a glob for the place
 *	*:kind:worker*                   or for the kind of coroutine
 *
 * A line is DETECTOR:function:GLOB for the function of the place, DETECTOR:kind:GLOB for the kind
 * of coroutine, or DETECTOR:GLOB for the whole place with its path and line; DETECTOR may be "*".
 * Paths and lines change, so --gen-suppressions writes the function where one is known.
 */
#ifndef ANALYZE_SUPPRESS_H
#define ANALYZE_SUPPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum suppression_of { SUPPRESS_PLACE, SUPPRESS_FUNCTION, SUPPRESS_KIND };

struct suppression {
	char *detector;
	char *glob;
	enum suppression_of of; /* what the glob is compared with */
	uint32_t line;          /* in the file */
	uint64_t used;          /* groups that it matched */
};

/* All zero: no rules. */
struct suppressions {
	struct suppression *rules;
	size_t nr, room;
};

int suppressions_read(struct suppressions *s, const char *path, struct err *err);

/* What the rules are compared with; each but the detector may be NULL. */
struct suppression_subject {
	const char *detector, *place, *function, *kind;
};

/* 1 + the index of the matching rule; 0: none. */
uint32_t suppressions_match(struct suppressions *s, const struct suppression_subject *subject);

void suppressions_release(struct suppressions *s);

#endif
