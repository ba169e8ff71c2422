// SPDX-License-Identifier: MIT
// coroutine_bed.cpp - two coroutines: one that starts suspended, one that starts running.
#include "coroutine_bed.h"

#include <coroutine>
#include <exception>

struct Pause {
	int fd;
	bool await_ready() const noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<>) const noexcept
	{
	}
	void await_resume() const noexcept
	{
	}
};

template <typename Start> struct Chore {
	struct promise_type {
		int tag = 0x5a5a;
		Chore get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		Start initial_suspend() noexcept
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

const unsigned bed_lines[4] = { __LINE__ + 6, __LINE__ + 10, __LINE__ + 14, __LINE__ + 20 };

static Chore<std::suspend_always> sum_of(int first, long *result)
{
	int total = first;

	co_await Pause{ 7 };
	{
		short inner = 3;

		co_await std::suspend_always{};
		total += inner;
	}
	*result = total;
	co_await Pause{ 9 };
	*result += total;
}

static Chore<std::suspend_never> eager()
{
	co_await Pause{ 11 };
}

void *bed_create_sum(int first, long *result)
{
	return sum_of(first, result).handle.address();
}

void *bed_create_eager(void)
{
	return eager().handle.address();
}

void bed_resume(void *frame)
{
	std::coroutine_handle<>::from_address(frame).resume();
}

void bed_destroy(void *frame)
{
	std::coroutine_handle<>::from_address(frame).destroy();
}
