// SPDX-License-Identifier: MIT
// asio_flows.cpp - an Asio program that does not know that it is traced: FLOWS flows of ROUNDS
// rounds.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

static asio::awaitable<int> turn(asio::io_context *context, int round)
{
	co_await asio::post(*context, asio::use_awaitable);
	if (round % 2)
		throw std::runtime_error("every second time");
	co_return 1;
}

static asio::awaitable<void> flow(asio::io_context *context, int rounds)
{
	int good = 0, bad = 0;

	for (int i = 0; i < rounds; i++) {
		asio::steady_timer timer(*context, std::chrono::microseconds(50));

		co_await timer.async_wait(asio::use_awaitable);
		try {
			good += co_await turn(context, i);
		} catch (const std::runtime_error &) {
			bad++;
		}
	}
	if (good + bad != rounds || bad != rounds / 2)
		std::abort();
}

int main(int argc, char **argv)
{
	int flows = argc > 1 ? std::atoi(argv[1]) : 1, rounds = argc > 2 ? std::atoi(argv[2]) : 1;
	asio::io_context context;

	for (int i = 0; i < flows; i++)
		asio::co_spawn(context, flow(&context, rounds), asio::detached);
	std::thread other([&context] { context.run(); });
	context.run();
	other.join();
	std::printf("right\n");
	return 0;
}
