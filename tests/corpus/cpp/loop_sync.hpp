// SPDX-License-Identifier: MIT
// loop_sync.hpp - locks, permits, flags and channels for coroutines of one EpollLoop.
#pragma once

#include <deque>
#include <optional>

#include "epoll_loop.hpp"

// A queue of suspended coroutines.
class WaitList
{
      public:
	explicit WaitList(EpollLoop *loop) : loop_(loop)
	{
	}
	bool empty() const
	{
		return waiting_.empty();
	}
	void add(std::coroutine_handle<> h)
	{
		waiting_.push_back(h);
	}
	bool wake_one(corotracer::Wait from)
	{
		if (waiting_.empty())
			return false;
		std::coroutine_handle<> h = waiting_.front();

		waiting_.pop_front();
		loop_->post(h, from);
		return true;
	}
	void wake_all(corotracer::Wait from)
	{
		while (wake_one(from))
			;
	}

      private:
	EpollLoop *loop_;
	std::deque<std::coroutine_handle<>> waiting_;
};

// A fair lock: unlock() passes it to the coroutine that waits longest.
class AsyncLock
{
      public:
	explicit AsyncLock(EpollLoop *loop) : waiting_(loop)
	{
	}

	struct Taking {
		AsyncLock *lock;

		bool await_ready() const noexcept
		{
			return !std::exchange(lock->is_held_, true);
		}
		void await_suspend(std::coroutine_handle<> h) const
		{
			lock->waiting_.add(h);
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
		corotracer::released(this);
		if (!waiting_.wake_one(corotracer::locking(this)))
			is_held_ = false;
	}

      private:
	bool is_held_ = false;
	WaitList waiting_;
};

class Permits
{
      public:
	Permits(EpollLoop *loop, int nr) : free_(nr), waiting_(loop)
	{
	}

	struct Acquiring {
		Permits *permits;

		bool await_ready() const noexcept
		{
			if (permits->free_ == 0)
				return false;
			permits->free_--;
			return true;
		}
		void await_suspend(std::coroutine_handle<> h) const
		{
			permits->waiting_.add(h);
		}
		void await_resume() const
		{
			corotracer::acquired(permits);
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::acquiring(permits);
		}
	};

	Acquiring acquire()
	{
		return { this };
	}
	void release()
	{
		corotracer::released(this);
		if (!waiting_.wake_one(corotracer::acquiring(this)))
			free_++;
	}

      private:
	int free_;
	WaitList waiting_;
};

// A flag that stays set: a wait after set() returns at once.
class AsyncFlag
{
      public:
	explicit AsyncFlag(EpollLoop *loop) : waiting_(loop)
	{
	}

	struct Waiting {
		AsyncFlag *flag;

		bool await_ready() const noexcept
		{
			return flag->is_set_;
		}
		void await_suspend(std::coroutine_handle<> h) const
		{
			flag->waiting_.add(h);
		}
		void await_resume() const noexcept
		{
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::waiting(CTP_REASON_USER, flag);
		}
	};

	Waiting wait()
	{
		return { this };
	}
	void set()
	{
		is_set_ = true;
		waiting_.wake_all(corotracer::waiting(CTP_REASON_USER, this));
	}

      private:
	bool is_set_ = false;
	WaitList waiting_;
};

// A bounded channel; receive() gives nothing once it is closed and empty.
template <class T> class BoundedChannel
{
      public:
	BoundedChannel(EpollLoop *loop, size_t room) : room_(room), senders_(loop), receivers_(loop)
	{
	}

	struct Room {
		BoundedChannel *channel;

		bool await_ready() const noexcept
		{
			return channel->items_.size() < channel->room_;
		}
		void await_suspend(std::coroutine_handle<> h) const
		{
			channel->senders_.add(h);
		}
		void await_resume() const noexcept
		{
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::sending(channel);
		}
	};

	struct Item {
		BoundedChannel *channel;

		bool await_ready() const noexcept
		{
			return !channel->items_.empty() || channel->is_closed_;
		}
		void await_suspend(std::coroutine_handle<> h) const
		{
			channel->receivers_.add(h);
		}
		void await_resume() const noexcept
		{
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::receiving(channel);
		}
	};

	// Wait for room, or for an item; another coroutine may be faster, so wait in a loop.
	Room room()
	{
		return { this };
	}
	Item item()
	{
		return { this };
	}
	bool try_send(T value)
	{
		if (items_.size() >= room_)
			return false;
		items_.push_back(std::move(value));
		receivers_.wake_one(corotracer::receiving(this));
		return true;
	}
	std::optional<T> try_receive()
	{
		if (items_.empty())
			return std::nullopt;
		std::optional<T> value(std::move(items_.front()));

		items_.pop_front();
		senders_.wake_one(corotracer::sending(this));
		return value;
	}
	void close()
	{
		is_closed_ = true;
		receivers_.wake_all(corotracer::receiving(this));
	}
	bool is_closed() const
	{
		return is_closed_;
	}

      private:
	size_t room_;
	std::deque<T> items_;
	bool is_closed_ = false;
	WaitList senders_, receivers_;
};
