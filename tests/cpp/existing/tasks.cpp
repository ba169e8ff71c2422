// SPDX-License-Identifier: MIT
// tasks.cpp - a program of the existing coroTracer header: tasks that await tasks and an awaiter of
// the program, with a template promise and an await_transform of its own.
#include "coroTracer.h"

#include <optional>
#include <vector>

static std::vector<std::coroutine_handle<>> ready;

class Turn
{
      public:
	bool await_ready() const noexcept
	{
		return false;
	}

	bool await_suspend(std::coroutine_handle<> h)
	{
		ready.push_back(h);
		return true;
	}

	void await_resume() const noexcept
	{
	}
};

template <typename T> class Task
{
      public:
	struct promise_type;
	using Handle = std::coroutine_handle<promise_type>;

	struct Final {
		bool await_ready() noexcept
		{
			return false;
		}

		std::coroutine_handle<> await_suspend(Handle h) noexcept
		{
			if (h.promise().continuation)
				return h.promise().continuation;
			return std::noop_coroutine();
		}

		void await_resume() noexcept
		{
		}
	};

	struct promise_type : corotracer::PromiseMixin {
		std::optional<T> result;
		std::coroutine_handle<> continuation;

		Task get_return_object()
		{
			return Task(Handle::from_promise(*this));
		}

		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}

		Final final_suspend() noexcept
		{
			return {};
		}

		// What a program writes that wants to see what it awaits.
		template <typename Awaitable> auto await_transform(Awaitable &&awaitable)
		{
			awaits++;
			return corotracer::TracedAwaiter<Awaitable>{
				std::forward<Awaitable>(awaitable), this
			};
		}

		void return_value(T value)
		{
			result = std::move(value);
		}

		void unhandled_exception()
		{
			std::terminate();
		}
	};

	explicit Task(Handle h) : handle(h)
	{
	}

	Task(Task &&other) noexcept : handle(std::exchange(other.handle, nullptr))
	{
	}

	~Task()
	{
		if (handle)
			handle.destroy();
	}

	bool await_ready() const noexcept
	{
		return false;
	}

	std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) noexcept
	{
		handle.promise().continuation = h;
		return handle;
	}

	T await_resume()
	{
		return std::move(*handle.promise().result);
	}

	Handle handle;
	static inline uint64_t awaits = 0;
};

static Task<int> leaf(int value)
{
	co_await Turn{};
	co_return value;
}

static Task<int> root()
{
	int sum = 0;

	for (int i = 1; i <= 10; i++) {
		Task<int> child = leaf(i);

		sum += co_await child;
	}
	co_return sum;
}

int main()
{
	corotracer::InitTracer();
	Task<int> task = root();

	task.handle.resume();
	while (!ready.empty()) {
		std::coroutine_handle<> next = ready.back();

		ready.pop_back();
		next.resume();
	}
	std::cout << "sum " << *task.handle.promise().result << " awaits " << Task<int>::awaits
		  << " coroutines " << 11 << std::endl;
	return 0;
}
