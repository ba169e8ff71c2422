/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/trace_all.h - trace every coroutine of a C++20 program, without a change to it:
 *
 *	c++ -std=c++20 -include corotracer/cpp/trace_all.h ...
 *
 * For each coroutine the compiler asks std::coroutine_traits for its promise type.  Here that is a
 * template of this header, which returns Traced<> of the promise that the program or its library
 * has chosen.  Their choice is the template of <coroutine>, and its specialisations: this header
 * renames that template by a macro, and the macro stays defined, so that a specialisation of
 * std::coroutine_traits later in the file, for example Asio's, specialises the renamed template.
 *
 * It must come before <coroutine>, which -include ensures.  In C files, and before C++20, it is
 * empty.  Files that are compiled without it can be linked with files that are compiled with it:
 * their coroutines can await each other.
 */
#ifndef COROTRACER_CPP_TRACE_ALL_H
#define COROTRACER_CPP_TRACE_ALL_H

#if defined(__cplusplus) && __cplusplus >= 202002L && defined(__cpp_impl_coroutine)

#if defined(_GLIBCXX_COROUTINE) || defined(_LIBCPP_COROUTINE)
#error "corotracer/cpp/trace_all.h must come before <coroutine>: use the compiler's option -include"
#endif

#define coroutine_traits corotracer_library_traits
#include <coroutine>
#undef coroutine_traits

namespace std
{
template <class CtpResult, class... Args> struct coroutine_traits;
}

#include <corotracer/cpp/traced.h>

#include <corotracer/header_begin.h>

namespace corotracer
{
inline namespace v1
{

/* Specialise it as true for a promise type that shall not be traced. */
template <class CtpPromise> inline constexpr bool trace_all_skips = false;

namespace detail
{

template <class CtpPromise>
concept IsWrapped = requires
{
	typename CtpPromise::corotracer_untraced;
};

/* A final promise with a PromiseMixin is traced as far as it wants to be. */
template <class CtpPromise> constexpr bool is_left_alone()
{
	return trace_all_skips<CtpPromise> || IsWrapped<CtpPromise> ||
	       (std::is_final_v<CtpPromise> && std::is_base_of_v<PromiseMixin, CtpPromise>);
}

template <class CtpPromise, bool = is_left_alone<CtpPromise>()> struct WholeTrace {
	using type = Traced<CtpPromise>;
};

template <class CtpPromise> struct WholeTrace<CtpPromise, true> {
	using type = CtpPromise;
};

template <class CtpTraits> struct TraceAllTraits {
};

template <class CtpTraits>
requires requires
{
	typename CtpTraits::promise_type;
}
struct TraceAllTraits<CtpTraits> {
	using promise_type = typename WholeTrace<typename CtpTraits::promise_type>::type;
};

} // namespace detail
} // namespace v1
} // namespace corotracer

template <class CtpResult, class... Args>
struct std::coroutine_traits
    : corotracer::detail::TraceAllTraits<std::corotracer_library_traits<CtpResult, Args...>> {
};

#include <corotracer/header_end.h>

/* From here on the program and its libraries specialise and use the renamed template. */
#define coroutine_traits corotracer_library_traits

#endif

#endif
