/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/wait.h - why a coroutine waits, and on what: reading(fd) and its kind.
 *
 * Nothing of this is needed.  It makes the difference between "waits at line 41" and
 * "waits at line 41 to read from descriptor 12".  Three ways to say it:
 *
 *	co_await corotracer::reading(fd, socket.read(buffer));	// here, for this one
 *
 *	struct ReadAwaiter {				// once, for all who await one of these
 *		corotracer::Wait corotracer_wait() const { return corotracer::reading(fd); }
 *		...
 *
 *	corotracer::Wait corotracer_wait(const theirs::Read &r);   // a type of somebody else's
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

/* A CTP_REASON_*, and the number of what is waited for, if it has one. */
struct Wait {
	uint64_t resource = 0;
	uint32_t reason = CTP_REASON_UNKNOWN;
	uint32_t has_resource = 0; /* 0 or 1; as wide as it is, so that both are stored at once */

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

/* What the compiler would await: the awaitable, or what its operator co_await makes of it. */
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
 * An awaitable that says why it is waited for.  As the functions below return it, it holds a
 * reference: it is of one expression.  In a coroutine that is not traced it is what it holds.
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

/* Any reason there is, with what is waited for or without. */
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

/* NAME(resource) says why; NAME(resource, awaitable) awaits it for that reason. */
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
CTP_CPP_WAIT(sleeping, CTP_REASON_TIMER)       /* until: CLOCK_MONOTONIC ns; 0 if not known */
CTP_CPP_WAIT(locking, CTP_REASON_MUTEX)        /* the address of the lock */
CTP_CPP_WAIT(acquiring, CTP_REASON_SEMAPHORE)  /* its address */
CTP_CPP_WAIT(sending, CTP_REASON_CHANNEL_SEND) /* the address of the channel */
CTP_CPP_WAIT(receiving, CTP_REASON_CHANNEL_RECV)
CTP_CPP_WAIT(joining, CTP_REASON_JOIN)     /* the id of the coroutine: PromiseMixin::id() */
CTP_CPP_WAIT(signalled, CTP_REASON_SIGNAL) /* its number */
#undef CTP_CPP_WAIT

/* Gives way to others, and waits for nothing. */
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

/* What @a itself, or whoever knows its type, says. */
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
