// SPDX-License-Identifier: MIT
// scheduler.h - many coroutines on a few threads, around one epoll.
//
//	Scheduler scheduler(opts);
//	scheduler.open(&error);
//	scheduler.spawn(accept_clients(...));
//	scheduler.run();	// until stop(), and until all who wait were told of it
//
// A coroutine waits for a descriptor (await.h), lets others go first, or awaits another
// one; it goes on on whichever thread is free.  One lock guards it all: what happens under
// it is short, and what a server does between two waits is not.
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

// Somebody who waits for a descriptor; lies in the frame of the coroutine that does.
struct Waiter {
	int fd = -1;
	uint32_t events = 0; // EPOLLIN or EPOLLOUT
	std::coroutine_handle<> coroutine;
	const corotracer::PromiseMixin *trace = nullptr;
	corotracer::Wait why; // as the trace tells it
	Tally *tally = nullptr;
	int error = 0; // when it goes on: 0, or why there is no use in trying
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

	// @task runs from now on, by itself; from any thread, before run() or from within.
	void spawn(Task<> task);

	// On so many threads, until stopped.  Returns 0 or a negative errno.
	int run();

	// Whoever waits goes on with ECANCELED, now and from now on.  From any thread.
	void stop();

	// For awaiters.  @coroutine may run, end and be gone before these return.
	void wait(Waiter *waiter);
	void post(std::coroutine_handle<> coroutine, Tally *tally);

      private:
	struct Ready {
		std::coroutine_handle<> coroutine;
		Tally *tally;
	};

	void work();
	void wake_a_worker();

	// With the lock held.
	bool take(std::unique_lock<std::mutex> &guard, Ready *next);
	void poll(std::unique_lock<std::mutex> &guard, int timeout_ms);
	void dispatch(int fd, uint32_t events);
	Waiter *take_waiter(int fd);
	void push(const Ready &ready);

	const SchedulerOptions opts_;
	Fd epoll_, bell_; // the bell is an eventfd: somebody look at the queue

	std::mutex lock_;               // guards all below
	std::vector<Waiter *> waiting_; // by descriptor
	std::deque<Ready> queue_;
	size_t nr_waiting_ = 0;
	unsigned nr_running_ = 0, nr_polling_ = 0;
	bool is_stopping_ = false;
};
