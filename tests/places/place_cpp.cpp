// SPDX-License-Identifier: MIT
// place_cpp.cpp - place_c.c in C++.
#include <corotracer/coroTracer.h>

#include <coroutine>
#include <exception>

#include "place_steps.h"

namespace
{

struct Task {
	struct promise : corotracer::PromiseMixin {
		Task get_return_object()
		{
			return { std::coroutine_handle<promise>::from_promise(*this) };
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

	using promise_type = promise;
	std::coroutine_handle<promise> handle;
};

Task step_ten_times()
{
	for (int i = 0; i < 10; i++)
		co_await std::suspend_always{};
}

} // namespace

int main(int argc, char **argv)
{
	place_enter(argc, argv);
	for (int i = 0; i < 50; i++) {
		Task task = step_ten_times();

		while (!task.handle.done())
			task.handle.resume();
		task.handle.destroy();
	}
	place_leave();
	return 0;
}
