/* SPDX-License-Identifier: MIT */
/*
 * perfetto_writer.h - packets of the format of Perfetto, for traces and for recordings.
 *
 * There is one sequence of packets.  The first packet clears the incremental state and sets the
 * clock; all others depend on it.  Field numbers are those of the published Perfetto schema
 * (base/perfetto.h).
 */
#ifndef EXPORT_PERFETTO_WRITER_H
#define EXPORT_PERFETTO_WRITER_H

#include "base/output_file.h"
#include "base/perfetto.h"
#include "base/proto.h"

struct perfetto_writer {
	struct proto p; /* p.error: no memory */
	struct outfile *file;
};

void perfetto_put_text(struct proto *p, uint32_t field, const char *text);

/* A text and its number, in a message PACKET_INTERNED. */
void perfetto_put_interned(struct proto *p, uint32_t kind, uint64_t iid, const char *text);

/*
 * The start of the trace on @clock, and the time of day if it is known (not 0); then the first
 * packet, which the caller may add to and ends with perfetto_end_packet().
 */
struct proto *perfetto_begin_trace(struct perfetto_writer *w, enum clock clock, uint64_t start,
				   uint64_t realtime);

struct proto *perfetto_begin_packet(struct perfetto_writer *w);
void perfetto_end_packet(struct perfetto_writer *w);

/* Both messages are open: the packet, and the description of a track. */
struct proto *perfetto_begin_track(struct perfetto_writer *w, uint64_t id);
void perfetto_end_track(struct perfetto_writer *w);

void perfetto_put_process(struct proto *p, uint64_t pid, const char *name);

/* Both messages are open: the packet, and the event. */
struct proto *perfetto_begin_event(struct perfetto_writer *w, uint64_t track, uint64_t ts,
				   enum event_type type);

/* Write the rest to the file. */
void perfetto_flush(struct perfetto_writer *w);

#endif
