// SPDX-License-Identifier: MIT
// handles.cpp - wakes of coroutines that are known by std::coroutine_handle<> only, and
// transitions whose address the program passes by hand.
#include "scenarios.h"

namespace
{

// A queue of handles, as in a scheduler: it reports the wake before it resumes one.
std::coroutine_handle<> queued;

struct Queue {
	bool await_ready() const noexcept
	{
		return false;
	}

	void await_suspend(std::coroutine_handle<> h) const
	{
		queued = h;
	}

	void await_resume() const noexcept
	{
	}
};

template <class Task> Task waits_twice()
{
	co_await Queue{};
	co_await Queue{};
}

Eager eager_waits_twice()
{
	co_await Queue{};
	co_await Queue{};
}

void wake_and_resume()
{
	std::coroutine_handle<> h = queued;

	corotracer::wake(h, corotracer::reading(7)); // @wakes by handle
	h.resume();
}

void run_erased()
{
	named("eager", eager_waits_twice);
	wake_and_resume();
	wake_and_resume();

	Whole whole = named("whole", waits_twice<Whole>);

	whole.start();
	wake_and_resume();
	wake_and_resume();

	Plain plain = named("plain", waits_twice<Plain>);

	plain.start();
	wake_and_resume();
	wake_and_resume();
}

// These write nothing, and read only the first word of a frame.
void run_not_known()
{
	Untraced untraced = waits_twice<Untraced>();
	Whole fresh = named("fresh", waits_twice<Whole>);

	corotracer::wake(std::coroutine_handle<>());
	corotracer::wake(std::coroutine_handle<>(std::noop_coroutine()));
	untraced.start();
	wake_and_resume();
	wake_and_resume();
	expect(untraced.done(), "the untraced one did not end");

	fresh.start();
	wake_and_resume();
	wake_and_resume();
	corotracer::wake(queued); // it is done, and its frame still exists
}

// Inside an awaiter the handle has the type of the promise without its tracing.
struct WakesItself {
	bool await_ready() const noexcept
	{
		return false;
	}

	template <class Promise> void await_suspend(std::coroutine_handle<Promise> h) const
	{
		corotracer::wake(h, corotracer::reading(8));
		queued = h;
	}

	void await_resume() const noexcept
	{
	}
};

template <class Task> Task wakes_itself()
{
	co_await WakesItself{};
}

void run_inner()
{
	Whole whole = named("inner", wakes_itself<Whole>);
	Untraced untraced = wakes_itself<Untraced>();

	whole.start();
	queued.resume();
	untraced.start();
	queued.resume();
}

void run_addresses()
{
	struct ByHand : corotracer::PromiseMixin {
		ByHand() : PromiseMixin("addresses")
		{
		}
	} hand;

	hand.write_trace(0x1234, false);
	hand.write_trace(0x4321, true);
	hand.write_trace(0x5678, false);
	hand.write_trace(0, true);
	expect(hand.event_count == (corotracer::enabled() ? 4 : 0), "event_count after");
}

const Scenario scenarios[] = {
	{ "erased", run_erased },
	{ "not-known", run_not_known },
	{ "inner", run_inner },
	{ "addresses", run_addresses },
};

} // namespace

const Scenarios handles = { scenarios, COUNT_OF(scenarios) };
