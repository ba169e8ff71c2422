/* SPDX-License-Identifier: MIT */
/*
 * compact.h - the compact trace, NAME.ct: the layout, byte by byte.
 *
 * A file is a head, then blocks, then an end record.  All numbers are little-endian.  A block is a
 * head, a table of its columns and the columns, each of them as it is or compressed by zstd.
 * Blocks do not depend on each other: one can be read alone, and a damaged one takes no other with
 * it.  Nothing that was written is ever changed, so a killed writer leaves whole blocks and at most
 * one partial block at the end.
 *
 *	facts    a column of JSON lines, as a sidecar has them (sidecar.h)
 *	events   one column per member of an event, predicted from earlier events of the same
 *	         block (compact_model.h)
 *	index    where the blocks are, with their times, kinds, coroutines and sites
 *	switches times in which a thread had no processor (compact_switches.h)
 *
 * docs/compact-format.md describes all of it for other readers.
 *
 * Extending the format
 *   A reader skips and counts blocks of an unknown type, and ignores columns that it does not
 *   know.  Types from 5 on are free: for frames and stamps of memory traces.
 *   Any other change needs a new COMPACT_VERSION.
 */
#ifndef TRACE_COMPACT_H
#define TRACE_COMPACT_H

#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "blocks are written as they lie in memory, and the format is little-endian"
#endif

#define COMPACT_VERSION     1
#define COMPACT_MAGIC       "\211CTRACE\n"
#define COMPACT_END_MAGIC   "\211CTEND\r\n"
#define COMPACT_MAGIC_SIZE  8
#define COMPACT_BLOCK_MAGIC UINT32_C(0x4b425443) /* "CTBK" */

/* Limits that a writer keeps, and beyond which a reader calls a block damaged. */
#define COMPACT_ITEMS_MAX   65536u
#define COMPACT_THREADS_MAX 4096u
#define COMPACT_COLUMNS_MAX 64u
#define COMPACT_COLUMN_MAX  (UINT32_C(32) << 20) /* bytes, as they are before compression */
#define COMPACT_PAYLOAD_MAX (UINT32_C(64) << 20)

struct compact_file_head {
	uint8_t magic[COMPACT_MAGIC_SIZE];
	uint16_t version;
	uint16_t size; /* of this head: the first block begins there */
	uint32_t reserved[4];
	uint32_t crc; /* of the bytes before it */
};

enum compact_type { COMPACT_FACTS = 1, COMPACT_EVENTS, COMPACT_INDEX, COMPACT_SWITCHES };

struct compact_block_head {
	uint32_t magic;
	uint8_t type; /* enum compact_type */
	uint8_t reserved;
	uint16_t nr_columns;
	uint32_t size; /* of what follows this head: table and columns */
	uint32_t payload_crc;
	uint64_t number;                            /* 0, 1, 2, ... of all blocks */
	uint64_t transitions_before, others_before; /* events in the blocks before */
	uint32_t transitions, others;               /* events in this block */
	/* Of its events; of facts that are all about times; 0 otherwise. */
	uint64_t min_ts, max_ts;
	uint32_t items; /* events and gaps, or lines, or entries of the index */
	/* Events: bit k: kind k occurs; bit 15: gaps.  Facts: bit t: item type t occurs. */
	uint16_t kinds;
	uint16_t reserved2;
	uint32_t reserved3;
	uint32_t crc; /* of the bytes before it */
};

/* One row of the table.  A column that is missing is empty, or all zero. */
struct compact_column {
	uint8_t id;
	uint8_t coding; /* enum compact_coding */
	uint16_t reserved;
	uint32_t raw_size;
	uint32_t stored_size;
};

enum compact_coding { COMPACT_RAW, COMPACT_ZSTD };

/* The columns of facts and of the index. */
enum { COMPACT_LINES = 1 };
enum { COMPACT_ENTRIES = 1, COMPACT_SETS = 2 };

/* The columns of events. */
enum compact_column_id {
	COMPACT_SHAPE = 1,   /* u8 per item: kind, and the lower 4 bits of the thread */
	COMPACT_THREAD_HIGH, /* u8 per item: the upper 8 bits of the thread */
	COMPACT_DELTA_0,     /* u8 per item: bits 0 to 7 of the time since the item before, */
	COMPACT_DELTA_1,     /* 8 to 15, */
	COMPACT_DELTA_2,     /* and 16 to 23; all bits set: the difference is in COMPACT_LONG */
	COMPACT_LONG,        /* u64 each */
	COMPACT_MISS,        /* u8 per item: enum compact_miss */
	COMPACT_MORE,        /* u8 per item with COMPACT_MISS_MORE: enum compact_more */
	COMPACT_INDEX_LOW,   /* u8: coroutines, of wakes first, then of all others */
	COMPACT_INDEX_HIGH,  /* u8: the upper bytes of these */
	COMPACT_TIDS,        /* varint each: the threads, in the order of their first item */
	COMPACT_IDS,         /* signed varint each: the coroutines likewise, as differences */
	COMPACT_ADDR,        /* the rest are values that were predicted wrongly */
	COMPACT_SEQ,
	COMPACT_SITE,
	COMPACT_REASON, /* two bytes each: reason, flags */
	COMPACT_RESOURCE,
	COMPACT_PEER,
	COMPACT_SEEN,
	COMPACT_STATION,
	COMPACT_PID,
	COMPACT_WRITTEN,
	COMPACT_LOST,
	COMPACT_NAME_SIZE,
	COMPACT_NAMES, /* bytes */
	COMPACT_GAPS,  /* JSON lines, one per gap */
	NR_COMPACT_COLUMNS,
};

/*
 * The columns of switches.  Those before COMPACT_SWITCH_LONG have a byte per item, and are missing
 * if all of it is zero.
 */
enum compact_switch_column_id {
	COMPACT_SWITCH_THREAD_LOW = 1, /* index of the thread */
	COMPACT_SWITCH_THREAD_HIGH,
	COMPACT_SWITCH_STATE, /* 0 blocked, 1 preempted, 2 ready */
	COMPACT_SWITCH_CPU_LOW,
	COMPACT_SWITCH_CPU_HIGH,
	COMPACT_SWITCH_END_0, /* to_ts since that of the item before: as COMPACT_DELTA_0 */
	COMPACT_SWITCH_END_1,
	COMPACT_SWITCH_END_2,
	COMPACT_SWITCH_LENGTH_0, /* from_ts to to_ts: likewise */
	COMPACT_SWITCH_LENGTH_1,
	COMPACT_SWITCH_LENGTH_2,
	COMPACT_SWITCH_LONG,    /* u64 each: ends and lengths that need more, in order of items */
	COMPACT_SWITCH_THREADS, /* two varints each: pid and tid, in order of their first item */
	NR_COMPACT_SWITCH_COLUMNS,
};

#define COMPACT_SWITCH_PLANES (COMPACT_SWITCH_LONG - COMPACT_SWITCH_THREAD_LOW)

/* Bits of COMPACT_MISS: the value is in its column.  A suspend only: COMPACT_MISS_ID. */
enum compact_miss {
	COMPACT_MISS_ID = 1,
	COMPACT_MISS_ADDR = 2,
	COMPACT_MISS_SEQ = 4,
	COMPACT_MISS_SITE = 8,
	COMPACT_MISS_REASON = 16, /* reason or flags */
	COMPACT_MISS_RESOURCE = 32,
	COMPACT_MISS_SEEN = 64,
	COMPACT_MISS_MORE = 128,
};

enum compact_more {
	COMPACT_MORE_PEER = 1,
	COMPACT_MORE_STATION = 2,
	COMPACT_MORE_PID = 4,
	COMPACT_MORE_WRITTEN = 8,
	COMPACT_MORE_LOST = 16,
	COMPACT_MORE_NAME = 32,
};

#define COMPACT_KIND_GAP   15u
#define COMPACT_DELTA_LONG UINT32_C(0xffffff)

/* One block in the index. */
struct compact_entry {
	uint64_t offset;
	uint64_t min_ts, max_ts;
	uint32_t size; /* with its head */
	uint32_t items;
	uint32_t transitions, others;
	uint32_t set; /* events: where its sets begin in COMPACT_SETS */
	uint8_t type;
	uint8_t reserved;
	uint16_t kinds;
};

/* A block with more coroutines than this has their range in the index, not their list. */
#define COMPACT_SET_MAX 1024u

struct compact_end {
	uint8_t magic[COMPACT_MAGIC_SIZE];
	uint64_t index; /* offset of the index block */
	uint64_t blocks;
	uint32_t reserved;
	uint32_t crc; /* of the bytes before it */
};

_Static_assert(sizeof(struct compact_file_head) == 32, "this is another format");
_Static_assert(sizeof(struct compact_block_head) == 80, "this is another format");
_Static_assert(sizeof(struct compact_column) == 12, "this is another format");
_Static_assert(sizeof(struct compact_entry) == 48, "this is another format");
_Static_assert(sizeof(struct compact_end) == 32, "this is another format");
_Static_assert(offsetof(struct compact_block_head, crc) == 76, "this is another format");

#endif
