// SPDX-License-Identifier: MIT
// bug_asio_unbounded_spawn.cpp - a server spawns coroutines faster than they can end.
//
// Every message starts a write of its own, and the lock of the store admits one write in 12 ms.
// Nothing limits the number of writes that wait.
//
// corpus: bug
// class: run-away|leak
// at: @stuck
// victims: write
// never: deadlock, lost-wakeup, closed-under-waiter
// needs: asio
#include <chrono>
#include <deque>
#include <memory>
#include <string>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>

#include "asio-redis/traced.h"

using asio::steady_timer;
using std::chrono::milliseconds;

struct WriteStore {
	asio::io_context context;
	bool is_busy = false;
	std::deque<steady_timer *> waiting; // in the order of arrival
};

static void store_release(WriteStore &store)
{
	store.is_busy = !store.waiting.empty();
	if (!store.is_busy)
		return;
	store.waiting.front()->cancel();
	store.waiting.pop_front();
}

static asio::awaitable<void> store_write(WriteStore &store)
{
	traced::Coroutine self("write");
	steady_timer turn(store.context, steady_timer::time_point::max());
	asio::error_code error;

	if (store.is_busy) {
		store.waiting.push_back(&turn);
		corotracer::Wait lock = corotracer::locking(&store);

		co_await turn.async_wait(asio::redirect_error(self.waiting(lock), error)); // @stuck
	}
	store.is_busy = true;
	turn.expires_after(milliseconds(12));
	co_await turn.async_wait(self.waiting(corotracer::sleeping(0)));
	store_release(store);
}

static asio::awaitable<void> messages_receive(WriteStore &store)
{
	traced::Coroutine self("receiver");
	steady_timer next(store.context);

	for (;;) {
		next.expires_after(milliseconds(2));
		co_await next.async_wait(self.waiting(corotracer::sleeping(0)));
		asio::co_spawn(store.context, store_write(store), asio::detached);
	}
}

int main()
{
	auto *store = new WriteStore; // its coroutines are not destroyed

	corotracer::InitTracer();
	asio::co_spawn(store->context, messages_receive(*store), asio::detached);
	for (int i = 0; i < 170; i++)
		store->context.run_for(milliseconds(10));
	return 0;
}
