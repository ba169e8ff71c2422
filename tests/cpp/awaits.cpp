// SPDX-License-Identifier: MIT
// awaits.cpp - scenarios: every kind of await, one after the other.
//
// A comment "@name" marks the line of an await, so that the test can name it.
#include "scenarios.h"

#include <string>

namespace
{

// What await_suspend() may return.
struct ReturnsBool {
	bool stays;

	bool await_ready()
	{
		return false;
	}

	bool await_suspend(std::coroutine_handle<> h)
	{
		if (stays)
			parked.push_back(h);
		return stays;
	}

	int await_resume()
	{
		return stays ? 1 : 0;
	}
};

struct ReturnsHandle {
	std::coroutine_handle<> next;

	bool await_ready()
	{
		return false;
	}

	std::coroutine_handle<> await_suspend(std::coroutine_handle<> h)
	{
		if (!next)
			return h; // to itself
		parked.push_back(h);
		return next;
	}

	void await_resume()
	{
	}
};

Eager awaits_void()
{
	co_await Park{};                // @void
	co_await std::suspend_always{}; // @always
}

void run_void()
{
	Eager e = named("void", awaits_void);

	resume_next();
	e.handle.resume();
}

Eager awaits_ready()
{
	co_await std::suspend_never{}; // @never
	co_await std::suspend_never{};
}

void run_ready()
{
	named("ready", awaits_ready);
}

Eager awaits_bool()
{
	int stayed = co_await ReturnsBool{ false }; // @no

	expect(stayed == 0, "false said true");
	stayed = co_await ReturnsBool{ true }; // @yes
	expect(stayed == 1, "true said false");
	co_await ReturnsBool{ false };                            // @no
	co_await ReturnsBool{ false };                            // @no
	co_await corotracer::locking(0x77, ReturnsBool{ false }); // @no
	co_await corotracer::locking(0x77, ReturnsBool{ true });  // @held
}

// Other coroutines write events before it returns.
struct ResumesOther {
	std::coroutine_handle<> other;

	bool await_ready()
	{
		return false;
	}

	bool await_suspend(std::coroutine_handle<>)
	{
		other.resume();
		return false;
	}

	void await_resume()
	{
	}
};

Eager awaits_busily(std::coroutine_handle<> other)
{
	co_await ResumesOther{ other }; // @busily
	co_await ReturnsBool{ false };  // @no
}

void run_bool()
{
	named("bool", awaits_bool);
	resume_all();

	Eager other = named("other", awaits_bool);

	parked.clear();
	named("busily", awaits_busily, other.handle);
	resume_all();
}

Eager passes_to(std::coroutine_handle<> next)
{
	co_await ReturnsHandle{ next }; // @pass
}

void run_handle()
{
	named("to itself", passes_to, nullptr);
	Eager stays = named("to none", passes_to, std::noop_coroutine());

	Eager second = named("second", awaits_void);

	parked.clear();
	resume_all();
	named("to second", passes_to, second.handle);
	second.handle.resume();
	resume_all();
	stays.handle.destroy();
}

// An awaitable by operator co_await, member and free, as lvalue and rvalue.
struct Member {
	int value;

	auto operator co_await() &
	{
		return ReturnsBool{ value > 0 };
	}

	auto operator co_await() &&
	{
		return Park{};
	}
};

struct Free {
	int *value;
};

struct FreeAwaiter : Park {
	int *value;

	int &await_resume() const noexcept
	{
		return *value;
	}
};

FreeAwaiter operator co_await(const Free &f)
{
	return FreeAwaiter{ {}, f.value };
}

Eager awaits_operators()
{
	Member kept{ 1 };
	int value = 5;

	int got = co_await kept; // @lvalue

	expect(got == 1, "the lvalue's awaiter was another's");
	co_await Member{ 2 }; // @rvalue

	int &same = co_await Free{ &value }; // @free

	same = 6;
	expect(value == 6, "a reference came back as a copy");
}

void run_operators()
{
	named("operators", awaits_operators);
	resume_all();
}

// Counts copies and moves, and detects use after destruction.
struct Counted {
	static inline int copies, moves, alive;
	int *magic;

	Counted() : magic(new int(42))
	{
		alive++;
	}

	Counted(const Counted &) : Counted()
	{
		copies++;
	}

	Counted(Counted &&) noexcept : Counted()
	{
		moves++;
	}

	~Counted()
	{
		alive--;
		delete magic;
	}

	bool await_ready()
	{
		return *magic != 42;
	}

	void await_suspend(std::coroutine_handle<> h)
	{
		expect(*magic == 42, "suspended an awaiter that is gone");
		parked.push_back(h);
	}

	std::string await_resume()
	{
		expect(*magic == 42, "resumed an awaiter that is gone");
		return "a result";
	}
};

struct Immovable : Counted {
	Immovable() = default;
	Immovable(Immovable &&) = delete;
};

struct MakesImmovable {
	Counted counted;

	MakesImmovable() // gcc 12 destroys twice what an aggregate holds in a co_await
	{
	}

	Immovable operator co_await()
	{
		expect(*counted.magic == 42, "made an awaiter from what is gone");
		return {};
	}
};

const Counted &by_reference(const Counted &c)
{
	return c;
}

// The same body as a coroutine of either kind: tracing must not cost a copy.
#define AWAITS_VALUES(task, name)                                             \
	task name()                                                           \
	{                                                                     \
		Counted kept;                                                 \
		std::string result;                                           \
                                                                              \
		result = co_await Counted{};                                  \
		result += co_await kept;                                      \
		result += co_await std::move(kept);                           \
		result += co_await const_cast<Counted &>(by_reference(kept)); \
		result += co_await Immovable{};                               \
		result += co_await MakesImmovable{};                          \
		result += co_await corotracer::reading(7, Counted{});         \
		expect(result.size() == 56, "a result was lost");             \
	}

AWAITS_VALUES(Eager, awaits_values)
AWAITS_VALUES(Whole, awaits_values_whole)
AWAITS_VALUES(Untraced, awaits_values_untraced)

void count_values(Whole *whole, Untraced *untraced, const char *who)
{
	Counted::copies = Counted::moves = 0;
	if (whole)
		whole->start();
	else if (untraced)
		untraced->start();
	else
		named("values", awaits_values);
	resume_all();
	expect(Counted::alive == 0, "an awaitable outlived its coroutine");
	std::printf("%s copies %d moves %d\n", who, Counted::copies, Counted::moves);
}

void run_values()
{
	Whole whole = named("values whole", awaits_values_whole);
	Untraced untraced = awaits_values_untraced();

	count_values(nullptr, nullptr, "mixin");
	count_values(&whole, nullptr, "whole");
	count_values(nullptr, &untraced, "untraced");
}

#if defined(__cpp_exceptions)

enum class When { ready, suspend, resume };

template <class Result> struct Throws {
	When when;

	void at(When now)
	{
		if (when == now)
			throw static_cast<int>(now);
	}

	bool await_ready()
	{
		at(When::ready);
		return false;
	}

	Result await_suspend(std::coroutine_handle<> h)
	{
		at(When::suspend);
		if constexpr (std::is_same_v<Result, bool>) {
			parked.push_back(h);
			return true;
		} else if constexpr (std::is_void_v<Result>) {
			parked.push_back(h);
		} else {
			return h;
		}
	}

	void await_resume()
	{
		at(When::resume);
	}
};

template <class Result> Eager awaits_throwing()
{
	int caught = 0;

	for (When when : { When::ready, When::suspend, When::resume }) {
		try {
			co_await Throws<Result>{ when }; // @throws
		} catch (int) {
			caught++;
		}
	}
	expect(caught == 3, "an exception was lost");
	co_await Park{}; // @after
}

Whole throws_inside()
{
	co_await Park{}; // @inside
	throw 5;
}

Whole catches_outside()
{
	int caught = 0;

	try {
		co_await throws_inside(); // @outside
	} catch (int five) {
		caught = five;
	}
	expect(caught == 5, "an exception did not pass through an await");
}

void run_exceptions()
{
	named("throws void", awaits_throwing<void>);
	resume_all();
	named("throws bool", awaits_throwing<bool>);
	resume_all();
	named("throws handle", awaits_throwing<std::coroutine_handle<>>);
	resume_all();

	Whole outer = named("catches", catches_outside);

	outer.start();
	resume_all();
	expect(outer.done(), "the exception stopped it");
}

#endif

Eager awaits_reasons()
{
	int lock = 0;

	co_await corotracer::reading(3, Park{});                                    // @1
	co_await corotracer::writing(4, Park{});                                    // @2
	co_await corotracer::accepting(5, Park{});                                  // @3
	co_await corotracer::connecting(6, Park{});                                 // @4
	co_await corotracer::sleeping(1000u, Park{});                               // @5
	co_await corotracer::locking(&lock, Park{});                                // @6
	co_await corotracer::acquiring(8, Park{});                                  // @7
	co_await corotracer::sending(9, Park{});                                    // @8
	co_await corotracer::receiving(10, Park{});                                 // @9
	co_await corotracer::joining(11, Park{});                                   // @10
	co_await corotracer::because(corotracer::yielding(), Park{});               // @11
	co_await corotracer::signalled(12, Park{});                                 // @12
	co_await corotracer::because(corotracer::waiting(CTP_REASON_USER), Park{}); // @13
}

struct SaysSo : Park {
	corotracer::Wait corotracer_wait() const
	{
		return corotracer::reading(21);
	}
};

} // namespace

namespace theirs
{

struct Read {
	int fd;

	Park operator co_await() const
	{
		return {};
	}
};

corotracer::Wait corotracer_wait(const Read &r)
{
	return corotracer::writing(r.fd);
}

} // namespace theirs

namespace
{

Eager awaits_who_say_so()
{
	co_await SaysSo{};                            // @member
	co_await theirs::Read{ 22 };                  // @adl
	co_await corotracer::accepting(23, SaysSo{}); // @here
}

Untraced awaits_annotated_untraced()
{
	co_await corotracer::reading(3, Park{});
	co_await corotracer::reading(3, theirs::Read{ 1 });
}

void run_reasons()
{
	Untraced untraced = awaits_annotated_untraced();

	named("reasons", awaits_reasons);
	resume_all();
	named("says so", awaits_who_say_so);
	resume_all();
	untraced.start();
	resume_all();
	expect(untraced.done(), "an annotation changed an untraced coroutine");
}

Eager runs_ahead()
{
	for (int i = 0; i < 4; i++)
		co_await Park{}; // @hot
}

Eager awaits_behind(std::coroutine_handle<> hot)
{
	for (int i = 0; i < 4; i++) {
		hot.resume();
		parked.clear();                     // the other coroutine is resumed here only
		co_await ReturnsBool{ i % 2 == 0 }; // @behind
		co_await Park{};                    // @park
	}
}

// The times of this thread's lane; its records are all in the first chunk.
void expect_steady_lane()
{
	const ctp_lane *lane = corotracer::detail::self()->ctp.lane;
	const auto *chunk = static_cast<const ctp_chunk *>(
		ctp_unit(&corotracer::detail::session()->chunk_pool, lane->first - 1));
	uint64_t nr = lane->head / sizeof(ctp_record), last = 0;

	for (uint64_t i = 0; i < nr; i++) {
		const ctp_record &r = chunk->records[i];

		if (r.kind == CTP_REC_MORE || r.kind == CTP_REC_TEXT)
			continue;
		expect(r.ticks >= last, "the times of a lane decrease");
		last = r.ticks;
	}
}

// The time of one coroutine is ahead of the counter, as after many events in one period of it, and
// the run is over before the counter has caught up.
void run_ahead()
{
	Eager hot = named("hot", runs_ahead);
	ctp_life *life = hot.handle.promise().my_station.life;

	parked.clear();
	if (!life)
		return; // not traced
	life->last_ticks = ctp_ticks() + UINT64_C(4000000000);
	named("behind", awaits_behind, hot.handle);
	resume_all();
	expect_steady_lane();
}

const Scenario scenarios[] = {
	{ "void", run_void },
	{ "ready", run_ready },
	{ "bool", run_bool },
	{ "handle", run_handle },
	{ "operators", run_operators },
	{ "values", run_values },
#if defined(__cpp_exceptions)
	{ "exceptions", run_exceptions },
#endif
	{ "reasons", run_reasons },
	{ "ahead", run_ahead },
};

} // namespace

const Scenarios awaits = { scenarios, COUNT_OF(scenarios) };
