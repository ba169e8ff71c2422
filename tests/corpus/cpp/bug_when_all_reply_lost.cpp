// SPDX-License-Identifier: MIT
// bug_when_all_reply_lost.cpp - one of the tasks of a when_all() never gets its reply.
//
// The backend drops a request when its queue is full, and sends no reply.  The search above it
// waits correctly: only the fetch at the bottom is the victim.
//
// corpus: bug
// class: lost-wakeup
// at: @stuck
// victims: fetch-2-9-1
// never: deadlock, wake-before-suspend, closed-under-waiter, leak
#include <string>

#include "lazy_when_all.hpp"
#include "epoll_loop.hpp"

struct Reply {
	EpollLoop *loop;
	int value = -1;
	std::coroutine_handle<> waiter{};

	bool await_ready() const noexcept
	{
		return value >= 0;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		waiter = h;
	}
	int await_resume() const noexcept
	{
		return value;
	}
	void complete(int v)
	{
		value = v;
		if (waiter)
			loop->post(waiter, corotracer::receiving(this));
	}
	corotracer::Wait corotracer_wait() const
	{
		return corotracer::receiving(this);
	}
};

static Lazy<> backend_answer(EpollLoop &loop, int shard, Reply &reply)
{
	co_await loop.sleep_ms(3 + shard);
	reply.complete(shard * 10);
}

static void backend_send(EpollLoop &loop, int shard, bool is_full, Reply &reply)
{
	if (is_full)
		return; // the bug: no error is reported
	detach_lazy(backend_answer(loop, shard, reply));
}

static Lazy<int> shard_fetch(EpollLoop &loop, int shard, bool is_full)
{
	Reply reply{ &loop };

	backend_send(loop, shard, is_full, reply);
	co_return co_await reply; // @stuck
}

static Lazy<> search_run(EpollLoop &loop, int id)
{
	for (int query = 0; query < 100; query++) {
		std::vector<Lazy<int>> parts;

		for (int shard = 0; shard < 4; shard++) {
			std::string name = "fetch-" + std::to_string(id) + "-" +
					   std::to_string(query) + "-" + std::to_string(shard);
			bool is_full = id == 2 && query == 9 && shard == 1;

			parts.push_back(
				corotracer::named(name.c_str(), shard_fetch, loop, shard, is_full));
		}
		co_await when_all(std::move(parts));
		co_await loop.sleep_ms(6);
	}
}

int main()
{
	EpollLoop loop;

	corotracer::InitTracer();
	for (int i = 0; i < 6; i++) {
		std::string name = "search-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), search_run, loop, i));
	}
	loop.run_for(1700);
	return 0;
}
