/* SPDX-License-Identifier: MIT */
/*
 * atomics.c - atomic operations of the program: recorded and executed.
 *
 * The compiler leaves the operation itself to these callbacks.  The memory order is a number
 * (0..5: relaxed, consume, acquire, release, acq_rel, seq_cst).  Loads and plain stores use the
 * requested order; read-modify-write operations are always sequentially consistent, which
 * satisfies any weaker order and is the same instruction on x86.
 *
 * What is recorded: a load reads, a store writes, exchange and fetch-and-op read and write,
 * compare-exchange reads and, if it succeeds, writes.  The variable that holds the expected value
 * is not recorded.
 *
 * 128-bit operations use the machine's instruction directly, so that a traced program does not
 * need libatomic.
 */
#include <stdbool.h>

#include "access_record.h"

/* Orders as the program passes them; each pairs with the program's own counterpart. */
enum { RELAXED, CONSUME, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST };

#define READ  CRW_IS_ATOMIC
#define WRITE (CRW_IS_ATOMIC | CRW_IS_WRITE)
#define BOTH  (CRW_IS_ATOMIC | CRW_IS_COMPOUND)

#define LOAD_STORE(bits, type, class)                                                  \
	CRT_API type __tsan_atomic##bits##_load(const volatile type *p, int order);    \
	CRT_API void __tsan_atomic##bits##_store(volatile type *p, type v, int order); \
	type __tsan_atomic##bits##_load(const volatile type *p, int order)             \
	{                                                                              \
		crt_access(CRT_AT(p), READ | (class), CRT_PC);                         \
		if (order == RELAXED)                                                  \
			return __atomic_load_n(p, __ATOMIC_RELAXED);                   \
		if (order == SEQ_CST)                                                  \
			return __atomic_load_n(p, __ATOMIC_SEQ_CST);                   \
		return __atomic_load_n(p, __ATOMIC_ACQUIRE);                           \
	}                                                                              \
	void __tsan_atomic##bits##_store(volatile type *p, type v, int order)          \
	{                                                                              \
		crt_access(CRT_AT(p), WRITE | (class), CRT_PC);                        \
		if (order == RELAXED)                                                  \
			__atomic_store_n(p, v, __ATOMIC_RELAXED);                      \
		else if (order == RELEASE)                                             \
			__atomic_store_n(p, v, __ATOMIC_RELEASE);                      \
		else                                                                   \
			__atomic_store_n(p, v, __ATOMIC_SEQ_CST);                      \
	}

#define FETCH(bits, type, class, name)                                                        \
	CRT_API type __tsan_atomic##bits##_fetch_##name(volatile type *p, type v, int order); \
	type __tsan_atomic##bits##_fetch_##name(volatile type *p, type v, int order)          \
	{                                                                                     \
		(void)order;                                                                  \
		crt_access(CRT_AT(p), BOTH | (class), CRT_PC);                                \
		return __atomic_fetch_##name(p, v, __ATOMIC_SEQ_CST);                         \
	}

#define EXCHANGE(bits, type, class)                                                       \
	CRT_API type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order); \
	type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order)          \
	{                                                                                 \
		(void)order;                                                              \
		crt_access(CRT_AT(p), BOTH | (class), CRT_PC);                            \
		return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                       \
	}

/* gcc passes the expected value in memory, clang as an argument. */
#define COMPARE(bits, type, class)                                                          \
	static inline __attribute__((always_inline)) bool atomics_compare##bits(            \
		volatile type *p, type *expected, type v, uint64_t pc)                      \
	{                                                                                   \
		bool done;                                                                  \
                                                                                            \
		crt_access(CRT_AT(p), READ | (class), pc);                                  \
		done = __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, \
						   __ATOMIC_SEQ_CST);                       \
		if (done)                                                                   \
			crt_access(CRT_AT(p), WRITE | (class), pc);                         \
		return done;                                                                \
	}                                                                                   \
	COMPARE_FORMS(bits, type)

#define COMPARE_FORMS(bits, type)                                                                  \
	CRT_API int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *e,       \
								  type v, int order, int f);       \
	CRT_API int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *e, type v, \
								int order, int f);                 \
	CRT_API type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type e, type v,  \
								int order, int f);                 \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *e, type v,       \
							  int order, int f)                        \
	{                                                                                          \
		(void)order, (void)f;                                                              \
		return atomics_compare##bits(p, e, v, CRT_PC);                                     \
	}                                                                                          \
	int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *e, type v,         \
							int order, int f)                          \
	{                                                                                          \
		(void)order, (void)f;                                                              \
		return atomics_compare##bits(p, e, v, CRT_PC);                                     \
	}                                                                                          \
	type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type e, type v,          \
							int order, int f)                          \
	{                                                                                          \
		(void)order, (void)f;                                                              \
		atomics_compare##bits(p, &e, v, CRT_PC);                                           \
		return e;                                                                          \
	}

#define ALL(bits, type, class)         \
	LOAD_STORE(bits, type, class)  \
	EXCHANGE(bits, type, class)    \
	FETCH(bits, type, class, add)  \
	FETCH(bits, type, class, sub)  \
	FETCH(bits, type, class, and)  \
	FETCH(bits, type, class, or)   \
	FETCH(bits, type, class, xor)  \
	FETCH(bits, type, class, nand) \
	COMPARE(bits, type, class)

ALL(8, uint8_t, 0)
ALL(16, uint16_t, 1)
ALL(32, uint32_t, 2)
ALL(64, uint64_t, 3)

#if defined(__SIZEOF_INT128__) && (defined(__x86_64__) || defined(__aarch64__))
typedef unsigned __int128 u128;

/* If *@p equals *@expected, store @v; else load *@p into *@expected. */
static bool atomics_swap128(volatile u128 *p, u128 *expected, u128 v)
{
#if defined(__x86_64__)
	uint64_t low = (uint64_t)*expected, high = (uint64_t)(*expected >> 64);
	bool done;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*p), "+a"(low), "+d"(high)
			 : "b"((uint64_t)v), "c"((uint64_t)(v >> 64))
			 : "memory");
	*expected = (u128)high << 64 | low;
	return done;
#else
	uint64_t want_low = (uint64_t)*expected, want_high = (uint64_t)(*expected >> 64);
	uint64_t low, high, put_low, put_high;
	bool same;
	uint32_t failed;

	/*
	 * Write back even if the value differs: only a successful store proves that both halves
	 * were read atomically.
	 */
	do {
		__asm__ volatile("ldaxp %0, %1, %2" : "=&r"(low), "=&r"(high) : "Q"(*p) : "memory");
		same = low == want_low && high == want_high;
		put_low = same ? (uint64_t)v : low;
		put_high = same ? (uint64_t)(v >> 64) : high;
		__asm__ volatile("stlxp %w0, %2, %3, %1"
				 : "=&r"(failed), "=Q"(*p)
				 : "r"(put_low), "r"(put_high)
				 : "memory");
	} while (failed);
	*expected = (u128)high << 64 | low;
	return same;
#endif
}

/* Replace *@p by NEXT, computed from the old value. */
#define UPDATE128(name, next)                                                      \
	CRT_API u128 __tsan_atomic128_##name(volatile u128 *p, u128 v, int order); \
	u128 __tsan_atomic128_##name(volatile u128 *p, u128 v, int order)          \
	{                                                                          \
		u128 old = 0;                                                      \
                                                                                   \
		(void)order;                                                       \
		crt_access(CRT_AT(p), BOTH | 4, CRT_PC);                           \
		while (!atomics_swap128(p, &old, next))                            \
			;                                                          \
		return old;                                                        \
	}
UPDATE128(exchange, v)
UPDATE128(fetch_add, old + v)
UPDATE128(fetch_sub, old - v)
UPDATE128(fetch_and, old &v)
UPDATE128(fetch_or, old | v)
UPDATE128(fetch_xor, old ^ v)
UPDATE128(fetch_nand, ~(old &v))

CRT_API u128 __tsan_atomic128_load(const volatile u128 *p, int order);
CRT_API void __tsan_atomic128_store(volatile u128 *p, u128 v, int order);

u128 __tsan_atomic128_load(const volatile u128 *p, int order)
{
	u128 value = 0;

	(void)order;
	crt_access(CRT_AT(p), READ | 4, CRT_PC);
	/* Same as libatomic without a better instruction: the memory must be writable. */
	atomics_swap128((volatile u128 *)p, &value, 0);
	return value;
}

void __tsan_atomic128_store(volatile u128 *p, u128 v, int order)
{
	u128 old = 0;

	(void)order;
	crt_access(CRT_AT(p), WRITE | 4, CRT_PC);
	while (!atomics_swap128(p, &old, v))
		;
}

static inline __attribute__((always_inline)) bool
atomics_compare128(volatile u128 *p, u128 *expected, u128 v, uint64_t pc)
{
	bool done;

	crt_access(CRT_AT(p), READ | 4, pc);
	done = atomics_swap128(p, expected, v);
	if (done)
		crt_access(CRT_AT(p), WRITE | 4, pc);
	return done;
}
COMPARE_FORMS(128, u128)
#endif

CRT_API void __tsan_atomic_thread_fence(int order);
CRT_API void __tsan_atomic_signal_fence(int order);

void __tsan_atomic_thread_fence(int order)
{
	switch (order) {
	case RELAXED:
		break;
	case CONSUME:
	case ACQUIRE:
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		break;
	case RELEASE:
		__atomic_thread_fence(__ATOMIC_RELEASE);
		break;
	case ACQ_REL:
		__atomic_thread_fence(__ATOMIC_ACQ_REL);
		break;
	default:
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		break;
	}
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
