// SPDX-License-Identifier: MIT
// clean_asio_stop_and_destroy.cpp - a context is stopped, and destroys the coroutines it holds.
//
// A game server stops after its match: players wait for their next move, and the destructor of
// the context destroys their frames.
//
// corpus: clean
// needs: asio
#include <chrono>
#include <string>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "asio-redis/traced.h"

using std::chrono::milliseconds;

static asio::awaitable<void> player_move(asio::io_context &context, int id)
{
	std::string name = "player-" + std::to_string(id);
	traced::Coroutine self(name.c_str());
	asio::steady_timer timer(context);

	for (int move = 0;; move++) {
		timer.expires_after(milliseconds(3 + (move * id) % 40));
		co_await timer.async_wait(self.waiting(corotracer::sleeping(0)));
	}
}

static asio::awaitable<void> match_end(asio::io_context &context)
{
	traced::Coroutine self("referee");
	asio::steady_timer timer(context, milliseconds(1000));

	co_await timer.async_wait(self.waiting(corotracer::sleeping(0)));
	context.stop();
}

int main()
{
	asio::io_context context;

	corotracer::InitTracer();
	for (int i = 0; i < 12; i++)
		asio::co_spawn(context, player_move(context, i), asio::detached);
	asio::co_spawn(context, match_end(context), asio::detached);
	context.run();
	return 0;
}
