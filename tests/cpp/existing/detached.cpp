// SPDX-License-Identifier: MIT
// detached.cpp - a program of the existing coroTracer header: coroutines that are not joined, and
// one that reports its transitions by hand.
#include "coroTracer.h"

struct Detached {
	struct promise_type : corotracer::PromiseMixin {
		Detached get_return_object() noexcept
		{
			return {};
		}

		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}

		std::suspend_never final_suspend() noexcept
		{
			return {};
		}

		void return_void() noexcept
		{
		}

		void unhandled_exception() noexcept
		{
			std::abort();
		}
	};
};

static std::coroutine_handle<> waiting[8];
static size_t nr_waiting;

// It is its own awaiter, and is not copied.
struct Queue {
	int value = 7;

	Queue() = default;
	Queue(const Queue &) = delete;

	bool await_ready() const noexcept
	{
		return false;
	}

	void await_suspend(std::coroutine_handle<> h) noexcept
	{
		waiting[nr_waiting++] = h;
	}

	int await_resume() noexcept
	{
		return value++;
	}
};

static Detached fire(Queue &queue, int *sum)
{
	*sum += co_await queue;
}

// A scheduler without promises of its own.
struct ByHand : corotracer::PromiseMixin {
	void step()
	{
		write_trace(reinterpret_cast<uint64_t>(this), false);
		write_trace(0, true);
	}
};

int main()
{
	corotracer::InitTracer();
	Queue queue;
	ByHand by_hand;
	int sum = 0;

	for (int i = 0; i < 8; i++)
		fire(queue, &sum);
	for (size_t i = 0; i < nr_waiting; i++)
		waiting[i].resume();
	by_hand.step();
	by_hand.step();
	std::cout << "sum " << sum << " by-hand " << by_hand.event_count << std::endl;
	return 0;
}
