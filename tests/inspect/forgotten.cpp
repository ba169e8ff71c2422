// SPDX-License-Identifier: MIT
// forgotten.cpp - of a thousand waiting coroutines, ten are forgotten: no handle of them exists.
#include "tasks.h"

#include <cstring>

static std::vector<std::coroutine_handle<>> registry;

struct Enroll {
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> self)
	{
		registry.push_back(self);
	}
	void await_resume()
	{
	}
};

static Task<> wait_for_message(int)
{
	co_await Enroll{}; // @message
}

static Task<> client(int id)
{
	co_await wait_for_message(id); // @client
}

int main()
{
	registry.reserve(1000);
	for (int i = 0; i < 1000; i++)
		client(i).detach().resume();
	for (size_t i = 50; i < 1000; i += 100)
		registry[i] = nullptr;
	expect(1000, "message client");
	std::printf("forgotten 10\n");
	ready();
	pause();
}
