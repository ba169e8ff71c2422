// SPDX-License-Identifier: MIT
// clean_layered_server.cpp - connections of five layers of tasks (session, request, parser, frame,
// byte), 25 of them, all idle after a short time; stopped by SIGTERM.
//
// corpus: clean
// never: deadlock, wake-before-suspend, leak, closed-under-waiter, starvation
// signal: TERM 2.0
#include "coro_kit.hpp"

#include <csignal>
#include <string>

#include <sys/signalfd.h>
#include <sys/socket.h>

using namespace ck;

static loop the_loop;
static int far_end[25];

static task<int> next_byte(int fd)
{
	unsigned char c;

	while (recv(fd, &c, 1, MSG_DONTWAIT) != 1)
		co_await the_loop.readable(fd);
	co_return c;
}

static task<int> next_frame(int fd)
{
	int length = co_await next_byte(fd), sum = 0;

	for (int i = 0; i < length; i++)
		sum += co_await next_byte(fd);
	co_return sum;
}

static task<int> parse(int fd)
{
	co_return co_await next_frame(fd);
}

static task<> request(int fd)
{
	char answer = static_cast<char>(co_await parse(fd));

	if (send(fd, &answer, 1, MSG_NOSIGNAL) != 1)
		the_loop.stop();
}

static task<> session(int fd)
{
	for (;;)
		co_await request(fd);
}

static task<> client(int i)
{
	for (int n = 0; n < 5 + i; n++) {
		char answer;

		co_await the_loop.sleep(std::chrono::milliseconds(7 + i));
		if (send(far_end[i], "\3abc", 4, MSG_NOSIGNAL) != 4)
			co_return;
		co_await the_loop.readable(far_end[i]);
		if (recv(far_end[i], &answer, 1, MSG_DONTWAIT) != 1)
			co_return;
	}
}

static task<> stopper(int fd)
{
	co_await the_loop.readable(fd);
	the_loop.stop();
}

int main()
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, nullptr);
	corotracer::InitTracer();
	spawn(stopper(signalfd(-1, &set, SFD_NONBLOCK)));
	for (int i = 0; i < 25; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return 1;
		far_end[i] = pair[1];
		spawn(corotracer::named(("session " + std::to_string(i)).c_str(), session,
					pair[0]));
		spawn(corotracer::named(("client " + std::to_string(i)).c_str(), client, i));
	}
	the_loop.run_for(20000ms);
	return 0;
}
