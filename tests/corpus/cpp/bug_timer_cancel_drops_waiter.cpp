// SPDX-License-Identifier: MIT
// bug_timer_cancel_drops_waiter.cpp - a cancelled timer never delivers its completion.
//
// Uploads wait for their retransmission timer.  A pause of the peer cancels the timer: the entry
// is erased, and the coroutine that waits for it is lost.
//
// corpus: bug
// class: lost-wakeup
// at: @stuck
// victims: upload-2, upload-9
// never: deadlock, closed-under-waiter, wake-before-suspend
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

// One timer per upload, driven by a coroutine of the loop.
class UploadTimers
{
      public:
	explicit UploadTimers(EpollLoop *loop) : loop_(loop)
	{
	}

	struct After {
		UploadTimers *timers;
		int id;
		int64_t deadline;

		bool await_ready() const noexcept
		{
			return false;
		}
		void await_suspend(std::coroutine_handle<> h) const
		{
			timers->entries_[id] = { deadline, h };
		}
		void await_resume() const noexcept
		{
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::sleeping(deadline);
		}
	};

	After after_ms(int id, int64_t ms)
	{
		return { this, id, loop_clock_ns() + ms * 1000000 };
	}
	// False: the timer has just expired.
	bool cancel(int id)
	{
		return entries_.erase(id) != 0; // the bug: the waiter must be resumed
	}
	Lazy<> tick()
	{
		for (;;) {
			co_await loop_->sleep_ms(5);
			expire();
		}
	}

      private:
	struct Entry {
		int64_t deadline;
		std::coroutine_handle<> waiter;
	};

	void expire()
	{
		for (auto i = entries_.begin(); i != entries_.end();) {
			Entry e = i->second;

			if (e.deadline > loop_clock_ns()) {
				++i;
				continue;
			}
			i = entries_.erase(i);
			loop_->post(e.waiter, corotracer::sleeping(e.deadline));
		}
	}

	EpollLoop *loop_;
	std::map<int, Entry> entries_;
};

static Lazy<> upload_run(UploadTimers &timers, int id)
{
	for (int part = 0; part < 40; part++)
		co_await timers.after_ms(id, 25 + id); // @stuck
}

static Lazy<> peer_pause(EpollLoop &loop, UploadTimers &timers)
{
	co_await loop.sleep_ms(400);
	while (!timers.cancel(2))
		co_await loop.sleep_ms(7);
	co_await loop.sleep_ms(150);
	while (!timers.cancel(9))
		co_await loop.sleep_ms(7);
}

int main()
{
	EpollLoop loop;
	UploadTimers timers(&loop);

	corotracer::InitTracer();
	detach_lazy(corotracer::named("timers", [&] { return timers.tick(); }));
	for (int i = 0; i < 12; i++) {
		std::string name = "upload-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), upload_run, timers, i));
	}
	detach_lazy(corotracer::named("peer", peer_pause, loop, timers));
	loop.run_for(2000);
	return 0;
}
