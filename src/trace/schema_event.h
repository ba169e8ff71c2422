/* SPDX-License-Identifier: MIT */
/*
 * schema_event.h - the rows of schema.h, and those of the event where a compiler sees them.
 *
 * Events are the hot path.  A loop over this table that the compiler unrolls (SCHEMA_UNROLL)
 * becomes the code that one would write by hand, member by member.  Measured on a CTF trace of
 * 1,240,000 events, 440,000 of them for the sidecar: the export as JSON lines takes 0.99 times the
 * time of a writer by hand; with the table in another file it took 1.27 times as long.
 */
#ifndef TRACE_SCHEMA_EVENT_H
#define TRACE_SCHEMA_EVENT_H

#include "trace/schema.h"

#define KEY(k) .key = (k), .member = ",\"" k "\":", .member_size = sizeof(",\"" k "\":") - 1

/* The member of a struct, which must have the size of the type. */
#define MEMBER(schema_type, size, record, name)                                               \
	.type = (schema_type),                                                                \
	.offset = (uint16_t)(offsetof(struct record, name) +                                  \
			     0 * sizeof(char[sizeof(((struct record *)0)->name) == (size) ? 1 \
											  : -1]))

#define U64(record, name)     MEMBER(SCHEMA_U64, 8, record, name)
#define ID(record, name)      MEMBER(SCHEMA_ID, 8, record, name)
#define ADDR(record, name)    MEMBER(SCHEMA_ADDR, 8, record, name)
#define U32(record, name)     MEMBER(SCHEMA_U32, 4, record, name)
#define INT(record, name)     MEMBER(SCHEMA_INT, 4, record, name)
#define BOOL(record, name)    MEMBER(SCHEMA_BOOL, 1, record, name), .bit = 1
#define REASON(record, name)  MEMBER(SCHEMA_REASON, 1, record, name)
#define STATE(record, name)   MEMBER(SCHEMA_STATE, 1, record, name)
#define TEXT(record, name)    MEMBER(SCHEMA_TEXT, sizeof(char *), record, name)
#define COMMAND(record, name) MEMBER(SCHEMA_COMMAND, sizeof(char **), record, name)
#define FLAG(mask)            MEMBER(SCHEMA_BOOL, 1, trace_event, flags), .bit = (mask)

#define HAS(record, name, mask) \
	.has = true, .has_offset = offsetof(struct record, name), .has_bit = (mask)
#define OMITTED  .absent = SCHEMA_OMITTED
#define OR_NULL  .absent = SCHEMA_NULL
#define ONLY(of) .kinds = 1 << (of)
/* A context has other meanings for some members: trace_context.h. */
#define NOT_CONTEXT      .kinds = ((1 << NR_TRACE_KINDS) - 1 - (1 << TRACE_CONTEXT))
#define NOT_OF(of)       .kinds = ((1 << NR_TRACE_KINDS) - 1 - (1 << (of)))
#define COLUMN(position) .column = (position)
/* With NULL for a value that is 0, although JSON has the 0. */
#define COLUMN_OR_NULL(position) .column = (position), .column_null = true

/* More than the table has rows. */
#define SCHEMA_UNROLL _Pragma("GCC unroll 32")

/*
 * The sidecar has the events that are not transitions, with the fields in this order.  ctf_forms.h
 * has the events of CTF.
 */
static const struct schema_field schema_event_fields[] = {
	{ KEY("ts"), U64(trace_event, ts), COLUMN(2) },
	{ KEY("probe_id"), ID(trace_event, probe_id), COLUMN(1) },
	{ KEY("tid"), U64(trace_event, tid), COLUMN(4) },
	{ MEMBER(SCHEMA_KIND, 1, trace_event, kind), COLUMN(3), .column_name = "kind" },
	{ KEY("addr"), ADDR(trace_event, addr), OMITTED },
	{ KEY("seq"), U64(trace_event, seq), OMITTED, COLUMN(5) },
	{ KEY("station"), U32(trace_event, station), OMITTED, .missing = TRACE_NO_STATION,
	  COLUMN(6) },
	{ KEY("site"), U32(trace_event, site), OMITTED, COLUMN(7) },
	{ KEY("reason"), REASON(trace_event, reason), OMITTED, COLUMN(8) },
	{ KEY("resource"), ID(trace_event, resource), OMITTED,
	  HAS(trace_event, flags, TRACE_HAS_RESOURCE), COLUMN(9) },
	{ KEY("parent"), ID(trace_event, peer), OMITTED, ONLY(TRACE_BIRTH) },
	{ KEY("waker"), ID(trace_event, peer), OMITTED, NOT_OF(TRACE_BIRTH), COLUMN(10),
	  .column_name = "peer" },
	{ KEY("seen"), U32(trace_event, seen), OMITTED, NOT_CONTEXT },
	{ KEY("pid"), U32(trace_event, pid), OMITTED },
	{ KEY("written"), U64(trace_event, written), OMITTED, NOT_CONTEXT },
	{ KEY("lost"), U64(trace_event, lost), OMITTED, NOT_CONTEXT },
	{ KEY("trace_high"), ADDR(trace_event, written), OMITTED, ONLY(TRACE_CONTEXT) },
	{ KEY("trace_low"), ADDR(trace_event, lost), OMITTED, ONLY(TRACE_CONTEXT) },
	{ KEY("span"), ADDR(trace_event, resource), OMITTED, ONLY(TRACE_CONTEXT) },
	{ KEY("trace_flags"), U32(trace_event, seen), OMITTED, ONLY(TRACE_CONTEXT) },
	{ KEY("destroyed"), FLAG(TRACE_DESTROYED), OMITTED },
	{ KEY("was_suspended"), FLAG(TRACE_WAS_SUSPENDED), OMITTED },
	{ KEY("cancelled"), FLAG(TRACE_CANCELLED), OMITTED },
	{ KEY("name"), MEMBER(SCHEMA_NAME, sizeof(char *), trace_event, name), OMITTED },
	{ KEY("name_truncated"), FLAG(TRACE_NAME_CUT), OMITTED },
	{ KEY("adopted"), FLAG(TRACE_ADOPTED), OMITTED },
	{ MEMBER(SCHEMA_FLAGS, 1, trace_event, flags), OMITTED, COLUMN(11),
	  .column_name = "flags" },
};

_Static_assert(NR_TRACE_KINDS <= 16, "schema_field.kinds has a bit for each");

#define SCHEMA_EVENT_FIELDS (sizeof(schema_event_fields) / sizeof(schema_event_fields[0]))

#endif
