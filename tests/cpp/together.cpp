// SPDX-License-Identifier: MIT
// together.cpp - one program: two files with coroutines, the C library, and a plugin.
//
// The C SDK's header comes first here, and second in the other file: both orders must work.
#include <corotracer/corotracer.h>
#include "coro.h"
#include "together.h"

#include <dlfcn.h>

namespace
{

Whole calls_other()
{
	co_await named("in the other file", in_other_file); // @other
}

// A coroutine of the C SDK, with a session of its own.
void trace_in_c()
{
	corotracer_coro co;

	corotracer_begin(&co, "in C");
	corotracer_suspend(&co, nullptr);
	corotracer_resume(&co);
	corotracer_end(&co);
}

Whole calls_plugin(Whole (*in_plugin)())
{
	co_await named("in the plugin", in_plugin); // @plugin
}

} // namespace

int main(int argc, char **argv)
{
	Whole here = named("here", calls_other);

	here.start();
	trace_in_c();
	trace_in_c_elsewhere();
	resume_all();
	if (argc < 2)
		return 0;

	void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);

	if (!plugin)
		fail(dlerror());

	auto in_plugin = reinterpret_cast<Whole (*)()>(dlsym(plugin, "in_plugin"));
	auto resume_plugin = reinterpret_cast<void (*)()>(dlsym(plugin, "resume_plugin"));

	expect(in_plugin && resume_plugin, "the plugin has not what it should");

	Whole caller = named("calls the plugin", calls_plugin, in_plugin);

	caller.start();
	resume_plugin();
	expect(caller.done(), "the plugin's coroutine did not end");
	return 0;
}
