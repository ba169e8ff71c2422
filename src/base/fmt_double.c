/* SPDX-License-Identifier: MIT */
/*
 * fmt_double.c - shortest decimal digits of a binary number, without a loop over digits.
 *
 * The method is Schubfach (R. Giulietti, "The Schubfach way to render doubles"): scale the number
 * and the ends of its rounding interval by a power of ten so that the interval holds one or two
 * candidates.  Each scaling is one 64 x 128 bit product, rounded to odd so that comparisons stay
 * correct.  The 128-bit powers of ten are computed at the first call, from exact big integers.
 */
#include "base/fmt_double.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/fmt.h"

#define POW_MIN (-292)
#define POW_MAX 324

struct pow10 {
	uint64_t hi, lo; /* 10^k, scaled to 2^127 <= value < 2^128, rounded up */
};

static struct pow10 powers[POW_MAX - POW_MIN + 1];
static pthread_once_t powers_once = PTHREAD_ONCE_INIT;

/* ---- powers of ten ------------------------------------------------------- */

#define WORDS 30 /* 960 bits: 5^324 has 753 bits, and 2^959 / 5^292 has 281 */

struct big {
	uint32_t word[WORDS]; /* lowest first */
};

static int bit_length(const struct big *b)
{
	int i;

	for (i = WORDS - 1; i >= 0; i--) {
		if (b->word[i])
			return i * 32 + 32 - __builtin_clz(b->word[i]);
	}
	return 0;
}

static unsigned bit_of(const struct big *b, int at)
{
	return at < 0 ? 0 : b->word[at / 32] >> (at % 32) & 1;
}

/* The highest 128 bits of @b, rounded up if lower bits are set or @inexact. */
static struct pow10 top_bits(const struct big *b, bool inexact)
{
	struct pow10 p = { 0, 0 };
	int top = bit_length(b), i;

	for (i = 1; i <= 64; i++) {
		p.hi = p.hi << 1 | bit_of(b, top - i);
		p.lo = p.lo << 1 | bit_of(b, top - 64 - i);
	}
	for (i = top - 129; i >= 0 && !inexact; i--)
		inexact = bit_of(b, i);
	if (inexact && !++p.lo)
		p.hi++;
	return p;
}

static void times_5(struct big *b)
{
	uint64_t carry = 0;
	int i;

	for (i = 0; i < WORDS; i++) {
		carry += (uint64_t)b->word[i] * 5;
		b->word[i] = (uint32_t)carry;
		carry >>= 32;
	}
}

/* Rounds down.  Repeated rounded division gives the same result as one rounded division. */
static void over_5(struct big *b)
{
	uint64_t rest = 0;
	int i;

	for (i = WORDS - 1; i >= 0; i--) {
		rest = rest << 32 | b->word[i];
		b->word[i] = (uint32_t)(rest / 5);
		rest %= 5;
	}
}

static void powers_make(void)
{
	struct big b = { { 1 } };
	int k;

	/* 5^k and 10^k have the same significant bits: they differ by a power of two. */
	for (k = 0; k <= POW_MAX; k++) {
		powers[k - POW_MIN] = top_bits(&b, false);
		times_5(&b);
	}
	memset(&b, 0, sizeof(b));
	b.word[WORDS - 1] = UINT32_C(1) << 31;
	for (k = -1; k >= POW_MIN; k--) {
		over_5(&b);
		powers[k - POW_MIN] = top_bits(&b, true);
	}
}

/* ---- digits -------------------------------------------------------------- */

/* Right shifts of negative numbers are arithmetic in every supported compiler. */
static int floor_log10_pow2(int e)
{
	return (e * 1262611) >> 22;
}

static int floor_log10_three_quarters_pow2(int e)
{
	return (e * 1262611 - 524031) >> 22;
}

static int floor_log2_pow10(int e)
{
	return (e * 1741647) >> 19;
}

/* The upper 64 bits of @g * @c / 2^64; the lowest bit is 1 if a nonzero part was cut off. */
static uint64_t round_to_odd(const struct pow10 *g, uint64_t c)
{
	unsigned __int128 low = (unsigned __int128)g->lo * c;
	unsigned __int128 sum = (unsigned __int128)g->hi * c + (uint64_t)(low >> 64);

	/* The power was rounded up, by less than one unit of this sum. */
	return (uint64_t)(sum >> 64) | ((uint64_t)sum > 1);
}

struct decimal {
	uint64_t digits;
	int exponent;
};

/*
 * Shortest decimal of @c * 2^@q.  @irregular: the next smaller double is nearer than the next
 * larger one.
 */
static struct decimal fmt_shortest(uint64_t c, int q, bool irregular)
{
	int k = irregular ? floor_log10_three_quarters_pow2(q) : floor_log10_pow2(q);
	int h = q + floor_log2_pow10(-k) + 1;
	const struct pow10 *g = &powers[-k - POW_MIN];
	uint64_t odd = c & 1, lower, value, upper, s, tens;
	bool down, up;

	pthread_once(&powers_once, powers_make);
	lower = round_to_odd(g, (4 * c - 2 + irregular) << h) + odd;
	value = round_to_odd(g, (4 * c) << h);
	upper = round_to_odd(g, (4 * c + 2) << h) - odd;
	s = value / 4;
	tens = s / 10;
	if (s >= 10) {
		down = lower <= 40 * tens;
		up = 40 * tens + 40 <= upper;
		if (down != up)
			return (struct decimal){ tens + up, k + 1 };
	}
	down = lower <= 4 * s;
	up = 4 * s + 4 <= upper;
	if (down == up) /* both or neither: take the nearer one, the even one on a tie */
		up = value > 4 * s + 2 || (value == 4 * s + 2 && (s & 1));
	return (struct decimal){ s + up, k };
}

/* ---- text ---------------------------------------------------------------- */

static void drop_zeros(struct decimal *d)
{
	while (d->digits % 10000 == 0) {
		d->digits /= 10000;
		d->exponent += 4;
	}
	while (d->digits % 10 == 0) {
		d->digits /= 10;
		d->exponent++;
	}
}

static char *put_exponent(char *p, int e)
{
	*p++ = 'e';
	*p++ = e < 0 ? '-' : '+';
	if (e < 0)
		e = -e;
	if (e < 10)
		*p++ = '0';
	return fmt_u64(p, (uint64_t)e);
}

/* Does not terminate the text, like all formatters here. */
static char *fmt_put_bytes(char *p, const char *from, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		p[i] = from[i];
	return p + nr;
}

static char *put_decimal(char *p, struct decimal d)
{
	char text[FMT_U64_MAX + FMT_SLACK];
	int len, point;

	drop_zeros(&d);
	len = (int)(fmt_u64(text, d.digits) - text);
	point = len + d.exponent; /* digits before the decimal point */
	if (point > 16 || point < -4) {
		*p++ = text[0];
		if (len > 1) {
			*p++ = '.';
			p = fmt_put_bytes(p, text + 1, len - 1);
		}
		return put_exponent(p, point - 1);
	}
	if (point <= 0) {
		memcpy(p, "0.0000", 6);
		return fmt_put_bytes(p + 2 - point, text, len);
	}
	if (point >= len) {
		fmt_put_bytes(p, text, len);
		memset(p + len, '0', (size_t)(point - len));
		return fmt_put_bytes(p + point, ".0", 2);
	}
	p = fmt_put_bytes(p, text, point);
	*p++ = '.';
	return fmt_put_bytes(p, text + point, len - point);
}

static char *put_zero(char *p)
{
	return fmt_put_bytes(p, "0.0", 3);
}

char *fmt_double(char *p, double v)
{
	uint64_t bits, fraction;
	int exponent;

	memcpy(&bits, &v, sizeof(bits));
	if (bits >> 63)
		*p++ = '-';
	fraction = bits & ((UINT64_C(1) << 52) - 1);
	exponent = (int)(bits >> 52 & 0x7ff);
	if (!fraction && !exponent)
		return put_zero(p);
	if (!exponent)
		return put_decimal(p, fmt_shortest(fraction, -1074, false));
	return put_decimal(p, fmt_shortest(fraction | UINT64_C(1) << 52, exponent - 1075,
					   !fraction && exponent > 1));
}

char *fmt_float(char *p, float v)
{
	uint32_t bits, fraction;
	int exponent;

	memcpy(&bits, &v, sizeof(bits));
	if (bits >> 31)
		*p++ = '-';
	fraction = bits & ((UINT32_C(1) << 23) - 1);
	exponent = (int)(bits >> 23 & 0xff);
	if (!fraction && !exponent)
		return put_zero(p);
	if (!exponent)
		return put_decimal(p, fmt_shortest(fraction, -149, false));
	return put_decimal(p, fmt_shortest(fraction | UINT32_C(1) << 23, exponent - 150,
					   !fraction && exponent > 1));
}
