// SPDX-License-Identifier: MIT
// bug_watchers_never_end.cpp - every request leaves a detached coroutine that waits for ever.
//
// The watcher waits until its client disconnects.  A request that is answered in time never sets
// that flag, and nothing ends the watcher.
//
// corpus: bug
// class: leak|lost-wakeup
// at: @stuck
// count: 190
// never: deadlock, wake-before-suspend, closed-under-waiter
#include <memory>
#include <string>

#include "loop_sync.hpp"
#include "lazy_task.hpp"

struct Request {
	AsyncFlag disconnected;
	bool is_cancelled = false;

	explicit Request(EpollLoop *loop) : disconnected(loop)
	{
	}
};

static Lazy<> disconnect_watch(std::shared_ptr<Request> request)
{
	co_await request->disconnected.wait(); // @stuck
	request->is_cancelled = true;
}

static Lazy<> request_answer(EpollLoop &loop, int id)
{
	auto request = std::make_shared<Request>(&loop);

	detach_lazy(corotracer::named("watcher", disconnect_watch, request));
	co_await loop.sleep_ms(4);
	if (id % 20 == 0)
		request->disconnected.set();
}

static Lazy<> request_accept(EpollLoop &loop)
{
	for (int id = 0; id < 200; id++) {
		detach_lazy(corotracer::named("request", request_answer, loop, id));
		co_await loop.sleep_ms(7);
	}
	co_await loop.sleep_ms(50);
	loop.stop();
}

int main()
{
	EpollLoop loop;

	corotracer::InitTracer();
	detach_lazy(corotracer::named("acceptor", request_accept, loop));
	loop.run_for(2400);
	return 0;
}
