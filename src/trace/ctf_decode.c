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

#include "trace/ctf_forms.h"

/* ---- records ------------------------------------------------------------- */

#define NAME_SIZE_SIZE 2 /* of a named birth: behind the form, before the name */

#define CTF_DECODE_ROW(id, name, of_kind, form, more) \
	[id] = { .size = CTF_SIZE_OF(form), .kind = (of_kind), .get = ctf_get_##form },

static const struct {
	size_t size; /* of the form; 0: unknown id */
	uint8_t kind;
	const uint8_t *(*get)(const uint8_t *p, struct trace_event *ev);
} forms[CTF_EVENT_IDS] = {
	/* clang-format off */
	CTF_CHOSEN_EVENTS(CTF_DECODE_ROW)
	CTF_KIND_EVENTS(CTF_DECODE_ROW)
	[CTF_GAP] = { .size = CTF_SIZE_OF(gap) },
	/* clang-format on */
};

static uint16_t ctf_decode_u16(const uint8_t *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static void ctf_decode_get_event(const struct ctf_cursor *c, unsigned id, const uint8_t *p,
				 struct trace_event *ev)
{
	trace_event_init(ev);
	ev->ts = c->last_ts;
	ev->tid = c->packet.tid;
	ev->kind = forms[id].kind;
	ev->is_active = ev->kind == TRACE_RESUME;
	if (id <= CTF_PLAIN + 1) { /* the most frequent, without a call */
		ctf_get_plain(p, ev);
		return;
	}
	p = forms[id].get(p, ev);
	if (id == CTF_BIRTH_NAMED) {
		ev->name_size = ctf_decode_u16(p);
		ev->name = ev->name_size ? (const char *)p + NAME_SIZE_SIZE : NULL;
	}
}

static void ctf_decode_get_item(struct ctf_cursor *c, unsigned id, const uint8_t *p)
{
	if (id == CTF_GAP) {
		c->item.type = TRACE_ITEM_GAP;
		c->item.gap.lane = c->packet.lane;
		c->item.gap.pid = c->packet.pid;
		c->item.gap.tid = c->packet.tid;
		ctf_get_gap(p, &c->item.gap);
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
	size_t size = CTF_EVENT_HEADER + CTF_SIZE_SIZE; /* the shortest payload */
	const uint8_t *p;
	unsigned id;
	int rc = ctf_cursor_need(walk, c, size);

	if (rc <= 0)
		return rc;
	p = ctf_cursor_at(c);
	id = p[4];
	if (id >= CTF_FIRST_SIZED)
		size += ctf_decode_u16(p + CTF_EVENT_HEADER);
	else if (forms[id].size)
		size = CTF_EVENT_HEADER + forms[id].size;
	else
		return 0;
	if (id == CTF_BIRTH_NAMED)
		size += NAME_SIZE_SIZE;
	rc = ctf_cursor_need(walk, c, size);
	if (rc <= 0 || id != CTF_BIRTH_NAMED)
		return rc <= 0 ? rc : (int64_t)size;
	size += ctf_decode_u16(ctf_cursor_at(c) + size - NAME_SIZE_SIZE);
	rc = ctf_cursor_need(walk, c, size);
	return rc <= 0 ? rc : (int64_t)size;
}

/* False: a record of a later version, which has its size in front. */
static bool ctf_decode_knows(unsigned id, size_t size)
{
	return id < CTF_FIRST_SIZED || (id < CTF_EVENT_IDS && forms[id].size &&
					size >= CTF_EVENT_HEADER + CTF_SIZE_SIZE + forms[id].size);
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
	memcpy(&low, p, sizeof(low));
	ts = next_time(c->last_ts, low);
	if (ts > c->packet.timestamp_end || ts < c->last_ts) {
		ctf_cursor_leave(walk, c, true);
		return 0;
	}
	c->last_ts = ts;
	ctf_cursor_skip(c, (size_t)size);
	if (!ctf_decode_knows(p[4], (size_t)size)) {
		walk->stats->unknown++;
		return 0;
	}
	ctf_decode_get_item(c, p[4],
			    p + CTF_EVENT_HEADER + (p[4] < CTF_FIRST_SIZED ? 0 : CTF_SIZE_SIZE));
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
