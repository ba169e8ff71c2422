/* SPDX-License-Identifier: MIT */
/* test_u64map.c - the map returns what was stored, for any keys; strings are numbered once. */
#include "base/u64map.h"

#include <errno.h>
#include <time.h>

#include "base/strtab.h"

#include "check.h"

/* Compared with a plain array: keys are added and removed, among many dense ones. */
static void forgets_what_is_removed_and_nothing_else(void)
{
	enum { NR = 3000 };
	static const unsigned shifts[] = { 0, 6, 48 };
	static uint64_t values[NR];
	uint64_t state = 12345, value, present = 0;
	size_t s;
	int i, k;

	for (s = 0; s < 3; s++) {
		struct u64map map = { 0 };

		CHECK(!u64map_remove(&map, 0) && !u64map_remove(&map, 5));
		memset(values, 0, sizeof(values));
		present = 0;
		for (i = 0; i < 300000; i++) {
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
			k = (int)(state >> 33) % NR;
			if (values[k]) {
				CHECK(u64map_remove(&map, (uint64_t)k << shifts[s]));
				values[k] = 0;
				present--;
			} else {
				values[k] = state | 1;
				CHECK_EQ(u64map_put(&map, (uint64_t)k << shifts[s], values[k]), 0);
				present++;
			}
			k = (k * 7 + 1) % NR;
			CHECK_EQ(u64map_get(&map, (uint64_t)k << shifts[s], &value),
				 values[k] != 0);
			CHECK(!values[k] || value == values[k]);
		}
		CHECK_EQ(u64map_count(&map), present);
		for (k = 0; k < NR; k++)
			CHECK_EQ(u64map_remove(&map, (uint64_t)k << shifts[s]), values[k] != 0);
		CHECK_EQ(u64map_count(&map), 0);
		u64map_release(&map);
	}
}

static void is_empty_when_all_zero(void)
{
	struct u64map map = { 0 };
	uint64_t value, key;
	size_t pos = 0;

	CHECK(!u64map_get(&map, 0, &value));
	CHECK(!u64map_get(&map, 1, &value));
	CHECK_EQ(u64map_count(&map), 0);
	CHECK(!u64map_next(&map, &pos, &key, &value));
	u64map_release(&map);
}

static void takes_zero_and_the_largest_key(void)
{
	struct u64map map = { 0 };
	uint64_t value;

	CHECK_EQ(u64map_put(&map, 0, 17), 0);
	CHECK_EQ(u64map_put(&map, UINT64_MAX, 18), 0);
	CHECK(u64map_get(&map, 0, &value) && value == 17);
	CHECK(u64map_get(&map, UINT64_MAX, &value) && value == 18);
	CHECK_EQ(u64map_count(&map), 2);
	CHECK_EQ(u64map_put(&map, 0, 19), 0);
	CHECK(u64map_get(&map, 0, &value) && value == 19);
	CHECK_EQ(u64map_count(&map), 2);
	u64map_release(&map);
	CHECK(!u64map_get(&map, 0, &value));
}

static void enters_a_new_key_as_zero(void)
{
	struct u64map map = { 0 };
	uint64_t *count = u64map_at(&map, 5);

	CHECK(count && *count == 0);
	(*count)++;
	CHECK(*u64map_at(&map, 5) == 1);
	CHECK(*u64map_at(&map, 6) == 0);
	CHECK_EQ(u64map_count(&map), 2);
	u64map_release(&map);
}

/* Keys as in programs: addresses a power of two apart, counters, high bits only. */
static uint64_t stride_key(uint64_t i, unsigned shift)
{
	return i << shift;
}

static void keeps_everything_while_it_grows(void)
{
	static const unsigned shifts[] = { 0, 4, 8, 12, 32, 47 };
	size_t s;

	for (s = 0; s < sizeof(shifts) / sizeof(shifts[0]); s++) {
		struct u64map map = { 0 };
		uint64_t i, value;

		for (i = 0; i < 100000; i++)
			CHECK_EQ(u64map_put(&map, stride_key(i, shifts[s]), i), 0);
		CHECK_EQ(u64map_count(&map), 100000);
		for (i = 0; i < 100000; i++) {
			CHECK(u64map_get(&map, stride_key(i, shifts[s]), &value));
			CHECK_EQ(value, i);
		}
		CHECK(!u64map_get(&map, stride_key(i, shifts[s]), &value));
		u64map_release(&map);
	}
}

static void walks_over_each_entry_once(void)
{
	struct u64map map = { 0 }, seen = { 0 };
	uint64_t i, key, value;
	size_t pos = 0, nr = 0;

	for (i = 0; i < 1000; i++)
		CHECK_EQ(u64map_put(&map, i * 3, i), 0);
	while (u64map_next(&map, &pos, &key, &value)) {
		CHECK_EQ(key, value * 3);
		CHECK_EQ(++*u64map_at(&seen, key), 1);
		nr++;
	}
	CHECK_EQ(nr, 1000);
	u64map_release(&map);
	u64map_release(&seen);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Inserted in the order of another map's table, a map with the same hash would be one long run. */
static void is_not_slowed_down_by_the_order_of_another_map(void)
{
	struct u64map first = { 0 }, second = { 0 };
	uint64_t i, key, value;
	double start = seconds();
	size_t pos = 0;

	CHECK_EQ(u64map_put(&first, 1, 1), 0);
	CHECK_EQ(u64map_put(&second, 1, 1), 0);
	CHECK(first.seed[0] != second.seed[0]);
	for (i = 0; i < 500000; i++)
		CHECK_EQ(u64map_put(&first, i * 16, i), 0);
	while (u64map_next(&first, &pos, &key, &value))
		CHECK_EQ(u64map_put(&second, key, value), 0);
	/* The limit is generous: a long run would take minutes. */
	CHECK(seconds() - start < 10);
	u64map_release(&first);
	u64map_release(&second);
}

static void numbers_strings_in_order_of_appearance(void)
{
	struct strtab tab = { 0 };
	char name[32];
	int i;

	CHECK_EQ(strtab_find(&tab, "none"), -ENOENT);
	for (i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "name %d", i % 1000);
		CHECK_EQ(strtab_intern(&tab, name), i % 1000);
	}
	CHECK_EQ(strtab_intern(&tab, ""), 1000);
	CHECK_EQ(strtab_find(&tab, "name 999"), 999);
	CHECK_EQ(strtab_find(&tab, "name 1000"), -ENOENT);
	CHECK_STR(strtab_text(&tab, 7), "name 7");
	CHECK_EQ(tab.nr, 1001);
	strtab_release(&tab);
	strtab_release(&tab);
}

int main(void)
{
	RUN(is_empty_when_all_zero);
	RUN(forgets_what_is_removed_and_nothing_else);
	RUN(takes_zero_and_the_largest_key);
	RUN(enters_a_new_key_as_zero);
	RUN(keeps_everything_while_it_grows);
	RUN(walks_over_each_entry_once);
	RUN(is_not_slowed_down_by_the_order_of_another_map);
	RUN(numbers_strings_in_order_of_appearance);
	return 0;
}
