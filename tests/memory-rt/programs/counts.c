/* SPDX-License-Identifier: MIT */
/*
 * counts.c - accesses whose number, kind and size are known.
 *
 *	counts CASE
 *
 * Recording is on only around the case.  Loops keep their variables in registers (-O1), so
 * that the accesses are exactly those written here.
 */
#include <cacheray.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define N 1000

struct odd {
	char c;
	uint32_t u;
	uint64_t v;
} __attribute__((packed));
struct block {
	char bytes[200];
};
struct large {
	char bytes[1000];
};

static uint8_t a8[N];
static uint16_t a16[N];
static uint32_t a32[N];
static uint64_t a64[N];
static unsigned __int128 a128[N];
static struct odd odds[N];
static struct block blocks[2];
static struct large larges[2];
static char text[4096] __attribute__((aligned(64))), copy[4096] __attribute__((aligned(64)));

/* Not a constant, and opaque to the compiler. */
static size_t many(size_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

#define SUM(array)                               \
	do {                                     \
		size_t i, n = many(N);           \
		uint64_t s = 0;                  \
                                                 \
		for (i = 0; i < n; i++)          \
			s += (uint64_t)array[i]; \
		__asm__ volatile("" : : "r"(s)); \
	} while (0)
#define FILL(array)                                               \
	do {                                                      \
		size_t i, n = many(N);                            \
                                                                  \
		for (i = 0; i < n; i++)                           \
			array[i] = (__typeof__(array[0]))(i + n); \
	} while (0)
#define INCREMENT(array)                \
	do {                            \
		size_t i, n = many(N);  \
                                        \
		for (i = 0; i < n; i++) \
			array[i]++;     \
	} while (0)

static void reads(void)
{
	SUM(a8);
	SUM(a16);
	SUM(a32);
	SUM(a64);
	SUM(a128);
}

static void writes(void)
{
	FILL(a8);
	FILL(a16);
	FILL(a32);
	FILL(a64);
	FILL(a128);
}

static void increments(void)
{
	INCREMENT(a8);
	INCREMENT(a16);
	INCREMENT(a32);
	INCREMENT(a64);
}

static void unaligned(void)
{
	size_t i, n = many(N);
	uint64_t s = 0;

	for (i = 0; i < n; i++) {
		s += odds[i].u;
		odds[i].v = i;
	}
	__asm__ volatile("" : : "r"(s));
}

static void volatiles(void)
{
	volatile uint32_t *v = a32;
	size_t i, n = many(N);

	for (i = 0; i < n; i++)
		v[i] = v[i] + 1;
}

/* By hand: the variable with the expected value would be recorded by one compiler and not by
 * others. */
int __tsan_atomic32_compare_exchange_strong(volatile uint32_t *, uint32_t *, uint32_t, int, int);

__attribute__((no_sanitize_thread)) static void compare_exchange(uint32_t *p)
{
	uint32_t old = 5;
	int good = __tsan_atomic32_compare_exchange_strong(p, &old, 6, 5, 5); /* R4 W4 */

	old = 99;
	good &= !__tsan_atomic32_compare_exchange_strong(p, &old, 7, 5, 5); /* R4 */
	if (!good || old != 6)
		puts("wrong");
}

__attribute__((no_sanitize_thread)) static void atomics_done(void)
{
	if (a8[0] != 1 || a16[0] != 2 || a32[0] != 6 || a64[0] != 8)
		puts("wrong");
}

static void atomics(void)
{
	_Atomic uint8_t *p8 = (_Atomic uint8_t *)a8;
	_Atomic uint16_t *p16 = (_Atomic uint16_t *)a16;
	_Atomic uint32_t *p32 = (_Atomic uint32_t *)a32;
	_Atomic uint64_t *p64 = (_Atomic uint64_t *)a64;
	uint32_t i;

	for (i = 0; i < 10; i++) {
		atomic_store(&p8[i], 1);                             /* W1 */
		atomic_fetch_add(&p16[i], 2);                        /* R2 W2 */
		atomic_exchange(&p32[i], 5);                         /* R4 W4 */
		atomic_fetch_or(&p64[i], 8);                         /* R8 W8 */
		atomic_load_explicit(&p64[i], memory_order_relaxed); /* R8 */
		compare_exchange(&a32[i]);
	}
	atomic_thread_fence(memory_order_seq_cst);
	atomics_done();
}

/* The compiler would need libatomic for these: what it calls for a sanitizer is called by hand. */
unsigned __int128 __tsan_atomic128_load(const volatile unsigned __int128 *, int);
void __tsan_atomic128_store(volatile unsigned __int128 *, unsigned __int128, int);
unsigned __int128 __tsan_atomic128_fetch_add(volatile unsigned __int128 *, unsigned __int128, int);
unsigned __int128 __tsan_atomic128_fetch_nand(volatile unsigned __int128 *, unsigned __int128, int);
unsigned __int128 __tsan_atomic128_exchange(volatile unsigned __int128 *, unsigned __int128, int);
int __tsan_atomic128_compare_exchange_strong(volatile unsigned __int128 *, unsigned __int128 *,
					     unsigned __int128, int, int);
unsigned __int128 __tsan_atomic128_compare_exchange_val(volatile unsigned __int128 *,
							unsigned __int128, unsigned __int128, int,
							int);

__attribute__((no_sanitize_thread)) static void atomics128(void)
{
	unsigned __int128 big = (unsigned __int128)7 << 100, e = 1;
	volatile unsigned __int128 *p = a128;
	int good;

	__tsan_atomic128_store(p, big, 5);                                   /* W */
	good = __tsan_atomic128_load(p, 5) == big;                           /* R */
	good &= __tsan_atomic128_fetch_add(p, big, 5) == big;                /* R W */
	good &= __tsan_atomic128_exchange(p, 3, 5) == 2 * big;               /* R W */
	good &= !__tsan_atomic128_compare_exchange_strong(p, &e, big, 5, 5); /* R */
	good &= e == 3;
	good &= __tsan_atomic128_compare_exchange_strong(p, &e, big, 5, 5);    /* R W */
	good &= __tsan_atomic128_compare_exchange_val(p, big, 1, 5, 5) == big; /* R W */
	good &= __tsan_atomic128_fetch_nand(p, 1, 5) == 1;                     /* R W */
	good &= *p == ~(unsigned __int128)1;
	if (!good)
		puts("wrong");
}

/* 200 bytes fit in one record, 1000 do not. */
static void structs(void)
{
	blocks[many(1)] = blocks[many(0)];
	larges[many(1)] = larges[many(0)];
}

static void calls(void)
{
	memcpy(copy, text, many(100));
	memmove(copy + 10, copy, many(50));
	memset(text, 1, many(30));
	memcpy(copy, text, many(0));
	memset(text, 2, many(640));
}

static void nothing(void)
{
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = { { "reads", reads },           { "writes", writes },
	      { "increments", increments }, { "unaligned", unaligned },
	      { "volatiles", volatiles },   { "atomics", atomics },
	      { "atomics128", atomics128 }, { "structs", structs },
	      { "calls", calls },           { "nothing", nothing } };

__attribute__((no_sanitize_thread)) int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		if (cacheray_start() != 0)
			puts("not started");
		cases[i].run();
		cacheray_stop();
		return 0;
	}
	return 2;
}
