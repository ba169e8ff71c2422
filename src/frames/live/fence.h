/* SPDX-License-Identifier: MIT */
/*
 * fence.h - two fences, as instructions.
 *
 * The C11 fences mean the same, but ThreadSanitizer does not support them and refuses to compile
 * them; and the C11 release fence also orders earlier loads, which is not needed here.  Each user
 * names the pair of its fence.
 */
#ifndef FRAMES_LIVE_FENCE_H
#define FRAMES_LIVE_FENCE_H

/* Loads before it stay before loads after it. */
static inline void fence_load_load(void)
{
#if defined(__aarch64__)
	__asm__ volatile("dmb ishld" ::: "memory");
#elif defined(__x86_64__)
	__asm__ volatile("" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/* Stores before it stay before stores after it. */
static inline void fence_store_store(void)
{
#if defined(__aarch64__)
	__asm__ volatile("dmb ishst" ::: "memory");
#elif defined(__x86_64__)
	__asm__ volatile("" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

#endif
