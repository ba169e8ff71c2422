/* SPDX-License-Identifier: MIT */
/* perfetto_writer.c - packets of the format of Perfetto, for traces and for recordings. */
#include "export/perfetto_writer.h"

#define SEQUENCE 1 /* there is one writer */

void perfetto_put_text(struct proto *p, uint32_t field, const char *text)
{
	proto_string(p, field, text, strlen(text));
}

void perfetto_put_interned(struct proto *p, uint32_t kind, uint64_t iid, const char *text)
{
	proto_begin(p, kind);
	proto_u64(p, 1, iid);
	perfetto_put_text(p, 2, text);
	proto_end(p);
}

static void perfetto_put_clock(struct proto *p, enum clock clock, uint64_t time)
{
	proto_begin(p, 1);
	proto_u64(p, 1, clock);
	proto_u64(p, 2, time);
	proto_end(p);
}

struct proto *perfetto_begin_trace(struct perfetto_writer *w, enum clock clock, uint64_t start,
				   uint64_t realtime)
{
	struct proto *p = &w->p;

	proto_begin(p, TRACE_PACKET);
	proto_u64(p, PACKET_SEQUENCE_ID, SEQUENCE);
	proto_begin(p, PACKET_CLOCK_SNAPSHOT);
	perfetto_put_clock(p, realtime ? CLOCK_IS_MONOTONIC : clock, start);
	if (realtime)
		perfetto_put_clock(p, CLOCK_IS_REALTIME, realtime);
	proto_u64(p, 2, clock);
	proto_end(p);
	proto_end(p);
	proto_begin(p, TRACE_PACKET);
	proto_u64(p, PACKET_SEQUENCE_ID, SEQUENCE);
	proto_u64(p, PACKET_FLAGS, STATE_CLEARED);
	proto_u64(p, PACKET_FIRST, 1);
	proto_begin(p, PACKET_DEFAULTS);
	proto_u64(p, DEFAULTS_CLOCK, clock);
	proto_end(p);
	return p;
}

struct proto *perfetto_begin_packet(struct perfetto_writer *w)
{
	proto_begin(&w->p, TRACE_PACKET);
	proto_u64(&w->p, PACKET_SEQUENCE_ID, SEQUENCE);
	proto_u64(&w->p, PACKET_FLAGS, NEEDS_STATE);
	return &w->p;
}

void perfetto_end_packet(struct perfetto_writer *w)
{
	proto_end(&w->p);
	if (w->p.used >= OUTFILE_BUFFER / 2)
		perfetto_flush(w);
}

struct proto *perfetto_begin_track(struct perfetto_writer *w, uint64_t id)
{
	struct proto *p = perfetto_begin_packet(w);

	proto_begin(p, PACKET_TRACK_DESCRIPTOR);
	proto_u64(p, DESCRIPTOR_UUID, id);
	return p;
}

void perfetto_end_track(struct perfetto_writer *w)
{
	proto_end(&w->p);
	perfetto_end_packet(w);
}

void perfetto_put_process(struct proto *p, uint64_t pid, const char *name)
{
	proto_begin(p, DESCRIPTOR_PROCESS);
	proto_u64(p, 1, pid);
	perfetto_put_text(p, 6, name);
	proto_end(p);
}

struct proto *perfetto_begin_event(struct perfetto_writer *w, uint64_t track, uint64_t ts,
				   enum event_type type)
{
	struct proto *p = perfetto_begin_packet(w);

	proto_u64(p, PACKET_TIMESTAMP, ts);
	proto_begin(p, PACKET_TRACK_EVENT);
	proto_u64(p, EVENT_TYPE, type);
	proto_u64(p, EVENT_TRACK, track);
	return p;
}

void perfetto_flush(struct perfetto_writer *w)
{
	outfile_put(w->file, w->p.buf, w->p.used);
	w->p.used = 0;
}
