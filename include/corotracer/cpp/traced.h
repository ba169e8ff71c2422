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
 * traced, and everything else is inherited.  A promise that is final is its first member instead
 * (boxed.h).  The promise and its awaiters get the same handle types as before: the promise is at
 * the same offset in the frame, so that coroutine_handle<promise>::from_promise(*this) still works.
 */
#ifndef COROTRACER_CPP_TRACED_H
#define COROTRACER_CPP_TRACED_H

#include <corotracer/cpp/boxed.h>
#include <corotracer/cpp/promise.h>

#include <concepts>
#include <type_traits>

#include <corotracer/header_begin.h>

namespace corotracer
{
inline namespace v1
{
namespace detail
{

/* Does @CtpPromise have a member of that name, of any kind?  If so, the name is ambiguous here. */
struct NamesAwaitTransform {
	int await_transform;
};

template <class CtpPromise> struct AwaitTransformOf : CtpPromise, NamesAwaitTransform {
};

template <class CtpPromise>
concept NamesTransform = !requires
{
	&AwaitTransformOf<CtpPromise>::await_transform;
};

/* A final class cannot be asked for names, only whether it would accept @CtpAwaitable. */
template <class CtpPromise, class CtpAwaitable> constexpr bool transforms()
{
	if constexpr (std::is_final_v<CtpPromise>)
		return requires(CtpPromise & p, CtpAwaitable && a)
		{
			p.await_transform(static_cast<CtpAwaitable &&>(a));
		};
	else
		return NamesTransform<CtpPromise>;
}

struct NamesYieldValue {
	int yield_value;
};

template <class CtpPromise> struct YieldValueOf : CtpPromise, NamesYieldValue {
};

template <class CtpPromise>
concept NamesYield = !requires
{
	&YieldValueOf<CtpPromise>::yield_value;
};

template <class CtpPromise, class CtpValue> constexpr bool yields()
{
	if constexpr (std::is_final_v<CtpPromise>)
		return requires(CtpPromise & p, CtpValue && v)
		{
			p.yield_value(static_cast<CtpValue &&>(v));
		};
	else
		return NamesYield<CtpPromise>;
}

template <class CtpType> struct IsTraced : std::false_type {
};

template <class Inner> struct IsTraced<TracedAwaiter<Inner>> : std::true_type {
};

template <class Inner> struct IsTraced<TracedInitial<Inner>> : std::true_type {
};

template <class Inner> struct IsTraced<TracedFinal<Inner>> : std::true_type {
};

/* The parameter type of a yield_value() that is not overloaded; Unknown for others. */
template <class CtpPromise> struct YieldParameter {
	using type = Unknown;
};

template <class CtpPromise>
requires requires
{
	parameter_of(&CtpPromise::yield_value);
}
struct YieldParameter<CtpPromise> {
	using type = decltype(parameter_of(&CtpPromise::yield_value));
};

/* The promise, followed by a PromiseMixin unless the promise already has one. */
template <class CtpPromise, bool = std::is_base_of_v<PromiseMixin, CtpPromise>,
	  bool = std::is_final_v<CtpPromise>>
struct WithMixin : CtpPromise, PromiseMixin {
	template <class... Args>
	explicit WithMixin(std::source_location where, Args &...args)
	    : CtpPromise(args...), PromiseMixin(nullptr, where)
	{
	}
};

template <class CtpPromise> struct WithMixin<CtpPromise, true, false> : CtpPromise {
	template <class... Args>
	explicit WithMixin(std::source_location, Args &...args) : CtpPromise(args...)
	{
	}
};

template <class CtpPromise>
struct WithMixin<CtpPromise, false, true> : Boxed<CtpPromise>, PromiseMixin {
	template <class... Args>
	explicit WithMixin(std::source_location where, Args &...args)
	    : Boxed<CtpPromise>(args...), PromiseMixin(nullptr, where)
	{
	}
};

/* The promise in its wrapper. */
template <class CtpPromise> CtpPromise &promise_in(WithMixin<CtpPromise> &wrapper)
{
	if constexpr (std::is_final_v<CtpPromise>)
		return wrapper.boxed;
	else
		return wrapper;
}

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

template <class CtpPromise, class CtpAwaitable>
concept TransformsWithPlace = requires(CtpPromise &p, CtpAwaitable &&a, std::source_location where)
{
	p.await_transform(static_cast<CtpAwaitable &&>(a), where);
};

} // namespace detail

template <class CtpPromise> class Traced : public detail::WithMixin<CtpPromise>
{
	static_assert(
		!std::is_final_v<CtpPromise> || !std::is_base_of_v<PromiseMixin, CtpPromise>,
		"this final promise already has a PromiseMixin: use trace_initial() and so on");
	using ctp_place = std::source_location;

	CtpPromise &ctp_promise()
	{
		return detail::promise_in<CtpPromise>(*this);
	}

      public:
	using corotracer_untraced = CtpPromise;

	Traced(ctp_place ctp_where = ctp_place::current()) requires
		std::default_initializable<CtpPromise> : detail::WithMixin<CtpPromise>(ctp_where)
	{
		detail::coro_of(this)->holds = true;
	}

	/* A promise may have a constructor that takes the arguments of its coroutine. */
	template <class... Args>
	requires(sizeof...(Args) > 0 && !std::is_aggregate_v<CtpPromise> &&
		 std::is_constructible_v<CtpPromise, Args &...>) Traced(Args &...ctp_args)
	    : detail::WithMixin<CtpPromise>(ctp_place(), ctp_args...)
	{
		detail::coro_of(this)->holds = true;
	}

	auto initial_suspend(ctp_place ctp_where = ctp_place::current())
	{
		return detail::trace_first(
			[this]() -> decltype(auto) { return ctp_promise().initial_suspend(); },
			this, ctp_where);
	}

	auto final_suspend() noexcept
	{
		return detail::trace_last(
			[this]() noexcept -> decltype(auto) {
				return ctp_promise().final_suspend();
			},
			this);
	}

	template <class CtpAwaitable>
	auto await_transform(CtpAwaitable &&ctp_a, ctp_place ctp_where = ctp_place::current())
	{
		if constexpr (!detail::transforms<CtpPromise, CtpAwaitable>())
			return TracedAwaiter<CtpAwaitable &&>(static_cast<CtpAwaitable &&>(ctp_a),
							      this, ctp_where);
		else if constexpr (detail::TransformsWithPlace<CtpPromise, CtpAwaitable>)
			return detail::trace_transformed(
				[&]() -> decltype(auto) {
					return ctp_promise().await_transform(
						static_cast<CtpAwaitable &&>(ctp_a), ctp_where);
				},
				this, ctp_where);
		else
			return detail::trace_transformed(
				[&]() -> decltype(auto) {
					return ctp_promise().await_transform(
						static_cast<CtpAwaitable &&>(ctp_a));
				},
				this, ctp_where);
	}

	/* For "co_yield { 1, 2 }", whose type cannot be deduced. */
	auto
	yield_value(typename detail::YieldParameter<CtpPromise>::type &&ctp_v,
		    ctp_place ctp_where = ctp_place::
			    current()) requires(!std::
							is_same_v<typename detail::YieldParameter<
									  CtpPromise>::type,
								  detail::Unknown>)
	{
		using CtpValue = typename detail::YieldParameter<CtpPromise>::type;

		return detail::trace_yielded(
			[&]() -> decltype(auto) {
				return ctp_promise().yield_value(static_cast<CtpValue &&>(ctp_v));
			},
			this, ctp_where);
	}

	template <class CtpValue>
	auto yield_value(CtpValue &&ctp_v, ctp_place ctp_where = ctp_place::current()) requires(
		detail::yields<CtpPromise, CtpValue>())
	{
		return detail::trace_yielded(
			[&]() -> decltype(auto) {
				return ctp_promise().yield_value(static_cast<CtpValue &&>(ctp_v));
			},
			this, ctp_where);
	}
};

} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
