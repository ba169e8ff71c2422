/* SPDX-License-Identifier: MIT */
/* test_recency.c - the shadow of a cache holds the lines that a plain list of them has. */
#include "check.h"
#include "memory/sim/classes.h"
#include "memory/sim/lru_run.h"

#define LINES_MAX 64u /* of a small cache */
#define LARGE     (LINE_QUEUE_MAX + 1)
#define FAR_LINES (UINT64_C(64) * RECENCY_FAR * 2)
#define BATCH     1000u

/* The lines that were used last, the newest first; and those that missed before. */
struct plain_list {
	uint64_t line[LARGE];
	uint32_t nr, size;
	bool seen[FAR_LINES];
};

static struct plain_list list;

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 33;
}

static bool list_use(uint64_t line)
{
	uint64_t before = line;
	uint32_t i;

	for (i = 0; i < list.nr; i++) {
		uint64_t was = list.line[i];

		list.line[i] = before;
		if (was == line)
			return true;
		before = was;
	}
	if (list.nr < list.size)
		list.line[list.nr++] = before;
	return false;
}

static enum sim_class list_miss(uint64_t line)
{
	bool seen = list.seen[line];

	if (list_use(line))
		return SIM_CONFLICT;
	list.seen[line] = true;
	return seen ? SIM_CAPACITY : SIM_COLD;
}

/* Few lines, two in turn, or any. */
static uint64_t next_line(uint64_t *state, uint64_t nr_lines, uint32_t i)
{
	uint64_t r = next_random(state);

	if (i / 300 % 3 == 0)
		return r % (2 * list.size + 1);
	return i / 300 % 3 == 1 && r % 8 ? i % 2 : (r << 20 ^ next_random(state)) % nr_lines;
}

static void uses_have_the_same_classes(struct cache *c, uint64_t *state, uint64_t nr_lines)
{
	uint64_t counts[SIM_CLASSES][2] = { 0 };
	static uint64_t uses[BATCH], lines[BATCH];
	uint32_t i;

	for (i = 0; i < BATCH; i++) {
		lines[i] = next_line(state, nr_lines, i);
		uses[i] = SLOT_OF(lines[i]) | (next_random(state) % 3 ? USE_MISS : 0);
	}
	CHECK_EQ(classes_of_uses(c, uses, BATCH, 1, counts), 0);
	for (i = 0; i < BATCH; i++) {
		if (uses[i] & USE_MISS)
			CHECK_EQ(USE_CLASS(uses[i]), list_miss(lines[i]));
		else
			list_use(lines[i]);
	}
}

/* @start: the time of the first use. */
static void shadow_is_a_list_from(uint32_t start, uint32_t size, uint64_t nr_lines, bool is_apart)
{
	uint64_t state = size + nr_lines, line;
	struct cache c;
	uint32_t i;

	memset(&list, 0, sizeof(list));
	list.size = size;
	CHECK_EQ(cache_init(&c, size, 0, 6, SIM_LRU, 1, true), 0);
	c.shadow.head = c.shadow.now = start;
	if (start)
		c.shadow.end = start;
	for (i = 0; i < 60; i++) {
		uses_have_the_same_classes(&c, &state, nr_lines);
		/* The same by one use at a time. */
		line = next_line(&state, nr_lines, 0);
		CHECK_EQ(classes_miss(&c, line, false), list_miss(line));
		line = next_line(&state, nr_lines, 0);
		CHECK_EQ(classes_use(&c, line), 0);
		list_use(line);
		CHECK_EQ(classes_miss(&c, line, true), SIM_COHERENCE);
	}
	CHECK_EQ(c.shadow.is_apart, is_apart);
	cache_release(&c);
}

static void shadow_is_a_list(uint32_t size, uint64_t nr_lines, bool is_apart)
{
	shadow_is_a_list_from(0, size, nr_lines, is_apart);
}

static void little_memory_stays_in_cells(void)
{
	shadow_is_a_list(1, 1000, false);
	shadow_is_a_list(2, 1000, false);
	shadow_is_a_list(LINES_MAX, 10000, false);
	shadow_is_a_list(LARGE, 10000, false);
}

static void much_memory_is_apart(void)
{
	shadow_is_a_list(1, FAR_LINES, false);
	shadow_is_a_list(2, FAR_LINES, true);
	shadow_is_a_list(3, FAR_LINES, true);
	shadow_is_a_list(LINES_MAX - 1, FAR_LINES, true);
	shadow_is_a_list(LINES_MAX, FAR_LINES, true);
}

/* The first times are the last ones: uses are numbered again then, and whenever there is no room.
 */
static void times_begin_again(void)
{
	uint32_t i;

	for (i = 0; i < 4; i++)
		shadow_is_a_list_from(RECENCY_TIMES - i * 9999, LARGE, 8000, false);
	shadow_is_a_list_from(RECENCY_TIMES - 30000, LARGE, FAR_LINES, false);
}

/* While a large cache is not full, its table of times is not kept: times end, then it fills. */
static void a_cache_fills_late(void)
{
	uint64_t state = 3, line;
	struct cache c;
	uint32_t i, nr = LARGE - 1;

	memset(&list, 0, sizeof(list));
	list.size = LARGE;
	CHECK_EQ(cache_init(&c, LARGE, 0, 6, SIM_LRU, 1, true), 0);
	for (i = 0; i < 80000; i++) {
		if (i >= 50000)
			nr = i < 55000 ? LARGE : LARGE + 40;
		line = next_random(&state) % nr;
		CHECK_EQ(classes_miss(&c, line, false), list_miss(line));
		CHECK_EQ(c.shadow.nr, list.nr);
		CHECK(i >= 50000 || !c.shadow.has_lasts);
	}
	CHECK(c.shadow.has_lasts);
	cache_release(&c);
}

/* Pages of several parts of memory have one entry each, as long as these are not too far apart. */
static void parts_of_memory_have_entries(void)
{
	const uint64_t apart = UINT64_C(64) * 1024;
	struct cache c;
	uint64_t i;

	CHECK_EQ(cache_init(&c, LARGE, 0, 6, SIM_LRU, 1, true), 0);
	for (i = 0; i < 200000; i++)
		CHECK(classes_miss(&c, i % 2 * apart + i / 2 % 500 * 64, false) >= 0);
	CHECK_EQ(c.shadow.nr_pages, 1000);
	for (i = 0; i < 1000; i++)
		CHECK(recency_page_at_hand(&c.shadow, i % 2 * apart + i / 2 * 64) != NULL);
	cache_release(&c);
}

/* Two lines in turn fill the table of times; it then gets room for as many times as there are
 * cells. */
static void times_have_room_for_the_cells(void)
{
	struct cache c;
	uint64_t i;

	CHECK_EQ(cache_init(&c, LARGE, 0, 6, SIM_LRU, 1, true), 0);
	for (i = 0; i < FAR_LINES; i++)
		CHECK_EQ(classes_miss(&c, i, false), SIM_COLD);
	CHECK(c.shadow.room < FAR_LINES);
	for (i = 0; i < 9 * FAR_LINES; i++)
		CHECK_EQ(classes_miss(&c, FAR_LINES - 5 + i % 2, false), SIM_CONFLICT);
	CHECK_EQ(c.shadow.room, 4 * FAR_LINES);
	CHECK_EQ(c.shadow.nr, LARGE);
	for (i = 0; i < LARGE - 2; i++) /* they replace all but these two */
		CHECK_EQ(classes_miss(&c, i, false), SIM_CAPACITY);
	CHECK_EQ(classes_miss(&c, FAR_LINES - 5, false), SIM_CONFLICT);
	CHECK_EQ(classes_miss(&c, FAR_LINES - 4, false), SIM_CONFLICT);
	CHECK_EQ(classes_miss(&c, FAR_LINES - 1, false), SIM_CAPACITY);
	cache_release(&c);
}

int main(void)
{
	RUN(little_memory_stays_in_cells);
	RUN(much_memory_is_apart);
	RUN(times_begin_again);
	RUN(times_have_room_for_the_cells);
	RUN(a_cache_fills_late);
	RUN(parts_of_memory_have_entries);
	return 0;
}
