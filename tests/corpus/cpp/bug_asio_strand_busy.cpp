// SPDX-License-Identifier: MIT
// bug_asio_strand_busy.cpp - one io_context thread, a dozen connections; the handler of "report"
// sorts a big table, 120 ms each time.
//
// corpus: bug
// class: blocking
// victims: report
// never: deadlock, lost-wakeup, never-yielded
// needs: asio
#include <algorithm>
#include <string>
#include <vector>

#include <asio.hpp>

#include "asio-redis/traced.h"

using namespace std::chrono_literals;

static volatile unsigned sink;

static void sort_table()
{
	auto end = std::chrono::steady_clock::now() + 120ms;
	std::vector<unsigned> rows(20000);

	while (std::chrono::steady_clock::now() < end) {
		for (size_t i = 0; i < rows.size(); i++)
			rows[i] = static_cast<unsigned>(i * 2654435761u);
		std::sort(rows.begin(), rows.end());
		sink = rows[100];
	}
}

static uint64_t deadline(std::chrono::milliseconds d)
{
	return static_cast<uint64_t>(
		(std::chrono::steady_clock::now().time_since_epoch() + d).count());
}

static asio::awaitable<void> ticker(int number)
{
	traced::Coroutine self(("connection " + std::to_string(number)).c_str());
	asio::steady_timer timer(co_await asio::this_coro::executor);

	for (;;) {
		auto d = std::chrono::milliseconds(10 + number);

		timer.expires_after(d);
		co_await timer.async_wait(self.waiting(corotracer::sleeping(deadline(d))));
	}
}

static asio::awaitable<void> report()
{
	traced::Coroutine self("report");
	asio::steady_timer timer(co_await asio::this_coro::executor);

	for (;;) {
		timer.expires_after(200ms);
		co_await timer.async_wait(self.waiting(corotracer::sleeping(deadline(200ms))));
		sort_table();
	}
}

int main()
{
	const char *extra = std::getenv("CORPUS_EXTRA_MS");
	asio::io_context io;

	corotracer::InitTracer();
	for (int i = 0; i < 12; i++)
		asio::co_spawn(io, ticker(i), asio::detached);
	asio::co_spawn(io, report(), asio::detached);
	io.run_for(2500ms + std::chrono::milliseconds(extra ? std::atoi(extra) : 0));
	std::quick_exit(0);
}
