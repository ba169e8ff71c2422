/* SPDX-License-Identifier: MIT */
/*
 * trace_items.h - random items of all kinds for tests of writers and readers, and their comparison.
 */
#ifndef TRACE_ITEMS_H
#define TRACE_ITEMS_H

#include <stdbool.h>
#include <string.h>

#include "trace/item.h"

static inline uint64_t next_random(void)
{
	static uint64_t state = UINT64_C(0x2545f4914f6cdd1d);

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Any field may be present or not, and of any length. */
static inline uint64_t any_number(void)
{
	return next_random() % 2 ? next_random() >> next_random() % 64 : 0;
}

static inline uint32_t any_u32(void)
{
	return (uint32_t)any_number();
}

/* A transition, or another event; without fields that no event of its kind has. */
static inline struct trace_event any_event(uint64_t ts)
{
	static const char *const names[] = { "x", "reader", "a \"b\"\n\x7f", "\xc3\xa9", "y z" };
	const char *name = names[next_random() % 5];
	struct trace_event ev;

	trace_event_init(&ev);
	ev.kind = (uint8_t)(next_random() % NR_TRACE_KINDS);
	ev.is_active = ev.kind == TRACE_RESUME;
	ev.ts = ts;
	ev.probe_id = any_number();
	ev.tid = next_random() % 2 ? 1000 + next_random() % 4 : next_random() % INT32_MAX;
	ev.addr = any_number();
	ev.station = next_random() % 4 ? TRACE_NO_STATION : any_u32();
	ev.site = any_u32();
	if (ev.kind <= TRACE_RESUME)
		ev.seq = any_number() | 1;
	if (ev.kind <= TRACE_RESUME || ev.kind == TRACE_WAKE) {
		ev.reason = (uint8_t)(next_random() % 2 ? next_random() % NR_TRACE_REASONS : 0);
		ev.flags = next_random() % 2 ? TRACE_HAS_RESOURCE : 0;
		ev.resource = ev.flags ? any_number() : 0;
	}
	if (ev.kind == TRACE_BIRTH || ev.kind == TRACE_WAKE)
		ev.peer = any_number();
	if (ev.kind == TRACE_WAKE)
		ev.seen = any_u32();
	if (ev.kind == TRACE_BIRTH) {
		ev.pid = any_u32();
		ev.name = next_random() % 2 ? name : NULL;
		ev.name_size = ev.name ? (uint32_t)strlen(name) : 0;
		ev.flags = next_random() % 2 ? TRACE_NAME_CUT : 0;
	}
	if (ev.kind == TRACE_END || ev.kind == TRACE_DESTROY) {
		ev.written = any_number();
		ev.lost = any_number();
		ev.flags = (uint8_t)(next_random() &
				     (TRACE_DESTROYED | TRACE_WAS_SUSPENDED | TRACE_CANCELLED));
	}
	if (trace_is_of_resource(&ev)) {
		ev.flags = TRACE_HAS_RESOURCE;
		ev.resource = any_number();
		ev.pid = any_u32();
	}
	if (ev.kind == TRACE_CONTEXT) {
		ev.written = any_number();
		ev.lost = any_number();
		ev.resource = any_number();
		ev.seen = any_u32();
	}
	return ev;
}

static inline bool same_event(const struct trace_event *a, const struct trace_event *b)
{
	return a->probe_id == b->probe_id && a->tid == b->tid && a->addr == b->addr &&
	       a->seq == b->seq && a->ts == b->ts && a->is_active == b->is_active &&
	       a->kind == b->kind && a->reason == b->reason && a->flags == b->flags &&
	       a->station == b->station && a->site == b->site && a->pid == b->pid &&
	       a->resource == b->resource && a->peer == b->peer && a->seen == b->seen &&
	       a->written == b->written && a->lost == b->lost && a->name_size == b->name_size &&
	       (!a->name == !b->name) && (!a->name || !memcmp(a->name, b->name, a->name_size));
}

static inline bool same_text(const char *a, const char *b)
{
	return (!a && !b) || (a && b && !strcmp(a, b));
}

static inline bool same_coroutine(const struct sidecar_coroutine *a,
				  const struct sidecar_coroutine *b)
{
	return a->station == b->station && a->probe_id == b->probe_id && a->pid == b->pid &&
	       same_text(a->name, b->name) && a->name_truncated == b->name_truncated &&
	       a->birth_ts == b->birth_ts && a->death_ts == b->death_ts && a->dead == b->dead &&
	       same_text(a->writer, b->writer) && a->written == b->written &&
	       a->collected == b->collected && a->lost == b->lost && a->garbage == b->garbage &&
	       a->state == b->state && a->reason == b->reason &&
	       a->has_resource == b->has_resource && a->site == b->site &&
	       a->birth_site == b->birth_site && a->since_ts == b->since_ts &&
	       a->resource == b->resource && a->addr == b->addr && a->parent == b->parent;
}

#endif
