// SPDX-License-Identifier: MIT
// clean_pool_lock_convoy.cpp - many coroutines of a pool take two locks in the same order.
//
// The locks are nearly always contended, and the program ends while coroutines wait for them.
//
// corpus: clean
#include <atomic>
#include <chrono>
#include <string>

#include "pool_executor.hpp"

struct Ledger {
	PoolLock accounts, history;
	std::atomic<bool> is_over{ false };
	long nr_entries = 0;

	explicit Ledger(PoolExecutor *pool) : accounts(pool), history(pool)
	{
	}
};

static PoolJob entry_write(PoolExecutor &pool, PoolQueue<int> &ticks, Ledger &ledger)
{
	co_await pool.schedule();
	while (!ledger.is_over) {
		co_await ticks.take();
		co_await ledger.accounts.take();
		co_await pool.schedule();
		co_await ledger.history.take();
		ledger.nr_entries++;
		ledger.history.unlock();
		ledger.accounts.unlock();
	}
}

int main()
{
	corotracer::InitTracer();
	PoolExecutor pool(3);
	PoolQueue<int> ticks(&pool);
	Ledger ledger(&pool);

	for (int i = 0; i < 10; i++) {
		std::string name = "writer-" + std::to_string(i);

		corotracer::named(name.c_str(), entry_write, pool, ticks, ledger);
	}
	for (int i = 0; i < 300; i++) {
		for (int j = 0; j < 10; j++)
			ticks.put(i);
		std::this_thread::sleep_for(std::chrono::milliseconds(3));
	}
	pool.stop();
	return 0;
}
