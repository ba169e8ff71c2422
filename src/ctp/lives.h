/* SPDX-License-Identifier: MIT */
/*
 * lives.h - the coroutines that there are, as their lives in the region tell.
 *
 * Whoever runs a coroutine keeps its last state in its life, so that a look at the
 * region tells of every coroutine what it does, whenever its last event was: at the
 * end of a run, when its process has died, or when the collector has.
 */
#ifndef CTP_LIVES_H
#define CTP_LIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "ctp/lanes.h"

/* One coroutine, read whole.  Times are ticks of the kind that ticks_kind says. */
struct life {
	uint32_t number;
	uint64_t id;
	uint32_t state; /* CTP_REC_*, of its last event */
	uint8_t reason; /* enum trace_reason: why it is suspended */
	bool has_resource;
	bool unreported;    /* it is over; its end found no room in a lane */
	uint32_t end_flags; /* CTP_END_*, of one that is over */
	uint64_t events, dropped;
	uint64_t birth_ticks, last_ticks;
	uint32_t ticks_kind; /* CTP_TICKS_* */
	uint64_t addr, resource, parent;
	uint32_t site, birth_site;
	uint32_t pid;
	bool name_cut;
	char name[CTP_LIFE_NAME_SIZE + 1];
};

/* False: nobody lives there, or somebody is just moving in or out. */
bool life_read(const struct lanes *l, uint32_t number, struct life *out);

/* Every coroutine there is, or of process @pid (0: of any). */
typedef void life_visitor(void *ctx, const struct life *life);
void lives_each(const struct lanes *l, uint32_t pid, life_visitor *visit, void *ctx);

/* Nobody touches it any more: it is free for another. */
void life_free(struct lanes *l, uint32_t number);

#endif
