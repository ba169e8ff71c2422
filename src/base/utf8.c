/* SPDX-License-Identifier: MIT */
/* utf8.c - decode text that may not be valid UTF-8. */
#include "base/utf8.h"

/* Length by the first byte, and the bounds of the second byte, where the exceptions are. */
static size_t utf8_lead(unsigned char c, unsigned char *lo, unsigned char *hi)
{
	*lo = 0x80;
	*hi = 0xbf;
	if (c < 0xc2)
		return 0; /* a continuation byte, or overlong */
	if (c < 0xe0)
		return 2;
	if (c < 0xf0) {
		if (c == 0xe0)
			*lo = 0xa0; /* below: overlong */
		if (c == 0xed)
			*hi = 0x9f; /* above: surrogates */
		return 3;
	}
	if (c > 0xf4)
		return 0;
	if (c == 0xf0)
		*lo = 0x90; /* below: overlong */
	if (c == 0xf4)
		*hi = 0x8f; /* above: past U+10FFFF */
	return 4;
}

size_t utf8_next(const char *s, size_t size, uint32_t *cp)
{
	const unsigned char *u = (const unsigned char *)s;
	unsigned char lo, hi;
	size_t len, i;

	*cp = u[0];
	if (u[0] < 0x80)
		return 1;
	len = utf8_lead(u[0], &lo, &hi);
	if (!len) {
		*cp = UTF8_BAD;
		return 1;
	}
	*cp &= 0x7fu >> len;
	for (i = 1; i < len; i++) {
		if (i >= size || u[i] < lo || u[i] > hi) {
			*cp = UTF8_BAD;
			return i;
		}
		*cp = *cp << 6 | (u[i] & 0x3fu);
		lo = 0x80;
		hi = 0xbf;
	}
	return len;
}
