// SPDX-License-Identifier: MIT
// coro_kit.hpp - lazy tasks as in cppcoro: task, generator, when_all, when_any, a loop, a pool of
// threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <corotracer/coroTracer.h>

namespace ck
{

using namespace std::chrono_literals;

inline uint64_t now_ns()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

// ---- task ---------------------------------------------------------------------------------

struct promise_base {
	std::coroutine_handle<> continuation;
	std::exception_ptr error;

	struct final_awaiter {
		bool await_ready() const noexcept
		{
			return false;
		}
		template <class P>
		std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const noexcept
		{
			auto next = h.promise().continuation;

			return next ? next : std::noop_coroutine();
		}
		void await_resume() const noexcept
		{
		}
	};
	std::suspend_always initial_suspend() noexcept
	{
		return {};
	}
	final_awaiter final_suspend() noexcept
	{
		return {};
	}
	void unhandled_exception()
	{
		error = std::current_exception();
	}
};

template <class T = void> class task
{
      public:
	struct value_promise : promise_base {
		std::optional<T> value;

		task get_return_object();
		void return_value(T v)
		{
			value = std::move(v);
		}
	};
	using promise_type = corotracer::Traced<value_promise>;
	using handle = std::coroutine_handle<promise_type>;

	explicit task(handle h) : h_(h)
	{
	}
	task(task &&other) noexcept : h_(std::exchange(other.h_, nullptr))
	{
	}
	task &operator=(task &&other) noexcept
	{
		std::swap(h_, other.h_);
		return *this;
	}
	~task()
	{
		if (h_)
			h_.destroy();
	}

	struct awaiter {
		handle h;

		bool await_ready() const
		{
			return h.done();
		}
		std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller)
		{
			h.promise().continuation = caller;
			return h;
		}
		T await_resume()
		{
			if (h.promise().error)
				std::rethrow_exception(h.promise().error);
			return std::move(*h.promise().value);
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::joining(h.promise().id());
		}
	};
	awaiter operator co_await() &&
	{
		return { h_ };
	}
	handle get() const
	{
		return h_;
	}

      private:
	handle h_;
};

template <> class task<void>
{
      public:
	struct value_promise : promise_base {
		task get_return_object();
		void return_void()
		{
		}
	};
	using promise_type = corotracer::Traced<value_promise>;
	using handle = std::coroutine_handle<promise_type>;

	task() = default;
	explicit task(handle h) : h_(h)
	{
	}
	task(task &&other) noexcept : h_(std::exchange(other.h_, nullptr))
	{
	}
	task &operator=(task &&other) noexcept
	{
		std::swap(h_, other.h_);
		return *this;
	}
	~task()
	{
		if (h_)
			h_.destroy();
	}

	struct awaiter {
		handle h;

		bool await_ready() const
		{
			return h.done();
		}
		std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller)
		{
			h.promise().continuation = caller;
			return h;
		}
		void await_resume()
		{
			if (h.promise().error)
				std::rethrow_exception(h.promise().error);
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::joining(h.promise().id());
		}
	};
	awaiter operator co_await() &&
	{
		return { h_ };
	}
	handle get() const
	{
		return h_;
	}

      private:
	handle h_ = nullptr;
};

template <class T> task<T> task<T>::value_promise::get_return_object()
{
	return task(handle::from_promise(static_cast<promise_type &>(*this)));
}
inline task<void> task<void>::value_promise::get_return_object()
{
	return task(handle::from_promise(static_cast<promise_type &>(*this)));
}

// Runs a task that is not awaited; its frame is freed at its end.
struct detached {
	struct promise_type {
		detached get_return_object()
		{
			return {};
		}
		std::suspend_never initial_suspend()
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
		}
	};
};

inline detached spawn(task<> t)
{
	co_await std::move(t);
}

// ---- generator ----------------------------------------------------------------------------

template <class T> class generator
{
      public:
	struct value_promise {
		const T *value = nullptr;

		generator get_return_object();
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		std::suspend_always yield_value(const T &v) noexcept
		{
			value = &v;
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			throw;
		}
	};
	using promise_type = corotracer::Traced<value_promise>;
	using handle = std::coroutine_handle<promise_type>;

	explicit generator(handle h) : h_(h)
	{
	}
	generator(generator &&other) noexcept : h_(std::exchange(other.h_, nullptr))
	{
	}
	~generator()
	{
		if (h_)
			h_.destroy();
	}
	std::optional<T> next()
	{
		h_.resume();
		if (h_.done())
			return std::nullopt;
		return *h_.promise().value;
	}
	handle release()
	{
		return std::exchange(h_, nullptr);
	}

      private:
	handle h_;
};

template <class T> generator<T> generator<T>::value_promise::get_return_object()
{
	return generator(handle::from_promise(static_cast<promise_type &>(*this)));
}

// ---- loop ---------------------------------------------------------------------------------

class loop
{
      public:
	loop() : epoll_(epoll_create1(EPOLL_CLOEXEC))
	{
	}
	void post(std::coroutine_handle<> h)
	{
		corotracer::wake(h);
		ready_.push_back(h);
	}
	uint64_t add_timer(uint64_t when, std::function<void()> f)
	{
		uint64_t id = ++last_timer_;

		timers_.emplace(std::pair(when, id), std::move(f));
		return id;
	}
	void cancel_timer(uint64_t id)
	{
		for (auto it = timers_.begin(); it != timers_.end(); ++it)
			if (it->first.second == id) {
				timers_.erase(it);
				return;
			}
	}
	void stop()
	{
		is_stopped_ = true;
	}
	void run_for(std::chrono::milliseconds length)
	{
		const char *extra = std::getenv("CORPUS_EXTRA_MS");
		uint64_t end = now_ns() + static_cast<uint64_t>(length.count() +
								(extra ? std::atoi(extra) : 0)) *
						  1000000u;

		while (!is_stopped_ && now_ns() < end) {
			for (size_t n = ready_.size(); n > 0 && !is_stopped_; n--) {
				auto h = ready_.front();

				ready_.pop_front();
				h.resume();
			}
			if (!is_stopped_)
				poll(end);
		}
	}

	struct sleep_awaiter {
		loop *l;
		uint64_t when;

		bool await_ready() const
		{
			return false;
		}
		void await_suspend(std::coroutine_handle<> h)
		{
			l->add_timer(when, [l = l, h] { l->post(h); });
		}
		void await_resume() const
		{
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::sleeping(when);
		}
	};
	sleep_awaiter sleep(std::chrono::milliseconds d)
	{
		return { this, now_ns() + static_cast<uint64_t>(d.count()) * 1000000u };
	}

	struct yield_awaiter {
		loop *l;

		bool await_ready() const
		{
			return false;
		}
		void await_suspend(std::coroutine_handle<> h)
		{
			l->post(h);
		}
		void await_resume() const
		{
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::yielding();
		}
	};
	yield_awaiter yield()
	{
		return { this };
	}

	struct read_awaiter {
		loop *l;
		int fd;

		bool await_ready() const
		{
			return false;
		}
		void await_suspend(std::coroutine_handle<> h)
		{
			epoll_event e{};

			e.events = EPOLLIN | EPOLLONESHOT;
			e.data.ptr = h.address();
			if (epoll_ctl(l->epoll_, EPOLL_CTL_MOD, fd, &e) < 0)
				epoll_ctl(l->epoll_, EPOLL_CTL_ADD, fd, &e);
		}
		void await_resume() const
		{
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::reading(fd);
		}
	};
	read_awaiter readable(int fd)
	{
		return { this, fd };
	}

      private:
	void poll(uint64_t end)
	{
		epoll_event events[64];
		uint64_t now = now_ns(), next = end;

		if (!timers_.empty())
			next = std::min(next, timers_.begin()->first.first);
		int ms = !ready_.empty() || next <= now
				 ? 0
				 : static_cast<int>((next - now + 999999) / 1000000);
		int n = epoll_wait(epoll_, events, 64, ms);

		for (int i = 0; i < n; i++)
			post(std::coroutine_handle<>::from_address(events[i].data.ptr));
		now = now_ns();
		while (!timers_.empty() && timers_.begin()->first.first <= now) {
			auto f = std::move(timers_.begin()->second);

			timers_.erase(timers_.begin());
			f();
		}
	}

	int epoll_;
	bool is_stopped_ = false;
	uint64_t last_timer_ = 0;
	std::deque<std::coroutine_handle<>> ready_;
	std::map<std::pair<uint64_t, uint64_t>, std::function<void()>> timers_;
};

// ---- things to wait for, on one loop -------------------------------------------------------

class async_mutex
{
      public:
	explicit async_mutex(loop &l) : l_(&l)
	{
	}
	struct lock_awaiter {
		async_mutex *m;
		std::source_location where;

		bool await_ready()
		{
			return !std::exchange(m->is_locked_, true);
		}
		void await_suspend(std::coroutine_handle<> h)
		{
			m->waiters_.push_back(h);
		}
		void await_resume()
		{
			corotracer::acquired(m, where);
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::locking(m);
		}
	};
	lock_awaiter lock(std::source_location where = std::source_location::current())
	{
		return { this, where };
	}
	void unlock(std::source_location where = std::source_location::current())
	{
		corotracer::released(this, where);
		if (waiters_.empty()) {
			is_locked_ = false;
			return;
		}
		auto h = waiters_.front();

		waiters_.pop_front();
		l_->post(h);
	}

      private:
	loop *l_;
	bool is_locked_ = false;
	std::deque<std::coroutine_handle<>> waiters_;
};

template <class T> class channel
{
      public:
	channel(loop &l, size_t size) : l_(&l), size_(size)
	{
	}
	struct send_awaiter {
		channel *c;
		T value;

		bool await_ready()
		{
			if (!c->receivers_.empty()) {
				auto [h, slot] = c->receivers_.front();

				c->receivers_.pop_front();
				*slot = std::move(value);
				c->l_->post(h);
				return true;
			}
			if (c->items_.size() >= c->size_)
				return false;
			c->items_.push_back(std::move(value));
			return true;
		}
		void await_suspend(std::coroutine_handle<> h)
		{
			c->senders_.emplace_back(h, &value);
		}
		void await_resume() const
		{
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::sending(c);
		}
	};
	struct recv_awaiter {
		channel *c;
		std::optional<T> value;

		bool await_ready()
		{
			if (!c->items_.empty()) {
				value = std::move(c->items_.front());
				c->items_.pop_front();
				if (!c->senders_.empty()) {
					auto [h, item] = c->senders_.front();

					c->senders_.pop_front();
					c->items_.push_back(std::move(*item));
					c->l_->post(h);
				}
				return true;
			}
			return c->is_closed_;
		}
		void await_suspend(std::coroutine_handle<> h)
		{
			c->receivers_.emplace_back(h, &value);
		}
		std::optional<T> await_resume()
		{
			return std::move(value);
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::receiving(c);
		}
	};
	send_awaiter send(T value)
	{
		return { this, std::move(value) };
	}
	recv_awaiter recv()
	{
		return { this, std::nullopt };
	}
	void close()
	{
		is_closed_ = true;
		for (auto &[h, slot] : receivers_)
			l_->post(h);
		receivers_.clear();
	}

      private:
	loop *l_;
	size_t size_;
	bool is_closed_ = false;
	std::deque<T> items_;
	std::deque<std::pair<std::coroutine_handle<>, T *>> senders_;
	std::deque<std::pair<std::coroutine_handle<>, std::optional<T> *>> receivers_;
};

// Set once, for one waiter.
template <class T> class reply
{
      public:
	explicit reply(loop &l) : l_(&l)
	{
	}
	void set(T v)
	{
		value_ = std::move(v);
		if (waiter_)
			l_->post(std::exchange(waiter_, nullptr));
	}
	bool await_ready() const
	{
		return value_.has_value();
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		waiter_ = h;
	}
	T await_resume()
	{
		return *value_;
	}
	corotracer::Wait corotracer_wait() const
	{
		return corotracer::receiving(this);
	}

      private:
	loop *l_;
	std::optional<T> value_;
	std::coroutine_handle<> waiter_;
};

// ---- when_all, when_any --------------------------------------------------------------------

struct all_state {
	size_t left;
	std::coroutine_handle<> waiter;
};

inline detached run_part(task<> t, std::shared_ptr<all_state> s)
{
	co_await std::move(t);
	if (--s->left == 0 && s->waiter)
		s->waiter.resume();
}

struct all_awaiter {
	std::vector<task<>> parts;
	std::shared_ptr<all_state> state = std::make_shared<all_state>();

	bool await_ready()
	{
		state->left = parts.size() + 1;
		return false;
	}
	bool await_suspend(std::coroutine_handle<> h)
	{
		state->waiter = h;
		for (auto &t : parts)
			run_part(std::move(t), state);
		return --state->left != 0;
	}
	void await_resume() const
	{
	}
};

inline all_awaiter when_all(std::vector<task<>> parts)
{
	return { std::move(parts) };
}

// ---- pool ----------------------------------------------------------------------------------

class thread_pool
{
      public:
	explicit thread_pool(int n)
	{
		for (int i = 0; i < n; i++)
			threads_.emplace_back([this] { work(); });
	}
	~thread_pool()
	{
		{
			std::lock_guard guard(lock_);

			is_stopped_ = true;
		}
		any_.notify_all();
		for (auto &t : threads_)
			t.join();
	}
	void post(std::coroutine_handle<> h)
	{
		corotracer::wake(h);
		{
			std::lock_guard guard(lock_);

			ready_.push_back(h);
		}
		any_.notify_one();
	}
	struct schedule_awaiter {
		thread_pool *p;

		bool await_ready() const
		{
			return false;
		}
		void await_suspend(std::coroutine_handle<> h)
		{
			p->post(h);
		}
		void await_resume() const
		{
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::yielding();
		}
	};
	schedule_awaiter schedule()
	{
		return { this };
	}

      private:
	void work()
	{
		std::unique_lock guard(lock_);

		while (!is_stopped_) {
			if (ready_.empty()) {
				any_.wait(guard);
				continue;
			}
			auto h = ready_.front();

			ready_.pop_front();
			guard.unlock();
			h.resume();
			guard.lock();
		}
	}

	std::mutex lock_;
	std::condition_variable any_;
	bool is_stopped_ = false;
	std::deque<std::coroutine_handle<>> ready_;
	std::vector<std::thread> threads_;
};

} // namespace ck
