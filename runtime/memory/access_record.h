/* SPDX-License-Identifier: MIT */
/*
 * access_record.h - the fast path: one access, recorded.
 *
 * A callback runs before nearly every load and store of the program, so the fast path is minimal:
 * two loads decide whether to record and whether this thread is up to date, one instruction
 * reserves a unit, two stores fill it.  Everything else is in recorder.c.
 *
 * Signals.  A handler may run between any two instructions and record accesses as well.
 * Reserving is one instruction (x86: xadd without lock, on a thread-local word), so both get
 * separate units.  One bit of the position shows whether it is inside a chunk (wire.h), so no
 * other state that the handler changed matters.
 *
 * Order. crt_state.word counts annotations.  A thread whose `seen` differs from the word records
 * the new order in its stream before it continues.  A relaxed load is enough: if the program
 * itself ordered an annotation before this access (a lock, a flag), coherence makes this load see
 * it; if it did not, both orders are correct.
 */
#ifndef RUNTIME_MEMORY_ACCESS_RECORD_H
#define RUNTIME_MEMORY_ACCESS_RECORD_H

#include <stdint.h>

#include "wire.h"

#define CRT_OVER (CRW_CHUNK_SIZE / 2) /* bit set in a position past the end of its chunk */

/*
 * A separate page that is zero in a child after fork (MADV_WIPEONFORK): however the child was
 * forked, it does not write into its parent's rings.
 */
struct crt_state {
	uint64_t word;    /* annotations so far << 1 | recording */
	uint64_t session; /* 1: this process has a session */
	uint8_t rest[4096 - 16];
};
extern struct crt_state crt_state __attribute__((visibility("hidden")));
#define CRT_ON     UINT64_C(1)
#define CRT_UNSEEN (~CRT_ON) /* crt_thread.seen: always use the slow path; no value of the word */

/* Thread-local state of the recorder. */
struct crt_thread {
	uint64_t cur;    /* address of the next unit */
	uint64_t seen;   /* crt_state.word at its last check, with CRT_ON; or CRT_UNSEEN */
	uint64_t order;  /* last order in its stream */
	uint64_t ticket; /* of the annotation that it is recording; 0: none */
	struct crw_slot *slot;
	uint8_t *ring;
	uint64_t number;   /* number of sealed chunks */
	uint64_t lost;     /* accesses lost since the last gap in the stream */
	uint64_t left;     /* accesses left in this burst, or until the next one */
	uint64_t skipped;  /* accesses between bursts since the last gap in the stream */
	uint64_t filtered; /* the same for accesses outside the regions */
	uint32_t open;     /* 1: it has an open chunk */
	uint32_t resting;  /* 1: between bursts */
	uint32_t period_begun;
	uint32_t generation;  /* of the session whose slot it has */
	uint32_t tries;       /* accesses until the next search for a free slot */
	uint32_t starved;     /* accesses until the next search for memory */
	uint32_t freed;       /* crw_header.freed before its last search for a slot */
	uint32_t refused;     /* 1: it was counted in crw_header.refused, and waits no more */
	uint32_t ending;      /* calls of the thread-exit hook */
	uint32_t uncounted;   /* 1: what it records is not counted as lost */
	uint32_t calls_known; /* 1: the stream has the functions that the thread is in */
	uint32_t stamp_due;   /* 1: the stream lacks which coroutine runs: coroutine_stamp.h */
	struct crt_coroutine *running; /* NULL: none */
	uint64_t running_id;           /* of it */
};
extern __thread struct crt_thread crt_self __attribute__((visibility("hidden")));

/* recorder.c: the slow path. */
void crt_slow(uint64_t address, uint64_t w1) __attribute__((visibility("hidden")));
void crt_range(uint64_t address, uint64_t w1, uint64_t size, uint64_t flags)
	__attribute__((visibility("hidden")));

/* Reserve @n bytes in the thread's chunk; atomic with respect to signal handlers of this thread. */
static inline uint64_t crt_reserve(uint64_t n)
{
#if defined(__x86_64__)
	__asm__ volatile("xaddq %0, %1" : "+r"(n), "+m"(crt_self.cur) : : "memory");
	return n;
#else
	return __atomic_fetch_add(&crt_self.cur, n, __ATOMIC_RELAXED);
#endif
}

static inline void crt_fill(uint64_t at, uint64_t w0, uint64_t w1)
{
	struct crw_unit *unit = (struct crw_unit *)at; /* NOLINT(performance-no-int-to-ptr) */
	/*
	 * The mark is read from the unit's own chunk: a signal handler may have begun another one
	 * since the unit was reserved.
	 */
	const struct crw_chunk_head *head =
		(const struct crw_chunk_head *)(at & ~(uint64_t)(CRW_CHUNK_SIZE - 1));

	w1 |= head->round;
	__atomic_store_n(&unit->w0, w0, __ATOMIC_RELAXED);
	/*
	 * (mem-M) pairs with the membarrier in inprocess_writer_settle().  A compiler barrier is
	 * enough: other readers have seen the chunk sealed or the thread ended.
	 */
	__atomic_signal_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&unit->w1, w1, __ATOMIC_RELAXED);
}

/* Record one access of a thread that is up to date. */
static inline __attribute__((always_inline)) void crt_record(uint64_t address, uint64_t w1)
{
	uint64_t at = crt_reserve(CRW_UNIT);

	if (__builtin_expect((at & CRT_OVER) != 0, 0)) {
		crt_slow(address, w1);
		return;
	}
#ifdef __x86_64__
	/* The next units are likely in the cache of the consumer. */
	__asm__ volatile("prefetchw 1024(%0)" : : "r"(at));
#endif
	crt_fill(at, address, w1);
}

/*
 * Record one access if recording is on.  A macro, so that @pc is not read before that is known.
 * One comparison shows that recording is on and that the thread is up to date.  Laid out for a
 * program that is not traced: two branches that are not taken.
 */
#define crt_access(address, code, pc)                                                   \
	do {                                                                            \
		uint64_t crt_word = __atomic_load_n(&crt_state.word, __ATOMIC_RELAXED); \
                                                                                        \
		if (__builtin_expect(crt_word != crt_self.seen, 1)) {                   \
			if (__builtin_expect(!(crt_word & CRT_ON), 1))                  \
				break;                                                  \
			crt_slow(address, (uint64_t)(code) << 56 | (pc));               \
			break;                                                          \
		}                                                                       \
		crt_record(address, (uint64_t)(code) << 56 | (pc));                     \
	} while (0)

/* Record a range of any size.  The top byte of @pc is ignored; @flags as in CRW_EXTENT. */
static inline void crt_extent(uint64_t address, unsigned code, uint64_t pc, uint64_t size,
			      uint64_t flags)
{
	if ((__atomic_load_n(&crt_state.word, __ATOMIC_RELAXED) & CRT_ON) && size)
		crt_range(address, CRW_W1(code, pc), size, flags);
}

#define CRT_PC    ((uint64_t)(uintptr_t)__builtin_return_address(0))
#define CRT_AT(p) ((uint64_t)(uintptr_t)(p))
#define CRT_API   __attribute__((visibility("default")))

#endif
