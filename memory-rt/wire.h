/* SPDX-License-Identifier: MIT */
/*
 * wire.h - the shared memory between traced programs and whoever writes their trace.
 *
 * One region (a file on tmpfs), made by the consumer: the collector of `mem run`, whose
 * path travels to the programs in CACHERAY_REGION, or the background thread of a program that
 * runs alone.  It holds a header, a table of processes, a table of slots, and a ring of
 * chunks per slot.  A thread of a program owns one slot while it lives; it writes *units* of
 * 16 bytes into its ring, chunk by chunk; the consumer follows, chunk by chunk.
 * take.c is the consumer's half, for both consumers; pack.c turns units into a block's payload.
 *
 *	0             crw_header
 *	processes_at  crw_process x nr_processes
 *	slots_at      crw_slot    x nr_slots
 *	rings_at      ring of slot 0, of slot 1, ...; a ring is nr_chunks x chunk_size bytes
 *	chunk         crw_chunk_head (64 bytes), then units, to half of chunk_size
 *
 * The other half of a chunk is never touched and takes no memory.  It is there so that a
 * position that has run out of its chunk shows by one bit of itself: two words that have to
 * be looked at together could be changed between the looks by a signal handler.  rings_at
 * is a multiple of chunk_size, and programs map the region at one, too.
 *
 * Units.  Word 1 of a unit has its code in the top byte, and is stored after word 0: a unit
 * whose word 1 is 0 was never filled.  Chunks are zeroed before use, so the tail of a
 * program that was killed ends where the zeros begin.  A thread reserves units before it
 * fills them; a signal handler that comes between the two reserves later ones, fills them
 * and may even seal the chunk.  Hence a *hole* in a sealed chunk: it is filled as soon
 * as the handler returns, so the consumer waits there, unless the thread is gone, or half
 * a ring has been sealed since (the handler left by longjmp): then nothing was
 * accessed there, and it is skipped.
 *
 * Who writes what
 *	header     the consumer, before the magic; then `asleep`, `closed` and `heartbeat`;
 *	           programs: bell, order of `next_process`
 *	process    the program, from claiming (free -> making -> live); the consumer: gone -> free
 *	slot       its thread: all but `taken` and `room`; the consumer: these, and ended -> free
 *	chunks     the thread, between taken + nr_chunks and sealed; nobody else
 *
 * Orderings (the letters are in the code, on both sides)
 *	(A) units and chunk head, then `sealed` (release)  | `sealed` (acquire), then the units
 *	(B) the last look at a chunk, then `taken` (release) | `taken` (acquire), then the reuse
 *	(C) `sealed`, full fence, `asleep`?                | `asleep`, full fence, `sealed`?
 *	(D) `waiting`, full fence, `taken`?                | `taken`, full fence, `waiting`?
 *	(E) the fields of a slot, then `state` (release)   | `state` (acquire), then the fields
 *	(F) the fields of a process, then `state` (release)| `state` (acquire), then the fields
 *	(G) the header, then `magic` (release)             | `magic` (acquire), then the header
 *	(H) ring drained, then slot `state` = free (release)| claim by compare-and-swap (acquire)
 *
 * Trust.  Programs may write anything anywhere at any time.  The consumer reads each word once,
 * checks it and uses its copy (take.c); a program reads the geometry once and keeps it.
 *
 * The dead.  A slot whose thread is gone (its process is gone, or no thread with that tid in
 * that pid) is drained: chunks up to `sealed`, then the open one up to its last filled unit.
 * A process of the same pid with a higher serial means that this one called exec.  A child
 * of fork is a process of its own; its trace is a file of its own.
 *
 * Rules for editing: fixed-width integers only; all words marked [shared] through atomics only.
 */
#ifndef MEMORY_RT_WIRE_H
#define MEMORY_RT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define CRW_MAGIC   UINT64_C(0x3130575952435243) /* "CRCRYW01" */
#define CRW_VERSION 1u
#define CRW_ENV     "CACHERAY_REGION" /* path of the region, set by the collector */

#define CRW_UNIT    16u

/* Units of a chunk. */
#define CRW_UNITS(chunk_size) (((chunk_size) / 2u - 64u) / CRW_UNIT)

/* What a region may have; a consumer that makes one stays inside, a program checks. */
#define CRW_CHUNK_MIN     4096u
#define CRW_CHUNK_MAX     (1u << 20)
#define CRW_CHUNKS_MIN    4u
#define CRW_CHUNKS_MAX    65536u
#define CRW_SLOTS_MAX     65536u
#define CRW_PROCESSES_MAX 4096u

/* What ours have: 4 MiB per thread, of which only what is used takes memory. */
#define CRW_CHUNK_SIZE   131072u /* programs take no other */
#define CRW_NR_CHUNKS    64u
#define CRW_NR_SLOTS     1024u
#define CRW_NR_PROCESSES 128u

enum { CRW_BLOCK = 0, CRW_DROP = 1 }; /* crw_header.on_full */

struct crw_header {
	uint64_t magic;   /* [shared] CRW_MAGIC, last (G) */
	uint32_t version; /* CRW_VERSION */
	uint32_t header_size;
	uint32_t nr_processes;
	uint32_t nr_slots;
	uint32_t nr_chunks;  /* per ring, a power of two */
	uint32_t chunk_size; /* bytes from one to the next, a power of two */
	uint64_t processes_at;
	uint64_t slots_at;
	uint64_t rings_at;
	uint64_t size;         /* of the whole region */
	uint32_t on_full;      /* CRW_BLOCK or CRW_DROP */
	uint32_t consumer_pid; /* 0: the program itself */
	uint64_t start_ns;     /* CLOCK_MONOTONIC */
	uint8_t reserved[48];

	/* A line of its own: written at run time. */
	uint32_t asleep;       /* [shared] consumer: about to wait for the bell (C) */
	uint32_t bell;         /* [shared] futex: programs add 1 and wake */
	uint32_t closed;       /* [shared] consumer: record no more; enum crw_closed */
	uint32_t heartbeat;    /* [shared] consumer: grows while it is alive */
	uint64_t next_process; /* [shared] programs: serials given out */
	uint64_t refused;      /* [shared] programs: threads or processes that found no place */
	uint8_t reserved2[96];
};

enum crw_closed { CRW_OPEN = 0, CRW_CLOSED_CAP = 1, CRW_CLOSED_DISK = 2, CRW_CLOSED_END = 3 };

enum crw_state { CRW_FREE = 0, CRW_MAKING = 1, CRW_LIVE = 2, CRW_ENDED = 3 };

/* A process that writes, or wrote; 128 bytes. */
struct crw_process {
	uint32_t state;     /* [shared] enum crw_state (F); ended: it said so itself */
	uint32_t pid;       /* of the process, in its own pid namespace */
	uint64_t serial;    /* 1, 2, 3 ... in this region: what files are numbered by */
	uint64_t parent;    /* serial of the process that forked it; 0: none */
	uint64_t start_ns;  /* CLOCK_MONOTONIC when it joined */
	uint32_t ppid;      /* parent's pid */
	uint32_t line_size; /* bytes of a cache line */
	uint64_t lost;      /* [shared] accesses of threads that found no slot, told in no unit */
	uint8_t reserved[80];
};

/* A thread that writes, or wrote; 256 bytes: two lines for each side. */
struct crw_slot {
	uint32_t state;   /* [shared] (E), (H) */
	uint32_t process; /* index in the table of processes */
	uint64_t serial;  /* of that process */
	uint64_t thread;  /* 1, 2, 3 ... in that process: never the same number twice */
	uint32_t tid;     /* the kernel's */
	uint32_t pid;
	uint64_t start_ns;
	uint64_t end_ns;  /* CLOCK_MONOTONIC when it ended; 0: unknown */
	uint64_t sealed;  /* [shared] chunks handed over since the slot was claimed (A) */
	uint32_t waiting; /* [shared] 1: the thread sleeps for room (D) */
	uint32_t reserved0;
	uint64_t lost_full;     /* [shared] accesses dropped: full.  In gap units, too */
	uint64_t lost_nested;   /* [shared] accesses of a handler that interrupted the recorder */
	char name[16];          /* the thread's, when it began; may lack a NUL */
	uint64_t left_sampled;  /* [shared] accesses between bursts; in gap units, most of them */
	uint64_t left_filtered; /* [shared] and outside of the regions asked for */
	uint8_t reserved[16];

	uint64_t taken; /* [shared] consumer: chunks given back (B) */
	uint32_t room;  /* [shared] consumer: futex, grows with taken */
	uint32_t reserved1;
	uint8_t reserved2[112];
};

/* In front of each chunk; 64 bytes. */
struct crw_chunk_head {
	uint64_t number;     /* sealed, when it was begun: a chunk from another round shows */
	uint64_t order;      /* annotations that had happened when it was begun */
	uint64_t time_ns;    /* CLOCK_MONOTONIC when it was begun */
	uint64_t serial;     /* of the process */
	uint64_t thread;     /* in that process */
	uint64_t weight_256; /* what an access in it stands for, in 1/256; 0: 256 */
	uint64_t reserved[2];
};

struct crw_unit {
	uint64_t w0;
	uint64_t w1; /* code in the top byte, the rest below; 0: not filled */
};

#define CRW_LOW           UINT64_C(0x00ffffffffffffff)
#define CRW_CODE(w1)      ((unsigned)((w1) >> 56))
#define CRW_W1(code, low) ((uint64_t)(code) << 56 | ((uint64_t)(low)&CRW_LOW))

/*
 * Accesses: w0 is the address, the low 56 bits of w1 the address that the callback returns
 * to (never 0).  The code has the size in the low three bits, and flags.
 */
enum {
	CRW_SIZE_MASK = 7, /* 0..4: 1, 2, 4, 8, 16 bytes */
	CRW_RANGE = 5,     /* as many bytes as the EXTENT unit that follows says */
	CRW_VPTR = 6,      /* 8 bytes: a C++ object's table pointer */
	CRW_CONTROL = 7,   /* no access: see below */
	CRW_IS_WRITE = 0x08,
	CRW_IS_ATOMIC = 0x10,
	CRW_IS_UNALIGNED = 0x20,
	CRW_IS_VOLATILE = 0x40,
	CRW_IS_COMPOUND = 0x80, /* a read, then a write: two records; IS_WRITE is not set */
};

/* All else: the code is kind << 3 | 7.  "P" is a payload: DATA units behind the header unit. */
#define CRW_CTL(kind) ((unsigned)(kind) << 3 | CRW_CONTROL)
enum {
	CRW_PAD = CRW_CTL(0),     /* nothing; low bits of w1: 1 */
	CRW_DATA = CRW_CTL(1),    /* w0: 8 bytes of payload; low: 1 + DATA units that follow */
	CRW_STAMP = CRW_CTL(2),   /* w0: order from here on; low: CLOCK_MONOTONIC ns */
	CRW_ADD = CRW_CTL(3),     /* w0: address; low: pc; P: order, element size, count, name */
	CRW_REMOVE = CRW_CTL(4),  /* w0: address; low: pc; P: order */
	CRW_MARK = CRW_CTL(5),    /* w0: value; low: pc; P: text */
	CRW_GAP = CRW_CTL(6),     /* w0: accesses missing here; low: CRAY_GAP_* of container.h */
	CRW_MODULE = CRW_CTL(7),  /* w0: 0; low: 1; P: struct cray_module, its path */
	CRW_FACT = CRW_CTL(8),    /* w0: key, CRAY_FACT_*; low: 1; P: bytes */
	CRW_EXTENT = CRW_CTL(9),  /* w0: bytes; low: 1, plus 2 if memcpy or its like did it */
	CRW_WEIGHT = CRW_CTL(10), /* w0: weight_256 from here on; low: 1 */
};

/*
 * A payload's first DATA unit has its length in bytes in w0; the bytes follow in further
 * DATA units, the last one filled up with zeros.  ADD: u64 order, u64 element size, u64
 * count, then the name to the end.  REMOVE: u64 order.  CRW_PAYLOAD_MAX bounds it.
 */
#define CRW_PAYLOAD_MAX        2048u
#define CRW_NAME_MAX           (CRW_PAYLOAD_MAX - 24u)

#define CRW_ASSERT(cond, text) _Static_assert(cond, text)
#define CRW_SIZE(type, size)   CRW_ASSERT(sizeof(struct type) == (size), #type " changed its size")
#define CRW_FIELD(type, field, off, size)                               \
	CRW_ASSERT(offsetof(struct type, field) == (off) &&             \
			   sizeof(((struct type *)0)->field) == (size), \
		   #type "." #field " moved: programs and collectors of other builds break")

CRW_SIZE(crw_header, 256);
CRW_FIELD(crw_header, version, 8, 4);
CRW_FIELD(crw_header, nr_processes, 16, 4);
CRW_FIELD(crw_header, nr_slots, 20, 4);
CRW_FIELD(crw_header, nr_chunks, 24, 4);
CRW_FIELD(crw_header, chunk_size, 28, 4);
CRW_FIELD(crw_header, processes_at, 32, 8);
CRW_FIELD(crw_header, slots_at, 40, 8);
CRW_FIELD(crw_header, rings_at, 48, 8);
CRW_FIELD(crw_header, size, 56, 8);
CRW_FIELD(crw_header, on_full, 64, 4);
CRW_FIELD(crw_header, consumer_pid, 68, 4);
CRW_FIELD(crw_header, asleep, 128, 4);
CRW_FIELD(crw_header, bell, 132, 4);
CRW_FIELD(crw_header, closed, 136, 4);
CRW_FIELD(crw_header, next_process, 144, 8);
CRW_SIZE(crw_process, 128);
CRW_FIELD(crw_process, serial, 8, 8);
CRW_FIELD(crw_process, parent, 16, 8);
CRW_SIZE(crw_slot, 256);
CRW_FIELD(crw_slot, serial, 8, 8);
CRW_FIELD(crw_slot, thread, 16, 8);
CRW_FIELD(crw_slot, tid, 24, 4);
CRW_FIELD(crw_slot, sealed, 48, 8);
CRW_FIELD(crw_slot, name, 80, 16);
CRW_FIELD(crw_slot, left_sampled, 96, 8);
CRW_FIELD(crw_slot, left_filtered, 104, 8);
CRW_FIELD(crw_slot, taken, 128, 8);
CRW_FIELD(crw_slot, room, 136, 4);
CRW_SIZE(crw_chunk_head, 64);
CRW_SIZE(crw_unit, 16);

#endif
