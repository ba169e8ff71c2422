// SPDX-License-Identifier: MIT
// generators.cpp - generators that were consumed in part; one was consumed completely.
#include "truth.h"

#include <vector>

template <typename T> class Generator
{
      public:
	struct promise_type {
		T value;

		Generator get_return_object()
		{
			return Generator(std::coroutine_handle<promise_type>::from_promise(*this));
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		std::suspend_always yield_value(T v)
		{
			value = v;
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
	explicit Generator(std::coroutine_handle<promise_type> h) : handle(h)
	{
	}
	Generator(Generator &&other) noexcept : handle(std::exchange(other.handle, {}))
	{
	}
	~Generator()
	{
		if (handle)
			handle.destroy();
	}
	bool next()
	{
		handle.resume();
		return !handle.done();
	}

      private:
	std::coroutine_handle<promise_type> handle;
};

static Generator<int> range(int from, int to)
{
	for (int i = from; i < to; i++)
		co_yield i; // @range
}

static Generator<long> fibonacci() // @fibonacci_start
{
	long a = 0, b = 1;

	for (;;) {
		co_yield a; // @fibonacci
		b += std::exchange(a, b);
	}
}

int main()
{
	std::vector<Generator<int>> ranges;
	std::vector<Generator<long>> numbers;

	for (int i = 0; i < 3; i++) {
		ranges.push_back(range(i, 10));
		ranges.back().next();
	}
	ranges.push_back(range(0, 2));
	while (ranges.back().next())
		;
	numbers.push_back(fibonacci());
	numbers.back().next();
	numbers.push_back(fibonacci());
	expect(3, "range");
	expect(1, "fibonacci");
	expect(1, "fibonacci_start");
	ready();
	pause();
}
