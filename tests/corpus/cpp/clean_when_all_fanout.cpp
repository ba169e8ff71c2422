// SPDX-License-Identifier: MIT
// clean_when_all_fanout.cpp - searches that fetch from many shards at the same time.
//
// The slowest shard decides how long a search takes; the program ends in the middle of some.
//
// corpus: clean
#include <string>

#include "lazy_when_all.hpp"
#include "epoll_loop.hpp"

static Lazy<int> shard_ask(EpollLoop &loop, int shard)
{
	co_await loop.sleep_ms(shard == 5 ? 60 : 1 + shard);
	co_return shard;
}

static Lazy<int> replica_ask(EpollLoop &loop, int shard)
{
	co_return co_await shard_ask(loop, shard);
}

static Lazy<int> search_once(EpollLoop &loop, int nr_shards)
{
	std::vector<Lazy<int>> parts;
	int sum = 0;

	for (int shard = 0; shard < nr_shards; shard++)
		parts.push_back(replica_ask(loop, shard));
	for (int n : co_await when_all(std::move(parts)))
		sum += n;
	co_return sum;
}

static Lazy<> search_repeat(EpollLoop &loop, int id, long &sum)
{
	for (;;) {
		int found = co_await search_once(loop, 3 + id % 5);

		sum += found;
		co_await loop.sleep_ms(3);
	}
}

int main()
{
	EpollLoop loop;
	long sum = 0;

	corotracer::InitTracer();
	for (int i = 0; i < 10; i++) {
		std::string name = "search-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), search_repeat, loop, i, sum));
	}
	loop.run_for(1200);
	return 0;
}
