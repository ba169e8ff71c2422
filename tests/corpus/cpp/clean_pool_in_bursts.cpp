// SPDX-License-Identifier: MIT
// clean_pool_in_bursts.cpp - a pool of three threads gets 300 small jobs at once, six times, with
// pauses; the last jobs of a burst wait for the first ones.
//
// corpus: clean
// never: lost-wakeup, deadlock, leak, never-yielded
#include "coro_kit.hpp"

#include <atomic>
#include <string>

using namespace ck;

static std::atomic<int> left;

static void compute_us(uint64_t us)
{
	uint64_t end = now_ns() + us * 1000;

	while (now_ns() < end)
		;
}

static task<> job(thread_pool &pool)
{
	for (int step = 0; step < 3; step++) {
		co_await pool.schedule();
		compute_us(60);
	}
	left--;
}

int main()
{
	corotracer::InitTracer();
	thread_pool pool(3);

	for (int burst = 0; burst < 6; burst++) {
		left = 300;
		for (int i = 0; i < 300; i++)
			spawn(corotracer::named(("job-" + std::to_string(i)).c_str(), job,
						std::ref(pool)));
		while (left > 0)
			std::this_thread::sleep_for(5ms);
		std::this_thread::sleep_for(150ms);
	}
	return 0;
}
