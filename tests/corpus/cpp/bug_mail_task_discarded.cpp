// SPDX-License-Identifier: MIT
// bug_mail_task_discarded.cpp - the result of a lazy coroutine function is dropped.
//
// One of two callers forgets the co_await: the task is destroyed at the end of the block and has
// never run.
//
// corpus: bug
// class: never-run
// at: @stuck|@begin
// count: 12
// never: deadlock, wake-before-suspend, leak
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

static Lazy<> mail_send(EpollLoop &loop, int &nr_sent) // @begin
{
	co_await loop.sleep_ms(3);
	nr_sent++;
} // @stuck

static Lazy<> user_register(EpollLoop &loop, int &nr_sent)
{
	co_await loop.sleep_ms(2);
	co_await mail_send(loop, nr_sent);
}

static Lazy<> password_reset(EpollLoop &loop, int &nr_sent)
{
	co_await loop.sleep_ms(2);
	auto mail = mail_send(loop, nr_sent); // the bug: no co_await
}

static Lazy<> requests_handle(EpollLoop &loop, int &nr_sent)
{
	for (int i = 0; i < 120; i++) {
		if (i % 10 == 9)
			co_await password_reset(loop, nr_sent);
		else
			co_await user_register(loop, nr_sent);
	}
	loop.stop();
}

int main()
{
	EpollLoop loop;
	int nr_sent = 0;

	corotracer::InitTracer();
	detach_lazy(corotracer::named("requests", requests_handle, loop, nr_sent));
	loop.run_for(2400);
	std::printf("%d mails sent\n", nr_sent);
	return 0;
}
