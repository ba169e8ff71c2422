// SPDX-License-Identifier: MIT
// shapes.cpp - promises of every kind, in a program that does not know that it is traced.
//
// It is compiled with -include corotracer/cpp/trace_all.h.  Each function below is a kind of
// promise that libraries have; the result of each is checked here, its trace in test_unchanged.py.
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

static std::vector<std::coroutine_handle<>> parked;
static int live_frames;

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	std::printf("wrong: %s\n", what);
	std::exit(1);
}

static void run_parked()
{
	while (!parked.empty()) {
		std::coroutine_handle<> next = parked.back();

		parked.pop_back();
		next.resume();
	}
}

struct Park {
	bool await_ready() const noexcept
	{
		return false;
	}

	void await_suspend(std::coroutine_handle<> h) const
	{
		parked.push_back(h);
	}

	void await_resume() const noexcept
	{
	}
};

struct Pair {
	int first, second;
};

// A final promise, as QCoro and cppcoro have: its own memory, a value in braces, a continuation.
class FinalTask
{
      public:
	class promise_type final
	{
	      public:
		struct Final {
			bool await_ready() noexcept
			{
				return false;
			}

			std::coroutine_handle<>
			await_suspend(std::coroutine_handle<promise_type> h) noexcept
			{
				if (h.promise().continuation)
					return h.promise().continuation;
				return std::noop_coroutine();
			}

			void await_resume() noexcept
			{
			}
		};

		FinalTask get_return_object()
		{
			return FinalTask(std::coroutine_handle<promise_type>::from_promise(*this));
		}

		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}

		Final final_suspend() noexcept
		{
			return {};
		}

		void return_value(Pair pair) noexcept
		{
			value = pair;
		}

		void unhandled_exception() noexcept
		{
			std::abort();
		}

		static void *operator new(std::size_t size)
		{
			live_frames++;
			return std::malloc(size);
		}

		static void operator delete(void *frame, std::size_t)
		{
			live_frames--;
			std::free(frame);
		}

		Pair value = {};
		std::coroutine_handle<> continuation;
	};

	explicit FinalTask(std::coroutine_handle<promise_type> h) : handle(h)
	{
	}

	FinalTask(FinalTask &&other) noexcept : handle(std::exchange(other.handle, nullptr))
	{
	}

	~FinalTask()
	{
		if (handle)
			handle.destroy();
	}

	auto operator co_await() const noexcept
	{
		struct Awaiter {
			std::coroutine_handle<promise_type> child;

			bool await_ready() const noexcept
			{
				return false;
			}

			std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) noexcept
			{
				child.promise().continuation = h;
				return child;
			}

			Pair await_resume() noexcept
			{
				return child.promise().value;
			}
		};

		return Awaiter{ handle };
	}

	std::coroutine_handle<promise_type> handle;
};

static FinalTask final_leaf(int i)
{
	co_await Park{};
	co_return { i, 2 * i };
}

static FinalTask final_root()
{
	int sum = 0;

	for (int i = 1; i <= 4; i++)
		sum += (co_await final_leaf(i)).second;
	co_return { sum, 0 };
}

// A generator that forbids co_await and has two overloads of yield_value.
struct Numbers {
	struct promise_type {
		int value = 0;

		Numbers get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}

		std::suspend_always initial_suspend()
		{
			return {};
		}

		std::suspend_always final_suspend() noexcept
		{
			return {};
		}

		std::suspend_always yield_value(int next)
		{
			value = next;
			return {};
		}

		std::suspend_always yield_value(const char *)
		{
			value = -1;
			return {};
		}

		void await_transform() = delete;

		void return_void()
		{
		}

		void unhandled_exception()
		{
			std::abort();
		}
	};

	std::coroutine_handle<promise_type> handle;
};

static Numbers numbers(int limit)
{
	for (int i = 0; i < limit; i++)
		co_yield i;
	co_yield "end";
}

// A final generator of aligned values.
struct alignas(64) Line {
	int value;
};

struct Lines {
	struct promise_type final {
		Line line = {};

		Lines get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}

		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}

		std::suspend_always final_suspend() noexcept
		{
			return {};
		}

		std::suspend_always yield_value(const Line &next) noexcept
		{
			line = next;
			return {};
		}

		void return_void() noexcept
		{
		}

		void unhandled_exception() noexcept
		{
			std::abort();
		}
	};

	std::coroutine_handle<promise_type> handle;
};

static Lines lines()
{
	co_yield { 7 };
	co_yield Line{ 8 };
}

// The promise gets the arguments of the coroutine, and its await_transform() makes awaitables.
struct Eager {
	struct promise_type {
		explicit promise_type(int weight_, int *sum_) : weight(weight_), sum(sum_)
		{
		}

		template <class Object>
		promise_type(Object &, int weight_, int *sum_) : weight(weight_), sum(sum_)
		{
		}

		Eager get_return_object()
		{
			return {};
		}

		std::suspend_never initial_suspend()
		{
			return {};
		}

		std::suspend_never final_suspend() noexcept
		{
			return {};
		}

		Park await_transform(int value)
		{
			*sum += weight * value;
			return {};
		}

		void return_void()
		{
		}

		void unhandled_exception()
		{
			std::abort();
		}

		int weight, *sum;
	};
};

static Eager weighs(int, int *)
{
	co_await 1;
	co_await 2;
}

struct Scale {
	Eager method(int, int *)
	{
		co_await 10;
	}
};

// A result type without a promise_type: the program specialises std::coroutine_traits, and asks it.
enum class Status { started, failed };

struct StatusPromise {
	Status get_return_object()
	{
		return Status::started;
	}

	static Status get_return_object_on_allocation_failure()
	{
		return Status::failed;
	}

	static void *operator new(std::size_t size) noexcept
	{
		return fails ? nullptr : std::malloc(size);
	}

	static void operator delete(void *frame)
	{
		std::free(frame);
	}

	std::suspend_never initial_suspend()
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

	static inline bool fails = false;
};

template <class... Args> struct std::coroutine_traits<Status, Args...> {
	using promise_type = StatusPromise;
};

static_assert(std::is_same_v<std::coroutine_traits<Status, int>::promise_type, StatusPromise>);

static Status start(int *sum)
{
	co_await Park{};
	++*sum;
}

static void tasks()
{
	FinalTask root = final_root();

	root.handle.resume();
	run_parked();
	check(root.handle.promise().value.first == 20, "sum of the tasks");
	check(live_frames == 1, "the promise's operator new and delete are used");
}

static void generators()
{
	Numbers some = numbers(3);
	Lines aligned = lines();
	int sum = 0;

	while (some.handle.resume(), !some.handle.done())
		sum += some.handle.promise().value;
	some.handle.destroy();
	check(sum == 2, "sum of the numbers");
	for (sum = 0; aligned.handle.resume(), !aligned.handle.done();)
		sum += aligned.handle.promise().line.value;
	aligned.handle.destroy();
	check(sum == 15, "sum of the lines");
}

static void arguments()
{
	Scale scale;
	int sum = 0;
	auto lambda = [](int, int *) -> Eager { co_await 100; };

	weighs(1, &sum);
	run_parked();
	scale.method(1, &sum);
	run_parked();
	lambda(2, &sum);
	run_parked();
	check(sum == 213, "weights");
}

static void statuses()
{
	int sum = 0;

	check(start(&sum) == Status::started, "it starts");
	StatusPromise::fails = true;
	check(start(&sum) == Status::failed, "it has no memory");
	run_parked();
	check(sum == 1, "it ran once");
}

int main()
{
	tasks();
	generators();
	arguments();
	statuses();
	std::printf("right\n");
	return 0;
}
