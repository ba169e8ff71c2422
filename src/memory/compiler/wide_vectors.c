/* SPDX-License-Identifier: MIT */
/* wide_vectors.c - does a source file ask for vectors of 32 or 64 bytes? */
#include "wide_vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST ((size_t)16 << 20) /* of a larger file the begin is read */

bool source_has_wide_vectors(const char *path)
{
	static const char *const names[] = { "__m256",           "__m512",
					     "_mm256_",          "_mm512_",
					     "vector_size(32",   "vector_size(64",
					     "vector_size__(32", "vector_size__(64" };
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(MOST + 1) : NULL;
	bool has = false;
	size_t size, i;

	if (text) {
		size = fread(text, 1, MOST, f);
		text[size] = '\0';
		for (i = 0; !has && i < sizeof(names) / sizeof(names[0]); i++)
			has = memmem(text, size, names[i], strlen(names[i])) != NULL;
	}
	free(text);
	if (f)
		fclose(f);
	return has;
}
