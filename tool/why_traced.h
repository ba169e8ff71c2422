/* SPDX-License-Identifier: MIT */
/* why_traced.h - what the collector of a program knows about its coroutines, for `why`. */
#ifndef TOOL_WHY_TRACED_H
#define TOOL_WHY_TRACED_H

#include "collect/region_inspect.h"
#include "inspect/inspection.h"

struct why_traced {
	struct recover region;
	struct traced_list list;
	char path[4096]; /* of the region */
	bool is_open;
};

/*
 * Find the region that the process of @in writes into, read it, and join its coroutines with those
 * that were found.  Nothing is changed in the region.  Without a region, or if it cannot be read,
 * @in stays as it is.
 */
void why_traced_join(struct why_traced *t, struct inspection *in);

void why_traced_release(struct why_traced *t);

#endif
