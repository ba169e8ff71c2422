// SPDX-License-Identifier: MIT
// bug_flush_joined_under_lock.cpp - close() takes the lock of the table and awaits the flush task,
// which takes the same lock for its last block.
//
// corpus: bug
// class: deadlock
// at: @flush|@close
// victims: flush, close
// never: lost-wakeup, abandoned-lock
#include "coro_kit.hpp"

using namespace ck;

static loop the_loop;
static async_mutex table(the_loop);
static int blocks = 40;

static task<> flush()
{
	while (blocks > 0) {
		co_await table.lock(); // @flush
		blocks--;
		co_await the_loop.sleep(2ms);
		table.unlock();
		co_await the_loop.sleep(3ms);
	}
}

static task<> close_table()
{
	co_await the_loop.sleep(30ms);
	co_await table.lock();
	auto rest = corotracer::named("flush", flush);

	co_await std::move(rest); // @close
	table.unlock();
}

static task<> reader()
{
	for (;;) {
		co_await the_loop.sleep(25ms);
	}
}

int main()
{
	corotracer::InitTracer();
	spawn(corotracer::named("reader", reader));
	spawn(corotracer::named("close", close_table));
	the_loop.run_for(1800ms);
	return 0;
}
