/* SPDX-License-Identifier: MIT */
/*
 * stubs.c - empty versions of functions that programs call under ThreadSanitizer.
 *
 * Code under __SANITIZE_THREAD__ informs a race detector about locks, fibers and orders.  This
 * runtime detects no races, so these do nothing; without them such a program would not link.
 */
#include <stddef.h>

#define API __attribute__((visibility("default"), weak))
#define NOTHING(name, ...)          \
	API void name(__VA_ARGS__); \
	void name(__VA_ARGS__)      \
	{                           \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"

NOTHING(__tsan_acquire, void *p)
NOTHING(__tsan_release, void *p)
NOTHING(__tsan_mutex_create, void *p, unsigned f)
NOTHING(__tsan_mutex_destroy, void *p, unsigned f)
NOTHING(__tsan_mutex_pre_lock, void *p, unsigned f)
NOTHING(__tsan_mutex_post_lock, void *p, unsigned f, int n)
NOTHING(__tsan_mutex_pre_signal, void *p, unsigned f)
NOTHING(__tsan_mutex_post_signal, void *p, unsigned f)
NOTHING(__tsan_mutex_pre_divert, void *p, unsigned f)
NOTHING(__tsan_mutex_post_divert, void *p, unsigned f)
NOTHING(__tsan_destroy_fiber, void *p)
NOTHING(__tsan_switch_to_fiber, void *p, unsigned f)
NOTHING(__tsan_set_fiber_name, void *p, const char *name)
NOTHING(__tsan_flush_memory, void)
NOTHING(AnnotateHappensBefore, const char *f, int l, const volatile void *p)
NOTHING(AnnotateHappensAfter, const char *f, int l, const volatile void *p)
NOTHING(AnnotateCondVarSignal, const char *f, int l, const volatile void *p)
NOTHING(AnnotateCondVarWait, const char *f, int l, const volatile void *p, const volatile void *q)
NOTHING(AnnotateRWLockCreate, const char *f, int l, const volatile void *p)
NOTHING(AnnotateRWLockDestroy, const char *f, int l, const volatile void *p)
NOTHING(AnnotateRWLockAcquired, const char *f, int l, const volatile void *p, long w)
NOTHING(AnnotateRWLockReleased, const char *f, int l, const volatile void *p, long w)
NOTHING(AnnotateIgnoreReadsBegin, const char *f, int l)
NOTHING(AnnotateIgnoreReadsEnd, const char *f, int l)
NOTHING(AnnotateIgnoreWritesBegin, const char *f, int l)
NOTHING(AnnotateIgnoreWritesEnd, const char *f, int l)
NOTHING(AnnotateIgnoreSyncBegin, const char *f, int l)
NOTHING(AnnotateIgnoreSyncEnd, const char *f, int l)
NOTHING(AnnotateBenignRace, const char *f, int l, const volatile void *p, const char *d)
NOTHING(AnnotateBenignRaceSized, const char *f, int l, const volatile void *p, size_t n,
	const char *d)
NOTHING(AnnotateNewMemory, const char *f, int l, const volatile void *p, size_t n)
NOTHING(AnnotateThreadName, const char *f, int l, const char *name)

API unsigned __tsan_mutex_pre_unlock(void *p, unsigned f);
API unsigned __tsan_mutex_pre_unlock(void *p, unsigned f)
{
	return 0; /* recursion levels that were unlocked */
}
NOTHING(__tsan_mutex_post_unlock, void *p, unsigned f)

/* Any pointer other than NULL serves as a fiber. */
API void *__tsan_get_current_fiber(void);
API void *__tsan_get_current_fiber(void)
{
	static char one;

	return &one;
}

API void *__tsan_create_fiber(unsigned f);
API void *__tsan_create_fiber(unsigned f)
{
	return __tsan_get_current_fiber();
}
