// SPDX-License-Identifier: MIT
// uses_library.cpp - a coroutine that awaits one of a shared library.
#include "tasks.h"

Task<> library_wait();

static Task<> caller()
{
	co_await library_wait(); // @caller
}

int main()
{
	auto task = caller();

	task.start();
	expect(1, "library_wait caller");
	ready();
	pause();
}
