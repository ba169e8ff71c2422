// SPDX-License-Identifier: MIT
// detector_coro.h - the C++ half of the scenarios: a task, an event to wait for, the choice of one.
#ifndef TESTS_DETECTORS_CORO_H
#define TESTS_DETECTORS_CORO_H

#include <corotracer/coroTracer.h>

#include <chrono>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

using corotracer::named;

// Started at once, destroyed at its end.
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

// Waiting coroutines in FIFO order; the caller of take() resumes the one that it returns.
struct Queue {
	using Handle = std::coroutine_handle<Task::promise_type>;
	std::vector<Handle> waiting;

	struct Wait {
		Queue &queue;

		bool await_ready() const noexcept
		{
			return false;
		}
		void await_suspend(Handle h) const
		{
			queue.waiting.push_back(h);
		}
		void await_resume() const noexcept
		{
		}
	};

	Wait wait()
	{
		return { *this };
	}

	Handle take()
	{
		Handle h = waiting.front();

		waiting.erase(waiting.begin());
		return h;
	}

	void serve_one()
	{
		Handle h = take();

		corotracer::wake(h);
		h.resume();
	}
};

inline void pause_ms(int ms)
{
	std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

struct Scenario {
	const char *name;
	void (*play)();
};

inline int corpus_main(int argc, char **argv, const Scenario *scenarios)
{
	corotracer::InitTracer();
	for (const Scenario *s = scenarios; argc == 2 && s->name; s++) {
		if (!std::strcmp(s->name, argv[1])) {
			s->play();
			return 0;
		}
	}
	std::fprintf(stderr, "usage: %s SCENARIO, one of\n", argv[0]);
	for (const Scenario *s = scenarios; s->name; s++)
		std::fprintf(stderr, "  %s\n", s->name);
	return 2;
}

#endif
