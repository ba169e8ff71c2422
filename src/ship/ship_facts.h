/* SPDX-License-Identifier: MIT */
/*
 * ship_facts.h - what the labels and the account of a run need from the facts in its blocks.
 */
#ifndef SHIP_FACTS_H
#define SHIP_FACTS_H

#include "ship/ship_follow.h"
#include "ship/ship_labels.h"
#include "trace/sidecar.h"

/* All zero: nothing is known yet. */
struct ship_facts {
	struct compact_unpacker unpacker;
	struct sidecar_reader lines;
	bool has_run, has_build, has_totals;
	struct ship_labels labels; /* service, host, build and start, as the trace says */
	struct sidecar_totals totals;
};

/* Note the facts of the block that @f returned, if it has any.  0 or a negative errno. */
int ship_facts_take(struct ship_facts *facts, struct ship_follow *f,
		    const struct ship_block *block);

void ship_facts_release(struct ship_facts *facts);

#endif
