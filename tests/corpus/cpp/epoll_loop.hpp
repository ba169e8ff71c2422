// SPDX-License-Identifier: MIT
// epoll_loop.hpp - EpollLoop: one thread, one epoll, timers and a queue of ready coroutines.
//
//	EpollLoop loop;
//	detach_lazy(serve(loop, fd));
//	loop.run_for(1500);		// or until stop()
#pragma once

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <corotracer/coroTracer.h>

inline int64_t loop_clock_ns()
{
	return std::chrono::duration_cast<std::chrono::nanoseconds>(
		       std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

class EpollLoop
{
      public:
	class IoWait
	{
	      public:
		IoWait(EpollLoop *loop, int fd, uint32_t mask) : loop_(loop), fd_(fd), mask_(mask)
		{
		}
		bool await_ready() const noexcept
		{
			return false;
		}
		void await_suspend(std::coroutine_handle<> h)
		{
			self_ = h;
			loop_->io_[fd_].push_back(this);
			loop_->arm_descriptor(fd_);
		}
		void await_resume() const noexcept
		{
		}
		corotracer::Wait corotracer_wait() const
		{
			return mask_ & EPOLLOUT ? corotracer::writing(fd_)
						: corotracer::reading(fd_);
		}

	      private:
		friend class EpollLoop;
		EpollLoop *loop_;
		int fd_;
		uint32_t mask_;
		std::coroutine_handle<> self_;
	};

	class TimerWait
	{
	      public:
		TimerWait(EpollLoop *loop, int64_t deadline) : loop_(loop), deadline_(deadline)
		{
		}
		bool await_ready() const noexcept
		{
			return false;
		}
		void await_suspend(std::coroutine_handle<> h)
		{
			loop_->timers_.emplace(deadline_, h);
		}
		void await_resume() const noexcept
		{
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::sleeping(deadline_);
		}

	      private:
		EpollLoop *loop_;
		int64_t deadline_;
	};

	class Yield
	{
	      public:
		explicit Yield(EpollLoop *loop) : loop_(loop)
		{
		}
		bool await_ready() const noexcept
		{
			return false;
		}
		void await_suspend(std::coroutine_handle<> h)
		{
			loop_->ready_.push_back(h);
		}
		void await_resume() const noexcept
		{
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::yielding();
		}

	      private:
		EpollLoop *loop_;
	};

	EpollLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC))
	{
	}
	EpollLoop(const EpollLoop &) = delete;
	~EpollLoop()
	{
		close(epoll_);
	}

	IoWait readable(int fd)
	{
		return { this, fd, EPOLLIN };
	}
	IoWait writable(int fd)
	{
		return { this, fd, EPOLLOUT };
	}
	TimerWait sleep_ms(int64_t ms)
	{
		return { this, loop_clock_ns() + ms * 1000000 };
	}
	Yield yield_now()
	{
		return Yield(this);
	}

	// Make @h ready to run; @from is the cause, for the trace.
	void post(std::coroutine_handle<> h, corotracer::Wait from = {})
	{
		corotracer::wake(h, from);
		ready_.push_back(h);
	}
	// A coroutine that is about to be destroyed must not stay in the timers and the queue.
	void forget_coroutine(std::coroutine_handle<> h)
	{
		std::erase_if(timers_, [h](const auto &t) { return t.second == h; });
		std::erase(ready_, h);
	}
	// The waits for @fd end without a result: their coroutines are not resumed.
	void forget_descriptor(int fd)
	{
		epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
		io_.erase(fd);
	}
	void stop()
	{
		is_stopped_ = true;
	}
	bool is_stopped() const
	{
		return is_stopped_;
	}

	// The time is counted in steps, so that a program that was stopped for a second does not
	// miss what it does at the end.
	void run_for(int64_t ms)
	{
		for (int64_t steps = ms / STEP_MS; steps > 0 && !is_stopped_; steps--)
			run_step(loop_clock_ns() + STEP_MS * 1000000);
	}

      private:
	static constexpr int64_t STEP_MS = 50;

	// Run what is ready now; what becomes ready meanwhile runs after the next poll.
	void run_ready()
	{
		for (size_t nr = ready_.size(); nr > 0 && !is_stopped_; nr--) {
			if (ready_.empty()) // forget_coroutine()
				return;
			std::coroutine_handle<> next = ready_.front();

			ready_.pop_front();
			next.resume();
		}
	}

	void run_step(int64_t end)
	{
		while (!is_stopped_ && loop_clock_ns() < end) {
			run_ready();
			expire_timers();
			if (!is_stopped_)
				poll_descriptors(end);
		}
	}

	void arm_descriptor(int fd)
	{
		epoll_event event = {};

		for (const IoWait *w : io_[fd])
			event.events |= w->mask_;
		event.events |= EPOLLONESHOT;
		event.data.fd = fd;
		if (epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) != 0)
			epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
	}

	void expire_timers()
	{
		while (!timers_.empty() && timers_.begin()->first <= loop_clock_ns()) {
			std::coroutine_handle<> h = timers_.begin()->second;
			int64_t deadline = timers_.begin()->first;

			timers_.erase(timers_.begin());
			post(h, corotracer::sleeping(deadline));
		}
	}

	int poll_timeout(int64_t end) const
	{
		int64_t until = timers_.empty() ? end : std::min(end, timers_.begin()->first);
		int64_t left = (until - loop_clock_ns() + 999999) / 1000000;

		return !ready_.empty() || left < 0 ? 0 : static_cast<int>(left);
	}

	void poll_descriptors(int64_t end)
	{
		epoll_event events[32];
		int nr = epoll_wait(epoll_, events, 32, poll_timeout(end));

		for (int i = 0; i < nr; i++)
			dispatch_descriptor(events[i].data.fd, events[i].events);
	}

	void dispatch_descriptor(int fd, uint32_t events)
	{
		std::vector<IoWait *> waiting = std::move(io_[fd]);

		io_[fd].clear();
		for (IoWait *w : waiting) {
			if (events & (w->mask_ | EPOLLHUP | EPOLLERR))
				post(w->self_, w->corotracer_wait());
			else
				io_[fd].push_back(w);
		}
		if (!io_[fd].empty())
			arm_descriptor(fd);
	}

	int epoll_;
	bool is_stopped_ = false;
	std::deque<std::coroutine_handle<>> ready_;
	std::multimap<int64_t, std::coroutine_handle<>> timers_;
	std::map<int, std::vector<IoWait *>> io_;
};

// A connected pair of non-blocking stream sockets.
struct SocketPair {
	int fd[2] = { -1, -1 };

	SocketPair()
	{
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) != 0)
			std::abort();
	}
};
