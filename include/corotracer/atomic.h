/* SPDX-License-Identifier: MIT */
/*
 * corotracer/atomic.h - the atomic accesses that cTP needs, with the order in the name.
 *
 * Fields of the region are plain integers, so that C, C++ and other languages use the same
 * struct layout; they are accessed only through these macros.  Every acquire, release and fence
 * in this project has a comment that names its pair: see the table in corotracer/slot.h, and
 * docs/barriers.md for all accesses.  scripts/check-barriers enforces it.
 */
#ifndef COROTRACER_ATOMIC_H
#define COROTRACER_ATOMIC_H

#include <corotracer/header_begin.h>

#define ctp_load_relaxed(p)         __atomic_load_n((p), __ATOMIC_RELAXED)
#define ctp_load_acquire(p)         __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define ctp_store_relaxed(p, v)     __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define ctp_store_release(p, v)     __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define ctp_fetch_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define ctp_exchange_relaxed(p, v)  __atomic_exchange_n((p), (v), __ATOMIC_RELAXED)

/* 1 if *@p was @from and is now @to; 0 if *@p had another value (never spuriously). */
#define ctp_cas_relaxed(p, from, to) ctp_cas_as(p, from, to, __ATOMIC_RELAXED)
#define ctp_cas_release(p, from, to) ctp_cas_as(p, from, to, __ATOMIC_RELEASE)
#define ctp_cas_acquire(p, from, to) ctp_cas_as(p, from, to, __ATOMIC_ACQUIRE)
#define ctp_cas_as(p, from, to, order)                                                             \
	__extension__({                                                                            \
		__typeof__(*(p)) ctp_cas_from = (from);                                            \
		__atomic_compare_exchange_n((p), &ctp_cas_from, (to), 0, order, __ATOMIC_RELAXED); \
	})

/*
 * ctp_fence_store_store() orders the stores before it before the stores after it.  It is a C11
 * release fence without the ordering of earlier loads, which no user of it needs: "dmb ishst"
 * instead of "dmb ish" on aarch64, which takes 3.9 instead of 7.0 ns for a whole slot.  x86 keeps
 * stores in order: there it is only a compiler barrier.
 */
#if defined(__aarch64__)
#define ctp_fence_store_store() __asm__ volatile("dmb ishst" ::: "memory")
#elif defined(__x86_64__)
#define ctp_fence_store_store() __asm__ volatile("" ::: "memory")
#else
#define ctp_fence_store_store() __atomic_thread_fence(__ATOMIC_RELEASE)
#endif

/*
 * ctp_fence_load_load() orders the loads before it before the loads after it: a C11 acquire fence
 * ("dmb ishld" on aarch64), as inline assembly to match the store-store fence.
 */
#if defined(__aarch64__)
#define ctp_fence_load_load() __asm__ volatile("dmb ishld" ::: "memory")
#elif defined(__x86_64__)
#define ctp_fence_load_load() __asm__ volatile("" ::: "memory")
#else
#define ctp_fence_load_load() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

/*
 * ctp_fence_full() orders all accesses, including a store before a later load.  It is inline
 * assembly because the compiler warns at every __atomic_thread_fence() under ThreadSanitizer, which
 * does not model fences.  No code here needs ThreadSanitizer to see this fence.
 */
#if defined(__aarch64__)
#define ctp_fence_full() __asm__ volatile("dmb ish" ::: "memory")
#elif defined(__x86_64__)
#define ctp_fence_full() __asm__ volatile("mfence" ::: "memory")
#else
#define ctp_fence_full() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

/*
 * ctp_fence_handover() comes before the stores to a coroutine's shared fields by a thread that may
 * have taken the coroutine over.  The program's hand-over is a release and an acquire: this thread
 * has seen the stores of the last one.  A third thread may see the stores of this one first,
 * unless a store becomes visible to all other threads at once, as on x86-64 and aarch64, where the
 * fence is nothing.  POWER, for one, needs it.
 */
#if defined(__aarch64__) || defined(__x86_64__)
#define ctp_fence_handover() ((void)0)
#else
#define ctp_fence_handover() __atomic_thread_fence(__ATOMIC_RELEASE)
#endif

#define ctp_likely(x)   __builtin_expect(!!(x), 1)
#define ctp_unlikely(x) __builtin_expect(!!(x), 0)

#include <corotracer/header_end.h>

#endif
