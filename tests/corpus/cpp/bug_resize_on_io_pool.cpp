// SPDX-License-Identifier: MIT
// bug_resize_on_io_pool.cpp - a pool of two threads runs requests of a few microseconds; "export"
// waits in it for a child process for 250 ms, with a blocking call.
//
// corpus: bug
// class: blocking
// victims: export-*
// never: deadlock, lost-wakeup, never-yielded
#include "coro_kit.hpp"

#include <atomic>
#include <string>

using namespace ck;

static std::atomic<bool> is_over;
static std::atomic<int> running;

static void compute_us(uint64_t us)
{
	uint64_t end = now_ns() + us * 1000;

	while (now_ns() < end)
		;
}

static task<> request(thread_pool &pool)
{
	while (!is_over) {
		co_await pool.schedule();
		compute_us(25);
	}
	running--;
}

static task<> export_page(thread_pool &pool)
{
	for (int i = 0; i < 4; i++) {
		co_await pool.schedule(); // @blocks
		std::this_thread::sleep_for(250ms);
		co_await pool.schedule(); // @blocks
	}
	running--;
}

int main()
{
	corotracer::InitTracer();
	thread_pool pool(2);

	running = 8;
	for (int i = 0; i < 6; i++)
		spawn(corotracer::named(("request-" + std::to_string(i)).c_str(), request,
					std::ref(pool)));
	for (int i = 0; i < 2; i++)
		spawn(corotracer::named(("export-" + std::to_string(i)).c_str(), export_page,
					std::ref(pool)));
	std::this_thread::sleep_for(1500ms);
	is_over = true;
	while (running > 0)
		std::this_thread::sleep_for(10ms);
	return 0;
}
