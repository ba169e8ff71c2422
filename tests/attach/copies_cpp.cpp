// SPDX-License-Identifier: MIT
// copies_cpp.cpp - the second copy of the SDK of copies_c.c.
#include <corotracer/coroTracer.h>

#include <coroutine>
#include <exception>

extern "C" void copies_cpp_begin();
extern "C" void copies_cpp_step();

namespace
{

struct Task {
	struct promise_type : corotracer::PromiseMixin {
		Task get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}

		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}

		std::suspend_always final_suspend() noexcept
		{
			return {};
		}

		void return_void()
		{
		}

		void unhandled_exception()
		{
			std::terminate();
		}
	};

	std::coroutine_handle<promise_type> handle;
};

Task waits()
{
	for (;;)
		co_await std::suspend_always{};
}

Task task;

} // namespace

extern "C" __attribute__((visibility("default"))) void copies_cpp_begin()
{
	task = corotracer::named("of the C++ headers", waits);
}

extern "C" __attribute__((visibility("default"))) void copies_cpp_step()
{
	task.handle.resume();
}
