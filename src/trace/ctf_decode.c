/* SPDX-License-Identifier: MIT */
/*
 * ctf_decode.c - decode the next event or gap of a stream of events.
 *
 * A record is loaded completely and its size is checked before its payload is read: the id
 * gives the size, and a named birth also has the size of its name.
 */
#include "trace/ctf_decode.h"

#include <errno.h>
#include <string.h>

/* ---- bytes --------------------------------------------------------------- */

static const uint8_t *get_u64(const uint8_t *p, uint64_t *out)
{
	memcpy(out, p, sizeof(*out));
	return p + sizeof(*out);
}

static const uint8_t *ctf_decode_get_u32(const uint8_t *p, uint32_t *out)
{
	memcpy(out, p, sizeof(*out));
	return p + sizeof(*out);
}

static const uint8_t *get_u16(const uint8_t *p, uint16_t *out)
{
	memcpy(out, p, sizeof(*out));
	return p + sizeof(*out);
}

static const uint8_t *ctf_decode_get_u8(const uint8_t *p, uint8_t *out)
{
	*out = *p;
	return p + 1;
}

/* ---- payloads ------------------------------------------------------------- */

static const uint8_t *ctf_decode_get_plain(const uint8_t *p, struct trace_event *ev)
{
	uint32_t seq;

	p = get_u64(p, &ev->probe_id);
	p = get_u64(p, &ev->addr);
	p = ctf_decode_get_u32(p, &seq);
	ev->seq = seq;
	return p;
}

static const uint8_t *get_head(const uint8_t *p, struct trace_event *ev)
{
	p = get_u64(p, &ev->probe_id);
	p = get_u64(p, &ev->tid);
	p = get_u64(p, &ev->addr);
	p = ctf_decode_get_u32(p, &ev->station);
	p = ctf_decode_get_u32(p, &ev->site);
	return ctf_decode_get_u8(p, &ev->flags);
}

static void get_at(const uint8_t *p, struct trace_event *ev)
{
	p = ctf_decode_get_plain(p, ev);
	p = ctf_decode_get_u32(p, &ev->site);
	p = ctf_decode_get_u8(p, &ev->reason);
	p = ctf_decode_get_u8(p, &ev->flags);
	get_u64(p, &ev->resource);
}

static void get_in(const uint8_t *p, struct trace_event *ev)
{
	uint32_t tid;

	p = ctf_decode_get_plain(p, ev);
	p = ctf_decode_get_u32(p, &tid);
	ev->tid = tid;
	ctf_decode_get_u32(p, &ev->station);
}

static void get_full(const uint8_t *p, struct trace_event *ev)
{
	p = get_head(p, ev);
	p = get_u64(p, &ev->seq);
	p = ctf_decode_get_u8(p, &ev->reason);
	get_u64(p, &ev->resource);
}

static void get_wake(const uint8_t *p, struct trace_event *ev)
{
	p = get_u64(p, &ev->probe_id);
	p = get_u64(p, &ev->peer);
	p = ctf_decode_get_u32(p, &ev->site);
	p = ctf_decode_get_u32(p, &ev->seen);
	ctf_decode_get_u8(p, &ev->reason);
}

static void get_wake_full(const uint8_t *p, struct trace_event *ev)
{
	p = get_head(p, ev);
	p = get_u64(p, &ev->peer);
	p = ctf_decode_get_u32(p, &ev->seen);
	p = ctf_decode_get_u8(p, &ev->reason);
	get_u64(p, &ev->resource);
}

static const uint8_t *get_parents(const uint8_t *p, struct trace_event *ev)
{
	p = get_head(p, ev);
	p = get_u64(p, &ev->peer);
	return ctf_decode_get_u32(p, &ev->pid);
}

static void get_birth(const uint8_t *p, struct trace_event *ev)
{
	get_parents(p, ev);
}

static void get_named(const uint8_t *p, struct trace_event *ev)
{
	uint16_t size;

	p = get_u16(get_parents(p, ev), &size);
	ev->name_size = size;
	ev->name = size ? (const char *)p : NULL;
}

static void get_over(const uint8_t *p, struct trace_event *ev)
{
	p = get_head(p, ev);
	p = get_u64(p, &ev->written);
	get_u64(p, &ev->lost);
}

static void get_resource(const uint8_t *p, struct trace_event *ev)
{
	p = get_u64(get_head(p, ev), &ev->resource);
	ctf_decode_get_u32(p, &ev->pid);
}

static void get_gap(const uint8_t *p, const struct ctf_packet *packet, struct trace_gap *gap)
{
	gap->lane = packet->lane;
	gap->pid = packet->pid;
	gap->tid = packet->tid;
	p = get_u64(p, &gap->from_ts);
	p = get_u64(p, &gap->to_ts);
	p = get_u64(p, &gap->transitions);
	get_u64(p, &gap->others);
}

/* ---- records ------------------------------------------------------------- */

static const struct {
	size_t size; /* 0: unknown id */
	uint8_t kind;
	void (*get)(const uint8_t *p, struct trace_event *ev);
} forms[NR_CTF_EVENTS] = {
	[CTF_PLAIN] = { CTF_PLAIN_SIZE, TRACE_SUSPEND, NULL },
	[CTF_PLAIN + 1] = { CTF_PLAIN_SIZE, TRACE_RESUME, NULL },
	[CTF_AT] = { CTF_AT_SIZE, TRACE_SUSPEND, get_at },
	[CTF_AT + 1] = { CTF_AT_SIZE, TRACE_RESUME, get_at },
	[CTF_IN] = { CTF_IN_SIZE, TRACE_SUSPEND, get_in },
	[CTF_IN + 1] = { CTF_IN_SIZE, TRACE_RESUME, get_in },
	[CTF_FULL] = { CTF_FULL_SIZE, TRACE_SUSPEND, get_full },
	[CTF_FULL + 1] = { CTF_FULL_SIZE, TRACE_RESUME, get_full },
	[CTF_WAKE] = { CTF_WAKE_SIZE, TRACE_WAKE, get_wake },
	[CTF_WAKE_FULL] = { CTF_WAKE_FULL_SIZE, TRACE_WAKE, get_wake_full },
	[CTF_BIRTH] = { CTF_BIRTH_SIZE, TRACE_BIRTH, get_birth },
	[CTF_BIRTH_NAMED] = { CTF_NAMED_SIZE, TRACE_BIRTH, get_named },
	[CTF_END] = { CTF_END_SIZE, TRACE_END, get_over },
	[CTF_DESTROY] = { CTF_END_SIZE, TRACE_DESTROY, get_over },
	[CTF_GAP] = { CTF_GAP_SIZE, 0, NULL },
	[CTF_CLOSE] = { CTF_RESOURCE_SIZE, TRACE_CLOSE, get_resource },
	[CTF_ACQUIRE] = { CTF_RESOURCE_SIZE, TRACE_ACQUIRE, get_resource },
	[CTF_RELEASE] = { CTF_RESOURCE_SIZE, TRACE_RELEASE, get_resource },
};

static void ctf_decode_get_event(const struct ctf_cursor *c, unsigned id, const uint8_t *p,
				 struct trace_event *ev)
{
	trace_event_init(ev);
	ev->ts = c->last_ts;
	ev->tid = c->packet.tid;
	ev->kind = forms[id].kind;
	ev->is_active = ev->kind == TRACE_RESUME;
	if (forms[id].get)
		forms[id].get(p, ev);
	else
		ctf_decode_get_plain(p, ev);
}

static void ctf_decode_get_item(struct ctf_cursor *c, unsigned id, const uint8_t *p)
{
	if (id == CTF_GAP) {
		c->item.type = TRACE_ITEM_GAP;
		get_gap(p, &c->packet, &c->item.gap);
	} else {
		c->item.type = TRACE_ITEM_EVENT;
		ctf_decode_get_event(c, id, p, &c->item.event);
	}
}

/*
 * Returns the size of the record at the cursor, which is loaded completely.  0: the record is
 * truncated or corrupt; -errno.
 */
static int64_t record_size(const struct ctf_walk *walk, struct ctf_cursor *c)
{
	size_t size = CTF_EVENT_HEADER + 2; /* shortest payload: a u16 size */
	const uint8_t *p;
	uint16_t more = 0;
	unsigned id;
	int rc = ctf_cursor_need(walk, c, size);

	if (rc <= 0)
		return rc;
	p = ctf_cursor_at(c);
	id = p[4];
	if (id >= CTF_FIRST_SIZED) {
		get_u16(p + CTF_EVENT_HEADER, &more);
		size += more;
	} else if (id < NR_CTF_EVENTS && forms[id].size) {
		size = CTF_EVENT_HEADER + forms[id].size;
	} else {
		return 0;
	}
	rc = ctf_cursor_need(walk, c, size);
	if (rc <= 0 || id != CTF_BIRTH_NAMED)
		return rc <= 0 ? rc : (int64_t)size;
	get_u16(ctf_cursor_at(c) + size - 2, &more);
	size += more;
	rc = ctf_cursor_need(walk, c, size);
	return rc <= 0 ? rc : (int64_t)size;
}

/* Low bits that are smaller than the previous ones have wrapped around. */
static uint64_t next_time(uint64_t last, uint32_t low)
{
	return last + (uint32_t)(low - (uint32_t)last);
}

/* Returns 1: an item; 0: no item, call again; -errno. */
static int take_record(const struct ctf_walk *walk, struct ctf_cursor *c)
{
	int64_t size = record_size(walk, c);
	const uint8_t *p;
	uint32_t low;
	uint64_t ts;

	if (size < 0)
		return (int)size;
	if (size == 0) {
		ctf_cursor_leave(walk, c, true);
		return 0;
	}
	p = ctf_cursor_at(c);
	ctf_decode_get_u32(p, &low);
	ts = next_time(c->last_ts, low);
	if (ts > c->packet.timestamp_end || ts < c->last_ts) {
		ctf_cursor_leave(walk, c, true);
		return 0;
	}
	c->last_ts = ts;
	ctf_cursor_skip(c, (size_t)size);
	if (p[4] >= CTF_FIRST_SIZED) {
		walk->stats->unknown++;
		return 0;
	}
	ctf_decode_get_item(c, p[4], p + CTF_EVENT_HEADER);
	return 1;
}

int ctf_decode_next(const struct ctf_walk *walk, struct ctf_cursor *c)
{
	int rc;

	do {
		rc = 0;
		if (!c->in_packet) {
			rc = ctf_cursor_packet(walk, c);
			if (rc <= 0)
				return rc;
			rc = 0;
			if (c->packet.stream_id != CTF_STREAM_EVENTS)
				ctf_cursor_leave(walk, c, true);
		} else if (ctf_cursor_at_end(c)) {
			ctf_cursor_leave(walk, c, false);
		} else {
			rc = take_record(walk, c);
		}
	} while (rc == 0);
	return rc;
}
