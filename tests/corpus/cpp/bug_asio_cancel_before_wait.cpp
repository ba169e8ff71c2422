// SPDX-License-Identifier: MIT
// bug_asio_cancel_before_wait.cpp - a timer that serves as an event is cancelled too early.
//
// With Asio an event is often a timer that never expires: cancel() resumes the coroutine that
// waits.  Without a waiter cancel() has no effect, and here a batch is complete before its
// consumer waits for it.  The program hangs until it is terminated.
//
// corpus: bug
// class: lost-wakeup|wake-before-suspend|stalled
// at: @stuck
// victims: consumer-5
// never: deadlock, leak, closed-under-waiter
// signal: TERM 1.7
// needs: asio
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>

#include "asio-redis/traced.h"

using asio::steady_timer;
using std::chrono::milliseconds;

static asio::awaitable<void> batch_produce(asio::io_context &context, steady_timer &ready,
					   int takes)
{
	steady_timer work(context);

	if (takes > 0) {
		work.expires_after(milliseconds(takes));
		co_await work.async_wait(asio::use_awaitable);
	}
	ready.cancel();
}

static asio::awaitable<void> batch_consume(asio::io_context &context, int id)
{
	std::string name = "consumer-" + std::to_string(id);
	traced::Coroutine self(name.c_str());
	steady_timer ready(context, steady_timer::time_point::max());
	steady_timer pause(context);
	asio::error_code error;

	for (int batch = 0; batch < 80; batch++) {
		int takes = id == 5 && batch == 30 ? 0 : 5 + id;

		asio::co_spawn(context, batch_produce(context, ready, takes), asio::detached);
		if (takes == 0) { // an empty batch: time to write the statistics
			pause.expires_after(milliseconds(2));
			co_await pause.async_wait(self.waiting(corotracer::sleeping(0)));
		}
		co_await ready.async_wait(asio::redirect_error(self.waiting(), error)); // @stuck
		pause.expires_after(milliseconds(5));
		co_await pause.async_wait(self.waiting(corotracer::sleeping(0)));
	}
}

int main()
{
	asio::io_context context;

	corotracer::InitTracer();
	for (int i = 0; i < 10; i++)
		asio::co_spawn(context, batch_consume(context, i), asio::detached);
	context.run();
	return 0;
}
