// SPDX-License-Identifier: MIT
// clean_slow_report.cpp - one query is much slower than all others, and is answered.
//
// A yearly report waits a hundred times longer than usual at the same line; another one is still
// being computed when the program ends.
//
// corpus: clean
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

class Answer
{
      public:
	explicit Answer(EpollLoop *loop) : loop_(loop)
	{
	}
	void give()
	{
		is_given_ = true;
		if (waiter_)
			loop_->post(std::exchange(waiter_, nullptr), corotracer_wait());
	}
	bool await_ready() const noexcept
	{
		return is_given_;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		waiter_ = h;
	}
	void await_resume()
	{
		is_given_ = false;
	}
	corotracer::Wait corotracer_wait() const
	{
		return corotracer::waiting(CTP_REASON_USER, this);
	}

      private:
	EpollLoop *loop_;
	bool is_given_ = false;
	std::coroutine_handle<> waiter_;
};

static Lazy<> database_compute(EpollLoop &loop, Answer &answer, int ms)
{
	for (; ms > 0; ms -= 10)
		co_await loop.sleep_ms(std::min(ms, 10));
	answer.give();
}

static Lazy<> dashboard_run(EpollLoop &loop, int id)
{
	Answer answer(&loop);

	for (int i = 0; i < 60; i++) {
		bool is_yearly = (id == 2 && i == 5) || (id == 4 && i == 35);

		detach_lazy(database_compute(loop, answer, is_yearly ? 600 : 4 + id));
		co_await answer;
		co_await loop.sleep_ms(8);
	}
}

int main()
{
	EpollLoop loop;

	corotracer::InitTracer();
	for (int i = 0; i < 6; i++) {
		std::string name = "dashboard-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), dashboard_run, loop, i));
	}
	loop.run_for(1000);
	return 0;
}
