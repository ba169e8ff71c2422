// SPDX-License-Identifier: MIT
// asio_tag.cpp - Asio coroutines, traced by their first parameter: a known number of awaits.
//
//	asio_tag FLOWS ROUNDS
//
// Each flow awaits, ROUNDS times, a timer and a child; the child awaits a turn of the executor and,
// every second time, throws.  Three threads.  One more flow waits for a timer that never expires,
// and is destroyed with its context.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include "asio-redis/tagged.h"

static asio::awaitable<int> child(traced::Tag, asio::io_context *context, int round)
{
	co_await asio::post(*context, asio::use_awaitable);
	if (round % 2)
		throw std::runtime_error("every second time");
	co_return 1;
}

static asio::awaitable<void> flow(traced::Tag tag, asio::io_context *context, int rounds)
{
	int good = 0, bad = 0;

	for (int i = 0; i < rounds; i++) {
		asio::steady_timer timer(*context, std::chrono::microseconds(50));

		co_await timer.async_wait(asio::use_awaitable);
		try {
			good += co_await child(tag, context, i);
		} catch (const std::runtime_error &) {
			bad++;
		}
	}
	if (good + bad != rounds || bad != rounds / 2)
		std::abort();
}

static asio::awaitable<void> wait_for_ever(traced::Tag, asio::io_context *context)
{
	asio::steady_timer timer(*context, asio::steady_timer::time_point::max());

	co_await timer.async_wait(asio::use_awaitable);
	std::abort();
}

static void run(int flows, int rounds)
{
	asio::io_context context, other;
	std::vector<std::thread> threads;

	for (int i = 0; i < flows; i++)
		asio::co_spawn(context, flow(traced::Tag(), &context, rounds), asio::detached);
	asio::co_spawn(other, wait_for_ever(traced::Tag(), &other), asio::detached);
	other.poll();
	for (int i = 0; i < 3; i++)
		threads.emplace_back([&context] { context.run(); });
	for (std::thread &thread : threads)
		thread.join();
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	corotracer::InitTracer();
	run(std::atoi(argv[1]), std::atoi(argv[2]));
	return 0;
}
