// SPDX-License-Identifier: MIT
// bug_mutex_in_coroutine.cpp - a coroutine of a pool locks a mutex that a thread holds for long.
//
// The indexer is a thread and holds the catalogue's mutex while it works.  A coroutine that locks
// the same mutex stops a thread of the pool for that time.
//
// corpus: bug
// class: blocking
// at: @stuck|@blocks|@next
// victims: catalogue
// never: lost-wakeup, wake-before-suspend, leak, deadlock
#include <atomic>
#include <chrono>
#include <string>

#include "pool_executor.hpp"

using std::chrono::milliseconds;

struct Catalogue {
	std::mutex lock;
	std::atomic<bool> is_over{ false };
	long nr_items = 0;
};

static void index_build(Catalogue &catalogue)
{
	while (!catalogue.is_over) {
		std::this_thread::sleep_for(milliseconds(100));
		std::lock_guard guard(catalogue.lock);

		std::this_thread::sleep_for(milliseconds(150)); // reads its files
		catalogue.nr_items++;
	}
}

static PoolJob catalogue_serve(PoolExecutor &pool, PoolQueue<int> &requests, Catalogue &catalogue)
{
	long nr_items = 0;

	co_await pool.schedule();
	for (;;) {
		int request = co_await requests.take(); // @stuck

		if (request < 0)
			co_return;
		catalogue.lock.lock(); // @blocks
		nr_items += catalogue.nr_items;
		catalogue.lock.unlock();
		co_await pool.schedule(); // @next
	}
}

static PoolJob page_serve(PoolExecutor &pool, PoolQueue<int> &requests)
{
	co_await pool.schedule();
	for (int request = 0; request >= 0;) {
		request = co_await requests.take();
		co_await pool.schedule();
	}
}

int main()
{
	Catalogue catalogue;

	corotracer::InitTracer();
	PoolExecutor pool(2);
	PoolQueue<int> items(&pool), pages(&pool);
	std::thread indexer(index_build, std::ref(catalogue));

	corotracer::named("catalogue", catalogue_serve, pool, items, catalogue);
	for (int i = 0; i < 6; i++) {
		std::string name = "page-" + std::to_string(i);

		corotracer::named(name.c_str(), page_serve, pool, pages);
	}
	for (int i = 0; i < 300; i++) {
		if (i % 6 == 0)
			items.put(i);
		pages.put(i);
		std::this_thread::sleep_for(milliseconds(5));
	}
	catalogue.is_over = true;
	indexer.join();
	pool.stop();
	return 0;
}
