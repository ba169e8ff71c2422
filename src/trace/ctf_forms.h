/* SPDX-License-Identifier: MIT */
/*
 * ctf_forms.h - the records of events in CTF: one list for writer, reader and metadata.
 *
 * A form is a list of F(type, name, member): a type of the metadata, the name of the field there,
 * and the member of struct trace_event (of a gap: struct trace_gap) that it holds.  The lists are
 * macros because records are the hot path: ctf_put_NAME() and ctf_get_NAME(), which follow from
 * them, are the code that one would write by hand.
 *
 * A transition takes the shortest form that holds it.  A record without a tid has the tid of its
 * packet; a packet may also hold records of other threads.  A record without a station is not from
 * a station.
 */
#ifndef TRACE_CTF_FORMS_H
#define TRACE_CTF_FORMS_H

#include <string.h>

#include "trace/ctf.h"
#include "trace/item.h"

/* clang-format off */
#define CTF_FORM_plain(F) \
	F(u64, probe_id, probe_id) F(x64, addr, addr) F(u32, seq, seq)
#define CTF_FORM_at(F) CTF_FORM_plain(F) \
	F(u32, site, site) F(reason_t, reason, reason) F(u8, flags, flags) F(u64, resource, resource)
#define CTF_FORM_in(F) CTF_FORM_plain(F) \
	F(u32, tid, tid) F(u32, station, station)
#define CTF_FORM_wake(F) \
	F(u64, probe_id, probe_id) F(u64, waker, peer) F(u32, site, site) F(u32, seen, seen) \
	F(reason_t, reason, reason)
#define CTF_FORM_gap(F) \
	F(u64, from_ts, from_ts) F(u64, to_ts, to_ts) F(u64, transitions, transitions) \
	F(u64, others, others)

/* The others begin with these. */
#define CTF_FORM_head(F) \
	F(u64, probe_id, probe_id) F(u64, tid, tid) F(x64, addr, addr) F(u32, station, station) \
	F(u32, site, site) F(u8, flags, flags)
#define CTF_FORM_full(F) CTF_FORM_head(F) \
	F(u64, seq, seq) F(reason_t, reason, reason) F(u64, resource, resource)
#define CTF_FORM_wake_full(F) CTF_FORM_head(F) \
	F(u64, waker, peer) F(u32, seen, seen) F(reason_t, reason, reason) F(u64, resource, resource)
#define CTF_FORM_birth(F) CTF_FORM_head(F) \
	F(u64, parent, peer) F(u32, pid, pid)
#define CTF_FORM_over(F) CTF_FORM_head(F) \
	F(u64, written, written) F(u64, lost, lost)
#define CTF_FORM_resource(F) CTF_FORM_head(F) \
	F(u64, resource, resource) F(u32, pid, pid)
#define CTF_FORM_context(F) CTF_FORM_head(F) \
	F(x64, trace_high, written) F(x64, trace_low, lost) F(x64, span, resource) \
	F(u32, trace_flags, seen)

/*
 * X(id, name, kind, form, more): events of which the writer chooses one that holds all that the
 * event has.  `more` are fields behind the form.
 */
#define CTF_CHOSEN_EVENTS(X) \
	X(CTF_PLAIN, "suspend", TRACE_SUSPEND, plain, "") \
	X(CTF_PLAIN + 1, "resume", TRACE_RESUME, plain, "") \
	X(CTF_AT, "suspend_at", TRACE_SUSPEND, at, "") \
	X(CTF_AT + 1, "resume_at", TRACE_RESUME, at, "") \
	X(CTF_IN, "suspend_in", TRACE_SUSPEND, in, "") \
	X(CTF_IN + 1, "resume_in", TRACE_RESUME, in, "") \
	X(CTF_FULL, "suspend_full", TRACE_SUSPEND, full, "") \
	X(CTF_FULL + 1, "resume_full", TRACE_RESUME, full, "") \
	X(CTF_WAKE, "wake", TRACE_WAKE, wake, "") \
	X(CTF_WAKE_FULL, "wake_full", TRACE_WAKE, wake_full, "") \
	X(CTF_BIRTH, "birth", TRACE_BIRTH, birth, "") \
	/* Never empty: babeltrace2 shows the name of the previous event for a length of 0. */ \
	X(CTF_BIRTH_NAMED, "birth_named", TRACE_BIRTH, birth, "u16 name_size; utf8 name[name_size]; ")

/*
 * The same for kinds with one event.  A new kind takes an id from CTF_FIRST_SIZED on; the size in
 * front of its record is written and read without further code.
 */
#define CTF_KIND_EVENTS(X) \
	X(CTF_END, "end", TRACE_END, over, "") \
	X(CTF_DESTROY, "destroy", TRACE_DESTROY, over, "") \
	X(CTF_CLOSE, "close", TRACE_CLOSE, resource, "") \
	X(CTF_ACQUIRE, "acquire", TRACE_ACQUIRE, resource, "") \
	X(CTF_RELEASE, "release", TRACE_RELEASE, resource, "") \
	X(CTF_CONTEXT, "context", TRACE_CONTEXT, context, "")
/* clang-format on */

/* ---- what follows from the lists ----------------------------------------- */

typedef uint64_t ctf_u64, ctf_x64;
typedef uint32_t ctf_u32;
typedef uint8_t ctf_u8, ctf_reason_t;

#define CTF_FIELD_SIZE(type, name, member) +sizeof(ctf_##type) // NOLINT(bugprone-macro-parentheses)
#define CTF_FIELD_TEXT(type, name, member) #type " " #name "; "
#define CTF_FIELD_PUT(type, name, member)                                 \
	{                                                                 \
		const ctf_##type value_##name = (ctf_##type)from->member; \
		memcpy(p, &value_##name, sizeof(value_##name));           \
		p += sizeof(value_##name);                                \
	}
#define CTF_FIELD_GET(type, name, member)                       \
	{                                                       \
		ctf_##type value_##name;                        \
		memcpy(&value_##name, p, sizeof(value_##name)); \
		to->member = value_##name;                      \
		p += sizeof(value_##name);                      \
	}

/* Bytes of a form, and its fields in the metadata. */
#define CTF_SIZE_OF(form) ((size_t)0 CTF_FORM_##form(CTF_FIELD_SIZE))
#define CTF_TEXT_OF(form) CTF_FORM_##form(CTF_FIELD_TEXT)

/* Both return the end of the form. */
#define CTF_DEFINE_FORM(form, record)                                                    \
	static inline uint8_t *ctf_put_##form(uint8_t *p, const struct record *from)     \
	{                                                                                \
		CTF_FORM_##form(CTF_FIELD_PUT) return p;                                 \
	}                                                                                \
	static inline const uint8_t *ctf_get_##form(const uint8_t *p, struct record *to) \
	{                                                                                \
		CTF_FORM_##form(CTF_FIELD_GET) return p;                                 \
	}

CTF_DEFINE_FORM(plain, trace_event)
CTF_DEFINE_FORM(at, trace_event)
CTF_DEFINE_FORM(in, trace_event)
CTF_DEFINE_FORM(full, trace_event)
CTF_DEFINE_FORM(wake, trace_event)
CTF_DEFINE_FORM(wake_full, trace_event)
CTF_DEFINE_FORM(birth, trace_event)
CTF_DEFINE_FORM(over, trace_event)
CTF_DEFINE_FORM(resource, trace_event)
CTF_DEFINE_FORM(context, trace_event)
CTF_DEFINE_FORM(gap, trace_gap)

#endif
