/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/awaiter.h - TracedAwaiter: a wrapper around what a coroutine awaits.
 *
 * It calls the functions that the compiler would have called, in the same order, with the same
 * arguments, and adds two events: one before await_suspend(), while the coroutine cannot be
 * resumed yet, and one before await_resume().  If the awaitable is ready there are no events.  It
 * holds references to objects that outlive it, and constructs the awaiter of an operator co_await
 * in place: nothing is copied or moved.
 *
 * CTP_CPP_AWAIT
 *   Keeps await_suspend() from being inlined into the coroutine.  If it is inlined, clang
 *   before 19 may move its local variables into the frame, which another thread may have
 *   destroyed when it returns.  It also uses the state of this thread: see state.h.
 */
#ifndef COROTRACER_CPP_AWAITER_H
#define COROTRACER_CPP_AWAITER_H

#include <corotracer/cpp/child.h>
#include <corotracer/cpp/events.h>
#include <corotracer/cpp/handle.h>

#include <coroutine>
#include <type_traits>
#include <utility>

#include <corotracer/header_begin.h>

namespace corotracer
{
inline namespace v1
{

class PromiseMixin;
template <class Inner> struct TracedFinal;

namespace detail
{

inline Coro *coro_of(PromiseMixin *promise);

/* Tag of a constructor: its next argument is a function that makes the awaitable. */
struct Made {
};

/* For a promise type that is Traced<P>: P, which its awaiters expect. */
template <class Promise> struct Untraced {
	using type = Promise;
};

template <class Promise>
requires requires
{
	typename Promise::corotracer_untraced;
}
struct Untraced<Promise> {
	using type = typename Promise::corotracer_untraced;
};

template <class Awaiter, class Promise>
concept TakesHandle = requires(Awaiter &a, std::coroutine_handle<Promise> h)
{
	a.await_suspend(h);
};

/* The handle type that @Awaiter would get without tracing. */
template <class Awaiter, class Promise> auto handle_for(std::coroutine_handle<Promise> h)
{
	using Other = typename Untraced<Promise>::type;

	if constexpr (!std::is_same_v<Other, Promise> && TakesHandle<Awaiter, Other>)
		return std::coroutine_handle<Other>::from_address(h.address());
	else
		return h;
}

template <class CtpAwaitable>
concept IsItsAwaiter = !HasMemberCoAwait<CtpAwaitable> && !HasFreeCoAwait<CtpAwaitable>;

/* The awaitable, or a reference to it, and its awaiter, constructed in place. */
template <class Inner> struct Awaited {
	using Awaiter = decltype(awaiter_of(std::declval<Inner &&>()));

	explicit Awaited(Inner &&awaitable)
	    : inner(static_cast<Inner &&>(awaitable)),
	      made(awaiter_of(static_cast<Inner &&>(inner)))
	{
	}

	template <class Make>
	Awaited(Made, Make &&make)
	    : inner(static_cast<Make &&>(make)()), made(awaiter_of(static_cast<Inner &&>(inner)))
	{
	}

	std::remove_reference_t<Awaiter> &awaiter()
	{
		return made;
	}

	Inner inner;

      private:
	Awaiter made;
};

/* Most awaitables are their own awaiters. */
template <class Inner>
requires IsItsAwaiter<Inner>
struct Awaited<Inner> {
	using Awaiter = std::remove_reference_t<Inner>;

	explicit Awaited(Inner &&awaitable) : inner(static_cast<Inner &&>(awaitable))
	{
	}

	template <class Make> Awaited(Made, Make &&make) : inner(static_cast<Make &&>(make)())
	{
	}

	Awaiter &awaiter()
	{
		return inner;
	}

	Inner inner;
};

template <class CtpType> struct IsTracedFinal : std::false_type {
};

template <class Inner> struct IsTracedFinal<TracedFinal<Inner>> : std::true_type {
};

/*
 * Is every suspension and the end of a coroutine with this promise traced?  Yes if its end is
 * traced, or if the frame is destroyed at its end.  Only then the thread's current coroutine is
 * reliable.
 */
template <class Promise> constexpr bool holds_thread()
{
	using Final = std::remove_cvref_t<decltype(std::declval<Promise &>().final_suspend())>;

	return IsTracedFinal<Final>::value || std::is_same_v<Final, std::suspend_never>;
}

/*
 * Enter the frame of @h for wake(std::coroutine_handle<>), if @tracer is in the frame: an awaiter
 * that the program constructs itself may have been given the PromiseMixin of another coroutine.
 */
template <class Promise>
void enter_handle(Coro *c, const PromiseMixin *tracer, std::coroutine_handle<Promise> h)
{
	if constexpr (std::is_base_of_v<PromiseMixin, Promise>) {
		if (static_cast<const PromiseMixin *>(&h.promise()) == tracer)
			frame_enter(h.address(), tracer);
	}
	c->entered = true;
}

/* For the memory runtime: @c is about to suspend at @where. */
template <class Promise>
void memory_suspend([[maybe_unused]] const Coro *c,
		    [[maybe_unused]] const std::source_location &where,
		    [[maybe_unused]] const void *frame)
{
	if (CTP_MEMORY_HOOK && !site_key(where)) /* the start: no site has the function's name */
		memory_stamp(CTP_MEMORY_CODE, c, *static_cast<void *const *>(frame));
	memory_stamp(CTP_MEMORY_SUSPENDED | CTP_MEMORY_CPP |
			     (holds_thread<Promise>() ? 0 : CTP_MEMORY_LOOSE),
		     c, site_key(where));
}

/* Calls @undo if await_suspend() throws: then the coroutine continues. */
template <class Undo> struct OnThrow {
	Undo undo;
	bool armed = true;

	explicit OnThrow(Undo u) : undo(u)
	{
	}

	OnThrow(const OnThrow &) = delete;
	OnThrow &operator=(const OnThrow &) = delete;

	~OnThrow()
	{
		if (armed)
			undo();
	}
};

} // namespace detail

template <class Inner> struct TracedAwaiter : detail::Awaited<Inner> {
	using detail::Awaited<Inner>::awaiter;
	using Awaiter = typename detail::Awaited<Inner>::Awaiter;

	PromiseMixin *tracer; /* of the coroutine that awaits */

	TracedAwaiter(Inner &&awaitable, PromiseMixin *promise,
		      std::source_location place = std::source_location::current())
	    : detail::Awaited<Inner>(static_cast<Inner &&>(awaitable)), tracer(promise),
	      where(place)
	{
	}

	template <class Make>
	TracedAwaiter(detail::Made, Make &&make, PromiseMixin *promise, std::source_location place)
	    : detail::Awaited<Inner>(detail::Made{}, static_cast<Make &&>(make)), tracer(promise),
	      where(place)
	{
	}

	/* An awaiter may refer to its awaitable, so neither may move. */
	TracedAwaiter(const TracedAwaiter &) = delete;
	TracedAwaiter &operator=(const TracedAwaiter &) = delete;

	bool await_ready() noexcept(noexcept(std::declval<Awaiter &>().await_ready()))
	{
		return awaiter().await_ready() ? true : false;
	}

	template <class Promise>
	CTP_CPP_AWAIT auto await_suspend(std::coroutine_handle<Promise> h) noexcept(
		noexcept(std::declval<Awaiter &>().await_suspend(detail::handle_for<Awaiter>(h))))
	{
		using Result = decltype(awaiter().await_suspend(detail::handle_for<Awaiter>(h)));
		detail::Coro *c = detail::coro_of(tracer);

		frame = h.address();
		detail::memory_suspend<Promise>(c, where, frame);
		if (ctp_likely(!detail::is_open(c)))
			return suspend_untraced<Result>(h);
		c->holds = detail::holds_thread<Promise>();
		if (ctp_unlikely(!c->entered))
			detail::enter_handle(c, tracer, h);
		if constexpr (std::is_void_v<Result>)
			return suspend_always(c, h);
		else if constexpr (std::is_same_v<Result, bool>)
			return suspend_perhaps(c, h);
		else
			return suspend_and_pass(c, h);
	}

	decltype(auto) await_resume() noexcept(noexcept(std::declval<Awaiter &>().await_resume()))
	{
		if (frame && detail::is_open(detail::coro_of(tracer))) {
			detail::memory_stamp(CTP_MEMORY_PAUSED, detail::coro_of(tracer));
			detail::write_resume(detail::coro_of(tracer), frame);
		}
		if (frame)
			detail::memory_stamp(CTP_MEMORY_RESUMED, detail::coro_of(tracer));
		return awaiter().await_resume();
	}

      protected:
	const void *frame = nullptr; /* frame of the suspended coroutine; NULL: not suspended */

      private:
	/* The reason, from the awaitable, its awaiter or the child coroutine, in this order. */
	Wait why()
	{
		Wait said = detail::wait_of(this->inner);

		if constexpr (!detail::IsItsAwaiter<Inner>) {
			if (!said)
				said = detail::wait_of(awaiter());
		}
		if constexpr (detail::TracedTask<std::remove_cvref_t<Inner>>) {
			if (!said)
				said = detail::child_of(this->inner);
		}
		return said;
	}

	/* The resume may be traced all the same, if the program attaches meanwhile. */
	template <class Result, class Promise>
	Result suspend_untraced(std::coroutine_handle<Promise> h)
	{
		detail::OnThrow stays([c = detail::coro_of(tracer)] {
			detail::memory_stamp(CTP_MEMORY_STAYED, c);
		});

		if constexpr (std::is_same_v<Result, bool>) {
			if (awaiter().await_suspend(detail::handle_for<Awaiter>(h))) {
				stays.armed = false;
				return true;
			}
			frame = nullptr; /* it did not suspend */
			return false;
		} else if constexpr (std::is_void_v<Result>) {
			awaiter().await_suspend(detail::handle_for<Awaiter>(h));
			stays.armed = false;
		} else {
			auto next = awaiter().await_suspend(detail::handle_for<Awaiter>(h));

			stays.armed = false;
			return next;
		}
	}

	template <class Promise>
	void suspend_always(detail::Coro *c, std::coroutine_handle<Promise> h)
	{
		detail::Left left = detail::write_suspend(c, detail::resume_function(frame), where,
							  why());
		detail::OnThrow threw([&left, c] { detail::suspend_threw(left, c); });

		awaiter().await_suspend(detail::handle_for<Awaiter>(h));
		threw.armed = false;
		detail::leave_end(left);
	}

	template <class Promise>
	auto suspend_and_pass(detail::Coro *c, std::coroutine_handle<Promise> h)
	{
		detail::Left left = detail::write_suspend(c, detail::resume_function(frame), where,
							  why());
		detail::OnThrow threw([&left, c] { detail::suspend_threw(left, c); });
		auto next = awaiter().await_suspend(detail::handle_for<Awaiter>(h));

		threw.armed = false;
		detail::leave_to(left, next.address());
		return next;
	}

	template <class Promise>
	bool suspend_perhaps(detail::Coro *c, std::coroutine_handle<Promise> h)
	{
		detail::Perhaps p = detail::write_perhaps(c, detail::resume_function(frame), where,
							  why());
		detail::OnThrow not_at_all([&p, c] {
			detail::perhaps_retract(p, c);
			detail::memory_stamp(CTP_MEMORY_STAYED, c);
		});

		/* From here on the frame must not be accessed, unless the result is false. */
		if (!awaiter().await_suspend(detail::handle_for<Awaiter>(h))) {
			frame = nullptr;
			return false;
		}
		not_at_all.armed = false;
		detail::perhaps_publish(p);
		return true;
	}

	std::source_location where;
};

/* The result of initial_suspend().  If it does not suspend, the coroutine runs from here on. */
template <class Inner> struct TracedInitial : TracedAwaiter<Inner> {
	using TracedAwaiter<Inner>::TracedAwaiter;

	decltype(auto)
	await_resume() noexcept(noexcept(std::declval<TracedAwaiter<Inner> &>().await_resume()))
	{
		if (!this->frame) {
			detail::start(detail::coro_of(this->tracer));
			detail::memory_stamp(CTP_MEMORY_RESUMED, detail::coro_of(this->tracer));
		}
		return TracedAwaiter<Inner>::await_resume();
	}
};

/* The result of final_suspend(): a coroutine that suspends here has ended. */
template <class Inner> struct TracedFinal : detail::Awaited<Inner> {
	using detail::Awaited<Inner>::awaiter;
	using Awaiter = typename detail::Awaited<Inner>::Awaiter;

	PromiseMixin *tracer;

	TracedFinal(Inner &&awaitable, PromiseMixin *promise) noexcept
	    : detail::Awaited<Inner>(static_cast<Inner &&>(awaitable)), tracer(promise)
	{
	}

	template <class Make>
	TracedFinal(detail::Made, Make &&make, PromiseMixin *promise) noexcept
	    : detail::Awaited<Inner>(detail::Made{}, static_cast<Make &&>(make)), tracer(promise)
	{
	}

	TracedFinal(const TracedFinal &) = delete;
	TracedFinal &operator=(const TracedFinal &) = delete;

	bool await_ready() noexcept
	{
		return awaiter().await_ready() ? true : false;
	}

	template <class Promise>
	CTP_CPP_AWAIT auto await_suspend(std::coroutine_handle<Promise> h) noexcept
	{
		using Result = decltype(awaiter().await_suspend(detail::handle_for<Awaiter>(h)));
		detail::Left left = detail::finish(detail::coro_of(tracer), 0);

		if constexpr (std::is_void_v<Result>) {
			awaiter().await_suspend(detail::handle_for<Awaiter>(h));
			detail::leave_end(left);
		} else {
			auto next = awaiter().await_suspend(detail::handle_for<Awaiter>(h));

			if constexpr (std::is_same_v<Result, bool>)
				detail::leave_end(left);
			else
				detail::leave_to(left, next.address());
			return next;
		}
	}

	void await_resume() noexcept
	{
		awaiter().await_resume();
	}
};

} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
