// SPDX-License-Identifier: MIT
// truth.h - a program says what `corotracer why` must find in it.
//
// expect(2, "leaf middle root") means: two coroutines are suspended with this stack.  Each word
// names a line of the source that ends with a comment `// @word`.  ready() ends the list; the
// process then waits to be looked at.
#pragma once

#include <coroutine>
#include <cstdio>
#include <exception>
#include <unistd.h>
#include <utility>

inline void expect(int count, const char *stack)
{
	std::printf("expect %d %s\n", count, stack);
}

inline void ready()
{
	std::printf("ready\n");
	std::fflush(stdout);
}
