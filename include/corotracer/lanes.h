/* SPDX-License-Identifier: MIT */
/*
 * corotracer/lanes.h - what lies behind the stations: cTP without its two limits.
 *
 * A collector that offers lanes (CTP_EXT_LANES) makes the region's file longer than
 * the stations need.  A program that knows them maps all of it and uses these instead
 * of stations; one that does not maps what it always did, and never sees them.
 *
 *	lanes    one per thread that writes, one thread after another: every event, in
 *	         order, in chunks
 *	chunks   64 KiB each, a lane's memory: taken when one is full, given back when read
 *	lives    one per coroutine alive: who it is, and its last state
 *	sites    places in the source, told once
 *
 * Each of the four is a pool of equal units: a stack of those given back, and an end
 * that nobody has used.  Memory is there for `committed` of them and no more: whoever
 * needs another asks the kernel for it first (fallocate), so a full disk is an answer
 * and not a SIGBUS.  The collector does so ahead of time.
 *
 * The rules for editing are those of ctp.h.
 */
#ifndef COROTRACER_LANES_H
#define COROTRACER_LANES_H

#include <corotracer/ctp.h>

#define CTP_EXT_LANES        0x8u                         /* in ctp_ext_header.features */
#define CTP_EXT_HANDOVER     0x10u                        /* CTP_REC_THREAD is understood */
#define CTP_LANES_MAGIC      UINT64_C(0x31454e414c505443) /* "CTPLANE1" in memory */
#define CTP_LANES_VERSION    1u
#define CTP_EXT_LANES_OFFSET 0xC0u

/* What a program does when a lane can take no more. */
#define CTP_ON_FULL_DROP  0u
#define CTP_ON_FULL_BLOCK 1u /* wait, but not for ever; then drop */

/* What a lane's ticks are. */
#define CTP_TICKS_NS      0u /* CLOCK_MONOTONIC, ns */
#define CTP_TICKS_COUNTER 1u /* the cycle counter: TSC; 32 * cntvct_el0 */

/* A pool: `free` is tag << 32 | 1 + number of the unit on top, its low half 0 for none. */
struct ctp_pool {
	uint64_t free;      /* [shared] */
	uint32_t used;      /* [shared] units that were ever in use: those before it */
	uint32_t committed; /* [shared] units that there is memory for */
	uint32_t limit;     /* there are never more */
	uint32_t unit;      /* bytes of one */
	uint64_t offset;    /* of the first, in the file */
	uint64_t refused;   /* [shared] so often there was none to be had */
	uint8_t reserved[24];
} __attribute__((aligned(64)));

struct ctp_ext_lanes {
	uint64_t magic; /* [shared] stored last */
	uint32_t version;
	uint32_t on_full;        /* CTP_ON_FULL_* */
	uint64_t map_size;       /* bytes of the file that a program maps */
	uint32_t lane_chunks;    /* a lane has no more of them at a time, read or not */
	uint32_t block_ms;       /* CTP_ON_FULL_BLOCK: wait so long at most */
	uint64_t homeless;       /* [shared] transitions of threads that found no lane, */
	uint64_t homeless_marks; /* [shared] and other events of theirs */
	uint64_t untraced; /* [shared] of homeless: written before the program had joined us */
	uint64_t later;    /* [shared] coroutines begun by then, less those traced since */
	uint64_t last_id;  /* [shared] the id that was given out last, from 1 */
	uint8_t reserved1[56];
	struct ctp_pool lanes, chunks, lives, sites;
} __attribute__((aligned(64)));

/* ---- lanes and their records ------------------------------------------------ */

#define CTP_LANE_FREE   0u
#define CTP_LANE_OPEN   1u
#define CTP_LANE_CLOSED 2u /* its thread is gone: the collector drains it and gives it back */

struct ctp_lane {
	/* The writer's line. */
	uint32_t link;          /* [shared] the pool's */
	uint32_t state;         /* [shared] CTP_LANE_* */
	uint64_t head;          /* [shared] bytes of records written since it was opened */
	uint64_t dropped;       /* [shared] transitions that found it full */
	uint64_t dropped_at;    /* [shared] when that began, if it has not ended: ticks */
	uint64_t dropped_marks; /* [shared] other events likewise */
	uint64_t blocked_ns;    /* [shared] its thread waited so long for room, */
	uint32_t blocked;       /* [shared] so often */
	uint32_t taken;         /* [shared] chunks taken since it was opened */
	uint64_t reserved0;
	/* Whose it is, and what the collector says. */
	uint64_t tid; /* of the thread that opened it */
	uint32_t pid;
	uint32_t first;    /* 1 + number of its first chunk */
	uint32_t ticks;    /* CTP_TICKS_* */
	uint32_t returned; /* [shared] chunks that the collector gave back */
	uint64_t tail;     /* [shared] as head: what the collector has read */
	uint64_t oldest;   /* [shared] 1 + number of the oldest chunk not given back */
	uint8_t reserved1[24];
} __attribute__((aligned(64)));

/* Kinds of records.  0 is none. */
#define CTP_REC_SUSPEND  1u
#define CTP_REC_RESUME   2u
#define CTP_REC_BIRTH    3u  /* value: the parent; seq: bytes of the name that follow as text */
#define CTP_REC_WAKE     4u  /* id: who is woken; value: the waker; seq: events of it as seen */
#define CTP_REC_END      5u  /* value: transitions in all; reason: CTP_END_* */
#define CTP_REC_DESTROY  6u  /* the same */
#define CTP_REC_GAP      7u  /* value: transitions dropped, id: other events, since ticks */
#define CTP_REC_PAD      8u  /* the rest of the chunk is empty */
#define CTP_REC_MORE     9u  /* belongs to the record before it: struct ctp_record_more */
#define CTP_REC_TEXT     10u /* likewise: struct ctp_record_text */
#define CTP_REC_CLOSE    11u /* value: what was closed; id: the coroutine that did it, or 0 */
#define CTP_REC_ACQUIRE  12u /* value: the lock; id: who holds it now */
#define CTP_REC_RELEASE  13u /* value: the lock; id: who held it */
#define CTP_REC_THREAD   14u /* value: from here on the records are of this thread */
#define CTP_REC_KINDS    15u

#define CTP_REC_HAS_MORE 0x80u /* with a kind: a CTP_REC_MORE follows */

/* Why a coroutine waits, or where a wake came from.  The same in traces, by name. */
#define CTP_REASON_UNKNOWN      0u
#define CTP_REASON_IO_READ      1u
#define CTP_REASON_IO_WRITE     2u
#define CTP_REASON_ACCEPT       3u
#define CTP_REASON_CONNECT      4u
#define CTP_REASON_TIMER        5u
#define CTP_REASON_MUTEX        6u
#define CTP_REASON_SEMAPHORE    7u
#define CTP_REASON_CHANNEL_SEND 8u
#define CTP_REASON_CHANNEL_RECV 9u
#define CTP_REASON_JOIN         10u
#define CTP_REASON_YIELD        11u
#define CTP_REASON_SIGNAL       12u
#define CTP_REASON_USER         13u
#define CTP_REASONS             14u

#define CTP_END_DESTROYED       1u /* the frame went with it */
#define CTP_END_SUSPENDED       2u /* it was suspended */
#define CTP_END_CANCELLED       4u /* it did not come to its own end */

struct ctp_record {
	uint64_t ticks;
	uint64_t id;    /* of the coroutine */
	uint64_t value; /* of a transition: addr */
	uint32_t seq;   /* of a transition: its number, from 0, modulo 2^32 */
	uint16_t site;  /* 0: not told */
	uint8_t kind;   /* CTP_REC_* */
	uint8_t reason; /* CTP_REASON_* */
};

struct ctp_record_more {
	uint64_t resource; /* of a suspend or wake */
	uint64_t lost;     /* of an end: transitions of this coroutine that were dropped */
	uint64_t reserved0;
	uint32_t reserved1;
	uint16_t reserved2;
	uint8_t kind; /* CTP_REC_MORE */
	uint8_t reserved3;
};

#define CTP_TEXT_SIZE 24u

struct ctp_record_text {
	uint8_t text[CTP_TEXT_SIZE];
	uint32_t reserved0;
	uint16_t reserved1;
	uint8_t kind; /* CTP_REC_TEXT */
	uint8_t reserved2;
};

/* A record has 16 bits for a site. */
#define CTP_MAX_SITES     65535u

#define CTP_CHUNK_SIZE    65536u
#define CTP_CHUNK_RECORDS 2047u

struct ctp_chunk {
	uint32_t link; /* [shared] the pool's; in a lane, 1 + number of the next */
	uint32_t lane;
	/* Whose the first record is, if pid is the lane's and nr is right; else as the lane says.
	 */
	uint64_t tid;
	uint32_t pid;
	uint32_t nr; /* of this chunk, from 1, among those the lane has had */
	uint8_t reserved[8];
	struct ctp_record records[CTP_CHUNK_RECORDS];
};

/* ---- lives ------------------------------------------------------------------ */

#define CTP_LIFE_NAME_SIZE 32u

struct ctp_life {
	/* Touched at every event, by whoever runs the coroutine. */
	uint32_t link;       /* [shared] the pool's */
	uint32_t state;      /* [shared] CTP_LIFE_STATE(); 0: nobody lives here */
	uint64_t id;         /* [shared] 0: nobody lives here */
	uint64_t events;     /* [shared] transitions, dropped ones too */
	uint64_t last_ticks; /* [shared] of its last event */
	uint64_t addr;       /* [shared] where it last suspended */
	uint64_t resource;   /* [shared] what on */
	uint64_t dropped;    /* [shared] transitions that found no room */
	uint32_t site;       /* [shared] where it last suspended */
	uint32_t birth_site;
	/* Filled at birth. */
	uint64_t birth_ticks;
	uint64_t parent; /* 0: none told */
	uint32_t pid;
	uint32_t name_size; /* bytes the name had */
	uint32_t ticks;     /* CTP_TICKS_* */
	uint32_t reserved;
	uint8_t name[CTP_LIFE_NAME_SIZE]; /* its first; not terminated */
} __attribute__((aligned(64)));

/* In one word: CTP_REC_* of its last event (with CTP_REC_HAS_MORE), reason, CTP_LIFE_*. */
#define CTP_LIFE_STATE(kind, reason, flags) \
	((uint32_t)(kind) | (uint32_t)(reason) << 8 | (uint32_t)(flags) << 16)

#define CTP_LIFE_UNREPORTED 1u /* over, but its end found no room: the collector buries it */

/* ---- sites ------------------------------------------------------------------ */

#define CTP_SITE_FILE_SIZE     144u
#define CTP_SITE_FUNCTION_SIZE 96u

/* Of a name that is too long the end is kept: it says more. */
struct ctp_site {
	uint32_t link;
	uint32_t ready; /* [shared] 1 once the rest is there */
	uint32_t line;
	uint32_t pid;
	uint8_t file[CTP_SITE_FILE_SIZE]; /* terminated if shorter */
	uint8_t function[CTP_SITE_FUNCTION_SIZE];
};

CTP_SIZE(ctp_pool, 64);
CTP_FIELD(ctp_pool, free, 0x00, 8);
CTP_FIELD(ctp_pool, used, 0x08, 4);
CTP_FIELD(ctp_pool, committed, 0x0C, 4);
CTP_FIELD(ctp_pool, limit, 0x10, 4);
CTP_FIELD(ctp_pool, unit, 0x14, 4);
CTP_FIELD(ctp_pool, offset, 0x18, 8);
CTP_FIELD(ctp_pool, refused, 0x20, 8);
CTP_FIELD(ctp_pool, reserved, 0x28, 24);

CTP_SIZE(ctp_ext_lanes, 384);
CTP_STATIC_ASSERT(CTP_EXT_LANES_OFFSET >= CTP_EXT_HEADER_OFFSET + sizeof(struct ctp_ext_header) &&
			  CTP_EXT_LANES_OFFSET + sizeof(struct ctp_ext_lanes) <=
				  sizeof(struct ctp_header),
		  "the extensions do not fit the header");
CTP_FIELD(ctp_ext_lanes, magic, 0x00, 8);
CTP_FIELD(ctp_ext_lanes, version, 0x08, 4);
CTP_FIELD(ctp_ext_lanes, on_full, 0x0C, 4);
CTP_FIELD(ctp_ext_lanes, map_size, 0x10, 8);
CTP_FIELD(ctp_ext_lanes, lane_chunks, 0x18, 4);
CTP_FIELD(ctp_ext_lanes, block_ms, 0x1C, 4);
CTP_FIELD(ctp_ext_lanes, homeless, 0x20, 8);
CTP_FIELD(ctp_ext_lanes, homeless_marks, 0x28, 8);
CTP_FIELD(ctp_ext_lanes, untraced, 0x30, 8);
CTP_FIELD(ctp_ext_lanes, later, 0x38, 8);
CTP_FIELD(ctp_ext_lanes, last_id, 0x40, 8);
CTP_FIELD(ctp_ext_lanes, reserved1, 0x48, 56);
CTP_FIELD(ctp_ext_lanes, lanes, 0x80, 64);
CTP_FIELD(ctp_ext_lanes, chunks, 0xC0, 64);
CTP_FIELD(ctp_ext_lanes, lives, 0x100, 64);
CTP_FIELD(ctp_ext_lanes, sites, 0x140, 64);

CTP_SIZE(ctp_lane, 128);
CTP_FIELD(ctp_lane, link, 0x00, 4);
CTP_FIELD(ctp_lane, state, 0x04, 4);
CTP_FIELD(ctp_lane, head, 0x08, 8);
CTP_FIELD(ctp_lane, dropped, 0x10, 8);
CTP_FIELD(ctp_lane, dropped_at, 0x18, 8);
CTP_FIELD(ctp_lane, dropped_marks, 0x20, 8);
CTP_FIELD(ctp_lane, blocked_ns, 0x28, 8);
CTP_FIELD(ctp_lane, blocked, 0x30, 4);
CTP_FIELD(ctp_lane, taken, 0x34, 4);
CTP_FIELD(ctp_lane, reserved0, 0x38, 8);
CTP_FIELD(ctp_lane, tid, 0x40, 8);
CTP_FIELD(ctp_lane, pid, 0x48, 4);
CTP_FIELD(ctp_lane, first, 0x4C, 4);
CTP_FIELD(ctp_lane, ticks, 0x50, 4);
CTP_FIELD(ctp_lane, returned, 0x54, 4);
CTP_FIELD(ctp_lane, tail, 0x58, 8);
CTP_FIELD(ctp_lane, oldest, 0x60, 8);
CTP_FIELD(ctp_lane, reserved1, 0x68, 24);

CTP_SIZE(ctp_record, 32);
CTP_FIELD(ctp_record, ticks, 0x00, 8);
CTP_FIELD(ctp_record, id, 0x08, 8);
CTP_FIELD(ctp_record, value, 0x10, 8);
CTP_FIELD(ctp_record, seq, 0x18, 4);
CTP_FIELD(ctp_record, site, 0x1C, 2);
CTP_FIELD(ctp_record, kind, 0x1E, 1);
CTP_FIELD(ctp_record, reason, 0x1F, 1);

CTP_SIZE(ctp_record_more, 32);
CTP_FIELD(ctp_record_more, resource, 0x00, 8);
CTP_FIELD(ctp_record_more, lost, 0x08, 8);
CTP_FIELD(ctp_record_more, reserved0, 0x10, 8);
CTP_FIELD(ctp_record_more, reserved1, 0x18, 4);
CTP_FIELD(ctp_record_more, reserved2, 0x1C, 2);
CTP_FIELD(ctp_record_more, kind, 0x1E, 1);
CTP_FIELD(ctp_record_more, reserved3, 0x1F, 1);

CTP_SIZE(ctp_record_text, 32);
CTP_FIELD(ctp_record_text, text, 0x00, CTP_TEXT_SIZE);
CTP_FIELD(ctp_record_text, reserved0, 0x18, 4);
CTP_FIELD(ctp_record_text, reserved1, 0x1C, 2);
CTP_FIELD(ctp_record_text, kind, 0x1E, 1);
CTP_FIELD(ctp_record_text, reserved2, 0x1F, 1);

CTP_SIZE(ctp_chunk, CTP_CHUNK_SIZE);
CTP_FIELD(ctp_chunk, link, 0x00, 4);
CTP_FIELD(ctp_chunk, lane, 0x04, 4);
CTP_FIELD(ctp_chunk, tid, 0x08, 8);
CTP_FIELD(ctp_chunk, pid, 0x10, 4);
CTP_FIELD(ctp_chunk, nr, 0x14, 4);
CTP_FIELD(ctp_chunk, reserved, 0x18, 8);
CTP_FIELD(ctp_chunk, records, 0x20, UINT64_C(32) * CTP_CHUNK_RECORDS);

CTP_SIZE(ctp_life, 128);
CTP_FIELD(ctp_life, link, 0x00, 4);
CTP_FIELD(ctp_life, state, 0x04, 4);
CTP_FIELD(ctp_life, id, 0x08, 8);
CTP_FIELD(ctp_life, events, 0x10, 8);
CTP_FIELD(ctp_life, last_ticks, 0x18, 8);
CTP_FIELD(ctp_life, addr, 0x20, 8);
CTP_FIELD(ctp_life, resource, 0x28, 8);
CTP_FIELD(ctp_life, dropped, 0x30, 8);
CTP_FIELD(ctp_life, site, 0x38, 4);
CTP_FIELD(ctp_life, birth_site, 0x3C, 4);
CTP_FIELD(ctp_life, birth_ticks, 0x40, 8);
CTP_FIELD(ctp_life, parent, 0x48, 8);
CTP_FIELD(ctp_life, pid, 0x50, 4);
CTP_FIELD(ctp_life, name_size, 0x54, 4);
CTP_FIELD(ctp_life, ticks, 0x58, 4);
CTP_FIELD(ctp_life, reserved, 0x5C, 4);
CTP_FIELD(ctp_life, name, 0x60, CTP_LIFE_NAME_SIZE);

CTP_SIZE(ctp_site, 256);
CTP_FIELD(ctp_site, link, 0x00, 4);
CTP_FIELD(ctp_site, ready, 0x04, 4);
CTP_FIELD(ctp_site, line, 0x08, 4);
CTP_FIELD(ctp_site, pid, 0x0C, 4);
CTP_FIELD(ctp_site, file, 0x10, CTP_SITE_FILE_SIZE);
CTP_FIELD(ctp_site, function, 0xA0, CTP_SITE_FUNCTION_SIZE);

static inline struct ctp_ext_lanes *ctp_header_lanes(struct ctp_header *h)
{
	return (struct ctp_ext_lanes *)(void *)((char *)h + CTP_EXT_LANES_OFFSET);
}

#endif
