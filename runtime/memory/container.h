/* SPDX-License-Identifier: MIT */
/*
 * container.h - the binary layout of a memory trace file.
 *
 * docs/memory-format.md explains the fields and the coding of a block's payload (pack.h writes
 * it, src/memory/format/block_unpack.c reads it).  This header only declares data and includes only
 *stdint.h and stddef.h, because the runtime in the traced program includes it too.
 *
 *	file  = cray_file, then chunks
 *	chunk = cray_chunk, head (cray_block for blocks, else nothing), stored bytes
 *
 * Rules for editing this file
 *   - only fixed-width integers, all little-endian; no pointers, bools, enums, bitfields
 *   - a field never moves and never changes meaning; new fields use reserved
 *     space, which writers set to zero and readers ignore
 *   - a compatible change (new chunk types, event codes, keys, causes: all of these are
 *     skipped by readers that do not know them) raises the minor number, any other the
 *     major one
 */
#ifndef RUNTIME_MEMORY_CONTAINER_H
#define RUNTIME_MEMORY_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

#define CRAY_MAJOR 1
#define CRAY_MINOR 2 /* 1: CRAY_EV_CORO; 2: CRAY_EV_ALLOC to _EXIT, CRAY_STACKS */

/*
 * No raw trace starts with these bytes: a first byte of 0x89 would be a record of kind 9.  The
 * line ends reveal a file that went through a text-mode transfer.
 */
#define CRAY_MAGIC       "\211CRT\r\n\032\n"
#define CRAY_CHUNK_MAGIC "\213CRchunk"
#define CRAY_FOOT_MAGIC  "\215CRfoot\n"
#define CRAY_BYTE_ORDER  UINT32_C(0x01020304)

/* Upper bounds of everything that a reader has to hold in memory at a time. */
#define CRAY_STORED_MAX  (8u << 20) /* bytes of a chunk in the file */
#define CRAY_PLAIN_MAX   (8u << 20) /* the same, decompressed */
#define CRAY_RECORDS_MAX (1u << 20) /* per block */
#define CRAY_SITES_MAX   (1u << 14) /* per block */
#define CRAY_NAME_MAX    65535u     /* bytes of a type name, a mark or a thread name */
#define CRAY_FRAMES_MAX  16u        /* frames of a stack in CRAY_STACKS */

enum { CRAY_CODEC_NONE = 0, CRAY_CODEC_ZSTD = 1 };

/* cray_file.flags */
#define CRAY_ORDERED UINT64_C(1) /* records are stored in trace order: do not merge */

/* The first 64 bytes of the file. */
struct cray_file {
	uint8_t magic[8];       /* CRAY_MAGIC, without its NUL */
	uint16_t major;         /* CRAY_MAJOR */
	uint16_t minor;         /* CRAY_MINOR */
	uint32_t size;          /* bytes of this header: the first chunk starts there */
	uint32_t byte_order;    /* CRAY_BYTE_ORDER; 0x04030201: the other byte order */
	uint16_t pointer;       /* bytes per address in the program: 8 */
	uint16_t codec;         /* best codec of the writer; each chunk has its own codec */
	uint64_t flags;         /* CRAY_ORDERED */
	uint64_t start_ns;      /* CLOCK_MONOTONIC when tracing began; origin of all times */
	uint64_t start_wall_ns; /* CLOCK_REALTIME at the same time */
	uint64_t reserved;
	uint32_t reserved2;
	uint32_t crc; /* crc32c of all bytes before */
};

/* cray_chunk.type; a reader skips unknown types. */
enum {
	CRAY_INFO = 1,    /* facts about the process: key, length, bytes */
	CRAY_MODULES = 2, /* mapped files: cray_module and its path, each */
	CRAY_THREADS = 3, /* threads: cray_thread and its name, each */
	CRAY_BLOCK = 4,   /* records */
	CRAY_LOST = 5,    /* losses that no block counts: cray_lost, each */
	CRAY_INDEX = 6,   /* offsets of blocks: cray_index, then cray_entry, each */
	CRAY_END = 7,     /* the totals: cray_end.  Missing if the writer was interrupted */
	CRAY_STACKS = 8,  /* call stacks of allocations: cray_stack and its frames, each */
};

/* In front of each chunk; 40 bytes. */
struct cray_chunk {
	uint8_t magic[8]; /* CRAY_CHUNK_MAGIC: a reader resynchronizes here after corrupt data */
	uint16_t type;
	uint8_t codec; /* of the stored bytes */
	uint8_t flags; /* 0 */
	uint16_t head; /* bytes between this header and the stored bytes: cray_block, or 0 */
	uint16_t reserved;
	uint32_t stored;     /* bytes in the file, after the head */
	uint32_t plain;      /* bytes after decompression; = stored with CRAY_CODEC_NONE */
	uint32_t number;     /* 0, 1, 2 ... in the file, modulo 2^32: reveals a missing chunk */
	uint32_t stored_crc; /* crc32c of the stored bytes */
	uint32_t reserved2;
	uint32_t crc; /* crc32c of all bytes before it, then of the head */
};

/* The head of a block; 88 bytes. */
struct cray_block {
	uint32_t thread;      /* number in the table of threads; THREAD events change it */
	uint32_t nr_records;  /* accesses and annotations */
	uint32_t nr_accesses; /* of these, accesses */
	uint32_t weight_256;  /* accesses that each access stands for, in 1/256; 256: no sampling */
	uint64_t order_first; /* number of annotations before its first record */
	uint64_t order_last;  /* number of annotations at its end */
	uint64_t time_first_ns; /* CLOCK_MONOTONIC of its first record or slightly earlier */
	uint64_t time_last_ns;  /* of its last record or slightly later */
	uint64_t lost;          /* accesses lost in its gaps (causes below 16) */
	uint64_t left_out;      /* accesses left out on purpose in its gaps (causes from 16 on) */
	uint64_t thread_seq;    /* 0, 1, 2 ... per thread: reveals a missing block */
	uint64_t reserved[2];
};

/* CRAY_INFO: repeated `struct cray_fact`, each followed by its bytes, without padding. */
struct cray_fact {
	uint16_t key;
	uint16_t reserved;
	uint32_t size; /* bytes that follow */
};
enum {
	CRAY_FACT_PID = 1,     /* u64 */
	CRAY_FACT_PARENT = 2,  /* u64: the parent's pid */
	CRAY_FACT_EXE = 3,     /* text: path of the program */
	CRAY_FACT_COMMAND = 4, /* text: arguments, each terminated by a NUL */
	CRAY_FACT_CWD = 5,     /* text */
	CRAY_FACT_MACHINE = 6, /* text: "x86_64", "aarch64" */
	CRAY_FACT_WRITER = 7,  /* text: name and version of the writer */
	CRAY_FACT_OPTIONS = 8, /* text: value of CACHERAY_OPTIONS */
	CRAY_FACT_NOTE = 9,    /* text: a note for the user; may be repeated */
	CRAY_FACT_LINE = 10,   /* u64: bytes of a cache line */
	CRAY_FACT_PAGE = 11,   /* u64: bytes of a page */
};

/* CRAY_MODULES: repeated, each followed by path_size bytes.  Later entries add to earlier ones. */
struct cray_module {
	uint64_t bias;    /* address in the process = address in the symbol table + bias */
	uint64_t start;   /* address of the first segment */
	uint64_t end;     /* first address after the last segment */
	uint64_t order;   /* number of annotations when it was found */
	uint64_t time_ns; /* CLOCK_MONOTONIC at that time */
	uint8_t build_id[32];
	uint8_t build_id_size; /* 0: no build-id */
	uint8_t gone;          /* 1: unloaded at that time */
	uint16_t path_size;
	uint32_t reserved;
};

/*
 * CRAY_THREADS: repeated, each followed by name_size bytes.  A later entry of the same number
 * replaces the earlier one.
 */
struct cray_thread {
	uint32_t number; /* as in cray_block.thread, from 0 */
	uint32_t name_size;
	uint64_t id;       /* thread id of the raw format; for traced programs, the kernel's tid */
	uint64_t start_ns; /* start of the thread; 0: unknown */
	uint64_t end_ns;   /* end of the thread; 0: unknown or still running */
};

/*
 * CRAY_STACKS: repeated, each followed by nr_frames code addresses (u64), innermost first.  A later
 * entry of the same number is the same stack.
 */
struct cray_stack {
	uint32_t number; /* from 1 */
	uint32_t nr_frames;
};

/* Why accesses are missing; used in CRAY_LOST chunks and gap events. */
enum {
	CRAY_GAP_FULL = 1,   /* the buffer was full and the program did not wait */
	CRAY_GAP_RING = 2,   /* overwritten by newer blocks (ring mode) */
	CRAY_GAP_CAP = 3,    /* the size cap was reached */
	CRAY_GAP_DISK = 4,   /* the file could not be written */
	CRAY_GAP_BROKEN = 5, /* the buffer was corrupt: incomplete or overwritten by the program */
	CRAY_GAP_NESTED = 6, /* in a signal handler; recorders of this version lose none there */
	/* From 16 on: left out on purpose. */
	CRAY_GAP_SAMPLED = 16,  /* between two bursts */
	CRAY_GAP_FILTERED = 17, /* outside the requested regions */
	CRAY_GAP_STOPPED = 18,  /* while the program had switched tracing off */
};

/* CRAY_LOST: repeated.  Losses in addition to those in gap events. */
struct cray_lost {
	uint32_t thread; /* number, or ~0: thread unknown */
	uint32_t cause;  /* CRAY_GAP_* */
	uint64_t count;  /* accesses and annotations; 0: count unknown */
};

/* CRAY_INDEX: this header, then nr entries.  Index chunks form a chain, newest first. */
struct cray_index {
	uint64_t previous; /* offset of the previous index chunk; 0: none */
	uint64_t nr;
};
struct cray_entry {
	uint64_t offset; /* of the chunk */
	uint32_t thread;
	uint32_t nr_records;
	uint64_t order_first;
	uint64_t time_first_ns;
};

/* CRAY_END. */
struct cray_end {
	uint64_t nr_blocks;
	uint64_t nr_records;
	uint64_t nr_accesses;
	uint64_t lost;         /* all causes below 16, in gaps and CRAY_LOST */
	uint64_t left_out;     /* all causes from 16 on */
	uint64_t time_ns;      /* CLOCK_MONOTONIC when the writer finished */
	uint32_t status;       /* wait status of the program */
	uint32_t status_known; /* 1: `status` is valid: the writer outlived the program */
	uint64_t reserved;
};

/* The last 32 bytes of a complete file. */
struct cray_foot {
	uint8_t magic[8]; /* CRAY_FOOT_MAGIC */
	uint64_t index;   /* offset of the newest CRAY_INDEX chunk; 0: none */
	uint64_t end;     /* offset of the CRAY_END chunk */
	uint32_t reserved;
	uint32_t crc; /* crc32c of all bytes before */
};

/*
 * A block's decompressed payload starts with this header; then the streams follow in this order,
 * without padding.  See docs/memory-format.md.
 */
struct cray_streams {
	uint32_t symbols; /* bytes: one symbol per access and event */
	uint32_t sites;   /* bytes: code address and kind of each site */
	uint32_t own;     /* bytes: address relative to the site's last access */
	uint32_t near;    /* bytes: address relative to the previous access */
	uint32_t events;  /* bytes: everything that is not an access */
	uint32_t nr_sites;
	uint32_t nr_symbols;
	uint32_t reserved;
};

/* The two low bits of a symbol: how the address is coded. */
enum {
	CRAY_STRIDE = 0, /* the site's last address + the site's last stride */
	CRAY_FOLLOW = 1, /* the previous address + the site's last distance */
	CRAY_OWN = 2,    /* the site's last address + the next value of `own` */
	CRAY_NEAR = 3,   /* the previous address + the next value of `near` */
};
/* The bits above them: which site. */
enum {
	CRAY_NEXT = 0,  /* the site that followed this site the last time */
	CRAY_EVENT = 1, /* no site: an event */
	CRAY_SITE = 2,  /* number + 2; equal to the number of sites so far: a new site */
};

/* Event codes.  The body's length precedes the body, so unknown events are skipped. */
enum {
	CRAY_EV_THREAD = 1, /* number */
	CRAY_EV_STAMP = 2,  /* order +, time + */
	CRAY_EV_ADD = 3,    /* tag, order +, pc, address, element size, count, name */
	CRAY_EV_REMOVE = 4, /* tag, order +, pc, address */
	CRAY_EV_MARK = 5,   /* value, text */
	CRAY_EV_GAP = 6,    /* cause, count */
	CRAY_EV_CORO = 7,   /* id, how, text */
	CRAY_EV_ALLOC = 8,  /* ticket?, pc, address, bytes, stack */
	CRAY_EV_FREE = 9,   /* ticket?, pc, address */
	CRAY_EV_ENTER = 10, /* function, call site */
	CRAY_EV_EXIT = 11,  /* functions left */
};

/*
 * CRAY_EV_CORO: the coroutine that the thread runs from here on.  The low byte of `how` is the
 * cause.  The text is kind, file, function and line (decimal) of the site at which it was suspended
 * last, separated by NULs; empty parts are unknown.
 */
enum {
	CRAY_CORO_RESUMED = 1,   /* it was resumed: a slice begins */
	CRAY_CORO_RETURNED = 2,  /* another one gave the thread back; id 0: to no coroutine */
	CRAY_CORO_CONTINUED = 3, /* the same as before: repeated at the start of a block */
	CRAY_CORO_CAUSE = 0xff,  /* mask */
	CRAY_CORO_OWN_ID =
		0x100, /* the memory runtime chose the id: no trace of coroutines has it */
};

/* Tags of accesses and annotations, as in the raw Cacheray format. */
enum {
	CRAY_READ = 0x00,
	CRAY_WRITE = 0x01,
	CRAY_RTTA_ADD = 0x02,
	CRAY_RTTA_REMOVE = 0x03,
	CRAY_KIND = 0x3f, /* mask */
	CRAY_ATOMIC = 0x40,
	CRAY_UNALIGNED = 0x80,
};

/* Attributes of a site; the raw format cannot store them. */
enum {
	CRAY_ATTR_VOLATILE = 0x01,
	CRAY_ATTR_VPTR = 0x02,     /* virtual table pointer of a C++ object */
	CRAY_ATTR_RANGE = 0x04,    /* part of one longer access: struct copy, range */
	CRAY_ATTR_LIBRARY = 0x08,  /* made by memcpy, memset and similar functions */
	CRAY_ATTR_COMPOUND = 0x10, /* half of x++: a read and a write, two records */
};

#ifdef __cplusplus
#define CRAY_ASSERT(cond, text) static_assert(cond, text)
#else
#define CRAY_ASSERT(cond, text) _Static_assert(cond, text)
#endif
#define CRAY_SIZE(type, size) CRAY_ASSERT(sizeof(struct type) == (size), #type " changed its size")
#define CRAY_FIELD(type, field, off, size)                               \
	CRAY_ASSERT(offsetof(struct type, field) == (off) &&             \
			    sizeof(((struct type *)0)->field) == (size), \
		    #type "." #field " changed: older files become unreadable")

CRAY_SIZE(cray_file, 64);
CRAY_FIELD(cray_file, major, 8, 2);
CRAY_FIELD(cray_file, minor, 10, 2);
CRAY_FIELD(cray_file, size, 12, 4);
CRAY_FIELD(cray_file, byte_order, 16, 4);
CRAY_FIELD(cray_file, pointer, 20, 2);
CRAY_FIELD(cray_file, codec, 22, 2);
CRAY_FIELD(cray_file, flags, 24, 8);
CRAY_FIELD(cray_file, start_ns, 32, 8);
CRAY_FIELD(cray_file, start_wall_ns, 40, 8);
CRAY_FIELD(cray_file, crc, 60, 4);
CRAY_SIZE(cray_chunk, 40);
CRAY_FIELD(cray_chunk, type, 8, 2);
CRAY_FIELD(cray_chunk, codec, 10, 1);
CRAY_FIELD(cray_chunk, flags, 11, 1);
CRAY_FIELD(cray_chunk, head, 12, 2);
CRAY_FIELD(cray_chunk, stored, 16, 4);
CRAY_FIELD(cray_chunk, plain, 20, 4);
CRAY_FIELD(cray_chunk, number, 24, 4);
CRAY_FIELD(cray_chunk, stored_crc, 28, 4);
CRAY_FIELD(cray_chunk, crc, 36, 4);
CRAY_SIZE(cray_block, 88);
CRAY_FIELD(cray_block, thread, 0, 4);
CRAY_FIELD(cray_block, nr_records, 4, 4);
CRAY_FIELD(cray_block, nr_accesses, 8, 4);
CRAY_FIELD(cray_block, weight_256, 12, 4);
CRAY_FIELD(cray_block, order_first, 16, 8);
CRAY_FIELD(cray_block, order_last, 24, 8);
CRAY_FIELD(cray_block, time_first_ns, 32, 8);
CRAY_FIELD(cray_block, time_last_ns, 40, 8);
CRAY_FIELD(cray_block, lost, 48, 8);
CRAY_FIELD(cray_block, left_out, 56, 8);
CRAY_FIELD(cray_block, thread_seq, 64, 8);
CRAY_SIZE(cray_fact, 8);
CRAY_SIZE(cray_module, 80);
CRAY_FIELD(cray_module, build_id, 40, 32);
CRAY_FIELD(cray_module, build_id_size, 72, 1);
CRAY_FIELD(cray_module, gone, 73, 1);
CRAY_FIELD(cray_module, path_size, 74, 2);
CRAY_SIZE(cray_thread, 32);
CRAY_FIELD(cray_thread, id, 8, 8);
CRAY_SIZE(cray_stack, 8);
CRAY_SIZE(cray_lost, 16);
CRAY_SIZE(cray_index, 16);
CRAY_SIZE(cray_entry, 32);
CRAY_SIZE(cray_end, 64);
CRAY_SIZE(cray_foot, 32);
CRAY_SIZE(cray_streams, 32);

#endif
