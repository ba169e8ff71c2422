/* SPDX-License-Identifier: MIT */
/*
 * fmt.h - convert integers to text and back, eight digits at a time.
 *
 * A trace holds millions of numbers, so neither direction loops over digits or divides in a loop:
 * eight digits fit in one 64-bit word, a byte each, and three multiplications split or join them
 * ("SIMD within a register").  Plain C, the same on x86_64 and aarch64.
 *
 * Slack: the formatters store whole words and may write up to FMT_SLACK bytes more than the text
 * they return; the scanners may read FMT_SLACK bytes past their input.
 */
#ifndef BASE_FMT_H
#define BASE_FMT_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FMT_U64_MAX 20 /* digits of UINT64_MAX */
#define FMT_SLACK   8

#define FMT_1E8     UINT32_C(100000000)
#define FMT_1E16    UINT64_C(10000000000000000)

/* Load a word in memory order: the first character is its lowest byte. */
static inline uint64_t fmt_load8(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return le64toh(word);
}

static inline void fmt_store8(char *p, uint64_t word)
{
	word = htole64(word);
	memcpy(p, &word, sizeof(word));
}

/* ---- formatting ---------------------------------------------------------- */

/* The eight digits of @v < 10^8, values 0 to 9, first digit in the lowest byte. */
static inline uint64_t fmt_split8(uint32_t v)
{
	uint64_t x = (uint64_t)(v / 10000) | (uint64_t)(v % 10000) << 32;
	uint64_t tops;

	/* 10486 / 2^20 is exact for 1/100 up to 9999, 103 / 2^10 for 1/10 up to 99. */
	tops = (x * 10486 >> 20) & UINT64_C(0x0000007f0000007f);
	x = tops | (x - 100 * tops) << 16;
	tops = (x * 103 >> 10) & UINT64_C(0x000f000f000f000f);
	return tops | (x - 10 * tops) << 8;
}

/* Exactly eight digits of @v < 10^8, with leading zeros.  Returns the end. */
static inline char *fmt_8digits(char *p, uint32_t v)
{
	fmt_store8(p, fmt_split8(v) | UINT64_C(0x3030303030303030));
	return p + 8;
}

/* @v < 10^8 without leading zeros. */
static inline char *fmt_upto8(char *p, uint32_t v)
{
	uint64_t digits = fmt_split8(v);
	/* Bit 56 keeps the last digit, so that 0 has one digit. */
	unsigned skip = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) / 8;

	fmt_store8(p, (digits | UINT64_C(0x3030303030303030)) >> (skip * 8));
	return p + 8 - skip;
}

/* @v in decimal.  Not terminated.  Returns the end. */
static inline char *fmt_u64(char *p, uint64_t v)
{
	if (v < FMT_1E8)
		return fmt_upto8(p, (uint32_t)v);
	if (v < FMT_1E16) {
		p = fmt_upto8(p, (uint32_t)(v / FMT_1E8));
		return fmt_8digits(p, (uint32_t)(v % FMT_1E8));
	}
	p = fmt_upto8(p, (uint32_t)(v / FMT_1E16));
	v %= FMT_1E16;
	p = fmt_8digits(p, (uint32_t)(v / FMT_1E8));
	return fmt_8digits(p, (uint32_t)(v % FMT_1E8));
}

/* 16-byte vectors: the compiler picks the machine's instructions. */
typedef int8_t fmt_bytes __attribute__((vector_size(16)));
typedef uint64_t fmt_words __attribute__((vector_size(16)));

/* Exactly sixteen lower-case hexadecimal digits of @v.  Returns the end. */
static inline char *fmt_hex16(char *p, uint64_t v)
{
	const uint64_t nibbles = UINT64_C(0x0f0f0f0f0f0f0f0f);
	uint64_t x = htole64(__builtin_bswap64(v));
	fmt_bytes high = (fmt_bytes)(fmt_words){ x >> 4 & nibbles };
	fmt_bytes low = (fmt_bytes)(fmt_words){ x & nibbles };
	fmt_bytes digits;

#ifdef __clang__
	digits = __builtin_shufflevector(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,
					 7, 23);
#else
	digits = __builtin_shuffle(
		high, low, (fmt_bytes){ 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23 });
#endif
	digits += '0' + ((fmt_bytes)(digits > 9) & ('a' - '0' - 10));
	memcpy(p, &digits, sizeof(digits));
	return p + 16;
}

/* ---- scanning ------------------------------------------------------------ */

/* Number of leading digits among the eight characters at @p; *@value is their value. */
static inline unsigned scan_upto8(const char *p, uint32_t *value)
{
	uint64_t x = fmt_load8(p) ^ UINT64_C(0x3030303030303030);
	/* A byte above 9 sets its top bit; a carry out of that byte affects only later bytes. */
	uint64_t others = ((x + UINT64_C(0x7676767676767676)) | x) & UINT64_C(0x8080808080808080);
	unsigned nr = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;

	if (!nr)
		return 0;
	x <<= (8 - nr) * 8;
	x = x * 10 + (x >> 8);
	x = ((x & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
	     ((x >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001)) >>
	    32;
	*value = (uint32_t)x;
	return nr;
}

/*
 * Parse a decimal number as JSON spells it: no sign, no leading zero.  Returns the first character
 * after the number, or NULL if the text is not a number or does not fit.
 */
static inline const char *scan_u64(const char *p, uint64_t *out)
{
	static const uint32_t pow10[9] = { 1,      10,      100,      1000,   10000,
					   100000, 1000000, 10000000, FMT_1E8 };
	uint32_t part = 0;
	unsigned nr = scan_upto8(p, &part);
	uint64_t value = part;

	if (!nr || (nr > 1 && *p == '0'))
		return NULL;
	*out = value;
	if (nr < 8)
		return p + nr;
	p += 8;
	nr = scan_upto8(p, &part);
	if (!nr)
		return p;
	value = value * pow10[nr] + part;
	*out = value;
	if (nr < 8)
		return p + nr;
	p += 8;
	nr = scan_upto8(p, &part);
	if (!nr)
		return p;
	if (nr > 4 || __builtin_mul_overflow(value, (uint64_t)pow10[nr], &value) ||
	    __builtin_add_overflow(value, (uint64_t)part, &value))
		return NULL;
	*out = value;
	return p + nr;
}

/* Value of eight lower-case hexadecimal digits; unspecified if they are not hexadecimal. */
static inline uint32_t scan_hex8(const char *p)
{
	uint64_t x = fmt_load8(p);

	x = (x & UINT64_C(0x0f0f0f0f0f0f0f0f)) + 9 * ((x >> 6) & UINT64_C(0x0101010101010101));
	x = __builtin_bswap64(x);
	x = (x | x >> 4) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x | x >> 8) & UINT64_C(0x0000ffff0000ffff);
	return (uint32_t)(x | x >> 16);
}

/* Exactly sixteen lower-case hexadecimal digits.  Returns the end, or NULL. */
static inline const char *scan_hex16(const char *p, uint64_t *out)
{
	char again[16 + FMT_SLACK];

	*out = (uint64_t)scan_hex8(p) << 32 | scan_hex8(p + 8);
	/* Format the value again: only valid digits give the same text. */
	fmt_hex16(again, *out);
	if (fmt_load8(again) != fmt_load8(p) || fmt_load8(again + 8) != fmt_load8(p + 8))
		return NULL;
	return p + 16;
}

#endif
