// SPDX-License-Identifier: MIT
// bug_audit_task_kept.cpp - each order creates a lazy task that notifies the warehouse and puts it
// into a vector "to be awaited later"; nothing awaits them.
//
// corpus: bug
// class: never-run|leak
// victims: notify-*
// never: deadlock, lost-wakeup
#include "coro_kit.hpp"

#include <string>

using namespace ck;

static loop the_loop;
static std::vector<task<>> later;

static task<> notify_warehouse(int ms)
{
	co_await the_loop.sleep(std::chrono::milliseconds(ms));
}

static task<> order(int i)
{
	co_await the_loop.sleep(5ms);
	later.push_back(
		corotracer::named(("notify-" + std::to_string(i)).c_str(), notify_warehouse, i));
	co_await the_loop.sleep(3ms);
}

static task<> shop()
{
	for (int i = 0; i < 100; i++) {
		spawn(corotracer::named(("order-" + std::to_string(i)).c_str(), order, i));
		co_await the_loop.sleep(15ms);
	}
}

int main()
{
	corotracer::InitTracer();
	spawn(corotracer::named("shop", shop));
	the_loop.run_for(2000ms);
	_exit(0);
}
