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
 * Events.  A transition takes the shortest form that holds it; the two ids of a form are for
 * suspend and resume.  Payloads:
 *
 *	plain   u64 probe_id, u64 addr, u32 seq
 *	at      the same; u32 site, u8 reason, u8 flags, u64 resource
 *	in      plain; u32 tid, u32 station
 *	wake    u64 probe_id, u64 waker, u32 site, u32 seen, u8 reason
 *	gap     u64 from_ts, u64 to_ts, u64 transitions, u64 others
 *
 * All others begin with u64 probe_id, u64 tid, u64 addr, u32 station, u32 site, u8 flags; then
 *
 *	full          u64 seq, u8 reason, u64 resource
 *	wake_full     u64 waker, u32 seen, u8 reason, u64 resource
 *	birth         u64 parent, u32 pid
 *	birth_named   the same; u16 name_size, and the name, of one byte at least
 *	end, destroy  u64 written, u64 lost
 *	close, acquire, release  u64 resource, u32 pid
 *
 * A record without a tid has the tid of its packet; a packet may also hold records of other
 * threads.  A record without a station is not from a station.
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
	NR_CTF_EVENTS,
	CTF_FIRST_SIZED = 32,
};

#define CTF_EVENT_HEADER 5

/* Sizes of payloads; a named birth without the name. */
#define CTF_PLAIN_SIZE     20
#define CTF_AT_SIZE        (CTF_PLAIN_SIZE + 14)
#define CTF_IN_SIZE        (CTF_PLAIN_SIZE + 8)
#define CTF_HEAD_SIZE      33
#define CTF_FULL_SIZE      (CTF_HEAD_SIZE + 17)
#define CTF_WAKE_SIZE      25
#define CTF_WAKE_FULL_SIZE (CTF_HEAD_SIZE + 21)
#define CTF_BIRTH_SIZE     (CTF_HEAD_SIZE + 12)
#define CTF_NAMED_SIZE     (CTF_BIRTH_SIZE + 2)
#define CTF_END_SIZE       (CTF_HEAD_SIZE + 16)
#define CTF_GAP_SIZE       32
#define CTF_RESOURCE_SIZE  (CTF_HEAD_SIZE + 12)

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
	NR_CTF_FACTS,
};

#define CTF_FACT_HEADER 13

#endif
