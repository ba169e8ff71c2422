// SPDX-License-Identifier: MIT
// waiting_cpp.cpp - "waiting_cpp STILL MOVING [EXIT_MS]": traced coroutines that are parked in two
// levels for ever, and others that are resumed every millisecond.  SIGTERM, or EXIT_MS after the
// start, ends it.
#include <corotracer/coroTracer.h>

#include <chrono>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace
{

std::vector<std::coroutine_handle<>> still, moving;

struct Park {
	std::vector<std::coroutine_handle<>> &in;

	bool await_ready() const noexcept
	{
		return false;
	}

	void await_suspend(std::coroutine_handle<> h)
	{
		in.push_back(h);
	}

	void await_resume()
	{
	}
};

struct Task {
	struct promise_type : corotracer::PromiseMixin {
		std::coroutine_handle<> next;

		Task get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}

		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}

		auto final_suspend() noexcept
		{
			return trace_final(std::suspend_always{});
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

	bool await_ready() const noexcept
	{
		return false;
	}

	std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller)
	{
		handle.promise().next = caller;
		return handle;
	}

	void await_resume()
	{
	}
};

Task inner()
{
	co_await Park{ still }; // @inner
}

Task outer()
{
	co_await inner(); // @outer
}

Task mover()
{
	for (;;)
		co_await Park{ moving }; // @mover
}

} // namespace

int main(int argc, char **argv)
{
	int nr_still = argc > 1 ? atoi(argv[1]) : 5, nr_moving = argc > 2 ? atoi(argv[2]) : 2;
	int exit_ms = argc > 3 ? atoi(argv[3]) : 120000;

	for (int i = 0; i < nr_still; i++)
		outer().handle.resume();
	for (int i = 0; i < nr_moving; i++)
		mover().handle.resume();
	printf("ready\n");
	fflush(stdout);
	for (int ms = 0; ms < exit_ms; ms++) {
		std::vector<std::coroutine_handle<>> now;

		std::this_thread::sleep_for(std::chrono::milliseconds(1));
		now.swap(moving);
		for (std::coroutine_handle<> h : now)
			h.resume();
	}
}
