// SPDX-License-Identifier: MIT
// together_plugin.cpp - a shared object with coroutines, loaded by name.
#include "coro.h"

extern "C" __attribute__((visibility("default"))) Whole in_plugin();
extern "C" __attribute__((visibility("default"))) void resume_plugin();

Whole in_plugin()
{
	co_await Park{}; // @in plugin
}

void resume_plugin()
{
	resume_all();
}
