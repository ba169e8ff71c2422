// SPDX-License-Identifier: MIT
// futures.cpp - threads that wait for futures, and threads that wait in the same system call for
// something else.
#include "tasks.h"

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <sys/syscall.h>
#include <thread>

static std::promise<int> promised, timed;
static std::promise<void> never;
static std::atomic<int> started;
static std::atomic<unsigned> number{ 0x80000000u };
static std::mutex held;

static long thread_number()
{
	return syscall(SYS_gettid);
}

static void say(const char *what)
{
	std::printf("%s %ld\n", what, thread_number());
	std::fflush(stdout);
	started++;
}

static int compute()
{
	say("computes");
	never.get_future().wait();
	return 1;
}

template <class Wait> static void start_thread(const char *what, Wait wait)
{
	int before = started;

	std::thread([what, wait]() mutable {
		say(what);
		wait();
	}).detach();
	while (started == before)
		std::this_thread::yield();
}

static Task<> waits()
{
	co_await std::suspend_always();
}

int main()
{
	alarm(120);
	auto task = waits().detach();
	task.resume();
	held.lock();
	static auto computed = std::async(std::launch::async, compute);
	while (started == 0)
		std::this_thread::yield();
	static std::packaged_task<int()> packed([] { return 1; });
	start_thread("promise", [f = promised.get_future().share()] { f.wait(); });
	start_thread("timed",
		     [f = timed.get_future().share()] { f.wait_for(std::chrono::hours(1)); });
	start_thread("async", [] { computed.wait(); });
	start_thread("async_timed", [] { computed.wait_for(std::chrono::hours(1)); });
	start_thread("packaged", [f = packed.get_future().share()] { f.get(); });
	start_thread("mutex", [] { held.lock(); });
	start_thread("number", [] { number.wait(0x80000000u); });
	std::this_thread::sleep_for(std::chrono::milliseconds(200));
	ready();
	for (;;)
		pause();
}
