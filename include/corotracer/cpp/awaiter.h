/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/awaiter.h - TracedAwaiter: stands between a coroutine and what it awaits.
 *
 * It calls what the compiler would have called, in the same order, with the same
 * arguments, and adds two events: one before await_suspend(), when the coroutine is still
 * ours, and one before await_resume().  If the awaitable is ready there are none.  It holds
 * references to what lives longer than itself and makes the awaiter of an operator
 * co_await in place: nothing is copied or moved.
 */
#ifndef COROTRACER_CPP_AWAITER_H
#define COROTRACER_CPP_AWAITER_H

#include <corotracer/cpp/promise.h>

namespace corotracer
{
inline namespace v1
{

template <class Inner> struct TracedAwaiter {
	TracedAwaiter(Inner &&awaitable, PromiseMixin *promise,
		      std::source_location place = std::source_location::current(), Wait why = {})
	    : inner(static_cast<Inner &&>(awaitable)), tracer(promise), where(place), wait(why),
	      awaiter(detail::awaiter_of(static_cast<Inner &&>(inner)))
	{
	}

	TracedAwaiter(const TracedAwaiter &) = delete;
	TracedAwaiter &operator=(const TracedAwaiter &) = delete;

	bool await_ready()
	{
		return awaiter.await_ready() ? true : false;
	}

	template <class Promise> auto await_suspend(std::coroutine_handle<Promise> h)
	{
		if (tracer->is_traced()) {
			frame = h.address();
			detail::write_suspend(&tracer->probe_, detail::resume_function(frame),
					      where, why());
		}
		return awaiter.await_suspend(h);
	}

	decltype(auto) await_resume()
	{
		if (frame)
			detail::write_resume(&tracer->probe_);
		return awaiter.await_resume();
	}

	Inner inner;
	PromiseMixin *tracer;

      private:
	Wait why() const
	{
		if (wait.reason != CTP_REASON_UNKNOWN || wait.has_resource)
			return wait;
		return detail::wait_of(awaiter);
	}

	using Awaiter = decltype(detail::awaiter_of(std::declval<Inner &&>()));

	const void *frame = nullptr; /* suspended there */
	std::source_location where;
	Wait wait;
	Awaiter awaiter;
};

} // namespace v1
} // namespace corotracer

#endif
