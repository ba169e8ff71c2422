// SPDX-License-Identifier: MIT
// clean_prefix_generators.cpp - searches read a generator until the first hit and destroy it in the
// middle.
//
// corpus: clean
// never: leak, never-destroyed, lost-wakeup, never-run, destroyed-suspended
#include "coro_kit.hpp"

using namespace ck;

static loop the_loop;
static long hits;

static generator<long> numbers(long from)
{
	for (long n = from;; n++)
		co_yield n;
}

static task<> search(int i)
{
	auto g = numbers(i * 1000);

	while (auto n = g.next())
		if (*n % 37 == 0) {
			hits++;
			break;
		}
	co_await the_loop.sleep(2ms);
}

static task<> searches()
{
	for (int i = 0; i < 200; i++)
		co_await search(i);
	the_loop.stop();
}

int main()
{
	corotracer::InitTracer();
	spawn(searches());
	the_loop.run_for(8000ms);
	return 0;
}
