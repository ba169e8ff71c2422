// SPDX-License-Identifier: MIT
// workers.cpp - a program of the existing coroTracer header: coroutines that move between the
// threads of a pool.
#include "coroTracer.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

class Pool
{
      public:
	explicit Pool(int nr_threads)
	{
		for (int i = 0; i < nr_threads; i++)
			threads.emplace_back([this] { run(); });
	}

	~Pool()
	{
		{
			std::lock_guard<std::mutex> guard(mutex);

			ends = true;
		}
		changed.notify_all();
		for (std::thread &t : threads)
			t.join();
	}

	void post(std::coroutine_handle<> h)
	{
		std::lock_guard<std::mutex> guard(mutex);

		queue.push_back(h);
		changed.notify_one();
	}

	auto schedule()
	{
		struct Schedule {
			Pool &pool;

			bool await_ready() const noexcept
			{
				return false;
			}

			void await_suspend(std::coroutine_handle<> h) const
			{
				pool.post(h);
			}

			uint64_t await_resume() const noexcept
			{
				return corotracer::get_tid();
			}
		};

		return Schedule{ *this };
	}

      private:
	void run()
	{
		std::unique_lock<std::mutex> guard(mutex);

		for (;;) {
			changed.wait(guard, [this] { return ends || !queue.empty(); });
			if (queue.empty())
				return;
			std::coroutine_handle<> next = queue.front();

			queue.pop_front();
			guard.unlock();
			next.resume();
			guard.lock();
		}
	}

	std::mutex mutex;
	std::condition_variable changed;
	std::deque<std::coroutine_handle<>> queue;
	std::vector<std::thread> threads;
	bool ends = false;
};

struct Job {
	struct promise_type : public corotracer::PromiseMixin {
		Job get_return_object()
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
			std::terminate();
		}
	};
};

static Job work(Pool &pool, std::atomic<int> &left, std::atomic<uint64_t> &turns)
{
	for (int i = 0; i < 20; i++) {
		uint64_t tid = co_await pool.schedule();

		turns += tid == corotracer::get_tid();
	}
	left--;
}

int main()
{
	corotracer::InitTracer();
	std::atomic<int> left = 30;
	std::atomic<uint64_t> turns = 0;
	uint64_t start = corotracer::get_ns();

	{
		Pool pool(3);

		for (int i = 0; i < 30; i++)
			work(pool, left, turns);
		while (left)
			std::this_thread::yield();
	}
	std::cout << "turns " << turns << " coroutines " << 30 << " took "
		  << (corotracer::get_ns() > start) << std::endl;
	return 0;
}
