// SPDX-License-Identifier: MIT
/*
 * memory_coroutines.cpp - C++ coroutines with known accesses to memory, for `mem c++`.
 *
 *	truth_memory_coroutines_cpp WORKERS THREADS ROUNDS
 *
 * Threads take workers from one queue, so workers move between threads at any time.  In each round
 *a worker writes to its own array around four awaits (one suspends, one may, one throws, one is a
 * nested generator whose end is not traced) and the generator writes behind it.  Prints the arrays
 * and the writes to them as one JSON object.
 */
#include <atomic>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <corotracer/coroTracer.h>

static std::mutex lock;
static std::deque<std::coroutine_handle<>> ready;
static std::atomic<int> left;

static void make_ready(std::coroutine_handle<> h)
{
	std::lock_guard<std::mutex> guard(lock);

	ready.push_back(h);
}

struct Yield {
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		make_ready(h);
	}
	void await_resume()
	{
	}
};

struct Maybe {
	bool suspends;

	bool await_ready()
	{
		return false;
	}
	bool await_suspend(std::coroutine_handle<> h)
	{
		bool result = suspends; // the coroutine may be gone after the next line

		if (result)
			make_ready(h);
		return result;
	}
	void await_resume()
	{
	}
};

struct Throws {
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<>)
	{
		throw 1;
	}
	void await_resume()
	{
	}
};

struct Task {
	struct promise_type : corotracer::PromiseMixin {
		Task get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		auto initial_suspend()
		{
			return trace_initial(std::suspend_always{});
		}
		auto final_suspend() noexcept
		{
			return trace_final(std::suspend_never{});
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			abort();
		}
	};
	std::coroutine_handle<promise_type> handle;
};

struct Generator {
	struct promise_type : corotracer::PromiseMixin {
		Generator get_return_object()
		{
			return Generator(std::coroutine_handle<promise_type>::from_promise(*this));
		}
		auto initial_suspend()
		{
			return trace_initial(std::suspend_always{});
		}
		auto final_suspend() noexcept
		{
			return std::suspend_always{};
		}
		auto yield_value(int)
		{
			return trace_yield(std::suspend_always{});
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			abort();
		}
	};
	explicit Generator(std::coroutine_handle<promise_type> h) : handle(h)
	{
	}
	Generator(const Generator &) = delete;
	Generator &operator=(const Generator &) = delete;
	~Generator()
	{
		handle.destroy();
	}
	std::coroutine_handle<promise_type> handle;
};

static Generator numbers(volatile long *to, int nr)
{
	for (int i = 0; i < nr; i++) {
		to[i] = i;
		co_yield i;
	}
}

static Task worker(volatile long *own, int rounds)
{
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < 16; i++)
			own[i] = round;
		co_await Yield{};
		own[16] = round;
		co_await Maybe{ round % 3 == 0 };
		own[17] = round;
		try {
			co_await Throws{};
		} catch (int) {
			own[18] = round;
		}
		Generator some = numbers(own + 32, 3);

		for (int i = 0; i < 3; i++) {
			some.handle.resume();
			own[19] = i;
		}
	}
	left--;
}

static void run_all()
{
	while (left > 0) {
		std::coroutine_handle<> next;
		{
			std::lock_guard<std::mutex> guard(lock);

			if (!ready.empty()) {
				next = ready.front();
				ready.pop_front();
			}
		}
		if (next)
			next.resume();
		else
			std::this_thread::yield();
	}
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 20, nr_threads = argc > 2 ? atoi(argv[2]) : 3;
	int rounds = argc > 3 ? atoi(argv[3]) : 10;
	std::vector<std::thread> threads;
	std::vector<long *> arrays;

	corotracer::InitTracer();
	left = nr;
	for (int i = 0; i < nr; i++) {
		arrays.push_back(static_cast<long *>(aligned_alloc(64, 512)));
		make_ready(worker(arrays.back(), rounds).handle);
	}
	for (int i = 0; i < nr_threads; i++)
		threads.emplace_back(run_all);
	for (std::thread &t : threads)
		t.join();
	printf("{\"worker\":%d,\"numbers\":%d,\"arrays\":[", nr * rounds * (16 + 3 + 3),
	       nr * rounds * 3);
	for (int i = 0; i < nr; i++)
		printf("%s%lu", i ? "," : "", reinterpret_cast<unsigned long>(arrays[i]));
	puts("]}");
	return 0;
}
