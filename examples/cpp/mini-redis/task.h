// SPDX-License-Identifier: MIT
// task.h - a coroutine: spawned detached, or awaited by another.
//
//	Task<bool> drain(Client *client);
//	bool went_well = co_await drain(&client);	// runs it, continues when it has ended
//	scheduler.spawn(serve(...));			// runs detached; its end frees the frame
//
// A task starts when it is awaited or spawned.  An exception in an awaited task continues in the
// awaiting one; in a detached task it ends that coroutine and is printed on stderr.
#pragma once

#include <coroutine>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include <corotracer/coroTracer.h>

#include "redis/census.h"

// A list of all existing tasks, for a debugger.  It is also the reason why a leak checker does not
// report a task that is never woken: the list still refers to it.
struct TaskLink {
	TaskLink *next = this, *before = this;
};

class Everybody
{
      public:
	static void enter(TaskLink *link)
	{
		std::lock_guard guard(lock_);

		link->next = all_.next;
		link->before = &all_;
		all_.next->before = link;
		all_.next = link;
	}
	static void leave(TaskLink *link)
	{
		std::lock_guard guard(lock_);

		link->next->before = link->before;
		link->before->next = link->next;
	}

      private:
	static inline std::mutex lock_;
	static inline TaskLink all_;
};

// The common base of all task promises.
class TaskPromise : public corotracer::PromiseMixin
{
      public:
	TaskPromise()
	{
		Everybody::enter(&link_);
	}
	TaskPromise(const TaskPromise &) = delete;
	~TaskPromise()
	{
		Everybody::leave(&link_);
	}

	// At its end it resumes the awaiting coroutine; a detached task destroys its frame.
	struct Ending {
		bool await_ready() const noexcept
		{
			return false;
		}
		template <typename Promise>
		std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept
		{
			TaskPromise &promise = self.promise();
			std::coroutine_handle<> next = promise.awaiting_;

			count_end(promise.tally_);
			if (next) {
				count_resume(promise.awaiting_tally_);
				return next;
			}
			promise.tell_failure();
			self.destroy();
			return std::noop_coroutine();
		}
		void await_resume() const noexcept
		{
		}
	};

	// The base class sees only co_await expressions: these two must be wrapped explicitly.
	auto initial_suspend()
	{
		return trace_initial(std::suspend_always());
	}
	auto final_suspend() noexcept
	{
		return trace_final(Ending());
	}
	void unhandled_exception() noexcept
	{
		failure_ = std::current_exception();
	}

	Tally *tally() const
	{
		return tally_;
	}
	// A task is created suspended.
	void set_tally(Tally *tally)
	{
		tally_ = tally;
		count_suspend(tally_);
	}

      protected:
	template <typename T> friend class Task;

	void tell_failure() const noexcept
	{
		if (!failure_)
			return;
		try {
			std::rethrow_exception(failure_);
		} catch (const std::exception &e) {
			std::fprintf(stderr, "mini-redis: a coroutine failed: %s\n", e.what());
		} catch (...) {
			std::fprintf(stderr, "mini-redis: a coroutine failed\n");
		}
	}

	TaskLink link_;
	std::coroutine_handle<> awaiting_;
	Tally *awaiting_tally_ = nullptr;
	Tally *tally_ = nullptr;
	std::exception_ptr failure_;
};

template <typename T> class ValuePromise : public TaskPromise
{
      public:
	void return_value(T value)
	{
		value_.emplace(std::move(value));
	}
	T result()
	{
		if (failure_)
			std::rethrow_exception(failure_);
		return std::move(*value_);
	}

      private:
	std::optional<T> value_;
};

template <> class ValuePromise<void> : public TaskPromise
{
      public:
	void return_void()
	{
	}
	void result()
	{
		if (failure_)
			std::rethrow_exception(failure_);
	}
};

template <typename T = void> class [[nodiscard]] Task
{
      public:
	struct promise_type : ValuePromise<T> {
		Task get_return_object()
		{
			return Task(Handle::from_promise(*this));
		}
	};
	using Handle = std::coroutine_handle<promise_type>;

	Task(Task &&other) noexcept : self_(std::exchange(other.self_, nullptr))
	{
	}
	Task &operator=(Task &&) = delete;
	~Task()
	{
		if (self_)
			self_.destroy();
	}

	void set_tally(Tally *tally)
	{
		self_.promise().set_tally(tally);
	}

	// The coroutine owns itself from now on; the caller resumes it.
	Handle detach()
	{
		return std::exchange(self_, nullptr);
	}

	// An awaited task runs at once, on this thread.
	bool await_ready() const noexcept
	{
		return false;
	}
	template <typename Promise>
	std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> awaiting) noexcept
	{
		TaskPromise &promise = self_.promise();

		promise.awaiting_ = awaiting;
		promise.awaiting_tally_ = awaiting.promise().tally();
		count_suspend(promise.awaiting_tally_);
		count_resume(promise.tally_);
		return self_;
	}
	T await_resume()
	{
		return self_.promise().result();
	}

      private:
	explicit Task(Handle self) : self_(self)
	{
	}

	Handle self_;
};
