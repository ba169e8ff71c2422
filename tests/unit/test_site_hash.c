/* SPDX-License-Identifier: MIT */
/* test_site_hash.c - the hash of a source location: its value is stored, and must not change. */
#include "trace/site_hash.h"

#include "check.h"

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

int main(void)
{
	RUN(values_are_those_that_databases_hold);
	RUN(names_are_normalized_first);
	RUN(each_part_counts);
	RUN(every_bit_is_set_in_half_of_the_hashes);
	return 0;
}
