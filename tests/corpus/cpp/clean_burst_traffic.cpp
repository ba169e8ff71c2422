// SPDX-License-Identifier: MIT
// clean_burst_traffic.cpp - bursts of requests with long pauses between them.
//
// In a burst many requests wait for two permits; between bursts everything is idle.
//
// corpus: clean
#include <string>

#include "loop_sync.hpp"
#include "lazy_task.hpp"

static Lazy<> burst_request(EpollLoop &loop, Permits &slots, int &nr_done)
{
	co_await slots.acquire();
	co_await loop.sleep_ms(1);
	slots.release();
	nr_done++;
}

static Lazy<> burst_send(EpollLoop &loop, Permits &slots, int &nr_done)
{
	for (int burst = 0; burst < 4; burst++) {
		for (int i = 0; i < 120; i++)
			detach_lazy(
				corotracer::named("request", burst_request, loop, slots, nr_done));
		co_await loop.sleep_ms(400);
	}
	loop.stop();
}

static Lazy<> queue_watch(EpollLoop &loop, int &nr_done, int &most)
{
	for (int before = 0;; before = nr_done) {
		co_await loop.sleep_ms(50);
		most = std::max(most, nr_done - before);
	}
}

int main()
{
	EpollLoop loop;
	Permits slots(&loop, 2);
	int nr_done = 0, most = 0;

	corotracer::InitTracer();
	detach_lazy(corotracer::named("watch", queue_watch, loop, nr_done, most));
	detach_lazy(corotracer::named("bursts", burst_send, loop, slots, nr_done));
	loop.run_for(2400);
	return 0;
}
