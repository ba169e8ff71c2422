// SPDX-License-Identifier: MIT
// tasks.h - lazy tasks with symmetric transfer, as many programs have them.
#pragma once

#include "truth.h"

#include <atomic>
#include <deque>
#include <tuple>
#include <vector>

template <typename T> class Task;

struct PromiseBase {
	std::coroutine_handle<> continuation;

	struct Final {
		bool await_ready() noexcept
		{
			return false;
		}
		template <typename P>
		std::coroutine_handle<> await_suspend(std::coroutine_handle<P> self) noexcept
		{
			auto next = self.promise().continuation;

			return next ? next : std::noop_coroutine();
		}
		void await_resume() noexcept
		{
		}
	};
	std::suspend_always initial_suspend() noexcept
	{
		return {};
	}
	Final final_suspend() noexcept
	{
		return {};
	}
	void unhandled_exception()
	{
		std::terminate();
	}
};

template <typename T> struct Promise : PromiseBase {
	T value{};
	Task<T> get_return_object();
	void return_value(T v)
	{
		value = std::move(v);
	}
};

template <> struct Promise<void> : PromiseBase {
	Task<void> get_return_object();
	void return_void()
	{
	}
};

template <typename T = void> class Task
{
      public:
	using promise_type = Promise<T>;
	using Handle = std::coroutine_handle<promise_type>;

	explicit Task(Handle h) : handle(h)
	{
	}
	Task(Task &&other) noexcept : handle(std::exchange(other.handle, {}))
	{
	}
	~Task()
	{
		if (handle)
			handle.destroy();
	}
	bool await_ready() const
	{
		return handle.done();
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller)
	{
		handle.promise().continuation = caller;
		return handle;
	}
	T await_resume()
	{
		if constexpr (!std::is_void_v<T>)
			return std::move(handle.promise().value);
	}
	void start()
	{
		handle.resume();
	}
	Handle detach()
	{
		return std::exchange(handle, {});
	}

      private:
	Handle handle;
};

template <typename T> Task<T> Promise<T>::get_return_object()
{
	return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object()
{
	return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

// A list of coroutines that wait until the gate is opened.
struct Gate {
	std::deque<std::coroutine_handle<>> waiting;

	struct Wait {
		Gate *gate;
		int ticket;
		bool await_ready()
		{
			return false;
		}
		void await_suspend(std::coroutine_handle<> self)
		{
			gate->waiting.push_back(self);
		}
		int await_resume()
		{
			return ticket;
		}
	};
	Wait wait(int ticket = 0)
	{
		return { this, ticket };
	}
	void open_one()
	{
		auto next = waiting.front();

		waiting.pop_front();
		next.resume();
	}
};

// ---- several tasks at once ------------------------------------------------------------

struct WhenAllCounter {
	std::atomic<int> left;
	std::coroutine_handle<> parent;

	void child_done()
	{
		if (left.fetch_sub(1) == 1)
			parent.resume();
	}
};

class WhenAllTask
{
      public:
	struct promise_type {
		WhenAllCounter *counter = nullptr;

		WhenAllTask get_return_object()
		{
			return WhenAllTask(
				std::coroutine_handle<promise_type>::from_promise(*this));
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		auto final_suspend() noexcept
		{
			struct Done {
				bool await_ready() noexcept
				{
					return false;
				}
				void
				await_suspend(std::coroutine_handle<promise_type> self) noexcept
				{
					self.promise().counter->child_done();
				}
				void await_resume() noexcept
				{
				}
			};
			return Done{};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			std::terminate();
		}
	};
	explicit WhenAllTask(std::coroutine_handle<promise_type> h) : handle(h)
	{
	}
	WhenAllTask(WhenAllTask &&other) noexcept : handle(std::exchange(other.handle, {}))
	{
	}
	~WhenAllTask()
	{
		if (handle)
			handle.destroy();
	}
	void start(WhenAllCounter *counter)
	{
		handle.promise().counter = counter;
		handle.resume();
	}

      private:
	std::coroutine_handle<promise_type> handle;
};

template <typename T> WhenAllTask when_all_child(Task<T> task)
{
	co_await task; // @when_all_child
}

template <typename... Tasks> class WhenAll
{
      public:
	explicit WhenAll(Tasks... tasks)
	    : counter{ static_cast<int>(sizeof...(Tasks)), {} },
	      children(when_all_child(std::move(tasks))...)
	{
	}
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> self)
	{
		counter.parent = self;
		std::apply([this](auto &...child) { (child.start(&counter), ...); }, children);
	}
	void await_resume()
	{
	}

      private:
	template <typename> using Child = WhenAllTask;
	WhenAllCounter counter;
	std::tuple<Child<Tasks>...> children;
};
