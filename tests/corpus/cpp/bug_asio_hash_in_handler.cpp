// SPDX-License-Identifier: MIT
// bug_asio_hash_in_handler.cpp - a coroutine of Asio computes on the thread of all others.
//
// A password is hashed with many rounds in the handler of the login.
//
// corpus: bug
// class: blocking
// at: @stuck|@next
// victims: login
// never: deadlock, lost-wakeup, leak, closed-under-waiter
// needs: asio
#include <chrono>
#include <string>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "asio-redis/traced.h"

using asio::steady_timer;
using std::chrono::milliseconds;

static uint32_t password_hash(uint32_t seed)
{
	for (int round = 0; round < 60000000; round++)
		seed = (seed ^ static_cast<uint32_t>(round)) * 16777619u;
	return seed;
}

static asio::awaitable<void> login_handle(asio::io_context &context, uint32_t &session)
{
	traced::Coroutine self("login");
	steady_timer timer(context);

	for (int i = 0; i < 3; i++) {
		timer.expires_after(milliseconds(100));
		co_await timer.async_wait(self.waiting(corotracer::sleeping(0))); // @stuck
		session = password_hash(session);
		timer.expires_after(milliseconds(5));
		co_await timer.async_wait(self.waiting(corotracer::sleeping(0))); // @next
	}
}

static asio::awaitable<void> page_show(asio::io_context &context, int id)
{
	std::string name = "page-" + std::to_string(id);
	traced::Coroutine self(name.c_str());
	steady_timer timer(context);

	for (;;) {
		timer.expires_after(milliseconds(10 + id));
		co_await timer.async_wait(self.waiting(corotracer::sleeping(0)));
	}
}

int main()
{
	asio::io_context context;
	uint32_t session = 1;

	corotracer::InitTracer();
	for (int i = 0; i < 8; i++)
		asio::co_spawn(context, page_show(context, i), asio::detached);
	asio::co_spawn(context, login_handle(context, session), asio::detached);
	for (int i = 0; i < 60; i++)
		context.run_for(milliseconds(10));
	return session == 0;
}
