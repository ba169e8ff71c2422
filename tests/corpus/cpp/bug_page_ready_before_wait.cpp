// SPDX-License-Identifier: MIT
// bug_page_ready_before_wait.cpp - an event that nothing remembers comes before the wait.
//
// A page that the loader still holds is announced inside the request, before the reader waits.
//
// corpus: bug
// class: lost-wakeup|wake-before-suspend|stalled
// at: @stuck
// victims: reader-5
// never: deadlock, closed-under-waiter
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

// Resumes the coroutine that waits; without one the notification is lost.
class PageEvent
{
      public:
	explicit PageEvent(EpollLoop *loop) : loop_(loop)
	{
	}
	void notify()
	{
		if (waiter_)
			loop_->post(std::exchange(waiter_, nullptr),
				    corotracer::waiting(CTP_REASON_USER, this));
	}
	bool await_ready() const noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		waiter_ = h;
	}
	void await_resume() const noexcept
	{
	}
	corotracer::Wait corotracer_wait() const
	{
		return corotracer::waiting(CTP_REASON_USER, this);
	}

      private:
	EpollLoop *loop_;
	std::coroutine_handle<> waiter_;
};

static Lazy<> page_load(EpollLoop &loop, int page, PageEvent &loaded)
{
	co_await loop.sleep_ms(2 + page % 7);
	loaded.notify();
}

static void page_request(EpollLoop &loop, int page, PageEvent &loaded)
{
	if (page == 512)
		loaded.notify(); // the page is in memory
	else
		detach_lazy(page_load(loop, page, loaded));
}

static Lazy<> reader_scan(EpollLoop &loop, int id)
{
	PageEvent loaded(&loop);

	for (int page = id * 100; page < id * 100 + 90; page++) {
		page_request(loop, page, loaded);
		co_await loaded; // @stuck
		co_await loop.sleep_ms(4);
	}
}

int main()
{
	EpollLoop loop;

	corotracer::InitTracer();
	for (int i = 0; i < 10; i++) {
		std::string name = "reader-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), reader_scan, loop, i));
	}
	loop.run_for(1500);
	return 0;
}
