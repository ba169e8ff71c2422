// SPDX-License-Identifier: MIT
// bug_callback_lost_on_error.cpp - the error path of a callback does not resume the coroutine.
//
// An adapter turns a function with a callback into an awaitable.  On an error the callback prints
// a message and returns.  The program uses only the base class of the SDK, without names, reasons
// and wakes.
//
// corpus: bug
// class: lost-wakeup
// at: @stuck
// count: 2
// never: deadlock, wake-before-suspend, leak, closed-under-waiter
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <thread>

#include "pool_executor.hpp"

using Clock = std::chrono::steady_clock;
using ResolveCallback = std::function<void(int error, int address)>;

// A resolver with callbacks, called by the main loop.
class Resolver
{
      public:
	void resolve(int host, ResolveCallback done)
	{
		pending_.emplace(Clock::now() + std::chrono::milliseconds(2 + host % 9),
				 Entry{ host, std::move(done) });
	}
	void run_due()
	{
		while (!pending_.empty() && pending_.begin()->first <= Clock::now()) {
			Entry e = std::move(pending_.begin()->second);

			pending_.erase(pending_.begin());
			e.done(e.host == 1717 || e.host == 5050 ? 1 : 0, e.host + 1);
		}
	}

      private:
	struct Entry {
		int host;
		ResolveCallback done;
	};
	std::multimap<Clock::time_point, Entry> pending_;
};

class Resolved
{
      public:
	Resolved(Resolver *resolver, int host) : resolver_(resolver), host_(host)
	{
	}
	bool await_ready() const noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		resolver_->resolve(host_, [this, h](int error, int address) {
			if (error) {
				std::fprintf(stderr, "resolve: not found\n");
				return; // the bug: the coroutine is not resumed
			}
			address_ = address;
			h.resume();
		});
	}
	int await_resume() const noexcept
	{
		return address_;
	}

      private:
	Resolver *resolver_;
	int host_, address_ = 0;
};

static PoolJob crawl_hosts(Resolver &resolver, int first, long &sum)
{
	for (int host = first; host < first + 100; host++)
		sum += co_await Resolved(&resolver, host); // @stuck
}

int main()
{
	Resolver resolver;
	long sum = 0;

	corotracer::InitTracer();
	for (int i = 0; i < 8; i++)
		crawl_hosts(resolver, i * 1000 + (i == 1 ? 700 : 0), sum);
	for (int i = 0; i < 1100; i++) {
		resolver.run_due();
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	return 0;
}
