// SPDX-License-Identifier: MIT
// bug_closed_number_reused.cpp - a socket is closed silently, and its number is used again.
//
// A login that takes too long is kicked: its socket is closed without an announcement, and its
// coroutine is not resumed.  The next login gets the same descriptor number and is served.
//
// corpus: bug
// class: closed-under-waiter|lost-wakeup
// at: @stuck
// victims: login-4
// never: deadlock, wake-before-suspend
#include <memory>
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

static Lazy<> login_serve(EpollLoop &loop, int fd)
{
	char buffer[64];

	for (int messages = 0; messages < 3; messages++) {
		co_await loop.readable(fd); // @stuck
		if (read(fd, buffer, sizeof(buffer)) <= 0)
			break;
	}
	loop.forget_descriptor(fd);
	close(fd);
}

static Lazy<> login_user(EpollLoop &loop, int fd, bool falls_silent)
{
	for (int i = 0; i < 3; i++) {
		co_await loop.sleep_ms(8);
		if (falls_silent && i == 2)
			co_return;
		if (write(fd, "word", 4) != 4)
			break;
	}
	co_await loop.sleep_ms(10);
	close(fd);
}

static Lazy<> kick_after(EpollLoop &loop, int fd)
{
	co_await loop.sleep_ms(60);
	loop.forget_descriptor(fd);
	close(fd); // the bug: login_serve() still waits
}

static Lazy<> login_accept(EpollLoop &loop)
{
	for (int id = 0; id < 25; id++) {
		std::string name = "login-" + std::to_string(id);
		SocketPair pair;
		bool falls_silent = id == 4;

		detach_lazy(corotracer::named(name.c_str(), login_serve, loop, pair.fd[0]));
		detach_lazy(login_user(loop, pair.fd[1], falls_silent));
		if (falls_silent)
			detach_lazy(kick_after(loop, pair.fd[0]));
		co_await loop.sleep_ms(50);
	}
	loop.stop();
}

int main()
{
	EpollLoop loop;

	corotracer::InitTracer();
	detach_lazy(corotracer::named("acceptor", login_accept, loop));
	loop.run_for(2300);
	return 0;
}
