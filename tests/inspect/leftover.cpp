// SPDX-License-Identifier: MIT
// leftover.cpp - coroutines that have not started, in the memory of others that had callees in
// their frames.
//
// clang places the frames of `middle` and `leaf` in that of `first`.  When it is destroyed, they
// stay in memory as they were; `second` has frames of the same size, and gets the same memory.
#include "tasks.h"

#include <memory>

#define FAMILY(name, n)                                         \
	static Task<int> leaf_##name(Gate &gate)                \
	{                                                       \
		co_return co_await gate.wait(n);                \
	}                                                       \
	static Task<int> middle_##name(Gate &gate)              \
	{                                                       \
		co_return co_await leaf_##name(gate) + n;       \
	}                                                       \
	static Task<int> root_##name(Gate &gate)                \
	{                                                       \
		co_return co_await middle_##name(gate) + 2 * n; \
	}

FAMILY(first, 1)
FAMILY(second, 2)

int main()
{
	static Gate gate;
	std::vector<std::unique_ptr<Task<int>>> tasks;

	alarm(120);
	for (int i = 0; i < 5; i++) {
		tasks.push_back(std::make_unique<Task<int>>(root_first(gate)));
		tasks.back()->start();
	}
	gate.waiting.clear();
	tasks.clear();
	for (int i = 0; i < 5; i++)
		tasks.push_back(std::make_unique<Task<int>>(root_second(gate)));
	ready();
	for (;;)
		pause();
}
