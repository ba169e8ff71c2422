/* SPDX-License-Identifier: MIT */
/* arg_list.h - a growable list of words, such as the arguments of a command. */
#ifndef MEMORY_COMPILER_ARG_LIST_H
#define MEMORY_COMPILER_ARG_LIST_H

#include <stddef.h>

#include "base/err.h"

struct words {
	char **word; /* NULL-terminated once not empty; the words are owned */
	size_t nr, room;
	int failed; /* out of memory: the list is incomplete */
};

void words_add(struct words *w, const char *word);
void words_add_all(struct words *w, char *const *words, size_t nr);
/* Add the concatenation of two strings. */
void words_join(struct words *w, const char *a, const char *b);
void words_release(struct words *w);

/*
 * Add the words of a response file as compilers read it: separated by white space, with quotes,
 * backslashes and nested response files. 0 or a negative errno.
 */
int words_from_file(struct words *w, const char *path, int depth, struct err *err);

#endif
