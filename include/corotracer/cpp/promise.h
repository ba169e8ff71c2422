/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/promise.h - PromiseMixin: the base class that makes a promise_type traced.
 *
 * A promise that inherits from it has every co_await of its coroutines traced.  The mixin cannot
 * intercept other ways to suspend, start and end; a promise that wants them traced wraps them:
 *
 *	auto initial_suspend() { return trace_initial(std::suspend_always{}); }
 *	auto final_suspend() noexcept { return trace_final(FinalAwaiter{}); }
 *	auto yield_value(int v) { value = v; return trace_yield(std::suspend_always{}); }
 *	template <class A>
 *	auto await_transform(A &&a, std::source_location where = std::source_location::current())
 *	{
 *		return trace_await(my_own_idea_of(a), where);
 *	}
 *
 * Traced<> (traced.h) does all of this for a promise.
 */
#ifndef COROTRACER_CPP_PROMISE_H
#define COROTRACER_CPP_PROMISE_H

#include <corotracer/cpp/awaiter.h>
#include <corotracer/cpp/events.h>

#include <coroutine>
#include <type_traits>

#include <corotracer/header_begin.h>

namespace corotracer
{
inline namespace v1
{

class PromiseMixin : private detail::Coro
{
      public:
	/* A coroutine is created.  Up to 408 bytes of @name are copied. */
	PromiseMixin() : Coro()
	{
		detail::begin(this, this, nullptr, std::source_location());
	}

	explicit PromiseMixin(const char *name, std::source_location where = std::source_location())
	    : Coro()
	{
		detail::begin(this, this, name, where);
	}

	/* A copy of a promise is untraced, and an assignment does not change the coroutine. */
	PromiseMixin(const PromiseMixin &) noexcept : Coro()
	{
	}

	PromiseMixin &operator=(const PromiseMixin &) noexcept
	{
		return *this;
	}

	~PromiseMixin()
	{
		detail::memory_stamp(CTP_MEMORY_DESTROYED, this);
		if (detail::is_open(this))
			detail::end(this);
	}

	/* Called for every co_await of a promise without its own await_transform(). */
	template <class CtpAwaitable>
	TracedAwaiter<CtpAwaitable &&>
	await_transform(CtpAwaitable &&awaitable,
			std::source_location where = std::source_location::current())
	{
		return { static_cast<CtpAwaitable &&>(awaitable), this, where };
	}

	/*
	 * For a custom await_transform(): wraps the awaitable that it would have returned.  A
	 * temporary is moved into the result, because it would not live long enough.
	 */
	template <class CtpAwaitable>
	TracedAwaiter<CtpAwaitable>
	trace_await(CtpAwaitable &&awaitable,
		    std::source_location where = std::source_location::current())
	{
		return { static_cast<CtpAwaitable &&>(awaitable), this, where };
	}

	/* As trace_await(), for the result of @make, which need not be movable. */
	template <class Make>
	TracedAwaiter<std::invoke_result_t<Make>>
	trace_made(Make &&make, std::source_location where = std::source_location::current())
	{
		return { detail::Made{}, static_cast<Make &&>(make), this, where };
	}

	/* Wrap the awaitables that initial_suspend(), yield_value() and final_suspend() return. */
	template <class CtpAwaitable>
	TracedInitial<CtpAwaitable>
	trace_initial(CtpAwaitable &&awaitable, std::source_location where = std::source_location())
	{
		return { static_cast<CtpAwaitable &&>(awaitable), this, where };
	}

	template <class CtpAwaitable>
	TracedAwaiter<Annotated<CtpAwaitable>>
	trace_yield(CtpAwaitable &&awaitable, std::source_location where = std::source_location())
	{
		return { Annotated<CtpAwaitable>{ static_cast<CtpAwaitable &&>(awaitable),
						  yielding() },
			 this, where };
	}

	template <class CtpAwaitable>
	TracedFinal<CtpAwaitable> trace_final(CtpAwaitable &&awaitable) noexcept
	{
		return { static_cast<CtpAwaitable &&>(awaitable), this };
	}

	/*
	 * Write one transition: suspended at @addr, or running again.  The event carries @addr in
	 * both cases.
	 */
	void write_trace(uint64_t addr, bool is_active)
	{
		if (!is_active)
			detail::memory_stamp(CTP_MEMORY_SUSPENDED, this);
		if (detail::is_open(this))
			detail::write_by_hand(this, addr, is_active);
		if (is_active)
			detail::memory_stamp(CTP_MEMORY_RESUMED, this);
	}

	/*
	 * This coroutine is about to be made ready to run, by the coroutine that runs on this
	 * thread, if there is one.  @from is the cause: reading(fd), for example.  Call it before
	 * the coroutine is made ready, from any thread, while the coroutine exists.
	 */
	void wake(Wait from = {},
		  std::source_location where = std::source_location::current()) const
	{
		detail::wake(this, from, where);
	}

	/* set_traceparent() of context.h for this coroutine. */
	bool set_traceparent(std::string_view traceparent) const
	{
		return !is_traced() || detail::write_context(id(), traceparent);
	}

	/* The coroutine will never be resumed again, and is about to be destroyed. */
	void cancelled()
	{
		detail::cancel(this);
	}

	bool is_traced() const
	{
		return detail::gate_is_open() && my_station;
	}

	/* The id of this coroutine in the trace; 0 while untraced. */
	uint64_t id() const
	{
		return is_traced() ? ctp_probe_id(&my_station) : 0;
	}

	/* API of the existing coroTracer: traced (true or false), number of transitions. */
	using Coro::event_count;
	using Coro::my_station;

      private:
	friend detail::Coro *detail::coro_of(PromiseMixin *promise);
};

namespace detail
{

inline Coro *coro_of(PromiseMixin *promise)
{
	return promise;
}

} // namespace detail

/*
 * PromiseMixin::wake() for a handle without a promise type.  The coroutine is known once it, or
 * another coroutine of the same function, has been suspended at a traced await.  An untraced
 * coroutine, a null handle and std::noop_coroutine() are ignored.
 */
inline void wake(std::coroutine_handle<> h, Wait from = {},
		 std::source_location where = std::source_location::current())
{
	const void *mixin = detail::frame_mixin(h.address());

	if (mixin)
		static_cast<const PromiseMixin *>(mixin)->wake(from, where);
}

/* As above, for a handle with a promise type; an untraced promise type uses the lookup above. */
template <class Promise>
void wake(std::coroutine_handle<Promise> h, Wait from = {},
	  std::source_location where = std::source_location::current())
{
	if constexpr (std::is_base_of_v<PromiseMixin, Promise>)
		static_cast<const PromiseMixin &>(h.promise()).wake(from, where);
	else
		wake(std::coroutine_handle<>(h), from, where);
}

/*
 * Call @function with @args; the first coroutine that is created during the call has this name.
 *
 *	corotracer::named("session 7", session, fd);
 */
template <class CtpFunction, class... Args>
decltype(auto) named(const char *name, CtpFunction &&function, Args &&...args)
{
	struct Named {
		explicit Named(const char *name_)
		{
			detail::name_next(name_);
		}

		/* If no coroutine was created: the name must not apply to a later one. */
		~Named()
		{
			detail::name_next(nullptr);
		}
	} scope(name);

	return static_cast<CtpFunction &&>(function)(static_cast<Args &&>(args)...);
}

} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
