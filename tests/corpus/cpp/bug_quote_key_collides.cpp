// SPDX-License-Identifier: MIT
// bug_quote_key_collides.cpp - requests wait for replies in a map by key; two requests with one key
// overwrite each other, and the first one is never answered.
//
// corpus: bug
// class: lost-wakeup|stalled
// at: @reply
// victims: quote-*
// count: 1
// never: deadlock, closed-under-waiter
#include "coro_kit.hpp"

#include <string>

using namespace ck;

static loop the_loop;
static std::map<int, reply<int> *> pending;

static task<> exchange()
{
	for (;;) {
		co_await the_loop.sleep(6ms);
		auto answered = std::exchange(pending, {});

		for (auto &[key, r] : answered)
			r->set(key * 100);
	}
}

static task<> quote(int key)
{
	reply<int> r(the_loop);

	pending[key] = &r; // the bug: another request for the same key may be there
	co_await r;        // @reply
}

static task<> traders()
{
	for (int i = 0; i < 160; i++) {
		spawn(corotracer::named(("quote-" + std::to_string(i)).c_str(), quote, i));
		if (i == 77)
			spawn(corotracer::named("quote-77b", quote, i));
		co_await the_loop.sleep(10ms);
	}
}

int main()
{
	corotracer::InitTracer();
	spawn(corotracer::named("exchange", exchange));
	spawn(corotracer::named("traders", traders));
	the_loop.run_for(2200ms);
	return 0;
}
