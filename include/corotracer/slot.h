/* SPDX-License-Identifier: MIT */
/*
 * corotracer/slot.h - write and read one slot: the seqlock of cTP.
 *
 *   writer (ctp_slot_write)                 reader (ctp_slot_read)
 *   seq = odd        relaxed                s1 = seq         acquire   (ctp-B)
 *   fence            store-store (ctp-A)    copy payload     relaxed
 *   payload          relaxed                fence            load-load (ctp-A)
 *   seq = even       release     (ctp-B)    s2 = seq         relaxed
 *                                           keep the copy if s1 == s2 and even
 *
 * The ordering pairs of the whole protocol.  The comment at an ordered access cites its letter;
 * docs/barriers.md lists the accesses of each letter.
 *
 *   (ctp-A) if the reader saw any payload of write n, it sees seq >= odd(n)
 *   (ctp-B) if the reader saw seq == even(n), it sees the whole payload of write n
 *   (ctp-C) either the writer sees sleeping, or the collector sees the event
 *   (ctp-D) if the reader saw is_dead, it sees death_ts and every event
 *   (ctp-E) if the reader saw a station's or header's extension magic, it sees the
 *           fields that the magic announces
 *   (ctp-F) if a thread saw a session's generation, it sees the session
 *   (ctp-G) the published clock is read consistently: as (ctp-A) and (ctp-B), but the
 *           collector writes and the programs read
 *   (ctp-H) if the collector saw a lane's head at n, it sees n bytes of records and the links
 *           of their chunks
 *   (ctp-I) if the collector saw a lane open or closed, it sees the lane's owner and its last
 *           head
 *   (ctp-J) a thread that takes a unit from a pool sees every access to the unit from before
 *           the unit was given back; so does a lane that sees its chunks returned
 *   (ctp-K) if a program saw a pool's committed count, the memory of these units is allocated
 *   (ctp-L) if the collector saw a site ready, it sees the site
 *   (ctp-M) if a reader of a ctp_life sees the same id before and after, its copy belongs to
 *           that id
 *   (ctp-N) if a thread publishes for another thread, that thread still owns its lane (C++:
 *           events.h)
 *   (ctp-O) what a program counts before it has attached reaches the collector
 *   (ctp-P) a thread that takes over a lane sees everything that the lane's last thread wrote
 *   (ctp-Q) either a program that closes its gate sees the order, or the tool opens the gate later
 *   (ctp-R) a thread that creates a coroutine while its session ends sees that it ends, or its id
 * is replaced by zeros (request_slow.h)
 *
 * A release *store* of the odd value does not give (ctp-A): it orders the accesses before it, and
 * the payload comes after.  An acquire load of s2 does not give (ctp-A) either: it orders the
 * accesses after it, and the payload comes before.  tests/stress/seqlock.c shows both forms on
 * real cores.
 *
 * Write n (from 1) of a slot leaves seq at 2n, so seq / 2 counts the slot's writes.  The
 * collector computes the number of lost events from it.
 */
#ifndef COROTRACER_SLOT_H
#define COROTRACER_SLOT_H

#include <corotracer/atomic.h>
#include <corotracer/ctp.h>

#include <corotracer/header_begin.h>

/* A copy of a slot's payload, in private memory. */
struct ctp_event {
	uint64_t time_ns;
	uint64_t tid;
	uint64_t addr;
	uint64_t seq; /* seq of the slot when the copy was taken */
	uint8_t is_active;
};

/* Write the event that leaves @slot at @seq (even).  A slot has one writer at a time. */
static inline void ctp_slot_write(struct ctp_epoch *slot, uint64_t seq, uint64_t time_ns,
				  uint64_t tid, uint64_t addr, uint8_t is_active)
{
	ctp_store_relaxed(&slot->seq, seq - 1);
	/* (ctp-A) pairs with the load-load fence in ctp_slot_read(). */
	ctp_fence_store_store();

	ctp_store_relaxed(&slot->timestamp, time_ns);
	ctp_store_relaxed(&slot->tid, tid);
	ctp_store_relaxed(&slot->addr, addr);
	ctp_store_relaxed(&slot->is_active, is_active);

	/* (ctp-B) pairs with the acquire load in ctp_slot_read(). */
	ctp_store_release(&slot->seq, seq);
}

/* Copy the payload without a check: the caller compares seq to accept or reject the copy. */
static inline void ctp_slot_copy(const struct ctp_epoch *slot, struct ctp_event *out)
{
	out->time_ns = ctp_load_relaxed(&slot->timestamp);
	out->tid = ctp_load_relaxed(&slot->tid);
	out->addr = ctp_load_relaxed(&slot->addr);
	out->is_active = ctp_load_relaxed(&slot->is_active);
}

/*
 * Read the slot if it holds the complete write that leaves seq at @seq.  Returns 1 with @out
 * filled, or 0 if seq differs or the writer changed the slot during the copy.
 */
static inline int ctp_slot_read(const struct ctp_epoch *slot, uint64_t seq, struct ctp_event *out)
{
	/* (ctp-B) pairs with the release store in ctp_slot_write(). */
	if (ctp_load_acquire(&slot->seq) != seq)
		return 0;

	ctp_slot_copy(slot, out);
	out->seq = seq;

	/* (ctp-A) pairs with the store-store fence in ctp_slot_write(). */
	ctp_fence_load_load();
	return ctp_load_relaxed(&slot->seq) == seq;
}

#include <corotracer/header_end.h>

#endif
