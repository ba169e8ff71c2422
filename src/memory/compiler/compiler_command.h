/* SPDX-License-Identifier: MIT */
/*
 * compiler_command.h - translate a compiler command into commands that build a traced program.
 *
 * Compiling needs -fsanitize=thread, linking must not have it: with it, compilers link their own
 * runtime, which silently takes precedence.  So a command that does both is split.
 */
#ifndef MEMORY_COMPILER_COMPILER_COMMAND_H
#define MEMORY_COMPILER_COMPILER_COMMAND_H

#include <stdbool.h>

#include "arg_list.h"

enum wrap_family { WRAP_GCC, WRAP_CLANG };

struct wrap_setup {
	const char *compiler; /* the real compiler */
	enum wrap_family family;
	const char *libdir;     /* directory of libcacheray */
	const char *includedir; /* directory of cacheray.h; NULL: a default include directory */
	const char *tmpdir;     /* existing directory for object files */
};

/* The commands to run in sequence; the status of the last one is that of the whole. */
struct wrap_plan {
	struct words *commands;
	size_t nr;
	struct words remarks; /* messages for the user */
	bool needs_tmpdir;
};

/* @args: the arguments of the user's compiler command, without the compiler's name. */
int wrap_make(const struct wrap_setup *setup, char *const *args, size_t nr, struct wrap_plan *plan,
	      struct err *err);
void wrap_release(struct wrap_plan *plan);

#endif
