// SPDX-License-Identifier: MIT
// untraced_name.cpp - a name is used up by the next coroutine, also if no collector is there to
// hear it.
//
// Otherwise a coroutine that the first one creates, after the program was attached, would get it.
#include "coro.h"

#include <cstdio>

namespace
{

Eager outer(const char **left)
{
	*left = corotracer::detail::self()->birth_name;
	co_return;
}

} // namespace

int main()
{
	const char *left = "not called";

	named("outer", outer, &left);
	if (left) {
		std::printf("the name '%s' is left for the next coroutine\n", left);
		return 1;
	}
	return 0;
}
