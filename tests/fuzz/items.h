/* SPDX-License-Identifier: MIT */
/*
 * items.h - items of a trace from the bytes of a fuzzer.
 *
 * Eight bytes are an item: events of any kind in any order, of few coroutines so that they
 * interact, with times that jump; sites, gaps, coroutines, runs and totals among them.
 */
#ifndef FUZZ_ITEMS_H
#define FUZZ_ITEMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/item.h"

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

static uint64_t items_ts;

static inline uint64_t step_time(uint8_t byte)
{
	static const uint64_t steps[] = {
		0, 1, 100, 1000, 1000000, 60000000, 1000000000, 1ull << 62
	};

	if (byte >= 248) /* time goes back, as in foreign traces */
		items_ts -= items_ts < 1000 ? items_ts : 1000;
	else
		items_ts += steps[byte % 8] * (1 + byte / 8 % 4);
	return items_ts ? items_ts : 1;
}

static inline void make_event(const uint8_t *p, struct trace_event *ev)
{
	trace_event_init(ev);
	ev->kind = p[0] % NR_TRACE_KINDS;
	ev->is_active = ev->kind == TRACE_RESUME;
	ev->probe_id = p[1] % 12;
	ev->ts = step_time(p[2]);
	ev->tid = p[3] % 4;
	ev->seq = 2 + p[3] / 4u;
	ev->site = p[4] % 5;
	ev->addr = p[4] & 0x80 ? p[4] * UINT64_C(0x123456789) : p[4] % 3;
	ev->reason = p[5] % (NR_TRACE_REASONS + 1);
	ev->flags = p[6] &
		    (TRACE_HAS_RESOURCE | TRACE_DESTROYED | TRACE_WAS_SUSPENDED | TRACE_CANCELLED);
	ev->resource = p[7] & 0x80 ? items_ts + p[7] : p[7] % 12;
	ev->peer = p[6] / 32u;
	ev->pid = p[5] & 0x80 ? 1 : 0;
	ev->station = p[6] == 255 ? p[7] : TRACE_NO_STATION;
	ev->name = "worker\x01 12 <&\"|*";
	ev->name_size = ev->kind == TRACE_BIRTH ? p[7] % 16u : 0;
	ev->written = p[7];
	ev->lost = p[5];
}

static inline void make_item(const uint8_t *p, struct trace_item *item)
{
	switch (p[0] >= 240 ? p[0] : 0) {
	case 240:
		trace_item_init(item, TRACE_ITEM_SITE);
		item->site = (struct trace_site){ p[1] % 5, p[2], 1, "a.c", p[3] ? "f\n`" : "" };
		break;
	case 241:
		trace_item_init(item, TRACE_ITEM_GAP);
		item->gap = (struct trace_gap){ 0,    1,   p[1] % 4, items_ts, items_ts + p[2],
						p[3], p[4] };
		break;
	case 242:
		trace_item_init(item, TRACE_ITEM_COROUTINE);
		item->coroutine.probe_id = p[1] % 12;
		item->coroutine.written = p[2];
		item->coroutine.lost = p[3];
		item->coroutine.dead = p[4] & 1;
		item->coroutine.name = p[5] & 1 ? "named" : NULL;
		break;
	case 243:
		trace_item_init(item, TRACE_ITEM_RUN);
		break;
	case 244:
		trace_item_init(item, TRACE_ITEM_TOTALS);
		item->totals.end_ts = items_ts + p[1];
		item->totals.lost = p[2];
		item->totals.signal = p[3] % 16;
		break;
	default:
		trace_item_init(item, TRACE_ITEM_EVENT);
		make_event(p, &item->event);
	}
}

/* For a fuzzer that generates its own bytes. */
static uint64_t state;

static inline uint32_t next_random(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33);
}

/* Returns how many of @size bytes are filled.  Every other time a run item comes first. */
static inline size_t fill_random(uint8_t *data, size_t size)
{
	size_t nr = next_random() % size, k;
	bool is_ours = next_random() % 2;

	for (k = 0; k < nr; k++)
		data[k] = (uint8_t)next_random();
	if (is_ours)
		data[0] = 243;
	return nr;
}

#endif
