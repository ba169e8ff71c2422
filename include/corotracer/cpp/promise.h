/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/promise.h - PromiseMixin: what makes a promise_type a traced one.
 *
 * Inherit it, and every co_await in those coroutines is traced.  The compiler does not show
 * us the other ways in and out of a coroutine; a promise that wants them seen, too, says so:
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
 * Or it leaves all of that to Traced<> (traced.h).
 */
#ifndef COROTRACER_CPP_PROMISE_H
#define COROTRACER_CPP_PROMISE_H

#include <corotracer/cpp/awaiter.h>
#include <corotracer/cpp/events.h>

#include <coroutine>
#include <type_traits>

namespace corotracer
{
inline namespace v1
{

class PromiseMixin : private detail::Coro
{
      public:
	/* A coroutine is born.  @name is copied (408 bytes of it at most). */
	PromiseMixin() : Coro()
	{
		detail::begin(this, this, nullptr, std::source_location());
	}

	explicit PromiseMixin(const char *name, std::source_location where = std::source_location())
	    : Coro()
	{
		detail::begin(this, this, name, where);
	}

	/* A copy is not a coroutine: it is untraced, and what is assigned to stays who it is. */
	PromiseMixin(const PromiseMixin &) noexcept : Coro()
	{
	}

	PromiseMixin &operator=(const PromiseMixin &) noexcept
	{
		return *this;
	}

	~PromiseMixin()
	{
		if (is_traced())
			detail::end(this);
	}

	/* Every co_await of a promise that has no await_transform of its own. */
	template <class A>
	TracedAwaiter<A &&>
	await_transform(A &&awaitable, std::source_location where = std::source_location::current())
	{
		return { static_cast<A &&>(awaitable), this, where };
	}

	/*
	 * For an await_transform of one's own: what it would have returned, traced.  A
	 * temporary is moved into the result, since it would not live long enough.
	 */
	template <class A>
	TracedAwaiter<A> trace_await(A &&awaitable,
				     std::source_location where = std::source_location::current())
	{
		return { static_cast<A &&>(awaitable), this, where };
	}

	/* The same of what @make returns, which need not be movable then. */
	template <class Make>
	TracedAwaiter<std::invoke_result_t<Make>>
	trace_made(Make &&make, std::source_location where = std::source_location::current())
	{
		return { detail::Made{}, static_cast<Make &&>(make), this, where };
	}

	/* What initial_suspend(), yield_value() and final_suspend() return, traced. */
	template <class A>
	TracedInitial<A> trace_initial(A &&awaitable,
				       std::source_location where = std::source_location())
	{
		return { static_cast<A &&>(awaitable), this, where };
	}

	template <class A>
	TracedAwaiter<Annotated<A>> trace_yield(A &&awaitable,
						std::source_location where = std::source_location())
	{
		return { Annotated<A>{ static_cast<A &&>(awaitable), yielding() }, this, where };
	}

	template <class A> TracedFinal<A> trace_final(A &&awaitable) noexcept
	{
		return { static_cast<A &&>(awaitable), this };
	}

	/*
	 * One transition, told by hand: suspended at @addr, or running again.  The event has
	 * @addr either way.
	 */
	void write_trace(uint64_t addr, bool is_active)
	{
		if (is_traced())
			detail::write_by_hand(this, addr, is_active);
	}

	/*
	 * Somebody is about to make this coroutine ready to run: the coroutine that runs on
	 * this thread, if one does.  @from says what brought it about: reading(fd), say.  To be
	 * called before it is done, by any thread, as long as the coroutine is there.
	 */
	void wake(Wait from = {},
		  std::source_location where = std::source_location::current()) const
	{
		detail::wake(this, from, where);
	}

	/* It will never be resumed again, and somebody is about to destroy it. */
	void cancelled()
	{
		detail::cancel(this);
	}

	bool is_traced() const
	{
		return static_cast<bool>(my_station);
	}

	/* The number by which a trace knows this coroutine; 0 while untraced. */
	uint64_t id() const
	{
		return ctp_probe_id(&my_station);
	}

	/* As programs know them: is it traced (true or false), how many transitions has it made? */
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
 * PromiseMixin::wake() of a handle that does not say of what promise.  The coroutine is known
 * once it, or another of the same coroutine function, has been suspended at a traced await; an
 * untraced one, a null handle and std::noop_coroutine() are left alone.
 */
inline void wake(std::coroutine_handle<> h, Wait from = {},
		 std::source_location where = std::source_location::current())
{
	const void *mixin = detail::frame_mixin(h.address());

	if (mixin)
		static_cast<const PromiseMixin *>(mixin)->wake(from, where);
}

/* The same of a handle that does; of a promise that is not traced itself, as the one above. */
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
 * Call @function with @args; the coroutine that is born first meanwhile has this name.
 *
 *	corotracer::named("session 7", session, fd);
 */
template <class F, class... Args>
decltype(auto) named(const char *name, F &&function, Args &&...args)
{
	struct Named {
		explicit Named(const char *name_)
		{
			detail::name_next(name_);
		}

		/* None was born: the next is another's. */
		~Named()
		{
			detail::name_next(nullptr);
		}
	} scope(name);

	return static_cast<F &&>(function)(static_cast<Args &&>(args)...);
}

} // namespace v1
} // namespace corotracer

#endif
