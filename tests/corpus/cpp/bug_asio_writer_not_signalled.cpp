// SPDX-License-Identifier: MIT
// bug_asio_writer_not_signalled.cpp - each session has a reader and a writer; the writer waits at a
// timer that never expires, and the reader cancels it to say "there is something to write".  The
// path for "ping" forgets that.
//
// corpus: bug
// class: lost-wakeup|stalled
// at: @outbox
// victims: writer 4
// never: deadlock, leak, closed-under-waiter
// needs: asio
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <asio.hpp>

#include "asio-redis/traced.h"

using asio::ip::tcp;
using namespace std::chrono_literals;

struct session {
	tcp::socket socket;
	asio::steady_timer signal;
	std::deque<std::string> outbox;
	int number;
};

static asio::awaitable<void> reader(std::shared_ptr<session> s)
{
	traced::Coroutine self(("reader " + std::to_string(s->number)).c_str());
	std::array<char, 64> buffer;

	for (;;) {
		size_t n = co_await s->socket.async_read_some(
			asio::buffer(buffer), self.reading(s->socket.native_handle()));
		std::string text(buffer.data(), n);

		s->outbox.push_back(text);
		if (text != "ping") // the bug
			s->signal.cancel_one();
	}
}

static asio::awaitable<void> writer(std::shared_ptr<session> s)
{
	traced::Coroutine self(("writer " + std::to_string(s->number)).c_str());

	for (;;) {
		while (s->outbox.empty()) {
			try {
				s->signal.expires_at(asio::steady_timer::time_point::max());
				co_await s->signal.async_wait(
					self.waiting(corotracer::receiving(&s->outbox))); // @outbox
			} catch (const asio::system_error &) {
			}
		}
		std::string text = s->outbox.front();

		s->outbox.pop_front();
		co_await asio::async_write(s->socket, asio::buffer(text),
					   self.writing(s->socket.native_handle()));
	}
}

static asio::awaitable<void> listener(asio::io_context &io, tcp::acceptor &acceptor)
{
	traced::Coroutine self("listener");

	for (int i = 0;; i++) {
		tcp::socket socket = co_await acceptor.async_accept(
			self.accepting(acceptor.native_handle()));
		auto s = std::make_shared<session>(
			session{ std::move(socket), asio::steady_timer(io), {}, i });

		asio::co_spawn(io, reader(s), asio::detached);
		asio::co_spawn(io, writer(s), asio::detached);
	}
}

static asio::awaitable<void> client(asio::io_context &io, tcp::endpoint where, int number)
{
	tcp::socket socket(io);
	asio::steady_timer pause(io);
	std::array<char, 64> buffer;

	co_await socket.async_connect(where, asio::use_awaitable);
	for (int i = 0;; i++) {
		std::string text = number == 4 && i == 40 ? "ping" : "get " + std::to_string(i);

		co_await asio::async_write(socket, asio::buffer(text), asio::use_awaitable);
		co_await socket.async_read_some(asio::buffer(buffer), asio::use_awaitable);
		pause.expires_after(std::chrono::milliseconds(15 + number));
		co_await pause.async_wait(asio::use_awaitable);
	}
}

int main()
{
	const char *extra = std::getenv("CORPUS_EXTRA_MS");
	asio::io_context io;
	tcp::acceptor acceptor(io, { asio::ip::address_v4::loopback(), 0 });

	corotracer::InitTracer();
	asio::co_spawn(io, listener(io, acceptor), asio::detached);
	for (int i = 0; i < 10; i++)
		asio::co_spawn(io, client(io, acceptor.local_endpoint(), i), asio::detached);
	io.run_for(2500ms + std::chrono::milliseconds(extra ? std::atoi(extra) : 0));
	std::quick_exit(0);
}
