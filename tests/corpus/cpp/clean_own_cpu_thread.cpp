// SPDX-License-Identifier: MIT
// clean_own_cpu_thread.cpp - long computations run on a pool of their own.
//
// A coroutine moves to the thread for computations, computes for a while, and moves back; the
// thread has nothing else to run.
//
// corpus: clean
#include <atomic>
#include <chrono>
#include <string>

#include "pool_executor.hpp"

static uint32_t picture_scale(uint32_t seed)
{
	for (int i = 0; i < 40000000; i++)
		seed = seed * 1664525u + 1013904223u;
	return seed;
}

static PoolJob picture_run(PoolExecutor &io, PoolExecutor &cpu, std::atomic<uint32_t> &result)
{
	co_await io.schedule();
	for (int i = 0; i < 5; i++) {
		co_await cpu.schedule();
		result = picture_scale(result);
		co_await io.schedule();
	}
}

static PoolJob light_request(PoolExecutor &io, PoolQueue<int> &requests)
{
	co_await io.schedule();
	for (int request = 0; request >= 0;) {
		request = co_await requests.take();
		co_await io.schedule();
	}
}

int main()
{
	static std::atomic<uint32_t> result{ 1 };

	corotracer::InitTracer();
	PoolExecutor io(1), cpu(1);
	PoolQueue<int> requests(&io);

	for (int i = 0; i < 4; i++) {
		std::string name = "request-" + std::to_string(i);

		corotracer::named(name.c_str(), light_request, io, requests);
	}
	corotracer::named("scaler", picture_run, io, cpu, result);
	for (int i = 0; i < 250; i++) {
		requests.put(i);
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
	}
	io.stop();
	cpu.stop();
	return 0;
}
