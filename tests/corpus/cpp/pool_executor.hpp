// SPDX-License-Identifier: MIT
// pool_executor.hpp - PoolJob and PoolExecutor: detached coroutines on a few threads.
//
//	PoolJob work(PoolExecutor &pool)
//	{
//		co_await pool.schedule();	// continues on a thread of the pool
//		...
//	}
//
// The promise uses only the base class of the SDK.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <corotracer/coroTracer.h>

struct PoolJob {
	struct promise_type : corotracer::PromiseMixin {
		PoolJob get_return_object() const noexcept
		{
			return {};
		}
		std::suspend_never initial_suspend() const noexcept
		{
			return {};
		}
		std::suspend_never final_suspend() const noexcept
		{
			return {};
		}
		void return_void() const noexcept
		{
		}
		void unhandled_exception() const noexcept
		{
			std::terminate();
		}
	};
};

class PoolExecutor
{
      public:
	enum class Order { fifo, lifo };

	explicit PoolExecutor(unsigned nr_threads, Order order = Order::fifo) : order_(order)
	{
		for (unsigned i = 0; i < nr_threads; i++)
			threads_.emplace_back([this] { run_thread(); });
	}
	PoolExecutor(const PoolExecutor &) = delete;
	~PoolExecutor()
	{
		stop();
	}

	struct Schedule {
		PoolExecutor *pool;

		bool await_ready() const noexcept
		{
			return false;
		}
		void await_suspend(std::coroutine_handle<> h) const
		{
			pool->post(h);
		}
		void await_resume() const noexcept
		{
		}
	};

	Schedule schedule()
	{
		return { this };
	}
	void post(std::coroutine_handle<> h)
	{
		// Before other threads can see it: after that it may be destroyed.
		corotracer::wake(h);
		std::lock_guard guard(lock_);

		ready_.push_back(h);
		some_ready_.notify_one();
	}
	// Coroutines that are still ready are left as they are.
	void stop()
	{
		{
			std::lock_guard guard(lock_);

			is_stopping_ = true;
		}
		some_ready_.notify_all();
		for (std::thread &t : threads_)
			t.join();
		threads_.clear();
	}

      private:
	std::coroutine_handle<> take_ready()
	{
		std::unique_lock guard(lock_);
		std::coroutine_handle<> h;

		some_ready_.wait(guard, [this] { return is_stopping_ || !ready_.empty(); });
		if (is_stopping_)
			return h;
		if (order_ == Order::fifo) {
			h = ready_.front();
			ready_.pop_front();
		} else {
			h = ready_.back();
			ready_.pop_back();
		}
		return h;
	}

	void run_thread()
	{
		while (std::coroutine_handle<> h = take_ready())
			h.resume();
	}

	Order order_;
	std::mutex lock_;
	std::condition_variable some_ready_;
	std::deque<std::coroutine_handle<>> ready_;
	bool is_stopping_ = false;
	std::vector<std::thread> threads_;
};

// A lock for coroutines of a pool; unlock() passes it to the coroutine that waits longest.
class PoolLock
{
      public:
	explicit PoolLock(PoolExecutor *pool) : pool_(pool)
	{
	}

	struct Taking {
		PoolLock *lock;

		bool await_ready() const noexcept
		{
			return false;
		}
		bool await_suspend(std::coroutine_handle<> h) const
		{
			std::lock_guard guard(lock->lock_);

			if (!std::exchange(lock->is_held_, true))
				return false;
			lock->waiting_.push_back(h);
			return true;
		}
		void await_resume() const
		{
			corotracer::acquired(lock);
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::locking(lock);
		}
	};

	Taking take()
	{
		return { this };
	}
	void unlock()
	{
		std::coroutine_handle<> next;

		corotracer::released(this);
		{
			std::lock_guard guard(lock_);

			if (waiting_.empty()) {
				is_held_ = false;
			} else {
				next = waiting_.front();
				waiting_.pop_front();
			}
		}
		if (next)
			pool_->post(next);
	}

      private:
	PoolExecutor *pool_;
	std::mutex lock_;
	bool is_held_ = false;
	std::deque<std::coroutine_handle<>> waiting_;
};

// A queue of work for coroutines of a pool; the coroutine that went to sleep last is woken first,
// because its data is still in the cache.
template <class T> class PoolQueue
{
      public:
	explicit PoolQueue(PoolExecutor *pool) : pool_(pool)
	{
	}

	class Taking
	{
	      public:
		explicit Taking(PoolQueue *q) : queue(q)
		{
		}
		Taking(const Taking &) = delete;

		bool await_ready() const noexcept
		{
			return false;
		}
		bool await_suspend(std::coroutine_handle<> h)
		{
			std::lock_guard guard(queue->lock_);

			self = h;
			if (!queue->items_.empty()) {
				item.emplace(std::move(queue->items_.front()));
				queue->items_.pop_front();
				return false;
			}
			queue->waiting_.push_back(this);
			return true;
		}
		T await_resume()
		{
			return std::move(*item);
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::receiving(queue);
		}

	      private:
		friend class PoolQueue;
		PoolQueue *queue;
		std::optional<T> item;
		std::coroutine_handle<> self;
	};

	Taking take()
	{
		return Taking(this);
	}
	void put(T item)
	{
		std::coroutine_handle<> next;

		{
			std::lock_guard guard(lock_);

			if (waiting_.empty()) {
				items_.push_back(std::move(item));
				return;
			}
			waiting_.back()->item.emplace(std::move(item));
			next = waiting_.back()->self;
			waiting_.pop_back();
		}
		pool_->post(next);
	}

      private:
	PoolExecutor *pool_;
	std::mutex lock_;
	std::deque<T> items_;
	std::vector<Taking *> waiting_;
};
