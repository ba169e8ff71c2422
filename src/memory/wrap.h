/* SPDX-License-Identifier: MIT */
/*
 * wrap.h - a command for a compiler, turned into one that makes a traced program.
 *
 * Compiling wants -fsanitize=thread, linking must not see it: with it, compilers link their
 * own runtime, which wins silently.  So a command that does both is taken apart.
 */
#ifndef MEMORY_WRAP_H
#define MEMORY_WRAP_H

#include <stdbool.h>

#include "words.h"

enum wrap_family { WRAP_GCC, WRAP_CLANG };

struct wrap_setup {
	const char *compiler; /* the real one */
	enum wrap_family family;
	const char *libdir;     /* where libcacheray is */
	const char *includedir; /* where cacheray.h is, or NULL if compilers look there anyway */
	const char *tmpdir;     /* where objects may go; exists */
};

/* What to run, one after the other; the last one's status is the command's. */
struct wrap_plan {
	struct words *commands;
	size_t nr;
	struct words remarks; /* what the user should be told */
	bool needs_tmpdir;
};

/* @args: what the user's build passes to the compiler (without its name). */
int wrap_make(const struct wrap_setup *setup, char *const *args, size_t nr, struct wrap_plan *plan,
	      struct err *err);
void wrap_release(struct wrap_plan *plan);

#endif
