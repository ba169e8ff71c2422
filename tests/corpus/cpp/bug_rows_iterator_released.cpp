// SPDX-License-Identifier: MIT
// bug_rows_iterator_released.cpp - a query returns a generator of rows; the "first row only" path
// releases the generator from its owner and never destroys it.  Three of four queries read
// everything and free it.
//
// corpus: bug
// class: leak|never-destroyed
// never: deadlock, lost-wakeup
#include "coro_kit.hpp"

using namespace ck;

static loop the_loop;
static long sum;

static generator<int> rows(int n)
{
	for (int i = 0; i < n; i++)
		co_yield i; // @row
}

static void first_row(int n)
{
	auto g = rows(n);

	sum += *g.next();
	(void)g.release(); // the bug
}

static void all_rows(int n)
{
	auto g = rows(n);

	while (auto row = g.next())
		sum += *row;
}

static task<> queries()
{
	for (int i = 0; i < 400; i++) {
		if (i % 4 == 3)
			first_row(20);
		else
			all_rows(20);
		co_await the_loop.sleep(4ms);
	}
}

int main()
{
	corotracer::InitTracer();
	spawn(corotracer::named("queries", queries));
	the_loop.run_for(2500ms);
	return 0;
}
