// SPDX-License-Identifier: MIT
// bug_cursor_leaked.cpp - generators that are not read to their end are never destroyed.
//
// A query with a limit stops early and releases the cursor's handle, as if the end of the
// generator destroyed its frame.
//
// corpus: bug
// class: leak|never-destroyed
// at: @stuck
// count: 60
// never: deadlock, wake-before-suspend, lost-wakeup
#include <chrono>
#include <cstdio>
#include <thread>

#include "lazy_sequence.hpp"

static Sequence<int> cursor_rows(int nr)
{
	for (int row = 0; row < nr; row++)
		co_yield row; // @stuck
}

static int query_sum(int nr_rows, int limit)
{
	Sequence<int> cursor = cursor_rows(nr_rows);
	int sum = 0;

	for (int i = 0; i < limit; i++) {
		std::optional<int> row = cursor.next();

		if (!row)
			return sum;
		sum += *row;
	}
	cursor.release(); // the bug: the generator is suspended, and has not ended
	return sum;
}

int main()
{
	int sum = 0;

	corotracer::InitTracer();
	for (int i = 0; i < 300; i++) {
		sum += query_sum(i % 5 == 0 ? 100 : 20, 50);
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
	}
	std::printf("%d\n", sum);
	return 0;
}
