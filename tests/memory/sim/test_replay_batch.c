/* SPDX-License-Identifier: MIT */
/*
 * test_replay_batch.c - short runs between allocations are told as if they were simulated one by
 * one: the same accesses and misses before each record, with and without sums.
 */
#include "check.h"
#include "memory/sim/replay.h"
#include "traces.h"

#define RECORDS 20000u
#define KINDS   3u

/* How accesses are told. */
enum telling { ONE_BY_ONE, SUMS, BATCHES };

/* All accesses so far; addition does not depend on their order. */
struct told {
	uint64_t weight, place, misses, missed_place;
};

struct teller {
	struct told now;
	struct told before[RECORDS]; /* each record */
	uint64_t addresses[RECORDS]; /* of the records */
	uint32_t nr_records;
};

static struct teller tellers[KINDS];
static struct cray_pack pack;

static uint64_t told_place(const struct mem_record *r)
{
	uint64_t what = r->address * 8 + r->thread * 2 + r->kind;

	return what * UINT64_C(0x9e3779b97f4a7c15) ^ r->pc;
}

static int tell(void *context, const struct mem_record *r, const struct sim_outcome *out)
{
	struct teller *t = context;

	if (out) {
		t->now.weight += r->weight_256;
		t->now.place += told_place(r) * r->weight_256;
		t->now.misses += out->level[0].misses * r->weight_256;
		t->now.missed_place += told_place(r) * out->level[1].misses * r->weight_256;
		return 0;
	}
	t->addresses[t->nr_records] = r->address ^ (uint64_t)r->kind << 56;
	t->before[t->nr_records++] = t->now;
	return 0;
}

static bool tell_changes(void *context, const struct mem_record *r, uint64_t *start, uint64_t *end)
{
	(void)context, (void)r, (void)start, (void)end;
	return false;
}

/* Accesses in short and long runs, allocations and their ends, marks, of one or two threads. */
static void write_runs(const char *path, uint32_t nr_threads)
{
	uint64_t state = 4711, ticket, r;
	struct cfile f;
	uint32_t t, i, k, nr;

	traces_begin(&f, path, 1, 0);
	for (t = 0; t < nr_threads; t++) {
		cray_pack_init(&pack);
		cray_pack_begin(&pack, t, 0, 5000);
		for (i = 0; i < 1500; i++) {
			ticket = 1 + t + (uint64_t)i * nr_threads;
			r = traces_random(&state);
			nr = r % 50 == 0 ? 900 : (uint32_t)(r >> 8) % 12;
			for (k = 0; k < nr && cray_pack_room(&pack); k++) {
				r = traces_random(&state);
				cray_pack_access(&pack, 0x400000 + r % 16, 0x10000 + r % 90000,
						 CRAY_HOW(r >> 40 & 1, 8, 0));
			}
			if (i == 1400)
				CHECK(cray_pack_mark(&pack, i, "stop", 4));
			else if (r >> 20 & 1)
				CHECK(cray_pack_alloc(&pack, ticket, 0x400100, 0x10000 + i * 32, 24,
						      0));
			else if (r >> 21 & 7)
				CHECK(cray_pack_free(&pack, ticket, 0x400200, 0x10000 + i * 32));
			else
				CHECK(cray_pack_mark(&pack, i, "here", 4));
		}
		cfile_block(&f, &pack);
	}
	traces_end(&f);
}

static void read_runs(const char *path, enum telling telling)
{
	struct replay replay = { .each = tell,
				 .context = &tellers[telling],
				 .to_mark = "stop",
				 .sums = telling != ONE_BY_ONE,
				 .changes = telling == BATCHES ? tell_changes : NULL };
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);
	struct sim_config c;
	struct sim *s;

	sim_config_default(&c);
	c.level[0].size = 4096;
	s = sim_new(&c, &err);
	memset(&tellers[telling], 0, sizeof(tellers[telling]));
	CHECK(r && s && replay_run(&replay, s, r, &err) == 0);
	CHECK_EQ(mem_reader_faults(r)->nr, 0);
	CHECK(replay.aside > 0);
	CHECK_EQ(replay.accesses * 256, tellers[telling].now.weight);
	mem_reader_close(r);
	replay_release(&replay);
	sim_free(s);
}

static void compare_runs(uint32_t nr_threads)
{
	char path[] = "/tmp/corotracer-test-XXXXXX";
	const struct teller *one = &tellers[ONE_BY_ONE];
	int fd = mkstemp(path), i;

	CHECK(fd >= 0);
	close(fd);
	write_runs(path, nr_threads);
	for (i = 0; i < (int)KINDS; i++) {
		read_runs(path, (enum telling)i);
		CHECK(one->nr_records >= 1500 && one->now.misses > 0);
		CHECK_EQ(tellers[i].nr_records, one->nr_records);
		CHECK(!memcmp(tellers[i].addresses, one->addresses, sizeof(one->addresses)));
		CHECK(!memcmp(tellers[i].before, one->before, sizeof(one->before)));
		CHECK(!memcmp(&tellers[i].now, &one->now, sizeof(one->now)));
	}
	unlink(path);
}

static void short_runs_of_one_thread_are_told_in_order(void)
{
	compare_runs(1);
}

static void short_runs_of_two_threads_are_told_in_order(void)
{
	compare_runs(2);
}

int main(void)
{
	RUN(short_runs_of_one_thread_are_told_in_order);
	RUN(short_runs_of_two_threads_are_told_in_order);
	return 0;
}
