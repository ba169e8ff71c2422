// SPDX-License-Identifier: MIT
// blocked.cpp - a coroutine that blocks its thread, and threads that only look as if they ran one.
//
//	blocked read | child | idle
#include "tasks.h"

#include <cstring>
#include <string>
#include <thread>

static Gate gate;

static Task<> waits()
{
	co_await gate.wait(); // @waits
}

static Task<> blocks(int fd)
{
	char byte;

	co_await gate.wait();
	while (read(fd, &byte, 1) == 1)
		;
}

static Task<> awaits(int fd)
{
	co_await blocks(fd); // @awaits
}

__attribute__((noinline)) static void run_one(Task<> made)
{
	auto task = made.detach();

	task.resume();
	gate.open_one();
}

// Leave addresses of coroutines and of their code on the stack.
__attribute__((noinline)) static void make_dirt()
{
	volatile char room[20000];

	room[0] = 0;
	for (int i = 0; i < 8; i++) {
		auto task = waits().detach();

		task.resume();
	}
	room[1] = room[0];
}

// The buffer covers what make_dirt() has left.
__attribute__((noinline)) static void sleep_over_dirt(int fd)
{
	volatile char room[60000];

	room[0] = 0;
	while (read(fd, const_cast<char *>(room), 1) == 1)
		;
}

int main(int argc, char **argv)
{
	std::string how = argc > 1 ? argv[1] : "";
	int ends[2];

	alarm(120);
	if (pipe(ends))
		return 1;
	if (how == "read") {
		expect(0, "waits");
		ready();
		run_one(blocks(ends[0]));
	} else if (how == "child") {
		expect(1, "awaits");
		ready();
		run_one(awaits(ends[0]));
	} else {
		expect(8, "waits");
		make_dirt();
		ready();
		sleep_over_dirt(ends[0]);
	}
	return 1;
}
