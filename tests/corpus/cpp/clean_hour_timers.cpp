// SPDX-License-Identifier: MIT
// clean_hour_timers.cpp - most timers are far in the future when the program ends.
//
// Every session has an idle timer of an hour, and a cleaner wakes once a day.
//
// corpus: clean
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

static Lazy<> session_expire(EpollLoop &loop, int id)
{
	// Some sessions are refreshed at once, the others wait for their hour.
	for (int i = 0; i < id % 3; i++)
		co_await loop.sleep_ms(10);
	co_await loop.sleep_ms(3600 * 1000);
}

static Lazy<> cleaner_run(EpollLoop &loop)
{
	for (;;)
		co_await loop.sleep_ms(24 * 3600 * 1000);
}

static Lazy<> session_create(EpollLoop &loop)
{
	for (int id = 0; id < 150; id++) {
		std::string name = "session-" + std::to_string(id);

		detach_lazy(corotracer::named(name.c_str(), session_expire, loop, id));
		co_await loop.sleep_ms(7);
	}
	loop.stop();
}

int main()
{
	EpollLoop loop;

	corotracer::InitTracer();
	detach_lazy(corotracer::named("cleaner", cleaner_run, loop));
	detach_lazy(corotracer::named("creator", session_create, loop));
	loop.run_for(2400);
	return 0;
}
