// SPDX-License-Identifier: MIT
// bug_reaper_closes_socket.cpp - a reaper of idle connections closes sockets under their readers.
//
// The reaper removes the descriptor from the loop and closes it.  The coroutine that reads from
// it is not resumed.
//
// corpus: bug
// class: closed-under-waiter
// at: @stuck
// victims: conn-3, conn-8
// never: deadlock, wake-before-suspend
#include <string>

#include "epoll_loop.hpp"
#include "lazy_task.hpp"

static constexpr int NR_CONNECTIONS = 12;

struct Connection {
	SocketPair sockets;  // the server's end, the client's end
	int idle_rounds = 0; // of the reaper, without a message
	bool is_open = true;
};

static Lazy<> ping_serve(EpollLoop &loop, Connection &c)
{
	char buffer[256];

	for (;;) {
		co_await loop.readable(c.sockets.fd[0]); // @stuck
		ssize_t n = read(c.sockets.fd[0], buffer, sizeof(buffer));

		if (n <= 0)
			co_return;
		c.idle_rounds = 0;
		if (write(c.sockets.fd[0], buffer, static_cast<size_t>(n)) != n)
			co_return;
	}
}

static Lazy<> ping_client(EpollLoop &loop, Connection &c, int id)
{
	char buffer[256];
	int messages = id == 3 || id == 8 ? 4 : 1000;

	for (int i = 0; i < messages; i++) {
		co_await loop.sleep_ms(20 + id);
		if (write(c.sockets.fd[1], "ping", 4) != 4)
			co_return;
		co_await loop.readable(c.sockets.fd[1]);
		if (read(c.sockets.fd[1], buffer, sizeof(buffer)) <= 0)
			co_return;
	}
}

static Lazy<> reaper_run(EpollLoop &loop, std::vector<Connection> &all)
{
	for (;;) {
		co_await loop.sleep_ms(100);
		for (Connection &c : all) {
			int fd = c.sockets.fd[0];

			if (!c.is_open || ++c.idle_rounds < 6)
				continue;
			c.is_open = false;
			loop.forget_descriptor(fd);
			corotracer::closing(fd);
			close(fd); // the bug: ping_serve() still waits
		}
	}
}

int main()
{
	EpollLoop loop;
	std::vector<Connection> all(NR_CONNECTIONS);

	corotracer::InitTracer();
	for (int i = 0; i < NR_CONNECTIONS; i++) {
		std::string name = "conn-" + std::to_string(i);
		std::string client = "client-" + std::to_string(i);
		Connection &c = all[static_cast<size_t>(i)];

		detach_lazy(corotracer::named(name.c_str(), ping_serve, loop, c));
		detach_lazy(corotracer::named(client.c_str(), ping_client, loop, c, i));
	}
	detach_lazy(corotracer::named("reaper", reaper_run, loop, all));
	loop.run_for(1800);
	return 0;
}
