// SPDX-License-Identifier: MIT
// bug_poll_drops_event.cpp - the consumer waits for an event or a timeout; after a timeout it
// cleans up for a moment and then forgets old events, also one that came during the cleaning.  The
// producer waits for the acknowledgement.
//
// corpus: bug
// class: stalled|lost-wakeup|deadlock
// at: @ack
// victims: producer
// also: consumer
// never: abandoned-lock
#include "coro_kit.hpp"

using namespace ck;

static loop the_loop;
static channel<int> acks(the_loop, 1);

// One event, and the one that waits for it.
struct event_source {
	std::optional<int> value;
	std::coroutine_handle<> waiter;
	bool *timed_out = nullptr;
};
static event_source events;

struct event_or_timeout {
	bool is_late = false;
	uint64_t timer = 0;
	uint64_t when;

	bool await_ready() const
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		events.waiter = h;
		events.timed_out = &is_late;
		timer = the_loop.add_timer(when, [this, h] {
			is_late = true;
			the_loop.post(h);
		});
	}
	std::optional<int> await_resume()
	{
		the_loop.cancel_timer(timer);
		events.waiter = nullptr;
		return is_late ? std::nullopt : std::exchange(events.value, std::nullopt);
	}
	corotracer::Wait corotracer_wait() const
	{
		return corotracer::receiving(&events);
	}
};

static void emit(int v)
{
	events.value = v;
	if (events.waiter && !*events.timed_out)
		the_loop.post(std::exchange(events.waiter, nullptr));
}

static task<> consumer()
{
	for (;;) {
		events.value.reset(); // the bug
		event_or_timeout wait{ .when = now_ns() + 20000000u };
		auto e = co_await wait;

		if (e)
			co_await acks.send(*e);
		else
			co_await the_loop.sleep(3ms);
	}
}

static task<> producer()
{
	for (int i = 0;; i++) {
		co_await the_loop.sleep(std::chrono::milliseconds(i < 50 ? 7 : 21));
		emit(i);
		co_await acks.recv(); // @ack
	}
}

int main()
{
	corotracer::InitTracer();
	spawn(corotracer::named("consumer", consumer));
	spawn(corotracer::named("producer", producer));
	the_loop.run_for(2500ms);
	return 0;
}
