/* SPDX-License-Identifier: MIT */
/*
 * flight_entry.h - one entry of the flight recorder: an event, packed.
 *
 * A head of 16 bits: the type of the entry (4 bits) and which fields follow.  Then the fields, as
 * variable-length numbers of 7 bits per byte; time, id, address, seq and thread are differences to
 * the entry before (which are small), with the sign in the lowest bit.
 */
#ifndef COLLECT_FLIGHT_ENTRY_H
#define COLLECT_FLIGHT_ENTRY_H

#include <string.h>

#include "collect/flight_recorder.h"

/* Type of an entry: an event with that trace_kind, or */
#define ENTRY_GAP 14u
#define ENTRY_OTHER \
	15u /* HAS_LANE: a lane; HAS_OTHERS: a coroutine; HAS_ADDR: a fact; or a horizon */
#define ENTRY_MASK   15u

#define HAS_LANE     (1u << 4)
#define HAS_TID      (1u << 5)
#define HAS_ADDR     (1u << 6)
#define HAS_SEQ      (1u << 7)
#define HAS_SITE     (1u << 8)
#define HAS_REASON   (1u << 9)
#define HAS_FLAGS    (1u << 10)
#define HAS_RESOURCE (1u << 11)
#define HAS_STATION  (1u << 12)
#define HAS_OTHERS   (1u << 13) /* fields of events that are not transitions */

_Static_assert((int)NR_TRACE_KINDS <= (int)ENTRY_GAP, "an entry's kind has four bits");

#define NUMBER_MAX 10u /* bytes of one number */
#define FIELDS_MAX 17u
#define ENTRY_MAX  (2 + FIELDS_MAX * NUMBER_MAX) /* without a name */

/* ---- numbers ----------------------------------------------------------------- */

static inline char *flight_put_number(char *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (char)(v | 0x80);
		v >>= 7;
	}
	*p++ = (char)v;
	return p;
}

static inline const char *flight_get_number(const char *p, uint64_t *v)
{
	unsigned shift = 0;
	uint64_t byte;

	*v = 0;
	do {
		byte = (uint8_t)*p++;
		*v |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return p;
}

/* Store the difference between @v and *@last, then set *@last to @v. */
static inline char *flight_put_step(char *p, uint64_t *last, uint64_t v)
{
	int64_t step = (int64_t)(v - *last);

	*last = v;
	return flight_put_number(p, (uint64_t)step << 1 ^ (uint64_t)(step >> 63));
}

static inline const char *flight_get_step(const char *p, uint64_t *last)
{
	uint64_t v;

	p = flight_get_number(p, &v);
	*last += v >> 1 ^ (0 - (v & 1));
	return p;
}

static inline const char *flight_get_u32(const char *p, uint32_t *out)
{
	uint64_t v;

	p = flight_get_number(p, &v);
	*out = (uint32_t)v;
	return p;
}

static inline const char *flight_get_u8(const char *p, uint8_t *out)
{
	uint64_t v;

	p = flight_get_number(p, &v);
	*out = (uint8_t)v;
	return p;
}

/* ---- entries ------------------------------------------------------------------ */

static inline char *flight_put_head(char *p, unsigned head)
{
	p[0] = (char)head;
	p[1] = (char)(head >> 8);
	return p + 2;
}

static inline unsigned flight_event_head(const struct flight_state *s, uint32_t lane,
					 const struct trace_event *ev)
{
	unsigned head = ev->kind;

	head |= lane != s->lane ? HAS_LANE : 0;
	head |= ev->tid != s->tid ? HAS_TID : 0;
	head |= ev->addr ? HAS_ADDR : 0;
	head |= ev->seq != s->seq ? HAS_SEQ : 0;
	head |= ev->site ? HAS_SITE : 0;
	head |= ev->reason ? HAS_REASON : 0;
	head |= ev->flags ? HAS_FLAGS : 0;
	head |= ev->resource ? HAS_RESOURCE : 0;
	head |= ev->station != TRACE_NO_STATION ? HAS_STATION : 0;
	head |= trace_is_transition(ev) ? 0 : HAS_OTHERS;
	return head;
}

static inline char *flight_put_others(char *p, const struct trace_event *ev)
{
	p = flight_put_number(p, ev->pid);
	p = flight_put_number(p, ev->peer);
	p = flight_put_number(p, ev->seen);
	p = flight_put_number(p, ev->written);
	p = flight_put_number(p, ev->lost);
	p = flight_put_number(p, ev->name_size);
	if (ev->name_size)
		memcpy(p, ev->name, ev->name_size);
	return p + ev->name_size;
}

static inline const char *flight_get_others(const char *p, struct trace_event *ev)
{
	p = flight_get_u32(p, &ev->pid);
	p = flight_get_number(p, &ev->peer);
	p = flight_get_u32(p, &ev->seen);
	p = flight_get_number(p, &ev->written);
	p = flight_get_number(p, &ev->lost);
	p = flight_get_u32(p, &ev->name_size);
	ev->name = p;
	return p + ev->name_size;
}

static inline char *flight_put_event(char *p, struct flight_state *s, uint32_t lane,
				     const struct trace_event *ev)
{
	unsigned head = flight_event_head(s, lane, ev);

	p = flight_put_head(p, head);
	p = flight_put_step(p, &s->ts, ev->ts);
	p = flight_put_step(p, &s->id, ev->probe_id);
	if (head & HAS_LANE)
		p = flight_put_number(p, s->lane = lane);
	if (head & HAS_TID)
		p = flight_put_step(p, &s->tid, ev->tid);
	if (head & HAS_ADDR)
		p = flight_put_step(p, &s->addr, ev->addr);
	if (head & HAS_SEQ)
		p = flight_put_step(p, &s->seq, ev->seq);
	if (head & HAS_SITE)
		p = flight_put_number(p, ev->site);
	if (head & HAS_REASON)
		p = flight_put_number(p, ev->reason);
	if (head & HAS_FLAGS)
		p = flight_put_number(p, ev->flags);
	if (head & HAS_RESOURCE)
		p = flight_put_number(p, ev->resource);
	if (head & HAS_STATION)
		p = flight_put_number(p, ev->station);
	return head & HAS_OTHERS ? flight_put_others(p, ev) : p;
}

static inline const char *flight_get_event(const char *p, unsigned head, struct flight_state *s,
					   struct trace_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	ev->kind = head & ENTRY_MASK;
	ev->is_active = ev->kind == TRACE_RESUME;
	ev->station = TRACE_NO_STATION;
	p = flight_get_step(p, &s->ts);
	p = flight_get_step(p, &s->id);
	if (head & HAS_LANE)
		p = flight_get_u32(p, &s->lane);
	if (head & HAS_TID)
		p = flight_get_step(p, &s->tid);
	if (head & HAS_ADDR)
		p = flight_get_step(p, &s->addr);
	if (head & HAS_SEQ)
		p = flight_get_step(p, &s->seq);
	if (head & HAS_SITE)
		p = flight_get_u32(p, &ev->site);
	if (head & HAS_REASON)
		p = flight_get_u8(p, &ev->reason);
	if (head & HAS_FLAGS)
		p = flight_get_u8(p, &ev->flags);
	if (head & HAS_RESOURCE)
		p = flight_get_number(p, &ev->resource);
	if (head & HAS_STATION)
		p = flight_get_u32(p, &ev->station);
	ev->ts = s->ts;
	ev->probe_id = s->id;
	ev->tid = s->tid;
	ev->seq = s->seq;
	ev->addr = head & HAS_ADDR ? s->addr : 0;
	return head & HAS_OTHERS ? flight_get_others(p, ev) : p;
}

#endif
