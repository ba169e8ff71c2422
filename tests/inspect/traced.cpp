// SPDX-License-Identifier: MIT
// traced.cpp - "traced CLIENTS": clients that are traced by the SDK.  Each was suspended twice, and
// woken by coroutine "waker", which created coroutine "child".
#include <corotracer/coroTracer.h>

#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <unistd.h>
#include <vector>

namespace
{

std::vector<std::coroutine_handle<>> parked;

struct Parked {
	bool await_ready() const noexcept
	{
		return false;
	}

	void await_suspend(std::coroutine_handle<> h)
	{
		parked.push_back(h);
	}

	void await_resume()
	{
	}
};

struct Client {
	struct promise_type : corotracer::PromiseMixin {
		promise_type() : PromiseMixin(nullptr, std::source_location::current()) // @created
		{
		}

		Client get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}

		auto initial_suspend() noexcept
		{
			return trace_initial(std::suspend_never{});
		}

		auto final_suspend() noexcept
		{
			return trace_final(std::suspend_always{});
		}

		void return_void()
		{
		}

		void unhandled_exception()
		{
			std::terminate();
		}
	};

	std::coroutine_handle<promise_type> handle;
};

Client client(int number)
{
	co_await corotracer::reading(number, Parked{}); // @child
	co_await corotracer::reading(number, Parked{}); // @client
}

Client waker(std::vector<Client> *clients)
{
	std::vector<std::coroutine_handle<>> first;

	first.swap(parked);
	co_await Parked{}; // main() resumes it: the thread knows that it runs
	for (Client &c : *clients)
		c.handle.promise().wake();
	for (std::coroutine_handle<> h : first)
		h.resume();
	corotracer::named("child", client, 2000);
	co_await Parked{}; // @waker
}

} // namespace

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 5;
	std::vector<Client> clients;

	for (int i = 0; i < nr; i++)
		clients.push_back(corotracer::named(("client " + std::to_string(i)).c_str(), client,
						    1000 + i));
	Client w = corotracer::named("waker", waker, &clients);

	std::coroutine_handle<> h = parked.back();

	parked.pop_back();
	h.resume();
	printf("waker_id %llu\nready\n", (unsigned long long)w.handle.promise().id());
	fflush(stdout);
	pause();
}
