/* SPDX-License-Identifier: MIT */
/* test_loop_keys.c - the keys of a loop are those of its accesses one by one. */
#include "check.h"
#include "memory/format/loop_keys.h"

#define ROUNDS 40u
#define KEYS   (LOOP_SITES_MAX * ROUNDS)
#define UNUSED UINT64_C(0x5555555555555555)

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 11;
}

/* One by one.  Returns how many come before the first that is not of one line. */
static uint32_t keys_of(const struct loop_sites *s, uint32_t nr, uint64_t *key)
{
	uint64_t size = UINT64_C(1) << s->shift;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		uint32_t k = i % s->nr;
		uint64_t address = s->last[k] + s->stride[k] * (i / s->nr + 1);

		if (address % size + s->more[k] >= size)
			return i;
		key[i] = MEM_KEY_OF(address / size) + s->key[k] - MEM_KEY_OF(UINT64_C(0));
	}
	return nr;
}

typedef uint32_t loop_keys_fn(const struct loop_sites *s, uint32_t nr, uint64_t *key);

static void loop_is_right(const struct loop_sites *s, uint32_t nr, loop_keys_fn *run)
{
	uint64_t wanted[KEYS], key[KEYS + 8];
	uint32_t i, valid = keys_of(s, nr, wanted);

	for (i = 0; i < KEYS + 8; i++)
		key[i] = UNUSED;
	CHECK_EQ(run(s, nr, key), valid);
	for (i = 0; i < valid; i++)
		CHECK(key[i] == wanted[i]);
	for (i = nr; i < KEYS + 8; i++)
		CHECK(key[i] == UNUSED);
}

/* @aligned: accesses of one line each; else any of them may be of two. */
static struct loop_sites some_loop(uint64_t *state, uint32_t nr, bool aligned)
{
	struct loop_sites s = { .nr = nr, .shift = 5 + (uint32_t)(next_random(state) % 3) };
	uint32_t k;

	for (k = 0; k < nr; k++) {
		s.last[k] = next_random(state) << 11 ^ next_random(state);
		s.stride[k] = next_random(state) % 4096 - 2048;
		s.more[k] = aligned ? 7 : next_random(state) % 4;
		s.key[k] = MEM_KEY_OF(UINT64_C(0)) + next_random(state) % 2;
		if (aligned) {
			s.last[k] &= ~UINT64_C(7);
			s.stride[k] &= ~UINT64_C(7);
		}
	}
	return s;
}

static void loops_of_all_sizes_are_right(void)
{
	uint64_t state = 1;
	uint32_t nr, i;

	for (nr = 1; nr <= LOOP_SITES_MAX; nr++) {
		for (i = 0; i < 500; i++) {
			struct loop_sites s = some_loop(&state, nr, i % 2);
			uint32_t accesses = (uint32_t)(next_random(&state) % (nr * ROUNDS + 1));

			loop_is_right(&s, accesses, loop_keys);
			loop_is_right(&s, accesses, loop_keys_plain);
		}
	}
}

static void an_access_of_no_byte_ends_the_keys(void)
{
	struct loop_sites s = { .nr = 3, .shift = 6 };
	uint64_t key[9];
	uint32_t k;

	for (k = 0; k < 3; k++)
		s.key[k] = MEM_KEY_OF(UINT64_C(0));
	s.more[1] = UINT32_MAX;
	CHECK_EQ(loop_keys(&s, 9, key), 1);
	CHECK_EQ(loop_keys_plain(&s, 9, key), 1);
}

int main(void)
{
	RUN(loops_of_all_sizes_are_right);
	RUN(an_access_of_no_byte_ends_the_keys);
	return 0;
}
