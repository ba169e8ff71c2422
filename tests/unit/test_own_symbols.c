/* SPDX-License-Identifier: MIT */
/*
 * test_own_symbols.c - addresses of this program have the names and lines of its source, and a file
 * that is missing, damaged or of another build is named.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"
#include "own_module.h"
#include "symbols/symbols.h"

#define NOINLINE __attribute__((noinline, noclone))

/* ---- functions of this program --------------------------------------------------------- */

static uint64_t return_address;
static unsigned call_line;

static NOINLINE void callee(void)
{
	return_address = (uint64_t)(uintptr_t)__builtin_return_address(0);
	__asm__ volatile("" ::: "memory");
}

static NOINLINE int caller(int n)
{
	n += getpid();
	call_line = __LINE__ + 1;
	callee();
	__asm__ volatile("" ::: "memory");
	return n;
}

static const char *base_of(const char *path)
{
	return path ? strrchr(path, '/') ? strrchr(path, '/') + 1 : path : "(none)";
}

static struct symbols *own_symbols(void)
{
	struct symbol_module m = own_module();
	struct symbols *s = symbols_new();

	CHECK(s != NULL);
	m.pid = 7;
	CHECK_EQ(symbols_add(s, &m), 0);
	return s;
}

static void an_address_has_a_function_a_file_and_a_line(void)
{
	struct symbols *s = own_symbols();
	uint64_t addr = (uint64_t)(uintptr_t)callee;
	struct symbol_module m = own_module();
	struct symbol found, again;

	CHECK(symbols_find(s, 7, addr, &found));
	CHECK_STR(found.function, "callee");
	CHECK_STR(base_of(found.file), "test_own_symbols.c");
	CHECK(found.line > 20 && found.line < 40);
	CHECK_EQ(found.offset, 0);
	CHECK_STR(found.module, m.path);
	CHECK(symbols_find(s, 7, addr + 1, &found));
	CHECK_STR(found.function, "callee");
	CHECK_EQ(found.offset, 1);
	/* Of any process: the second answer is the first one, kept. */
	CHECK(symbols_find(s, 0, addr + 1, &found));
	CHECK(symbols_find(s, 0, addr + 1, &again));
	CHECK(found.function == again.function && found.file == again.file);
	CHECK_EQ(again.offset, 1);
	CHECK(!symbols_problem(s));
	/* Outside of the module, or of another process. */
	CHECK(!symbols_find(s, 7, m.start - 1, &found));
	CHECK(!symbols_find(s, 7, m.end, &found));
	CHECK(!symbols_find(s, 0, m.end, &found));
	CHECK(!symbols_find(s, 0, m.end, &found));
	CHECK(!symbols_find(s, 8, addr, &found));
	symbols_free(s);
}

static void a_return_address_belongs_to_the_call_before_it(void)
{
	struct symbols *s = own_symbols();
	struct symbol found;

	CHECK(caller(1) > 0);
	CHECK(symbols_find_resume(s, 7, return_address, &found));
	CHECK_STR(found.function, "caller");
	CHECK_EQ(found.line, call_line);
	CHECK_EQ(found.offset, return_address - (uint64_t)(uintptr_t)caller);
	/* The first address of a function is itself. */
	CHECK(symbols_find_resume(s, 7, (uint64_t)(uintptr_t)callee, &found));
	CHECK_STR(found.function, "callee");
	CHECK_EQ(found.offset, 0);
	symbols_free(s);
}

/* ---- modules ------------------------------------------------------------------------------ */

static void the_module_that_was_loaded_last_counts(void)
{
	const struct symbol_module first = { .pid = 1, .start = 100, .end = 200, .path = "/first" },
				   second = { .pid = 1, .start = 150, .end = 250, .path = "/2nd" },
				   other = { .pid = 2, .start = 100, .end = 200, .path = "/other" };
	struct symbols *s = symbols_new();

	CHECK(!symbols_has_process(s, 0) && !symbols_has_process(s, 1));
	CHECK_EQ(symbols_add(s, &first), 0);
	CHECK(symbols_has_process(s, 0) && symbols_has_process(s, 1));
	CHECK(!symbols_has_process(s, 2));
	CHECK_STR(symbols_module_path(s, 1, 150), "/first");
	CHECK_EQ(symbols_add(s, &second), 0);
	CHECK_EQ(symbols_add(s, &other), 0);
	CHECK(symbols_has_process(s, 2));
	CHECK_STR(symbols_module_path(s, 1, 100), "/first");
	CHECK_STR(symbols_module_path(s, 1, 149), "/first");
	CHECK_STR(symbols_module_path(s, 1, 150), "/2nd");
	CHECK_STR(symbols_module_path(s, 1, 249), "/2nd");
	CHECK_STR(symbols_module_path(s, 2, 150), "/other");
	CHECK_STR(symbols_module_path(s, 0, 150), "/other");
	CHECK(!symbols_module_path(s, 1, 250) && !symbols_module_path(s, 1, 99));
	CHECK(!symbols_module_path(s, 3, 150));
	CHECK(symbols_has(s, 1, 199) && !symbols_has(s, 2, 200));
	symbols_free(s);
	symbols_free(NULL);
}

static void a_new_module_replaces_answers_that_were_kept(void)
{
	struct symbols *s = own_symbols();
	struct symbol_module gone = own_module();
	uint64_t addr = (uint64_t)(uintptr_t)callee;
	struct symbol found;

	CHECK(symbols_find(s, 0, addr, &found));
	CHECK_STR(found.function, "callee");
	gone.path = "/no/such/file";
	CHECK_EQ(symbols_add(s, &gone), 0);
	CHECK(symbols_find(s, 0, addr, &found));
	CHECK(!found.function && !found.file);
	CHECK_STR(found.module, "/no/such/file");
	CHECK_EQ(found.offset, addr - gone.start);
	symbols_free(s);
}

static void many_addresses_are_kept(void)
{
	struct symbols *s = own_symbols();
	struct symbol_module m = own_module();
	struct symbol first, again;
	uint64_t i;

	for (i = 0; i < 600; i++)
		CHECK(symbols_find(s, 0, m.start + i * 16, &first));
	for (i = 0; i < 600; i++) {
		CHECK(symbols_find(s, 7, m.start + i * 16, &first));
		CHECK(symbols_find(s, 0, m.start + i * 16, &again));
		CHECK(first.function == again.function && first.offset == again.offset);
		CHECK(first.file == again.file && first.line == again.line);
	}
	symbols_free(s);
}

/* ---- files that cannot be used ------------------------------------------------------------ */

static void check_problem(const struct symbol_module *m, const char *wanted)
{
	struct symbols *s = symbols_new();
	struct symbol found;
	char text[600];

	CHECK_EQ(symbols_add(s, m), 0);
	CHECK(!symbols_problem(s)); /* it was not looked at */
	CHECK(symbols_find(s, 0, m->start + 0x1234, &found));
	CHECK(!found.function && !found.file);
	CHECK_EQ(found.offset, 0x1234);
	snprintf(text, sizeof(text), "Functions of '%s' have no names here: it %s.", m->path,
		 wanted);
	CHECK_STR(symbols_problem(s), text);
	symbols_free(s);
}

static void a_file_that_cannot_be_used_is_named(void)
{
	static struct module_watch watch;
	char path[64] = "/tmp/corotracer-symbols-XXXXXX";
	struct symbol_module m = own_module();
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, "not a program", 13), 13);
	close(fd);
	m.build_id = "00112233445566778899aabbccddeeff00112233";
	check_problem(&m, "was rebuilt after the trace was recorded");
	m.build_id = "0011";
	check_problem(&m, "was rebuilt after the trace was recorded");
	m.build_id = NULL;
	snprintf(watch.damaged[0], MODULE_WATCH_PATH, "%s", m.path);
	watch.nr_damaged = 1;
	module_set_watch(&watch);
	check_problem(&m, "is damaged");
	CHECK_STR(watch.reading, "");
	m.path = path;
	check_problem(&m, "cannot be read as a program");
	CHECK_STR(watch.reading, path); /* the one that was read last */
	module_set_watch(NULL);
	m.has_bias = false;
	check_problem(&m, "cannot be read as a program");
	unlink(path);
	check_problem(&m, "no longer exists");
}

static void the_first_problem_is_told(void)
{
	const struct symbol_module one = { .start = 100, .end = 200, .path = "/one" },
				   two = { .start = 300, .end = 400, .path = "/two" };
	struct symbols *s = symbols_new();
	struct symbol found;

	CHECK_EQ(symbols_add(s, &one), 0);
	CHECK_EQ(symbols_add(s, &two), 0);
	CHECK(symbols_find(s, 0, 300, &found));
	CHECK(symbols_find(s, 0, 100, &found));
	CHECK_STR(symbols_problem(s),
		  "Functions of '/two' have no names here: it no longer exists.");
	symbols_free(s);
}

static void words_of_all_states(void)
{
	CHECK_STR(module_state_words(MODULE_UNTRIED), "was not looked at");
	CHECK_STR(module_state_words(MODULE_READY), "is there");
}

/* ---- where a file is mapped ------------------------------------------------------------------ */

/* A trace without a bias has the offset of a mapping in the file: the bias comes from it. */
static void the_place_of_a_mapping_says_where_the_file_is(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct symbol_module own = own_module();
	uint64_t addr = (uint64_t)(uintptr_t)callee;
	char line[512];

	CHECK(maps != NULL);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long long start, end, offset;
		struct symbol_module m = { .path = own.path };
		struct symbols *s;
		struct symbol found;

		if (sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) != 3 ||
		    addr < start || addr >= end)
			continue;
		m.start = start;
		m.end = end;
		m.offset = offset;
		s = symbols_new();
		CHECK_EQ(symbols_add(s, &m), 0);
		CHECK(symbols_find(s, 0, addr, &found));
		CHECK_STR(found.function, "callee");
		symbols_free(s);
		m.offset += 0x100000000; /* no segment is there */
		check_problem(&m, "cannot be read as a program");
	}
	fclose(maps);
}

int main(void)
{
	RUN(an_address_has_a_function_a_file_and_a_line);
	RUN(a_return_address_belongs_to_the_call_before_it);
	RUN(the_module_that_was_loaded_last_counts);
	RUN(a_new_module_replaces_answers_that_were_kept);
	RUN(many_addresses_are_kept);
	RUN(a_file_that_cannot_be_used_is_named);
	RUN(the_first_problem_is_told);
	RUN(words_of_all_states);
	RUN(the_place_of_a_mapping_says_where_the_file_is);
	return 0;
}
