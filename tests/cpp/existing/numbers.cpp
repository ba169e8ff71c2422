// SPDX-License-Identifier: MIT
// numbers.cpp - a program of the existing coroTracer header: a generator that also awaits.
//
// It includes nothing but that header, and prints what the trace must contain.
#include "coroTracer.h"

static std::coroutine_handle<> paused;

struct Pause {
	bool await_ready() const noexcept
	{
		return false;
	}

	void await_suspend(std::coroutine_handle<> h) const noexcept
	{
		paused = h;
	}

	int await_resume() const noexcept
	{
		return 1;
	}
};

struct Numbers {
	struct promise_type : public corotracer::PromiseMixin {
		uint64_t value = 0;

		Numbers get_return_object()
		{
			return Numbers{ std::coroutine_handle<promise_type>::from_promise(*this) };
		}

		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}

		std::suspend_always final_suspend() noexcept
		{
			return {};
		}

		std::suspend_always yield_value(uint64_t next) noexcept
		{
			value = next;
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

	std::coroutine_handle<promise_type> handle;

	explicit Numbers(std::coroutine_handle<promise_type> h) : handle(h)
	{
	}

	Numbers(Numbers &&other) noexcept : handle(std::exchange(other.handle, nullptr))
	{
	}

	~Numbers()
	{
		if (handle)
			handle.destroy();
	}
};

static Numbers squares(uint64_t limit)
{
	for (uint64_t i = 0; i < limit; i++) {
		int one = co_await Pause{};

		co_yield i *i *static_cast<uint64_t>(one);
	}
}

int main()
{
	corotracer::InitTracer();
	Numbers numbers = squares(5);
	uint64_t sum = 0;

	while (numbers.handle.resume(), !numbers.handle.done()) {
		std::exchange(paused, nullptr).resume();
		sum += numbers.handle.promise().value;
	}
	const corotracer::StationData *station = numbers.handle.promise().my_station;
	std::cout << "sum " << sum << " events " << numbers.handle.promise().event_count
		  << " traced " << (numbers.handle.promise().my_station != nullptr) << " id "
		  << (station ? station->header.probe_id : 0) << std::endl;
	return sum == 30 ? 0 : 1;
}
