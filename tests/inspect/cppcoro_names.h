// SPDX-License-Identifier: MIT
// cppcoro_names.h - a lock, an event and a shared task with the names of cppcoro's types and
// members.
//
// Written for the tests: only what a look from outside can see is like the library.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>

namespace cppcoro
{
class async_mutex_lock_operation;
class async_mutex_scoped_lock_operation;

class async_mutex
{
      public:
	async_mutex_lock_operation lock_async();
	async_mutex_scoped_lock_operation scoped_lock_async();
	void unlock();

      private:
	friend class async_mutex_lock_operation;
	static constexpr std::uintptr_t not_locked = 1;

	// 1: not locked; 0: locked, and no new waiter; else the newest waiter.
	std::atomic<std::uintptr_t> m_state{ not_locked };
	async_mutex_lock_operation *m_waiters = nullptr; // oldest first
};

class async_mutex_lock
{
      public:
	explicit async_mutex_lock(async_mutex &mutex) : m_mutex(&mutex)
	{
	}
	async_mutex_lock(async_mutex_lock &&other) noexcept : m_mutex(other.m_mutex)
	{
		other.m_mutex = nullptr;
	}
	~async_mutex_lock()
	{
		if (m_mutex)
			m_mutex->unlock();
	}

      private:
	async_mutex *m_mutex;
};

class async_mutex_lock_operation
{
      public:
	explicit async_mutex_lock_operation(async_mutex &mutex) : m_mutex(mutex)
	{
	}
	bool await_ready() const
	{
		return false;
	}
	bool await_suspend(std::coroutine_handle<> awaiter)
	{
		auto state = m_mutex.m_state.load();

		m_awaiter = awaiter;
		for (;;) {
			if (state == async_mutex::not_locked) {
				if (m_mutex.m_state.compare_exchange_weak(state, 0))
					return false;
				continue;
			}
			m_next = reinterpret_cast<async_mutex_lock_operation *>(state);
			if (m_mutex.m_state.compare_exchange_weak(
				    state, reinterpret_cast<std::uintptr_t>(this)))
				return true;
		}
	}
	void await_resume() const
	{
	}

      protected:
	friend class async_mutex;
	async_mutex &m_mutex;

      private:
	async_mutex_lock_operation *m_next = nullptr;
	std::coroutine_handle<> m_awaiter;
};

class async_mutex_scoped_lock_operation : public async_mutex_lock_operation
{
      public:
	using async_mutex_lock_operation::async_mutex_lock_operation;
	async_mutex_lock await_resume() const
	{
		return async_mutex_lock(m_mutex);
	}
};

inline async_mutex_lock_operation async_mutex::lock_async()
{
	return async_mutex_lock_operation(*this);
}

inline async_mutex_scoped_lock_operation async_mutex::scoped_lock_async()
{
	return async_mutex_scoped_lock_operation(*this);
}

inline void async_mutex::unlock()
{
	auto *next = m_waiters;

	if (!next) {
		std::uintptr_t state = 0;

		if (m_state.compare_exchange_strong(state, not_locked))
			return;
		auto *newest = reinterpret_cast<async_mutex_lock_operation *>(m_state.exchange(0));

		while (newest) { // turn the list around
			auto *older = newest->m_next;

			newest->m_next = next;
			next = newest;
			newest = older;
		}
	}
	m_waiters = next->m_next;
	next->m_awaiter.resume();
}

class async_auto_reset_event;

class async_auto_reset_event_operation
{
      public:
	explicit async_auto_reset_event_operation(const async_auto_reset_event &event)
	    : m_event(&event)
	{
	}
	bool await_ready() const
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> awaiter)
	{
		m_awaiter = awaiter;
	}
	void await_resume() const
	{
	}

      private:
	const async_auto_reset_event *m_event;
	std::coroutine_handle<> m_awaiter;
};

class async_auto_reset_event
{
      public:
	async_auto_reset_event_operation operator co_await() const
	{
		return async_auto_reset_event_operation(*this);
	}

      private:
	mutable std::atomic<std::uint64_t> m_state{ 0 };
};

template <typename T> class shared_task
{
      public:
	struct promise_type {
		shared_task get_return_object()
		{
			return shared_task(
				std::coroutine_handle<promise_type>::from_promise(*this));
		}
		std::suspend_never initial_suspend()
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
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

      private:
	struct awaitable_base {
		std::coroutine_handle<promise_type> m_coroutine;

		bool await_ready() const
		{
			return m_coroutine.done();
		}
		void await_suspend(std::coroutine_handle<> awaiter)
		{
			m_waiter = awaiter.address();
		}
		void *m_waiter = nullptr;
	};

      public:
	explicit shared_task(std::coroutine_handle<promise_type> coroutine) : m_coroutine(coroutine)
	{
	}
	auto operator co_await() const
	{
		struct awaitable : awaitable_base {
			void await_resume()
			{
			}
		};
		return awaitable{ { m_coroutine } };
	}

      private:
	std::coroutine_handle<promise_type> m_coroutine;
};
} // namespace cppcoro
