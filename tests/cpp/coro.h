// SPDX-License-Identifier: MIT
// coro.h - the coroutine types and awaiters that the scenarios are made of.
#ifndef TESTS_CPP_CORO_H
#define TESTS_CPP_CORO_H

#include <corotracer/coroTracer.h>

#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>
#include <vector>

using corotracer::named;

// Coroutines that wait to be resumed, in order; by hand, on one thread.
inline std::vector<std::coroutine_handle<>> parked;

inline void resume_next()
{
	std::coroutine_handle<> h = parked.front();

	parked.erase(parked.begin());
	h.resume();
}

inline void resume_all()
{
	while (!parked.empty())
		resume_next();
}

// Parks its coroutine, as an awaiter that returns nothing.
struct Park {
	bool await_ready() const noexcept
	{
		return false;
	}

	void await_suspend(std::coroutine_handle<> h) const
	{
		parked.push_back(h);
	}

	void await_resume() const noexcept
	{
	}
};

// A typical promise: started at once, destroyed at its end.
struct Eager {
	struct promise_type : corotracer::PromiseMixin {
		Eager get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}

		std::suspend_never initial_suspend() noexcept
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

	std::coroutine_handle<promise_type> handle;
};

// A promise without tracing: lazily started, awaited by symmetric transfer.
template <class Tag> struct TaskPromise : Tag::Base {
	std::coroutine_handle<> waiting;
	std::exception_ptr failure;

	struct Final {
		bool await_ready() noexcept
		{
			return false;
		}

		std::coroutine_handle<> await_suspend(std::coroutine_handle<TaskPromise> h) noexcept
		{
			if (h.promise().waiting)
				return h.promise().waiting;
			return std::noop_coroutine();
		}

		void await_resume() noexcept
		{
		}
	};

	typename Tag::Task get_return_object()
	{
		return typename Tag::Task{ std::coroutine_handle<TaskPromise>::from_promise(
			*this) };
	}

	std::suspend_always initial_suspend() noexcept
	{
		return {};
	}

	Final final_suspend() noexcept
	{
		return {};
	}

	void return_void()
	{
	}

	void unhandled_exception()
	{
#if defined(__cpp_exceptions)
		failure = std::current_exception();
#else
		std::abort();
#endif
	}
};

// Its task; its awaiter is private.
template <class Tag, class Promise> class BasicTask
{
      public:
	using promise_type = Promise;

	explicit BasicTask(std::coroutine_handle<TaskPromise<Tag>> h) : handle(h)
	{
	}

	BasicTask(BasicTask &&other) noexcept : handle(std::exchange(other.handle, nullptr))
	{
	}

	BasicTask &operator=(BasicTask &&) = delete;

	~BasicTask()
	{
		if (handle)
			handle.destroy();
	}

	void start()
	{
		handle.resume();
	}

	bool done() const
	{
		return handle.done();
	}

	auto operator co_await() &&noexcept
	{
		struct Awaiter {
			std::coroutine_handle<TaskPromise<Tag>> child;

			bool await_ready() noexcept
			{
				return false;
			}

			std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) noexcept
			{
				child.promise().waiting = h;
				return child;
			}

			void await_resume()
			{
#if defined(__cpp_exceptions)
				if (child.promise().failure)
					std::rethrow_exception(child.promise().failure);
#endif
			}
		};

		return Awaiter{ handle };
	}

      private:
	std::coroutine_handle<TaskPromise<Tag>> handle;
};

// Three variants: traced completely, by the mixin alone, not at all.
struct Nothing {
};

struct WholeTag {
	using Base = Nothing;
	using Promise = corotracer::Traced<TaskPromise<WholeTag>>;
	using Task = BasicTask<WholeTag, Promise>;
};

struct PlainTag {
	using Base = corotracer::PromiseMixin;
	using Promise = TaskPromise<PlainTag>;
	using Task = BasicTask<PlainTag, Promise>;
};

struct UntracedTag {
	using Base = Nothing;
	using Promise = TaskPromise<UntracedTag>;
	using Task = BasicTask<UntracedTag, Promise>;
};

using Whole = WholeTag::Task;
using Plain = PlainTag::Task;
using Untraced = UntracedTag::Task;

struct Scenario {
	const char *name;
	void (*run)();
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

[[noreturn]] inline void fail(const char *what)
{
	std::fprintf(stderr, "target: %s\n", what);
	std::exit(3);
}

inline void expect(bool holds, const char *what)
{
	if (!holds)
		fail(what);
}

#endif
