// SPDX-License-Identifier: MIT
// clean_first_of_two_mirrors.cpp - two mirrors are asked, the first answer is used and the slower
// task is cancelled.
//
// corpus: clean
// never: leak, never-destroyed, lost-wakeup, deadlock, destroyed-suspended
#include "coro_kit.hpp"

#include <string>

using namespace ck;

static loop the_loop;

struct flag {
	std::coroutine_handle<> waiter;
	bool is_set = false;

	bool await_ready() const
	{
		return is_set;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		waiter = h;
	}
	void await_resume() const
	{
	}
	void set()
	{
		if (!std::exchange(is_set, true) && waiter)
			the_loop.post(waiter);
	}
};

// A sleep whose timer is removed with the frame.
struct answer_after {
	uint64_t when, timer = 0;

	bool await_ready() const
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		timer = the_loop.add_timer(when, [this, h] {
			timer = 0;
			the_loop.post(h);
		});
	}
	void await_resume() const
	{
	}
	~answer_after()
	{
		if (timer)
			the_loop.cancel_timer(timer);
	}
};

static task<> mirror(int ms, flag *done)
{
	co_await answer_after{ now_ns() + static_cast<uint64_t>(ms) * 1000000u };
	done->set();
}

static task<> fetch(int i)
{
	flag done;
	auto fast = corotracer::named("fast", mirror, 3 + i % 4, &done);
	auto slow = corotracer::named("slow", mirror, 400, &done);

	fast.get().resume();
	slow.get().resume();
	co_await done;
	if (!slow.get().done())
		slow.get().promise().cancelled();
}

static task<> fetches()
{
	for (int i = 0; i < 150; i++)
		co_await corotracer::named(("fetch-" + std::to_string(i)).c_str(), fetch, i);
	the_loop.stop();
}

int main()
{
	corotracer::InitTracer();
	spawn(corotracer::named("fetches", fetches));
	the_loop.run_for(8000ms);
	return 0;
}
