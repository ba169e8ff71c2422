/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/traced.h - Traced<Promise>: trace a promise type completely, without changing it.
 *
 *	struct task {
 *		struct promise { ... };				// unchanged
 *		using promise_type = corotracer::Traced<promise>;
 *	};
 *
 * or, for a type of a library:
 *
 *	template <class... Args> struct std::coroutine_traits<theirs::task, Args...> {
 *		using promise_type = corotracer::Traced<theirs::task::promise_type>;
 *	};
 *
 * Traced<> derives from the promise and wraps some of its functions: the awaitables that the
 * promise returns from initial_suspend(), await_transform(), yield_value() and final_suspend() are
 * traced, and everything else is inherited.  The promise and its awaiters get the same handle types
 * as before: the promise is the first base class, at the same offset in the frame, so that
 * coroutine_handle<promise>::from_promise(*this) still works.
 */
#ifndef COROTRACER_CPP_TRACED_H
#define COROTRACER_CPP_TRACED_H

#include <corotracer/cpp/promise.h>

#include <concepts>
#include <type_traits>

namespace corotracer
{
inline namespace v1
{
namespace detail
{

/* Does @P have a member of that name, of any kind?  If so, the name is ambiguous here. */
struct NamesAwaitTransform {
	int await_transform;
};

template <class P> struct AwaitTransformOf : P, NamesAwaitTransform {
};

template <class P>
concept HasAwaitTransform = !requires
{
	&AwaitTransformOf<P>::await_transform;
};

struct NamesYieldValue {
	int yield_value;
};

template <class P> struct YieldValueOf : P, NamesYieldValue {
};

template <class P>
concept HasYieldValue = !requires
{
	&YieldValueOf<P>::yield_value;
};

template <class T> struct IsTraced : std::false_type {
};

template <class Inner> struct IsTraced<TracedAwaiter<Inner>> : std::true_type {
};

template <class Inner> struct IsTraced<TracedInitial<Inner>> : std::true_type {
};

template <class Inner> struct IsTraced<TracedFinal<Inner>> : std::true_type {
};

/* The parameter type of a yield_value() that is not overloaded; Unknown for others. */
struct Unknown {
};

template <class P> struct YieldParameter {
	using type = Unknown;
};

template <class C, class R, class V> V parameter_of(R (C::*)(V));
template <class C, class R, class V> V parameter_of(R (C::*)(V) noexcept);

template <class P>
requires requires
{
	parameter_of(&P::yield_value);
}
struct YieldParameter<P> {
	using type = decltype(parameter_of(&P::yield_value));
};

/* The promise, followed by a PromiseMixin unless the promise already has one. */
template <class P, bool = std::is_base_of_v<PromiseMixin, P>> struct WithMixin : P, PromiseMixin {
	template <class... Args>
	explicit WithMixin(std::source_location where, Args &...args)
	    : P(args...), PromiseMixin(nullptr, where)
	{
	}
};

template <class P> struct WithMixin<P, true> : P {
	template <class... Args>
	explicit WithMixin(std::source_location, Args &...args) : P(args...)
	{
	}
};

/*
 * Wrap the awaitables that the promise's functions return, constructed in place.  These are not
 * members of Traced<>, where their names could conflict with names of the promise.
 */
template <class Make>
auto trace_transformed(Make &&make, PromiseMixin *p, std::source_location where)
{
	using Awaitable = decltype(make());

	if constexpr (IsTraced<Awaitable>::value)
		return make();
	else
		return TracedAwaiter<Awaitable>(Made{}, make, p, where);
}

template <class Make> auto trace_yielded(Make &&make, PromiseMixin *p, std::source_location where)
{
	using Awaitable = decltype(make());

	if constexpr (IsTraced<Awaitable>::value)
		return make();
	else
		return TracedAwaiter<Annotated<Awaitable>>(
			Made{},
			[&] {
				return Annotated<Awaitable>{ make(), yielding() };
			},
			p, where);
}

template <class Make> auto trace_first(Make &&make, PromiseMixin *p, std::source_location where)
{
	using Awaitable = decltype(make());

	if constexpr (IsTraced<Awaitable>::value)
		return make();
	else
		return TracedInitial<Awaitable>(Made{}, make, p, where);
}

template <class Make> auto trace_last(Make &&make, PromiseMixin *p) noexcept
{
	using Awaitable = decltype(make());

	if constexpr (IsTraced<Awaitable>::value)
		return make();
	else
		return TracedFinal<Awaitable>(Made{}, make, p);
}

template <class P, class A>
concept TransformsWithPlace = requires(P &p, A &&a, std::source_location where)
{
	p.await_transform(static_cast<A &&>(a), where);
};

} // namespace detail

template <class P> class Traced : public detail::WithMixin<P>
{
	using ctp_place = std::source_location;

      public:
	using corotracer_untraced = P;

	Traced(ctp_place ctp_where = ctp_place::current()) requires std::default_initializable<P>
	    : detail::WithMixin<P>(ctp_where)
	{
		detail::coro_of(this)->holds = true;
	}

	/* A promise may have a constructor that takes the arguments of its coroutine. */
	template <class... Args>
	requires(sizeof...(Args) > 0 && !std::is_aggregate_v<P> &&
		 std::is_constructible_v<P, Args &...>) Traced(Args &...ctp_args)
	    : detail::WithMixin<P>(ctp_place(), ctp_args...)
	{
		detail::coro_of(this)->holds = true;
	}

	auto initial_suspend(ctp_place ctp_where = ctp_place::current())
	{
		return detail::trace_first(
			[this]() -> decltype(auto) { return P::initial_suspend(); }, this,
			ctp_where);
	}

	auto final_suspend() noexcept
	{
		return detail::trace_last(
			[this]() noexcept -> decltype(auto) { return P::final_suspend(); }, this);
	}

	template <class A>
	auto await_transform(A &&ctp_a, ctp_place ctp_where = ctp_place::current())
	{
		if constexpr (!detail::HasAwaitTransform<P>)
			return TracedAwaiter<A &&>(static_cast<A &&>(ctp_a), this, ctp_where);
		else if constexpr (detail::TransformsWithPlace<P, A>)
			return detail::trace_transformed(
				[&]() -> decltype(auto) {
					return P::await_transform(static_cast<A &&>(ctp_a),
								  ctp_where);
				},
				this, ctp_where);
		else
			return detail::trace_transformed(
				[&]() -> decltype(auto) {
					return P::await_transform(static_cast<A &&>(ctp_a));
				},
				this, ctp_where);
	}

	/* For "co_yield { 1, 2 }", whose type cannot be deduced. */
	auto
	yield_value(typename detail::YieldParameter<P>::type &&ctp_v,
		    ctp_place ctp_where = ctp_place::
			    current()) requires(!std::is_same_v<typename detail::YieldParameter<P>::
									type,
								detail::Unknown>)
	{
		using V = typename detail::YieldParameter<P>::type;

		return detail::trace_yielded(
			[&]() -> decltype(auto) {
				return P::yield_value(static_cast<V &&>(ctp_v));
			},
			this, ctp_where);
	}

	template <class V>
	auto
	yield_value(V &&ctp_v,
		    ctp_place ctp_where = ctp_place::current()) requires detail::HasYieldValue<P>
	{
		return detail::trace_yielded(
			[&]() -> decltype(auto) {
				return P::yield_value(static_cast<V &&>(ctp_v));
			},
			this, ctp_where);
	}
};

} // namespace v1
} // namespace corotracer

#endif
