/* SPDX-License-Identifier: MIT */
/*
 * compiler_command.h - turn a compiler command into one that builds a traced program.
 *
 * Compiling needs -fsanitize=thread, linking must not have it: with it, compilers link their own
 * runtime, which silently takes precedence.  So only the compiler proper gets it, by -Xclang or by
 * a file of specs (cacheray.specs).
 */
#ifndef MEMORY_COMPILER_COMPILER_COMMAND_H
#define MEMORY_COMPILER_COMPILER_COMMAND_H

#include <stdbool.h>

#include "arg_list.h"

enum wrap_family { WRAP_GCC, WRAP_CLANG };

struct wrap_setup {
	const char *compiler; /* the real compiler */
	enum wrap_family family;
	const char *libdir;     /* directory of libcacheray and cacheray.specs */
	const char *includedir; /* directory of cacheray.h; NULL: a default include directory */
	char *const *only;      /* globs of the sources to instrument; none: all sources */
	size_t nr_only;
};

struct wrap_plan {
	struct words command; /* to run */
	struct words remarks; /* messages for the user */
};

/* @args: the arguments of the user's compiler command, without the compiler's name. */
int wrap_make(const struct wrap_setup *setup, char *const *args, size_t nr, struct wrap_plan *plan,
	      struct err *err);
void wrap_release(struct wrap_plan *plan);

#endif
