// SPDX-License-Identifier: MIT
// clean_asio_quiet_night.cpp - twenty keep-alive connections on two threads; each says hello and is
// quiet then.  Hour timers guard them.
//
// corpus: clean
// never: deadlock, leak, closed-under-waiter, wrong-thread
// needs: asio
#include <array>
#include <string>
#include <thread>
#include <vector>

#include <asio.hpp>

#include "asio-redis/traced.h"

using asio::ip::tcp;
using namespace std::chrono_literals;

static asio::awaitable<void> serve(tcp::socket socket, int number)
{
	traced::Coroutine self(("client " + std::to_string(number)).c_str());
	std::array<char, 64> buffer;

	for (;;) {
		size_t n = co_await socket.async_read_some(asio::buffer(buffer),
							   self.reading(socket.native_handle()));

		co_await asio::async_write(socket, asio::buffer(buffer, n),
					   self.writing(socket.native_handle()));
	}
}

static asio::awaitable<void> guard(int number)
{
	traced::Coroutine self(("guard " + std::to_string(number)).c_str());
	asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
	auto when = (timer.expiry().time_since_epoch()).count();

	co_await timer.async_wait(self.waiting(corotracer::sleeping(static_cast<uint64_t>(when))));
}

static asio::awaitable<void> listener(tcp::acceptor &acceptor)
{
	traced::Coroutine self("listener");

	for (int i = 0;; i++) {
		tcp::socket socket = co_await acceptor.async_accept(
			self.accepting(acceptor.native_handle()));
		auto executor = co_await asio::this_coro::executor;

		asio::co_spawn(executor, serve(std::move(socket), i), asio::detached);
		asio::co_spawn(executor, guard(i), asio::detached);
	}
}

int main()
{
	const char *extra = std::getenv("CORPUS_EXTRA_MS");
	asio::io_context io;
	tcp::acceptor acceptor(io, { asio::ip::address_v4::loopback(), 0 });
	std::vector<std::thread> threads;
	std::vector<tcp::socket> clients;

	corotracer::InitTracer();
	asio::co_spawn(io, listener(acceptor), asio::detached);
	for (int i = 0; i < 2; i++)
		threads.emplace_back([&] { io.run(); });
	asio::io_context own;

	for (int i = 0; i < 20; i++) {
		char answer[16];

		clients.emplace_back(own);
		clients.back().connect(acceptor.local_endpoint());
		for (int n = 0; n <= i % 4; n++) {
			asio::write(clients.back(), asio::buffer("hello", 5));
			(void)clients.back().read_some(asio::buffer(answer));
		}
		std::this_thread::sleep_for(15ms);
	}
	std::this_thread::sleep_for(1800ms +
				    std::chrono::milliseconds(extra ? std::atoi(extra) : 0));
	io.stop();
	for (auto &t : threads)
		t.join();
	std::quick_exit(0);
}
