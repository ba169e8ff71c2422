// SPDX-License-Identifier: MIT
// twins.cpp - coroutines that run all the time, and others that run now and then; the variables of
// one have always the same value when it is suspended.
#include "tasks.h"

#include <chrono>
#include <thread>

static volatile long sink;

static Task<void> twins(int number, Gate &gate)
{
	long first = 0, values[64] = {}, last = 0;

	for (;;) {
		first++;
		for (long &value : values)
			value = first;
		last = first;
		co_await gate.wait(number); // @twins
		sink = values[first % 64] + last;
	}
}

static void start(Gate &gate)
{
	for (int number = 0; number < 20; number++) {
		auto task = twins(number, gate);

		task.start();
		task.detach();
	}
}

int main()
{
	static Gate hot, cold;

	start(hot);
	start(cold);
	std::thread runner([] {
		for (;;)
			hot.open_one();
	});
	ready();
	for (;;) {
		cold.open_one();
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
}
