// SPDX-License-Identifier: MIT
// library.cpp - a coroutine in a shared library.
#include "tasks.h"

Gate library_gate;

__attribute__((visibility("default"))) Task<> library_wait()
{
	co_await library_gate.wait(); // @library_wait
}
