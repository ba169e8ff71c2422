// SPDX-License-Identifier: MIT
// resumed.cc - coroutines of C++20 that continue in other threads, and that transfer to each other.
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <thread>

static volatile long cells[4096];

__attribute__((noinline)) static void leaf(unsigned from)
{
	for (unsigned i = 0; i < 50; i++)
		cells[(from + i) % 4096] = cells[(from + i) % 4096] + 1;
}

struct task {
	struct promise_type {
		std::coroutine_handle<> waiting;

		task get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		struct last {
			bool await_ready() noexcept
			{
				return false;
			}
			std::coroutine_handle<>
			await_suspend(std::coroutine_handle<promise_type> h) noexcept
			{
				return h.promise().waiting ? h.promise().waiting
							   : std::noop_coroutine();
			}
			void await_resume() noexcept
			{
			}
		};
		last final_suspend() noexcept
		{
			return {};
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

	bool await_ready()
	{
		return false;
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> h)
	{
		handle.promise().waiting = h;
		return handle;
	}
	void await_resume()
	{
		handle.destroy();
	}
};

// What awaits it goes on in another thread, which resumes it after the first one has returned.
static std::coroutine_handle<> next;
struct elsewhere {
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		next = h;
	}
	void await_resume()
	{
	}
};

static task child(unsigned from)
{
	leaf(from);
	co_await elsewhere{};
	leaf(from + 1);
}

static task parent(unsigned turns)
{
	for (unsigned i = 0; i < turns; i++) {
		leaf(i);
		co_await child(i * 3);
	}
}

__attribute__((noinline)) static void worker(std::coroutine_handle<> h)
{
	h.resume();
	leaf(3);
}

int main()
{
	task all = parent(8);
	unsigned threads = 0;

	next = all.handle;
	while (!all.handle.done()) {
		std::thread t(worker, next);

		t.join();
		threads++;
	}
	all.handle.destroy();
	printf("%u\n", threads);
	return 0;
}
