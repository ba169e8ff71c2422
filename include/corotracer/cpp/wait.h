/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/wait.h - why a coroutine waits, and for what: reading(fd) and similar.
 *
 * Optional.  It changes "waits at line 41" into "waits at line 41 to read from descriptor 12".
 * There are three ways:
 *
 *	co_await corotracer::reading(fd, socket.read(buffer));	// for this co_await
 *
 *	struct ReadAwaiter {				// for every await of this type
 *		corotracer::Wait corotracer_wait() const { return corotracer::reading(fd); }
 *		...
 *
 *	corotracer::Wait corotracer_wait(const theirs::Read &r);   // for a type of a library
 */
#ifndef COROTRACER_CPP_WAIT_H
#define COROTRACER_CPP_WAIT_H

#include <corotracer/lanes.h>

#include <concepts>
#include <type_traits>
#include <utility>

namespace corotracer
{
inline namespace v1
{

/* A CTP_REASON_*, and the number of the resource, if there is one. */
struct Wait {
	uint64_t resource = 0;
	uint32_t reason = CTP_REASON_UNKNOWN;
	uint32_t has_resource = 0; /* 0 or 1; 32 bits: stored together with reason */

	constexpr explicit operator bool() const
	{
		return reason != CTP_REASON_UNKNOWN || has_resource;
	}
};

namespace detail
{

template <class T> constexpr uint64_t resource_number(T what)
{
	if constexpr (std::is_pointer_v<T>)
		return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(what));
	else if constexpr (std::is_enum_v<T>)
		return static_cast<uint64_t>(static_cast<std::underlying_type_t<T>>(what));
	else
		return static_cast<uint64_t>(what);
}

} // namespace detail

namespace detail
{

template <class A>
concept HasMemberCoAwait = requires(A &&a)
{
	static_cast<A &&>(a).operator co_await();
};

template <class A>
concept HasFreeCoAwait = requires(A &&a)
{
	operator co_await(static_cast<A &&>(a));
};

/* The awaiter that the compiler would use: the awaitable or what its operator co_await returns. */
template <class A> constexpr decltype(auto) awaiter_of(A &&a)
{
	if constexpr (HasMemberCoAwait<A>)
		return static_cast<A &&>(a).operator co_await();
	else if constexpr (HasFreeCoAwait<A>)
		return operator co_await(static_cast<A &&>(a));
	else
		return static_cast<A &&>(a);
}

} // namespace detail

/*
 * An awaitable with the reason of the wait.  The functions below return it with a reference to the
 * awaitable: use it only within one expression.  In an untraced coroutine it behaves like the
 * awaitable.
 */
template <class A> struct Annotated {
	A awaitable;
	Wait wait;

	constexpr decltype(auto) operator co_await() &&
	{
		return detail::awaiter_of(static_cast<A &&>(awaitable));
	}

	constexpr Wait corotracer_wait() const
	{
		return wait;
	}
};

/* Any CTP_REASON_*, with or without a resource. */
constexpr Wait waiting(uint32_t reason)
{
	return Wait{ 0, reason, 0 };
}

template <class R> constexpr Wait waiting(uint32_t reason, R resource)
{
	return Wait{ detail::resource_number(resource), reason, 1 };
}

template <class A> constexpr Annotated<A &&> because(Wait wait, A &&awaitable)
{
	return { static_cast<A &&>(awaitable), wait };
}

/* NAME(resource) is a Wait; NAME(resource, awaitable) awaits @awaitable for that reason. */
#define CTP_CPP_WAIT(name, reason)                                                            \
	template <class R> constexpr Wait name(R resource)                                    \
	{                                                                                     \
		return waiting(reason, resource);                                             \
	}                                                                                     \
	template <class R, class A> constexpr Annotated<A &&> name(R resource, A &&awaitable) \
	{                                                                                     \
		return because(waiting(reason, resource), static_cast<A &&>(awaitable));      \
	}

CTP_CPP_WAIT(reading, CTP_REASON_IO_READ)      /* a descriptor */
CTP_CPP_WAIT(writing, CTP_REASON_IO_WRITE)     /* a descriptor */
CTP_CPP_WAIT(accepting, CTP_REASON_ACCEPT)     /* a descriptor */
CTP_CPP_WAIT(connecting, CTP_REASON_CONNECT)   /* a descriptor */
CTP_CPP_WAIT(sleeping, CTP_REASON_TIMER)       /* deadline: CLOCK_MONOTONIC ns; 0 if unknown */
CTP_CPP_WAIT(locking, CTP_REASON_MUTEX)        /* the address of the lock */
CTP_CPP_WAIT(acquiring, CTP_REASON_SEMAPHORE)  /* address of the semaphore */
CTP_CPP_WAIT(sending, CTP_REASON_CHANNEL_SEND) /* the address of the channel */
CTP_CPP_WAIT(receiving, CTP_REASON_CHANNEL_RECV)
CTP_CPP_WAIT(joining, CTP_REASON_JOIN)     /* coroutine id: PromiseMixin::id() */
CTP_CPP_WAIT(signalled, CTP_REASON_SIGNAL) /* number of the signal */
#undef CTP_CPP_WAIT

/* The coroutine yields to others and waits for nothing. */
constexpr Wait yielding()
{
	return waiting(CTP_REASON_YIELD);
}

namespace detail
{

template <class A>
concept SaysWhy = requires(const std::remove_reference_t<A> &a)
{
	{
		a.corotracer_wait()
		} -> std::convertible_to<Wait>;
};

template <class A>
concept SomebodySaysWhy = requires(const std::remove_reference_t<A> &a)
{
	{
		corotracer_wait(a)
		} -> std::convertible_to<Wait>;
};

/* The reason according to @a itself, or to a free function corotracer_wait() for its type. */
template <class A> constexpr Wait wait_of(const A &a)
{
	if constexpr (SaysWhy<A>)
		return a.corotracer_wait();
	else if constexpr (SomebodySaysWhy<A>)
		return corotracer_wait(a);
	else
		return Wait{};
}

} // namespace detail
} // namespace v1
} // namespace corotracer

#endif
