/* SPDX-License-Identifier: MIT */
/*
 * test_site_hash.c - source locations: their hash, whose value is stored and must not change, their
 * names, and which of them are the same.
 */
#include "trace/site_hash.h"

#include "check.h"
#include "trace/trace_site.h"

static void values_are_those_that_databases_hold(void)
{
	CHECK(site_hash("src/io.c", 42, "wait") == UINT64_C(0x2a8c4c217c925ab5));
	CHECK(site_hash("", 0, "") == UINT64_C(0x7fc366e1411ebe6));
}

static void names_are_normalized_first(void)
{
	CHECK(site_hash("./src//io.c", 42, "wait") == site_hash("src/io.c", 42, "wait"));
	CHECK(site_hash("src/a/../io.c", 42, "wait") == site_hash("src/io.c", 42, "wait"));
	CHECK(site_hash(NULL, 7, NULL) == site_hash("", 7, ""));
}

static void each_part_counts(void)
{
	uint64_t hash = site_hash("a.c", 1, "f");

	CHECK(hash != site_hash("b.c", 1, "f"));
	CHECK(hash != site_hash("a.c", 2, "f"));
	CHECK(hash != site_hash("a.c", 1, "g"));
	CHECK(hash != site_hash("a.c", 1 << 24, "f"));
	CHECK(site_hash("ab", 1, "c") != site_hash("a", 1, "bc"));
}

static void every_bit_is_set_in_half_of_the_hashes(void)
{
	unsigned bits[64] = { 0 };
	uint32_t line;
	int bit;

	for (line = 0; line < 20000; line++) {
		uint64_t hash = site_hash("src/io.c", line, "wait");

		CHECK(hash);
		for (bit = 0; bit < 64; bit++)
			bits[bit] += (unsigned)(hash >> bit & 1);
	}
	for (bit = 0; bit < 64; bit++)
		CHECK(bits[bit] > 9500 && bits[bit] < 10500);
}

static void a_path_may_be_the_end_of_another(void)
{
	static const struct {
		const char *a, *b;
		bool is_same;
	} cases[] = {
		{ "a.c", "a.c", true },
		{ "a.c", "b.c", false },
		{ "net/io.c", "/src/net/io.c", true },
		{ "io.c", "/src/net/io.c", true },
		{ "o.c", "/src/net/io.c", false },
		{ "/net/io.c", "/src/net/io.c", false },
		{ "net/io.c", "net/io.c.x", false },
		{ "../net/io.c", "src/net/io.c", true },
		{ "../../io.c", "../io.c", true },
		{ "x/io.c", "y/io.c", false },
		{ "", "", true },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_EQ(site_same_path(cases[i].a, cases[i].b), cases[i].is_same);
		CHECK_EQ(site_same_path(cases[i].b, cases[i].a), cases[i].is_same);
	}
}

static void locations_have_a_text(void)
{
	struct site_names names;
	char text[64];

	site_text(text, sizeof(text), "src/io.c", 42, "wait");
	CHECK_STR(text, "src/io.c:42 wait");
	site_text(text, sizeof(text), "src/io.c", 42, "");
	CHECK_STR(text, "src/io.c:42");
	site_text(text, sizeof(text), NULL, 0, NULL);
	CHECK_STR(text, "(unknown file):0");
	site_text(text, sizeof(text), "", 1, "f");
	CHECK_STR(text, "(unknown file):1 f");
	site_names_of(&names, "./a/../b.cpp", "task<int> net::read(int, char*)");
	CHECK_STR(names.file, "b.cpp");
	CHECK_STR(names.function, "net::read");
	/* Names of Rust are not taken apart. */
	site_names_of(&names, "a.rs", "task<int> net::read(int, char*)");
	CHECK_STR(names.function, "task<int> net::read(int, char*)");
	site_names_of(&names, ".rs", "task<int> net::read(int, char*)");
	CHECK_STR(names.function, "net::read");
	site_names_of(&names, NULL, NULL);
	CHECK(!names.file[0] && !names.function[0]);
}

static uint32_t add_site(struct site_table *t, uint32_t id, const char *file, uint32_t line,
			 const char *function)
{
	struct trace_site site = { .id = id, .line = line, .file = file, .function = function };
	uint32_t first = site_table_add(t, &site);

	CHECK_EQ(site.id, id);
	CHECK_EQ(site.line, line);
	return first;
}

static void a_location_has_one_id(void)
{
	struct trace_site site = { .id = 5, .line = 7, .file = "./src/a.h", .function = "f" };
	struct site_table t = { 0 };

	CHECK_EQ(add_site(&t, 1, "/home/me/src/a.h", 7, "f"), 1);
	CHECK(!t.has_doubles);
	CHECK_EQ(site_table_id(&t, 5), 5);
	CHECK_EQ(site_table_add(&t, &site), 1); /* the same */
	CHECK_STR(site.file, "/home/me/src/a.h");
	CHECK_STR(site.function, "f");
	CHECK_EQ(site_table_id(&t, 5), 1);
	CHECK_EQ(site_table_id(&t, 1), 1);
	CHECK_EQ(site_table_id(&t, 300), 300);
	CHECK_EQ(add_site(&t, 1, "/home/me/src/a.h", 7, "f"), 1); /* again */
	CHECK_EQ(t.nr, 1);
	CHECK_EQ(add_site(&t, 2, "src/a.h", 8, "f"), 2);
	CHECK_EQ(add_site(&t, 3, "src/a.h", 7, "g"), 3);
	CHECK_EQ(add_site(&t, 4, "other/a.h", 7, "f"), 4);
	CHECK_EQ(add_site(&t, 6, "more/other/a.h", 7, "f"), 4);
	CHECK_EQ(add_site(&t, 7, "", 7, "f"), 7); /* without a file each is another one */
	CHECK_EQ(add_site(&t, 8, "", 7, "f"), 8);
	CHECK_EQ(add_site(&t, 65535, "a.h", 8, "f"), 2);
	CHECK_EQ(site_table_id(&t, 65535), 2);
	CHECK_EQ(add_site(&t, 65536, "a.h", 8, "f"), 65536); /* too high */
	CHECK_EQ(site_table_id(&t, 65536), 65536);
	CHECK_EQ(site_table_id(&t, 5), 1);
	site_table_release(&t);
	CHECK(!t.places && !t.nr && !t.first);
}

static void locations_are_found_by_any_end_of_their_path(void)
{
	struct trace_site found = { 0 };
	struct site_table t = { 0 };
	char file[32];
	uint32_t i;

	for (i = 1; i <= 300; i++) {
		snprintf(file, sizeof(file), "d%u/a.c", i);
		CHECK_EQ(add_site(&t, i, file, 5, "f"), i);
	}
	CHECK(site_table_find(&t, "/x/d17/a.c", 5, "f", &found));
	CHECK_EQ(found.id, 17);
	CHECK_EQ(found.line, 5);
	CHECK_STR(found.file, "d17/a.c");
	CHECK_STR(found.function, "f");
	CHECK(site_table_find(&t, "a.c", 5, "f", &found));
	CHECK(!site_table_find(&t, "d17/a.c", 6, "f", &found));
	CHECK(!site_table_find(&t, "d17/a.c", 5, "g", &found));
	CHECK(!site_table_find(&t, "d301/a.c", 5, "f", &found));
	site_table_release(&t);
}

int main(void)
{
	RUN(values_are_those_that_databases_hold);
	RUN(names_are_normalized_first);
	RUN(each_part_counts);
	RUN(every_bit_is_set_in_half_of_the_hashes);
	RUN(a_path_may_be_the_end_of_another);
	RUN(locations_have_a_text);
	RUN(a_location_has_one_id);
	RUN(locations_are_found_by_any_end_of_their_path);
	return 0;
}
