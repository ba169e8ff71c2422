// SPDX-License-Identifier: MIT
// bug_philosophers_ring.cpp - five coroutines of a thread pool wait for each other in a ring.
//
// corpus: bug
// class: deadlock
// at: @stuck
// victims: plato, kant, hume, hegel, marx
// never: lost-wakeup, wake-before-suspend, closed-under-waiter
#include <chrono>
#include <string>

#include "pool_executor.hpp"

static PoolJob philosopher_dine(PoolExecutor &pool, PoolLock &left, PoolLock &right)
{
	co_await pool.schedule();
	for (;;) {
		co_await left.take();
		co_await pool.schedule(); // polite: lets others run
		co_await right.take();    // @stuck
		co_await pool.schedule();
		right.unlock();
		left.unlock();
		co_await pool.schedule();
	}
}

static PoolJob guest_eat(PoolExecutor &pool, PoolQueue<int> &dishes, int &nr_eaten)
{
	co_await pool.schedule();
	for (;;) {
		int dish = co_await dishes.take();

		if (dish < 0)
			co_return;
		nr_eaten++;
	}
}

int main()
{
	static const char *const names[] = { "plato", "kant", "hume", "hegel", "marx" };
	int nr_eaten[4] = {};

	corotracer::InitTracer();
	PoolExecutor pool(3);
	PoolLock forks[5] = { PoolLock(&pool), PoolLock(&pool), PoolLock(&pool), PoolLock(&pool),
			      PoolLock(&pool) };
	PoolQueue<int> dishes(&pool);

	for (int i = 0; i < 4; i++) {
		std::string name = "guest-" + std::to_string(i);

		corotracer::named(name.c_str(), guest_eat, pool, dishes, nr_eaten[i]);
	}
	for (size_t i = 0; i < 5; i++)
		corotracer::named(names[i], philosopher_dine, pool, forks[i], forks[(i + 1) % 5]);
	for (int i = 0; i < 250; i++) {
		dishes.put(i);
		std::this_thread::sleep_for(std::chrono::milliseconds(4));
	}
	for (int i = 0; i < 4; i++)
		dishes.put(-1);
	std::this_thread::sleep_for(std::chrono::milliseconds(100));
	pool.stop();
	return 0;
}
