// SPDX-License-Identifier: MIT
// clean_search_streams.cpp - streams of results over channels: a search reads the first hits and
// drops the rest, the producers see the closed channel and end; a subscription without any news
// waits all the time; exceptions pass through three levels of tasks.
//
// corpus: clean
// never: deadlock, leak, never-destroyed, starvation, wake-before-suspend, never-run
#include "coro_kit.hpp"

#include <stdexcept>
#include <string>

using namespace ck;

static loop the_loop;

struct stream {
	channel<int> items{ the_loop, 4 };
	bool is_dropped = false;
};

static task<> index_shard(std::shared_ptr<stream> s, int shard)
{
	for (int i = 0; i < 50 && !s->is_dropped; i++) {
		co_await the_loop.sleep(std::chrono::milliseconds(1 + shard % 3));
		if (!s->is_dropped)
			co_await s->items.send(shard * 100 + i);
	}
}

static task<int> level(int depth, int value)
{
	if (depth == 0) {
		if (value % 17 == 0)
			throw std::runtime_error("skip");
		co_await the_loop.sleep(1ms);
		co_return value;
	}
	co_return co_await level(depth - 1, value);
}

static task<> search(int number)
{
	auto s = std::make_shared<stream>();
	int hits = 0;

	for (int shard = 0; shard < 3; shard++)
		spawn(corotracer::named(("shard-" + std::to_string(shard)).c_str(), index_shard, s,
					shard));
	while (hits < 5 + number % 10) {
		auto item = co_await s->items.recv();

		try {
			hits += co_await level(3, *item) >= 0;
		} catch (const std::runtime_error &) {
		}
	}
	s->is_dropped = true;
	// Those that wait to send go on.
	for (int i = 0; i < 8; i++)
		if (auto rest = s->items.recv(); rest.await_ready())
			continue;
}

static task<> subscription(channel<int> &news)
{
	/* Not while (co_await ...) with an empty body: gcc 12 drops such a coroutine's code. */
	for (;;) {
		auto item = co_await news.recv();

		if (!item)
			break;
	}
}

static task<> user(int number)
{
	for (int i = 0; i < 12; i++) {
		co_await corotracer::named(("search-" + std::to_string(number)).c_str(), search, i);
		co_await the_loop.sleep(std::chrono::milliseconds(10 + number));
	}
}

static task<> main_task()
{
	channel<int> news(the_loop, 1);
	std::vector<task<>> users;

	spawn(corotracer::named("subscription", subscription, std::ref(news)));
	for (int i = 0; i < 4; i++)
		users.push_back(corotracer::named(("user-" + std::to_string(i)).c_str(), user, i));
	co_await when_all(std::move(users));
	news.close();
	co_await the_loop.sleep(20ms);
	the_loop.stop();
}

int main()
{
	corotracer::InitTracer();
	spawn(corotracer::named("main", main_task));
	the_loop.run_for(15000ms);
	return 0;
}
