/* SPDX-License-Identifier: MIT */
/*
 * corotracer/lanes.h - the region after the stations: cTP without the limits of stations.
 *
 * A collector that offers lanes (CTP_EXT_LANES) makes the region's file longer than the stations
 * need.  A program that knows lanes maps the whole file and uses lanes instead of stations.  A
 * program that does not know them maps only the stations and never reads the rest.
 *
 *	lanes    one per writing thread, reused by later threads: every event, in order,
 *	         in chunks
 *	chunks   64 KiB each, the memory of a lane: taken when the last one is full, given back
 *	         by the collector after it has read them
 *	lives    one ctp_life per live coroutine: its identity and its last state
 *	sites    source locations, each registered once
 *
 * Each of the four is a pool of units of one size: a stack of units that were given back, and a
 * tail of units that were never used.  Memory is allocated for the first `committed` units only.
 * A program that needs more allocates it first (fallocate), so that a full disk is an error code
 * and not a SIGBUS.  The collector allocates ahead of demand.
 *
 * The editing rules of ctp.h apply.
 */
#ifndef COROTRACER_LANES_H
#define COROTRACER_LANES_H

#include <corotracer/ctp.h>

#include <corotracer/header_begin.h>

#define CTP_EXT_LANES        0x8u                         /* in ctp_ext_header.features */
#define CTP_EXT_HANDOVER     0x10u                        /* CTP_REC_THREAD is understood */
#define CTP_EXT_CONTEXT      0x20u                        /* CTP_REC_CONTEXT is understood */
#define CTP_LANES_MAGIC      UINT64_C(0x31454e414c505443) /* "CTPLANE1" in memory */
#define CTP_LANES_VERSION    1u
#define CTP_EXT_LANES_OFFSET 0xC0u

/* What a program does when a lane has no room. */
#define CTP_ON_FULL_DROP  0u
#define CTP_ON_FULL_BLOCK 1u /* wait for block_ms at most; then the event is lost */

/* The unit of a lane's ticks. */
#define CTP_TICKS_NS      0u /* CLOCK_MONOTONIC, ns */
#define CTP_TICKS_COUNTER 1u /* the cycle counter: TSC; 32 * cntvct_el0 */

/*
 * A pool.  `free` is tag << 32 | 1 + number of the top unit; the low half is 0 if the stack is
 * empty.
 */
struct ctp_pool {
	uint64_t free;      /* [shared] */
	uint32_t used;      /* [shared] units 0 to used - 1 have been in use */
	uint32_t committed; /* [shared] units with allocated memory */
	uint32_t limit;     /* maximum number of units */
	uint32_t unit;      /* bytes per unit */
	uint64_t offset;    /* file offset of the first unit */
	uint64_t refused;   /* [shared] requests that found no unit */
	uint8_t reserved[24];
} __attribute__((aligned(64)));

struct ctp_ext_lanes {
	uint64_t magic; /* [shared] stored last */
	uint32_t version;
	uint32_t on_full;        /* CTP_ON_FULL_* */
	uint64_t map_size;       /* bytes of the file to map */
	uint32_t lane_chunks;    /* chunks that a lane may hold at a time, read or not */
	uint32_t block_ms;       /* CTP_ON_FULL_BLOCK: maximum wait */
	uint64_t homeless;       /* [shared] lost transitions of threads without a lane */
	uint64_t homeless_marks; /* [shared] other lost events of threads without a lane */
	uint64_t untraced; /* [shared] part of homeless: lost before the program had attached */
	uint64_t later;    /* [shared] coroutines created before the attach and not yet traced */
	uint64_t last_id;  /* [shared] last id that was assigned; ids start at 1 */
	uint8_t reserved1[56];
	struct ctp_pool lanes, chunks, lives, sites;
} __attribute__((aligned(64)));

/* ---- lanes and their records ------------------------------------------------ */

#define CTP_LANE_FREE   0u
#define CTP_LANE_OPEN   1u
#define CTP_LANE_CLOSED 2u /* thread has ended: the collector drains it and gives it back */

struct ctp_lane {
	/* The writer's cache line. */
	uint32_t link;          /* [shared] used by the pool */
	uint32_t state;         /* [shared] CTP_LANE_* */
	uint64_t head;          /* [shared] bytes of records written since the lane was opened */
	uint64_t dropped;       /* [shared] transitions lost because the lane was full */
	uint64_t dropped_at;    /* [shared] ticks at the start of the current gap; 0: no gap */
	uint64_t dropped_marks; /* [shared] other events lost because the lane was full */
	uint64_t blocked_ns;    /* [shared] total time that its thread waited for room */
	uint32_t blocked;       /* [shared] number of these waits */
	uint32_t taken;         /* [shared] chunks taken since the lane was opened */
	uint64_t last_ticks;    /* [shared] time of the last record; the next is not earlier */
	/* The owner, and the fields that the collector writes. */
	uint64_t tid; /* thread that opened the lane */
	uint32_t pid;
	uint32_t first;    /* 1 + number of its first chunk */
	uint32_t ticks;    /* CTP_TICKS_* */
	uint32_t returned; /* [shared] chunks that the collector gave back */
	uint64_t tail;     /* [shared] as head: bytes that the collector has read */
	uint64_t oldest;   /* [shared] 1 + number of the oldest chunk not given back */
	uint8_t reserved1[24];
} __attribute__((aligned(64)));

/* Kinds of records.  0 is not a kind. */
#define CTP_REC_SUSPEND 1u
#define CTP_REC_RESUME  2u
#define CTP_REC_BIRTH                                                                      \
	3u                   /* value: parent; seq: bytes of the name that follow as text; \
				reason: CTP_BIRTH_* */
#define CTP_REC_WAKE     4u  /* id: coroutine woken; value: waker; seq: transitions of id so far */
#define CTP_REC_END      5u  /* value: number of transitions; reason: CTP_END_* */
#define CTP_REC_DESTROY  6u  /* as CTP_REC_END */
#define CTP_REC_GAP      7u  /* lost since ticks: value: transitions; id: other events */
#define CTP_REC_PAD      8u  /* the rest of the chunk is empty */
#define CTP_REC_MORE     9u  /* part of the record before it: struct ctp_record_more */
#define CTP_REC_TEXT     10u /* part of the record before it: struct ctp_record_text */
#define CTP_REC_CLOSE    11u /* value: what is closed; id: coroutine that closes it, or 0 */
#define CTP_REC_ACQUIRE  12u /* value: lock; id: coroutine that holds it from now on */
#define CTP_REC_RELEASE  13u /* value: lock; id: coroutine that held it */
#define CTP_REC_THREAD   14u /* value: tid of the thread that writes the records after this one */
#define CTP_REC_CONTEXT  15u /* value: span id; seq: trace flags; see struct ctp_record_more */
#define CTP_REC_KINDS    16u

#define CTP_REC_HAS_MORE 0x80u /* with a kind: a CTP_REC_MORE follows */

/* Why a coroutine waits, or what caused a wake.  Traces contain the names of these reasons. */
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

#define CTP_BIRTH_NAME_CUT      1u /* the name is longer than its text */
#define CTP_BIRTH_ADOPTED       2u /* the coroutine was created before the program attached */

#define CTP_END_DESTROYED       1u /* the frame was destroyed at the same time */
#define CTP_END_SUSPENDED       2u /* the coroutine was suspended */
#define CTP_END_CANCELLED       4u /* the coroutine did not run to completion */

/*
 * A CTP_REC_RELEASE whose value has one of these in its upper half is not about a lock: id is
 * suspended, was not woken since its last resume, and no waker of it exists any more.  Lower half:
 * transitions of id so far.
 */
#define CTP_WAKERS_DROPPED       0x57414b45u
#define CTP_WAKERS_DROPPED_INNER 0x57414b49u /* id was polled inside another traced coroutine */

struct ctp_record {
	uint64_t ticks;
	uint64_t id;    /* coroutine */
	uint64_t value; /* transition: addr; other kinds: see CTP_REC_* */
	uint32_t seq;   /* transition: its number, from 0, modulo 2^32 */
	uint16_t site;  /* 0: unknown */
	uint8_t kind;   /* CTP_REC_* */
	uint8_t reason; /* CTP_REASON_* */
};

/*
 * A CTP_REC_CONTEXT always has one, with the halves of a trace id: from now on the coroutine works
 * for that span of the user (W3C Trace Context), or for none if all is 0.  It is written only for a
 * collector with CTP_EXT_CONTEXT.
 */
struct ctp_record_more {
	uint64_t resource; /* suspend: what the coroutine waits for; wake: its cause */
	uint64_t lost;     /* end: lost transitions of this coroutine */
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
	uint32_t link; /* [shared] used by the pool; in a lane, 1 + number of the next chunk */
	uint32_t lane;
	/*
	 * The thread of the first record, if pid equals the lane's pid and nr is the chunk's
	 * number; otherwise the lane's tid applies.
	 */
	uint64_t tid;
	uint32_t pid;
	uint32_t nr; /* position of this chunk in the lane, from 1 */
	uint8_t reserved[8];
	struct ctp_record records[CTP_CHUNK_RECORDS];
};

/* ---- lives ------------------------------------------------------------------ */

#define CTP_LIFE_NAME_SIZE 32u

struct ctp_life {
	/* Written at every event by the thread that runs the coroutine. */
	uint32_t link;       /* [shared] used by the pool */
	uint32_t state;      /* [shared] CTP_LIFE_STATE(); 0: unused */
	uint64_t id;         /* [shared] of the coroutine; 0: unused */
	uint64_t events;     /* [shared] transitions, including lost ones */
	uint64_t last_ticks; /* [shared] time of the last event */
	uint64_t addr;       /* [shared] of the last suspend */
	uint64_t resource;   /* [shared] what the coroutine last waited for */
	uint64_t dropped;    /* [shared] lost transitions */
	uint32_t site;       /* [shared] of the last suspend */
	uint32_t birth_site;
	/* Written once, when the coroutine is created. */
	uint64_t birth_ticks;
	uint64_t parent; /* 0: unknown */
	uint32_t pid;
	uint32_t name_size;               /* length of the whole name */
	uint32_t ticks;                   /* CTP_TICKS_* */
	uint32_t birth;                   /* CTP_BIRTH_* */
	uint8_t name[CTP_LIFE_NAME_SIZE]; /* the first bytes of the name; not terminated */
} __attribute__((aligned(64)));

/* One word: CTP_REC_* of the last event (with CTP_REC_HAS_MORE), reason, CTP_LIFE_* flags. */
#define CTP_LIFE_STATE(kind, reason, flags) \
	((uint32_t)(kind) | (uint32_t)(reason) << 8 | (uint32_t)(flags) << 16)

#define CTP_LIFE_UNREPORTED 1u /* ended, but the end record was lost: freed by the collector */

/* ---- sites ------------------------------------------------------------------ */

#define CTP_SITE_FILE_SIZE     144u
#define CTP_SITE_FUNCTION_SIZE 96u

/* A name that is too long is stored without its beginning: its end is more specific. */
struct ctp_site {
	uint32_t link;
	uint32_t ready; /* [shared] 1 once the other fields are valid */
	uint32_t line;
	uint32_t pid;
	uint8_t file[CTP_SITE_FILE_SIZE]; /* terminated with 0 if shorter */
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
CTP_FIELD(ctp_lane, last_ticks, 0x38, 8);
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
CTP_FIELD(ctp_life, birth, 0x5C, 4);
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

#include <corotracer/header_end.h>

#endif
