// SPDX-License-Identifier: MIT
// tagged.h - coroutines of Asio's in the trace, without a word at any co_await.
//
//	asio::awaitable<void> serve(traced::Tag, tcp::socket socket)
//	{
//		co_await socket.async_read_some(buffer, asio::use_awaitable);
//	}
//	asio::co_spawn(context, serve(traced::Tag(), std::move(socket)), asio::detached);
//
// The first parameter makes the compiler look for the promise here, and it gets Asio's own
// inside corotracer::Traced<>: births, every co_await with its line, awaited awaitables as
// coroutines of their own, ends.
//
// Against the token (traced.h) it sees more with less to write, but not what is waited
// for: which descriptor an operation is about is known to Asio only.  And it leans on more:
// Asio finds a frame by the address of its promise, which is right as long as Asio's promise is
// the first thing in ours.  That holds with gcc and clang; no document promises it.
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
