// SPDX-License-Identifier: MIT
// together_other.cpp - the other file: the C++ header first, then the C SDK's.
#include "together.h"
#include <corotracer/corotracer.h>

Whole in_other_file()
{
	co_await Park{}; // @in other
}

void trace_in_c_elsewhere()
{
	corotracer_coro co;

	corotracer_begin(&co, "in C, elsewhere");
	corotracer_suspend(&co, nullptr);
	corotracer_resume(&co);
	corotracer_end(&co);
}
