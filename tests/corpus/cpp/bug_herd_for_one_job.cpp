// SPDX-License-Identifier: MIT
// bug_herd_for_one_job.cpp - one job wakes all workers; all but one go back to sleep.
//
// corpus: bug
// class: herd
// at: @stuck
// victims: worker-*
// never: lost-wakeup, wake-before-suspend, leak, deadlock
#include <deque>
#include <string>

#include "loop_sync.hpp"
#include "lazy_task.hpp"

class JobBoard
{
      public:
	explicit JobBoard(EpollLoop *loop) : waiting_(loop)
	{
	}
	void put_job(int job)
	{
		jobs.push_back(job);
		waiting_.wake_all(corotracer::receiving(this)); // the bug: one is enough
	}
	bool await_ready() const noexcept
	{
		return !jobs.empty();
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		waiting_.add(h);
	}
	void await_resume() const noexcept
	{
	}
	corotracer::Wait corotracer_wait() const
	{
		return corotracer::receiving(this);
	}

	std::deque<int> jobs;

      private:
	WaitList waiting_;
};

static Lazy<> worker_run(EpollLoop &loop, JobBoard &board)
{
	for (;;) {
		while (board.jobs.empty())
			co_await board; // @stuck
		board.jobs.pop_front();
		co_await loop.sleep_ms(3);
	}
}

static Lazy<> jobs_produce(EpollLoop &loop, JobBoard &board)
{
	for (int job = 0; job < 150; job++) {
		co_await loop.sleep_ms(7);
		board.put_job(job);
	}
	co_await loop.sleep_ms(20);
	loop.stop();
}

int main()
{
	EpollLoop loop;
	JobBoard board(&loop);

	corotracer::InitTracer();
	for (int i = 0; i < 40; i++) {
		std::string name = "worker-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), worker_run, loop, board));
	}
	detach_lazy(corotracer::named("producer", jobs_produce, loop, board));
	loop.run_for(2400);
	return 0;
}
