// SPDX-License-Identifier: MIT
// bug_transfer_lock_order.cpp - two transfers take the locks of two accounts in opposite order.
//
// corpus: bug
// class: deadlock
// at: @stuck
// victims: salary, refund
// never: lost-wakeup, wake-before-suspend, closed-under-waiter
#include <string>

#include "loop_sync.hpp"
#include "lazy_task.hpp"

struct Account {
	AsyncLock lock;
	int balance = 1000;

	explicit Account(EpollLoop *loop) : lock(loop)
	{
	}
};

static Lazy<> transfer_repeat(EpollLoop &loop, Account &from, Account &to, int pause_ms)
{
	for (int i = 0; i < 200; i++) {
		co_await from.lock.take();
		co_await loop.sleep_ms(1); // asks the fraud check
		co_await to.lock.take();   // @stuck
		from.balance--;
		to.balance++;
		to.lock.unlock();
		from.lock.unlock();
		co_await loop.sleep_ms(pause_ms);
	}
}

int main()
{
	EpollLoop loop;
	Account checking(&loop), savings(&loop), firm(&loop), shop(&loop), tax(&loop);

	corotracer::InitTracer();
	for (int i = 0; i < 4; i++) {
		std::string name = "rent-" + std::to_string(i);

		detach_lazy(corotracer::named(name.c_str(), transfer_repeat, loop, checking,
					      savings, 6 + i));
	}
	detach_lazy(corotracer::named("duty", transfer_repeat, loop, savings, tax, 5));
	detach_lazy(corotracer::named("salary", transfer_repeat, loop, firm, shop, 7));
	detach_lazy(corotracer::named("refund", transfer_repeat, loop, shop, firm, 11));
	loop.run_for(1500);
	return 0;
}
