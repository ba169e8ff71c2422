// SPDX-License-Identifier: MIT
// clean_flag_set_before_wait.cpp - events come before their waits, and are remembered.
//
// Workers set flags that their consumers await, sometimes before and sometimes after; the last
// flag is set only by a request to stop, which does not come.
//
// corpus: clean
#include <string>

#include "loop_sync.hpp"
#include "lazy_task.hpp"

static Lazy<> stage_prepare(EpollLoop &loop, AsyncFlag &ready, int ms)
{
	if (ms > 0)
		co_await loop.sleep_ms(ms);
	ready.set();
}

static Lazy<> stage_use(EpollLoop &loop, AsyncFlag &stopping, int id)
{
	for (int stage = 0; stage < 40; stage++) {
		AsyncFlag ready(&loop);

		detach_lazy(stage_prepare(loop, ready, stage % 3 * id));
		co_await loop.sleep_ms(4);
		co_await ready.wait();
		co_await loop.sleep_ms(12);
	}
	co_await stopping.wait();
}

int main()
{
	EpollLoop loop;
	AsyncFlag stopping(&loop);

	corotracer::InitTracer();
	for (int i = 0; i < 6; i++) {
		std::string name = "user-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), stage_use, loop, stopping, i));
	}
	loop.run_for(1500);
	return 0;
}
