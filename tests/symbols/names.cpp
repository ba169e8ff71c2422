// SPDX-License-Identifier: MIT
// names.cpp - coroutines whose functions have long, nested and generic names.
//
// Prints "place NAME FILE LINE FUNCTION" for each that waits: the name as in the source.
#include <corotracer/coroTracer.h>

#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <utility>
#include <vector>

static const char member[] =
	"net::deeply_nested::connection_of_a_pool_with_a_name_of_its_own::serve";

static void say(const char *name, const char *function,
		std::source_location where = std::source_location::current())
{
	std::printf("place %s %s %u %s\n", name, where.file_name(), unsigned(where.line()) + 1,
		    function);
}

static std::vector<std::coroutine_handle<>> parked;

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

struct Task {
	struct promise_type : corotracer::PromiseMixin {
		Task get_return_object()
		{
			return {};
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
};

namespace net::deeply_nested
{

template <class T> struct connection_of_a_pool_with_a_name_of_its_own {
	Task serve(std::vector<T>, const std::vector<std::vector<T>> &) const
	{
		say("member", member);
		co_await Park{};
	}
};

template <class T> Task generic(T)
{
	say("generic", "net::deeply_nested::generic");
	co_await Park{};
}

} // namespace net::deeply_nested

namespace
{

Task plain(int)
{
	say("plain", "(anonymous namespace)::plain");
	co_await Park{};
}

} // namespace

struct Callable {
	Task operator()(int) const
	{
		say("call", "Callable::operator()");
		co_await Park{};
	}
};

int main()
{
	net::deeply_nested::connection_of_a_pool_with_a_name_of_its_own<std::pair<int, long>> c;
	auto lambda = [](int) -> Task {
		say("lambda", "main::<lambda>");
		co_await Park{};
	};

	c.serve({}, {});
	net::deeply_nested::generic(1);
	net::deeply_nested::generic(2.0);
	plain(1);
	Callable{}(1);
	lambda(1);
	return 0;
}
