/* SPDX-License-Identifier: MIT */
/*
 * test_time.c - series and levels of detail equal plain sums, for any order of times.
 *
 * Each is fed at random, with steps from nanoseconds to hours and back, and compared with plain
 * sums over everything that was fed.
 */
#include <math.h>
#include <stdbool.h>

#include "check.h"
#include "trace_items.h"
#include "view/mipmap.h"
#include "view/series.h"

#define NR 3000

/* Mostly small steps; some that make every bucket wider, and some back. */
static uint64_t next_time(uint64_t ts, unsigned largest)
{
	uint64_t step = next_random() % (UINT64_C(1) << (1 + next_random() % largest));

	if (next_random() % 50 == 0 && ts > step + 1)
		return ts - step;
	return ts + step;
}

/* ---- series ---------------------------------------------------------------- */

static struct {
	uint64_t ts;
	int by;
} changes[NR];

static int64_t sum_until(uint64_t ts)
{
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < NR; i++)
		sum += changes[i].ts < ts ? changes[i].by : 0;
	return sum;
}

static double area_of(uint64_t from, uint64_t to)
{
	double area = 0;
	size_t i;

	for (i = 0; i < NR; i++) {
		if (changes[i].ts < to)
			area += changes[i].by *
				(double)(to - (changes[i].ts > from ? changes[i].ts : from));
	}
	return area;
}

static void compare_series(struct series *s, uint64_t end_ts)
{
	size_t nr, i;
	struct series_point *points = series_points(s, end_ts, &nr);
	uint64_t events = 0;

	CHECK(points != NULL && nr && nr <= SERIES_BUCKETS);
	CHECK(axis_start(&s->axis, nr - 1) <= end_ts && end_ts < axis_end(&s->axis, nr - 1));
	for (i = 0; i < nr; i++) {
		uint64_t from = axis_start(&s->axis, i), to = axis_end(&s->axis, i);
		int64_t wanted = sum_until(to);

		CHECK_EQ(points[i].at_end[SERIES_ALIVE], wanted);
		to = to < end_ts ? to : end_ts;
		if (to > from) {
			double mean = area_of(from, to) / (double)(to - from);

			CHECK(fabs(points[i].mean[SERIES_ALIVE] - mean) <= 1e-6 * (1 + mean));
		}
		events += points[i].counts[SERIES_EVENTS];
	}
	CHECK_EQ(events, NR);
	free(points);
}

static void series_add_up(void)
{
	unsigned largest;

	for (largest = 2; largest < 44; largest += 3) {
		struct series s = { 0 };
		uint64_t ts = UINT64_C(1) << 40, last = ts;
		size_t i;

		CHECK_EQ(series_init(&s), 0);
		/* Never below zero: a coroutine that leaves was counted before. */
		for (i = 0; i < NR; i++) {
			changes[i].ts = ts = next_time(ts, largest);
			changes[i].by = 1;
			last = ts > last ? ts : last;
			if (i % 3 == 2) {
				changes[i].ts = last;
				changes[i].by = -1;
			}
			series_change(&s, SERIES_ALIVE, changes[i].by, changes[i].ts);
			series_count(&s, SERIES_EVENTS, 1, changes[i].ts);
		}
		compare_series(&s, last);
		compare_series(&s, last + (UINT64_C(1) << largest));
		series_release(&s);
	}
}

static void what_did_not_change_is_not_sent(void)
{
	struct series s = { 0 };
	size_t nr;

	CHECK_EQ(series_init(&s), 0);
	s.tick = 1;
	series_count(&s, SERIES_EVENTS, 1, 1 << 20);
	series_count(&s, SERIES_EVENTS, 1, (1 << 20) + 100 * 1024);
	free(series_points(&s, (1 << 20) + 100 * 1024, &nr));
	CHECK_EQ(nr, 101);
	CHECK_EQ(series_changed_from(&s, 0, nr), 0);
	s.tick = 2;
	free(series_points(&s, (1 << 20) + 150 * 1024, &nr));
	CHECK_EQ(series_changed_from(&s, 1, nr), 150);
	series_count(&s, SERIES_EVENTS, 1, (1 << 20) + 20 * 1024);
	CHECK_EQ(series_changed_from(&s, 1, nr), 20);
	CHECK_EQ(series_changed_from(&s, 2, nr), nr);
	s.tick = 3;
	series_count(&s, SERIES_EVENTS, 1, (1 << 20) + (4 << 20)); /* wider now */
	free(series_points(&s, (1 << 20) + (4 << 20), &nr));
	CHECK_EQ(series_changed_from(&s, 2, nr), 0);
	series_release(&s);
}

/* ---- levels of detail -------------------------------------------------------- */

static struct {
	uint64_t start, end;
	uint32_t coro;
	size_t thread;
} slices[NR];

static uint64_t overlap(size_t i, uint64_t from, uint64_t to)
{
	uint64_t low = slices[i].start > from ? slices[i].start : from;
	uint64_t high = slices[i].end < to ? slices[i].end : to;

	return high > low ? high - low : 0;
}

static void compare_cell(const struct lod *lod, size_t thread, size_t bucket)
{
	const struct lod_cell *cell = &lod->threads[thread][bucket];
	uint64_t from = axis_start(&lod->axis, bucket), to = axis_end(&lod->axis, bucket);
	uint64_t busy = 0, by_coro[8] = { 0 };
	uint32_t switches = 0, k;
	size_t i;

	for (i = 0; i < NR; i++) {
		if (slices[i].thread != thread)
			continue;
		busy += overlap(i, from, to);
		by_coro[slices[i].coro] += overlap(i, from, to);
		switches += slices[i].start >= from && slices[i].start < to;
	}
	CHECK_EQ(cell->busy, busy);
	CHECK_EQ(cell->switches, switches);
	for (k = 0; k < 8; k++) {
		if (2 * by_coro[k] > busy)
			CHECK_EQ(cell->coro, k + 1);
	}
	CHECK_EQ(lod_busy(lod, cell) != 0, busy || switches);
}

static void lod_adds_up(void)
{
	unsigned largest;

	for (largest = 4; largest < 40; largest += 5) {
		struct lod lod, copy;
		uint64_t ts = UINT64_C(1) << 40;
		size_t i, k;

		lod_init(&lod);
		for (i = 0; i < NR; i++) {
			slices[i].start = ts = next_time(ts, largest);
			slices[i].end = ts + next_random() % (UINT64_C(1) << largest);
			slices[i].coro = next_random() % 3 ? 1 : (uint32_t)(next_random() % 8);
			slices[i].thread = next_random() % 5;
			CHECK_EQ(lod_add(&lod, slices[i].thread, slices[i].start, slices[i].end,
					 slices[i].coro),
				 0);
		}
		CHECK_EQ(lod_copy(&copy, &lod), 0);
		for (k = 0; k < 4; k++, lod_merge(&copy)) {
			CHECK(copy.axis.nr * copy.nr_threads <= LOD_CELLS);
			for (i = 0; i < 400; i++)
				compare_cell(&copy, next_random() % copy.nr_threads,
					     next_random() % copy.axis.nr);
		}
		compare_cell(&lod, 0, 0); /* merging changed the copy only */
		lod_release(&copy);
		lod_release(&lod);
	}
}

static void many_threads_share_the_cells(void)
{
	struct lod lod;
	size_t t, cells = 0;

	lod_init(&lod);
	for (t = 0; t <= LOD_THREADS; t++)
		CHECK_EQ(lod_add(&lod, t, 1000000 * t, 1000000 * t + 500, 7), 0);
	for (t = 0; t <= LOD_THREADS; t++)
		cells += lod.threads[t][axis_at(&lod.axis, 1000000 * t, &lod.owner)].busy >= 1;
	CHECK_EQ(cells, LOD_THREADS + 1);
	CHECK(lod.axis.nr <= LOD_BUCKETS_MIN && lod.axis.nr > LOD_BUCKETS_MIN / 4);
	lod_release(&lod);
}

static void the_ends_of_time_have_a_bucket(void)
{
	struct lod lod;

	lod_init(&lod);
	CHECK_EQ(lod_add(&lod, 0, 1, UINT64_MAX, 3), 0);
	CHECK_EQ(lod_add(&lod, 0, UINT64_MAX - 1, UINT64_MAX, 3), 0);
	CHECK_EQ(lod_busy(&lod, &lod.threads[0][0]), 254);
	CHECK_EQ(lod_busy(&lod, &lod.threads[0][lod.axis.nr - 1]), 255);
	lod_release(&lod);
}

int main(void)
{
	RUN(series_add_up);
	RUN(what_did_not_change_is_not_sent);
	RUN(lod_adds_up);
	RUN(many_threads_share_the_cells);
	RUN(the_ends_of_time_have_a_bucket);
	return 0;
}
