// SPDX-License-Identifier: MIT
// bug_bank_two_locks.cpp - a when_all of two transfers in opposite directions, each locks source
// and then target.
//
// corpus: bug
// class: deadlock
// at: @target
// victims: transfer-a-b, transfer-b-a
// also: settle
// never: lost-wakeup, abandoned-lock
#include "coro_kit.hpp"

using namespace ck;

static loop the_loop;

struct account {
	async_mutex lock{ the_loop };
	long money = 1000;
};

static account a, b;

static task<> transfer(account *from, account *to, int ms)
{
	co_await from->lock.lock();
	co_await the_loop.sleep(std::chrono::milliseconds(ms)); // asks the risk service
	co_await to->lock.lock();                               // @target
	from->money -= 5;
	to->money += 5;
	to->lock.unlock();
	from->lock.unlock();
}

static task<> settle()
{
	for (int day = 0; day < 60; day++) {
		std::vector<task<>> parts;

		if (day < 45) {
			parts.push_back(corotracer::named("transfer-a-b", transfer, &a, &b, 3));
			co_await when_all(std::move(parts));
			co_await corotracer::named("transfer-b-a", transfer, &b, &a, 3);
		} else {
			parts.push_back(corotracer::named("transfer-a-b", transfer, &a, &b, 3));
			parts.push_back(corotracer::named("transfer-b-a", transfer, &b, &a, 4));
			co_await when_all(std::move(parts));
		}
		co_await the_loop.sleep(10ms);
	}
}

static task<> clock_display()
{
	for (;;)
		co_await the_loop.sleep(100ms);
}

int main()
{
	corotracer::InitTracer();
	spawn(corotracer::named("clock", clock_display));
	spawn(corotracer::named("settle", settle));
	the_loop.run_for(2200ms);
	return 0;
}
