// SPDX-License-Identifier: MIT
// bug_mixin_lost_parent.cpp - the smallest use of the SDK: a promise with the mixin, no reasons, no
// names, no wakes.  A task that ends with an exception does not resume the one that awaits it.
//
// corpus: bug
// class: lost-wakeup|destroyed-suspended
// confidence: info
// at: @child
// count: 1
// never: deadlock, leak, starvation
#include <chrono>
#include <coroutine>
#include <cstdlib>
#include <list>
#include <queue>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <corotracer/coroTracer.h>

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

struct Later {
	Clock::time_point when;
	std::coroutine_handle<> what;

	bool operator<(const Later &other) const
	{
		return when > other.when;
	}
};

static std::priority_queue<Later> later;

struct Task {
	struct promise_type : corotracer::PromiseMixin {
		std::coroutine_handle<> parent;

		Task get_return_object()
		{
			return Task(std::coroutine_handle<promise_type>::from_promise(*this));
		}
		std::suspend_never initial_suspend()
		{
			return {};
		}
		struct Final {
			bool await_ready() noexcept
			{
				return false;
			}
			std::coroutine_handle<>
			await_suspend(std::coroutine_handle<promise_type> h) noexcept
			{
				auto parent = h.promise().parent;

				return parent ? parent : std::noop_coroutine();
			}
			void await_resume() noexcept
			{
			}
		};
		Final final_suspend() noexcept
		{
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			parent = nullptr; // the bug: "the result is not needed"
		}
	};

	explicit Task(std::coroutine_handle<promise_type> h) : handle(h)
	{
	}
	Task(const Task &) = delete;
	~Task()
	{
		if (handle)
			handle.destroy();
	}
	std::coroutine_handle<promise_type> release()
	{
		return std::exchange(handle, nullptr);
	}
	bool await_ready() const
	{
		return handle.done();
	}
	void await_suspend(std::coroutine_handle<> parent)
	{
		handle.promise().parent = parent;
	}
	void await_resume()
	{
	}

	std::coroutine_handle<promise_type> handle;
};

struct Sleep {
	std::chrono::milliseconds length;

	bool await_ready() const
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h) const
	{
		later.push({ Clock::now() + length, h });
	}
	void await_resume() const
	{
	}
};

static Task convert(int i)
{
	co_await Sleep{ 4ms + std::chrono::milliseconds(i % 3) };
	if (i == 333)
		throw std::runtime_error("bad pixel");
}

static Task job(int first)
{
	for (int i = first; i < first + 60; i++) {
		co_await convert(i); // @child
		co_await Sleep{ 6ms };
	}
}

int main()
{
	const char *extra = std::getenv("CORPUS_EXTRA_MS");
	auto end = Clock::now() + 2500ms + std::chrono::milliseconds(extra ? std::atoi(extra) : 0);

	corotracer::InitTracer();
	std::list<Task> jobs;

	for (int i = 0; i < 8; i++)
		jobs.emplace_back(job(i * 60).release());
	while (Clock::now() < end) {
		while (!later.empty() && later.top().when <= Clock::now()) {
			auto h = later.top().what;

			later.pop();
			h.resume();
		}
		std::this_thread::sleep_for(1ms);
	}
	return 0;
}
