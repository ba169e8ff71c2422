/* SPDX-License-Identifier: MIT */
/*
 * wire.h - the shared memory between traced programs and the consumer that writes the trace.
 *
 * The consumer creates one region (a file on tmpfs).  The consumer is the collector of `mem run`,
 * which passes the path to the programs in CACHERAY_REGION, or the background thread of a program
 * that runs alone.  The region holds a header, a table of processes, a table of slots, and a ring
 * of chunks per slot.  A thread of a program owns one slot while it exists; it writes *units* of
 * 16 bytes into its ring, chunk by chunk, and the consumer reads them chunk by chunk. ring_read.c
 * implements the consumer's half for both consumers; pack.c turns units into a block's payload.
 *
 *	0             crw_header
 *	processes_at  crw_process x nr_processes
 *	slots_at      crw_slot    x nr_slots
 *	rings_at      ring of slot 0, of slot 1, ...; a ring is nr_chunks x chunk_size bytes
 *	chunk         crw_chunk_head (64 bytes), then units, to half of chunk_size
 *
 * The other half of a chunk is never touched and takes no memory.  It exists so that one bit of a
 * position shows that the position is past the end of its chunk: with two words, a signal handler
 * could change one between the two loads. rings_at is a multiple of chunk_size, and programs map
 * the region at such a multiple too.
 *
 * Units.  Word 1 of a unit has its code in the top byte, and is stored after word 0: a unit whose
 * word 1 is 0 was never filled.  A thread zeroes the chunks of its ring before their first use.
 * Each unit has the mark of its round through the ring (CRW_ROUND), and the head of the chunk has
 * it too: a unit with another mark is from an earlier round, and not filled in this one.  So chunks
 * are not zeroed again, and the records of a killed program end where the mark ends.  Programs of
 * older builds have no marks and zero every chunk; new ones do so for consumers that do not have
 * CRW_FEATURE_ROUNDS.  A thread reserves units before it fills them; a signal handler that
 * runs between the two steps reserves later units, fills them and may even seal the chunk.  This
 * leaves a *hole* in a sealed chunk, which the thread fills after the handler returns, so the
 * consumer waits there.  If the thread has ended, or half a ring was sealed since (the handler
 * left by longjmp), nothing was accessed there and the consumer skips the hole.
 *
 * Writers
 *	header     the consumer, before the magic; then `asleep`, `closed`, `heartbeat` and `freed`;
 *	           programs: `bell`, `next_process`, `refused` and `seekers`
 *	process    the program: free -> making -> live, `lost`, `control` and `served`; the
 *	           consumer: live -> free; tools: `request` and `text`, with a lock on the file
 *	slot       its thread: all but `taken` and `room`; the consumer: these, and ended -> free
 *	chunks     only the thread: numbers from `sealed` up to `taken` + nr_chunks
 *
 * Orderings (the letters are in the code, on both sides; docs/barriers.md lists the accesses)
 *	(mem-A) units and chunk head, then `sealed`  | `sealed`, then the units
 *	(mem-B) last read of a chunk, then `taken`   | `taken`, then the reuse
 *	(mem-C) `sealed`, full fence, `asleep`?      | `asleep`, full fence, `sealed`?
 *	(mem-D) `waiting`, full fence, `taken`?      | `taken`, full fence, `waiting`?
 *	(mem-E) the fields of a slot, then `state`   | `state`, then the fields
 *	(mem-F) the fields of a process, then `state`| `state`, then the fields
 *	(mem-G) the header, then `magic`             | `magic`, then the header
 *	(mem-H) ring drained, then `state` = free    | claim by compare-and-swap
 *	(mem-N) `text`, then `request`               | `request`, then the text; `served` back
 * Except for the fences, the left side is a release and the right side an acquire.
 *
 * Trust.  Programs may write anything anywhere at any time.  The consumer reads each word once,
 * checks it and uses its copy (ring_read.c); a program reads the geometry once and keeps a copy.
 *
 * Ended threads.  A slot whose thread has ended (its process has ended, or has no thread with
 * that tid) is drained: chunks up to `sealed`, then the open chunk up to its last filled unit.  A
 * process of the same pid with a higher serial means that the earlier one called exec.  A child
 * of fork is a separate process with a separate trace file.
 *
 * Rules for editing: fixed-width integers only; all words marked [shared] through atomics only.
 */
#ifndef RUNTIME_MEMORY_WIRE_H
#define RUNTIME_MEMORY_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define CRW_MAGIC   UINT64_C(0x3130575952435243) /* "CRCRYW01" */
#define CRW_VERSION 1u
#define CRW_ENV     "CACHERAY_REGION" /* path of the region, set by the collector */

/*
 * An inherited descriptor of the region, "FD:DEVICE:INODE:PATH" with numbers in hexadecimal.  It is
 * not used if PATH differs from CRW_ENV.
 */
#define CRW_ENV_FD  "CACHERAY_FD"
#define CRW_HIGH_FD 512 /* some programs rely on low numbers */

#define CRW_UNIT    16u

/* Units of a chunk. */
#define CRW_UNITS(chunk_size) (((chunk_size) / 2u - 64u) / CRW_UNIT)

/* Limits of a region.  A consumer creates regions within them; a program checks them. */
#define CRW_CHUNK_MIN     4096u
#define CRW_CHUNK_MAX     (1u << 20)
#define CRW_CHUNKS_MIN    4u
#define CRW_CHUNKS_MAX    65536u
#define CRW_SLOTS_MAX     65536u
#define CRW_PROCESSES_MAX 4096u

/* Defaults: 4 MiB per thread, of which only the used part takes memory. */
#define CRW_CHUNK_SIZE   131072u /* programs accept no other size */
#define CRW_NR_CHUNKS    64u
#define CRW_NR_SLOTS     4096u
#define CRW_NR_PROCESSES 128u

/* With larger rings fewer slots, so that programs can map the region. */
#define CRW_NR_SLOTS_LEAST 1024u
#define CRW_RINGS_MOST     (UINT64_C(32) << 30)

enum { CRW_BLOCK = 0, CRW_DROP = 1 }; /* crw_header.on_full */

/* crw_header.features */
#define CRW_FEATURE_CORO   1u /* CRW_CORO units */
#define CRW_FEATURE_HEAP   2u /* CRW_ALLOC, CRW_RELEASE, CRW_STACK units */
#define CRW_FEATURE_CALL   4u /* CRW_ENTER, CRW_LEAVE, CRW_CALLS units */
#define CRW_FEATURE_ROUNDS 8u /* marks of rounds in units */

/* crw_header.wants */
#define CRW_WANT_CALLS   1u /* record function entries and exits */
#define CRW_WANT_NO_HEAP 2u /* do not record blocks of the heap */

struct crw_header {
	uint64_t magic;   /* [shared] CRW_MAGIC, stored last (mem-G) */
	uint32_t version; /* CRW_VERSION */
	uint32_t header_size;
	uint32_t nr_processes;
	uint32_t nr_slots;
	uint32_t nr_chunks;  /* per ring, a power of two */
	uint32_t chunk_size; /* bytes from one chunk to the next, a power of two */
	uint64_t processes_at;
	uint64_t slots_at;
	uint64_t rings_at;
	uint64_t size;         /* of the whole region */
	uint32_t on_full;      /* CRW_BLOCK or CRW_DROP */
	uint32_t consumer_pid; /* 0: the consumer is the program itself */
	uint64_t start_ns;     /* CLOCK_MONOTONIC */
	uint32_t features;     /* CRW_FEATURE_*: units that the consumer knows */
	uint32_t wants;        /* CRW_WANT_*: what programs record */
	uint8_t reserved[40];

	/* A separate cache line: written at run time. */
	uint32_t asleep;       /* [shared] consumer: about to wait for the bell (mem-C) */
	uint32_t bell;         /* [shared] futex: programs add 1 and wake */
	uint32_t closed;       /* [shared] consumer: stop recording; enum crw_closed */
	uint32_t heartbeat;    /* [shared] consumer: changes while it runs */
	uint64_t next_process; /* [shared] programs: serials assigned */
	uint64_t refused;      /* [shared] programs: threads or processes without a slot or entry */
	uint32_t freed;        /* [shared] consumer: futex, incremented with each slot it frees */
	uint32_t seekers;      /* [shared] programs: threads that wait for a free slot */
	uint8_t reserved2[88];
};

enum crw_closed { CRW_OPEN = 0, CRW_CLOSED_CAP = 1, CRW_CLOSED_DISK = 2, CRW_CLOSED_END = 3 };

enum crw_state { CRW_FREE = 0, CRW_MAKING = 1, CRW_LIVE = 2, CRW_ENDED = 3 };

/* Requests of `mem ctl`. */
enum crw_request { CRW_REQUEST_START = 1, CRW_REQUEST_STOP = 2, CRW_REQUEST_MARK = 3 };
#define CRW_REQUESTS 4u
#define CRW_MARK_MAX 48u

/* A process that writes or has written; 128 bytes. */
struct crw_process {
	uint32_t state;     /* [shared] enum crw_state: free, making or live (mem-F) */
	uint32_t pid;       /* of the process, in its own pid namespace */
	uint64_t serial;    /* 1, 2, 3 ... in this region: identifies the output file */
	uint64_t parent;    /* serial of the process that forked it; 0: none */
	uint64_t start_ns;  /* CLOCK_MONOTONIC when it attached */
	uint32_t ppid;      /* parent's pid */
	uint32_t line_size; /* bytes of a cache line */
	uint64_t lost;      /* [shared] accesses of threads without a slot; in no unit */
	uint32_t control;   /* [shared] 1: it serves requests */
	uint32_t request;   /* [shared] tools: futex; enum crw_request plus CRW_REQUESTS x count
			       (mem-N) */
	uint32_t served;    /* [shared] futex: the last request that was served (mem-N) */
	uint32_t reserved0;
	char text[CRW_MARK_MAX]; /* [shared] tools: of a mark; may lack a NUL */
	uint8_t reserved[16];
};

/* A thread that writes or has written; 256 bytes: two lines per side. */
struct crw_slot {
	uint32_t state;   /* [shared] (mem-E), (mem-H) */
	uint32_t process; /* index in the table of processes */
	uint64_t serial;  /* of that process */
	uint64_t thread;  /* 1, 2, 3 ... in that process, unique */
	uint32_t tid;     /* kernel thread id */
	uint32_t pid;
	uint64_t start_ns;
	uint64_t end_ns;  /* CLOCK_MONOTONIC when it ended; 0: unknown */
	uint64_t sealed;  /* [shared] chunks completed since the slot was claimed (mem-A) */
	uint32_t waiting; /* [shared] 1: the thread sleeps for room (mem-D) */
	uint32_t reserved0;
	uint64_t lost_full;     /* [shared] accesses lost: ring full.  Also in gap units */
	uint64_t reserved3;     /* 0 */
	char name[16];          /* thread name, updated at its end; may lack a NUL */
	uint64_t left_sampled;  /* [shared] accesses between bursts; most are in gap units */
	uint64_t left_filtered; /* [shared] accesses outside the requested regions */
	uint8_t reserved[16];

	uint64_t taken; /* [shared] consumer: chunks returned (mem-B) */
	uint32_t room;  /* [shared] consumer: futex, incremented when a waiting thread gets room */
	uint32_t reserved1;
	uint8_t reserved2[112];
};

/* In front of each chunk; 64 bytes. */
struct crw_chunk_head {
	uint64_t number;     /* `sealed` when it was begun: reveals a chunk of an earlier round */
	uint64_t order;      /* number of annotations when it was begun */
	uint64_t time_ns;    /* CLOCK_MONOTONIC when it was begun */
	uint64_t serial;     /* of the process */
	uint64_t thread;     /* in that process */
	uint64_t weight_256; /* weight of its accesses, in 1/256; 0: 256 */
	uint64_t round;      /* CRW_ROUND of its units; 0: they have none */
	uint64_t reserved;
};

struct crw_unit {
	uint64_t w0;
	uint64_t w1; /* code in the top byte, mark of the round, value; 0: not filled */
};

#define CRW_LOW           UINT64_C(0x001fffffffffffff)
#define CRW_ROUND         UINT64_C(0x00e0000000000000)
#define CRW_ROUND_OF(n)   ((1 + (uint64_t)(n) % 7) << 53) /* of round n through the ring */
#define CRW_CODE(w1)      ((unsigned)((w1) >> 56))
#define CRW_W1(code, low) ((uint64_t)(code) << 56 | ((uint64_t)(low)&CRW_LOW))

/*
 * Accesses: w0 is the address, the low 53 bits of w1 are the return address of the callback
 * (never 0).  The code has the size in the low three bits, and flags.
 */
enum {
	CRW_SIZE_MASK = 7, /* 0..4: 1, 2, 4, 8, 16 bytes */
	CRW_RANGE = 5,     /* the following EXTENT unit has the number of bytes */
	CRW_VPTR = 6,      /* 8 bytes: virtual table pointer of a C++ object */
	CRW_CONTROL = 7,   /* not an access: see below */
	CRW_IS_WRITE = 0x08,
	CRW_IS_ATOMIC = 0x10,
	CRW_IS_UNALIGNED = 0x20,
	CRW_IS_VOLATILE = 0x40,
	CRW_IS_COMPOUND = 0x80, /* a read, then a write: two records; IS_WRITE is not set */
};

/* A time in a unit is its low 53 bits: it is at most 104 days after the start of the chunk. */

/* Control units: the code is kind << 3 | 7.  "P" is a payload: DATA units after the header unit. */
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
	CRW_EXTENT = CRW_CTL(9),  /* w0: bytes; low: 1, plus 2 for memcpy and similar functions */
	CRW_WEIGHT = CRW_CTL(10), /* w0: weight_256 from here on; low: 1 */
	CRW_CORO = CRW_CTL(11),   /* w0: coroutine; low: CLOCK_MONOTONIC ns; P: how, text */
	CRW_ALLOC = CRW_CTL(12),  /* w0: address; low: pc; then AMOUNT, then TICKET if it has one */
	CRW_RELEASE = CRW_CTL(
		13), /* w0: address that is freed; low: pc; then TICKET if it has one */
	CRW_TICKET = CRW_CTL(14), /* w0: order of the ALLOC or RELEASE before it; low: 1 */
	CRW_AMOUNT = CRW_CTL(15), /* w0: bytes allocated; low: number of the stack, 0: unknown */
	CRW_ENTER = CRW_CTL(
		17), /* w0: return address into the caller; low: address in the function */
	CRW_LEAVE = CRW_CTL(18), /* w0: functions left; low: 1 */
	CRW_CALLS = CRW_CTL(19), /* w0: 0; low: 1; P: all functions that the thread is in */
	CRW_STACK = CRW_CTL(16), /* w0: number of a stack; low: 1; P: its code addresses */
};

/*
 * w0 of a payload's first DATA unit is its length in bytes; the bytes follow in further DATA
 * units, the last one padded with zeros.  ADD: u64 order, u64 element size, u64 count, then the
 * name up to the end.  REMOVE: u64 order.  CORO: u64 how (CRAY_CORO_*), then the text up to the
 * end.  STACK: u64 each, innermost first.  CALLS: u64 w0 and u64
 * low as in ENTER, outermost first.  A payload has at most CRW_PAYLOAD_MAX bytes.
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
CRW_FIELD(crw_header, features, 80, 4);
CRW_FIELD(crw_header, wants, 84, 4);
CRW_FIELD(crw_header, asleep, 128, 4);
CRW_FIELD(crw_header, bell, 132, 4);
CRW_FIELD(crw_header, closed, 136, 4);
CRW_FIELD(crw_header, next_process, 144, 8);
CRW_FIELD(crw_header, freed, 160, 4);
CRW_FIELD(crw_header, seekers, 164, 4);
CRW_SIZE(crw_process, 128);
CRW_FIELD(crw_process, serial, 8, 8);
CRW_FIELD(crw_process, parent, 16, 8);
CRW_FIELD(crw_process, request, 52, 4);
CRW_FIELD(crw_process, text, 64, 48);
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
