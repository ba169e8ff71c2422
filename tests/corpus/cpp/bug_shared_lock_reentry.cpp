// SPDX-License-Identifier: MIT
// bug_shared_lock_reentry.cpp - a reader takes a shared lock twice, with a writer in between.
//
// The lock prefers writers: no reader is admitted while one waits.  The second request of the
// auditor waits for the writer, and the writer waits for the auditor.
//
// corpus: bug
// class: deadlock|stalled|lost-wakeup
// at: @stuck
// victims: auditor
// also: writer, reader-*
// never: wake-before-suspend, closed-under-waiter, leak
#include <string>

#include "loop_sync.hpp"
#include "lazy_task.hpp"

class SharedLock
{
      public:
	explicit SharedLock(EpollLoop *loop) : readers_waiting_(loop), writers_waiting_(loop)
	{
	}

	struct Reading {
		SharedLock *lock;

		bool await_ready() const noexcept
		{
			bool is_free = !lock->has_writer_ && lock->writers_waiting_.empty();

			lock->nr_readers_ += is_free;
			return is_free;
		}
		void await_suspend(std::coroutine_handle<> h) const
		{
			lock->readers_waiting_.add(h);
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

	struct Writing {
		SharedLock *lock;

		bool await_ready() const noexcept
		{
			bool is_free = !lock->has_writer_ && lock->nr_readers_ == 0;

			lock->has_writer_ |= is_free;
			return is_free;
		}
		void await_suspend(std::coroutine_handle<> h) const
		{
			lock->writers_waiting_.add(h);
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

	Reading take_shared()
	{
		return { this };
	}
	Writing take_exclusive()
	{
		return { this };
	}
	void unlock_shared()
	{
		corotracer::released(this);
		if (--nr_readers_ == 0)
			has_writer_ = writers_waiting_.wake_one(corotracer::locking(this));
	}
	void unlock_exclusive()
	{
		corotracer::released(this);
		has_writer_ = false;
		while (readers_waiting_.wake_one(corotracer::locking(this)))
			nr_readers_++;
	}

      private:
	int nr_readers_ = 0;
	bool has_writer_ = false;
	WaitList readers_waiting_, writers_waiting_;
};

static Lazy<> shared_read(EpollLoop &loop, SharedLock &lock)
{
	for (;;) {
		co_await lock.take_shared();
		co_await loop.sleep_ms(1);
		lock.unlock_shared();
		co_await loop.sleep_ms(5);
	}
}

static Lazy<> shared_audit(EpollLoop &loop, SharedLock &lock)
{
	for (;;) {
		co_await lock.take_shared();
		co_await loop.sleep_ms(2);
		co_await lock.take_shared(); // @stuck
		lock.unlock_shared();
		lock.unlock_shared();
		co_await loop.sleep_ms(20);
	}
}

static Lazy<> exclusive_write(EpollLoop &loop, SharedLock &lock)
{
	for (;;) {
		co_await loop.sleep_ms(9);
		co_await lock.take_exclusive();
		lock.unlock_exclusive();
	}
}

int main()
{
	EpollLoop loop;
	SharedLock lock(&loop);

	corotracer::InitTracer();
	for (int i = 0; i < 4; i++) {
		std::string name = "reader-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), shared_read, loop, lock));
	}
	detach_lazy(corotracer::named("auditor", shared_audit, loop, lock));
	detach_lazy(corotracer::named("writer", exclusive_write, loop, lock));
	loop.run_for(1500);
	return 0;
}
