// SPDX-License-Identifier: MIT
// bug_poll_by_yielding.cpp - a coroutine yields in a loop until a job is done.
//
// corpus: bug
// class: busy-yield
// at: @stuck
// victims: poller
// never: lost-wakeup, wake-before-suspend, leak, deadlock
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

struct Render {
	bool is_done = false;
};

static Lazy<> render_run(EpollLoop &loop, Render &render)
{
	for (int part = 0; part < 5; part++)
		co_await loop.sleep_ms(10);
	render.is_done = true;
}

static Lazy<> render_await(EpollLoop &loop)
{
	for (int i = 0; i < 2; i++) {
		Render render;

		detach_lazy(corotracer::named("render", render_run, loop, render));
		while (!render.is_done)
			co_await loop.yield_now(); // @stuck
		co_await loop.sleep_ms(100);
	}
}

static Lazy<> client_serve(EpollLoop &loop, int id)
{
	for (;;)
		co_await loop.sleep_ms(8 + id);
}

int main()
{
	EpollLoop loop;

	corotracer::InitTracer();
	for (int i = 0; i < 8; i++) {
		std::string name = "client-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), client_serve, loop, i));
	}
	detach_lazy(corotracer::named("poller", render_await, loop));
	loop.run_for(600);
	return 0;
}
