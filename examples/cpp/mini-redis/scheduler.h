// SPDX-License-Identifier: MIT
// scheduler.h - many coroutines on a few threads, around one epoll.
//
//	Scheduler scheduler(opts);
//	scheduler.open();
//	scheduler.spawn(accept_clients(...));
//	scheduler.run();	// until stop(), and until all waiters have returned
//
// A coroutine waits for a descriptor (await.h), yields, or awaits another coroutine; it continues
// on any free thread.  One lock guards everything: the critical sections are short compared with
// the work of a server between two waits.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "redis/census.h"
#include "fd.h"
#include "task.h"

// A coroutine that waits for a descriptor; stored in the frame of that coroutine.
struct Waiter {
	int fd = -1;
	uint32_t events = 0; // EPOLLIN or EPOLLOUT
	std::coroutine_handle<> coroutine;
	const corotracer::PromiseMixin *trace = nullptr;
	corotracer::Wait why; // for the trace
	Tally *tally = nullptr;
	int error = 0; // result of the wait: 0, or an errno if the call would fail
};

struct SchedulerOptions {
	unsigned nr_workers = 4;
	bool lose_wakeups = false; // a bug, on purpose: see Scheduler::dispatch()
};

class Scheduler
{
      public:
	explicit Scheduler(const SchedulerOptions &opts) : opts_(opts)
	{
	}

	// 0 or a negative errno.
	int open();

	// Run @task, detached; from any thread, before run() or during it.
	void spawn(Task<> task);

	// Run on nr_workers threads, until stopped.  Returns 0 or a negative errno.
	int run();

	// Current and future waits end with ECANCELED.  From any thread.
	void stop();

	// For awaiters.  @coroutine may run, end and be destroyed before these return.
	void wait(Waiter *waiter);
	void post(std::coroutine_handle<> coroutine, Tally *tally);

      private:
	struct Ready {
		std::coroutine_handle<> coroutine;
		Tally *tally;
	};

	void work();
	void wake_a_worker();

	// Called with the lock held.
	bool take(std::unique_lock<std::mutex> &guard, Ready *next);
	void poll(std::unique_lock<std::mutex> &guard, int timeout_ms);
	void dispatch(int fd, uint32_t events);
	Waiter *take_waiter(int fd);
	void push(const Ready &ready);

	const SchedulerOptions opts_;
	Fd epoll_, bell_; // bell_ is an eventfd: written to make a worker check the queue

	std::mutex lock_;               // guards all below
	std::vector<Waiter *> waiting_; // by descriptor
	std::deque<Ready> queue_;
	size_t nr_waiting_ = 0;
	unsigned nr_running_ = 0, nr_polling_ = 0;
	bool is_stopping_ = false;
};
