// SPDX-License-Identifier: MIT
// lazy_task.hpp - Lazy<T>: a task that starts when it is awaited, with symmetric transfer.
//
//	Lazy<int> answer();
//	int n = co_await answer();	// runs it, continues when it has ended
//	detach_lazy(serve(fd));		// the frame is destroyed at its end
//
// The promise is traced completely by corotracer::Traced<>.
#pragma once

#include <coroutine>
#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include <corotracer/coroTracer.h>

struct LazyState {
	std::coroutine_handle<> continuation;
	std::exception_ptr failure;
	bool is_detached = false;

	struct Ending {
		bool await_ready() const noexcept
		{
			return false;
		}
		template <class P>
		std::coroutine_handle<> await_suspend(std::coroutine_handle<P> self) noexcept
		{
			std::coroutine_handle<> next = self.promise().continuation;

			if (self.promise().is_detached)
				self.destroy();
			return next ? next : std::noop_coroutine();
		}
		void await_resume() const noexcept
		{
		}
	};

	std::suspend_always initial_suspend() const noexcept
	{
		return {};
	}
	Ending final_suspend() const noexcept
	{
		return {};
	}
	void unhandled_exception() noexcept
	{
		failure = std::current_exception();
	}
	void rethrow_failure() const
	{
		if (failure)
			std::rethrow_exception(failure);
	}
};

template <class T> struct LazyValue : LazyState {
	std::optional<T> value;

	void return_value(T v)
	{
		value.emplace(std::move(v));
	}
	T take_result()
	{
		rethrow_failure();
		return std::move(*value);
	}
};

template <> struct LazyValue<void> : LazyState {
	void return_void() const noexcept
	{
	}
	void take_result() const
	{
		rethrow_failure();
	}
};

template <class T = void> class [[nodiscard]] Lazy
{
      public:
	struct Promise : LazyValue<T> {
		Lazy get_return_object()
		{
			return Lazy(std::coroutine_handle<Promise>::from_promise(*this));
		}
	};
	using promise_type = corotracer::Traced<Promise>;

	Lazy(Lazy &&other) noexcept : self_(std::exchange(other.self_, nullptr))
	{
	}
	Lazy &operator=(Lazy &&other) noexcept
	{
		std::swap(self_, other.self_);
		return *this;
	}
	~Lazy()
	{
		if (self_)
			self_.destroy();
	}

	bool await_ready() const noexcept
	{
		return self_.done();
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) const noexcept
	{
		self_.promise().continuation = awaiting;
		return self_;
	}
	T await_resume() const
	{
		return self_.promise().take_result();
	}
	// For a task that was created long before it is awaited.
	corotracer::Wait corotracer_wait() const
	{
		return corotracer::joining(traced().id());
	}

	promise_type &traced() const
	{
		return std::coroutine_handle<promise_type>::from_address(self_.address()).promise();
	}
	std::coroutine_handle<Promise> handle() const
	{
		return self_;
	}
	std::coroutine_handle<Promise> release()
	{
		return std::exchange(self_, nullptr);
	}

      private:
	explicit Lazy(std::coroutine_handle<Promise> self) : self_(self)
	{
	}

	std::coroutine_handle<Promise> self_;
};

// Start @task; its frame is destroyed at its end.
inline void detach_lazy(Lazy<> task)
{
	std::coroutine_handle<Lazy<>::Promise> self = task.release();

	self.promise().is_detached = true;
	self.resume();
}
