/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/boxed.h - a promise that is final, as a member of its wrapper.
 *
 * Traced<> cannot derive from such a promise.  Boxed<> has it as its first member, and passes on
 * the functions that Traced<> does not wrap, if the promise has them.  The compiler treats a
 * promise differently depending on which functions it has: so each optional function is in a base
 * class that is present only then.
 */
#ifndef COROTRACER_CPP_BOXED_H
#define COROTRACER_CPP_BOXED_H

#include <cstddef>
#include <type_traits>
#include <utility>

#include <corotracer/header_begin.h>

namespace corotracer
{
inline namespace v1
{
namespace detail
{

struct Unknown {
};

template <class CtpClass, class CtpResult, class CtpValue>
CtpValue parameter_of(CtpResult (CtpClass::*)(CtpValue));
template <class CtpClass, class CtpResult, class CtpValue>
CtpValue parameter_of(CtpResult (CtpClass::*)(CtpValue) noexcept);

/* The parameter type of a return_value() that is not overloaded; Unknown for others. */
template <class CtpPromise> struct ReturnParameter {
	using type = Unknown;
};

template <class CtpPromise>
requires requires
{
	parameter_of(&CtpPromise::return_value);
}
struct ReturnParameter<CtpPromise> {
	using type = std::remove_cvref_t<decltype(parameter_of(&CtpPromise::return_value))>;
};

template <class CtpPromise>
concept ReturnsVoid = requires(CtpPromise &p)
{
	p.return_void();
};

template <class CtpPromise> struct BoxOf {
	CtpPromise boxed;

	template <class... Args> explicit BoxOf(Args &...args) : boxed(args...)
	{
	}
};

template <class CtpBox, class CtpPromise, bool = ReturnsVoid<CtpPromise>> struct BoxedReturn {
	void return_void() noexcept(noexcept(std::declval<CtpPromise &>().return_void()))
	{
		static_cast<CtpBox *>(this)->boxed.return_void();
	}
};

template <class CtpBox, class CtpPromise> struct BoxedReturn<CtpBox, CtpPromise, false> {
	/* The default: for "co_return { 1, 2 }", whose type cannot be deduced. */
	template <class CtpValue = typename ReturnParameter<CtpPromise>::type>
	requires requires(CtpPromise &p, CtpValue &&v)
	{
		p.return_value(static_cast<CtpValue &&>(v));
	}
	void return_value(CtpValue &&ctp_value) noexcept(
		noexcept(std::declval<CtpPromise &>().return_value(std::declval<CtpValue &&>())))
	{
		static_cast<CtpBox *>(this)->boxed.return_value(
			static_cast<CtpValue &&>(ctp_value));
	}
};

template <class CtpPromise>
concept AllocatesBySize = requires(std::size_t size)
{
	CtpPromise::operator new(size);
};

template <class CtpPromise>
concept AllocatesFrame = AllocatesBySize<CtpPromise> || requires
{
	&CtpPromise::operator new;
};

template <class CtpPromise>
concept FreesWithSize = requires(void *frame, std::size_t size)
{
	CtpPromise::operator delete(frame, size);
};

template <class CtpPromise>
concept FreesFrame = FreesWithSize<CtpPromise> || requires(void *frame)
{
	CtpPromise::operator delete(frame);
};

template <class CtpPromise> struct BoxedNew {
	template <class... Args>
	requires requires(std::size_t size, Args &...args)
	{
		CtpPromise::operator new(size, args...);
	}
	static void *operator new(std::size_t ctp_size, Args &...ctp_args) noexcept(
		noexcept(CtpPromise::operator new(ctp_size, ctp_args...)))
	{
		return CtpPromise::operator new(ctp_size, ctp_args...);
	}
};

template <class CtpPromise> struct BoxedDelete {
	static void operator delete(void *ctp_frame, [[maybe_unused]] std::size_t ctp_size)
	{
		if constexpr (FreesWithSize<CtpPromise>)
			CtpPromise::operator delete(ctp_frame, ctp_size);
		else
			CtpPromise::operator delete(ctp_frame);
	}
};

/* Both in one class: GCC compares their scopes, and warns of a mismatch if these differ. */
template <class CtpPromise, bool = AllocatesFrame<CtpPromise>, bool = FreesFrame<CtpPromise>>
struct BoxedFrame {
};

template <class CtpPromise> struct BoxedFrame<CtpPromise, true, false> : BoxedNew<CtpPromise> {
};

template <class CtpPromise> struct BoxedFrame<CtpPromise, false, true> : BoxedDelete<CtpPromise> {
};

template <class CtpPromise> struct BoxedFrame<CtpPromise, true, true> {
	/* Not by the template below: GCC would warn of an operator delete that does not match. */
	static void *operator new(std::size_t ctp_size) noexcept(
		noexcept(CtpPromise::operator new(ctp_size))) requires AllocatesBySize<CtpPromise>
	{
		return CtpPromise::operator new(ctp_size);
	}

	template <class... Args>
	requires requires(std::size_t size, Args &...args)
	{
		CtpPromise::operator new(size, args...);
	}
	static void *operator new(std::size_t ctp_size, Args &...ctp_args) noexcept(
		noexcept(CtpPromise::operator new(ctp_size, ctp_args...)))
	{
		return BoxedNew<CtpPromise>::operator new(ctp_size, ctp_args...);
	}

	static void operator delete(void *ctp_frame, std::size_t ctp_size)
	{
		BoxedDelete<CtpPromise>::operator delete(ctp_frame, ctp_size);
	}
};

template <class CtpPromise>
concept SurvivesNoMemory = requires
{
	CtpPromise::get_return_object_on_allocation_failure();
};

template <class CtpPromise, bool = SurvivesNoMemory<CtpPromise>> struct BoxedFailure {
};

template <class CtpPromise> struct BoxedFailure<CtpPromise, true> {
	static decltype(auto) get_return_object_on_allocation_failure() noexcept
	{
		return CtpPromise::get_return_object_on_allocation_failure();
	}
};

/* BoxOf<> is the first base: the promise is at the start. */
template <class CtpPromise>
struct Boxed : BoxOf<CtpPromise>,
	       BoxedReturn<Boxed<CtpPromise>, CtpPromise>,
	       BoxedFrame<CtpPromise>,
	       BoxedFailure<CtpPromise> {
	using BoxOf<CtpPromise>::BoxOf;

	decltype(auto) get_return_object()
	{
		return this->boxed.get_return_object();
	}

	void unhandled_exception() noexcept(noexcept(this->boxed.unhandled_exception()))
	{
		this->boxed.unhandled_exception();
	}
};

} // namespace detail
} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
