/* SPDX-License-Identifier: MIT */
/*
 * golden.h - compare a text with a file of tests/fixtures/golden, line by line.
 *
 * With GOLDEN_WRITE=1 in the environment the file is written instead: read every changed line
 * before it is committed.
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static inline char *golden_read(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!f) {
		perror(path);
		exit(1);
	}
	CHECK(getdelim(&text, &size, '\0', f) >= 0 || feof(f));
	fclose(f);
	return text;
}

static inline void golden_same(const char *name, const char *text, const char *wanted)
{
	unsigned line = 1;

	while (*text && *text == *wanted) {
		line += *text == '\n';
		text++;
		wanted++;
	}
	if (*text == *wanted)
		return;
	fprintf(stderr, "%s:%u: here is\n  %.*s\nexpected\n  %.*s\n", name, line,
		(int)strcspn(text, "\n"), text, (int)strcspn(wanted, "\n"), wanted);
	exit(1);
}

/* The version of the tool, in place: a new one does not change a golden file. */
static inline void golden_hide(char *text, const char *version)
{
	while ((text = strstr(text, version)) != NULL)
		memset(text, 'V', strlen(version));
}

static inline void golden_check(const char *name, const char *text)
{
	char path[512], *wanted;

	snprintf(path, sizeof(path), "%s/golden/%s", FIXTURES, name);
	if (getenv("GOLDEN_WRITE")) {
		FILE *f = fopen(path, "w");

		CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
		return;
	}
	wanted = golden_read(path);
	golden_same(name, text, wanted);
	free(wanted);
}

#endif
