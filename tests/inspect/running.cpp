// SPDX-License-Identifier: MIT
// running.cpp - a thread blocks in a coroutine, and the stack is full of addresses of its siblings.
//
//	running SEED: prints the address of the frame that runs.
//	running fresh: coroutines that were just created run, and those whose addresses are printed
//	never run for long.
#include "tasks.h"

#include <cstdint>
#include <cstdlib>
#include <fcntl.h>

static unsigned seed;
static std::vector<std::coroutine_handle<>> parked;
static std::coroutine_handle<> chosen; // the one that blocks

static unsigned draw(unsigned below)
{
	return static_cast<unsigned>(rand_r(&seed)) % below;
}

struct Park {
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> self)
	{
		parked.push_back(self);
	}
	void await_resume()
	{
	}
};

// The coroutine's own handle, without a suspension.
struct Self {
	std::coroutine_handle<> self;
	bool await_ready()
	{
		return false;
	}
	bool await_suspend(std::coroutine_handle<> h)
	{
		self = h;
		return false;
	}
	std::coroutine_handle<> await_resume()
	{
		return self;
	}
};

__attribute__((noinline)) static void block_here(std::coroutine_handle<> self, const char *name)
{
	char byte;
	int ends[2];

	if (pipe(ends))
		return;
	std::printf("frame %zu\n", reinterpret_cast<size_t>(self.address()));
	std::printf("name %s\n", name);
	ready();
	while (read(ends[0], &byte, 1) == 1)
		;
}

// Room on the stack that is not initialized: what was there before stays.
static void touch(volatile char *room)
{
	room[0] = 0;
}

#define WORKER(n)                                                   \
	static Task<int> work##n(unsigned depth)                    \
	{                                                           \
		volatile char room[16 + 64 * n];                    \
		int sum = 0;                                        \
                                                                    \
		for (;;) {                                          \
			auto self = co_await Self{};                \
                                                                    \
			touch(room);                                \
			if (self == chosen)                         \
				block_here(self, __func__);         \
			if (depth && draw(3) == 0)                  \
				sum += co_await work##n(depth - 1); \
			else                                        \
				co_await Park{};                    \
			if (draw(8) == 0 && self != chosen)         \
				co_return sum;                      \
		}                                                   \
	}

WORKER(0)
WORKER(1)
WORKER(2)

// The same function for those that only sleep and those that block.
static Task<int> either(bool is_sleeper)
{
	volatile char room[256];

	for (int i = 0; is_sleeper || i < 3; i++) {
		touch(room);
		if (is_sleeper)
			co_await Park{};
		else
			usleep(3000);
	}
	co_return 1;
}

[[noreturn]] static void run_fresh()
{
	std::vector<Task<int>> sleepers, kept;

	for (int i = 0; i < 20; i++) {
		sleepers.push_back(either(true));
		sleepers.back().start();
		std::printf("sleeper %zu\n", reinterpret_cast<size_t>(parked.back().address()));
	}
	ready();
	for (unsigned i = 0;; i++) {
		auto next = parked[i % 20];

		std::erase(parked, next);
		next.resume(); // leaves its address on the stack
		kept.push_back(either(false));
		kept.back().start();
		if (kept.size() == 1000)
			kept.clear();
	}
}

int main(int argc, char **argv)
{
	std::vector<Task<int>> tasks;

	seed = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
	alarm(120);
	if (argc > 1 && argv[1][0] == 'f')
		run_fresh();
	for (int i = 0; i < 40; i++) {
		unsigned which = draw(3);

		tasks.push_back(which == 0 ? work0(3) : which == 1 ? work1(3) : work2(3));
		tasks.back().start();
	}
	for (int i = 0; i < 400 && !parked.empty(); i++) {
		size_t at = draw(static_cast<unsigned>(parked.size()));
		auto next = parked[at];

		parked.erase(parked.begin() + static_cast<long>(at));
		next.resume();
	}
	while (!parked.empty()) {
		chosen = parked[draw(static_cast<unsigned>(parked.size()))];
		std::erase(parked, chosen);
		chosen.resume();
	}
	return 0;
}
