// SPDX-License-Identifier: MIT
// clean_workers_parked_exit.cpp - workers wait for the next job when the program ends.
//
// A batch of jobs is done after half of the run; then all workers are parked until exit().
//
// corpus: clean
#include <atomic>
#include <string>

#include "loop_sync.hpp"
#include "lazy_task.hpp"

static Lazy<> job_work(EpollLoop &loop, BoundedChannel<int> &jobs, int &nr_done)
{
	for (;;) {
		std::optional<int> job = jobs.try_receive();

		if (!job) {
			co_await jobs.item();
			continue;
		}
		co_await loop.sleep_ms(*job % 10);
		nr_done++;
	}
}

static Lazy<> job_feed(EpollLoop &loop, BoundedChannel<int> &jobs)
{
	for (int job = 0; job < 400; job++) {
		while (!jobs.try_send(job))
			co_await jobs.room();
		if (job % 10 == 0)
			co_await loop.sleep_ms(10);
	}
}

int main()
{
	EpollLoop loop;
	BoundedChannel<int> jobs(&loop, 16);
	int nr_done = 0;

	corotracer::InitTracer();
	for (int i = 0; i < 8; i++) {
		std::string name = "worker-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), job_work, loop, jobs, nr_done));
	}
	detach_lazy(corotracer::named("feeder", job_feed, loop, jobs));
	loop.run_for(1600);
	std::exit(nr_done == 400 ? 0 : 1);
}
