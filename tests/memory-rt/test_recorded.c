/* SPDX-License-Identifier: MIT */
/*
 * test_recorded.c - what the runtime of memory traces records, call by call.
 *
 * Each test runs a program (a child of this one) that calls what a compiler inserts, and compares
 * its trace, as text, with those calls.  Addresses are offsets in `data`, or small numbers.
 */
#include <corotracer/cacheray.h>
#include <corotracer/memory_hook.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "access_record.h"
#include "recorded_bed.h"
#include "sys.h"
#include "trace_session.h"

/* ---- what compilers call ----------------------------------------------------- */

void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);
void __tsan_vptr_update(void **vptr, void *value);
void __tsan_vptr_read(void **vptr);
void __tsan_read_range(void *p, unsigned long size);
void __tsan_write_range_pc(void *p, unsigned long size, void *pc);
void *__tsan_memcpy(void *to, const void *from, size_t n);
void *__tsan_memset(void *to, int c, size_t n);
uint32_t __tsan_atomic32_load(const volatile uint32_t *p, int order);
void __tsan_atomic32_store(volatile uint32_t *p, uint32_t v, int order);
uint32_t __tsan_atomic32_fetch_add(volatile uint32_t *p, uint32_t v, int order);
uint64_t __tsan_atomic64_exchange(volatile uint64_t *p, uint64_t v, int order);
int __tsan_atomic32_compare_exchange_strong(volatile uint32_t *p, uint32_t *e, uint32_t v,
					    int order, int f);
void __malloc_recorded(long bytes, char *type, void *p);
void __calloc_recorded(long nmemb, long size, char *type, void *p);
void __realloc_recorded(void *old, long size, char *type, void *p);
void __free_recorded(void *p);

#define PLAIN(form)                    \
	void __tsan_##form##1(void *); \
	void __tsan_##form##2(void *); \
	void __tsan_##form##4(void *); \
	void __tsan_##form##8(void *); \
	void __tsan_##form##16(void *);
PLAIN(read)
PLAIN(write)
PLAIN(read_write)
PLAIN(unaligned_read)
PLAIN(unaligned_write)
PLAIN(volatile_read)
PLAIN(volatile_write)
void __tsan_read8_pc(void *p, void *pc);
void __tsan_write4_pc(void *p, void *pc);

/* A number as a pointer: code that does not exist. */
static void *code(uintptr_t number)
{
	return (void *)number; // NOLINT(performance-no-int-to-ptr)
}

/* ---- tests: accesses ---------------------------------------------------------------- */

static void plain_accesses(void)
{
	__tsan_read1(at(0));
	__tsan_read2(at(2));
	__tsan_read4(at(4));
	__tsan_read8(at(8));
	__tsan_read16(at(16));
	__tsan_write1(at(1));
	__tsan_write2(at(2));
	__tsan_write4(at(4));
	__tsan_write8(at(8));
	__tsan_write16(at(16));
	__tsan_read_write4(at(32));
	__tsan_unaligned_read8(at(41));
	__tsan_unaligned_write2(at(43));
	__tsan_volatile_read4(at(48));
	__tsan_volatile_write4(at(52));
	__tsan_read8_pc(at(64), code(0x1234));
	__tsan_write4_pc(at(72), code(0x4321));
	__tsan_vptr_read(&data.pointers[10]);
	__tsan_vptr_update(&data.pointers[11], NULL);
}

static void atomic_accesses(void)
{
	uint32_t expected = 5;

	data.words[0] = 4;
	__tsan_atomic32_store(&data.words[0], 5, 0);
	CHECK_EQ(__tsan_atomic32_load(&data.words[0], 2), 5);
	CHECK_EQ(__tsan_atomic32_fetch_add(&data.words[0], 2, 5), 5);
	CHECK_EQ(data.words[0], 7);
	CHECK_EQ(__tsan_atomic64_exchange(&data.longs[1], 9, 5), 0);
	CHECK_EQ(data.longs[1], 9);
	CHECK(!__tsan_atomic32_compare_exchange_strong(&data.words[0], &expected, 1, 5, 5));
	CHECK_EQ(expected, 7);
	CHECK(__tsan_atomic32_compare_exchange_strong(&data.words[0], &expected, 1, 5, 5));
	CHECK_EQ(data.words[0], 1);
}

static void copies(void)
{
	memset(data.bytes, 7, 300);
	__tsan_memset(at(0), 3, 300);
	CHECK(data.bytes[0] == 3 && data.bytes[299] == 3 && data.bytes[300] == 0);
	__tsan_memcpy(at(1000), at(0), 8);
	CHECK(data.bytes[1007] == 3 && data.bytes[1008] == 0);
	/* A structure copy, reported by the compiler, and the call that makes it: one copy. */
	__tsan_read_range(at(0), 24);
	__tsan_write_range_pc(at(2000), 24, code(0x77));
	__tsan_memcpy(at(2000), at(0), 24);
	__tsan_memcpy(at(2000), at(0), 0);
}

static void all_accesses(void)
{
	plain_accesses();
	atomic_accesses();
	copies();
}

static const char recorded[] =
	"r1 +0\nr2 +2\nr4 +4\nr8 +8\nr16 +16\n"
	"w1 +1\nw2 +2\nw4 +4\nw8 +8\nw16 +16\n"
	"r4 +32 compound\nw4 +32 compound\n"
	"r8 +41 unaligned\nw2 +43 unaligned\n"
	"r4 +48 volatile\nw4 +52 volatile\n"
	"r8 +64 pc 1234\nw4 +72 pc 4321\n"
	"r8 +80 vptr\nw8 +88 vptr\n"
	/* A compare-exchange writes if it succeeds. */
	"w4 +0 atomic\nr4 +0 atomic\nr4 +0 compound atomic\nw4 +0 compound atomic\n"
	"r8 +8 compound atomic\nw8 +8 compound atomic\nr4 +0 atomic\nr4 +0 atomic\nw4 +0 atomic\n"
	/* A range is recorded by lines. */
	"w64 +0 range library\nw64 +64 range library\nw64 +128 range library\n"
	"w64 +192 range library\nw44 +256 range library\n"
	"r8 +0 library\nw8 +1000 library\nr24 +0\nw24 +2000 pc 77\n";

static void each_access_is_recorded_with_its_size_and_kind(void)
{
	records(all_accesses, "", recorded);
	records(all_accesses, "level=0:buffer=256K", recorded);
}

/* ---- tests: when -------------------------------------------------------------------- */

static void some_of_it(void)
{
	CHECK(cacheray_recording());
	__tsan_read1(at(1));
	cacheray_stop();
	CHECK(!cacheray_recording());
	__tsan_read1(at(2));
	cacheray_mark(1, "off");
	CHECK_EQ(cacheray_start(), 0);
	__tsan_read1(at(3));
	cacheray_mark(77, "here");
	cacheray_mark(78, NULL);
	__tsan_write1(at(4));
}

static void later(void)
{
	CHECK(!cacheray_recording());
	__tsan_read1(at(1));
	CHECK_EQ(cacheray_start(), 0);
	__tsan_read1(at(2));
	CHECK(cacheray_recording());
}

static void no_access_is_recorded_while_it_is_off(void)
{
	records(some_of_it, "", "r1 +1\nmark 1 'off'\nr1 +3\nmark 77 'here'\nmark 78 ''\nw1 +4\n");
	records(later, "start=0", "r1 +2\n");
	records(later, "enabled=0", "r1 +2\n");
}

static void ten_accesses(void)
{
	size_t i;

	for (i = 0; i < 10; i++)
		__tsan_read4(at(64 * i));
}

static void access_all_lines(void)
{
	size_t i;

	for (i = 0; i < 64; i++)
		__tsan_read4(at(64 * i));
}

static void a_part_of_the_accesses_is_recorded_on_request(void)
{
	char options[128];

	/* Bytes 64 to 191 of the data. */
	snprintf(options, sizeof(options), "region=%" PRIxPTR "-%" PRIxPTR, (uintptr_t)at(64),
		 (uintptr_t)at(192));
	CHECK_EQ(run(ten_accesses, options), 0);
	read_back(path);
	CHECK(strstr(text, "r4 +64\n") && strstr(text, "r4 +128\n"));
	CHECK(!strstr(text, "r4 +0\n") && !strstr(text, "r4 +192\n"));
	CHECK_EQ(blocks.nr_accesses, 2);
	/* Two of each five, and each of them stands for two and a half. */
	CHECK_EQ(run(ten_accesses, "sample=2/5"), 0);
	read_back(path);
	CHECK_EQ(blocks.nr_accesses, 4);
	CHECK_STR(text, "r4 +0 weight 640/256\nr4 +64 weight 640/256\ngap 3 cause 16\n"
			"r4 +320 weight 640/256\nr4 +384 weight 640/256\n");
	/* One line of each two: which ones depends on the address, how many of 64 does not. */
	CHECK_EQ(run(access_all_lines, "sample=lines/2"), 0);
	read_back(path);
	CHECK_EQ(blocks.nr_accesses, 32);
	CHECK(strstr(text, " weight 512/256\n") != NULL);
}

/* ---- tests: annotations --------------------------------------------------------------- */

static void annotations(void)
{
	cacheray_rtta_add(at(0), 8, 4, "struct one");
	__tsan_read8(at(8));
	cacheray_rtta_add(at(0), 4, 8, "struct two"); /* in place of the first */
	cacheray_rtta_remove(at(0));
	cacheray_rtta_remove(at(0));
	cacheray_rtta_add(at(64), 0, 4, "no size");
	cacheray_rtta_add(at(64), 4, 0, "no elements");
	cacheray_rtta_add(NULL, 4, 4, "no place");
	cacheray_rtta_add(at(128), 16, 1, NULL);
	__malloc_recorded(24, (char *)"m", at(256));
	__malloc_recorded(0, (char *)"none", at(512));
	__malloc_recorded(8, (char *)"none", NULL);
	__calloc_recorded(3, 5, (char *)"c", at(512));
	__calloc_recorded(0, 5, (char *)"none", at(1024));
	__realloc_recorded(at(256), 48, (char *)"m", at(768));
	__realloc_recorded(at(768), 96, (char *)"m", NULL); /* failed: the block stays */
	__realloc_recorded(at(768), 0, (char *)"m", NULL);  /* freed */
	__free_recorded(at(512));
	__free_recorded(NULL);
}

static void annotations_are_recorded_in_order(void)
{
	records(annotations, "",
		"add +0 4x8 'struct one'\nr8 +8\nremove +0\nadd +0 8x4 'struct two'\nremove +0\n"
		"add +128 1x16 ''\nadd +256 1x24 'm'\nadd +512 3x5 'c'\nremove +256\n"
		"add +768 1x48 'm'\nremove +768\nremove +512\n");
}

/* ---- tests: functions and coroutines -------------------------------------------------- */

static __attribute__((noinline)) void enter_one(void)
{
	__tsan_func_entry(code(0x2000));
	__tsan_read8(at(8));
	__tsan_func_exit();
	__asm__ volatile(""); /* no jump to it: the runtime compares frames */
}

static void calls(void)
{
	__tsan_func_entry(code(0x1000));
	__tsan_read8(at(0));
	enter_one();
	__tsan_read8(at(16));
	enter_one();
	__tsan_func_exit();
	__asm__ volatile("");
}

static const struct ctp_memory_site site = { "dir/a.c", "await_all", 12 };

static void coroutines(void)
{
	cacheray_coroutine(CTP_MEMORY_CREATED, at(0), 7, "reader");
	cacheray_coroutine(CTP_MEMORY_CREATED, at(8), 8, NULL);
	cacheray_coroutine(CTP_MEMORY_RESUMED, at(0), 7, NULL);
	__tsan_read8(at(0));
	cacheray_coroutine(CTP_MEMORY_RESUMED, at(8), 8, NULL); /* inside of the first */
	__tsan_read8(at(8));
	cacheray_coroutine(CTP_MEMORY_ENDED, at(8), 8, NULL);
	__tsan_read8(at(16));
	cacheray_coroutine(CTP_MEMORY_SUSPENDED, at(0), 7, &site);
	__tsan_read8(at(24));
	cacheray_coroutine(CTP_MEMORY_RESUMED, at(0), 7, NULL);
	__tsan_read8(at(32));
	cacheray_coroutine(CTP_MEMORY_DESTROYED, at(0), 7, NULL);
	__tsan_read8(at(40));
}

static void changes_of_coroutines_are_recorded(void)
{
	records(coroutines, "",
		"coro 7 cause 1 'reader|'\nr8 +0\n"
		"coro 8 cause 1 '|'\nr8 +8\n"
		"coro 7 cause 2 'reader|'\nr8 +16\n"
		"coro 0 cause 2 ''\nr8 +24\n"
		"coro 7 cause 1 'reader|dir/a.c|await_all|12'\nr8 +32\n"
		"coro 0 cause 2 ''\nr8 +40\n");
}

static void functions_are_recorded_on_request(void)
{
	records(calls, "", "r8 +0\nr8 +8\nr8 +16\nr8 +8\n");
	records(calls, "stacks=1",
		"exit 0\nenter 1000\nr8 +0\nenter 2000\nr8 +8\nexit 1\nr8 +16\nenter 2000\nr8 +8\n"
		"exit 1\nexit 1\n");
}

/* ---- tests: units, as wire.h describes them ------------------------------------------- */

/* CHECKs that each DATA unit of the open chunk has the number of those that follow, and itself. */
static void check_payloads(unsigned least)
{
	const struct crw_region *r = &crt_session.region;
	const uint8_t *chunk = crt_self.ring +
			       (crt_self.number & (r->nr_chunks - 1)) * r->chunk_size;
	const struct crw_unit *u = (const void *)(chunk + sizeof(struct crw_chunk_head));
	const struct crw_unit *end = u + (crt_self.cur - (uintptr_t)u) / sizeof(*u);
	unsigned payloads = 0;
	uint64_t left = 0;

	for (; u < end; u++) {
		bool is_data = CRW_CODE(u->w1) == CRW_DATA;

		CHECK_EQ(is_data, is_data || left);
		if (is_data && !left) { /* the first has the bytes of the others */
			payloads++;
			left = 1 + (u->w0 + 7) / 8;
		}
		CHECK(!is_data || (u->w1 & CRW_LOW) == left);
		left -= is_data;
	}
	CHECK_EQ(left, 0);
	CHECK(payloads >= least);
}

static void payloads(void)
{
	cacheray_mark(5, "a text of 22 characters");
	cacheray_rtta_add(at(0), 8, 4, "struct one");
	cacheray_coroutine(CTP_MEMORY_CREATED, at(0), 7, "reader");
	cacheray_coroutine(CTP_MEMORY_RESUMED, at(0), 7, NULL);
	__tsan_read8(at(0));
	check_payloads(3);
}

static void units_of_a_payload_say_how_many_follow(void)
{
	CHECK_EQ(run(payloads, ""), 0);
}

static uint32_t sleeper; /* the thread id, before it sleeps */

static void *sleep_for_bell(void *arg)
{
	uint32_t *bell = &crt_session.region.header->bell;
	uint32_t value = __atomic_load_n(bell, __ATOMIC_RELAXED);

	(void)arg;
	__atomic_store_n(&sleeper, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	crt_futex_wait(bell, value, 30000);
	return NULL;
}

static bool is_asleep(uint32_t tid)
{
	char file[64], state = 0;
	FILE *f;

	snprintf(file, sizeof(file), "/proc/self/task/%u/stat", tid);
	f = fopen(file, "r");
	CHECK(f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1);
	fclose(f);
	return state == 'S';
}

static void ring_for_a_sleeper(void)
{
	struct timespec end;
	pthread_t thread;
	uint32_t tid;

	__tsan_read8(at(0));
	CHECK_EQ(pthread_create(&thread, NULL, sleep_for_bell, NULL), 0);
	while (!(tid = __atomic_load_n(&sleeper, __ATOMIC_ACQUIRE)) || !is_asleep(tid))
		sched_yield();
	crt_ring_bell();
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 15;
	CHECK_EQ(pthread_timedjoin_np(thread, NULL, &end), 0);
}

static void the_bell_wakes_who_sleeps(void)
{
	CHECK_EQ(run(ring_for_a_sleeper, ""), 0);
}

/* ---- tests: limits --------------------------------------------------------------------- */

static void many_accesses(void)
{
	size_t i;

	for (i = 0; i < 100000; i++)
		__tsan_read4(at(i * 64 % sizeof(data)));
}

static void a_small_buffer_loses_nothing_if_the_program_waits(void)
{
	CHECK_EQ(run(many_accesses, "buffer=256K"), 0);
	is_quiet = true;
	read_back(path);
	is_quiet = false;
	CHECK_EQ(blocks.nr_accesses, 100000);
	CHECK_EQ(blocks.lost, 0);
	CHECK_EQ(blocks.left_out, 0);
}

int main(void)
{
	bed_begin();
	RUN(each_access_is_recorded_with_its_size_and_kind);
	RUN(no_access_is_recorded_while_it_is_off);
	RUN(a_part_of_the_accesses_is_recorded_on_request);
	RUN(annotations_are_recorded_in_order);
	RUN(changes_of_coroutines_are_recorded);
	RUN(functions_are_recorded_on_request);
	RUN(units_of_a_payload_say_how_many_follow);
	RUN(the_bell_wakes_who_sleeps);
	RUN(a_small_buffer_loses_nothing_if_the_program_waits);
	bed_end();
	return 0;
}
