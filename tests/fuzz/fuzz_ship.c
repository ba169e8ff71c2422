/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ship.c - envelopes and their labels against hostile bytes.
 *
 * With clang:   -DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined
 * Without:      fuzz_ship [ITERATIONS [SEED]] mutates an envelope of its own.
 *
 * The checksum is made right before an input is decoded: without that no change would get past it.
 * Beyond "does not crash": what was decoded lies inside the input, and encoded again it has the
 * same bytes; labels that were accepted, written and parsed again, are the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "ship/ship_envelope.h"
#include "ship/ship_labels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

static uint64_t nr_envelopes, nr_labels; /* that were accepted */

static void fix_crc(uint8_t *data, size_t size)
{
	uint32_t crc;

	if (size < sizeof(struct ship_head))
		return;
	crc = (uint32_t)crc32_z(0, data, offsetof(struct ship_head, crc));
	crc = (uint32_t)crc32_z(crc, data + sizeof(struct ship_head),
				size - sizeof(struct ship_head));
	memcpy(data + offsetof(struct ship_head, crc), &crc, sizeof(crc));
}

static void check_labels(const struct ship_envelope *e)
{
	struct ship_labels labels, again;
	struct err err = { 0 };
	struct json_writer w, second;
	const char *text;
	size_t size;

	if (ship_labels_parse(e->labels, e->labels_size, &labels, &err) < 0) {
		MUST(err.text[0]);
		return;
	}
	nr_labels++;
	jw_init_buffer(&w);
	ship_labels_write(&w, &labels);
	text = jw_text(&w, &size);
	MUST(text != NULL && ship_labels_parse(text, size, &again, &err) == 0);
	jw_init_buffer(&second);
	ship_labels_write(&second, &again);
	MUST(!strcmp(text, jw_text(&second, &size)));
	jw_release(&second);
	jw_release(&w);
}

static void check_envelope(const uint8_t *data, size_t size)
{
	struct ship_envelope e;
	struct err err = { 0 };
	struct bytes b = { 0 };

	if (ship_envelope_decode(data, size, &e, &err) < 0) {
		MUST(err.text[0] && !e.block && !e.labels);
		return;
	}
	nr_envelopes++;
	MUST((const uint8_t *)e.labels >= data && e.block + e.block_size == data + size);
	MUST(e.part < e.parts);
	MUST(ship_envelope_encode(&b, &e) == 0);
	MUST(b.size == size && !memcmp(b.data, data, size));
	bytes_release(&b);
	check_labels(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of exactly this size, so that a sanitizer notices a read behind it. */
	uint8_t *copy = malloc(size ? size : 1);

	MUST(copy != NULL);
	memcpy(copy, data, size);
	check_envelope(copy, size);
	fix_crc(copy, size);
	check_envelope(copy, size);
	free(copy);
	return 0;
}

/* ---- without libFuzzer ---------------------------------------------------------------- */

#ifndef FUZZ_LIBFUZZER

#include "own_input.h"

static uint64_t state;

static size_t roll(size_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % limit);
}

static void make_seed(struct bytes *to)
{
	struct ship_labels labels = { .service = "s", .host = "h", .sample = 1, .has_final = true };
	struct ship_envelope e = { .number = 1, .parts = 1, .block_size = 64 };
	static const uint8_t block[64];
	struct json_writer w;

	memset(labels.run, 'a', SHIP_RUN_SIZE - 1);
	jw_init_buffer(&w);
	ship_labels_write(&w, &labels);
	e.labels = jw_text(&w, &e.labels_size);
	e.block = block;
	MUST(e.labels && ship_envelope_encode(to, &e) == 0);
	jw_release(&w);
}

/* One change of @buf.  Returns the new size. */
static size_t mutate(uint8_t *buf, size_t size)
{
	static const uint32_t numbers[] = { 0, 1, 2, 0x7f, 0xff, 0xffff, 0xffffffff, 16385 };
	uint32_t number = numbers[roll(8)];
	size_t at;

	switch (roll(size > sizeof(struct ship_head) + 8 ? 4 : 1)) {
	case 0: /* another byte */
		if (size)
			buf[roll(size)] = (uint8_t)roll(256);
		return size;
	case 1: /* a number in the head */
		memcpy(buf + 8 + roll(28), &number, sizeof(number));
		return size;
	case 2: /* a character in the labels */
		at = sizeof(struct ship_head) + roll(size - sizeof(struct ship_head));
		buf[at] = (uint8_t) "0123456789\"{}[],:-e"[roll(19)];
		return size;
	default: /* shorter */
		return roll(4) ? size : roll(size);
	}
}

int main(int argc, char **argv)
{
	unsigned long iterations = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;
	struct bytes seed = { 0 };
	uint8_t *buf;

	state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 0) * 2 + UINT64_C(0x9e3779b97f4a7c15);
	make_seed(&seed);
	buf = malloc(seed.size);
	MUST(buf != NULL);
	for (i = 0; i < iterations; i++) {
		size_t size = seed.size, changes = roll(4), k;

		memcpy(buf, seed.data, size);
		for (k = 0; k < changes; k++)
			size = mutate(buf, size);
		own_input(buf, size);
	}
	free(buf);
	bytes_release(&seed);
	printf("%lu inputs: %llu envelopes, %llu labels accepted\n", iterations,
	       (unsigned long long)nr_envelopes, (unsigned long long)nr_labels);
	if (iterations >= 1000)
		MUST(nr_envelopes > iterations / 2 && nr_labels > iterations / 10);
	return 0;
}

#endif
