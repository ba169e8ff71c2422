// SPDX-License-Identifier: MIT
// program.cpp - C++20 coroutines that count their own suspensions.
//
//	truth_program_cpp FILE THREADS COROUTINES ROUNDS HOLD_MS
//
// Each thread has COROUTINES coroutines that suspend ROUNDS times and end; the last one of each
// thread is left suspended after half of them.  FILE receives one JSON object: what was counted in
// the awaiter, when the last suspension of the coroutines that are left was, when the program
// ended.
#include <corotracer/coroTracer.h>

#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{

struct Counts {
	unsigned long created = 0, ended = 0, suspends = 0, resumes = 0;
	unsigned long last_before = 0, last_after = 0;
};

thread_local std::deque<std::coroutine_handle<>> parked;
thread_local Counts counts;

unsigned long now_ns()
{
	timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return static_cast<unsigned long>(ts.tv_sec) * 1000000000ul +
	       static_cast<unsigned long>(ts.tv_nsec);
}

struct Park {
	bool await_ready() const noexcept
	{
		return false;
	}

	void await_suspend(std::coroutine_handle<> h) const
	{
		parked.push_back(h);
		counts.suspends++;
	}

	void await_resume() const noexcept
	{
		counts.resumes++;
	}
};

struct Eager {
	struct promise_type : corotracer::PromiseMixin {
		promise_type()
		{
			counts.created++;
		}

		~promise_type()
		{
			counts.ended++;
		}

		Eager get_return_object()
		{
			return {};
		}

		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}

		std::suspend_never final_suspend() noexcept
		{
			return {};
		}

		void return_void()
		{
		}

		void unhandled_exception()
		{
			std::abort();
		}
	};
};

Eager work(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++)
		co_await Park{};
}

// Suspends once and is never resumed.
Eager wait_for_ever()
{
	co_await Park{};
}

void run_thread(unsigned coroutines, unsigned rounds, Counts *result)
{
	for (unsigned i = 1; i < coroutines; i++)
		work(rounds);
	while (!parked.empty()) {
		std::coroutine_handle<> h = parked.front();

		parked.pop_front();
		h.resume();
	}
	counts.last_before = now_ns();
	wait_for_ever();
	counts.last_after = now_ns();
	*result = counts;
}

void put_truth(const char *path, const std::vector<Counts> &all)
{
	std::FILE *f = std::fopen(path, "w");

	if (!f)
		std::exit(97);
	std::fprintf(f, "{\"pid\":%d,\"threads\":[", static_cast<int>(getpid()));
	for (const Counts &c : all)
		std::fprintf(f,
			     "%s{\"created\":%lu,\"ended\":%lu,\"suspends\":%lu,\"resumes\":%lu,"
			     "\"last\":[%lu,%lu]}",
			     &c == &all.front() ? "" : ",", c.created, c.ended, c.suspends,
			     c.resumes, c.last_before, c.last_after);
	std::fprintf(f, "],\"exit\":%lu}\n", now_ns());
	std::fclose(f);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 6)
		return 98;
	unsigned threads = static_cast<unsigned>(std::atoi(argv[2]));
	unsigned coroutines = static_cast<unsigned>(std::atoi(argv[3]));
	unsigned rounds = static_cast<unsigned>(std::atoi(argv[4]));
	std::vector<Counts> all(threads);
	std::vector<std::thread> running;

	corotracer::InitTracer();
	for (Counts &c : all)
		running.emplace_back(run_thread, coroutines, rounds, &c);
	for (std::thread &t : running)
		t.join();
	usleep(static_cast<useconds_t>(std::atoi(argv[5])) * 1000);
	put_truth(argv[1], all);
	return 0;
}
