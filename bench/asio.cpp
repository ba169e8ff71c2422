// SPDX-License-Identifier: MIT
// asio.cpp - the cost of a traced co_await of Asio, against the same one untraced.
//
//	asio [ROUNDS]			// without a collector
//	corotracer run -- asio [ROUNDS]	// with a collector
//
// One coroutine, one thread, no waiting: the coroutine posts itself to its executor, about the
// cheapest asynchronous operation.  The two kinds take turns, and the best run of each counts.
// Prints ns of both and their ratio.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

#include "asio-redis/traced.h"

static constexpr int TURNS = 9;

using Clock = std::chrono::steady_clock;

static double ns_since(Clock::time_point start, long rounds)
{
	return std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
	       static_cast<double>(rounds);
}

static asio::awaitable<void> plain(asio::io_context *context, long rounds, double *ns)
{
	auto start = Clock::now();

	for (long i = 0; i < rounds; i++)
		co_await asio::post(*context, asio::use_awaitable);
	*ns = ns_since(start, rounds);
}

static asio::awaitable<void> with_token(asio::io_context *context, long rounds, double *ns)
{
	traced::Coroutine self("bench");
	auto start = Clock::now();

	for (long i = 0; i < rounds; i++)
		co_await asio::post(*context, self.reading(7));
	*ns = ns_since(start, rounds);
}

template <typename Body> static double run(Body body, long rounds)
{
	asio::io_context context(1);
	double ns = 0;

	asio::co_spawn(context, body(&context, rounds, &ns), asio::detached);
	context.run();
	return ns;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 200000;
	double untraced = 1e9, traced = 1e9;

	corotracer::InitTracer();
	for (int i = 0; i < TURNS; i++) {
		untraced = std::min(untraced, run(plain, rounds));
		traced = std::min(traced, run(with_token, rounds));
	}
	std::printf("%s: co_await %.1f ns, traced %.1f ns, %.2f of it\n",
		    corotracer::enabled() ? "collected" : "no collector", untraced, traced,
		    traced / untraced);
	return 0;
}
