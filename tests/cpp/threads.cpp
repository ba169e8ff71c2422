// SPDX-License-Identifier: MIT
// threads.cpp - scenarios: coroutines that wander between threads.
#include "scenarios.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace
{

// A queue, and threads that run its coroutines.
class Pool
{
      public:
	void post(std::coroutine_handle<> h)
	{
		std::lock_guard<std::mutex> hold(lock);

		queue.push_back(h);
		changed.notify_one();
	}

	void run(int nr_threads)
	{
		std::vector<std::thread> threads;

		for (int i = 0; i < nr_threads; i++)
			threads.emplace_back([this] { work(); });
		for (std::thread &t : threads)
			t.join();
	}

	void stop()
	{
		std::lock_guard<std::mutex> hold(lock);

		stopped = true;
		changed.notify_all();
	}

      private:
	void work()
	{
		std::unique_lock<std::mutex> hold(lock);

		for (;;) {
			changed.wait(hold, [this] { return stopped || !queue.empty(); });
			if (queue.empty())
				return;

			std::coroutine_handle<> h = queue.front();

			queue.pop_front();
			hold.unlock();
			h.resume();
			hold.lock();
		}
	}

	std::mutex lock;
	std::condition_variable changed;
	std::deque<std::coroutine_handle<>> queue;
	bool stopped = false;
};

Pool pool;
std::atomic<int> running;

void one_less()
{
	if (--running == 0)
		pool.stop();
}

// Continues on another thread, perhaps; each form of await_suspend().  As soon as the handle is in
// the queue the coroutine may be resumed, continue and be destroyed.
struct Hop {
	bool await_ready()
	{
		return false;
	}

	void await_suspend(std::coroutine_handle<> h)
	{
		pool.post(h);
	}

	void await_resume()
	{
	}
};

struct PerhapsHop : Hop {
	bool stays;

	explicit PerhapsHop(bool s) : stays(s)
	{
	}

	bool await_suspend(std::coroutine_handle<> h)
	{
		if (!stays)
			return false;
		pool.post(h); // from here on the coroutine and this awaiter may be destroyed
		return true;
	}
};

struct HandleHop : Hop {
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> h)
	{
		pool.post(h);
		return std::noop_coroutine();
	}
};

// 3 suspends per turn, and one await that does not suspend.
Eager wanders(int turns)
{
	for (int i = 0; i < turns; i++) {
		co_await Hop{};              // @hop
		co_await PerhapsHop{ true }; // @perhaps
		co_await PerhapsHop{ false };
		co_await HandleHop{}; // @handle
	}
	one_less();
}

void run_wander()
{
	running = 100;
	for (int i = 0; i < 100; i++)
		named("wanderer", wanders, 200);
	pool.run(4);
}

// Resumed, finished and destroyed by another thread before await_suspend() returns: the events of
// that thread must come after a suspend that this thread has not published yet.
template <class Result> struct FinishedMeanwhile : Hop {
	Result await_suspend(std::coroutine_handle<> h)
	{
		std::thread(h).join();
		// Time for a poll of the collector.
		std::this_thread::sleep_for(std::chrono::milliseconds(2));
		if constexpr (std::is_same_v<Result, bool>)
			return true;
		else if constexpr (!std::is_void_v<Result>)
			return std::noop_coroutine();
	}
};

template <class Result> Eager is_finished_meanwhile()
{
	co_await FinishedMeanwhile<Result>{}; // @meanwhile
}

// In the middle of its await_suspend() another coroutine does the same, on the same thread.
struct StartsOther : Hop {
	Plain *other;

	explicit StartsOther(Plain *o) : other(o)
	{
	}

	bool await_suspend(std::coroutine_handle<> h)
	{
		other->start();
		std::thread(h).join();
		return true;
	}
};

Plain starts_nothing()
{
	co_await FinishedMeanwhile<bool>{}; // @inner
}

Eager starts_other(Plain *other)
{
	co_await StartsOther{ other }; // @outer
}

void run_meanwhile()
{
	for (int i = 0; i < 20; i++) {
		Plain inner = named("inner", starts_nothing);

		named("outer", starts_other, &inner);
	}
	for (int i = 0; i < 20; i++) {
		named("meanwhile void", is_finished_meanwhile<void>);
		named("meanwhile bool", is_finished_meanwhile<bool>);
		named("meanwhile handle", is_finished_meanwhile<std::coroutine_handle<>>);
	}
}

// A lock whose await_suspend() returns false when the lock is free: the usual reason for bool.
class Lock
{
      public:
	struct Awaiter {
		Lock *lock;
		std::coroutine_handle<> handle = nullptr;
		Awaiter *next = nullptr;

		bool await_ready()
		{
			return false;
		}

		bool await_suspend(std::coroutine_handle<> h)
		{
			std::lock_guard<std::mutex> hold(lock->guard);

			handle = h;
			if (!lock->held) {
				lock->held = true;
				return false;
			}
			lock->waiting.push_back(this);
			lock->contended++;
			return true;
		}

		void await_resume()
		{
		}

		corotracer::Wait corotracer_wait() const
		{
			return corotracer::locking(lock);
		}
	};

	Awaiter acquire()
	{
		return { this };
	}

	void release()
	{
		std::lock_guard<std::mutex> hold(guard);

		if (waiting.empty()) {
			held = false;
			return;
		}
		pool.post(waiting.front()->handle);
		waiting.pop_front();
	}

	long contended = 0;

      private:
	std::mutex guard;
	std::deque<Awaiter *> waiting;
	bool held = false;
};

Lock lock;
long inside;

Eager contends(int turns)
{
	co_await Hop{}; // @start
	for (int i = 0; i < turns; i++) {
		co_await lock.acquire(); // @lock
		inside++;
		lock.release();
	}
	one_less();
}

// How often the lock was busy depends on the schedule; the program counts it.
void run_lock()
{
	running = 50;
	for (int i = 0; i < 50; i++)
		named("contender", contends, 400);
	pool.run(4);
	expect(inside == 50 * 400, "the lock did not lock");
	std::printf("contended %ld\n", lock.contended);
}

// A tree of tasks over threads: the last child to finish resumes the parent (symmetric transfer).
Whole leaf()
{
	co_await Hop{}; // @leaf
}

Whole branch()
{
	co_await named("leaf", leaf); // @branch
	co_await named("leaf", leaf); // @branch
}

Whole root()
{
	co_await Hop{}; // @root
	for (int i = 0; i < 20; i++)
		co_await named("branch", branch); // @awaits branch
	one_less();
}

void run_tree()
{
	std::vector<Whole> roots;

	running = 20;
	for (int i = 0; i < 20; i++)
		roots.push_back(named("root", root));
	for (Whole &r : roots)
		r.start();
	pool.run(4);
}

const Scenario scenarios[] = {
	{ "wander", run_wander },
	{ "meanwhile", run_meanwhile },
	{ "lock", run_lock },
	{ "tree", run_tree },
};

} // namespace

const Scenarios threads = { scenarios, COUNT_OF(scenarios) };
