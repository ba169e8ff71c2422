// SPDX-License-Identifier: MIT
// bug_spin_never_yields.cpp - a coroutine spins on a flag that another coroutine would set.
//
// The coroutine that sets the flag is ready, but the only thread of the pool is occupied.
//
// corpus: bug
// class: never-yielded|blocking
// at: @stuck|@blocks
// victims: barrier
// never: wake-before-suspend, leak, deadlock, closed-under-waiter
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>

#include "pool_executor.hpp"

static PoolJob counter_run(PoolExecutor &pool, std::atomic<int> &nr_ready)
{
	for (int i = 0; i < 50; i++)
		co_await pool.schedule();
	nr_ready++;
	for (;;)
		co_await pool.schedule();
}

static PoolJob barrier_wait(PoolExecutor &pool, std::atomic<int> &nr_ready)
{
	co_await pool.schedule(); // @stuck
	while (nr_ready < 4)      // @blocks
		;
}

int main()
{
	static std::atomic<int> nr_ready{ 0 };

	corotracer::InitTracer();
	auto *pool = new PoolExecutor(1); // its thread never ends

	for (int i = 0; i < 4; i++) {
		std::string name = "counter-" + std::to_string(i);

		corotracer::named(name.c_str(), counter_run, *pool, nr_ready);
	}
	corotracer::named("barrier", barrier_wait, *pool, nr_ready);
	for (int i = 0; i < 160; i++)
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
	std::_Exit(0);
}
