/* SPDX-License-Identifier: MIT */
/* words.h - a list of words that grows, such as the arguments of a command. */
#ifndef MEMORY_WORDS_H
#define MEMORY_WORDS_H

#include <stddef.h>

#include "base/err.h"

struct words {
	char **word; /* ends with NULL once there is one; all of them owned */
	size_t nr, room;
	int failed; /* no memory: the list is not what it should be */
};

void words_add(struct words *w, const char *word);
void words_add_all(struct words *w, char *const *words, size_t nr);
/* A word made of two. */
void words_join(struct words *w, const char *a, const char *b);
void words_release(struct words *w);

/*
 * The words of a response file, as compilers read them: separated by white space, with
 * quotes and backslashes, and with response files in it.  0 or a negative errno.
 */
int words_from_file(struct words *w, const char *path, int depth, struct err *err);

#endif
