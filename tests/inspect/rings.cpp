// SPDX-License-Identifier: MIT
// rings.cpp - coroutines that wait for each other's locks, and some that only look as if they did.
//
//	rings own N | cppcoro N | family | again | shared | choice
//	rings kinds | released | handed | loop | threads | clean
//
// expect(N, ...) as in truth.h; `ring N` is the number of coroutines in a ring, 0: no verdict.
#include "cppcoro_names.h"
#include "tasks.h"

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static Gate gate;
static std::vector<Task<>::Handle> started;

// A lock that knows its holder; described by rings.types.
namespace own
{
struct Lock {
	struct Acquire {
		Lock *lock;
		std::coroutine_handle<> self{};
		Acquire *next = nullptr;

		bool await_ready()
		{
			return false;
		}
		bool await_suspend(std::coroutine_handle<> awaiting)
		{
			self = awaiting;
			if (!lock->owner) {
				lock->owner = awaiting;
				return false;
			}
			next = lock->waiting;
			lock->waiting = this;
			return true;
		}
		void await_resume()
		{
		}
	};
	std::coroutine_handle<> owner{};
	Acquire *waiting = nullptr;

	Acquire acquire()
	{
		return { this };
	}
	// The new holder is not resumed: an executor would do it later.
	void hand_over()
	{
		owner = waiting->self;
		waiting = waiting->next;
	}
};

struct Timer {
	std::chrono::steady_clock::time_point when;

	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<>)
	{
	}
	void await_resume()
	{
	}
};
} // namespace own

static void start(Task<> task)
{
	started.push_back(task.detach());
	started.back().resume();
}

static Task<> own_two(own::Lock &first, own::Lock &second)
{
	co_await first.acquire();
	co_await gate.wait();
	co_await second.acquire(); // @own_two
	co_await gate.wait();
}

static Task<> own_one(own::Lock &lock)
{
	co_await lock.acquire(); // @own_one
	co_await gate.wait();    // @own_holder
}

static Task<> scoped_two(cppcoro::async_mutex &first, cppcoro::async_mutex &second)
{
	{
		auto gone = co_await first.scoped_lock_async();
	}
	auto one = co_await first.scoped_lock_async();
	co_await gate.wait();
	auto two = co_await second.scoped_lock_async(); // @scoped_two
	co_await gate.wait();
}

// The guard of the first lock is gone when the second one is awaited.
static Task<> released_two(cppcoro::async_mutex &first, cppcoro::async_mutex &second)
{
	if (started.size() < 1000) {
		auto one = co_await first.scoped_lock_async();

		co_await gate.wait();
	}
	auto two = co_await second.scoped_lock_async(); // @released_two
}

// The lock that is awaited was held by the same variable in the round before.
static Task<> loop_two(cppcoro::async_mutex &lock)
{
	for (int round = 0; round < 1000; round++) {
		auto one = co_await lock.scoped_lock_async(); // @loop_two
		co_await gate.wait();
	}
}

static Task<> hold_by_hand(cppcoro::async_mutex &lock)
{
	co_await lock.lock_async();
	co_await gate.wait(); // @by_hand
}

static Task<> child_locks(cppcoro::async_mutex &lock)
{
	auto one = co_await lock.scoped_lock_async(); // @child
}

static Task<> parent_locks(cppcoro::async_mutex &lock)
{
	auto one = co_await lock.scoped_lock_async();
	co_await child_locks(lock); // @parent
}

static Task<> locks_again(cppcoro::async_mutex &lock)
{
	auto one = co_await lock.scoped_lock_async();
	auto two = co_await lock.scoped_lock_async(); // @again
}

static cppcoro::shared_task<void> shared_work(cppcoro::async_mutex &lock)
{
	co_await gate.wait();
	co_await lock.lock_async(); // @shared_work
}

static Task<> waits_for_shared(cppcoro::async_mutex &lock, cppcoro::shared_task<void> work)
{
	auto one = co_await lock.scoped_lock_async();
	co_await work; // @shared_waiter
}

static Task<> waits_for_event(cppcoro::async_auto_reset_event &event)
{
	co_await event; // @event
}

static Task<> waits_for_time(int seconds)
{
	auto when = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);

	co_await own::Timer{ when }; // @timer
}

static Task<> waits_at_gate()
{
	co_await gate.wait(); // @at_gate
}

// Both are awaited at once: the program may need only one of them.
static Task<> parent_chooses(cppcoro::async_mutex &lock)
{
	auto one = co_await lock.scoped_lock_async();
	co_await WhenAll(child_locks(lock), waits_at_gate()); // @chooses
}

static Task<> contends(std::vector<cppcoro::async_mutex> &locks, unsigned seed)
{
	for (unsigned step = seed;; step++) {
		unsigned low = step % locks.size(), high = low + 1 + step / 7 % locks.size();
		auto one = co_await locks[low].scoped_lock_async();
		co_await gate.wait();
		if (high < locks.size()) {
			auto two = co_await locks[high].scoped_lock_async();
			co_await gate.wait();
		}
	}
}

template <typename Lock> static std::vector<Lock> &locks_of(int count)
{
	static auto *locks = new std::vector<Lock>(static_cast<std::size_t>(count));

	return *locks;
}

static void open_all()
{
	for (auto left = gate.waiting.size(); left; left--)
		gate.open_one();
}

static void say_ring(int count)
{
	std::printf("ring %d\n", count);
}

template <typename Lock> static void make_ring(Task<> (*two)(Lock &, Lock &), int count)
{
	auto &locks = locks_of<Lock>(count);

	for (std::size_t i = 0; i < locks.size(); i++)
		start(two(locks[i], locks[(i + 1) % locks.size()]));
	open_all();
}

static void make_shared()
{
	auto &locks = locks_of<cppcoro::async_mutex>(1);
	auto *work = new cppcoro::shared_task<void>(shared_work(locks[0]));

	start(waits_for_shared(locks[0], *work));
	gate.open_one();
	expect(1, "shared_work");
	expect(1, "shared_waiter");
	say_ring(2);
}

static void make_released()
{
	auto &locks = locks_of<cppcoro::async_mutex>(2);

	start(released_two(locks[0], locks[1]));
	start(released_two(locks[1], locks[0]));
	start(hold_by_hand(locks[0]));
	start(hold_by_hand(locks[1]));
	gate.open_one();
	gate.open_one();
	expect(2, "released_two");
	expect(2, "by_hand");
	say_ring(0);
}

static void make_loop()
{
	auto &locks = locks_of<cppcoro::async_mutex>(1);

	start(loop_two(locks[0]));
	start(hold_by_hand(locks[0]));
	gate.open_one();
	expect(1, "loop_two");
	expect(1, "by_hand");
	say_ring(0);
}

static void make_handed()
{
	auto &locks = locks_of<own::Lock>(1);

	start(own_one(locks[0]));
	start(own_one(locks[0]));
	locks[0].hand_over();
	expect(1, "own_one");
	expect(1, "own_holder");
	say_ring(0);
}

static void make_kinds()
{
	auto &events = locks_of<cppcoro::async_auto_reset_event>(2);

	for (int i = 0; i < 5; i++)
		start(waits_for_event(events[i < 3]));
	for (int i = 1; i < 5; i++)
		start(waits_for_time(3600 * i));
	expect(5, "event");
	expect(4, "timer");
	say_ring(0);
}

static void make_choice()
{
	start(parent_chooses(locks_of<cppcoro::async_mutex>(1)[0]));
	expect(1, "child when_all_child chooses");
	expect(1, "at_gate when_all_child chooses");
	say_ring(1);
}

// Two threads that wait for each other's mutex; the numbers are those of the threads.
[[noreturn]] static void run_threads()
{
	static std::mutex first, second;
	static std::atomic<int> other{ 0 };

	first.lock();
	std::thread([] {
		second.lock();
		other = gettid();
		first.lock();
	}).detach();
	while (!other)
		std::this_thread::yield();
	std::printf("first %d\nsecond %d\n", gettid(), other.load());
	ready();
	second.lock();
	std::abort();
}

[[noreturn]] static void run_clean()
{
	auto &locks = locks_of<cppcoro::async_mutex>(6);

	for (unsigned i = 0; i < 24; i++)
		start(contends(locks, i));
	say_ring(0);
	ready();
	for (;;) {
		std::this_thread::sleep_for(std::chrono::microseconds(300));
		gate.open_one();
	}
}

int main(int argc, char **argv)
{
	std::string what = argc > 1 ? argv[1] : "";
	int count = argc > 2 ? std::atoi(argv[2]) : 2;

	alarm(300);
	if (what == "own") {
		make_ring(own_two, count);
		expect(count, "own_two");
		say_ring(count);
	} else if (what == "cppcoro") {
		make_ring(scoped_two, count);
		expect(count, "scoped_two");
		say_ring(count);
	} else if (what == "family") {
		start(parent_locks(locks_of<cppcoro::async_mutex>(1)[0]));
		expect(1, "child parent");
		say_ring(1);
	} else if (what == "again") {
		start(locks_again(locks_of<cppcoro::async_mutex>(1)[0]));
		expect(1, "again");
		say_ring(1);
	} else if (what == "shared") {
		make_shared();
	} else if (what == "released") {
		make_released();
	} else if (what == "loop") {
		make_loop();
	} else if (what == "handed") {
		make_handed();
	} else if (what == "kinds") {
		make_kinds();
	} else if (what == "choice") {
		make_choice();
	} else if (what == "threads") {
		run_threads();
	} else {
		run_clean();
	}
	ready();
	for (;;)
		pause();
}
