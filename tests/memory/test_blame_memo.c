/* SPDX-License-Identifier: MIT */
/*
 * test_blame_memo.c - the sums of memos are those of searching the owner of every access.
 *
 * Two attributions get the same random records: blocks that come, go and overlap, annotations,
 * coroutines, accesses of several threads with and without misses.  Reading a total settles the
 * memos, so that the second one, which does so before each access, searches every time.  The same
 * with hits and simple misses added up first, as a replay does.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "memory/blame/blame.h"
#include "memory/blame/blame_allocations.h"
#include "memory/blame/blame_coroutines.h"
#include "memory/sim/replay_sums.h"

#define RECORDS 200000u
#define LISTED  512u

static uint64_t memo_seed = 88172645463325252u;

static uint64_t memo_some(uint64_t below)
{
	memo_seed ^= memo_seed << 13;
	memo_seed ^= memo_seed >> 7;
	memo_seed ^= memo_seed << 17;
	return (memo_seed >> 11) % below;
}

static uint64_t memo_address(void)
{
	return memo_some(4) ? 0x10000 + memo_some(64) * 64 + memo_some(70)
			    : 0x7ffc00000000 + memo_some(256) * 8;
}

static struct mem_record memo_access(struct sim_outcome *out)
{
	struct mem_record r = { .kind = (uint8_t)memo_some(2),
				.size = (uint8_t)(1 + memo_some(8)),
				.thread = (uint32_t)memo_some(3),
				.address = memo_address(),
				.pc = 0x4000 + memo_some(12),
				.weight_256 = memo_some(8) ? 256 : 700 };
	struct sim_config config;

	sim_config_default(&config);
	sim_outcome_of_hit(&config, r.address, r.size, out);
	if (memo_some(3))
		return r;
	out->level[0].misses = 1;
	out->level[1].misses = (uint16_t)memo_some(2);
	out->level[0].by_class[memo_some(SIM_CLASSES)] = 1;
	out->missed_first = 1;
	out->from_peer = (uint16_t)memo_some(2);
	out->truly_shared = memo_some(2);
	out->invalidated = memo_some(10) == 0;
	return r;
}

static struct mem_record memo_other(bool has_annotations)
{
	static const uint8_t kinds[] = { MEM_ALLOC, MEM_ALLOC, MEM_FREE,  MEM_MARK,
					 MEM_CORO,  MEM_ADD,   MEM_REMOVE };
	struct mem_record r = { .kind = kinds[memo_some(has_annotations ? 7 : 5)],
				.address = 0x10000 + memo_some(64) * 64,
				.pc = 0x9000 + memo_some(3),
				.thread = (uint32_t)memo_some(3),
				.stack = (uint32_t)memo_some(2) };

	r.value = r.kind == MEM_CORO ? memo_some(4) : 16 + 32 * memo_some(4);
	r.name = "thing";
	r.name_size = 5;
	r.elem_size = 16;
	r.elem_count = 3;
	return r;
}

static void memo_same_counts(const struct blame_counts *a, const struct blame_counts *b)
{
	CHECK(!memcmp(a, b, sizeof(*a)));
}

static void memo_compare_owners(struct blame *a, struct blame *b)
{
	const struct blame_owner *x[LISTED], *y[LISTED];
	size_t nr = blame_owners(a, x, LISTED), i;

	CHECK_EQ(nr, blame_owners(b, y, LISTED));
	CHECK(nr > 2 && nr <= LISTED);
	for (i = 0; i < nr; i++) {
		CHECK_EQ(x[i]->owner, y[i]->owner);
		memo_same_counts(&x[i]->counts, &y[i]->counts);
	}
	memo_same_counts(blame_total(a), blame_total(b));
	for (i = 0; i < BLAME_NAMINGS; i++)
		memo_same_counts(blame_heap(a, (enum blame_naming)i),
				 blame_heap(b, (enum blame_naming)i));
}

static void memo_compare_sites(struct blame *a, struct blame *b)
{
	const struct blame_allocation *u[LISTED], *v[LISTED];
	const struct blame_site *x[LISTED], *y[LISTED];
	size_t nr = blame_sites(a, x, LISTED), i;

	CHECK_EQ(nr, blame_sites(b, y, LISTED));
	for (i = 0; i < nr && i < LISTED; i++) {
		CHECK_EQ(x[i]->pc, y[i]->pc);
		CHECK_EQ(x[i]->owner, y[i]->owner);
		memo_same_counts(&x[i]->counts, &y[i]->counts);
	}
	nr = blame_allocations(a, u, LISTED);
	CHECK_EQ(nr, blame_allocations(b, v, LISTED));
	for (i = 0; i < nr && i < LISTED; i++)
		memo_same_counts(&u[i]->counts, &v[i]->counts);
}

static void memo_compare_coroutines(struct blame *a, struct blame *b)
{
	const struct blame_coroutine *x, *y;
	size_t nr, other, i;

	x = blame_coroutines(a, &nr);
	y = blame_coroutines(b, &other);
	CHECK_EQ(nr, other);
	for (i = 0; i < nr; i++)
		memo_same_counts(&x[i].all.counts, &y[i].all.counts);
}

/* Code that often accesses the same one or two blocks, so that there is something to add up. */
static void memo_repeat(struct mem_record *r, struct sim_outcome *out)
{
	uint64_t code = memo_some(64);

	r->pc = 0x4000 + code;
	r->kind = code & 1;
	r->size = 4;
	r->thread = (uint32_t)(code % 3);
	r->address = 0x10000 + (code + memo_some(2)) % 64 * 64 + memo_some(4) * 8;
	out->first_line = r->address / 64;
	out->nr_lines = 1;
}

static int memo_pass(void *context, const struct mem_record *r, const struct sim_outcome *out)
{
	return blame_access(context, r, out);
}

static struct replay_tally *memo_alike(void *context, const struct mem_record *r, uint64_t *start,
				       uint64_t *end)
{
	return blame_alike(context, r, start, end);
}

static uint32_t memo_taken; /* misses that a tally took */

/* As replay.c does with an access that missed: only what no other core has to do with is taken. */
static int memo_sum_miss(struct replay_sums *sums, struct blame *b, const struct mem_record *r,
			 const struct mem_access *access, const struct sim_outcome *out)
{
	struct mem_record rec = { .thread = r->thread, .weight_256 = r->weight_256 };
	struct sim_missed missed = { .depth = (uint16_t)(1 + out->level[1].misses) };
	int ret;

	missed.outcome = out->from_peer || out->invalidated || out->nr_lines > 1 ||
			 out->level[0].by_class[SIM_COHERENCE];
	while (!missed.outcome && !out->level[0].by_class[missed.classes])
		missed.classes++;
	if (!replay_sums_take(sums, &rec, access, &missed, 1)) {
		memo_taken++;
		return replay_sums_add(sums, &rec, access, 1);
	}
	ret = blame_access(b, r, out);
	return ret < 0 || missed.outcome ? ret : replay_sums_missed(sums, r, access);
}

/* As replay.c does with an access. */
static int memo_sum_access(struct replay_sums *sums, struct blame *b, const struct mem_record *r,
			   const struct sim_outcome *out)
{
	const struct mem_access access = { .address = r->address,
					   .pc = r->pc,
					   .size = r->size,
					   .is_write = r->kind == MEM_WRITE };
	struct mem_record rec = { .thread = r->thread, .weight_256 = r->weight_256 };

	return out->level[0].misses ? memo_sum_miss(sums, b, r, &access, out)
				    : replay_sums_add(sums, &rec, &access, 1);
}

/* As replay.c does with another record. */
static int memo_sum_record(struct replay_sums *sums, struct blame *b, const struct mem_record *r)
{
	uint64_t start, end;
	int ret = 0;

	if (!blame_changes_range(b, r, &start, &end))
		ret = replay_sums_flush(sums);
	else if (start < end)
		ret = replay_sums_flush_range(sums, start, end);
	return ret < 0 ? ret : blame_record(b, r);
}

static void memo_run(bool has_annotations, bool has_sums)
{
	struct replay_sums *sums = NULL;
	struct mem_facts facts = { 0 };
	struct sim_config config;
	struct err err = { 0 };
	struct sim_outcome out;
	struct blame *a, *b;
	uint32_t i;

	sim_config_default(&config);
	a = blame_new(&config, &err);
	b = blame_new(&config, &err);
	CHECK(a && b && blame_modules(a, &facts) == 0 && blame_modules(b, &facts) == 0);
	sums = replay_sums_new(&config, memo_pass, memo_alike, a);
	CHECK(sums != NULL);
	for (i = 0; i < RECORDS; i++) {
		bool is_access = memo_some(200) != 0;
		struct mem_record r = is_access ? memo_access(&out) : memo_other(has_annotations);

		if (has_sums && is_access && (!out.level[0].misses || memo_some(2)))
			memo_repeat(&r, &out);
		if (has_sums)
			CHECK_EQ(is_access ? memo_sum_access(sums, a, &r, &out)
					   : memo_sum_record(sums, a, &r),
				 0);
		else
			CHECK_EQ(is_access ? blame_access(a, &r, &out) : blame_record(a, &r), 0);
		blame_total(b);
		CHECK_EQ(is_access ? blame_access(b, &r, &out) : blame_record(b, &r), 0);
	}
	CHECK_EQ(replay_sums_flush(sums), 0);
	memo_compare_owners(a, b);
	memo_compare_sites(a, b);
	memo_compare_coroutines(a, b);
	replay_sums_free(sums);
	blame_free(a);
	blame_free(b);
}

static void memos_of_blocks_count_as_searches_do(void)
{
	memo_run(false, false);
}

static void memos_of_annotated_memory_count_as_searches_do(void)
{
	memo_run(true, false);
}

static void sums_of_hits_and_misses_count_as_searches_do(void)
{
	memo_run(false, true);
	CHECK(memo_taken > RECORDS / 100);
	memo_run(true, true);
}

/* ---- code that does not repeat addresses ---------------------------------- */

struct memo_passed {
	uint64_t calls, weight_256;
};

static int memo_count_passed(void *context, const struct mem_record *r,
			     const struct sim_outcome *out)
{
	struct memo_passed *passed = context;

	(void)out;
	passed->calls++;
	passed->weight_256 += r->weight_256;
	return 0;
}

/* A walk over @nr addresses, @rounds times. */
static void memo_walk(struct replay_sums *sums, uint64_t nr, uint32_t rounds)
{
	struct mem_record rec = { .thread = 1, .weight_256 = 256 };
	struct mem_access a = { .pc = 0x401000, .size = 8 };
	uint64_t i;

	for (; rounds; rounds--) {
		for (i = 0; i < nr; i++) {
			a.address = 0x10000000 + i * 64;
			CHECK_EQ(replay_sums_add(sums, &rec, &a, 1), 0);
		}
	}
}

static void code_that_begins_to_repeat_addresses_is_added_up(void)
{
	struct memo_passed passed = { 0 };
	struct replay_sums *sums;
	struct sim_config config;

	sim_config_default(&config);
	sums = replay_sums_new(&config, memo_count_passed, NULL, &passed);
	CHECK(sums != NULL);
	memo_walk(sums, 100000, 1);
	CHECK_EQ(passed.calls, 100000);
	memo_walk(sums, 100, 2000);
	CHECK_EQ(replay_sums_flush(sums), 0);
	CHECK(passed.calls < 100000 + 2 * 16384);
	CHECK_EQ(passed.weight_256, 300000 * 256);
	replay_sums_free(sums);
}

static void memory_in_use_is_followed_without_being_counted(void)
{
	const struct mem_record alloc = {
		.kind = MEM_ALLOC, .address = 0x20000, .value = 64, .pc = 0x9000, .stack = 1
	};
	const struct mem_record access = { .address = 0x20010, .size = 8, .pc = 0x4000 };
	const struct blame_allocation *list[2];
	struct mem_facts facts = { 0 };
	struct sim_config config;
	struct err err = { 0 };
	struct sim_outcome out;
	struct blame *b;

	sim_config_default(&config);
	b = blame_new(&config, &err);
	CHECK(b && blame_modules(b, &facts) == 0);
	CHECK_EQ(blame_follow(b, &alloc), 0);
	sim_outcome_of_hit(&config, access.address, access.size, &out);
	CHECK_EQ(blame_access(b, &access, &out), 0);
	CHECK_EQ(blame_allocations(b, list, 2), 1);
	CHECK_EQ(list[0]->counts.reads, BLAME_ONE);
	CHECK_EQ(list[0]->blocks, 0);
	CHECK_EQ(list[0]->bytes, 0);
	blame_free(b);
}

/* Code without a name is known by its address. */
static void unknown_places_are_told_apart(void)
{
	struct mem_record alloc = { .kind = MEM_ALLOC };
	const struct blame_allocation *list[4];
	struct mem_facts facts = { 0 };
	struct sim_config config;
	struct err err = { 0 };
	struct blame *b;
	unsigned i;

	sim_config_default(&config);
	b = blame_new(&config, &err);
	CHECK(b && blame_modules(b, &facts) == 0);
	for (i = 0; i < 6; i++) { /* three places, with one, two and three blocks */
		alloc.address = 0x20000 + 4096 * i;
		alloc.value = 64;
		alloc.pc = i > 2 ? 0x9002 : i > 0 ? 0x9001 : 0x9000;
		CHECK_EQ(blame_record(b, &alloc), 0);
	}
	CHECK_EQ(blame_allocations(b, list, 4), 3);
	for (i = 0; i < 3; i++) { /* the most bytes first */
		CHECK_EQ(list[i]->pc, 0x9002 - i);
		CHECK_EQ(list[i]->blocks, 3 - i);
		CHECK_EQ(list[i]->bytes, 64 * (3 - i));
		CHECK(!list[i]->function && !list[i]->file);
	}
	blame_free(b);
}

int main(void)
{
	RUN(unknown_places_are_told_apart);
	RUN(memory_in_use_is_followed_without_being_counted);
	RUN(memos_of_blocks_count_as_searches_do);
	RUN(memos_of_annotated_memory_count_as_searches_do);
	RUN(sums_of_hits_and_misses_count_as_searches_do);
	RUN(code_that_begins_to_repeat_addresses_is_added_up);
	return 0;
}
