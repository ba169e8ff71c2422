// SPDX-License-Identifier: MIT
// bug_second_waiter_overwrites.cpp - an event with room for one waiter gets a second one.
//
// The metrics coroutine waits for every reload.  An administrator's session waits for one, too,
// and its handle replaces the first.
//
// corpus: bug
// class: lost-wakeup
// at: @stuck
// victims: metrics
// never: deadlock, wake-before-suspend
#include <string>

#include "loop_sync.hpp"
#include "lazy_task.hpp"

class ReloadEvent
{
      public:
	explicit ReloadEvent(EpollLoop *loop) : loop_(loop)
	{
	}
	void publish()
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
		waiter_ = h; // the bug: there may be one already
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

static Lazy<> config_reload(EpollLoop &loop, ReloadEvent &reload)
{
	for (;;) {
		co_await loop.sleep_ms(40);
		reload.publish();
	}
}

static Lazy<> metrics_publish(ReloadEvent &reload, int &version)
{
	for (;;) {
		co_await reload; // @stuck
		version++;
	}
}

static Lazy<> admin_session(EpollLoop &loop, ReloadEvent &reload)
{
	for (int i = 0; i < 60; i++) // other commands
		co_await loop.sleep_ms(10);
	co_await loop.yield_now(); // the metrics coroutine waits when this one continues
	co_await loop.yield_now();
	co_await reload;
	co_await loop.sleep_ms(5);
}

static Lazy<> visit_serve(EpollLoop &loop, int id)
{
	for (int i = 0; i < 60; i++)
		co_await loop.sleep_ms(10 + id % 5);
}

int main()
{
	EpollLoop loop;
	ReloadEvent reload(&loop);
	int version = 0;

	corotracer::InitTracer();
	detach_lazy(corotracer::named("config", config_reload, loop, reload));
	detach_lazy(corotracer::named("metrics", metrics_publish, reload, version));
	detach_lazy(corotracer::named("admin", admin_session, loop, reload));
	for (int i = 0; i < 12; i++) {
		std::string name = "request-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), visit_serve, loop, i));
	}
	loop.run_for(1800);
	return 0;
}
