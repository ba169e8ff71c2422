// SPDX-License-Identifier: MIT
// hidden.cpp - a coroutine whose only handle is in an unusual place.  It can be resumed, always.
//
//	hidden epoll | register | low-tag | high-tag | shared | queues
#include "tasks.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>

static uintptr_t parked;

struct Park {
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> self)
	{
		parked = reinterpret_cast<uintptr_t>(self.address());
	}
	void await_resume()
	{
	}
};

static Task<> hidden()
{
	co_await Park{}; // @hidden
}

// Start a coroutine and take its only handle out of memory.
__attribute__((noinline)) static uintptr_t make()
{
	hidden().detach().resume();
	return std::exchange(parked, 0);
}

// Overwrite what earlier calls have left on the stack.
__attribute__((noinline)) static void clean_stack()
{
	volatile char dirt[16384];

	for (size_t i = 0; i < sizeof(dirt); i++)
		dirt[i] = 0;
}

static void in_epoll()
{
	int set = epoll_create1(0);
	epoll_event event = { .events = EPOLLIN, .data = { .u64 = make() } };

	epoll_ctl(set, EPOLL_CTL_ADD, eventfd(0, 0), &event);
	event.data.u64 = 0;
	clean_stack();
	ready();
	epoll_wait(set, &event, 1, -1);
}

// The handle is in a register that system calls preserve, and nowhere else.
static void in_register()
{
#ifdef __x86_64__
	uintptr_t key = 0x5a5a5a5a5a5a5a5a;

	parked = make() ^ key;
	clean_stack();
	ready();
	__asm__ volatile("movq %[parked], %%r15\n\t"
			 "xorq %[key], %%r15\n\t"
			 "movq $0, %[parked]\n"
			 "1:\tmovl $34, %%eax\n\t" // pause
			 "syscall\n\t"
			 "jmp 1b"
			 : [parked] "+m"(parked)
			 : [key] "r"(key)
			 : "rax", "rcx", "r11", "r15", "memory");
#else
	ready();
	pause();
#endif
}

static void tagged(uintptr_t mask)
{
	static uintptr_t keep;

	keep = make() | mask;
	clean_stack();
	ready();
	pause();
	std::printf("%zx\n", static_cast<size_t>(keep));
}

static void in_shared_memory()
{
	void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*static_cast<uintptr_t *>(page) = make();
	clean_stack();
	ready();
	pause();
}

// Two threads pass many coroutines to each other all the time.
static void between_queues()
{
	static std::array<std::deque<std::coroutine_handle<>>, 2> queues;
	static std::mutex lock;

	for (int i = 0; i < 200; i++)
		queues[0].push_back(
			std::coroutine_handle<>::from_address(reinterpret_cast<void *>(make())));
	auto move = [](int from) {
		for (;;) {
			std::coroutine_handle<> taken;
			{
				std::lock_guard guard(lock);

				if (!queues[from].empty()) {
					taken = queues[from].front();
					queues[from].pop_front();
				}
			}
			if (!taken)
				continue;
			std::lock_guard guard(lock);

			queues[1 - from].push_back(taken);
		}
	};
	std::thread other(move, 1);

	ready();
	move(0);
}

int main(int argc, char **argv)
{
	std::string where = argc > 1 ? argv[1] : "";

	expect(where == "queues" ? 200 : 1, "hidden");
	alarm(120);
	if (where == "epoll")
		in_epoll();
	else if (where == "register")
		in_register();
	else if (where == "low-tag")
		tagged(3);
	else if (where == "high-tag")
		tagged(uintptr_t(0xabcd) << 48);
	else if (where == "shared")
		in_shared_memory();
	else if (where == "queues")
		between_queues();
	return 1;
}
