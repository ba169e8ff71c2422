// SPDX-License-Identifier: MIT
// bug_failed_child_drops_caller.cpp - a task that fails never continues with its caller.
//
// The final awaiter of the program's task type has an early return for failed tasks, and that
// return drops the continuation.
//
// corpus: bug
// class: lost-wakeup|never-destroyed
// at: @stuck
// victims: client-7
// never: deadlock, wake-before-suspend
#include <stdexcept>
#include <string>

#include "epoll_loop.hpp"

struct RpcTask {
	struct promise_type : corotracer::PromiseMixin {
		std::coroutine_handle<> caller;
		bool is_detached = false, has_failed = false;
		int value = 0;

		struct Ending {
			bool await_ready() const noexcept
			{
				return false;
			}
			std::coroutine_handle<>
			await_suspend(std::coroutine_handle<promise_type> self) noexcept
			{
				promise_type &p = self.promise();
				std::coroutine_handle<> next = p.caller;

				if (p.has_failed) // the bug: the caller waits for ever
					return std::noop_coroutine();
				if (p.is_detached)
					self.destroy();
				return next ? next : std::noop_coroutine();
			}
			void await_resume() const noexcept
			{
			}
		};

		RpcTask get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		auto initial_suspend()
		{
			return trace_initial(std::suspend_always());
		}
		auto final_suspend() noexcept
		{
			return trace_final(Ending());
		}
		void return_value(int v)
		{
			value = v;
		}
		void unhandled_exception()
		{
			has_failed = true;
		}
	};

	std::coroutine_handle<promise_type> self;

	bool await_ready() const noexcept
	{
		return false;
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) const
	{
		self.promise().caller = caller;
		return self;
	}
	int await_resume() const
	{
		int value = self.promise().value;

		self.destroy();
		return value;
	}
};

static RpcTask balance_fetch(EpollLoop &loop, int account)
{
	co_await loop.sleep_ms(3 + account % 4);
	if (account == 717)
		throw std::runtime_error("no such account");
	co_return 100 + account;
}

static RpcTask balance_client(EpollLoop &loop, int id)
{
	int sum = 0;

	for (int round = 0; round < 60; round++) {
		int account = id * 100 + round;

		co_await loop.sleep_ms(10);
		sum += co_await balance_fetch(loop, account); // @stuck
	}
	co_return sum;
}

int main()
{
	EpollLoop loop;

	corotracer::InitTracer();
	for (int i = 0; i < 8; i++) {
		std::string name = "client-" + std::to_string(i);
		RpcTask task = corotracer::named(name.c_str(), balance_client, loop, i);

		task.self.promise().is_detached = true;
		task.self.resume();
	}
	loop.run_for(1600);
	return 0;
}
