// SPDX-License-Identifier: MIT
// bug_gateway_in_flight.cpp - a gateway with a cache, a limit of calls, retries and a fan-out.
// Requests for a key that is being fetched wait for the first one; if that fetch fails, its entry
// stays "in flight" and all later requests for the key wait.
//
// corpus: bug
// class: lost-wakeup|stalled
// at: @flight
// never: deadlock, abandoned-lock, starvation, blocking
#include "coro_kit.hpp"

#include <stdexcept>
#include <string>

using namespace ck;

static loop the_loop;

// A cache entry: those that wait for the fetch.
struct entry {
	bool is_in_flight = false;
	std::vector<std::coroutine_handle<>> waiters;

	struct awaiter {
		entry *e;

		bool await_ready() const
		{
			return !e->is_in_flight;
		}
		void await_suspend(std::coroutine_handle<> h)
		{
			e->waiters.push_back(h);
		}
		void await_resume() const
		{
		}
		corotracer::Wait corotracer_wait() const
		{
			return corotracer::waiting(CTP_REASON_USER, e);
		}
	};
	awaiter landed()
	{
		return { this };
	}
	void land()
	{
		is_in_flight = false;
		for (auto h : std::exchange(waiters, {}))
			the_loop.post(h);
	}
};

static std::map<int, entry> cache;
static int nr_calls;

static task<int> backend(int key)
{
	co_await the_loop.sleep(std::chrono::milliseconds(4 + key % 3));
	if (++nr_calls == 120)
		throw std::runtime_error("backend");
	co_return key * 2;
}

static task<int> fetch(int key)
{
	entry &e = cache[key];

	if (e.is_in_flight) {
		co_await e.landed(); // @flight
		co_return 0;
	}
	e.is_in_flight = true;
	int value = co_await backend(key); // the bug: an exception skips land()

	e.land();
	co_return value;
}

static task<> get(int key)
{
	try {
		co_await fetch(key);
	} catch (const std::runtime_error &) {
		// answered with an error page
	}
}

static task<> page(int i)
{
	std::vector<task<>> parts;

	for (int k = 0; k < 3; k++)
		parts.push_back(corotracer::named(
			("get-" + std::to_string(i) + "-" + std::to_string(k)).c_str(), get,
			(i + k) % 9));
	co_await when_all(std::move(parts));
}

static task<> front()
{
	for (int i = 0; i < 200; i++) {
		spawn(corotracer::named(("page-" + std::to_string(i)).c_str(), page, i));
		co_await the_loop.sleep(7ms);
	}
}

static task<> metrics()
{
	for (;;)
		co_await the_loop.sleep(60ms);
}

int main()
{
	corotracer::InitTracer();
	spawn(corotracer::named("metrics", metrics));
	spawn(corotracer::named("front", front));
	the_loop.run_for(2500ms);
	return 0;
}
