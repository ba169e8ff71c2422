// SPDX-License-Identifier: MIT
// bug_permits_leaked.cpp - the error path of a query keeps its permit.
//
// Each failed query takes a permit of the connection pool with it.  After four failures all
// queries wait.
//
// corpus: bug
// class: abandoned-lock|lost-wakeup|stalled
// at: @stuck
// count: 6
// never: deadlock, wake-before-suspend, closed-under-waiter
#include <string>

#include "loop_sync.hpp"
#include "lazy_task.hpp"

static Lazy<bool> query_run(EpollLoop &loop, Permits &connections, int nr)
{
	co_await connections.acquire(); // @stuck
	co_await loop.sleep_ms(3);
	if (nr % 50 == 49)
		co_return false; // the bug: the permit is not released
	connections.release();
	co_return true;
}

static Lazy<> user_run(EpollLoop &loop, Permits &connections, int &nr_queries)
{
	for (;;) {
		co_await query_run(loop, connections, nr_queries++);
		co_await loop.sleep_ms(4);
	}
}

static Lazy<> clock_print(EpollLoop &loop)
{
	for (;;)
		co_await loop.sleep_ms(20);
}

int main()
{
	EpollLoop loop;
	Permits connections(&loop, 4);
	int nr_queries = 0;

	corotracer::InitTracer();
	for (int i = 0; i < 6; i++) {
		std::string name = "user-" + std::to_string(i);

		detach_lazy(
			corotracer::named(name.c_str(), user_run, loop, connections, nr_queries));
	}
	detach_lazy(corotracer::named("clock", clock_print, loop));
	loop.run_for(1500);
	return 0;
}
