/* SPDX-License-Identifier: MIT */
/* zlib_round.c - compress and decompress a text with known sums: zlib_round BYTES. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zlib.h"

static unsigned char *make_text(size_t size)
{
	unsigned char *text = malloc(size);
	unsigned x = 7;
	size_t i;

	for (i = 0; text && i < size; i++) {
		x = x * 1103515245u + 12345u;
		text[i] = (unsigned char)("etaoin shrdlu"[(x >> 16) % 13]);
	}
	return text;
}

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	unsigned char *text = make_text(size), *packed = malloc(compressBound(size)),
		      *again = malloc(size);
	uLongf packed_size = compressBound(size), again_size = size;

	if (!text || !packed || !again || compress2(packed, &packed_size, text, size, 6) != Z_OK ||
	    uncompress(again, &again_size, packed, packed_size) != Z_OK)
		return 1;
	printf("%lu %08lx %d\n", (unsigned long)again_size,
	       adler32(adler32(0, NULL, 0), text, (uInt)size),
	       again_size == size && !memcmp(text, again, size));
	free(text);
	free(packed);
	free(again);
	return 0;
}
