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

#include <corotracer/header_begin.h>

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

template <class CtpType> constexpr uint64_t resource_number(CtpType what)
{
	if constexpr (std::is_pointer_v<CtpType>)
		return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(what));
	else if constexpr (std::is_enum_v<CtpType>)
		return static_cast<uint64_t>(static_cast<std::underlying_type_t<CtpType>>(what));
	else
		return static_cast<uint64_t>(what);
}

} // namespace detail

namespace detail
{

template <class CtpAwaitable>
concept HasMemberCoAwait = requires(CtpAwaitable &&a)
{
	static_cast<CtpAwaitable &&>(a).operator co_await();
};

template <class CtpAwaitable>
concept HasFreeCoAwait = requires(CtpAwaitable &&a)
{
	operator co_await(static_cast<CtpAwaitable &&>(a));
};

/* The awaiter that the compiler would use: the awaitable or what its operator co_await returns. */
template <class CtpAwaitable> constexpr decltype(auto) awaiter_of(CtpAwaitable &&a)
{
	if constexpr (HasMemberCoAwait<CtpAwaitable>)
		return static_cast<CtpAwaitable &&>(a).operator co_await();
	else if constexpr (HasFreeCoAwait<CtpAwaitable>)
		return operator co_await(static_cast<CtpAwaitable &&>(a));
	else
		return static_cast<CtpAwaitable &&>(a);
}

} // namespace detail

/*
 * An awaitable with the reason of the wait.  The functions below return it with a reference to the
 * awaitable: use it only within one expression.  In an untraced coroutine it behaves like the
 * awaitable.
 */
template <class CtpAwaitable> struct Annotated {
	CtpAwaitable awaitable;
	Wait wait;

	constexpr decltype(auto) operator co_await() &&
	{
		return detail::awaiter_of(static_cast<CtpAwaitable &&>(awaitable));
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

template <class CtpResource> constexpr Wait waiting(uint32_t reason, CtpResource resource)
{
	return Wait{ detail::resource_number(resource), reason, 1 };
}

template <class CtpAwaitable>
constexpr Annotated<CtpAwaitable &&> because(Wait wait, CtpAwaitable &&awaitable)
{
	return { static_cast<CtpAwaitable &&>(awaitable), wait };
}

/* NAME(resource) is a Wait; NAME(resource, awaitable) awaits @awaitable for that reason. */
#define CTP_CPP_WAIT(name, reason)                                                                \
	template <class CtpResource> constexpr Wait name(CtpResource resource)                    \
	{                                                                                         \
		return waiting(reason, resource);                                                 \
	}                                                                                         \
	template <class CtpResource, class CtpAwaitable>                                          \
	constexpr Annotated<CtpAwaitable &&> name(CtpResource resource, CtpAwaitable &&awaitable) \
	{                                                                                         \
		return because(waiting(reason, resource),                                         \
			       static_cast<CtpAwaitable &&>(awaitable));                          \
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

template <class CtpAwaitable>
concept SaysWhy = requires(const std::remove_reference_t<CtpAwaitable> &a)
{
	{
		a.corotracer_wait()
		} -> std::convertible_to<Wait>;
};

template <class CtpAwaitable>
concept SomebodySaysWhy = requires(const std::remove_reference_t<CtpAwaitable> &a)
{
	{
		corotracer_wait(a)
		} -> std::convertible_to<Wait>;
};

/* The reason according to @a itself, or to a free function corotracer_wait() for its type. */
template <class CtpAwaitable> constexpr Wait wait_of(const CtpAwaitable &a)
{
	if constexpr (SaysWhy<CtpAwaitable>)
		return a.corotracer_wait();
	else if constexpr (SomebodySaysWhy<CtpAwaitable>)
		return corotracer_wait(a);
	else
		return Wait{};
}

} // namespace detail
} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
