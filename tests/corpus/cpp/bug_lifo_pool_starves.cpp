// SPDX-License-Identifier: MIT
// bug_lifo_pool_starves.cpp - the newest ready coroutine runs first, and old ones never run.
//
// The pool takes ready coroutines from the end of its queue.  A batch reschedules itself after
// each part, so there is always a newer one.
//
// corpus: bug
// class: unfair-order|starvation
// at: @stuck|@next
// victims: report-0, report-1, report-2
// never: lost-wakeup, wake-before-suspend, leak, deadlock
#include <atomic>
#include <chrono>
#include <string>

#include "pool_executor.hpp"

static uint32_t part_compute(uint32_t seed)
{
	for (int i = 0; i < 300000; i++)
		seed = seed * 1664525u + 1013904223u;
	return seed;
}

static PoolJob batch_run(PoolExecutor &pool, std::atomic<uint32_t> &result)
{
	for (;;) {
		co_await pool.schedule();
		result = part_compute(result);
	}
}

static PoolJob report_run(PoolExecutor &pool, PoolQueue<int> &orders, std::atomic<int> &nr_done)
{
	for (;;) {
		co_await orders.take();   // @stuck
		co_await pool.schedule(); // @next
		nr_done++;
	}
}

int main()
{
	static std::atomic<uint32_t> result{ 1 };
	static std::atomic<int> nr_done{ 0 };

	corotracer::InitTracer();
	PoolExecutor pool(1, PoolExecutor::Order::lifo);
	PoolQueue<int> orders(&pool);

	for (int i = 0; i < 3; i++) {
		std::string name = "report-" + std::to_string(i);

		corotracer::named(name.c_str(), report_run, pool, orders, nr_done);
	}
	// Without the batch all orders are served.
	for (int i = 0; i < 90; i++) {
		if (i == 60)
			corotracer::named("batch", batch_run, pool, result);
		orders.put(i);
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
	}
	pool.stop();
	return 0;
}
