// SPDX-License-Identifier: MIT
// tagged.h - trace Asio's coroutines without a change at any co_await.
//
//	asio::awaitable<void> serve(traced::Tag, tcp::socket socket)
//	{
//		co_await socket.async_read_some(buffer, asio::use_awaitable);
//	}
//	asio::co_spawn(context, serve(traced::Tag(), std::move(socket)), asio::detached);
//
// The first parameter makes the compiler look up the promise here: it is Asio's promise inside
// corotracer::Traced<>.  The trace has the creation, every co_await with its line, awaited
// awaitables as separate coroutines, and the end.
//
// Compared with the token (traced.h) it records more with less code, but not the resource:
// only Asio knows the descriptor of an operation.  And it relies on more: Asio finds a frame by
// the address of its promise, which is correct as long as Asio's promise is the first member of
// the wrapper.  That is true of gcc and clang, but not documented.
#pragma once

#include <coroutine>

#include <asio/awaitable.hpp>

#include <corotracer/coroTracer.h>

namespace traced
{

struct Tag {
};

} // namespace traced

template <typename T, typename Executor, typename... Args>
struct std::coroutine_traits<asio::awaitable<T, Executor>, traced::Tag, Args...> {
	using promise_type = corotracer::Traced<
		typename std::coroutine_traits<asio::awaitable<T, Executor>>::promise_type>;
};
