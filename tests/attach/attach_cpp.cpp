// SPDX-License-Identifier: MIT
// attach_cpp.cpp - attach_c.c in C++: "attach_cpp THREADS PACE_US [i]".  The number of each
// suspension is the resource that it waits for.
#include <corotracer/coroTracer.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr unsigned nr_long = 4;

struct Worker {
	uint64_t number = 0, count = 0;
};

struct Task {
	struct promise : corotracer::PromiseMixin {
		Task get_return_object()
		{
			return { std::coroutine_handle<promise>::from_promise(*this) };
		}

		std::suspend_always initial_suspend() noexcept
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

// An await_suspend() of each kind: void, bool, and a handle.
struct Perhaps {
	bool await_ready() const noexcept
	{
		return false;
	}

	bool await_suspend(std::coroutine_handle<>) const noexcept
	{
		return true;
	}

	void await_resume() const noexcept
	{
	}
};

struct Passes {
	bool await_ready() const noexcept
	{
		return false;
	}

	std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept
	{
		return std::noop_coroutine();
	}

	void await_resume() const noexcept
	{
	}
};

uint64_t next(Worker &w)
{
	return w.number << 48 | ++w.count;
}

Task steps(Worker &w, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		switch (i % 3) {
		case 0:
			co_await corotracer::because(corotracer::waiting(CTP_REASON_USER, next(w)),
						     std::suspend_always{});
			break;
		case 1:
			co_await corotracer::because(corotracer::waiting(CTP_REASON_USER, next(w)),
						     Perhaps{});
			break;
		default:
			co_await corotracer::because(corotracer::waiting(CTP_REASON_USER, next(w)),
						     Passes{});
		}
	}
}

void work(Worker &w, std::vector<Task> &all, const std::atomic<bool> &stop, long pace_us)
{
	while (!stop) {
		for (Task &task : all)
			task.handle.resume();
		Task brief = corotracer::named("brief", steps, std::ref(w), 1);

		brief.handle.resume();
		brief.handle.destroy();
		if (pace_us)
			std::this_thread::sleep_for(std::chrono::microseconds(pace_us));
	}
}

} // namespace

int main(int argc, char **argv)
{
	const size_t nr = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 2;
	const long pace_us = argc > 2 ? std::atol(argv[2]) : 200;
	std::vector<Worker> workers(nr);
	std::vector<std::vector<Task>> all(nr);
	std::vector<std::thread> threads;
	std::atomic<bool> stop = false;
	char line[64];

	for (size_t i = 0; i < nr; i++) {
		workers[i].number = i + 1;
		for (unsigned k = 0; k < nr_long; k++)
			all[i].push_back(corotracer::named("early", steps, std::ref(workers[i]),
							   UINT64_MAX));
	}
	std::puts("ready");
	std::fflush(stdout);
	if (argc > 3 && argv[3][0] == 'i')
		(void)!std::fgets(line, sizeof(line), stdin);
	for (size_t i = 0; i < nr; i++)
		threads.emplace_back([&, i] { work(workers[i], all[i], stop, pace_us); });
	while (std::fgets(line, sizeof(line), stdin))
		;
	stop = true;
	for (size_t i = 0; i < nr; i++) {
		threads[i].join();
		for (Task &task : all[i])
			task.handle.destroy();
		std::printf("%llu %llu\n", static_cast<unsigned long long>(workers[i].number),
			    static_cast<unsigned long long>(workers[i].count));
	}
	return 0;
}
