// SPDX-License-Identifier: MIT
// bug_audit_never_awaited.cpp - lazy tasks are created and never awaited.
//
// A lazy task does nothing until it is awaited.  The path of refused orders keeps the task that
// writes the audit record, and nothing starts it.
//
// corpus: bug
// class: never-run
// at: @stuck|@begin
// victims: audit-19, audit-39, audit-59, audit-79
// never: deadlock, wake-before-suspend
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

struct OrderBook {
	EpollLoop loop;
	int nr_written = 0;
	std::vector<Lazy<>> audits;
};

static Lazy<> audit_write(OrderBook &book) // @begin
{
	co_await book.loop.sleep_ms(2);
	book.nr_written++;
} // @stuck

static Lazy<> audit_create(OrderBook &book, int id)
{
	std::string name = "audit-" + std::to_string(id);

	return corotracer::named(name.c_str(), audit_write, book);
}

static Lazy<> order_handle(OrderBook &book, int id)
{
	co_await book.loop.sleep_ms(5);
	if (id % 20 == 19) {
		book.audits.push_back(audit_create(book, id)); // the bug: no co_await
		co_return;
	}
	co_await audit_create(book, id);
}

static Lazy<> order_accept(OrderBook &book)
{
	for (int id = 0; id < 99; id++) {
		std::string name = "order-" + std::to_string(id);

		detach_lazy(corotracer::named(name.c_str(), order_handle, book, id));
		co_await book.loop.sleep_ms(10);
	}
	co_await book.loop.sleep_ms(100);
	book.loop.stop();
}

int main()
{
	OrderBook &book = *new OrderBook; // lives as long as the program

	corotracer::InitTracer();
	detach_lazy(corotracer::named("acceptor", order_accept, book));
	book.loop.run_for(2400);
	std::printf("%d records\n", book.nr_written);
	return 0;
}
