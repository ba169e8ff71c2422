/* SPDX-License-Identifier: MIT */
/*
 * weak_hooks.c - what the compiler calls with -fsanitize=thread: accesses go to weak_machine.h.
 *
 * An ordered access is identified by where it is called from.  weak_sites.h can make one weaker.
 */
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "weak_machine.h"
#include "weak_sites.h"

#define HERE __builtin_return_address(0)

/* Functions that the compiler calls have no declaration. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static const unsigned orders[] = { WEAK_RELAXED, WEAK_ACQUIRE, WEAK_ACQUIRE,
				   WEAK_RELEASE, WEAK_BOTH,    WEAK_SC };

/* ---- plain accesses ------------------------------------------------------------ */

#define PLAIN(size)                                 \
	void __tsan_read##size(void *at)            \
	{                                           \
		if (weak_covers(at))                \
			weak_plain_read(at, size);  \
	}                                           \
	void __tsan_write##size(void *at)           \
	{                                           \
		if (weak_covers(at))                \
			weak_plain_write(at, size); \
	}

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)

static void refuse_large(const void *at)
{
	if (weak_covers(at))
		weak_fail("an access of more than 8 bytes at once");
}

void __tsan_read16(void *at)
{
	refuse_large(at);
}

void __tsan_write16(void *at)
{
	refuse_large(at);
}

void __tsan_read_range(void *at, size_t size)
{
	(void)size;
	refuse_large(at);
}

void __tsan_write_range(void *at, size_t size)
{
	(void)size;
	refuse_large(at);
}

void __tsan_func_entry(void *from)
{
	(void)from;
}

void __tsan_func_exit(void)
{
}

void __tsan_init(void)
{
}

/* ---- atomic accesses -------------------------------------------------------------- */

static bool change_swap(uint64_t old, uint64_t from, uint64_t to, uint64_t *new_value)
{
	*new_value = to;
	return old == from;
}

static bool change_set(uint64_t old, uint64_t operand, uint64_t other, uint64_t *new_value)
{
	(void)old;
	(void)other;
	*new_value = operand;
	return true;
}

static bool change_add(uint64_t old, uint64_t operand, uint64_t mask, uint64_t *new_value)
{
	*new_value = (old + operand) & mask;
	return true;
}

static bool change_or(uint64_t old, uint64_t operand, uint64_t mask, uint64_t *new_value)
{
	*new_value = (old | operand) & mask;
	return true;
}

static bool change_and(uint64_t old, uint64_t operand, uint64_t mask, uint64_t *new_value)
{
	*new_value = old & operand & mask;
	return true;
}

/* The expected value of a compare-and-swap may be in the arena, too. */
static void expected_read(const void *from, unsigned size)
{
	if (weak_covers(from))
		weak_plain_read(from, size);
}

static void expected_write(void *from, const void *old, unsigned size)
{
	bool is_ours = weak_covers(from);

	if (is_ours)
		weak_plain_write(from, size);
	memcpy(from, old, size);
	if (is_ours)
		weak_memory_flush();
}

#define ATOMIC(bits, type)                                                                        \
	type __tsan_atomic##bits##_load(const type *at, int order)                                \
	{                                                                                         \
		unsigned kind = weak_site(HERE, 'l', orders[order]);                              \
		return weak_covers(at) ? (type)weak_load(at, bits / 8, kind)                      \
				       : __atomic_load_n(at, __ATOMIC_SEQ_CST);                   \
	}                                                                                         \
	void __tsan_atomic##bits##_store(type *at, type value, int order)                         \
	{                                                                                         \
		unsigned kind = weak_site(HERE, 's', orders[order]);                              \
		if (weak_covers(at))                                                              \
			weak_store(at, bits / 8, value, kind);                                    \
		else                                                                              \
			__atomic_store_n(at, value, __ATOMIC_SEQ_CST);                            \
	}                                                                                         \
	int __tsan_atomic##bits##_compare_exchange_strong(type *at, type *from, type to,          \
							  int order, int failed)                  \
	{                                                                                         \
		unsigned kind = weak_site(HERE, 'c', orders[order]);                              \
		unsigned other = weak_failed_site(HERE, orders[failed]);                          \
		type old, was;                                                                    \
		if (!weak_covers(at))                                                             \
			return __atomic_compare_exchange_n(at, from, to, 0, __ATOMIC_SEQ_CST,     \
							   __ATOMIC_SEQ_CST);                     \
		expected_read(from, bits / 8);                                                    \
		was = *from;                                                                      \
		old = (type)weak_modify(at, bits / 8, change_swap, was, to, kind, other);         \
		if (old == was)                                                                   \
			return 1;                                                                 \
		expected_write(from, &old, bits / 8);                                             \
		return 0;                                                                         \
	}                                                                                         \
	int __tsan_atomic##bits##_compare_exchange_weak(type *at, type *from, type to, int order, \
							int failed)                               \
	{                                                                                         \
		unsigned kind = weak_site(HERE, 'c', orders[order]);                              \
		unsigned other = weak_failed_site(HERE, orders[failed]);                          \
		type old, was;                                                                    \
		if (!weak_covers(at))                                                             \
			return __atomic_compare_exchange_n(at, from, to, 0, __ATOMIC_SEQ_CST,     \
							   __ATOMIC_SEQ_CST);                     \
		expected_read(from, bits / 8);                                                    \
		was = *from;                                                                      \
		old = (type)weak_modify(at, bits / 8, change_swap, was, to, kind, other);         \
		if (old == was)                                                                   \
			return 1;                                                                 \
		expected_write(from, &old, bits / 8);                                             \
		return 0;                                                                         \
	}

#define MODIFY(bits, type, name, builtin, change, operand)                                      \
	type __tsan_atomic##bits##_##name(type *at, type value, int order)                      \
	{                                                                                       \
		unsigned kind = weak_site(HERE, 'm', orders[order]);                            \
		if (!weak_covers(at))                                                           \
			return builtin(at, value, __ATOMIC_SEQ_CST);                            \
		return (type)weak_modify(at, bits / 8, change, (type)(operand), (type)-1, kind, \
					 WEAK_RELAXED);                                         \
	}

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)
MODIFY(32, uint32_t, exchange, __atomic_exchange_n, change_set, value)
MODIFY(32, uint32_t, fetch_add, __atomic_fetch_add, change_add, value)
MODIFY(32, uint32_t, fetch_sub, __atomic_fetch_sub, change_add, 0 - value)
MODIFY(32, uint32_t, fetch_or, __atomic_fetch_or, change_or, value)
MODIFY(32, uint32_t, fetch_and, __atomic_fetch_and, change_and, value)
MODIFY(64, uint64_t, exchange, __atomic_exchange_n, change_set, value)
MODIFY(64, uint64_t, fetch_add, __atomic_fetch_add, change_add, value)
MODIFY(64, uint64_t, fetch_sub, __atomic_fetch_sub, change_add, 0 - value)
MODIFY(64, uint64_t, fetch_or, __atomic_fetch_or, change_or, value)
MODIFY(64, uint64_t, fetch_and, __atomic_fetch_and, change_and, value)

void __tsan_atomic_thread_fence(int order)
{
	unsigned kind = weak_site(HERE, 'f', orders[order]);

	if (weak_self() < WEAK_THREADS && kind)
		weak_fence(kind);
}

/* Nothing on a machine with multi-copy atomicity, and a release fence on others. */
void weak_fence_handover(void)
{
	unsigned kind = weak_site(HERE, 'f', WEAK_RELEASE);

	if (weak_self() < WEAK_THREADS && kind && !weak_is_multi_copy())
		weak_fence(kind);
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}

/* ---- memory, clock, system calls ------------------------------------------------------ */

static size_t step_of(const void *a, const void *b, size_t left)
{
	uintptr_t both = (uintptr_t)a | (uintptr_t)b;

	return both % 8 == 0 && left >= 8 ? 8 : both % 4 == 0 && left >= 4 ? 4 : 1;
}

void *weak_memcpy(void *to, const void *from, size_t size);
void *weak_memset(void *to, int byte, size_t size);

void *weak_memcpy(void *to, const void *from, size_t size)
{
	size_t at, step;
	uint64_t word;

	if (!weak_covers(to) && !weak_covers(from))
		return memcpy(to, from, size);
	for (at = 0; at < size; at += step) {
		unsigned char *out = (unsigned char *)to + at;
		const unsigned char *in = (const unsigned char *)from + at;

		step = step_of(weak_covers(to) ? out : in, weak_covers(from) ? in : out, size - at);
		if (weak_covers(in))
			weak_plain_read(in, (unsigned)step);
		memcpy(&word, in, step);
		if (weak_covers(out))
			weak_plain_write(out, (unsigned)step);
		memcpy(out, &word, step);
	}
	return to;
}

void *weak_memset(void *to, int byte, size_t size)
{
	size_t at, step;

	if (!weak_covers(to))
		return memset(to, byte, size);
	for (at = 0; at < size; at += step) {
		unsigned char *out = (unsigned char *)to + at;

		step = step_of(out, out, size - at);
		weak_plain_write(out, (unsigned)step);
		memset(out, byte, step);
	}
	return to;
}

int weak_clock_gettime(clockid_t id, struct timespec *now);
long weak_syscall(long number, ...);

int weak_clock_gettime(clockid_t id, struct timespec *now)
{
	(void)id;
	now->tv_sec = 0;
	now->tv_nsec = (long)weak_ticks();
	return 0;
}

/*
 * A sleep may end at any time, so that it is no more than a point where others continue.  A futex
 * is only woken by a system call here: tests replace the function that waits.
 */
long weak_syscall(long number, ...)
{
	if (weak_self() == WEAK_THREADS)
		return 0;
	if (number == SYS_membarrier)
		weak_membarrier();
	else if (number == SYS_futex)
		weak_wake();
	else
		weak_yield();
	return 0;
}
