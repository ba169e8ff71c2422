// SPDX-License-Identifier: MIT
// bug_timeout_keeps_lock.cpp - a timeout destroys the job that takes too long; the job held the
// lock of the journal and has no guard object, so the lock stays taken.
//
// corpus: bug
// class: abandoned-lock
// at: @journal
// victims: append-*
// never: deadlock, leak
#include "coro_kit.hpp"

#include <string>

using namespace ck;

static loop the_loop;
static async_mutex journal(the_loop);

static task<> append(int i)
{
	co_await journal.lock(); // @journal
	co_await the_loop.sleep(i == 50 ? 10000ms : 4ms);
	journal.unlock();
}

static task<> client(int i)
{
	auto job = corotracer::named(("append-" + std::to_string(i)).c_str(), append, i);
	auto handle = job.get();

	handle.resume();
	for (int t = 0; t < 10 && !handle.done(); t++)
		co_await the_loop.sleep(20ms);
	if (i == 50)
		handle.promise().cancelled(); // the frame is destroyed; the journal stays locked
	else
		while (!handle.done())
			co_await the_loop.sleep(20ms);
}

static task<> load()
{
	for (int i = 0; i < 90; i++) {
		spawn(corotracer::named(("client-" + std::to_string(i)).c_str(), client, i));
		co_await the_loop.sleep(12ms);
	}
	for (;;)
		co_await the_loop.sleep(50ms);
}

int main()
{
	corotracer::InitTracer();
	spawn(corotracer::named("load", load));
	the_loop.run_for(2500ms);
	return 0;
}
