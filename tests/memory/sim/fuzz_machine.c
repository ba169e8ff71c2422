/* SPDX-License-Identifier: MIT */
/*
 * fuzz_machine.c - any configuration is rejected with a message, or simulated.
 *
 * The input is a JSON file.  A machine that is accepted runs a few hundred accesses from all
 * over memory: the counts must add up.  With a first byte of 0xff the rest is the text of an
 * option (--cache, --tlb).
 *
 * With clang: -DFUZZ_LIBFUZZER -fsanitize=fuzzer.  Otherwise main() makes its own inputs from
 * valid machines: fuzz_machine [ROUNDS [SEED]].
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/sim/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t machines_run;

static void fail(const char *what)
{
	fprintf(stderr, "fuzz_machine: %s\n", what);
	abort();
}

static uint64_t random_of(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Large ones are valid, and take memory as they are used: too slow for this many rounds. */
static bool is_small(const struct sim_config *c)
{
	uint64_t size = 0;
	uint32_t k;

	for (k = 0; k < c->nr_levels; k++)
		size += c->level[k].size / c->level[k].line;
	for (k = 0; k < c->nr_tlbs; k++)
		size += c->tlb[k].entries;
	return size < 1u << 16;
}

static void simulate(const struct sim_config *c)
{
	struct err err = { 0 };
	struct sim *s = sim_new(c, &err);
	uint64_t state = 7, lines = 0;
	struct sim_counts n;
	uint32_t i;

	if (!s)
		fail("what was checked is refused");
	for (i = 0; i < 300; i++) {
		uint64_t r = random_of(&state);
		struct sim_outcome out;

		if (sim_access(s, i % 3, random_of(&state) >> r % 64, (uint32_t)(r >> 8) % 256,
			       r >> 20 & 1, &out) < 0)
			fail("no memory");
		lines += out.nr_lines;
	}
	sim_level_totals(s, 0, &n);
	if (n.hits[0] + n.hits[1] + n.misses[0] + n.misses[1] != lines)
		fail("lines that neither hit nor missed");
	sim_free(s);
	machines_run++;
}

static void has_words(const struct err *err)
{
	if (!err->code || !err->text[0])
		fail("refused without words");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { 0 };
	struct sim_config c;
	char text[256];
	int ret;

	if (size && data[0] == 0xff) {
		snprintf(text, sizeof(text), "%.*s", (int)(size - 1 < 255 ? size - 1 : 255),
			 (const char *)data + 1);
		sim_config_default(&c);
		c.nr_levels = 0;
		ret = sim_config_level_text(&c, text, &err);
		if (ret == 0)
			sim_config_finish(&c);
		else
			has_words(&err);
		sim_config_tlb_text(&c, text, &err);
	} else {
		ret = sim_config_parse(&c, (const char *)data, size, "fuzz", &err);
		if (ret < 0)
			has_words(&err);
	}
	if (ret < 0)
		return 0;
	err = (struct err){ 0 };
	if (sim_config_check(&c, &err) < 0)
		has_words(&err);
	else if (is_small(&c))
		simulate(&c);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#include "../../fuzz/own_input.h"

static const char *const machines[] = {
	"{\"levels\": [{\"size\": \"32K\", \"ways\": 8, \"line\": 64, \"policy\": \"plru\"}, "
	"{\"size\": "
	"262144, \"ways\": 8, \"inclusion\": \"inclusive\", \"prefetch\": \"tagged\"}], \"tlb\": "
	"[{\"entries\": 64, \"ways\": 4}], \"page\": 4096, \"cores\": 2, \"seed\": 3}",
	"{\"levels\": [{\"name\": \"L1\", \"size\": 2048, \"ways\": \"full\", \"write\": "
	"\"through\", "
	"\"allocate\": false, \"share\": 2}, {\"size\": 8192, \"ways\": 4, \"share\": \"all\"}]}",
	"{\"levels\": [{\"size\": 1024, \"ways\": 2}, {\"size\": 4096, \"ways\": 4, \"inclusion\": "
	"\"exclusive\", \"policy\": \"random\"}]}",
	"{\"caches\": [{\"name\": \"a\", \"cache_size\": 12, \"block_size\": 6, \"write_policy\": "
	"0, "
	"\"set_assoc\": 0, \"rep_policy\": 3}]}",
	"\xffL1=32K,8,64,fifo,share=all,write-through",
	"\xff"
	"64,4",
	"\xff"
	"48K,12,64,random,next-line,no-allocate,share=2",
};
#define NR_MACHINES (sizeof(machines) / sizeof(machines[0]))

/* Numbers and words, valid and invalid. */
static const char *const words[] = { "0",
				     "-1",
				     "1",
				     "3",
				     "31",
				     "32",
				     "64",
				     "4294967296",
				     "1e9",
				     "null",
				     "true",
				     "\"full\"",
				     "\"all\"",
				     "\"16G\"",
				     "[]",
				     "{}",
				     "9223372036854775808",
				     "\"lifo\"",
				     "1024",
				     "\"\"" };
#define NR_WORDS (sizeof(words) / sizeof(words[0]))

static size_t mutate(char *text, size_t size, uint64_t *state)
{
	unsigned hits = (unsigned)(random_of(state) % 4);

	while (hits-- && size > 2 && size < 700) {
		uint64_t r = random_of(state);
		size_t at = (size_t)(r >> 16) % size, end = at;
		const char *word = words[(r >> 40) % NR_WORDS];

		if (r % 4 == 0) {
			text[at] = (char)(r >> 8);
			continue;
		}
		/* Replace a value by another one. */
		while (at < size && text[at] != ':' && text[at] != ',' && text[at] != '=')
			at++;
		for (end = at; end < size && !strchr(",}]", text[end]); end++)
			;
		if (at >= size || end <= at)
			continue;
		at++;
		memmove(text + at + strlen(word), text + end, size - end);
		memcpy(text + at, word, strlen(word));
		size = size - end + at + strlen(word);
	}
	return size;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000, i;
	uint64_t state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15u;

	for (i = 0; i < rounds; i++) {
		const char *machine = machines[random_of(&state) % NR_MACHINES];
		char text[1024];
		size_t size = strlen(machine);

		memcpy(text, machine, size);
		size = mutate(text, size, &state);
		own_input((const uint8_t *)text, size);
	}
	printf("%lu inputs, %llu machines ran\n", rounds, (unsigned long long)machines_run);
	/* If few are accepted, little is tested. */
	return machines_run > rounds / 20 ? 0 : 1;
}
#endif
