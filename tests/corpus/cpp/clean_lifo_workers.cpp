// SPDX-License-Identifier: MIT
// clean_lifo_workers.cpp - a pool wakes the worker first that went to sleep last.
//
// With little to do the same two or three workers do everything; the others sleep from the
// beginning to the end, as intended.
//
// corpus: clean
#include <atomic>
#include <chrono>
#include <string>

#include "pool_executor.hpp"

static PoolJob worker_loop(PoolExecutor &pool, PoolQueue<int> &jobs, std::atomic<int> &nr_done)
{
	co_await pool.schedule();
	for (;;) {
		int job = co_await jobs.take();

		if (job < 0)
			co_return;
		nr_done++;
		co_await pool.schedule();
	}
}

int main()
{
	std::atomic<int> nr_done{ 0 };

	corotracer::InitTracer();
	PoolExecutor pool(2);
	PoolQueue<int> jobs(&pool);

	for (int i = 0; i < 12; i++) {
		std::string name = "worker-" + std::to_string(i);

		corotracer::named(name.c_str(), worker_loop, pool, jobs, nr_done);
	}
	for (int i = 0; i < 300; i++) {
		jobs.put(i);
		if (i % 50 == 0)
			jobs.put(i);
		std::this_thread::sleep_for(std::chrono::milliseconds(4));
	}
	pool.stop();
	return 0;
}
