/* SPDX-License-Identifier: MIT */
/*
 * test_forms.c - every form of the callbacks: what it records, what it returns and what it changes.
 *
 * The trace of a program that makes all calls of a table is compared with the text that the same
 * table gives.
 */
#include <corotracer/cacheray.h>
#include <corotracer/memory_hook.h>

#include "copy.h"
#include "recorded_bed.h"

static char wanted[65536];
static size_t wanted_size;

static void want(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void want(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	wanted_size += (size_t)vsnprintf(wanted + wanted_size, sizeof(wanted) - wanted_size, fmt,
					 args);
	va_end(args);
	CHECK(wanted_size < sizeof(wanted));
}

static void want_nothing_yet(void)
{
	wanted[wanted_size = 0] = '\0';
}

/* ---- plain accesses ---------------------------------------------------------------- */

#define SIZES(form)                                                                      \
	void __tsan_##form##1(void *p);                                                  \
	void __tsan_##form##2(void *p);                                                  \
	void __tsan_##form##4(void *p);                                                  \
	void __tsan_##form##8(void *p);                                                  \
	void __tsan_##form##16(void *p);                                                 \
	static void (*const do_##form[])(void *) = { __tsan_##form##1, __tsan_##form##2, \
						     __tsan_##form##4, __tsan_##form##8, \
						     __tsan_##form##16 };
#define SIZES_PC(form)                                                                             \
	void __tsan_##form##1_pc(void *p, void *pc);                                               \
	void __tsan_##form##2_pc(void *p, void *pc);                                               \
	void __tsan_##form##4_pc(void *p, void *pc);                                               \
	void __tsan_##form##8_pc(void *p, void *pc);                                               \
	void __tsan_##form##16_pc(void *p, void *pc);                                              \
	static void (*const do_##form##_pc[])(                                                     \
		void *, void *) = { __tsan_##form##1_pc, __tsan_##form##2_pc, __tsan_##form##4_pc, \
				    __tsan_##form##8_pc, __tsan_##form##16_pc };
SIZES(read)
SIZES(write)
SIZES(read_write)
SIZES(unaligned_read)
SIZES(unaligned_write)
SIZES(unaligned_read_write)
SIZES(volatile_read)
SIZES(volatile_write)
SIZES(unaligned_volatile_read)
SIZES(unaligned_volatile_write)
SIZES_PC(read)
SIZES_PC(write)
SIZES_PC(unaligned_read)
SIZES_PC(unaligned_write)

static const struct {
	void (*const *calls)(void *);
	const char *kinds, *attributes;
} forms[] = {
	{ do_read, "r", "" },
	{ do_write, "w", "" },
	{ do_read_write, "rw", " compound" },
	{ do_unaligned_read, "r", " unaligned" },
	{ do_unaligned_write, "w", " unaligned" },
	{ do_unaligned_read_write, "rw", " compound unaligned" },
	{ do_volatile_read, "r", " volatile" },
	{ do_volatile_write, "w", " volatile" },
	{ do_unaligned_volatile_read, "r", " volatile unaligned" },
	{ do_unaligned_volatile_write, "w", " volatile unaligned" },
};
static const struct {
	void (*const *calls)(void *, void *);
	const char *kinds, *attributes;
} forms_pc[] = {
	{ do_read_pc, "r", "" },
	{ do_write_pc, "w", "" },
	{ do_unaligned_read_pc, "r", " unaligned" },
	{ do_unaligned_write_pc, "w", " unaligned" },
};
#define NR(array) (sizeof(array) / sizeof((array)[0]))

/* A number as a pointer: code that does not exist. */
static void *code(uintptr_t number)
{
	return (void *)number; // NOLINT(performance-no-int-to-ptr)
}

static void all_forms(void)
{
	size_t i, k;

	for (i = 0; i < NR(forms); i++) {
		for (k = 0; k < 5; k++)
			forms[i].calls[k](at(64 * i + k));
	}
	for (i = 0; i < NR(forms_pc); i++) {
		for (k = 0; k < 5; k++)
			forms_pc[i].calls[k](at(1024 + 64 * i), code(0x100 * (i + 1) + k));
	}
}

static void each_form_is_recorded(void)
{
	size_t i, k;
	const char *kind;

	want_nothing_yet();
	for (i = 0; i < NR(forms); i++) {
		for (k = 0; k < 5; k++) {
			for (kind = forms[i].kinds; *kind; kind++)
				want("%c%u +%zu%s\n", *kind, 1u << k, 64 * i + k,
				     forms[i].attributes);
		}
	}
	for (i = 0; i < NR(forms_pc); i++) {
		for (k = 0; k < 5; k++)
			want("%s%u +%zu%s pc %zx\n", forms_pc[i].kinds, 1u << k, 1024 + 64 * i,
			     forms_pc[i].attributes, 0x100 * (i + 1) + k);
	}
	records(all_forms, "", wanted);
}

/* ---- atomic operations -------------------------------------------------------------- */

#define U128 unsigned __int128
#define A    ((U128)0x8123456789abcdefu << 64 | 0xfedcba9876543210u)
#define B    ((U128)0x0f1e2d3c4b5a6978u << 64 | 0x8796a5b4c3d2e1f0u)

/* @bits, type, then two checks per line: what is returned, and what is in memory afterwards. */
#define FETCH(bits, type, name, result)                                           \
	type __tsan_atomic##bits##_fetch_##name(volatile type *p, type v, int o); \
	static void fetch_##name##bits(volatile type *p)                          \
	{                                                                         \
		const type a = (type)A, b = (type)B;                              \
                                                                                  \
		*p = a;                                                           \
		CHECK(__tsan_atomic##bits##_fetch_##name(p, b, 5) == a);          \
		CHECK(*p == (type)(result));                                      \
	}
#define COMPARE(bits, type, name)                                                            \
	int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *e, type v, \
							  int o, int f);                     \
	static void compare_##name##bits(volatile type *p)                                   \
	{                                                                                    \
		const type a = (type)A, b = (type)B;                                         \
		type e = b;                                                                  \
                                                                                             \
		*p = a;                                                                      \
		CHECK(!__tsan_atomic##bits##_compare_exchange_##name(p, &e, 1, 5, 5));       \
		CHECK(e == a && *p == a);                                                    \
		CHECK(__tsan_atomic##bits##_compare_exchange_##name(p, &e, b, 5, 5));        \
		CHECK(e == a && *p == b);                                                    \
	}
#define ATOMICS(bits, type)                                                               \
	FETCH(bits, type, add, a + b)                                                     \
	FETCH(bits, type, sub, a - b)                                                     \
	FETCH(bits, type, and, a &b)                                                      \
	FETCH(bits, type, or, a | b)                                                      \
	FETCH(bits, type, xor, a ^ b)                                                     \
	FETCH(bits, type, nand, ~(a & b))                                                 \
	COMPARE(bits, type, strong)                                                       \
	COMPARE(bits, type, weak)                                                         \
	type __tsan_atomic##bits##_load(const volatile type *p, int order);               \
	void __tsan_atomic##bits##_store(volatile type *p, type v, int order);            \
	type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order);         \
	type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type e, type v, \
							int order, int f);                \
	static void atomics##bits(void)                                                   \
	{                                                                                 \
		volatile type *p = (volatile type *)at(bits);                             \
		const type a = (type)A, b = (type)B;                                      \
                                                                                          \
		CHECK(__tsan_atomic##bits##_load(p, 0) == 0 && *p == 0);                  \
		__tsan_atomic##bits##_store(p, b, 0);                                     \
		CHECK(__tsan_atomic##bits##_load(p, 2) == b && *p == b);                  \
		__tsan_atomic##bits##_store(p, a, 3);                                     \
		CHECK(__tsan_atomic##bits##_load(p, 5) == a && *p == a);                  \
		__tsan_atomic##bits##_store(p, b, 5);                                     \
		CHECK(*p == b);                                                           \
		CHECK(__tsan_atomic##bits##_exchange(p, a, 5) == b && *p == a);           \
		fetch_add##bits(p);                                                       \
		fetch_sub##bits(p);                                                       \
		fetch_and##bits(p);                                                       \
		fetch_or##bits(p);                                                        \
		fetch_xor##bits(p);                                                       \
		fetch_nand##bits(p);                                                      \
		compare_strong##bits(p);                                                  \
		compare_weak##bits(p);                                                    \
		CHECK(__tsan_atomic##bits##_compare_exchange_val(p, a, 1, 5, 5) == b);    \
		CHECK(*p == b);                                                           \
		CHECK(__tsan_atomic##bits##_compare_exchange_val(p, b, a, 5, 5) == b);    \
		CHECK(*p == a);                                                           \
	}
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
ATOMICS(128, U128)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);

static void all_atomics(void)
{
	int order;

	atomics8();
	atomics16();
	atomics32();
	atomics64();
	atomics128();
	for (order = 0; order <= 5; order++) {
		__tsan_atomic_thread_fence(order);
		__tsan_atomic_signal_fence(order);
	}
}

/* The accesses of atomics*(): loads and stores, seven that do both, and three comparisons. */
static void want_atomics(unsigned bits)
{
	static const char sequence[] = "rwrwrw.......crWcrWcrW";
	unsigned size = bits / 8;
	const char *c;

	for (c = sequence; *c; c++) {
		if (*c == '.')
			want("r%u +%u compound atomic\nw%u +%u compound atomic\n", size, bits, size,
			     bits);
		else if (*c == 'W')
			want("w%u +%u atomic\n", size, bits);
		else
			want("%c%u +%u atomic\n", *c == 'w' ? 'w' : 'r', size, bits);
	}
}

static void each_atomic_operation_is_executed_and_recorded(void)
{
	want_nothing_yet();
	want_atomics(8);
	want_atomics(16);
	want_atomics(32);
	want_atomics(64);
	want_atomics(128);
	records(all_atomics, "", wanted);
}

/* ---- ranges and copies --------------------------------------------------------------- */

void __tsan_read_range(void *p, unsigned long size);
void __tsan_write_range(void *p, unsigned long size);
void __tsan_read_range_pc(void *p, unsigned long size, void *pc);
void __tsan_write_range_pc(void *p, unsigned long size, void *pc);
void *__tsan_memcpy(void *to, const void *from, size_t n);
void *__tsan_memmove(void *to, const void *from, size_t n);
void *__tsan_memset(void *to, int c, size_t n);

static void fill_numbers(void)
{
	size_t i;

	for (i = 0; i < 256; i++)
		data.bytes[i] = (uint8_t)i;
}

static void check_bytes(size_t offset, int first, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		CHECK_EQ(data.bytes[offset + i], (uint8_t)(first + (int)i));
}

static void ranges(void)
{
	__tsan_read_range(at(0), 255);
	__tsan_write_range(at(60), 8);
	__tsan_read_range_pc(at(60), 256, code(0x51));
	__tsan_write_range_pc(at(192), 257, code(0x52));
	__tsan_read_range(at(0), 0);
	fill_numbers();
	CHECK(__tsan_memmove(at(4), at(0), 16) == at(4)); /* overlaps, upwards */
	check_bytes(4, 0, 16);
	check_bytes(0, 0, 4);
	fill_numbers();
	CHECK(__tsan_memmove(at(0), at(4), 16) == at(0));
	check_bytes(0, 4, 16);
	check_bytes(16, 16, 4);
	CHECK(__tsan_memcpy(at(512), at(32), 7) == at(512));
	check_bytes(512, 32, 7);
	CHECK(__tsan_memset(at(600), 'x', 3) == at(600));
	CHECK(data.bytes[600] == 'x' && data.bytes[602] == 'x' && data.bytes[603] == 0);
}

/* What the compiler reported already is not recorded again; anything that differs is. */
static void reported_twice(void)
{
	__tsan_read_range(at(0), 24);
	__tsan_write_range(at(2000), 24);
	__tsan_memcpy(at(2000), at(0), 24);
	__tsan_write_range(at(2000), 25);
	__tsan_read_range(at(0), 25);
	__tsan_memcpy(at(2000), at(0), 25);
	__tsan_write_range(at(3000), 26);
	__tsan_memset(at(3000), 0, 26);
	__tsan_read_range(at(0), 27);
	__tsan_write_range(at(2000), 27);
	__tsan_memcpy(at(2001), at(0), 27); /* another place */
	__tsan_read_range(at(0), 28);
	__tsan_write_range(at(2000), 28);
	__tsan_memcpy(at(2000), at(1), 28); /* from another place */
	__tsan_read_range(at(0), 29);
	__tsan_write_range(at(2000), 29);
	__tsan_memcpy(at(2000), at(0), 30); /* of another size */
	__tsan_read_range(at(3000), 31);
	__tsan_memset(at(3000), 0, 31); /* a read before it */
}

static void long_ranges_are_recorded_by_lines(void)
{
	records(ranges, "",
		"r255 +0\nw8 +60\nr4 +60 range pc 51\nr64 +64 range pc 51\n"
		"r64 +128 range pc 51\nr64 +192 range pc 51\nr60 +256 range pc 51\n"
		"w64 +192 range pc 52\nw64 +256 range pc 52\nw64 +320 range pc 52\n"
		"w64 +384 range pc 52\nw1 +448 range pc 52\n"
		"r16 +0 library\nw16 +4 library\nr16 +4 library\nw16 +0 library\n"
		"r7 +32 library\nw7 +512 library\nw3 +600 library\n");
}

static void a_copy_is_recorded_once(void)
{
	records(reported_twice, "",
		"r24 +0\nw24 +2000\nw25 +2000\nr25 +0\nw26 +3000\n"
		"r27 +0\nw27 +2000\nr27 +0 library\nw27 +2001 library\n"
		"r28 +0\nw28 +2000\nr28 +1 library\nw28 +2000 library\n"
		"r29 +0\nw29 +2000\nr30 +0 library\nw30 +2000 library\n"
		"r31 +3000\nw31 +3000 library\n");
}

/* The runtime's own functions, which it uses where libc's may be traced. */
static void the_own_copies_are_right(void)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 9, 63, 200 };
	size_t i;

	for (i = 0; i < NR(sizes); i++) {
		memset(data.bytes, 0, 1024);
		fill_numbers();
		CHECK(crt_memcpy(at(512), at(1), sizes[i]) == at(512));
		check_bytes(512, 1, sizes[i]);
		CHECK_EQ(data.bytes[512 + sizes[i]], 0);
		CHECK(crt_memset(at(512), 0x1ff, sizes[i]) == at(512));
		CHECK_EQ(data.bytes[512], sizes[i] ? 0xff : 0);
		CHECK_EQ(data.bytes[512 + sizes[i]], 0);
		fill_numbers();
		CHECK(crt_memmove(at(3), at(0), sizes[i]) == at(3));
		check_bytes(3, 0, sizes[i]);
		fill_numbers();
		CHECK(crt_memmove(at(0), at(3), sizes[i]) == at(0));
		check_bytes(0, 3, sizes[i]);
		CHECK(crt_memmove(at(600), at(300), sizes[i]) == at(600));
	}
}

/* ---- coroutines ------------------------------------------------------------------------ */

static const struct ctp_memory_site site_c = { "dir/a.c", "wait(int)", 12 };
static const struct ctp_memory_site site_cpp = { "b.cpp", "task<int> ns::wait(int)", 34 };
static const struct ctp_memory_site site_unknown = { NULL, NULL, 0 };

static void suspend_at(const void *coroutine, uint32_t flags, const void *site)
{
	cacheray_coroutine(CTP_MEMORY_RESUMED, coroutine, 0, NULL);
	__tsan_read8(at(0));
	cacheray_coroutine(CTP_MEMORY_SUSPENDED | flags, coroutine, 0, site);
}

/* A name, a code address, and the site at which each suspended last. */
static void coroutine_texts(void)
{
	cacheray_coroutine(CTP_MEMORY_CREATED, at(0), 7, "worker-12");
	cacheray_coroutine(CTP_MEMORY_CREATED, at(16), 8, "worker-13");
	cacheray_coroutine(CTP_MEMORY_CREATED, at(32), 9, NULL);
	cacheray_coroutine(CTP_MEMORY_CODE, at(32), 9, code(0xabc0));
	cacheray_coroutine(CTP_MEMORY_CODE, at(0), 7, code(0xabc0)); /* it has a name */
	cacheray_coroutine(CTP_MEMORY_CREATED | CTP_MEMORY_CPP, at(48), 10,
			   "task<int> ns::work(int)");
	suspend_at(at(0), 0, &site_c);
	suspend_at(at(16), CTP_MEMORY_CPP, &site_cpp);
	suspend_at(at(32), 0, &site_unknown);
	suspend_at(at(48), 0, NULL);
	suspend_at(at(0), 0, NULL);
	suspend_at(at(16), 0, &site_c);
	suspend_at(at(32), 0, &site_c);
	suspend_at(at(48), CTP_MEMORY_CPP, &site_cpp);
	suspend_at(at(0), 0, NULL);
	suspend_at(at(16), 0, NULL);
}

static void a_stamp_has_the_kind_and_the_last_site(void)
{
	records(coroutine_texts, "",
		"coro 7 cause 1 'worker|'\nr8 +0\ncoro 0 cause 2 ''\n"
		"coro 8 cause 1 'worker|'\nr8 +0\ncoro 0 cause 2 ''\n"
		"coro 9 cause 1 '@abc0|'\nr8 +0\ncoro 0 cause 2 ''\n"
		"coro 10 cause 1 'ns::work|'\nr8 +0\ncoro 0 cause 2 ''\n"
		"coro 7 cause 1 'worker|dir/a.c|wait(int)|12'\nr8 +0\ncoro 0 cause 2 ''\n"
		"coro 8 cause 1 'worker|b.cpp|ns::wait|34'\nr8 +0\ncoro 0 cause 2 ''\n"
		"coro 9 cause 1 '@abc0|||0'\nr8 +0\ncoro 0 cause 2 ''\n"
		"coro 10 cause 1 'ns::work|'\nr8 +0\ncoro 0 cause 2 ''\n"
		"coro 7 cause 1 'worker|'\nr8 +0\ncoro 0 cause 2 ''\n"
		"coro 8 cause 1 'worker|dir/a.c|wait(int)|12'\nr8 +0\ncoro 0 cause 2 ''\n");
}

/* One that suspends and stays, one whose end is not reported, and ones without an id. */
static void coroutine_order(void)
{
	cacheray_coroutine(CTP_MEMORY_RESUMED, at(0), 0, NULL); /* not known before */
	__tsan_read1(at(1));
	cacheray_coroutine(CTP_MEMORY_PAUSED, at(0), 0, NULL);
	__tsan_read1(at(2));
	cacheray_coroutine(CTP_MEMORY_RESUMED, at(0), 0, NULL); /* no change */
	cacheray_coroutine(CTP_MEMORY_SUSPENDED, at(0), 0, &site_c);
	cacheray_coroutine(CTP_MEMORY_STAYED, at(0), 0, NULL);
	__tsan_read1(at(3));
	cacheray_coroutine(CTP_MEMORY_RESUMED, at(16), 20, NULL); /* inside of the first */
	__tsan_read1(at(4));
	cacheray_coroutine(CTP_MEMORY_SUSPENDED | CTP_MEMORY_LOOSE, at(32), 21, NULL);
	cacheray_coroutine(CTP_MEMORY_RESUMED, at(32), 21, NULL);
	__tsan_read1(at(5));
	cacheray_coroutine(CTP_MEMORY_RESUMED, at(48), 22, NULL); /* ends the loose one */
	__tsan_read1(at(6));
	cacheray_coroutine(CTP_MEMORY_ENDED, at(48), 22, NULL);
	__tsan_read1(at(7));
	cacheray_coroutine(CTP_MEMORY_SUSPENDED, at(0), 30, NULL); /* and all that it resumed */
	__tsan_read1(at(8));
	cacheray_coroutine(CTP_MEMORY_RESUMED, at(0), 0, NULL);
	cacheray_coroutine(CTP_MEMORY_DESTROYED, at(0), 0, NULL);
	cacheray_coroutine(CTP_MEMORY_DESTROYED, at(0), 0, NULL); /* unknown now */
	cacheray_coroutine(CTP_MEMORY_DESTROYED, at(999), 5, NULL);
	cacheray_coroutine(CTP_MEMORY_RESUMED, NULL, 5, NULL);
	__tsan_read1(at(9));
}

static void stamps_follow_what_each_thread_runs(void)
{
	records(coroutine_order, "",
		"coro 1 cause 1 '|'\nr1 +1\ncoro 0 cause 2 ''\nr1 +2\n"
		"coro 0 cause 2 ''\ncoro 1 cause 2 '|'\nr1 +3\n"
		"coro 20 cause 1 '|'\nr1 +4\ncoro 21 cause 1 '|'\nr1 +5\n"
		"coro 22 cause 1 '|'\nr1 +6\ncoro 20 cause 2 '|'\nr1 +7\n"
		"coro 0 cause 2 ''\nr1 +8\ncoro 30 cause 1 '|'\ncoro 0 cause 2 ''\nr1 +9\n");
}

int main(void)
{
	bed_begin();
	RUN(each_form_is_recorded);
	RUN(each_atomic_operation_is_executed_and_recorded);
	RUN(long_ranges_are_recorded_by_lines);
	RUN(a_copy_is_recorded_once);
	RUN(the_own_copies_are_right);
	RUN(a_stamp_has_the_kind_and_the_last_site);
	RUN(stamps_follow_what_each_thread_runs);
	bed_end();
	return 0;
}
