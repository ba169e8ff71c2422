/* SPDX-License-Identifier: MIT */
/*
 * coroutine_table.h - read the state of every coroutine from the region.
 *
 * The thread that runs a coroutine keeps the coroutine's last state in a struct ctp_life of the
 * region.  So the state of every coroutine can be read there, however old its last event is: at
 * the end of a run, and after its process or the collector was killed.
 */
#ifndef COLLECT_COROUTINE_TABLE_H
#define COLLECT_COROUTINE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/lane_memory.h"

/* A consistent copy of one coroutine's state.  Times are ticks of the kind ticks_kind. */
struct life {
	uint32_t number;
	uint64_t id;
	uint32_t state; /* CTP_REC_* of its last event */
	uint8_t reason; /* enum trace_reason, if suspended */
	bool has_resource;
	bool unreported;    /* ended, and the lane had no room for its end event */
	uint32_t end_flags; /* CTP_END_*, if ended */
	uint64_t events, dropped;
	uint64_t birth_ticks, last_ticks;
	uint32_t ticks_kind; /* CTP_TICKS_* */
	uint64_t addr, resource, parent;
	uint32_t site, birth_site;
	uint32_t pid;
	bool name_cut;
	char name[CTP_LIFE_NAME_SIZE + 1];
};

/* False if the slot is free or being claimed or released. */
bool life_read(const struct lanes *l, uint32_t number, struct life *out);

/* Visit every coroutine, or those of process @pid (0: of any). */
typedef void life_visitor(void *ctx, const struct life *life);
void lives_each(const struct lanes *l, uint32_t pid, life_visitor *visit, void *ctx);

/* No process uses the ctp_life any more: free it for another coroutine. */
void life_free(struct lanes *l, uint32_t number);

#endif
