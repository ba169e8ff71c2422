// SPDX-License-Identifier: MIT
// clean_asio_keepalive.cpp - an Asio server whose connections are kept alive and mostly idle.
//
// Two threads run the context.  Each client sends some requests and then keeps its connection
// open; the program is terminated while all of them are connected.
//
// corpus: clean
// signal: TERM 1.3
// needs: asio
#include <array>
#include <chrono>
#include <string>
#include <thread>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/write.hpp>

#include "asio-redis/traced.h"

using asio::ip::tcp;
using std::chrono::milliseconds;

static asio::awaitable<void> keepalive_serve(tcp::socket socket, int id)
{
	std::string name = "conn-" + std::to_string(id);
	traced::Coroutine self(name.c_str());
	std::array<char, 256> buffer;
	asio::error_code error;
	int fd = socket.native_handle();

	while (!error) {
		size_t n = co_await socket.async_read_some(
			asio::buffer(buffer), asio::redirect_error(self.reading(fd), error));

		if (!error)
			co_await asio::async_write(socket, asio::buffer(buffer, n),
						   asio::redirect_error(self.writing(fd), error));
	}
}

static asio::awaitable<void> keepalive_accept(asio::io_context &context, tcp::acceptor &acceptor)
{
	traced::Coroutine self("acceptor");

	for (int id = 0;; id++) {
		tcp::socket socket(asio::make_strand(context));

		co_await acceptor.async_accept(socket, self.accepting(acceptor.native_handle()));
		auto strand = socket.get_executor();

		asio::co_spawn(strand, keepalive_serve(std::move(socket), id), asio::detached);
	}
}

static asio::awaitable<void> keepalive_client(asio::io_context &context, tcp::endpoint to, int id)
{
	auto strand = co_await asio::this_coro::executor;
	tcp::socket socket(strand);
	asio::steady_timer timer(context);
	std::array<char, 256> buffer;

	co_await socket.async_connect(to, asio::use_awaitable);
	for (int i = 0; i < 10 + id; i++) {
		co_await asio::async_write(socket, asio::buffer("hello", 5), asio::use_awaitable);
		co_await socket.async_read_some(asio::buffer(buffer), asio::use_awaitable);
		timer.expires_after(milliseconds(5));
		co_await timer.async_wait(asio::use_awaitable);
	}
	timer.expires_after(std::chrono::hours(1));
	co_await timer.async_wait(asio::use_awaitable);
}

int main()
{
	asio::io_context context;
	tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));

	corotracer::InitTracer();
	asio::co_spawn(context, keepalive_accept(context, acceptor), asio::detached);
	for (int i = 0; i < 30; i++)
		asio::co_spawn(asio::make_strand(context),
			       keepalive_client(context, acceptor.local_endpoint(), i),
			       asio::detached);
	std::thread other([&context] { context.run(); });
	context.run();
	other.join();
	return 0;
}
