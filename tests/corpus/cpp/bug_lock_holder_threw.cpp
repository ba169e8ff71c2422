// SPDX-License-Identifier: MIT
// bug_lock_holder_threw.cpp - an exception leaves a coroutine that holds a lock.
//
// The lock is released by a call, not by a destructor.  The exception ends the coroutine, and all
// others wait for the lock.
//
// corpus: bug
// class: abandoned-lock|lost-wakeup
// at: @stuck
// victims: writer-0, writer-1, writer-2, writer-4, writer-5
// never: deadlock, wake-before-suspend, closed-under-waiter
#include <stdexcept>
#include <string>

#include "loop_sync.hpp"
#include "lazy_task.hpp"

static Lazy<> row_store(EpollLoop &loop, int row)
{
	co_await loop.sleep_ms(1);
	if (row == 3025)
		throw std::length_error("the row is too long");
}

static Lazy<> table_write(EpollLoop &loop, AsyncLock &table, int id)
{
	for (int row = id * 1000; row < id * 1000 + 200; row++) {
		co_await table.take(); // @stuck
		co_await row_store(loop, row);
		table.unlock();
		co_await loop.sleep_ms(5);
	}
}

static Lazy<> table_read(EpollLoop &loop)
{
	for (int i = 0; i < 200; i++)
		co_await loop.sleep_ms(6);
}

int main()
{
	EpollLoop loop;
	AsyncLock table(&loop);

	corotracer::InitTracer();
	for (int i = 0; i < 6; i++) {
		std::string writer = "writer-" + std::to_string(i);
		std::string reader = "reader-" + std::to_string(i);

		detach_lazy(corotracer::named(writer.c_str(), table_write, loop, table, i));
		detach_lazy(corotracer::named(reader.c_str(), table_read, loop));
	}
	loop.run_for(1600);
	return 0;
}
