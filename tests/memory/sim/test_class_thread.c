/* SPDX-License-Identifier: MIT */
/* test_class_thread.c - classes of misses do not depend on the thread that finds them. */
#include <dirent.h>
#include <unistd.h>

#include "check.h"
#include "memory/sim/sim.h"

#define ACCESSES 5000u

static struct mem_access accesses[ACCESSES];

/* Two walks over more memory than the first two levels hold, and random lines. */
static void make_work(uint64_t *state, uint64_t base)
{
	uint32_t i;

	for (i = 0; i < ACCESSES; i++) {
		*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
		accesses[i] = (struct mem_access){
			.address = base + (i % 3 ? UINT64_C(64) * i * (i % 3) : *state >> 40),
			.size = (uint8_t)(*state >> 33 & 31),
			.is_write = *state >> 62 & 1,
		};
	}
}

static void counts_are_the_same(const struct sim *a, const struct sim *b)
{
	struct sim_counts x, y;
	struct sim_totals t, u;
	uint32_t k;

	for (k = 0; k < sim_config_of(a)->nr_levels; k++) {
		sim_level_totals(a, k, &x);
		sim_level_totals(b, k, &y);
		CHECK(!memcmp(&x, &y, sizeof(x)));
		CHECK(x.by_class[SIM_COLD][SIM_READS] > 0 && x.by_class[SIM_COLD][SIM_WRITES] > 0);
	}
	sim_totals(a, &t);
	sim_totals(b, &u);
	CHECK(!memcmp(&t, &u, sizeof(t)));
}

/* The first @alone rounds are of one thread; afterwards, two threads take turns. */
static void rounds_are_the_same(uint32_t rounds, uint32_t alone)
{
	uint64_t state = 5 + rounds;
	struct err err = { 0 };
	struct sim_config c;
	struct sim *one, *two;
	uint32_t i;

	sim_config_default(&c);
	one = sim_new(&c, &err);
	two = sim_new(&c, &err);
	CHECK(one && two);
	sim_start_class_thread(two);
	for (i = 0; i < rounds; i++) {
		uint32_t thread = i < alone ? 0 : i % 2;

		make_work(&state, UINT64_C(0x7f0000000000) + (i % 4 << 20));
		sim_weight(one, 256 + i / 8 * 128);
		sim_weight(two, 256 + i / 8 * 128);
		CHECK_EQ(sim_run(one, thread, accesses, ACCESSES), 0);
		CHECK_EQ(sim_run(two, thread, accesses, ACCESSES), 0);
		if (i % 8 == 3) { /* an access that needs the classes at once */
			CHECK_EQ(sim_access(one, thread, i, 8, true, NULL), 0);
			CHECK_EQ(sim_access(two, thread, i, 8, true, NULL), 0);
		}
	}
	CHECK_EQ(sim_end_class_thread(two), 0);
	counts_are_the_same(one, two);
	sim_free(one);
	sim_free(two);
}

static unsigned count_threads(void)
{
	DIR *list = opendir("/proc/self/task");
	unsigned nr = 0;

	CHECK(list != NULL);
	while (readdir(list))
		nr++;
	closedir(list);
	return nr;
}

/* A simulator that is freed early ends its thread. */
static void a_thread_ends_with_its_simulator(void)
{
	uint64_t state = 1;
	struct err err = { 0 };
	struct sim_config c;
	struct sim *s;
	unsigned before = count_threads(), tries;

	sim_config_default(&c);
	s = sim_new(&c, &err);
	CHECK(s);
	sim_start_class_thread(s);
	CHECK_EQ(count_threads(), before + 1);
	make_work(&state, 4096);
	CHECK_EQ(sim_run(s, 0, accesses, ACCESSES), 0);
	sim_free(s);
	for (tries = 0; tries < 5000 && count_threads() != before; tries++)
		usleep(1000); /* the kernel still lists a thread that was joined */
	CHECK_EQ(count_threads(), before);
}

int main(void)
{
	rounds_are_the_same(24, 24);
	rounds_are_the_same(24, 16);
	a_thread_ends_with_its_simulator();
	return 0;
}
