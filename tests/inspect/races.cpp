// SPDX-License-Identifier: MIT
// races.cpp - coroutines come and go while the program is looked at.
//
// Four families of three functions have frames of the same size, so that memory changes hands
// between them; a stack with functions of two families, or in another order, is wrong.  Meanwhile
// memory is unmapped, processes are forked, and with "exec" or "exit" the program ends.
#include "tasks.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>

#define FAMILY(n)                                           \
	static Task<int> leaf##n(Gate &gate)                \
	{                                                   \
		co_return co_await gate.wait(n);            \
	}                                                   \
	static Task<int> middle##n(Gate &gate)              \
	{                                                   \
		co_return co_await leaf##n(gate) + n;       \
	}                                                   \
	static Task<int> root##n(Gate &gate)                \
	{                                                   \
		co_return co_await middle##n(gate) + 2 * n; \
	}

FAMILY(0)
FAMILY(1)
FAMILY(2)
FAMILY(3)

static Task<int> make_any(Gate &gate, unsigned which)
{
	Task<int> (*const makers[])(Gate &) = { root0, root1, root2, root3 };

	return makers[which % 4](gate);
}

// Create, resume and destroy in random order.
static void churn(unsigned seed, bool is_gentle)
{
	std::vector<std::unique_ptr<Task<int>>> tasks(200);
	std::vector<std::unique_ptr<Gate>> gates(200);

	for (;;) {
		unsigned at = static_cast<unsigned>(rand_r(&seed)) % 200;

		if (tasks[at] && !gates[at]->waiting.empty() && rand_r(&seed) % 2)
			gates[at]->open_one();
		tasks[at].reset();
		gates[at] = std::make_unique<Gate>();
		tasks[at] = std::make_unique<Task<int>>(
			make_any(*gates[at], static_cast<unsigned>(rand_r(&seed))));
		if (rand_r(&seed) % 8)
			tasks[at]->start();
		if (is_gentle && rand_r(&seed) % 64 == 0)
			usleep(1000);
	}
}

static void map_and_unmap()
{
	for (;;) {
		void *memory = mmap(nullptr, 1 << 22, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			continue;
		std::memset(memory, 0x55, 1 << 22);
		munmap(memory, 1 << 22);
	}
}

static void fork_often()
{
	for (;;) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		waitpid(child, nullptr, 0);
		try {
			std::thread([] { usleep(100); }).join();
		} catch (const std::system_error &) {
			// Too many threads on the machine at the moment.
		}
	}
}

int main(int argc, char **argv)
{
	std::string end = argc > 1 ? argv[1] : "";

	alarm(300);
	ready();
	std::freopen("/dev/null", "w", stdout);
	std::thread(map_and_unmap).detach();
	std::thread(fork_often).detach();
	std::thread(churn, 7, true).detach();
	if (end == "exec")
		std::thread([argv] {
			usleep(50000);
			execl("/proc/self/exe", argv[0], "exec", nullptr);
		}).detach();
	if (end == "exit")
		std::thread([] {
			usleep(100000);
			_exit(0);
		}).detach();
	churn(1, false);
}
