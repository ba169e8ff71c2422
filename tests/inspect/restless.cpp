// SPDX-License-Identifier: MIT
// restless.cpp - a program that changes while it is looked at: coroutines are created and
// destroyed, memory is mapped and unmapped, threads and processes come and go.
#include "tasks.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>

static Gate gate;

static Task<int> inner(int n)
{
	co_return co_await gate.wait(n); // @inner
}

static Task<> outer(int n)
{
	std::printf("%d\n", co_await inner(n)); // @outer
}

static void churn()
{
	for (;;) {
		std::vector<Task<>> tasks;

		for (int i = 0; i < 500; i++) {
			tasks.push_back(outer(i));
			tasks.back().start();
		}
		gate.waiting.clear();
		void *memory = mmap(nullptr, 1 << 22, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory != MAP_FAILED) {
			std::memset(memory, 0x55, 1 << 22);
			munmap(memory, 1 << 22);
		}
	}
}

int main(int argc, char **)
{
	alarm(900);
	std::printf("ready\n");
	std::fflush(stdout);
	std::freopen("/dev/null", "w", stdout);
	std::thread([] {
		for (;;)
			std::thread([] { usleep(1000); }).join();
	}).detach();
	std::thread([] {
		for (;;) {
			pid_t child = fork();

			if (!child)
				_exit(0);
			waitpid(child, nullptr, 0);
		}
	}).detach();
	if (argc > 1)
		std::thread([] {
			usleep(300000);
			_exit(0);
		}).detach();
	churn();
}
