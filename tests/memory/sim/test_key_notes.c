/* SPDX-License-Identifier: MIT */
/*
 * test_key_notes.c - classes of misses do not depend on the uses that the vector unit leaves out.
 *
 * Lines that are used in turn with others, for any number of rounds, and then not again: whether
 * their last use counts decides what is evicted next.
 */
#include "check.h"
#include "memory/sim/config.h"
#include "memory/sim/sim.h"
#include "traces.h"

#define KEYS 1000u

static void make_keys(uint64_t *state, uint32_t nr_lines, struct mem_lines *lines)
{
	lines->nr = 0;
	while (lines->nr < KEYS) {
		uint64_t line = traces_random(state) % nr_lines, other = 0;
		uint32_t rounds = (uint32_t)(traces_random(state) % 100);

		if (traces_random(state) % 2)
			rounds %= 4;
		for (; rounds && lines->nr < KEYS; rounds--) {
			bool is_write = traces_random(state) % 8 == 0;

			if (traces_random(state) % 8 < 7)
				other = traces_random(state) % nr_lines;
			lines->key[lines->nr++] = MEM_KEY_OF(other);
			lines->key[lines->nr++] = MEM_KEY_OF(line) | is_write;
			while (traces_random(state) % 8 == 0 && lines->nr < KEYS)
				lines->key[lines->nr++] = MEM_KEY_OF(line);
		}
	}
}

static struct sim *new_sim(const char *first, const char *path)
{
	struct sim_config config;
	struct err err = { 0 };
	struct sim *s;

	sim_config_default(&config);
	config.nr_levels = 0;
	CHECK_EQ(sim_config_level_text(&config, first, &err), 0);
	CHECK_EQ(sim_config_level_text(&config, "64K,16,64", &err), 0);
	sim_config_finish(&config);
	s = sim_new(&config, &err);
	CHECK(s != NULL);
	CHECK_EQ(sim_choose_path(s, path), 0);
	return s;
}

static void classes_are_equal(const char *first, uint32_t nr_lines)
{
	struct sim *best = new_sim(first, NULL), *scalar = new_sim(first, "scalar");
	static uint64_t key[KEYS + 3];
	struct mem_lines lines = { .key = key, .shift = 6 };
	struct sim_counts a, b;
	uint64_t state = nr_lines;
	uint32_t i, k;

	for (i = 0; i < 200; i++) {
		make_keys(&state, nr_lines, &lines);
		lines.lines[0] = lines.accesses[0] = lines.nr;
		CHECK_EQ(sim_run_lines(best, 0, &lines), 0);
		CHECK_EQ(sim_run_lines(scalar, 0, &lines), 0);
	}
	for (k = 0; k < 2; k++) {
		sim_level_totals(best, k, &a);
		sim_level_totals(scalar, k, &b);
		CHECK(memcmp(&a, &b, sizeof(a)) == 0);
	}
	sim_free(best);
	sim_free(scalar);
}

static void left_out_uses_do_not_matter(void)
{
	classes_are_equal("8K,8,64", 150);
	classes_are_equal("8K,8,64", 400);
	classes_are_equal("4K,8,64", 80);
	classes_are_equal("2K,8,64", 40);
	classes_are_equal("12K,12,64", 250);
	classes_are_equal("8K,2,64", 160);
	classes_are_equal("5K,8,64", 100);
}

/*
 * A line is used in turn with another and then several times in a row; behind 127 others, of a
 * cache of 128 lines, it is the oldest one that a cache without sets would still have.
 */
static void the_last_of_equal_uses_counts(void)
{
	static uint64_t key[512];
	struct mem_lines lines = { .key = key, .shift = 6 };
	struct sim_counts a, b;
	uint32_t before, rounds, i, n;

	for (before = 0; before < 64; before++) {
		for (rounds = 1; rounds < 6; rounds++) {
			struct sim *best = new_sim("8K,8,64", NULL);
			struct sim *scalar = new_sim("8K,8,64", "scalar");

			for (n = 0; n < before; n++)
				key[n] = MEM_KEY_OF(1000 + n);
			for (i = 0; i < 2; i++) {
				key[n++] = MEM_KEY_OF(16);
				key[n++] = MEM_KEY_OF(17);
			}
			for (i = 0; i < rounds; i++)
				key[n++] = MEM_KEY_OF(16);
			for (i = 0; i < 127; i++)
				key[n++] = MEM_KEY_OF(32 + i);
			key[n++] = MEM_KEY_OF(16);
			lines.nr = n;
			lines.lines[0] = lines.accesses[0] = n;
			CHECK_EQ(sim_run_lines(best, 0, &lines), 0);
			CHECK_EQ(sim_run_lines(scalar, 0, &lines), 0);
			sim_level_totals(best, 0, &a);
			sim_level_totals(scalar, 0, &b);
			CHECK(memcmp(&a, &b, sizeof(a)) == 0);
			sim_free(best);
			sim_free(scalar);
		}
	}
}

int main(void)
{
	RUN(left_out_uses_do_not_matter);
	RUN(the_last_of_equal_uses_counts);
	return 0;
}
