// SPDX-License-Identifier: MIT
// bug_stale_timer_steps_session.cpp - a timer steps a session that has already ended.
//
// The sessions are state machines without frames, which report their transitions by hand.  The
// retry timer of a session that is aborted stays in the heap of timers and steps it once more.
//
// corpus: bug
// class: resume-after-end
// at: @stuck
// victims: session-5
// never: deadlock, lost-wakeup, leak
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <corotracer/coroTracer.h>

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class RetrySession;
using RetryTimers = std::multimap<Clock::time_point, RetrySession *>;

class RetrySession
{
      public:
	RetrySession(const char *name, RetryTimers *timers, int nr_tries)
	    : life_(name), timers_(timers), tries_left_(nr_tries)
	{
		retry_later(*this);
	}
	// One step of the machine: sends the request again, and waits.
	void step()
	{
		life_.write_trace(0, true);
		if (tries_left_ == 0)
			return; // it has ended
		if (--tries_left_ == 0)
			life_.cancelled();
		else
			retry_later(*this);
	}
	// The user gives up.
	void abort()
	{
		tries_left_ = 0;
		life_.cancelled(); // the bug: the timer stays
	}

      private:
	static void retry_later(RetrySession &self) // @stuck
	{
		auto here = reinterpret_cast<uintptr_t>(&retry_later);

		self.timers_->emplace(Clock::now() + milliseconds(20), &self);
		self.life_.write_trace(here, false);
	}

	corotracer::PromiseMixin life_;
	RetryTimers *timers_;
	int tries_left_;
};

int main()
{
	std::vector<std::unique_ptr<RetrySession>> sessions;
	RetryTimers timers;

	corotracer::InitTracer();
	for (int i = 0; i < 10; i++) {
		std::string name = "session-" + std::to_string(i);

		sessions.push_back(std::make_unique<RetrySession>(name.c_str(), &timers, 20 + i));
	}
	for (int turns = 0; turns < 200 && !timers.empty(); turns++) {
		RetrySession *due = timers.begin()->second;

		std::this_thread::sleep_until(timers.begin()->first);
		timers.erase(timers.begin());
		due->step();
		if (turns == 100)
			sessions[5]->abort();
	}
	return 0;
}
