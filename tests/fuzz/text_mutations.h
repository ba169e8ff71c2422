/* SPDX-License-Identifier: MIT */
/*
 * text_mutations.h - the own inputs of a fuzzer of text: seeds with a few words and bytes changed.
 *
 * The words are also the dictionary of libFuzzer (tests/fuzz/dictionaries).
 */
#ifndef FUZZ_TEXT_MUTATIONS_H
#define FUZZ_TEXT_MUTATIONS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "own_input.h"

#define TEXT_INPUT_MAX 4096u

struct text_source {
	const char *const *seeds, *const *words; /* each ends with NULL */
	uint64_t state;
};

static inline size_t text_roll(struct text_source *s, size_t below)
{
	s->state ^= s->state << 13;
	s->state ^= s->state >> 7;
	s->state ^= s->state << 17;
	return (size_t)(s->state % below);
}

static inline size_t text_nr(const char *const *list)
{
	size_t nr = 0;

	while (list[nr])
		nr++;
	return nr;
}

/* One byte changes, a word comes in, or a part goes out. */
static inline size_t text_change(struct text_source *s, char *buf, size_t size)
{
	const char *word = s->words[text_roll(s, text_nr(s->words))];
	size_t at = text_roll(s, size + 1), len = strlen(word), gone;

	switch (text_roll(s, 3)) {
	case 0:
		if (at < size)
			buf[at] = (char)text_roll(s, 256);
		return size;
	case 1:
		gone = text_roll(s, size - at + 1);
		memmove(buf + at, buf + at + gone, size - at - gone);
		return size - gone;
	default:
		if (size + len > TEXT_INPUT_MAX)
			return size;
		memmove(buf + at + len, buf + at, size - at);
		memcpy(buf + at, word, len);
		return size + len;
	}
}

/* Run @rounds inputs. */
static inline void text_inputs(struct text_source *s, unsigned long rounds)
{
	char buf[TEXT_INPUT_MAX];
	unsigned long i;

	s->state = UINT64_C(0x9e3779b97f4a7c15);
	for (i = 0; i < rounds; i++) {
		const char *seed = s->seeds[i % text_nr(s->seeds)];
		size_t size = strlen(seed), changes = text_roll(s, 4);

		memcpy(buf, seed, size);
		while (changes--)
			size = text_change(s, buf, size);
		own_input((const uint8_t *)buf, size);
	}
}

static inline unsigned long text_rounds(int argc, char **argv)
{
	return argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
}

/* A check that also counts in a build without assertions. */
#define MUST_HOLD(cond)                                                                      \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

#endif
