/* SPDX-License-Identifier: MIT */
/* signals_target.cpp - a C++ coroutine that works for a request of the user, and another for none.
 */
#include <corotracer/coroTracer.h>

#include <coroutine>
#include <cstdio>

struct task {
	struct promise;
	using promise_type = corotracer::Traced<promise>;

	struct promise {
		task get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(
				static_cast<promise_type &>(*this)) };
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
		}
	};
	std::coroutine_handle<promise_type> handle;
};

static task serve()
{
	co_await std::suspend_always{};
	if (!corotracer::set_traceparent(
		    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01") ||
	    corotracer::set_traceparent("not a traceparent"))
		std::puts("wrong answer");
	co_await std::suspend_always{};
	corotracer::set_traceparent("");
	co_await std::suspend_always{};
}

int main()
{
	task served = serve(), given = serve();

	served.handle.resume();
	served.handle.resume();
	given.handle.promise().set_traceparent(
		"00-11111111111111111111111111111111-2222222222222222-00");
	served.handle.resume();
	served.handle.resume();
	served.handle.destroy();
	given.handle.destroy();
	return 0;
}
