/* SPDX-License-Identifier: MIT */
/*
 * frames_abi.h - layout shared by generated code and collector, to the byte.
 *
 * The control block of the base protocol comes first, in its order, with the attr size of its
 * time (112), whatever the kernel headers of either side say.  The corotracer extension follows
 * at PPT_EXT_OFFSET, where a reader of the base protocol does not look; control_blk_sz and a
 * magic number announce it.  docs/frames.md describes the protocol in words.
 *
 * Rules for editing this file
 *   - fixed-width integers only; 64-bit, little-endian machines
 *   - a field never moves and never changes meaning; new fields use reserved space, which
 *     is zero and ignored by older code
 *   - fields marked [shared] are read and written with atomics only
 *   - generated code has its own copy (template/ppt.c.in); tests/frames checks that the two
 *     agree
 *
 * "collector" or "client" names the writer of a field; the client is the generated code.
 */
#ifndef FRAMES_SPEC_FRAMES_ABI_H
#define FRAMES_SPEC_FRAMES_ABI_H

#include <stddef.h>
#include <stdint.h>

#define PPT_ABI       "1.1.0" /* of this generator; the major number is the base protocol's */
#define PPT_ABI_OLD   "1.0.0" /* of the existing ppt tool */
#define PPT_ABI_MAJOR 1

#define PPT_COUNTERS  3
#define PPT_ATTR_SIZE 112 /* PERF_ATTR_SIZE_VER5 */

/* ---- symbols -------------------------------------------------------------- */

/*
 * Names in the base protocol, which this generator emits: __ppt_<buffer>_stat,
 * __ppt_<buffer>_hmem, __ppt_<buffer>_json.  Names of the existing ppt tool, which --dialect ppt
 * emits: _ppt_stat_<buffer>, _ppt_hmem_<buffer>, _ppt_json_<buffer>.  In both, _json is a
 * pointer variable (8 bytes) to terminated text.
 */
#define PPT_SYMBOL_PREFIX   "__ppt_"
#define PPT_SYMBOL_STAT     "_stat"
#define PPT_SYMBOL_HMEM     "_hmem"
#define PPT_SYMBOL_JSON     "_json"
#define PPT_OLD_SYMBOL_STAT "_ppt_stat_"
#define PPT_OLD_SYMBOL_HMEM "_ppt_hmem_"
#define PPT_OLD_SYMBOL_JSON "_ppt_json_"

struct ppt_stat {
	int32_t ppt_agent_pid; /* [shared] collector; the client ignores it */
	int32_t client_error;  /* [shared] client: errno of the last attach that failed */
};

struct ppt_hmem {
	/*
	 * [shared] 0: detached, PPT_HMEM_DETACH, or the id of the control block's segment.  The
	 * collector writes it; the client only replaces the value it acted upon by 0 (it
	 * detached as asked, or could not attach).
	 */
	int32_t id;
	int32_t reserved; /* the existing ppt collector writes eight bytes */
};

#define PPT_HMEM_NONE   0
#define PPT_HMEM_DETACH (-1) /* request to detach: the client unmaps, then stores 0 */

/* ---- the control block ---------------------------------------------------- */

/* The base protocol's part, first in the segment. */
struct ppt_control {
	uint64_t control_blk_sz;           /* collector */
	uint64_t data_block_hmem;          /* [shared] collector; resizable buffers */
	uint64_t data_block_hmem_attached; /* [shared] client; resizable buffers */
	uint64_t data_block;    /* [shared] client: address of slot 0 in its address space */
	uint64_t data_block_sz; /* [shared] client: slots in use, a power of two */
	uint32_t nr_perf_ctrs;  /* collector: 0 to 3 */
	uint32_t reserved;
	uint8_t counterdata[PPT_COUNTERS][PPT_ATTR_SIZE]; /* collector: perf_event_attr */
	uint64_t client_flags;                            /* [shared] client */
	uint8_t gap[56];                                  /* zero */
	/* The extension: valid only if control_blk_sz and magic announce it. */
	uint64_t magic;       /* collector: PPT_EXT_MAGIC */
	uint32_t ext_version; /* collector: PPT_EXT_VERSION */
	int32_t client_pid;   /* [shared] client: pid that attached (a forked child differs) */
	uint64_t data_offset; /* [shared] client: offset of slot 0 in its segment */
	uint32_t stride;      /* [shared] client: bytes from slot to slot */
	uint32_t threads;     /* [shared] client: threads that saved a frame while attached */
	uint64_t calib_ticks; /* [shared] client, at attach: cycle counter ... */
	uint64_t calib_ns;    /* [shared] ... and CLOCK_MONOTONIC at that moment */
	/* [shared] client, resizable: last data block that all its threads have left. */
	uint64_t data_block_hmem_left;
	int32_t counter_error; /* [shared] client: errno of the last counter that failed to open */
	uint32_t counter_slot; /* [shared] client: index of that counter */
	/* A separate cache line: all threads of the client write it. */
	uint64_t next_ticket; /* [shared] client; collector sets it to 1 before the attach */
	uint64_t dropped;     /* [shared] client: tickets that it could not write */
	uint32_t stamp_kind;  /* collector: PPT_STAMP_*, before the attach */
	uint32_t block_size;  /* collector: tickets that a thread takes at once; 0, 1: one */
	uint32_t counts_used; /* [shared] client: entries of struct ppt_counts in use, or more */
	uint8_t spare[36];    /* zero */
};

/*
 * With block_size, after the control block (control_blk_sz is PPT_CONTROL_SIZE_COUNTS): how many
 * frames each thread saved, since tickets of a block may stay unused.  The last entry is shared by
 * threads that find no other one, and by signal handlers.
 */
struct ppt_count {
	uint64_t saved; /* [shared] client */
	uint8_t spare[56];
};

#define PPT_COUNTS 55

/*
 * Who saved a frame, and when: a stamp per slot.  The stamps follow the slots; there are as many
 * slots as fit together with their stamps.  A client that knows them has "stamps" in its
 * description; a collector sets stamp_kind for no other.
 */
struct ppt_stamp {
	uint64_t time; /* [shared] client: in the unit of stamp_kind */
	uint64_t tid;  /* [shared] client: thread id, in its own pid namespace */
};

#define PPT_STAMP_NONE                  0u
#define PPT_STAMP_NS                    1u /* CLOCK_MONOTONIC, nanoseconds */
#define PPT_STAMP_TICKS                 2u /* cycle counter */

#define PPT_CONTROL_SIZE_SEED           392 /* without the extension */
#define PPT_CONTROL_SIZE                576
#define PPT_CONTROL_SIZE_COUNTS         4096
#define PPT_EXT_OFFSET                  448
#define PPT_EXT_MAGIC                   UINT64_C(0x31304c5443545050) /* "PPTCTL01" */
#define PPT_EXT_VERSION                 1

#define PPT_CLIENT_FLAG_ATTACHED        1u  /* the client stores it last when it attaches */
#define PPT_CLIENT_FLAG_COUNTERS_SETUP  2u  /* a thread has opened the counters */
#define PPT_CLIENT_FLAG_COUNTERS_FAILED 4u  /* a thread could not open them: counter_error */
#define PPT_CLIENT_FLAG_COUNTERS_NATIVE 8u  /* a thread reads them without a system call */
#define PPT_CLIENT_FLAG_TICKS_ARE_NS    16u /* no cycle counter: ticks are nanoseconds */

/*
 * The existing ppt tool's control block, of the same length up to the extension: flags and
 * number of counters come before the attrs, and each attr follows a 32-bit word.  --dialect ppt
 * uses it.
 */
struct ppt_old_counter {
	uint32_t ecx;
	uint32_t reserved;
	uint8_t attr[PPT_ATTR_SIZE];
};

struct ppt_old_control {
	uint64_t control_blk_sz;
	uint64_t data_block_hmem;
	uint64_t data_block_hmem_attached;
	uint64_t data_block;
	uint64_t data_block_sz;
	uint64_t client_flags;
	uint32_t nr_perf_ctrs;
	uint32_t reserved;
	struct ppt_old_counter counterdata[PPT_COUNTERS];
};

/* ---- frames --------------------------------------------------------------- */

/* Offset of slot 0: the base protocol rounds up to a multiple of the stride. */
static inline uint64_t ppt_slot0_offset(uint64_t control_blk_sz, uint64_t stride)
{
	return (control_blk_sz + stride - 1) / stride * stride;
}

/* The slot of a sequence number; @slots is a power of two. */
static inline uint32_t ppt_slot_of(uint32_t seqno, uint32_t slots)
{
	return (seqno - 1) & (slots - 1);
}

/* The number of frames below @next_ticket: tickets whose low 32 bits are 0 are skipped. */
static inline uint64_t ppt_frames_issued(uint64_t next_ticket)
{
	return next_ticket ? next_ticket - 1 - ((next_ticket - 1) >> 32) : 0;
}

/* The value of a counter that was not measured.  A time that was not taken is 0. */
#define PPT_COUNTER_NONE UINT64_MAX

#define PPT_SLOTS_MIN    2u
#define PPT_SLOTS_MAX    (UINT32_C(1) << 30)

/* ---- compile-time checks -------------------------------------------------- */

#define PPT_FIELD(type, field, off, size)                                   \
	_Static_assert(offsetof(struct type, field) == (off) &&             \
			       sizeof(((struct type *)0)->field) == (size), \
		       #type "." #field " moved")

_Static_assert(sizeof(struct ppt_stat) == 8, "ppt_stat");
_Static_assert(sizeof(struct ppt_hmem) == 8, "ppt_hmem");
_Static_assert(sizeof(struct ppt_control) == PPT_CONTROL_SIZE, "ppt_control");
_Static_assert(sizeof(struct ppt_old_control) == 416, "ppt_old_control");
_Static_assert(sizeof(struct ppt_stamp) == 16, "ppt_stamp");
_Static_assert(PPT_CONTROL_SIZE + PPT_COUNTS * sizeof(struct ppt_count) == PPT_CONTROL_SIZE_COUNTS,
	       "ppt_count");
PPT_FIELD(ppt_stat, ppt_agent_pid, 0, 4);
PPT_FIELD(ppt_stat, client_error, 4, 4);
PPT_FIELD(ppt_hmem, id, 0, 4);
PPT_FIELD(ppt_control, control_blk_sz, 0, 8);
PPT_FIELD(ppt_control, data_block_hmem, 8, 8);
PPT_FIELD(ppt_control, data_block_hmem_attached, 16, 8);
PPT_FIELD(ppt_control, data_block, 24, 8);
PPT_FIELD(ppt_control, data_block_sz, 32, 8);
PPT_FIELD(ppt_control, nr_perf_ctrs, 40, 4);
PPT_FIELD(ppt_control, counterdata, 48, 336);
PPT_FIELD(ppt_control, client_flags, 384, 8);
PPT_FIELD(ppt_control, magic, PPT_EXT_OFFSET, 8);
PPT_FIELD(ppt_control, ext_version, 456, 4);
PPT_FIELD(ppt_control, client_pid, 460, 4);
PPT_FIELD(ppt_control, data_offset, 464, 8);
PPT_FIELD(ppt_control, stride, 472, 4);
PPT_FIELD(ppt_control, threads, 476, 4);
PPT_FIELD(ppt_control, calib_ticks, 480, 8);
PPT_FIELD(ppt_control, calib_ns, 488, 8);
PPT_FIELD(ppt_control, data_block_hmem_left, 496, 8);
PPT_FIELD(ppt_control, counter_error, 504, 4);
PPT_FIELD(ppt_control, counter_slot, 508, 4);
PPT_FIELD(ppt_control, next_ticket, 512, 8);
PPT_FIELD(ppt_control, dropped, 520, 8);
PPT_FIELD(ppt_control, stamp_kind, 528, 4);
PPT_FIELD(ppt_control, block_size, 532, 4);
PPT_FIELD(ppt_control, counts_used, 536, 4);
PPT_FIELD(ppt_old_control, client_flags, 40, 8);
PPT_FIELD(ppt_old_control, nr_perf_ctrs, 48, 4);
PPT_FIELD(ppt_old_control, counterdata, 56, 360);
PPT_FIELD(ppt_old_counter, attr, 8, PPT_ATTR_SIZE);

#endif
