// SPDX-License-Identifier: MIT
// bug_lock_held_across_join.cpp - a coroutine awaits a child that needs the lock it holds.
//
// The compaction of a table awaits a flush while it holds the table's lock.  The flush takes the
// same lock, but only if there is something to write.
//
// corpus: bug
// class: deadlock
// at: @stuck|@join
// victims: compactor, flush
// also: writer-*
// never: wake-before-suspend, closed-under-waiter, leak
#include <string>

#include "loop_sync.hpp"
#include "lazy_task.hpp"

struct MemoryTable {
	AsyncLock lock;
	int nr_rows = 0;

	explicit MemoryTable(EpollLoop *loop) : lock(loop)
	{
	}
};

static Lazy<> table_flush(EpollLoop &loop, MemoryTable &table)
{
	if (table.nr_rows < 50)
		co_return;
	co_await table.lock.take(); // @stuck
	co_await loop.sleep_ms(2);
	table.nr_rows = 0;
	table.lock.unlock();
}

static Lazy<> table_compact(EpollLoop &loop, MemoryTable &table)
{
	for (;;) {
		co_await loop.sleep_ms(30);
		co_await table.lock.take();
		co_await corotracer::named("flush", table_flush, loop, table); // @join
		table.lock.unlock();
	}
}

static Lazy<> row_insert(EpollLoop &loop, MemoryTable &table, int id)
{
	for (;;) {
		co_await loop.sleep_ms(12 + id);
		co_await table.lock.take();
		table.nr_rows++;
		table.lock.unlock();
	}
}

static Lazy<> query_answer(EpollLoop &loop, int id)
{
	for (;;)
		co_await loop.sleep_ms(7 + id);
}

int main()
{
	EpollLoop loop;
	MemoryTable tables[2] = { MemoryTable(&loop), MemoryTable(&loop) };

	corotracer::InitTracer();
	for (int i = 0; i < 4; i++) {
		std::string writer = "writer-" + std::to_string(i);
		std::string query = "query-" + std::to_string(i);

		detach_lazy(corotracer::named(writer.c_str(), row_insert, loop, tables[0], i));
		detach_lazy(corotracer::named(query.c_str(), query_answer, loop, i));
	}
	detach_lazy(corotracer::named("compactor", table_compact, loop, tables[0]));
	detach_lazy(corotracer::named("idle-compactor", table_compact, loop, tables[1]));
	loop.run_for(1500);
	return 0;
}
