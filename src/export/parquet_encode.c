/* SPDX-License-Identifier: MIT */
/* parquet_encode.c - the encodings of Parquet that the writer uses. */
#include "export/parquet_encode.h"

#include <string.h>

#define GROUP 8 /* bit-packed values come in groups of 8 */

/* ---- little endian -------------------------------------------------------- */

static inline unsigned char *encode_put_u32(unsigned char *at, uint32_t value)
{
	at[0] = (unsigned char)value;
	at[1] = (unsigned char)(value >> 8);
	at[2] = (unsigned char)(value >> 16);
	at[3] = (unsigned char)(value >> 24);
	return at + 4;
}

static inline unsigned char *encode_put_u64(unsigned char *at, uint64_t value)
{
	return encode_put_u32(encode_put_u32(at, (uint32_t)value), (uint32_t)(value >> 32));
}

static uint64_t encode_zigzag(uint64_t value)
{
	return value << 1 ^ (uint64_t)((int64_t)value >> 63);
}

/* ---- bits ----------------------------------------------------------------- */

/* Collects values of any number of bits; whole words of 32 bits go to @at. */
struct bit_packer {
	unsigned char *at;
	uint64_t held;
	unsigned nr_held; /* below 32 between two calls */
};

static inline void bit_packer_add(struct bit_packer *p, uint32_t value, unsigned width)
{
	p->held |= (uint64_t)value << p->nr_held;
	p->nr_held += width;
	if (p->nr_held < 32)
		return;
	p->at = encode_put_u32(p->at, (uint32_t)p->held);
	p->held >>= 32;
	p->nr_held -= 32;
}

/* Writes the last bits; unused bits of the last byte are 0. */
static void bit_packer_flush(struct bit_packer *p)
{
	for (; p->nr_held; p->nr_held = p->nr_held > 8 ? p->nr_held - 8 : 0) {
		*p->at++ = (unsigned char)p->held;
		p->held >>= 8;
	}
}

/* Appends @nr values, and zeros up to @padded; @padded times @width is a multiple of 8. */
static void encode_pack(struct bytes *out, const uint32_t *values, size_t nr, size_t padded,
			unsigned width)
{
	unsigned char *to = bytes_more(out, padded * width / 8);
	struct bit_packer p = { .at = to };
	size_t i;

	if (!to)
		return;
	for (i = 0; i < nr; i++)
		bit_packer_add(&p, values[i], width);
	for (; i < padded; i++)
		bit_packer_add(&p, 0, width);
	bit_packer_flush(&p);
}

/* ---- hybrid ---------------------------------------------------------------- */

static void hybrid_put_literals(struct bytes *out, const uint32_t *values, size_t nr,
				unsigned width)
{
	size_t groups = (nr + GROUP - 1) / GROUP;

	if (!nr)
		return;
	bytes_add_varint(out, (uint64_t)groups << 1 | 1);
	encode_pack(out, values, nr, groups * GROUP, width);
}

static void hybrid_put_run(struct bytes *out, uint32_t value, size_t nr, unsigned width)
{
	unsigned char raw[4];

	bytes_add_varint(out, (uint64_t)nr << 1);
	encode_put_u32(raw, value);
	bytes_add(out, raw, (width + 7) / 8);
}

static size_t hybrid_run_length(const uint32_t *values, size_t nr)
{
	size_t i = 1;

	while (i < nr && values[i] == values[0])
		i++;
	return i;
}

void parquet_encode_hybrid(struct bytes *out, const uint32_t *values, size_t nr, unsigned width)
{
	size_t from = 0, at = 0; /* literals wait from @from on */

	while (at < nr) {
		size_t run = hybrid_run_length(values + at, nr - at);
		/* Literals before a run are whole groups: the run gives up its first values. */
		size_t fill = (GROUP - (at - from) % GROUP) % GROUP;

		if (run >= fill + 2 * (size_t)GROUP) {
			hybrid_put_literals(out, values + from, at + fill - from, width);
			hybrid_put_run(out, values[at], run - fill, width);
			from = at + run;
		}
		at += run;
	}
	hybrid_put_literals(out, values + from, nr - from, width);
}

/* Beyond 4 bits whole bytes: zstd finds repetitions among bytes, and the unused bits cost nothing.
 */
unsigned parquet_index_width(size_t nr)
{
	unsigned width = nr <= 2 ? 1 : 64 - (unsigned)__builtin_clzll(nr - 1);

	return width <= 4 ? width : (width + 7) / 8 * 8;
}

/* ---- delta ----------------------------------------------------------------- */

#define DELTA_BLOCK 128
#define DELTA_MINI  32 /* values that share a number of bits */
#define DELTA_MINIS (DELTA_BLOCK / DELTA_MINI)

/* Values of up to 64 bits: the lower 32, then the rest.  32 values are whole words. */
static void delta_pack_mini(struct bit_packer *p, const uint64_t *values, unsigned width)
{
	unsigned low = width < 32 ? width : 32, i;

	for (i = 0; i < DELTA_MINI; i++) {
		bit_packer_add(p, (uint32_t)values[i], low);
		if (width > low)
			bit_packer_add(p, (uint32_t)(values[i] >> 32), width - low);
	}
}

/* @values[-1] is the value before the first. */
static void delta_put_block(struct bytes *out, const uint64_t *values, size_t nr)
{
	uint64_t deltas[DELTA_BLOCK] = { 0 };
	unsigned char packed[DELTA_BLOCK * 8], widths[DELTA_MINIS] = { 0 };
	struct bit_packer p = { .at = packed };
	int64_t least = INT64_MAX;
	size_t i, mini;

	for (i = 0; i < nr; i++) {
		deltas[i] = values[i] - values[(ptrdiff_t)i - 1];
		if ((int64_t)deltas[i] < least)
			least = (int64_t)deltas[i];
	}
	for (i = 0; i < nr; i++)
		deltas[i] -= (uint64_t)least;
	for (mini = 0; mini * DELTA_MINI < nr; mini++) {
		uint64_t any = 0;

		for (i = 0; i < DELTA_MINI; i++)
			any |= deltas[mini * DELTA_MINI + i];
		widths[mini] = any ? (unsigned char)(64 - __builtin_clzll(any)) : 0;
		delta_pack_mini(&p, deltas + mini * DELTA_MINI, widths[mini]);
	}
	bytes_add_varint(out, encode_zigzag((uint64_t)least));
	bytes_add(out, widths, sizeof(widths));
	bytes_add(out, packed, (size_t)(p.at - packed));
}

void parquet_encode_delta(struct bytes *out, const uint64_t *values, size_t nr)
{
	size_t i;

	bytes_add_varint(out, DELTA_BLOCK);
	bytes_add_varint(out, DELTA_MINIS);
	bytes_add_varint(out, nr);
	bytes_add_varint(out, encode_zigzag(values[0]));
	for (i = 1; i < nr; i += DELTA_BLOCK)
		delta_put_block(out, values + i, nr - i < DELTA_BLOCK ? nr - i : DELTA_BLOCK);
}

/* ---- plain ----------------------------------------------------------------- */

void parquet_encode_plain(struct bytes *out, const uint64_t *values, size_t nr)
{
	unsigned char *to = bytes_more(out, nr * 8);
	size_t i;

	for (i = 0; to && i < nr; i++)
		to = encode_put_u64(to, values[i]);
}

void parquet_encode_text(struct bytes *out, const char *text)
{
	size_t size = strlen(text);
	unsigned char raw[4];

	encode_put_u32(raw, (uint32_t)size);
	bytes_add(out, raw, sizeof(raw));
	bytes_add(out, text, size);
}

void parquet_encode_bits(struct bytes *out, const uint64_t *values, size_t nr)
{
	unsigned char *to = bytes_more(out, (nr + 7) / 8);
	size_t i;

	if (!to)
		return;
	memset(to, 0, (nr + 7) / 8);
	for (i = 0; i < nr; i++)
		to[i / 8] |= (unsigned char)((values[i] != 0) << i % 8);
}
