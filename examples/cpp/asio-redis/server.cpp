// SPDX-License-Identifier: MIT
// server.cpp - the same Redis on Asio: its threads, its sockets, its coroutines.
#include "server.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>

#include "redis/session.h"
#include "traced.h"

using asio::ip::tcp;
using Socket = std::shared_ptr<tcp::socket>;

static constexpr auto WHEN_NONE_ARE_LEFT = std::chrono::milliseconds(20);

// ---- connected clients -----------------------------------------------------------------

// A socket is closed on its own strand, where no other handler uses it at the same time.
static void close_socket(const Socket &socket)
{
	asio::post(socket->get_executor(), [socket] {
		asio::error_code ignored;

		socket->close(ignored);
	});
}

// False: the server is stopping, and the client is too late.
static bool enter(Server *server, uint64_t id, const Socket &socket)
{
	std::lock_guard guard(server->lock);

	if (!server->is_stopping)
		server->sockets[id] = socket;
	return !server->is_stopping;
}

static void leave(Server *server, uint64_t id)
{
	std::lock_guard guard(server->lock);

	server->sockets.erase(id);
}

static void stop(Server *server)
{
	std::lock_guard guard(server->lock);
	asio::error_code ignored;

	server->is_stopping = true;
	server->acceptor.close(ignored); // this runs on its strand
	for (auto &[id, socket] : server->sockets)
		close_socket(socket);
}

// ---- coroutines ----------------------------------------------------------------------

// Counters of the server itself, to compare with the trace: each co_await below adds one of each.
struct Counted {
	explicit Counted(Tally *tally) : tally_(tally)
	{
		count_resume(tally_);
	}
	~Counted()
	{
		count_end(tally_);
	}
	void waits() const
	{
		count_suspend(tally_);
	}
	void goes_on() const
	{
		count_resume(tally_);
	}

      private:
	Tally *tally_;
};

static asio::awaitable<void> serve(Server *server, Socket socket, uint64_t id)
{
	std::string name = "client " + std::to_string(id);
	traced::Coroutine self(name.c_str());
	Counted books(server->census->enter(name));
	Session session(&server->keys, id);
	std::array<char, 16384> buffer;
	asio::error_code error;
	int fd = socket->native_handle();

	while (!error && !session.is_leaving()) {
		books.waits();
		size_t n = co_await socket->async_read_some(
			asio::buffer(buffer), asio::redirect_error(self.reading(fd), error));
		books.goes_on();
		session.hear(buffer.data(), n);

		bool more = n > 0;
		while (more && !error) {
			more = session.answer();
			std::string_view rest = session.to_send();
			if (rest.empty())
				continue;
			books.waits();
			n = co_await asio::async_write(*socket, asio::buffer(rest),
						       asio::redirect_error(self.writing(fd),
									    error));
			books.goes_on();
			session.sent(n);
		}
	}
	leave(server, id);
}

// An exception ends only the coroutine that throws it.
static void tell_failure(std::exception_ptr failure)
{
	try {
		if (failure)
			std::rethrow_exception(failure);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "asio-redis: a coroutine failed: %s\n", e.what());
	}
}

static asio::awaitable<void> accept_clients(Server *server)
{
	traced::Coroutine self("acceptor");
	Counted books(server->census->enter("acceptor"));
	asio::steady_timer pause(server->acceptor.get_executor());
	int fd = server->acceptor.native_handle();

	while (server->acceptor.is_open()) {
		auto socket = std::make_shared<tcp::socket>(asio::make_strand(server->context));
		asio::error_code error;

		books.waits();
		co_await server->acceptor.async_accept(
			*socket, asio::redirect_error(self.accepting(fd), error));
		books.goes_on();
		if (!error) {
			uint64_t id = ++server->nr_accepted;

			socket->set_option(tcp::no_delay(true), error);
			if (enter(server, id, socket))
				asio::co_spawn(socket->get_executor(), serve(server, socket, id),
					       tell_failure);
		} else if (server->acceptor.is_open()) {
			// Probably out of descriptors: an immediate retry would fail, too.
			pause.expires_after(WHEN_NONE_ARE_LEFT);
			books.waits();
			co_await pause.async_wait(asio::redirect_error(
				self.waiting(corotracer::waiting(CTP_REASON_TIMER)), error));
			books.goes_on();
		}
	}
}

static asio::awaitable<void> stop_on_signal(Server *server)
{
	traced::Coroutine self("signals");
	Counted books(server->census->enter("signals"));

	books.waits();
	co_await server->signals.async_wait(self.waiting(corotracer::waiting(CTP_REASON_SIGNAL)));
	books.goes_on();
	stop(server);
}

void serve_until_told(Server *server, unsigned nr_threads)
{
	auto strand = server->acceptor.get_executor();
	std::vector<std::thread> others;

	asio::co_spawn(strand, accept_clients(server), tell_failure);
	asio::co_spawn(strand, stop_on_signal(server), tell_failure);
	for (unsigned i = 1; i < nr_threads; i++)
		others.emplace_back([server] { server->context.run(); });
	server->context.run();
	for (std::thread &other : others)
		other.join();
}
