// SPDX-License-Identifier: MIT
// coroutine.cpp - a C++20 coroutine, traced by the header alone.
#include <corotracer/coroTracer.h>
#include <corotracer/version.h>

#include <cstdio>
#include <cstdlib>

struct task {
	struct promise_type : corotracer::PromiseMixin {
		task get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}

		std::suspend_never initial_suspend()
		{
			return {};
		}

		std::suspend_never final_suspend() noexcept
		{
			return {};
		}

		void return_void()
		{
		}

		void unhandled_exception()
		{
			std::abort();
		}
	};

	std::coroutine_handle<> handle;
};

static task once()
{
	co_await std::suspend_always{};
}

int main()
{
	corotracer::InitTracer();
	once().handle.resume();
	std::printf("%s %s\n", COROTRACER_VERSION, corotracer::enabled() ? "traced" : "untraced");
	return 0;
}
