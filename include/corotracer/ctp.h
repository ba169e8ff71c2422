/* SPDX-License-Identifier: MIT */
/*
 * corotracer/ctp.h - cTP, the coroTracer protocol: the layout of the shared region.
 *
 *	0x000   struct ctp_header    1024 bytes
 *	0x400   struct ctp_station   1024 bytes, one per coroutine
 *	0x800   struct ctp_station   ...
 *
 * The collector creates the region and fills the header.  A program maps the region, claims a
 * station per coroutine and writes each transition into the station's eight slots, in turn.  The
 * collector reads.  docs/ctp.md is the specification.
 *
 * Rules for editing this file
 *   - only fixed-width integers; no pointers, bool, enum, size_t or bitfields
 *   - a field never moves and never changes its meaning; new fields use reserved
 *     space, which writers set to zero and readers ignore
 *   - an extension has its own magic and works when the other side does not know
 *     it; the struct that carries it is named ctp_ext_*
 *   - fields marked [shared] are written by one process while another reads them:
 *     access them only through corotracer/atomic.h
 *   - tests/abi/v1.txt holds the layout as text; C, C++ and every other language
 *     print their layout, and the tests compare it to this file
 */
#ifndef COROTRACER_CTP_H
#define COROTRACER_CTP_H

#include <stddef.h>
#include <stdint.h>

#include <corotracer/header_begin.h>

#ifdef __cplusplus
#define CTP_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define CTP_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

#define CTP_MAGIC   UINT64_C(0x434F524F54524352) /* "COROTRCR", big end first */
#define CTP_VERSION 1u
#define CTP_SLOTS   8u

/* Existing SDKs compute 1024 + n * 1024 in 31 bits; a larger limit overflows there. */
#define CTP_MAX_STATIONS 2097150u

/* Environment variables through which a program finds its collector. */
#define CTP_ENV_SHM      "CTP_SHM_PATH"
#define CTP_ENV_SOCK     "CTP_SOCK_PATH"
#define CTP_ENV_STATIONS "CTP_MAX_STATIONS"
#define CTP_ENV_VERBOSE  "CTP_VERBOSE" /* extension: print why the program is untraced */

/* The byte that wakes a sleeping collector. */
#define CTP_WAKE_BYTE '1'

/* Written by the collector before the program starts, except for the two [shared] fields. */
struct ctp_header {
	uint64_t magic_number;
	uint32_t version;
	uint32_t max_stations;
	uint32_t allocated_count; /* [shared] claims so far; counts on past max_stations */
	uint32_t tracer_sleeping; /* [shared] 1: send CTP_WAKE_BYTE after the next event */
	uint8_t reserved[1000];   /* extensions start at CTP_EXT_HEADER_OFFSET */
} __attribute__((aligned(64)));

/* One transition.  Written by the thread that runs the coroutine; slot.h has the order. */
struct ctp_epoch {
	uint64_t timestamp; /* [shared] CLOCK_MONOTONIC, ns */
	uint64_t tid;       /* [shared] the kernel's thread id, or of thread_id.h */
	uint64_t addr;      /* [shared] where the coroutine suspended; 0 on a resume */
	uint64_t seq;       /* [shared] odd while being written */
	uint8_t reserved[31];
	uint8_t is_active; /* [shared] 1: the coroutine runs; 0: it is suspended */
} __attribute__((aligned(64)));

/* One coroutine.  A station is never reused within a run. */
struct ctp_station {
	uint64_t probe_id; /* [shared] */
	uint64_t birth_ts; /* [shared] CLOCK_MONOTONIC, ns */
	uint8_t is_dead;   /* [shared] 1 once the coroutine is destroyed */
	uint8_t pad[47];
	struct ctp_epoch slots[CTP_SLOTS];
	uint8_t flexible[448]; /* extension: struct ctp_ext_station */
} __attribute__((aligned(64)));

/*
 * Extensions.  A collector that offers them stores CTP_EXT_MAGIC.  A program that does not know the
 * extensions never reads it.  A program that knows them and does not find the magic uses the plain
 * protocol.
 */
#define CTP_EXT_MAGIC         UINT64_C(0x3130545845505443) /* "CTPEXT01" in memory */
#define CTP_EXT_VERSION       1u
#define CTP_EXT_HEADER_OFFSET 0x40u

#define CTP_EXT_SLEEPING      0x1u /* ctp_ext_header.sleeping is valid, too */
#define CTP_EXT_MEMBARRIER    0x2u /* membarrier(2) before sleep: no fence if registered */
#define CTP_EXT_CLOCK         0x4u /* the clock_* fields are updated while the collector is awake */

/* Values of ctp_ext_header.detach: the program detaches at its next event (request.h). */
#define CTP_DETACH_ASKED 1u /* and leaves the region to the collector, which reads the rest */
#define CTP_DETACH_GONE  2u /* and frees its mapping: the collector has ended */

struct ctp_ext_header {
	uint64_t magic; /* [shared] stored last */
	uint32_t version;
	uint32_t features; /* CTP_EXT_*; unknown bits are ignored */
	uint32_t collector_pid;
	uint8_t reserved0[44];
	/* On a separate cache line: a claim of a station dirties the line of tracer_sleeping. */
	uint32_t sleeping; /* [shared] as tracer_sleeping, for programs that know extensions */
	uint32_t detach; /* [shared] CTP_DETACH_*: set while `sleeping` is, for sessions by request
			  */
	/*
	 * CLOCK_MONOTONIC as a function of the cycle counter, so that a program needs no
	 * clock_gettime().  The fields share the cache line of `sleeping`, which every event reads
	 * anyway.  Protected by a seqlock like that of a slot.
	 */
	uint64_t clock_seq;    /* [shared] odd while being written */
	uint64_t clock_ticks;  /* [shared] the counter at the time clock_ns */
	uint64_t clock_ns;     /* [shared] CLOCK_MONOTONIC, ns */
	uint64_t clock_mult;   /* [shared] ns = clock_ns + ((ticks - clock_ticks) * mult >> 32) */
	uint64_t clock_window; /* [shared] valid for this number of ticks */
	uint8_t reserved2[16];
} __attribute__((aligned(64)));

/* The extension after the slots of a station, written by a program that knows extensions. */
#define CTP_EXT_NAME_SIZE 408u

struct ctp_ext_station {
	uint64_t magic; /* [shared] stored last */
	uint32_t version;
	uint32_t pid;       /* process that claimed the station */
	uint64_t death_ts;  /* [shared] valid once is_dead is 1 */
	uint32_t name_size; /* length of the name; at most CTP_EXT_NAME_SIZE bytes are stored */
	uint32_t reserved0;
	uint64_t reserved1;
	uint8_t name[CTP_EXT_NAME_SIZE]; /* UTF-8, not terminated */
};

#define CTP_SIZE(type, size)                             \
	CTP_STATIC_ASSERT(sizeof(struct type) == (size), \
			  "size of " #type " changed: this breaks every program in the field")
#define CTP_FIELD(type, field, off, size)                                      \
	CTP_STATIC_ASSERT(offsetof(struct type, field) == (off) &&             \
				  sizeof(((struct type *)0)->field) == (size), \
			  #type "." #field " changed: this breaks every program in the field")

CTP_SIZE(ctp_header, 1024);
CTP_FIELD(ctp_header, magic_number, 0x00, 8);
CTP_FIELD(ctp_header, version, 0x08, 4);
CTP_FIELD(ctp_header, max_stations, 0x0C, 4);
CTP_FIELD(ctp_header, allocated_count, 0x10, 4);
CTP_FIELD(ctp_header, tracer_sleeping, 0x14, 4);
CTP_FIELD(ctp_header, reserved, 0x18, 1000);

CTP_SIZE(ctp_epoch, 64); /* one cache line: two slots never share a line */
CTP_FIELD(ctp_epoch, timestamp, 0x00, 8);
CTP_FIELD(ctp_epoch, tid, 0x08, 8);
CTP_FIELD(ctp_epoch, addr, 0x10, 8);
CTP_FIELD(ctp_epoch, seq, 0x18, 8);
CTP_FIELD(ctp_epoch, reserved, 0x20, 31);
CTP_FIELD(ctp_epoch, is_active, 0x3F, 1);

CTP_SIZE(ctp_station, 1024);
CTP_FIELD(ctp_station, probe_id, 0x000, 8);
CTP_FIELD(ctp_station, birth_ts, 0x008, 8);
CTP_FIELD(ctp_station, is_dead, 0x010, 1);
CTP_FIELD(ctp_station, pad, 0x011, 47);
CTP_FIELD(ctp_station, slots, 0x040, 512);
CTP_FIELD(ctp_station, flexible, 0x240, 448);

CTP_SIZE(ctp_ext_header, 128);
CTP_FIELD(ctp_ext_header, magic, 0x00, 8);
CTP_FIELD(ctp_ext_header, version, 0x08, 4);
CTP_FIELD(ctp_ext_header, features, 0x0C, 4);
CTP_FIELD(ctp_ext_header, collector_pid, 0x10, 4);
CTP_FIELD(ctp_ext_header, reserved0, 0x14, 44);
CTP_FIELD(ctp_ext_header, sleeping, 0x40, 4);
CTP_FIELD(ctp_ext_header, detach, 0x44, 4);
CTP_FIELD(ctp_ext_header, clock_seq, 0x48, 8);
CTP_FIELD(ctp_ext_header, clock_ticks, 0x50, 8);
CTP_FIELD(ctp_ext_header, clock_ns, 0x58, 8);
CTP_FIELD(ctp_ext_header, clock_mult, 0x60, 8);
CTP_FIELD(ctp_ext_header, clock_window, 0x68, 8);
CTP_FIELD(ctp_ext_header, reserved2, 0x70, 16);

CTP_SIZE(ctp_ext_station, 448);
CTP_FIELD(ctp_ext_station, magic, 0x00, 8);
CTP_FIELD(ctp_ext_station, version, 0x08, 4);
CTP_FIELD(ctp_ext_station, pid, 0x0C, 4);
CTP_FIELD(ctp_ext_station, death_ts, 0x10, 8);
CTP_FIELD(ctp_ext_station, name_size, 0x18, 4);
CTP_FIELD(ctp_ext_station, reserved0, 0x1C, 4);
CTP_FIELD(ctp_ext_station, reserved1, 0x20, 8);
CTP_FIELD(ctp_ext_station, name, 0x28, CTP_EXT_NAME_SIZE);

/* Bytes of a region with @nr stations. */
static inline uint64_t ctp_region_size(uint64_t nr)
{
	return sizeof(struct ctp_header) + nr * sizeof(struct ctp_station);
}

static inline struct ctp_station *ctp_stations(struct ctp_header *h)
{
	return (struct ctp_station *)(void *)((char *)h + sizeof(struct ctp_header));
}

static inline struct ctp_ext_header *ctp_header_ext(struct ctp_header *h)
{
	return (struct ctp_ext_header *)(void *)((char *)h + CTP_EXT_HEADER_OFFSET);
}

static inline struct ctp_ext_station *ctp_station_ext(struct ctp_station *st)
{
	return (struct ctp_ext_station *)(void *)st->flexible;
}

static inline const struct ctp_ext_station *ctp_station_ext_ro(const struct ctp_station *st)
{
	return (const struct ctp_ext_station *)(const void *)st->flexible;
}

#include <corotracer/header_end.h>

#endif
