// SPDX-License-Identifier: MIT
// clean_asio_silent_users.cpp - users arrive during the whole run, say hello and are silent.
//
// The awaitables are traced by a first parameter, so each one is a coroutine with its line, and
// nothing is known about descriptors.
//
// corpus: clean
// signal: TERM 1.5
// needs: asio
#include <array>
#include <chrono>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include "asio-redis/tagged.h"

using Socket = asio::local::stream_protocol::socket;

static asio::awaitable<size_t> greeting_read(traced::Tag, Socket &socket)
{
	std::array<char, 64> buffer;

	co_return co_await socket.async_read_some(asio::buffer(buffer), asio::use_awaitable);
}

static asio::awaitable<void> user_serve(traced::Tag tag, Socket socket)
{
	for (;;) {
		size_t n = co_await greeting_read(tag, socket);

		if (n == 0)
			co_return;
	}
}

static asio::awaitable<void> users_arrive(traced::Tag tag, asio::io_context &context)
{
	asio::steady_timer timer(context);
	std::vector<Socket> users;

	for (;;) {
		Socket server(context);

		users.emplace_back(context);
		asio::local::connect_pair(server, users.back());
		asio::co_spawn(context, user_serve(tag, std::move(server)), asio::detached);
		co_await asio::async_write(users.back(), asio::buffer("hello", 5),
					   asio::use_awaitable);
		timer.expires_after(std::chrono::milliseconds(10));
		co_await timer.async_wait(asio::use_awaitable);
	}
}

int main()
{
	asio::io_context context;

	corotracer::InitTracer();
	asio::co_spawn(context, users_arrive(traced::Tag(), context), asio::detached);
	context.run();
	return 0;
}
