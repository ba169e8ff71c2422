// SPDX-License-Identifier: MIT
// late_cpp.cpp - late_c.c in C++: "late_cpp THREADS MS".
#include <corotracer/coroTracer.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

std::atomic<unsigned long> late_begun; // threads that have a coroutine, for slow.c

namespace
{

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds run_time;
unsigned long nr_threads;
std::atomic<unsigned long> nr_events, nr_coroutines;

struct Task {
	struct promise : corotracer::PromiseMixin {
		Task get_return_object()
		{
			nr_coroutines++;
			return { std::coroutine_handle<promise>::from_promise(*this) };
		}

		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}

		auto final_suspend() noexcept
		{
			return trace_final(std::suspend_always{});
		}

		void return_void()
		{
		}

		void unhandled_exception()
		{
			std::terminate();
		}
	};

	using promise_type = promise;
	std::coroutine_handle<promise> handle;
};

Task waits(const bool *stop)
{
	do
		co_await std::suspend_always{};
	while (!*stop);
}

// Suspended at once: one suspend per co_await, and resumed by turn().
Task begin(const char *name, const bool *stop)
{
	Task task = corotracer::named(name, waits, stop);

	nr_events++;
	return task;
}

void turn(const Task &task)
{
	corotracer::wake(task.handle);
	task.handle.resume();
	nr_events += task.handle.done() ? 1 : 2;
}

void run()
{
	static const bool at_once = true, never = false;
	bool stop = false;
	int rounds = 0;
	Clock::time_point start = Clock::now();
	Task all_the_time = begin("all the time", &stop);

	late_begun++;
	(void)begin("left", &never);
	do {
		Task other = begin("comes and goes", &at_once);

		turn(other);
		turn(all_the_time);
		other.handle.destroy();
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
		if (late_begun == nr_threads)
			rounds++;
	} while (Clock::now() - start < run_time || (run_time.count() && rounds < 100));
	stop = true;
	turn(all_the_time);
	all_the_time.handle.destroy();
}

} // namespace

int main(int argc, char **argv)
{
	std::vector<std::thread> threads;

	run_time = std::chrono::milliseconds(argc > 2 ? std::atol(argv[2]) : 800);
	nr_threads = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 8;
	for (unsigned long i = 0; i < nr_threads; i++)
		threads.emplace_back(run);
	for (std::thread &thread : threads)
		thread.join();
	std::fprintf(stderr, "target: %lu events of %lu\n", nr_events.load(), nr_coroutines.load());
	return 0;
}
