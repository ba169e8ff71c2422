// SPDX-License-Identifier: MIT
// variables.cpp - 1003 coroutines whose variables are computed from their number.
#include "../inspect/tasks.h"

#include <string>

struct Pair {
	int twice;
};

static Gate gate;
static volatile int sink;

static Task<void> client(int number)
{
	std::string text(static_cast<size_t>(number % 50), 'x');
	Pair pair = { 2 * number };
	int list[2] = { number, -number };

	co_await gate.wait(number); // @client
	sink = pair.twice + list[0] + static_cast<int>(text.size());
}

int main()
{
	for (int number = 0; number < 1003; number++) {
		auto task = client(number);

		task.start();
		task.detach();
	}
	ready();
	pause();
}
