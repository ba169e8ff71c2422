/* SPDX-License-Identifier: MIT */
/*
 * ctf.h - corotracer traces in the Common Trace Format 1.8: the layout, byte by byte.
 *
 * A trace is a directory:
 *
 *	metadata   this layout in TSDL, for other tools (ctf_metadata.c)
 *	lane_N     a stream of events: threads that used the lane in turn, N below CTF_LANE_FILES
 *	stations   a stream of events: programs that write no lanes, and lanes beyond CTF_LANE_FILES
 *	stations_late   the same: events that arrived out of order
 *	facts      a stream of facts: run, processes, sites, coroutines
 *	totals     one packet of facts: empty until the run is over, then the totals
 *
 * A stream is a sequence of packets.  A packet is a head (struct ctf_packet) followed by
 * records without padding, little-endian.  A record is a header and a payload:
 *
 *	events   u32 time, u8 id;            then as the id says
 *	facts    u64 time, u8 id, u32 size;  then `size` bytes as the id says
 *
 * The time of an event is the low half of its ts.  The timestamp_begin of the packet and the
 * preceding records give the high half: within a packet times never decrease, and never advance
 * by 2^32 ns or more.
 *
 * Extending the format
 *   The meaning of an id never changes.  New events take ids from CTF_FIRST_SIZED on, and
 *   their payload begins with a u16: the number of bytes that follow it.  New members of a
 *   fact are appended.  A reader of this version can therefore skip what it does not know.
 *   Any other change needs a new CTF_FORMAT.
 */
#ifndef TRACE_CTF_H
#define TRACE_CTF_H

#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "packets are written as they lie in memory, and the metadata says little-endian"
#endif

#define CTF_FORMAT      1
#define CTF_METADATA    "metadata"
#define CTF_FACTS       "facts"
#define CTF_TOTALS      "totals"
#define CTF_STATIONS    "stations"
#define CTF_LATE        "stations_late"
#define CTF_LANE_PREFIX "lane_"
#define CTF_LANE_FILES  256 /* limit of files: a trace of more threads at a time shares streams */
#define CTF_NAME_SIZE   24  /* size of the file name of a stream */

#define CTF_MAGIC       UINT32_C(0xC1FC1FC1)

/* The first two lines of the metadata: the CTF version, and the corotracer format. */
#define CTF_FIRST_LINE  "/* CTF 1.8 */\n"
#define CTF_SECOND_LINE "/* corotracer-ctf "

/* Size of the totals file; it never changes. */
#define CTF_TOTALS_SIZE 1024

enum ctf_stream_id { CTF_STREAM_EVENTS, CTF_STREAM_FACTS, NR_CTF_STREAMS };

/* Packet header and packet context. */
struct ctf_packet {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t timestamp_begin; /* of the first event */
	uint64_t timestamp_end;   /* of the last event */
	uint64_t content_size;    /* in bits, with this head */
	uint64_t packet_size;     /* in bits: content_size and the unused bytes after it */
	uint64_t packet_seq_num;
	uint64_t events_discarded; /* in this stream, since its beginning */
	uint32_t lane;             /* UINT32_MAX: no lane */
	uint32_t pid;
	uint64_t tid;
};

#define CTF_FIELD(field, off, size)                                               \
	_Static_assert(offsetof(struct ctf_packet, field) == (off) &&             \
			       sizeof(((struct ctf_packet *)0)->field) == (size), \
		       "ctf_packet." #field " changed: this is another format")

_Static_assert(sizeof(struct ctf_packet) == 88, "no padding");
CTF_FIELD(magic, 0, 4);
CTF_FIELD(uuid, 4, 16);
CTF_FIELD(stream_id, 20, 4);
CTF_FIELD(timestamp_begin, 24, 8);
CTF_FIELD(timestamp_end, 32, 8);
CTF_FIELD(content_size, 40, 8);
CTF_FIELD(packet_size, 48, 8);
CTF_FIELD(packet_seq_num, 56, 8);
CTF_FIELD(events_discarded, 64, 8);
CTF_FIELD(lane, 72, 4);
CTF_FIELD(pid, 76, 4);
CTF_FIELD(tid, 80, 8);

/*
 * Events.  ctf_forms.h has their payloads.  The two ids of a form of transitions are for suspend
 * and resume.
 */
enum ctf_event_id {
	CTF_PLAIN = 0,
	CTF_AT = 2,
	CTF_IN = 4,
	CTF_FULL = 6,
	CTF_WAKE = 8,
	CTF_WAKE_FULL,
	CTF_BIRTH,
	CTF_BIRTH_NAMED,
	CTF_END,
	CTF_DESTROY,
	CTF_GAP,
	CTF_CLOSE,
	CTF_ACQUIRE,
	CTF_RELEASE,
	CTF_FIRST_SIZED = 32,
	CTF_CONTEXT = CTF_FIRST_SIZED,
	CTF_EVENT_IDS = 64, /* a larger id is unknown */
};

#define CTF_EVENT_HEADER 5
#define CTF_SIZE_SIZE    2 /* of the size in front of the payload, from CTF_FIRST_SIZED on */

/* Facts.  schema.c has their members. */
enum ctf_fact_id {
	CTF_RUN,
	CTF_PROCESS,
	CTF_SITE,
	CTF_COROUTINE,
	CTF_FACT_TOTALS,
	CTF_MODULE,
	CTF_CPU,
	CTF_DESCRIPTOR,
	CTF_SWITCH,
	CTF_WAITING,
	CTF_FRAME,
	CTF_PART,
	CTF_MEMORY,
	NR_CTF_FACTS,
};

#define CTF_FACT_HEADER 13

#endif
