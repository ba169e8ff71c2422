/* SPDX-License-Identifier: MIT */
/*
 * test_stamps.c - which coroutine a thread runs, call by call: the stamps in its stream.
 *
 * The recorder is the test's: it keeps the stamps as text, "ID CAUSE[own] KIND FILE FUNCTION LINE",
 * without those parts of a site that are empty.
 */
#include "coroutine_stamp.h"

#include <stdarg.h>
#include <stdbool.h>

#include <corotracer/memory_hook.h>

#include "check.h"
#include "container.h"
#include "sys.h"
#include "trace_session.h"

struct crt_state crt_state = { .session = 1 };
struct crt_session crt_session = { .coroutines = 1 };
__thread struct crt_thread crt_self;

static char log_text[4096];
static bool is_full; /* the stream has no room */
static unsigned nr_said;

uint64_t crt_now(void)
{
	return 55;
}

void *crt_memory_once(void **made, uint64_t size)
{
	if (!*made)
		*made = calloc(1, size);
	return *made;
}

size_t crt_length(const char *s)
{
	return strlen(s);
}

void crt_text_init(struct crt_text *t, char *buffer, size_t size)
{
	*t = (struct crt_text){ buffer, buffer + size - 1 };
	*buffer = '\0';
}

void crt_text_add(struct crt_text *t, const char *text)
{
	t->at += snprintf(t->at, (size_t)(t->end - t->at) + 1, "%s", text);
}

void crt_text_number(struct crt_text *t, uint64_t n)
{
	t->at += snprintf(t->at, (size_t)(t->end - t->at) + 1, "%llu", (unsigned long long)n);
}

void crt_text_hex(struct crt_text *t, uint64_t n)
{
	t->at += snprintf(t->at, (size_t)(t->end - t->at) + 1, "%llx", (unsigned long long)n);
}

void crt_say(const char *first, ...)
{
	CHECK_STR(first, "too many coroutines: accesses of some are recorded as outside of all");
	nr_said++;
}

bool crt_put_payload(unsigned code, uint64_t w0, uint64_t low, const uint8_t *bytes, uint32_t size)
{
	static const char *const causes[] = { "?", "resumed", "returned", "continued" };
	size_t used = strlen(log_text);
	uint64_t how;
	uint32_t i;

	CHECK_EQ(code, CRW_CORO);
	CHECK_EQ(low, 55);
	CHECK(size >= 8 && size <= CRT_STAMP_MAX);
	if (is_full)
		return false;
	memcpy(&how, bytes, sizeof(how));
	used += (size_t)snprintf(log_text + used, sizeof(log_text) - used, "%llu %s%s",
				 (unsigned long long)w0, causes[how & CRAY_CORO_CAUSE],
				 how & CRAY_CORO_OWN_ID ? "[own]" : "");
	if (size > 8)
		log_text[used++] = ' ';
	for (i = 8; i < size && used < sizeof(log_text) - 2; i++)
		log_text[used++] = bytes[i] ? (char)bytes[i] : ' ';
	log_text[used++] = '\n';
	log_text[used] = '\0';
	return true;
}

void cacheray_coroutine(uint32_t what, const void *coroutine, uint64_t id, const void *about);

/* ---- tests ---------------------------------------------------------------------------------- */

static uint64_t probes[64][2]; /* coroutines: their addresses */
static const struct ctp_memory_site site = { "a.c", "wait", 12 }, other = { "b.c", NULL, 7 };

#define CREATE(i, id, name) cacheray_coroutine(CTP_MEMORY_CREATED, probes[i], id, name)
#define RESUME(i, id)       cacheray_coroutine(CTP_MEMORY_RESUMED, probes[i], id, NULL)
#define SUSPEND(i, id, at)  cacheray_coroutine(CTP_MEMORY_SUSPENDED, probes[i], id, at)
#define STAY(i, id)         cacheray_coroutine(CTP_MEMORY_STAYED, probes[i], id, NULL)
#define END(i, id)          cacheray_coroutine(CTP_MEMORY_ENDED, probes[i], id, NULL)
#define DESTROY(i, id)      cacheray_coroutine(CTP_MEMORY_DESTROYED, probes[i], id, NULL)

static void check_log(const char *expected)
{
	CHECK_STR(log_text, expected);
	log_text[0] = '\0';
}

static void a_resume_and_a_suspend_are_stamped(void)
{
	CREATE(0, 10, "worker 12");
	check_log("");
	RESUME(0, 10);
	check_log("10 resumed worker \n");
	CHECK_EQ(crt_self.running_id, 10);
	RESUME(0, 10); /* it runs */
	check_log("");
	SUSPEND(0, 10, &site);
	check_log("0 returned\n");
	CHECK(!crt_self.running);
	SUSPEND(0, 10, &other); /* it does not run */
	check_log("");
	RESUME(0, 10);
	check_log("10 resumed worker b.c  7\n");
	SUSPEND(0, 10, &site);
	RESUME(0, 10);
	check_log("0 returned\n10 resumed worker a.c wait 12\n");
	STAY(0, 10);
	END(0, 10);
	check_log("0 returned\n");
	DESTROY(0, 10);
	check_log("");
}

/* It did not suspend after all: its site is that of the suspend before. */
static void a_coroutine_that_stays_runs_again(void)
{
	CREATE(1, 11, "x");
	RESUME(1, 11);
	SUSPEND(1, 11, &site);
	RESUME(1, 11);
	log_text[0] = '\0';
	SUSPEND(1, 11, &other);
	STAY(1, 11);
	check_log("0 returned\n11 returned x a.c wait 12\n");
	END(1, 11);
	DESTROY(1, 11);
	check_log("0 returned\n");
}

static void kinds_are_names_without_numbers(void)
{
	static const char *const names[][2] = {
		{ "worker-7", "worker" },
		{ "w 1 2", "w 1" },
		{ "plain", "plain" },
		{ "x-y_", "x-y_" },
		{ "42", "" },
		{ "a  -_9", "a" },
		{ "Z9", "Z" },
		{ "\xc3\xa9-1", "\xc3\xa9" },
	};
	char expected[64];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CREATE(2, 20 + i, names[i][0]);
		RESUME(2, 20 + i);
		snprintf(expected, sizeof(expected), "%d resumed %s \n", (int)(20 + i),
			 names[i][1]);
		check_log(expected);
		DESTROY(2, 20 + i);
		check_log("0 returned\n");
	}
	/* Long ones are cut. */
	{
		char name[300], text[400];

		memset(name, 'n', sizeof(name));
		name[299] = '\0';
		CREATE(2, 30, name);
		RESUME(2, 30);
		snprintf(text, sizeof(text), "30 resumed %.*s \n", (int)CRT_KIND_MAX, name);
		check_log(text);
		DESTROY(2, 30);
		log_text[0] = '\0';
	}
}

static void one_without_a_name_has_the_address_of_its_code(void)
{
	CREATE(3, 31, NULL);
	cacheray_coroutine(CTP_MEMORY_CODE, probes[3], 31, (const void *)0xabc);
	RESUME(3, 31);
	check_log("31 resumed @abc \n");
	cacheray_coroutine(CTP_MEMORY_CODE, probes[3], 31, (const void *)0xdef); /* it has one */
	SUSPEND(3, 31, NULL);
	RESUME(3, 31);
	check_log("0 returned\n31 resumed @abc \n");
	DESTROY(3, 31);
	log_text[0] = '\0';
}

static void names_of_cpp_are_shortened(void)
{
	static const struct ctp_memory_site cpp = { "c.cc", "task<int> ns::run(int)", 3 };

	cacheray_coroutine(CTP_MEMORY_CREATED | CTP_MEMORY_CPP, probes[4], 32,
			   "task<int> ns::run(int)");
	cacheray_coroutine(CTP_MEMORY_SUSPENDED | CTP_MEMORY_CPP, probes[4], 32, &cpp);
	RESUME(4, 32);
	check_log("32 resumed ns::run c.cc ns::run 3\n");
	DESTROY(4, 32);
	log_text[0] = '\0';
}

/* Its id is the runtime's own until the trace of coroutines has one. */
static void one_without_an_id_gets_one(void)
{
	RESUME(5, 0); /* it was not created while a session was there */
	check_log("1 resumed[own]  \n");
	SUSPEND(5, 0, NULL);
	RESUME(5, 0);
	check_log("0 returned\n1 resumed[own]  \n");
	STAY(5, 77); /* now it has one */
	CHECK_EQ(crt_self.running_id, 77);
	check_log("");
	SUSPEND(5, 77, NULL);
	RESUME(5, 77);
	check_log("0 returned\n77 resumed  \n");
	CREATE(6, 0, "y");
	RESUME(6, 0);
	check_log("2 resumed[own] y \n");
	DESTROY(6, 0);
	check_log("77 returned  \n");
	DESTROY(5, 77);
	check_log("0 returned\n");
	DESTROY(5, 78); /* it is not known */
	check_log("");
}

static void nested_resumes_return_to_the_one_below(void)
{
	CREATE(7, 40, "a");
	CREATE(8, 41, "b");
	CREATE(9, 42, "c");
	RESUME(7, 40);
	RESUME(8, 41);
	RESUME(9, 42);
	check_log("40 resumed a \n41 resumed b \n42 resumed c \n");
	SUSPEND(9, 42, NULL);
	check_log("41 returned b \n");
	RESUME(9, 42);
	check_log("42 resumed c \n");
	/* The lowest gives up the thread, and with it the others. */
	SUSPEND(7, 40, NULL);
	check_log("0 returned\n");
	RESUME(7, 40);
	check_log("40 resumed a \n");
	DESTROY(9, 42);
	DESTROY(8, 41);
	DESTROY(7, 40);
	check_log("0 returned\n");
}

/* The one below was destroyed meanwhile, and its cell has another coroutine. */
static void one_below_that_has_gone_does_not_run(void)
{
	CREATE(10, 50, "a");
	CREATE(11, 51, "b");
	CREATE(12, 52, "c");
	RESUME(10, 50);
	RESUME(11, 51);
	RESUME(12, 52);
	DESTROY(11, 51);
	log_text[0] = '\0';
	SUSPEND(12, 52, NULL);
	check_log("");
	RESUME(12, 52);
	check_log("52 resumed c \n");
	DESTROY(12, 52);
	check_log("50 returned a \n");
	RESUME(12, 53);
	CREATE(10, 54, "d"); /* at the same address: the end of 50 was not reported */
	SUSPEND(12, 53, NULL);
	check_log("53 resumed  \n0 returned\n");
	DESTROY(10, 54);
	DESTROY(12, 53);
	log_text[0] = '\0';
}

/* Its end is not reported: the next resume may be that of another one. */
static void a_loose_coroutine_ends_with_the_next_resume(void)
{
	CREATE(13, 60, "a");
	CREATE(14, 61, "b");
	cacheray_coroutine(CTP_MEMORY_SUSPENDED | CTP_MEMORY_LOOSE, probes[13], 60, NULL);
	RESUME(13, 60);
	RESUME(14, 61);
	SUSPEND(14, 61, NULL);
	check_log("60 resumed a \n61 resumed b \n0 returned\n");
	DESTROY(13, 60);
	DESTROY(14, 61);
	check_log("");
}

static void a_pause_belongs_to_no_coroutine(void)
{
	cacheray_coroutine(CTP_MEMORY_PAUSED, probes[15], 70, NULL);
	check_log(""); /* none runs */
	RESUME(15, 70);
	cacheray_coroutine(CTP_MEMORY_PAUSED, probes[15], 70, NULL);
	check_log("70 resumed  \n0 returned\n");
	CHECK(crt_self.running != NULL);
	DESTROY(15, 70);
	log_text[0] = '\0';
}

static void a_stamp_without_room_is_due(void)
{
	uint8_t bytes[CRT_STAMP_MAX];

	CREATE(16, 80, "a");
	SUSPEND(16, 80, &site);
	is_full = true;
	RESUME(16, 80);
	is_full = false;
	check_log("");
	CHECK_EQ(crt_self.stamp_due, 1);
	crt_self.stamp_due = 0;
	CHECK_EQ(crt_stamp_text(&crt_self, CRAY_CORO_CONTINUED, bytes), 8 + 2 + 4 + 5 + 2);
	CHECK_EQ(bytes[0], CRAY_CORO_CONTINUED);
	DESTROY(16, 80);
	CHECK_EQ(crt_stamp_text(&crt_self, CRAY_CORO_CONTINUED, bytes), 8);
	check_log("0 returned\n");
}

static void without_a_session_nothing_is_kept(void)
{
	crt_state.session = 0;
	RESUME(17, 90);
	crt_state.session = 1;
	crt_session.coroutines = 0;
	RESUME(17, 90);
	crt_session.coroutines = 1;
	cacheray_coroutine(CTP_MEMORY_RESUMED, NULL, 90, NULL);
	cacheray_coroutine(CTP_MEMORY_RESUMED, (const void *)1, 90, NULL);
	check_log("");
	CHECK(!crt_self.running);
}

/* The end of a long path, the start of a long function. */
static void long_sites_are_cut(void)
{
	static char file[600], function[400], text[1000];
	static struct ctp_memory_site wide = { file, function, UINT32_MAX };

	memset(file, 'x', sizeof(file) - 1);
	memcpy(file + 590, "end.c", 5);
	memset(function, 'f', sizeof(function) - 1);
	CREATE(18, 91, "a");
	SUSPEND(18, 91, &wide);
	RESUME(18, 91);
	snprintf(text, sizeof(text), "91 resumed a %s %.*s 4294967295\n", file + 599 - CRT_FILE_MAX,
		 (int)CRT_FUNCTION_MAX, function);
	check_log(text);
	DESTROY(18, 91);
	log_text[0] = '\0';
}

/* Coroutines whose end is not reported, at addresses with the same hash or others. */
static void too_many_coroutines_are_told_once(void)
{
	uint64_t i, end;

	for (i = 0; i < 700000 && !nr_said; i++)
		cacheray_coroutine(CTP_MEMORY_CREATED, (const void *)(0x10000 + (i << 4)), i + 100,
				   NULL);
	CHECK(nr_said == 1 && i > 250000 && i <= 1 << 19);
	for (end = i + 1000; i < end; i++)
		cacheray_coroutine(CTP_MEMORY_CREATED, (const void *)(0x10000 + (i << 4)), i + 100,
				   NULL);
	CHECK_EQ(nr_said, 1);
	check_log("");
}

int main(void)
{
	RUN(a_resume_and_a_suspend_are_stamped);
	RUN(a_coroutine_that_stays_runs_again);
	RUN(kinds_are_names_without_numbers);
	RUN(one_without_a_name_has_the_address_of_its_code);
	RUN(names_of_cpp_are_shortened);
	RUN(one_without_an_id_gets_one);
	RUN(nested_resumes_return_to_the_one_below);
	RUN(one_below_that_has_gone_does_not_run);
	RUN(a_loose_coroutine_ends_with_the_next_resume);
	RUN(a_pause_belongs_to_no_coroutine);
	RUN(a_stamp_without_room_is_due);
	RUN(without_a_session_nothing_is_kept);
	RUN(long_sites_are_cut);
	RUN(too_many_coroutines_are_told_once);
	return 0;
}
