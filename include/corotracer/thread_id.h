/* SPDX-License-Identifier: MIT */
/*
 * corotracer/thread_id.h - the number of the calling thread, also in a sandbox without gettid(2).
 *
 * Where gettid(2) is refused, a word that belongs to this thread alone is locked with futex(2): the
 * kernel stores the thread's id into it.  No other thread knows the word, so the call does not
 * wait, and there is nothing to unlock.  A sandbox may refuse that, too: the thread then has a
 * number from CTP_TID_OWN on, which the kernel never assigns (its ids are below 2^22).  It is made
 * from the thread's memory and differs between the threads that exist at one time.
 */
#ifndef COROTRACER_THREAD_ID_H
#define COROTRACER_THREAD_ID_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <corotracer/header_begin.h>

#ifndef CTP_SLOW
#define CTP_SLOW static __attribute__((unused, noinline, cold))
#endif

#define CTP_TID_OWN        UINT32_C(0x40000000)
#define CTP_FUTEX_LOCK     (6 | 128) /* FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG */
#define CTP_FUTEX_TID_MASK UINT32_C(0x3fffffff)

#ifdef __cplusplus
extern "C" {
#endif

/* 0 if the call is refused, or if the kernel has no such locks. */
CTP_SLOW uint32_t ctp_tid_by_futex(void)
{
	uint32_t owner = 0;

	if (syscall(SYS_futex, &owner, CTP_FUTEX_LOCK, 0, NULL, NULL, 0) != 0)
		return 0;
	return owner & CTP_FUTEX_TID_MASK;
}

/* errno is at another address in each thread.  The pid separates forked processes. */
CTP_SLOW uint32_t ctp_tid_by_address(void)
{
	uint64_t key = (uint64_t)(uintptr_t)&errno ^ (uint64_t)getpid() << 48;

	return CTP_TID_OWN | (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 34);
}

CTP_SLOW uint32_t ctp_thread_id(void)
{
	int saved = errno;
	long tid = syscall(SYS_gettid);
	uint32_t number = tid > 0 ? (uint32_t)tid : ctp_tid_by_futex();

	errno = saved;
	return number ? number : ctp_tid_by_address();
}

#ifdef __cplusplus
}
#endif

#include <corotracer/header_end.h>

#endif
