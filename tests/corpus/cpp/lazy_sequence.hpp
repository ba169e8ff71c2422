// SPDX-License-Identifier: MIT
// lazy_sequence.hpp - Sequence<T>: a generator, traced by hand.
//
//	for (std::optional<int> n = primes.next(); n; n = primes.next())
//		...
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <source_location>
#include <utility>

#include <corotracer/coroTracer.h>

template <class T> class Sequence
{
      public:
	struct promise_type : corotracer::PromiseMixin {
		std::optional<T> value;

		promise_type(std::source_location where = std::source_location::current())
		    : PromiseMixin(nullptr, where)
		{
		}
		Sequence get_return_object()
		{
			return Sequence(Handle::from_promise(*this));
		}
		auto initial_suspend(std::source_location where = std::source_location::current())
		{
			return trace_initial(std::suspend_always(), where);
		}
		auto final_suspend() noexcept
		{
			return trace_final(std::suspend_always());
		}
		auto yield_value(T v, std::source_location where = std::source_location::current())
		{
			value.emplace(std::move(v));
			return trace_yield(std::suspend_always(), where);
		}
		void return_void()
		{
			value.reset();
		}
		void unhandled_exception()
		{
			std::terminate();
		}
	};
	using Handle = std::coroutine_handle<promise_type>;

	Sequence(Sequence &&other) noexcept : self_(std::exchange(other.self_, nullptr))
	{
	}
	Sequence &operator=(Sequence &&other) noexcept
	{
		std::swap(self_, other.self_);
		return *this;
	}
	~Sequence()
	{
		if (self_)
			self_.destroy();
	}

	std::optional<T> next()
	{
		if (self_.done())
			return std::nullopt;
		self_.resume();
		return std::exchange(self_.promise().value, std::nullopt);
	}
	Handle release()
	{
		return std::exchange(self_, nullptr);
	}

      private:
	explicit Sequence(Handle self) : self_(self)
	{
	}

	Handle self_;
};
