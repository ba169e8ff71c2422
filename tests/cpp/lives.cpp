// SPDX-License-Identifier: MIT
// lives.cpp - scenarios: creation, end, yield and parents of coroutines.
#include "scenarios.h"

#include <memory>
#include <optional>
#include <string>

namespace
{

// ---- from the first suspend to the last ----------------------------------------------

Whole lazy()
{
	co_await Park{}; // @lazy
}

Plain lazy_plain()
{
	co_await Park{}; // @plain
}

void run_lazy()
{
	{
		Whole whole = named("whole", lazy);
		Plain plain = named("plain", lazy_plain);
		Whole never = named("never started", lazy);

		whole.start();
		plain.start();
		resume_all();
	}
	{
		Whole dropped = named("dropped", lazy);

		dropped.start();
		parked.clear();
	}
}

// Eager, and traced completely.
struct EagerPromise {
	struct Object {
		std::coroutine_handle<EagerPromise> handle;
	};

	Object get_return_object()
	{
		return { std::coroutine_handle<EagerPromise>::from_promise(*this) };
	}

	std::suspend_never initial_suspend() noexcept
	{
		return {};
	}

	std::suspend_never final_suspend() noexcept
	{
		return {};
	}

	void return_void()
	{
	}

	void unhandled_exception()
	{
		std::abort();
	}
};

struct EagerWhole : EagerPromise::Object {
	EagerWhole(EagerPromise::Object o) : EagerPromise::Object(o)
	{
	}

	using promise_type = corotracer::Traced<EagerPromise>;
};

EagerWhole eager_child()
{
	co_await Park{}; // @child
}

EagerWhole eager_parent()
{
	named("eager child", eager_child);
	co_await Park{}; // @parent
}

void run_eager()
{
	named("eager parent", eager_parent);
	resume_all();
	// Both are destroyed: this coroutine has no parent.
	named("eager orphan", eager_child);
	resume_all();
}

// ---- generators -----------------------------------------------------------------------

template <class Tag> struct GeneratorPromise {
	int value = 0;

	typename Tag::Generator get_return_object()
	{
		return { std::coroutine_handle<GeneratorPromise>::from_promise(*this) };
	}

	std::suspend_always initial_suspend() noexcept
	{
		return {};
	}

	std::suspend_always final_suspend() noexcept
	{
		return {};
	}

	std::suspend_always yield_value(int v) noexcept
	{
		value = v;
		return {};
	}

	void return_void()
	{
	}

	void unhandled_exception()
	{
		std::abort();
	}
};

template <class Tag, class Promise> struct Generator {
	using promise_type = Promise;

	std::coroutine_handle<GeneratorPromise<Tag>> handle;

	Generator(std::coroutine_handle<GeneratorPromise<Tag>> h) : handle(h)
	{
	}

	Generator(Generator &&) = delete;

	~Generator()
	{
		handle.destroy();
	}

	std::optional<int> next()
	{
		handle.resume();
		if (handle.done())
			return {};
		return handle.promise().value;
	}
};

struct WholeGeneratorTag {
	using Generator = ::Generator<WholeGeneratorTag,
				      corotracer::Traced<GeneratorPromise<WholeGeneratorTag>>>;
};

// The same by hand.
template <class Tag> struct HandPromise : GeneratorPromise<Tag>, corotracer::PromiseMixin {
	auto initial_suspend() noexcept
	{
		return trace_initial(std::suspend_always{});
	}

	auto final_suspend() noexcept
	{
		return trace_final(std::suspend_always{});
	}

	auto yield_value(int v,
			 std::source_location where = std::source_location::current()) noexcept
	{
		GeneratorPromise<Tag>::yield_value(v);
		return trace_yield(std::suspend_always{}, where);
	}
};

struct HandGeneratorTag {
	using Generator = ::Generator<HandGeneratorTag, HandPromise<HandGeneratorTag>>;
};

WholeGeneratorTag::Generator count_to(int n)
{
	for (int i = 1; i <= n; i++)
		co_yield i; // @yield
}

HandGeneratorTag::Generator count_to_by_hand(int n)
{
	for (int i = 1; i <= n; i++)
		co_yield i; // @hand
}

// A yielded value whose type only the promise knows.
struct Two {
	int a, b;
};

struct TwosPromise;
struct TwosTag {
	using Generator = ::Generator<TwosTag, corotracer::Traced<TwosPromise>>;
};

struct TwosPromise : GeneratorPromise<TwosTag> {
	std::suspend_always yield_value(const Two &two) noexcept
	{
		value = two.a + two.b;
		return {};
	}
};

TwosTag::Generator yields_twos()
{
	Two kept{ 5, 6 };

	co_yield { 1, 2 };    // @braces
	co_yield kept;        // @kept
	co_yield Two{ 3, 4 }; // @made here
}

Whole sums()
{
	auto generator = named("counter", count_to, 3);
	int sum = 0;

	while (std::optional<int> i = generator.next())
		sum += *i;
	expect(sum == 6, "a yielded value was lost");
	co_await Park{}; // @summed
}

void run_generator()
{
	Whole consumer = named("consumer", sums);

	consumer.start();
	resume_all();

	auto by_hand = named("by hand", count_to_by_hand, 2);
	int sum = 0;

	while (std::optional<int> i = by_hand.next())
		sum += *i;
	expect(sum == 3, "a yielded value was lost");

	auto twos = named("twos", yields_twos);

	expect(twos.next() == 3 && twos.next() == 11 && twos.next() == 7, "two were lost");

	auto stopped = named("stopped", count_to, 9);

	expect(stopped.next() == 1, "it does not begin with one");
}

// ---- a promise with its own await_transform() ------------------------------------------

struct GetId {
};

struct Opinionated {
	struct promise_type : corotracer::PromiseMixin {
		Opinionated get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}

		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}

		std::suspend_never final_suspend() noexcept
		{
			return {};
		}

		void return_void()
		{
		}

		void unhandled_exception()
		{
			std::abort();
		}

		// Its coroutines may co_await a number N: N turns.
		struct Turns : Park {
			int nr;

			int await_resume() const
			{
				return nr;
			}
		};

		auto await_transform(int nr,
				     std::source_location where = std::source_location::current())
		{
			return trace_await(Turns{ {}, nr }, where);
		}

		auto await_transform(Park &p,
				     std::source_location where = std::source_location::current())
		{
			return trace_await(p, where);
		}

		// An await that never suspends need not be traced.
		auto await_transform(GetId)
		{
			struct Ready : std::suspend_never {
				uint64_t id;

				uint64_t await_resume() const
				{
					return id;
				}
			};

			return Ready{ {}, id() };
		}
	};

	std::coroutine_handle<promise_type> handle;
};

Opinionated has_opinions(uint64_t *id)
{
	Park kept;

	*id = co_await GetId{};
	int turns = co_await 7; // @number

	expect(turns == 7, "the number is another");
	co_await kept; // @kept
}

// The same in a promise without tracing.
struct TransformingPromise : EagerPromise {
	struct Object {
		std::coroutine_handle<> handle;
	};

	Object get_return_object()
	{
		return { std::coroutine_handle<TransformingPromise>::from_promise(*this) };
	}

	// Not movable: it must be constructed where it is awaited.
	struct Turns : Park {
		int nr;

		explicit Turns(int n) : nr(n)
		{
		}
		Turns(Turns &&) = delete;

		int await_resume() const
		{
			return nr;
		}
	};

	Turns await_transform(int nr)
	{
		return Turns(nr);
	}

	Park &await_transform(Park &p)
	{
		return p;
	}
};

struct Transforming : TransformingPromise::Object {
	Transforming(TransformingPromise::Object o) : TransformingPromise::Object(o)
	{
	}

	using promise_type = corotracer::Traced<TransformingPromise>;
};

Transforming is_transformed()
{
	Park kept;
	int turns = co_await 8; // @made

	expect(turns == 8, "the number is another");
	co_await kept; // @refers
}

void run_transform()
{
	uint64_t id = 0;

	Opinionated o = named("opinions", has_opinions, &id);

	expect(id == o.handle.promise().id(), "it does not know its id");
	resume_all();
	named("transformed", is_transformed);
	resume_all();
}

// ---- parents and children ---------------------------------------------------------------

Whole grandchild()
{
	co_await Park{}; // @grandchild
}

Whole child()
{
	co_await named("grandchild", grandchild); // @calls grandchild
}

Whole parent()
{
	co_await named("child", child); // @calls child
	co_await named("child", child); // @calls child
}

Plain plain_child()
{
	co_await Park{}; // @plain child
}

Plain plain_parent()
{
	co_await named("plain child", plain_child); // @calls plain child
}

Whole wakes_inline(std::coroutine_handle<> other)
{
	other.resume();
	co_await Park{}; // @resumed another
}

void run_family()
{
	Whole whole = named("parent", parent);
	Plain plain = named("plain parent", plain_parent);

	whole.start();
	resume_all();
	plain.start();
	resume_all();

	Eager other = named("woken", []() -> Eager { co_await std::suspend_always{}; });
	Whole waker = named("waker", wakes_inline, other.handle);

	waker.start();
	resume_all();
}

// Reported by a scheduler with a queue: the waker is not the one that resumes.
Whole wakes_later(std::coroutine_handle<Eager::promise_type> other)
{
	corotracer::wake(other); // @wakes
	other.promise().wake(corotracer::reading(9));
	parked.push_back(other);
	co_await std::suspend_never{};
}

void run_wake()
{
	Eager other = named("woken", []() -> Eager { co_await std::suspend_always{}; });
	Whole waker = named("waker", wakes_later, other.handle);

	waker.start();
	corotracer::wake(other.handle);
	resume_all();
}

// ---- names, arguments, by hand ---------------------------------------------------------

struct NamedPromise : EagerPromise {
	std::string seen;

	NamedPromise(int number, const std::string &text) : seen(text + std::to_string(number))
	{
	}

	struct Object {
		std::string seen;
	};

	Object get_return_object()
	{
		return { seen };
	}
};

struct SeesArguments : NamedPromise::Object {
	SeesArguments(NamedPromise::Object o) : NamedPromise::Object(o)
	{
	}

	using promise_type = corotracer::Traced<NamedPromise>;
};

SeesArguments takes_arguments(int, std::string)
{
	co_return;
}

void run_names()
{
	std::string long_name(500, 'x');

	expect(named("arguments", takes_arguments, 4, "four").seen == "four4",
	       "the promise did not see the arguments");
	named(long_name.c_str(), takes_arguments, 1, "");
	named("of none", [] {});
	takes_arguments(2, "unnamed");
}

void run_by_hand()
{
	struct ByHand : corotracer::PromiseMixin {
		ByHand() : PromiseMixin("by hand")
		{
		}
	} hand;

	expect(static_cast<bool>(hand.my_station) == corotracer::enabled(), "my_station");
	expect(hand.event_count == 0, "event_count before");
	hand.write_trace(0x1234, false);
	hand.write_trace(0, true);
	hand.write_trace(0x5678, false);
	expect(hand.event_count == (corotracer::enabled() ? 3 : 0), "event_count after");
	hand.cancelled();
}

const Scenario scenarios[] = {
	{ "lazy", run_lazy },           { "eager", run_eager },     { "generator", run_generator },
	{ "transform", run_transform }, { "family", run_family },   { "wake", run_wake },
	{ "names", run_names },         { "by-hand", run_by_hand },
};

} // namespace

const Scenarios lives = { scenarios, COUNT_OF(scenarios) };
