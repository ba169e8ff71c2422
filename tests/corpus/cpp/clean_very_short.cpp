// SPDX-License-Identifier: MIT
// clean_very_short.cpp - a program of a few milliseconds with three coroutines.
//
// corpus: clean
#include "epoll_loop.hpp"
#include "lazy_task.hpp"

static Lazy<int> digit_add(EpollLoop &loop, int digit)
{
	co_await loop.yield_now();
	co_return digit + 1;
}

static Lazy<> digits_run(EpollLoop &loop)
{
	int sum = co_await digit_add(loop, 1);

	sum += co_await digit_add(loop, sum);
	loop.stop();
}

int main()
{
	EpollLoop loop;

	corotracer::InitTracer();
	detach_lazy(corotracer::named("digits", digits_run, loop));
	loop.run_for(100);
	return 0;
}
