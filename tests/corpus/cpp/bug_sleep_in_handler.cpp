// SPDX-License-Identifier: MIT
// bug_sleep_in_handler.cpp - a handler sleeps with the thread that runs all coroutines.
//
// The retry of a failed login waits with the function for threads instead of the loop's timer.
//
// corpus: bug
// class: blocking
// at: @stuck|@blocks|@next
// victims: conn-4
// never: lost-wakeup, wake-before-suspend, leak
#include <string>
#include <thread>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

static Lazy<> password_serve(EpollLoop &loop, int fd)
{
	char buffer[64];

	for (;;) {
		co_await loop.readable(fd); // @stuck
		ssize_t n = read(fd, buffer, sizeof(buffer));

		if (n <= 0)
			co_return;
		if (buffer[0] == '!') // a wrong password
			std::this_thread::sleep_for(std::chrono::milliseconds(120)); // @blocks
		co_await loop.writable(fd);                                          // @next
		if (write(fd, buffer, static_cast<size_t>(n)) != n)
			co_return;
	}
}

static Lazy<> password_client(EpollLoop &loop, int fd, int id)
{
	char buffer[64];

	for (int i = 0; i < 500; i++) {
		co_await loop.sleep_ms(10 + id);
		if (write(fd, id == 4 && i % 12 == 11 ? "!pass" : " pass", 5) != 5)
			co_return;
		co_await loop.readable(fd);
		if (read(fd, buffer, sizeof(buffer)) <= 0)
			co_return;
	}
}

int main()
{
	EpollLoop loop;

	corotracer::InitTracer();
	for (int i = 0; i < 10; i++) {
		std::string server = "conn-" + std::to_string(i);
		std::string client = "client-" + std::to_string(i);
		SocketPair pair;

		detach_lazy(corotracer::named(server.c_str(), password_serve, loop, pair.fd[0]));
		detach_lazy(
			corotracer::named(client.c_str(), password_client, loop, pair.fd[1], i));
	}
	loop.run_for(1200);
	return 0;
}
