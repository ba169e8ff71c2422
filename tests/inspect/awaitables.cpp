// SPDX-License-Identifier: MIT
// awaitables.cpp - coroutines of Asio: timers, sockets, nested awaitables.
#include "truth.h"

#include <asio.hpp>

using asio::ip::tcp;

static asio::awaitable<void> sleep_long()
{
	asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(1));

	co_await timer.async_wait(asio::use_awaitable); // @sleep_long
}

static asio::awaitable<void> sleeper()
{
	co_await sleep_long(); // @sleeper
}

static asio::awaitable<std::size_t> read_line(tcp::socket &socket)
{
	char data[64];

	co_return co_await socket.async_read_some(asio::buffer(data), asio::use_awaitable); // @read
}

static asio::awaitable<void> session(tcp::socket socket)
{
	for (;;) {
		auto got = co_await read_line(socket); // @session

		if (!got)
			co_return;
	}
}

static asio::awaitable<void> listener(tcp::acceptor &acceptor)
{
	for (;;) {
		auto socket = co_await acceptor.async_accept(asio::use_awaitable); // @listener

		asio::co_spawn(acceptor.get_executor(), session(std::move(socket)), asio::detached);
	}
}

int main()
{
	asio::io_context context(1);
	tcp::acceptor acceptor(context, { asio::ip::address_v4::loopback(), 0 });
	std::vector<tcp::socket> clients;
	asio::steady_timer later(context, std::chrono::milliseconds(200));

	asio::co_spawn(context, listener(acceptor), asio::detached);
	for (int i = 0; i < 3; i++)
		asio::co_spawn(context, sleeper(), asio::detached);
	for (int i = 0; i < 2; i++) {
		clients.emplace_back(context);
		clients.back().connect(acceptor.local_endpoint());
	}
	expect(3, "* sleep_long sleeper *");
	expect(2, "* read session *");
	expect(1, "* listener *");
	later.async_wait([](const asio::error_code &) { ready(); });
	context.run();
}
